package targetconfigcontroller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

const (
	onExternal = `{"platform": "external", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443", `
	rights     = "CloudConfigNotices: cloudcontrollermanager.operator.openshift.io/cluster, key spec.custom: the cloud-controller-manager runs as " +
		"serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager, which has only the " +
		"permissions that all cloud-controller-managers need; bind a role to it if it needs more"
)

// withoutCloud returns the inputs of a cluster without a cloud configuration and credentials, and the given ones.
func withoutCloud(more ...metav1.Object) []runtime.Object {
	return goodInputs(append(more, without(userConfigMap("cloud-provider-config", nil)), without(secret("openstack-cloud-credentials", nil)))...)
}

func TestACloudControllerManagerOfTheAdministratorsOwn(t *testing.T) {
	f := newObserving(t, onExternal+`"custom": {"image": "registry/acme:1"}}`, withoutCloud()...)
	require.NoError(t, f.run(t))
	require.Len(t, f.writes(), len(firstWrites), "nothing is missing that would have to be waited for")
	require.Equal(t, []string{rights}, f.trueConditions(t))
	pod, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), "cloud-controller-manager-pod", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, pod.Data["pod.yaml"], `"image": "registry/acme:1"`)
}

func TestSecretsOfSpecCustomThatAreReloadedAreNamedByTheCandidate(t *testing.T) {
	const observed = onExternal + `"custom": {"image": "registry/acme:1", "secrets": [{"name": "a"}, {"name": "b", "delivery": "Reloaded"}]}}`
	f := newObserving(t, observed, withoutCloud(secret("a", map[string][]byte{"x": []byte("1")}), secret("b", map[string][]byte{"y": []byte("2")}))...)
	require.NoError(t, f.run(t))
	require.Len(t, f.writes(), len(firstWrites), "it does not wait for cloud-tokens; the revision does")
	require.Equal(t, "y", f.reloaded(t))
}

func TestASecretOfSpecCustomThatIsMissing(t *testing.T) {
	const observed = onExternal + `"custom": {"image": "registry/acme:1", "secrets": [{"name": "a"}]}}`
	f := newObserving(t, observed, withoutCloud()...)
	require.NoError(t, f.run(t))
	require.Empty(t, f.trueConditions(t), "a new cluster is given time")

	f.clock.Step(45 * time.Second)
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Equal(t, []string{"CredentialsDegraded: secret/a in openshift-cloud-controller-manager: it does not exist, but spec.custom.secrets of " +
		"cloudcontrollermanager/cluster names it; create it, or remove it from the list"}, f.trueConditions(t))
}

func TestTheCloudConfigOfSpecCustomIsLookedForWhereItIsNamed(t *testing.T) {
	f := newObserving(t, onExternal+`"cloudConfig": {"name": "acme", "key": "a"}, "custom": {"image": "registry/acme:1", "cloudConfig": {"name": "acme", "key": "a"}}}`,
		goodInputs(userConfigMap("acme", map[string]string{"b": ""}))...)
	f.runUntilSettled(t)
	require.Equal(t, []string{"CloudConfigDegraded: configmap/acme in openshift-config, key a: there is no such key, the object has b; add the key, or " +
		"correct spec.custom.cloudConfig of cloudcontrollermanager/cluster"}, f.trueConditions(t))
}

func TestOptionalCredentialsAreWaitedForAndThenDoneWithout(t *testing.T) {
	const observed = `{"platform": "aws", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443"}`
	f := newObserving(t, observed, withoutCloud()...)
	f.OperandImages = map[string]string{"aws-cloud-controller-manager": "registry/aws:1"}
	require.NoError(t, f.run(t))
	f.clock.Step(44 * time.Second)
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes(), "they may come")

	f.clock.Step(time.Second)
	require.NoError(t, f.run(t))
	require.Empty(t, f.trueConditions(t))
	require.Len(t, f.writes(), len(firstWrites))
}

func TestOverridesCannotReplaceThePayloadsImage(t *testing.T) {
	const payload = "ConfigurationDegraded: cloudcontrollermanager.operator.openshift.io/cluster, key spec.unsupportedConfigOverrides.custom: " +
		"platform openstack runs the cloud-controller-manager of the release payload, which cannot be replaced; " +
		"remove the field"
	const own = "ConfigurationDegraded: cloudcontrollermanager.operator.openshift.io/cluster, key spec.unsupportedConfigOverrides.custom: " +
		"spec.custom cannot be overridden; remove the field and change spec.custom instead"
	const openstack = `{"platform": "openstack", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443"`
	for name, tc := range map[string]struct {
		observed, overrides, want string
		objects                   []runtime.Object
	}{
		"an image":                    {observed: openstack + "}", overrides: `{"custom": {"image": "evil:1"}}`, want: payload, objects: goodInputs()},
		"an image under another case": {observed: openstack + "}", overrides: `{"CUSTOM": {"Image": "evil:1"}}`, want: payload, objects: goodInputs()},
		"a command":                   {observed: openstack + "}", overrides: `{"custom": {"command": ["sh"]}}`, want: payload, objects: goodInputs()},
		"an image that was observed otherwise": {observed: openstack + `, "custom": {"image": "evil:1"}}`, objects: goodInputs(),
			want: "ConfigurationDegraded: cloudcontrollermanager.operator.openshift.io/cluster, key " +
				"spec.custom.image: the operator sets this on platform openstack; remove the field"},
		"another image on External":     {observed: onExternal + `"custom": {"image": "registry/acme:1"}}`, overrides: `{"custom": {"image": "evil:1"}}`, want: own, objects: withoutCloud()},
		"no image on External":          {observed: onExternal + `"custom": {"image": "registry/acme:1"}}`, overrides: `{"custom": null}`, want: own, objects: withoutCloud()},
		"one more argument on External": {observed: onExternal + `"custom": {"image": "registry/acme:1"}}`, overrides: `{"custom": {"args": ["--x"]}}`, want: own, objects: withoutCloud()},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
				ObservedConfig:             runtime.RawExtension{Raw: []byte(tc.observed)},
				UnsupportedConfigOverrides: runtime.RawExtension{Raw: []byte(tc.overrides)},
			}}, tc.objects...)
			f.refresh(t)
			require.NoError(t, f.run(t))
			require.Empty(t, f.writes(), "nothing is delivered")
			require.Contains(t, f.trueConditions(t), tc.want)
		})
	}
}

func TestOptionalCredentialsThatVanishAreKept(t *testing.T) {
	for platform, tc := range map[string]struct {
		secret string
		data   map[string][]byte
		// more is added to the observed configuration.
		more string
	}{
		"aws": {
			secret: "cloud-controller-manager-credentials",
			data:   map[string][]byte{"aws_access_key_id": []byte("AKIA0123456789ABCDEF"), "aws_secret_access_key": []byte("hidden")},
		},
		"alibabacloud": {
			secret: "alibabacloud-cloud-credentials",
			data:   map[string][]byte{"alibaba_access_key_id": []byte("LTAIexample"), "alibaba_access_key_secret": []byte("hidden")},
			more:   `, "custom": {"image": "registry/ccm:1"}`,
		},
	} {
		t.Run(platform, func(t *testing.T) {
			f := newObserving(t, `{"platform": "`+platform+`", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443"`+
				tc.more+`}`, withoutCloud(secret(tc.secret, tc.data))...)
			f.OperandImages = map[string]string{"aws-cloud-controller-manager": "registry/aws:1"}
			require.NoError(t, f.run(t))
			require.Len(t, f.writes(), len(firstWrites))
			before := f.trueConditions(t)

			deleteSecret(tc.secret)(f, t)
			f.runUntilSettled(t)
			require.Empty(t, f.writes())
			require.Equal(t, append(slices.Clone(before), "CredentialsDegraded: secret/"+tc.secret+" in openshift-cloud-controller-manager: it was deleted, but the "+
				"cloud-controller-manager keeps using its keys; create it again, or create it without keys to use the identity of the instances"+acceptedLine), f.trueConditions(t))

			// A new process of the operator behaves the same.
			f.restart()
			f.runUntilSettled(t)
			require.Empty(t, f.writes())

			_, err := f.kube.CoreV1().Secrets(target).Create(t.Context(), secret(tc.secret, nil), metav1.CreateOptions{})
			require.NoError(t, err)
			f.refresh(t)
			require.NoError(t, f.run(t))
			require.Contains(t, f.writes(), "update configmaps/cloud-controller-manager-pod")
			require.Equal(t, before, f.trueConditions(t))

			deleteSecret(tc.secret)(f, t)
			require.NoError(t, f.run(t))
			require.Equal(t, []string{"update secrets/accepted-inputs"}, f.writes(), "what has no keys can go without a change of the candidate")

			_, err = f.kube.CoreV1().Secrets(target).Create(t.Context(), secret(tc.secret, tc.data), metav1.CreateOptions{})
			require.NoError(t, err)
			f.refresh(t)
			require.NoError(t, f.run(t))
			require.Contains(t, f.writes(), "update configmaps/cloud-controller-manager-pod")
		})
	}
}

func TestAWithdrawnSecretIsNoLongerDemanded(t *testing.T) {
	const base = onExternal + `"custom": {"image": "registry/acme:1", "secrets": [%s]}}`
	f := newObserving(t, fmt.Sprintf(base, `{"name": "a", "delivery": "Reloaded"}`),
		withoutCloud(secret("a", map[string][]byte{"x": []byte("1")}), secret("cloud-tokens", nil))...)
	f.refresh(t)
	require.NoError(t, f.run(t))
	f.refresh(t)
	require.Equal(t, "x", f.reloaded(t))

	f.setObserved(t, strings.Replace(fmt.Sprintf(base, ""), `, "secrets": []`, "", 1))
	require.NoError(t, f.run(t))
	require.Empty(t, f.reloaded(t))
}

// reloaded returns the keys of cloud-tokens in the candidate's annotation.
func (f *fixture) reloaded(t *testing.T) string {
	t.Helper()
	candidate, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), operand.PodConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, candidate.Annotations, customccm.ReloadedAnnotation)
	return candidate.Annotations[customccm.ReloadedAnnotation]
}
