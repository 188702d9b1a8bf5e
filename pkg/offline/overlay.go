package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Live reads an object of a cluster as JSON. It returns nil if the object does not exist.
type Live func(group, kind, namespace, name string) ([]byte, error)

// NewOverlay returns a cluster's configuration in which the objects of a request's files, if any, replace the cluster's
// own. All other objects are read with live.
func NewOverlay(request Request, live Live) (*Cluster, error) {
	if err := request.checkStdin(); err != nil {
		return nil, err
	}
	c, err := read(Files{Manifests: request.Manifests, Infrastructure: request.Infrastructure}, live)
	if err != nil {
		return nil, err
	}
	c.given, err = readGiven(request.CloudConfig)
	return c, err
}

// find returns the object of a file, the first unreadable document that may contain it, the cluster's object, or nil.
func (c *Cluster) find(group, kind, namespace, name string) *Manifest {
	if found := c.objects.find(group, kind, namespace, name); found != nil || c.live == nil {
		return found
	}
	data, err := c.live(group, kind, namespace, name)
	if data == nil && err == nil {
		return nil
	}
	found := &Manifest{
		GVK: schema.GroupVersionKind{Group: group, Kind: kind}, Namespace: namespace, Name: name, json: data,
	}
	if err != nil {
		found.defect = &defect{err: err}
	}
	return found
}

// config decodes an object of config.openshift.io. It returns nil if the object does not exist.
func (c *Cluster) config(kind string, into any) (*Manifest, error) {
	return decodeInto(c.find(configv1.GroupName, kind, "", operatorclient.Instance), into)
}

func decodeInto(found *Manifest, into any) (*Manifest, error) {
	if found == nil {
		return nil, nil
	}
	return found, found.Decode(into)
}

// Resource returns the operator's resource, empty if it does not exist.
func (c *Cluster) Resource() (*ccmv1.CloudControllerManager, error) {
	resource := &ccmv1.CloudControllerManager{}
	_, err := decodeInto(c.findResource(), resource)
	return resource, err
}

// Observed returns what the observers make of the objects and of the former observed configuration, as JSON, and their
// errors as diagnostics. It adds the given cloud configuration as the ConfigMap that the observed configuration names.
func (c *Cluster) Observed(former []byte, version string) ([]byte, []diagnostic.Diagnostic, error) {
	existing := map[string]any{}
	if len(former) > 0 {
		if err := json.Unmarshal(former, &existing); err != nil {
			return nil, nil, fmt.Errorf("decoding spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
		}
	}
	if _, _, err := c.gatesOf(version); err != nil {
		version = "" // the observer keeps its former value too
	}
	listers, err := c.listers(version)
	if err != nil {
		return nil, nil, err
	}
	spec, err := c.spec()
	if err != nil {
		return nil, nil, err
	}
	listers.LogLevel = func() (operatorv1.LogLevel, error) { return spec.LogLevel, nil }
	observed, err := configobservation.Observe(listers, newRecorder(), existing)
	var diagnostics []diagnostic.Diagnostic
	if err != nil {
		diagnostics = append(diagnostics, diagnostic.Diagnostic{
			Cause: diagnostic.Configuration, Object: c.Infrastructure.Source(), Message: err.Error(),
		})
	}
	data, err := encode(observed)
	if err != nil {
		return nil, nil, err
	}
	config, err := operandconfig.Decode(data)
	if err != nil {
		return nil, nil, err
	}
	return data, diagnostics, c.placeGiven(config)
}

func (c *Cluster) placeGiven(config *operandconfig.Config) error {
	if c.given == nil {
		return nil
	}
	isManaged := c.given.Namespace == operatorclient.ManagedConfigNamespace
	if config.CloudConfig.Name == "" && !isManaged {
		return errors.New("the cluster names no ConfigMap with a cloud configuration: give the Infrastructure that names " +
			"it too")
	}
	if !isManaged {
		c.given.Namespace, c.given.Name = operatorclient.UserConfigNamespace, config.CloudConfig.Name
	}
	c.objects = c.objects.add(*c.given)
	return nil
}

// HasFile reports whether a file has the ConfigMap.
func (c *Cluster) HasFile(namespace, name string) bool {
	return c.objects.find("", configMapKind, namespace, name) != nil
}

// GatherWithoutSecrets is Gather for a caller who may not read the cluster's Secrets: Secrets that no file has are
// unknown instead of missing.
func (c *Cluster) GatherWithoutSecrets(observed *operandconfig.Config, p platform.Platform) (*inputs.Gathered, error) {
	gathered, err := c.Gather(observed, p)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Credentials.Secret == "":
		k := check{cluster: c, report: &Report{}}
		k.leaveOutMissing(&gathered.Custom)
		gathered.Credentials = operand.CustomCredentials(gathered.Custom)
		gathered.Credentials.Unknown = len(gathered.Custom.Missing) > 0
	case gathered.Credentials.Data == nil:
		gathered.Custom = customccm.Secrets{}
		gathered.Credentials = operand.Credentials{Source: gathered.Credentials.Source, Unknown: true}
	}
	return gathered, nil
}

// Locate returns the diagnostics with their severity and, if they are about a file, its name and their position in it.
func (c *Cluster) Locate(severity diagnostic.Severity, diagnostics []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	files, located := places{manifests: c.objects}, slices.Clone(diagnostics)
	for i, d := range located {
		located[i].Severity = severity
		if _, _, isInFile := files.find(d); isInFile {
			located[i] = files.locate(severity, d)
		}
	}
	return located
}
