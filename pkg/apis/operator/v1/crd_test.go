package v1_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

const crdFile = "../../../../manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml"

// The operator's client reads our resource as a KubeScheduler, and library-go's controllers rely on that schema's map
// keys and rules. So ours is the sibling's, but for what this test names.
func TestSchemaIsThatOfTheSibling(t *testing.T) {
	sibling := filepath.Join(moduleFolder(t, "github.com/openshift/api"),
		"operator/v1/zz_generated.crd-manifests/0000_25_kube-scheduler_01_kubeschedulers.crd.yaml")
	ours, theirs := schemaOf(t, crdFile), schemaOf(t, sibling)

	spec := ours.Properties["spec"]
	require.Len(t, spec.XValidations, 1, "the allowed management states are a rule of ours, not a pattern")
	spec.XValidations = nil
	state := spec.Properties["managementState"]
	require.Equal(t, "^(Managed|Unmanaged|Force|Removed)$", state.Pattern)
	state.Pattern = "^(Managed|Force)$"
	spec.Properties["managementState"] = state

	for _, own := range []string{"custom", "nodeInitialization", "removalPolicy"} {
		require.Contains(t, spec.Properties, own)
		delete(spec.Properties, own)
	}

	// library-go of a later release writes the UID. Our CRD keeps it, for a cluster that went back to this release.
	status := ours.Properties["status"]
	nodes := status.Properties["nodeStatuses"].Items.Schema.Properties
	require.Equal(t, apiextensionsv1.JSONSchemaProps{
		Type: "string", Format: "uuid", MinLength: ptr.To(int64(36)), MaxLength: ptr.To(int64(36)),
	}, withoutDescriptions(nodes["nodeUID"]))
	delete(nodes, "nodeUID")
	require.Equal(t, ptr.To(int64(0)), spec.MinProperties, "openshift/api's linter asks for one")
	require.Equal(t, ptr.To(int64(0)), status.MinProperties)
	spec.MinProperties, status.MinProperties = nil, nil

	require.Equal(t, withoutDescriptions(theirs.Properties["spec"]), withoutDescriptions(spec))
	require.Equal(t, withoutDescriptions(theirs.Properties["status"]), withoutDescriptions(status))
	require.Equal(t, theirs.Required, ours.Required)
}

func TestTheAPIServerAcceptsOnlyWhatTheOperatorCanServe(t *testing.T) {
	for name, tc := range map[string]struct {
		object, old string
		wantErrors  []string
	}{
		"the resource as the payload ships it": {
			object: `{metadata: {name: cluster}, spec: {managementState: Managed, logLevel: Normal, operatorLogLevel: Normal, forceRedeploymentReason: ""}}`,
		},
		"an empty specification": {
			object: `{metadata: {name: cluster}, spec: {}}`,
		},
		"a second resource": {
			object:     `{metadata: {name: other}, spec: {}}`,
			wantErrors: []string{`<nil>: Invalid value: cloudcontrollermanager is a singleton: metadata.name must be 'cluster'`},
		},
		"static pods are removed": {
			object: `{metadata: {name: cluster}, spec: {managementState: Removed}}`,
		},
		"also by force": {
			object: `{metadata: {name: cluster}, spec: {managementState: Removed, removalPolicy: Force}}`,
		},
		"in no other way": {
			object:     `{metadata: {name: cluster}, spec: {removalPolicy: Quick}}`,
			wantErrors: []string{`spec.removalPolicy: Unsupported value: "Quick": supported values: "Safe", "Force"`},
		},
		"a static pod cannot be left alone": {
			object:     `{metadata: {name: cluster}, spec: {managementState: Unmanaged}}`,
			wantErrors: []string{`spec: Invalid value: managementState must be Managed, Force or Removed`},
		},
		"as many Nodes at a time as a cloud may stand": {
			object: `{metadata: {name: cluster}, spec: {nodeInitialization: {maxConcurrentNodes: 100}}}`,
		},
		"as many Nodes at a time as the platform's default": {
			object: `{metadata: {name: cluster}, spec: {nodeInitialization: {}}}`,
		},
		"no Node at a time": {
			object:     `{metadata: {name: cluster}, spec: {nodeInitialization: {maxConcurrentNodes: 0}}}`,
			wantErrors: []string{`spec.nodeInitialization.maxConcurrentNodes: Invalid value: spec.nodeInitialization.maxConcurrentNodes in body should be greater than or equal to 1`},
		},
		"more Nodes at a time than any cloud stands": {
			object:     `{metadata: {name: cluster}, spec: {nodeInitialization: {maxConcurrentNodes: 101}}}`,
			wantErrors: []string{`spec.nodeInitialization.maxConcurrentNodes: Invalid value: spec.nodeInitialization.maxConcurrentNodes in body should be less than or equal to 100`},
		},
		"a log level that nobody knows": {
			object:     `{metadata: {name: cluster}, spec: {logLevel: Loud}}`,
			wantErrors: []string{`spec.logLevel: Unsupported value: "Loud": supported values: "", "Normal", "Debug", "Trace", "TraceAll"`},
		},
		"no specification": {
			object:     `{metadata: {name: cluster}}`,
			wantErrors: []string{`spec: Required value`},
		},
		"revisions only grow": {
			old:        `{metadata: {name: cluster}, spec: {}, status: {latestAvailableRevision: 3}}`,
			object:     `{metadata: {name: cluster}, spec: {}, status: {latestAvailableRevision: 2}}`,
			wantErrors: []string{`status.latestAvailableRevision: Invalid value: must only increase`},
		},
		"one node at a time": {
			old:        `{metadata: {name: cluster}, spec: {}, status: {nodeStatuses: [{nodeName: a}, {nodeName: b}]}}`,
			object:     `{metadata: {name: cluster}, spec: {}, status: {nodeStatuses: [{nodeName: a, targetRevision: 1}, {nodeName: b, targetRevision: 1}]}}`,
			wantErrors: []string{`status.nodeStatuses: Invalid value: no more than 1 node status may have a nonzero targetRevision`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.wantErrors, validate(t, tc.object, tc.old))
		})
	}
}

// validate returns what the API server would say of an object, or of its change from an older one.
func validate(t *testing.T, object, old string) []string {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	v1Schema := schemaOf(t, crdFile)
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1Schema, &internal, nil))
	structural, err := schema.NewStructural(&internal)
	require.NoError(t, err)
	validator, _, err := validation.NewSchemaValidator(&internal)
	require.NoError(t, err)

	value := decode(t, object)
	errs := validation.ValidateCustomResource(nil, value, validator)
	var oldValue map[string]any
	if old != "" {
		oldValue = decode(t, old)
	}
	ruleErrs, _ := cel.NewValidator(structural, true, celconfig.PerCallLimit).
		Validate(t.Context(), nil, structural, value, oldValue, celconfig.RuntimeCELCostBudget)

	var messages []string
	for _, err := range append(errs, ruleErrs...) {
		err.BadValue = nilUnlessScalar(err.BadValue)
		messages = append(messages, strings.Replace(err.Error(), "Invalid value: null: ", "Invalid value: ", 1))
	}
	return messages
}

// nilUnlessScalar keeps whole objects out of messages whose text is compared.
func nilUnlessScalar(value any) any {
	if text, ok := value.(string); ok {
		return text
	}
	return nil
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	content, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	// Like the API server's decoder this one keeps integers integers, which the rules need.
	require.NoError(t, json.Unmarshal(content, &object))
	object["apiVersion"], object["kind"] = "operator.openshift.io/v1", "CloudControllerManager"
	return object
}

func schemaOf(t *testing.T, file string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(content, &crd))
	require.Len(t, crd.Spec.Versions, 1)
	return *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// moduleFolder asks for the module cache even where a vendor folder exists: vendoring leaves out what is not Go.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(output))
}

func withoutDescriptions(props apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	props.Description = ""
	for name, property := range props.Properties {
		props.Properties[name] = withoutDescriptions(property)
	}
	if props.Items != nil && props.Items.Schema != nil {
		item := withoutDescriptions(*props.Items.Schema)
		props.Items.Schema = &item
	}
	return props
}
