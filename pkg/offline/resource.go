package offline

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// resource is the operator's resource in a file. It decodes metadata and status loosely: a file from a cluster of
// another version may contain fields there that this version does not know.
type resource struct {
	metav1.TypeMeta `json:",inline"`

	Metadata any                              `json:"metadata"`
	Spec     ccmv1.CloudControllerManagerSpec `json:"spec"`
	Status   any                              `json:"status"`
}

func (c *Cluster) findResource() *Manifest {
	return c.find(ccmv1.GroupVersion.Group, ccmv1.Kind.Kind, "", operatorclient.Instance)
}

// spec returns the specification of the operator's resource, empty if no manifest has the resource.
func (c *Cluster) spec() (ccmv1.CloudControllerManagerSpec, error) {
	var r resource
	_, err := decodeInto(c.findResource(), &r)
	return r.Spec, err
}

// UnknownFields returns an error for each unknown field of the operator's resource in a file, and for each value that
// the API server rejects or misses. The API server drops unknown fields, so that a misspelled setting would silently be
// missing.
func (c *Cluster) UnknownFields() ([]diagnostic.Diagnostic, error) {
	var r resource
	found, err := decodeInto(c.objects.find(ccmv1.GroupVersion.Group, ccmv1.Kind.Kind, "", operatorclient.Instance), &r)
	if found == nil || err != nil {
		return nil, err
	}
	unknown, err := found.unknownFields(&r)
	if err != nil {
		return nil, err
	}
	files := places{manifests: c.objects}
	var diagnostics []diagnostic.Diagnostic
	reject := func(field, message string) {
		diagnostics = append(diagnostics, files.locate(diagnostic.Error, diagnostic.Diagnostic{
			Kind: diagnostic.Invalid, Object: found.Source(), Key: field, Message: message,
		}))
	}
	for _, field := range unknown {
		reject(field, "unknown field; correct its name or remove it")
	}
	oneOf := func(field, value string, allowed ...string) {
		if message := noneOf(value, allowed...); message != "" {
			reject(field, message)
		}
	}
	oneOf("spec.managementState", string(r.Spec.ManagementState), "Managed", "Force", "Removed")
	oneOf("spec.logLevel", string(r.Spec.LogLevel), "Normal", "Debug", "Trace", "TraceAll")
	oneOf("spec.operatorLogLevel", string(r.Spec.OperatorLogLevel), "Normal", "Debug", "Trace", "TraceAll")
	oneOf("spec.removalPolicy", string(r.Spec.RemovalPolicy), "Safe", "Force")
	if custom := r.Spec.Custom; custom != nil {
		oneOf("spec.custom.platform", string(custom.Platform), string(ccmv1.CustomCloudControllerManagerPlatformAlibabaCloud),
			string(ccmv1.CustomCloudControllerManagerPlatformDigitalOcean))
		if len(unknown) == 0 { // what is missing may be the unknown field
			found.checkRequired(custom, reject)
		}
	}
	if nodes := r.Spec.NodeInitialization; nodes != nil {
		given := found.has("spec", "nodeInitialization", "maxConcurrentNodes")
		if n := nodes.MaxConcurrentNodes; given && (n < 1 || n > 100) {
			reject("spec.nodeInitialization.maxConcurrentNodes", fmt.Sprintf("it is %d, but must be from 1 to 100", n))
		}
	}
	return diagnostics, nil
}

// unknownFields decodes the manifest, and returns the paths of the fields that the type does not have.
func (m Manifest) unknownFields(into any) ([]string, error) {
	unknown, err := kjson.UnmarshalStrict(m.json, into, kjson.DisallowUnknownFields)
	fields := make([]string, len(unknown))
	for i, err := range unknown {
		// The error is: unknown field "spec.custom.secrets[0].nam".
		_, field, _ := strings.Cut(err.Error(), `"`)
		fields[i] = strings.TrimSuffix(field, `"`)
	}
	return fields, err
}

func (m Manifest) checkRequired(custom *ccmv1.CustomCloudControllerManager, reject func(field, message string)) {
	if m.has("spec", "custom", "cloudConfig") && custom.CloudConfig.Name == "" {
		reject("spec.custom.cloudConfig", "it has no name: write that of a ConfigMap in openshift-config")
	}
	for i, variable := range custom.Env {
		if variable.Value == nil {
			reject(fmt.Sprintf("spec.custom.env[%d]", i), `it has no value: add one; for an empty one, write value: ""`)
		}
	}
}

// noneOf returns a message if the value is none of the allowed ones; otherwise an empty string.
func noneOf[T ~string](value T, allowed ...T) string {
	if value == "" || slices.Contains(allowed, value) {
		return ""
	}
	var names []string
	for _, name := range allowed {
		names = append(names, string(name))
	}
	last := len(names) - 1
	return fmt.Sprintf("it is %q, but must be %s or %s", value, strings.Join(names[:last], ", "), names[last])
}

// Located adds the file of the operator's resource to a diagnostic about spec.custom.
func (c *Cluster) Located(d diagnostic.Diagnostic) diagnostic.Diagnostic {
	found := c.findResource()
	isCustom := strings.HasPrefix(d.Key, "spec.custom") || strings.HasPrefix(d.Message, "spec.custom")
	if found != nil && d.Object == found.String() && isCustom {
		d.Object = found.Source()
	}
	return d
}
