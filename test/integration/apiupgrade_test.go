package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const (
	currentCRD = "../../manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml"
	// rulesUnchecked is what the API server adds if the schema itself rejects an object.
	rulesUnchecked = ", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; " +
		"correct the existing errors to complete validation]"
	nodeUID = "0e4b1a2c-3d5f-4a6b-8c7d-9e0f1a2b3c4d"
)

// storedResources are specifications that the API server accepts with the CRD of testdata/former-crd.yaml.
var storedResources = map[string]string{
	"the payload's":                    "{managementState: Managed, logLevel: Normal, operatorLogLevel: Normal, forceRedeploymentReason: ''}",
	"an empty one":                     "{}",
	"empty log levels":                 "{logLevel: '', operatorLogLevel: ''}",
	"every log level":                  "{logLevel: TraceAll, operatorLogLevel: Debug}",
	"a forced state":                   "{managementState: Force}",
	"a removal":                        "{managementState: Removed, removalPolicy: Force}",
	"a policy before the removal":      "{managementState: Managed, removalPolicy: Safe}",
	"free configuration":               "{observedConfig: {platform: aws}, unsupportedConfigOverrides: {extendedArguments: {v: ['4']}}}",
	"limits of revisions":              "{failedRevisionLimit: 3, succeededRevisionLimit: 3}",
	"no limit for Nodes":               "{nodeInitialization: {}}",
	"the lowest limit for Nodes":       "{nodeInitialization: {maxConcurrentNodes: 1}}",
	"the highest limit for Nodes":      "{nodeInitialization: {maxConcurrentNodes: 100}}",
	"a built-in platform":              "{custom: {platform: AlibabaCloud}}",
	"a built-in platform with a cloud": "{custom: {platform: DigitalOcean, image: 'registry/do:1', cloudConfig: {name: cloud, key: do.yaml}}}",
	"only an image":                    "{custom: {image: i}}",
	"everything": "{custom: {image: 'registry/ccm@sha256:0', command: [/ccm], args: [--cloud-provider=acme, ''], argsPolicy: Replace, " +
		"env: [{name: _A1, value: ''}, {name: B, value: b}], cloudConfig: {name: a.b-c, key: -._Z9}, " +
		"secrets: [{name: a}, {name: b, delivery: ReadOnce}, {name: c, delivery: Reloaded}], probe: {port: 65535, scheme: HTTP, path: /live}}}",
	"empty lists":              "{custom: {image: i, command: [], args: [], env: [], secrets: []}}",
	"empty words":              "{custom: {image: i, command: [''], args: ['']}}",
	"an empty probe":           "{custom: {image: i, probe: {}}}",
	"an empty path":            "{custom: {image: i, probe: {path: ''}}}",
	"an empty key":             "{custom: {image: i, cloudConfig: {name: a, key: ''}}}",
	"another lease":            "{custom: {image: i, args: [--leader-elect-resource-name=mine]}}",
	"a Secret of the operator": "{custom: {image: i, secrets: [{name: kube-token}]}}",
	"a name with two dots":     "{custom: {image: i, secrets: [{name: a..b}]}}",
	"the longest values": "{custom: {image: " + strings.Repeat("i", 1024) + ", cloudConfig: {name: " + strings.Repeat("n", 253) +
		", key: " + strings.Repeat("k", 253) + "}, env: [{name: " + strings.Repeat("E", 256) + ", value: " + strings.Repeat("v", 32768) +
		"}], args: [" + strings.Repeat("a", 4096) + "], probe: {path: /" + strings.Repeat("p", 1023) + "}}}",
	"the longest lists": "{custom: {image: i, command: [" + strings.Repeat("c, ", 31) + "c], args: [" + strings.Repeat("a, ", 127) +
		"a], env: [" + numbered(64, "{name: E%d, value: v}") + "], secrets: [" + numbered(16, "{name: s%d}") + "]}}",
}

// storedStatus is a status that the former release wrote.
const storedStatus = `
latestAvailableRevision: 2
readyReplicas: 0
conditions: [{type: CloudControllerManagerAvailable, status: "True", lastTransitionTime: "2026-11-01T00:00:00Z"}]
nodeStatuses: [{nodeName: a}, {nodeName: b}]
summary: {available: "True", progressing: "False", degraded: "False", message: "all is well"}
`

// TestAnUpgradeOfTheCRDKeepsEachResource creates resources with the former CRD and again with the one of manifests. A new
// object is validated in full, an update only where it changes something.
func TestAnUpgradeOfTheCRDKeepsEachResource(t *testing.T) {
	t.Parallel()
	resources, config := serveResource(t, "testdata/former-crd.yaml", "cloudcontrollermanagers.operator.openshift.io")
	accepted := map[string]*unstructured.Unstructured{}
	for name, spec := range storedResources {
		created, err := resources.Create(t.Context(), resourceOf(t, spec), metav1.CreateOptions{FieldValidation: "Strict"})
		require.NoError(t, err, name)
		accepted[name] = created
		deleteResource(t, resources)
	}
	stored, err := resources.Create(t.Context(), resourceOf(t, storedResources["everything"]), metav1.CreateOptions{})
	require.NoError(t, err)
	stored.Object["status"] = parse(t, "{apiVersion: v1, kind: Status, status: {"+inFlow(storedStatus)+"}}").Object["status"]
	stored, err = resources.UpdateStatus(t.Context(), stored, metav1.UpdateOptions{FieldValidation: "Strict"})
	require.NoError(t, err)

	replaceCRD(t, config, resources)

	t.Run("a stored one can be read and changed, and loses the summary", func(t *testing.T) {
		defer deleteResource(t, resources)
		got, err := resources.Get(t.Context(), ccmv1.InstanceName, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, stored.Object["spec"], got.Object["spec"])
		unstructured.RemoveNestedField(stored.Object, "status", "summary")
		require.Equal(t, stored.Object["status"], got.Object["status"])
		require.Equal(t, []any{"cluster", "True", float64(2), nil}, cellsOf(t, config)[:4])
		got.SetAnnotations(map[string]string{"changed": "yes"})
		got, err = resources.Update(t.Context(), got, metav1.UpdateOptions{FieldValidation: "Strict"})
		require.NoError(t, err)
		nodes := got.Object["status"].(map[string]any)["nodeStatuses"].([]any)
		nodes[0].(map[string]any)["nodeUID"] = nodeUID
		got, err = resources.UpdateStatus(t.Context(), got, metav1.UpdateOptions{FieldValidation: "Strict"})
		require.NoError(t, err)
		require.Equal(t, nodes, got.Object["status"].(map[string]any)["nodeStatuses"])
	})
	for name, former := range accepted {
		t.Run(name, func(t *testing.T) {
			defer deleteResource(t, resources)
			created, err := resources.Create(t.Context(), resourceOf(t, storedResources[name]), metav1.CreateOptions{FieldValidation: "Strict"})
			require.NoError(t, err)
			require.Equal(t, former.Object["spec"], created.Object["spec"])
		})
	}
	for name, tc := range rejectedResources {
		t.Run(name, func(t *testing.T) {
			_, err := resources.Create(t.Context(), resourceOf(t, tc.spec), metav1.CreateOptions{FieldValidation: "Strict"})
			var status *apierrors.StatusError
			require.ErrorAs(t, err, &status)
			message := strings.TrimPrefix(status.ErrStatus.Message, `CloudControllerManager.operator.openshift.io "cluster" is invalid: `)
			if rest, found := strings.CutSuffix(message, rulesUnchecked); found {
				message = strings.TrimPrefix(rest, "[")
			}
			require.Equal(t, tc.want, message)
		})
	}
}

// rejectedResources are specifications that the CRD of manifests rejects, with the API server's message.
var rejectedResources = map[string]struct{ spec, want string }{
	"an image with whitespace": {
		"{custom: {image: 'a b'}}", `spec.custom.image: Invalid value: "a b": image must not contain whitespace`,
	},
	"no image": {"{custom: {}}", "spec.custom: Invalid value: image is required"},
	"a name with a path": {
		"{custom: {image: i, secrets: [{name: ../a}]}}", `spec.custom.secrets[0].name: Invalid value: "../a": ` +
			"name must consist of lower case letters, digits, dots and hyphens, and start and end with a letter or digit",
	},
	"a name of a ConfigMap in upper case": {
		"{custom: {image: i, cloudConfig: {name: A}}}", `spec.custom.cloudConfig.name: Invalid value: "A": ` +
			"name must consist of lower case letters, digits, dots and hyphens, and start and end with a letter or digit",
	},
	"a key with a path": {
		"{custom: {image: i, cloudConfig: {name: a, key: ../a}}}",
		`spec.custom.cloudConfig.key: Invalid value: "../a": key must consist of letters, digits, dots, hyphens and underscores`,
	},
	"a variable that starts with a digit": {
		"{custom: {image: i, env: [{name: 1A, value: ''}]}}",
		`spec.custom.env[0].name: Invalid value: "1A": name must consist of letters, digits and underscores, and not start with a digit`,
	},
	"a variable without a value": {
		"{custom: {image: i, env: [{name: A}]}}", "spec.custom.env[0].value: Required value",
	},
	"a relative path": {
		"{custom: {image: i, probe: {path: live}}}", `spec.custom.probe.path: Invalid value: "live": path must start with a slash`,
	},
	"an unknown scheme": {
		"{custom: {image: i, probe: {scheme: TCP}}}",
		`spec.custom.probe.scheme: Unsupported value: "TCP": supported values: "HTTP", "HTTPS"`,
	},
	"an unknown policy of removal": {
		"{removalPolicy: Quick}", `spec.removalPolicy: Unsupported value: "Quick": supported values: "Safe", "Force"`,
	},
	"a built-in platform with arguments": {
		"{custom: {platform: DigitalOcean, args: [--v=9]}}",
		"spec.custom: Invalid value: with platform, only image and cloudConfig can be set: the rest is built in",
	},
	"an unknown field": {
		"{custom: {image: i, hostPaths: [/]}}",
		`CloudControllerManager in version "v1" cannot be handled as a CloudControllerManager: strict decoding error: unknown field "spec.custom.hostPaths"`,
	},
}

// replaceCRD updates the CRD to that of manifests, and waits until the API server validates by it.
func replaceCRD(t *testing.T, config *rest.Config, resources dynamic.ResourceInterface) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	content, err := os.ReadFile(currentCRD)
	require.NoError(t, err)
	crd := parse(t, string(content))
	crds := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	served, err := crds.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	crd.SetResourceVersion(served.GetResourceVersion())
	_, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{})
	require.NoError(t, err)
	await(t, "the API server to validate by the new CRD", func(ctx context.Context) error {
		current, err := resources.Get(ctx, ccmv1.InstanceName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if _, has, _ := unstructured.NestedMap(current.Object, "status", "summary"); has {
			return errors.New("the summary is there")
		}
		return nil
	})
}

// cellsOf returns the row that oc get prints: name, available, revision, platform, age and message.
func cellsOf(t *testing.T, config *rest.Config) []any {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	content, err := client.RESTClient().Get().AbsPath("/apis/operator.openshift.io/v1/cloudcontrollermanagers").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	require.NoError(t, err)
	var table metav1.Table
	require.NoError(t, json.Unmarshal(content, &table))
	require.Len(t, table.Rows, 1)
	return table.Rows[0].Cells
}

func resourceOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, "{apiVersion: operator.openshift.io/v1, kind: CloudControllerManager, metadata: {name: cluster}, spec: "+spec+"}")
}

// inFlow joins the lines of a block mapping for a flow mapping.
func inFlow(block string) string { return strings.ReplaceAll(strings.TrimSpace(block), "\n", ", ") }

func numbered(n int, format string) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(format, i))
	}
	return strings.Join(items, ", ")
}
