// Package offline reads a cluster's configuration from files: what the installer writes, or what was taken from a cluster. It
// gathers from them what the operator gathers from the API, so that the commands that have no cluster check the same inputs
// in the same way. A message names the file that has to be corrected.
package offline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Files tells where the cluster's configuration stands.
type Files struct {
	// Manifests are files, and folders with all below them, with what will be created in the cluster.
	Manifests []string
	// Infrastructure is a file with the Infrastructure; without it one of Manifests has to be it.
	Infrastructure string
	// ManagedCloudConfig is a file with the ConfigMap that cluster-config-operator made of the cloud configuration; empty
	// where there is none.
	ManagedCloudConfig string
	// SystemTrust is a file with the CAs that are trusted besides the cluster's own; it may be missing.
	SystemTrust string
}

// Cluster is a cluster's configuration as it was read.
type Cluster struct {
	// Infrastructure is where the platform stands.
	Infrastructure Manifest
	// PlatformName is the platform as the Infrastructure has it.
	PlatformName string
	// UnknownPlatform says that the Infrastructure's platform type is none of its API; empty otherwise.
	UnknownPlatform string
	// SystemTrust is the system's bundle; empty where it has none.
	SystemTrust []operand.TrustSource

	objects manifests
}

// Read reads every file, each of which has to be there and in order.
func Read(files Files) (*Cluster, error) {
	c := &Cluster{}
	var err error
	if c.objects, err = readManifests(files.Manifests); err != nil {
		return nil, err
	}
	if files.Infrastructure != "" {
		if err := c.addFile(files.Infrastructure, configv1.GroupName, "Infrastructure", "", operatorclient.Instance); err != nil {
			return nil, err
		}
	}
	if files.ManagedCloudConfig != "" {
		err := c.addFile(files.ManagedCloudConfig, corev1.GroupName, configMapKind, operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
		if err != nil {
			return nil, err
		}
	}
	if err := c.checkInfrastructure(); err != nil {
		return nil, err
	}
	c.SystemTrust, err = readSystemTrust(files.SystemTrust)
	return c, err
}

// addFile adds the one object that the file has to hold.
func (c *Cluster) addFile(file, group, kind, namespace, name string) error {
	objects, err := ReadObjects(file)
	if err != nil {
		return err
	}
	wanted := manifests(objects).find(group, kind, namespace, name)
	if len(objects) != 1 || wanted == nil {
		expected := Manifest{Namespace: namespace, Name: name}
		expected.GVK.Group, expected.GVK.Kind = group, kind
		return fmt.Errorf("%s has to hold exactly %s, but holds %s", file, expected, held(objects))
	}
	c.objects, err = c.objects.add(*wanted)
	return err
}

// held names the objects of a file.
func held(objects []Manifest) string {
	if len(objects) == 0 {
		return "no object"
	}
	names := make([]string, 0, len(objects))
	for _, m := range objects {
		names = append(names, m.String())
	}
	return strings.Join(names, " and ")
}

// checkInfrastructure makes sure that the platform is known: unknown is not None.
func (c *Cluster) checkInfrastructure() error {
	found := c.objects.find(configv1.GroupName, "Infrastructure", "", operatorclient.Instance)
	if found == nil {
		return fmt.Errorf("infrastructure.%s/%s is not among the manifests: give its file with --infra-config-file",
			configv1.GroupName, operatorclient.Instance)
	}
	c.Infrastructure = *found
	infrastructure := &configv1.Infrastructure{}
	if err := found.Decode(infrastructure); err != nil {
		return err
	}
	if _, err := platform.Of(infrastructure, nil); err != nil {
		return fmt.Errorf("%s: %w", found.File, err)
	}
	c.PlatformName = string(infrastructure.Status.PlatformStatus.Type)
	if unknown, meant, known := platform.UnknownType(infrastructure); !known {
		c.UnknownPlatform = fmt.Sprintf("unknown platform type %q", unknown)
		if meant != "" {
			c.UnknownPlatform += fmt.Sprintf("; did you mean %q?", meant)
		}
	}
	return nil
}

// capability is what a cluster can do without.
const capability = configv1.ClusterVersionCapabilityCloudControllerManager

// WithoutCapability returns the ClusterVersion that disables the capability CloudControllerManager, or nil. Without a
// ClusterVersion, and without spec.capabilities in it, every capability is enabled.
func (c *Cluster) WithoutCapability() (*Manifest, error) {
	// The installer gives the cluster-scoped object a namespace.
	i := slices.IndexFunc(c.objects, func(m Manifest) bool { return m.GVK.Group == configv1.GroupName && m.GVK.Kind == "ClusterVersion" })
	if i < 0 {
		return nil, nil
	}
	found := &c.objects[i]
	version := &configv1.ClusterVersion{}
	if err := found.Decode(version); err != nil {
		return nil, err
	}
	spec := version.Spec.Capabilities
	if spec == nil || slices.Contains(spec.AdditionalEnabledCapabilities, capability) {
		return nil, nil
	}
	baseline := cmp.Or(spec.BaselineCapabilitySet, configv1.ClusterVersionCapabilitySetCurrent)
	enabled, known := configv1.ClusterVersionCapabilitySets[baseline]
	switch {
	case !known:
		return nil, fmt.Errorf("%s: spec.capabilities.baselineCapabilitySet is %q, which this release does not know; use %s or %s",
			found.Source(), baseline, configv1.ClusterVersionCapabilitySetCurrent, configv1.ClusterVersionCapabilitySetNone)
	case slices.Contains(enabled, capability):
		return nil, nil
	}
	return found, nil
}

// readSystemTrust reads the system's CAs. An image without them is no error: the cluster's own CAs may be enough.
func readSystemTrust(file string) ([]operand.TrustSource, error) {
	data, err := ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []operand.TrustSource{{Source: file, Data: data}}, nil
}
