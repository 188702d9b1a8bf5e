// Package offline reads a cluster's configuration from files of the installer or from a copy of a cluster's objects. It
// gathers the same inputs as the operator does from the API, so that offline commands make the same checks. Messages
// name the file to correct.
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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Files are the files with the cluster's configuration.
type Files struct {
	// Manifests are files and directory trees with objects of the cluster.
	Manifests []string
	// Infrastructure is the file with the Infrastructure. If it is empty, Manifests must contain the object.
	Infrastructure string
	// ManagedCloudConfig is the file with the ConfigMap that cluster-config-operator generates from the cloud
	// configuration, empty if there is none.
	ManagedCloudConfig string
	// SystemTrust is the file with the system's CAs. It may not exist.
	SystemTrust string
}

// Cluster is the configuration of a cluster.
type Cluster struct {
	Infrastructure Manifest
	PlatformName   string
	// UnknownPlatform is the message about a platform type that the API does not define, or empty.
	UnknownPlatform string
	// SystemTrust is the system's CA bundle, empty if the file does not exist.
	SystemTrust []operand.TrustSource

	platformKind diagnostic.Kind

	// tlsProfile is what Observe found wrong with the TLS profile.
	tlsProfile *configobservation.TLSProfileError

	objects manifests
	// live reads the objects that no file has. It is nil without a cluster.
	live Live
	// given is the cloud configuration of an overlay, nil if it has none.
	given *Manifest
}

// Read reads every file. A missing or invalid file is an error. In a directory of Manifests, an invalid object is an
// error only if it may be an input; otherwise Ignored reports it.
func Read(files Files) (*Cluster, error) { return read(files, nil) }

func read(files Files, live Live) (*Cluster, error) {
	c := &Cluster{live: live}
	var err error
	if c.objects, err = readManifests(files.Manifests); err != nil {
		return nil, err
	}
	if err := c.addFile(files.Infrastructure, configv1.GroupName, "Infrastructure", "",
		operatorclient.Instance); err != nil {
		return nil, err
	}
	if err := c.addFile(files.ManagedCloudConfig, corev1.GroupName, configMapKind,
		operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig); err != nil {
		return nil, err
	}
	if err := c.checkInfrastructure(); err != nil {
		return nil, err
	}
	c.SystemTrust, err = readSystemTrust(files.SystemTrust)
	return c, err
}

func (c *Cluster) addFile(file, group, kind, namespace, name string) error {
	if file == "" {
		return nil
	}
	wanted := Manifest{GVK: schema.GroupVersionKind{Group: group, Kind: kind}, Namespace: namespace, Name: name}
	found, err := onlyObject(file, wanted.String(), func(m Manifest) bool {
		return m.GVK.GroupKind() == wanted.GVK.GroupKind() && m.Namespace == namespace && m.Name == name
	})
	if err != nil {
		return err
	}
	c.objects = c.objects.add(*found)
	return nil
}

func onlyObject(file, wanted string, matches func(Manifest) bool) (*Manifest, error) {
	objects, err := ReadObjects(file)
	if err != nil {
		return nil, err
	}
	if len(objects) == 1 && matches(objects[0]) {
		return &objects[0], nil
	}
	var names []string
	for _, m := range objects {
		names = append(names, m.String())
	}
	return nil, fmt.Errorf("%s must have exactly %s, but has %s", file, wanted,
		cmp.Or(strings.Join(names, " and "), "no object"))
}

// Ignored returns a message for each unusable manifest that was not needed. Call it after all inputs are read.
func (c *Cluster) Ignored() []string {
	var messages []string
	for _, err := range c.objects.ignored() {
		messages = append(messages, "ignored, because it seems to be no input of the cloud-controller-manager: "+err.Error())
	}
	return messages
}

// checkInfrastructure returns an error if the platform type is not set: unknown does not mean None.
func (c *Cluster) checkInfrastructure() error {
	infrastructure := &configv1.Infrastructure{}
	found, err := c.config("Infrastructure", infrastructure)
	if found == nil {
		err := fmt.Errorf("infrastructure.%s/%s is not among the manifests: specify its file with --infra-config-file",
			configv1.GroupName, operatorclient.Instance)
		return errors.Join(append(c.objects.ignored(), err)...)
	}
	c.Infrastructure = *found
	if err != nil {
		return err
	}
	if _, err := platform.Of(infrastructure, nil); err != nil {
		return fmt.Errorf("%s: %w", found.File, err)
	}
	c.PlatformName = string(infrastructure.Status.PlatformStatus.Type)
	if unknown, meant, known := platform.UnknownType(infrastructure); !known {
		c.platformKind = diagnostic.Unknown // A newer release may know it.
		c.UnknownPlatform = fmt.Sprintf("unknown platform type %q", unknown)
		if meant != "" {
			c.UnknownPlatform += fmt.Sprintf("; did you mean %q?", meant)
			c.platformKind = diagnostic.Typo
		}
	}
	return nil
}

const capability = configv1.ClusterVersionCapabilityCloudControllerManager

// WithoutCapability returns the ClusterVersion if it disables the capability CloudControllerManager, otherwise nil.
// Without a ClusterVersion, or without spec.capabilities in it, every capability is enabled. A set that this release
// does not know disables nothing, because only the cluster-version-operator can interpret it.
func (c *Cluster) WithoutCapability() (*Manifest, error) {
	version := &configv1.ClusterVersion{}
	found := c.objects.find(configv1.GroupName, "ClusterVersion", "", "version")
	if _, err := decodeInto(found, version); found == nil || err != nil {
		return nil, err
	}
	spec := version.Spec.Capabilities
	if spec == nil || slices.Contains(spec.AdditionalEnabledCapabilities, capability) {
		return nil, nil
	}
	baseline := cmp.Or(spec.BaselineCapabilitySet, configv1.ClusterVersionCapabilitySetCurrent)
	enabled, known := configv1.ClusterVersionCapabilitySets[baseline]
	if !known || slices.Contains(enabled, capability) {
		return nil, nil
	}
	return found, nil
}

// readSystemTrust reads the system's CAs. A missing file is no error, because the cluster's CAs may suffice.
func readSystemTrust(file string) ([]operand.TrustSource, error) {
	data, err := ReadFile(file)
	if file == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []operand.TrustSource{{Source: file, Data: data}}, nil
}
