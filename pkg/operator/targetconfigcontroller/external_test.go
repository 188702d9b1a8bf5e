package targetconfigcontroller

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	externalBase = `{"platform": "external", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443", `
	rights       = "CloudConfigNotices: cloudcontrollermanager.operator.openshift.io/cluster, key spec.external: the cloud-controller-manager runs as " +
		"serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager with the rights that all of them need; what it needs besides has to be bound to it"
)

func newObserving(t *testing.T, observed string, objects ...runtime.Object) *fixture {
	t.Helper()
	return newFixtureWith(t, operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
	}}, objects...)
}

// withoutCloud are the inputs of a cluster that has neither a cloud configuration nor credentials, and those given.
func withoutCloud(more ...metav1.Object) []runtime.Object {
	return inputs(append(more, without(configMap("raw-cloud-config", nil)), without(secret("raw-cloud-credentials", nil)))...)
}

func TestACloudControllerManagerOfTheAdministratorsOwn(t *testing.T) {
	f := newObserving(t, externalBase+`"external": {"image": "registry/acme:1"}}`, withoutCloud()...)
	require.NoError(t, f.run(t))
	require.Len(t, f.writes(), len(firstWrites), "nothing is missing that would have to be waited for")
	require.Equal(t, []string{rights}, f.problems(t))
	pod, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), "cloud-controller-manager-pod", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, pod.Data["pod.yaml"], `"image": "registry/acme:1"`)
}

func TestSecretsOfExternalAreWaitedForUntilTheyAreCopied(t *testing.T) {
	const observed = externalBase + `"external": {"image": "registry/acme:1", "secrets": [{"name": "a"}, {"name": "b", "delivery": "Reloaded"}]}}`
	a, b := secret("a", map[string][]byte{"x": []byte("1")}), secret("b", map[string][]byte{"y": []byte("2")})
	raw, tokens := secret("raw-cloud-credentials", a.Data), secret("cloud-tokens", b.Data)
	for name, tc := range map[string]struct {
		objects []metav1.Object
		want    int
	}{
		"no copy":                 {objects: []metav1.Object{a, b, without(secret("raw-cloud-credentials", nil)), tokens}},
		"the copy of former keys": {objects: []metav1.Object{a, b, secret("raw-cloud-credentials", map[string][]byte{"x": []byte("0")}), tokens}},
		"no cloud-tokens":         {objects: []metav1.Object{a, b, raw}},
		"a key less":              {objects: []metav1.Object{a, b, raw, secret("cloud-tokens", nil)}},
		"all is there":            {objects: []metav1.Object{a, b, raw, tokens}, want: len(firstWrites)},
		"what is reloaded may be older": {
			objects: []metav1.Object{a, b, raw, secret("cloud-tokens", map[string][]byte{"y": []byte("0")})}, want: len(firstWrites),
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newObserving(t, observed, inputs(append(tc.objects, without(configMap("raw-cloud-config", nil)))...)...)
			f.clock.Step(time.Hour)
			require.NoError(t, f.run(t))
			require.Len(t, f.writes(), tc.want)
		})
	}
}

func TestASecretOfExternalThatIsMissing(t *testing.T) {
	const observed = externalBase + `"external": {"image": "registry/acme:1", "secrets": [{"name": "a"}]}}`
	f := newObserving(t, observed, withoutCloud()...)
	require.NoError(t, f.run(t))
	require.Empty(t, f.problems(t), "a new cluster is given time")

	f.clock.Step(time.Minute)
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Equal(t, []string{"CredentialsDegraded: secret/a in openshift-cloud-controller-manager: it does not exist, but spec.external.secrets of " +
		"cloudcontrollermanager/cluster names it; create it, or remove it there"}, f.problems(t))
}

func TestTheCloudConfigOfExternalIsLookedForWhereItIsNamed(t *testing.T) {
	f := newObserving(t, externalBase+`"cloudConfig": {"name": "acme", "key": "a"}, "external": {"image": "registry/acme:1", "cloudConfig": {"name": "acme", "key": "a"}}}`,
		inputs(configMap("raw-cloud-config", map[string]string{"b": ""}))...)
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"CloudConfigDegraded: configmap/acme in openshift-config, key a: there is no such key, the object has b; add the key, or " +
		"correct spec.external.cloudConfig of cloudcontrollermanager/cluster"}, f.problems(t))
}

func TestOptionalCredentialsAreWaitedForAndThenDoneWithout(t *testing.T) {
	const observed = `{"platform": "aws", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443"}`
	f := newObserving(t, observed, withoutCloud()...)
	f.OperandImages = map[string]string{"aws-cloud-controller-manager": "registry/aws:1"}
	f.clock.Step(59 * time.Second)
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes(), "they may come")

	f.clock.Step(time.Second)
	require.NoError(t, f.run(t))
	require.Empty(t, f.problems(t))
	require.Len(t, f.writes(), len(firstWrites))
}

func TestOverridesCannotReplaceThePayloadsImage(t *testing.T) {
	const payload = "ConfigurationDegraded: cloudcontrollermanager.operator.openshift.io/cluster, key spec.unsupportedConfigOverrides.external: " +
		"platform openstack runs the cloud-controller-manager of the release payload, which nothing can replace; remove it"
	const own = "ConfigurationDegraded: cloudcontrollermanager.operator.openshift.io/cluster, key spec.unsupportedConfigOverrides.external: " +
		"spec.external cannot be overridden; remove it and change spec.external"
	const openstack = `{"platform": "openstack", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443"`
	for name, tc := range map[string]struct {
		observed, overrides, want string
		objects                   []runtime.Object
	}{
		"an image":                    {observed: openstack + "}", overrides: `{"external": {"image": "evil:1"}}`, want: payload, objects: inputs()},
		"an image under another case": {observed: openstack + "}", overrides: `{"EXTERNAL": {"Image": "evil:1"}}`, want: payload, objects: inputs()},
		"a command":                   {observed: openstack + "}", overrides: `{"external": {"command": ["sh"]}}`, want: payload, objects: inputs()},
		"an image that was observed otherwise": {observed: openstack + `, "external": {"image": "evil:1"}}`, objects: inputs(),
			want: "ConfigurationDegraded: cloudcontrollermanager.operator.openshift.io/cluster, key spec.external.image: platform openstack has this built in; remove it"},
		"another image on External":     {observed: externalBase + `"external": {"image": "registry/acme:1"}}`, overrides: `{"external": {"image": "evil:1"}}`, want: own, objects: withoutCloud()},
		"no image on External":          {observed: externalBase + `"external": {"image": "registry/acme:1"}}`, overrides: `{"external": null}`, want: own, objects: withoutCloud()},
		"one more argument on External": {observed: externalBase + `"external": {"image": "registry/acme:1"}}`, overrides: `{"external": {"args": ["--x"]}}`, want: own, objects: withoutCloud()},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
				ObservedConfig:             runtime.RawExtension{Raw: []byte(tc.observed)},
				UnsupportedConfigOverrides: runtime.RawExtension{Raw: []byte(tc.overrides)},
			}}, tc.objects...)
			require.NoError(t, f.run(t))
			require.Empty(t, f.writes(), "nothing is delivered")
			require.Contains(t, f.problems(t), tc.want)
		})
	}
}
