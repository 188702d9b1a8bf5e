package v1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
)

func TestWhatTheAPIServerSaysOfSpecCustom(t *testing.T) {
	const withPlatform = "spec.custom: Invalid value: with platform, only image and cloudConfig can be set: the rest is built in"
	for name, tc := range map[string]struct {
		custom     string
		wantErrors []string
	}{
		"a built-in one": {
			custom: `{platform: DigitalOcean, image: registry/do:1, cloudConfig: {name: cloud}}`,
		},
		"a built-in one whose image the platform's release may have": {
			custom: `{platform: AlibabaCloud}`,
		},
		"one of the administrator's own": {
			custom: `{image: registry/ccm:1, command: [/ccm], args: [--cloud-provider=acme], argsPolicy: Replace,
				env: [{name: REGION, value: one}, {name: EMPTY, value: ""}], cloudConfig: {name: cloud, key: acme.yaml},
				secrets: [{name: acme, delivery: ReadOnce}, {name: acme-token, delivery: Reloaded}, {name: more}],
				probe: {port: 9999, scheme: HTTP, path: /live}}`,
		},
		"only an image": {
			custom: `{image: registry/ccm:1}`,
		},
		"nothing": {
			custom:     `{}`,
			wantErrors: []string{"spec.custom: Invalid value: image is required"},
		},
		"an empty image": {
			custom: `{image: ""}`,
			wantErrors: []string{
				`spec.custom.image: Invalid value: "": image must not contain whitespace`,
				`spec.custom.image: Invalid value: "": spec.custom.image in body should be at least 1 chars long`,
			},
		},
		"an image with a blank in it": {
			custom:     `{image: "registry/ccm: 1"}`,
			wantErrors: []string{`spec.custom.image: Invalid value: "registry/ccm: 1": image must not contain whitespace`},
		},
		"a platform that nobody built in": {
			custom:     `{platform: Acme, image: registry/ccm:1}`,
			wantErrors: []string{`spec.custom.platform: Unsupported value: "Acme": supported values: "AlibabaCloud", "DigitalOcean"`},
		},
		"a built-in one with a command": {
			custom:     `{platform: DigitalOcean, image: registry/do:1, command: [/do]}`,
			wantErrors: []string{withPlatform},
		},
		"a built-in one with arguments": {
			custom:     `{platform: DigitalOcean, image: registry/do:1, args: [--v=9]}`,
			wantErrors: []string{withPlatform},
		},
		"a built-in one with a policy for arguments": {
			custom:     `{platform: DigitalOcean, image: registry/do:1, argsPolicy: Extend}`,
			wantErrors: []string{withPlatform},
		},
		"a built-in one with an environment": {
			custom:     `{platform: DigitalOcean, image: registry/do:1, env: [{name: REGION, value: one}]}`,
			wantErrors: []string{withPlatform},
		},
		"a built-in one with Secrets": {
			custom:     `{platform: DigitalOcean, image: registry/do:1, secrets: [{name: mine}]}`,
			wantErrors: []string{withPlatform},
		},
		"a built-in one with a probe": {
			custom:     `{platform: DigitalOcean, image: registry/do:1, probe: {port: 1}}`,
			wantErrors: []string{withPlatform},
		},
		"a policy that nobody knows": {
			custom:     `{image: registry/ccm:1, argsPolicy: Prepend}`,
			wantErrors: []string{`spec.custom.argsPolicy: Unsupported value: "Prepend": supported values: "Extend", "Replace"`},
		},
		"a variable without a value, as where it has a valueFrom": {
			custom:     `{image: registry/ccm:1, env: [{name: TOKEN}]}`,
			wantErrors: []string{`spec.custom.env[0].value: Required value`},
		},
		"a variable twice": {
			custom:     `{image: registry/ccm:1, env: [{name: A, value: "1"}, {name: A, value: "2"}]}`,
			wantErrors: []string{`spec.custom.env[1]: Duplicate value: null`},
		},
		"a name that no variable can have": {
			custom:     `{image: registry/ccm:1, env: [{name: A-B, value: "1"}]}`,
			wantErrors: []string{`spec.custom.env[0].name: Invalid value: "A-B": name must consist of letters, digits and underscores, and not start with a digit`},
		},
		"the operator's own variable": {
			custom:     `{image: registry/ccm:1, env: [{name: SSL_CERT_FILE, value: /mine}]}`,
			wantErrors: []string{`spec.custom.env: Invalid value: SSL_CERT_FILE is the operator's: add the CA to spec.trustedCA of proxy.config.openshift.io/cluster`},
		},
		"a Secret twice": {
			custom:     `{image: registry/ccm:1, secrets: [{name: a}, {name: a, delivery: Reloaded}]}`,
			wantErrors: []string{`spec.custom.secrets[1]: Duplicate value: null`},
		},
		"a Secret in another namespace": {
			custom: `{image: registry/ccm:1, secrets: [{name: kube-system/a}]}`,
			wantErrors: []string{`spec.custom.secrets[0].name: Invalid value: "kube-system/a": ` +
				"name must consist of lower case letters, digits, dots and hyphens, and start and end with a letter or digit"},
		},
		"a delivery that nobody knows": {
			custom:     `{image: registry/ccm:1, secrets: [{name: a, delivery: Env}]}`,
			wantErrors: []string{`spec.custom.secrets[0].delivery: Unsupported value: "Env": supported values: "ReadOnce", "Reloaded"`},
		},
		"more Secrets than anybody needs": {
			custom:     `{image: registry/ccm:1, secrets: [` + list(17, `{name: aX}`) + `]}`,
			wantErrors: []string{`spec.custom.secrets: Too many: null: must have at most 16 items`},
		},
		"more arguments than anybody needs": {
			custom:     `{image: registry/ccm:1, args: [` + list(129, `--aX`) + `]}`,
			wantErrors: []string{`spec.custom.args: Too many: null: must have at most 128 items`},
		},
		"a probe of a port that there is not": {
			custom:     `{image: registry/ccm:1, probe: {port: 65536}}`,
			wantErrors: []string{`spec.custom.probe.port: Invalid value: spec.custom.probe.port in body should be less than or equal to 65535`},
		},
		"a probe that is no request": {
			custom: `{image: registry/ccm:1, probe: {scheme: TCP, path: healthz}}`,
			wantErrors: []string{
				`spec.custom.probe.path: Invalid value: "healthz": path must start with a slash`,
				`spec.custom.probe.scheme: Unsupported value: "TCP": supported values: "HTTP", "HTTPS"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := `{metadata: {name: cluster}, spec: {custom: ` + tc.custom + `}}`
			got := append(validate(t, object, ""), duplicates(t, object)...)
			slices.Sort(got)
			require.Equal(t, tc.wantErrors, got)
		})
	}
}

// What would make the operator's pod another one has no field. The API server drops it, and refuses it where the client
// asks for strictness, as kubectl does.
func TestSpecCustomHasNoFieldForWhatANodeCouldBeTakenWith(t *testing.T) {
	object := decode(t, `{metadata: {name: cluster}, spec: {custom: {
		image: registry/ccm:1,
		hostPaths: [/etc], volumes: [], volumeMounts: [], securityContext: {privileged: true}, serviceAccountName: mine, resources: {}, ports: [],
		initContainers: [], envFrom: [], hostPID: true, lifecycle: {},
		env: [{name: A, value: b, valueFrom: {secretKeyRef: {name: a, key: b}}}],
		secrets: [{name: a, namespace: kube-system, mountPath: /etc, mode: 420}],
		cloudConfig: {name: a, namespace: kube-system},
		probe: {port: 1, host: example.com, exec: {command: [sh]}, httpHeaders: []}}}}`)
	unknown := pruning.PruneWithOptions(object, structural(t), true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	require.ElementsMatch(t, []string{
		"spec.custom.hostPaths", "spec.custom.volumes", "spec.custom.volumeMounts", "spec.custom.securityContext",
		"spec.custom.serviceAccountName", "spec.custom.resources", "spec.custom.ports", "spec.custom.initContainers",
		"spec.custom.envFrom", "spec.custom.hostPID", "spec.custom.lifecycle",
		"spec.custom.env[0].valueFrom",
		"spec.custom.secrets[0].namespace", "spec.custom.secrets[0].mountPath", "spec.custom.secrets[0].mode",
		"spec.custom.cloudConfig.namespace",
		"spec.custom.probe.host", "spec.custom.probe.exec", "spec.custom.probe.httpHeaders",
	}, unknown)
}

// duplicates returns what the API server says of lists that are maps.
func duplicates(t *testing.T, object string) []string {
	t.Helper()
	var messages []string
	for _, err := range listtype.ValidateListSetsAndMaps(nil, structural(t), decode(t, object)) {
		err.BadValue = nil
		messages = append(messages, err.Error())
	}
	return messages
}

func structural(t *testing.T) *schema.Structural {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	v1Schema := schemaOf(t, crdFile)
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1Schema, &internal, nil))
	s, err := schema.NewStructural(&internal)
	require.NoError(t, err)
	return s
}

// list repeats a text, each time with another letter for X.
func list(n int, text string) string {
	var items []string
	for i := range n {
		items = append(items, strings.ReplaceAll(text, "X", strings.Repeat("x", i)))
	}
	return strings.Join(items, ", ")
}
