package targetconfigcontroller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	target   = "openshift-cloud-controller-manager"
	observed = `{"platform": "openstack", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443",
		"cloudConfig": {"name": "cloud-provider-config", "key": "config"}}`
	goodConfig = "[Global]\nregion = RegionOne\n"
	goodClouds = `clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.com:5000/v3
      application_credential_id: id
      application_credential_secret: hidden
`
)

var started = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fixture is a cluster and the controller in it.
type fixture struct {
	kube     *fake.Clientset
	target   informers.SharedInformerFactory
	operator v1helpers.StaticPodOperatorClient
	clock    *clocktesting.FakeClock
	recorder events.InMemoryRecorder
	*controller
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	return newFixtureWith(t, operatorv1.StaticPodOperatorSpec{
		OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Managed, ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}},
	}, objects...)
}

func newFixtureWith(t *testing.T, spec operatorv1.StaticPodOperatorSpec, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{
		kube:     fake.NewClientset(objects...),
		operator: v1helpers.NewFakeStaticPodOperatorClient(&spec, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
		clock:    clocktesting.NewFakeClock(started),
	}
	f.recorder = events.NewInMemoryRecorder("test", f.clock)
	f.target = informers.NewSharedInformerFactory(f.kube, 0)
	f.controller = newController(Options{
		Operator:         f.operator,
		TargetConfigMaps: f.target.Core().V1().ConfigMaps(),
		TargetSecrets:    f.target.Core().V1().Secrets(),
		ConfigMaps:       f.kube.CoreV1(),
		Secrets:          f.kube.CoreV1(),
		TargetDaemonSets: f.target.Apps().V1().DaemonSets(),
		DaemonSets:       f.kube.AppsV1(),
		OperandImages:    map[string]string{"openstack-cloud-controller-manager": "registry/openstack@sha256:1"},
		OperatorImage:    "registry/operator@sha256:2",
		Clock:            f.clock,
		Recorder:         f.recorder,
	})
	f.refresh(t)
	return f
}

// refresh makes the caches show what the API has.
func (f *fixture) refresh(t *testing.T) {
	t.Helper()
	configMaps, err := f.kube.CoreV1().ConfigMaps(target).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var cached []any
	for i := range configMaps.Items {
		cached = append(cached, &configMaps.Items[i])
	}
	require.NoError(t, f.target.Core().V1().ConfigMaps().Informer().GetStore().Replace(cached, ""))
	secrets, err := f.kube.CoreV1().Secrets(target).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	cached = nil
	for i := range secrets.Items {
		cached = append(cached, &secrets.Items[i])
	}
	require.NoError(t, f.target.Core().V1().Secrets().Informer().GetStore().Replace(cached, ""))
	f.kube.ClearActions()
}

func (f *fixture) run(t *testing.T) error {
	t.Helper()
	return f.sync(t.Context(), factory.NewSyncContext("test", f.recorder))
}

// writes are the requests that change something, in their order.
func (f *fixture) writes() []string {
	var writes []string
	for _, action := range f.kube.Actions() {
		if action.GetVerb() == "get" || action.GetVerb() == "list" {
			continue
		}
		name := "?"
		if create, ok := action.(clienttesting.CreateAction); ok {
			name = create.GetObject().(metav1.Object).GetName()
		}
		if deletion, ok := action.(clienttesting.DeleteAction); ok {
			name = deletion.GetName()
		}
		writes = append(writes, action.GetVerb()+" "+action.GetResource().Resource+"/"+name)
	}
	return writes
}

// problems are the conditions that are true, as "<type>: <message>".
func (f *fixture) problems(t *testing.T) []string {
	t.Helper()
	_, status, _, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	var problems []string
	for _, condition := range status.Conditions {
		if condition.Status == operatorv1.ConditionTrue {
			problems = append(problems, condition.Type+": "+condition.Message)
		}
	}
	slices.Sort(problems)
	return problems
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}, Data: data}
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}, Data: data}
}

// inputs are those of a good cluster, with the given objects in place of those of the same kind and name.
func inputs(replaced ...metav1.Object) []runtime.Object {
	var objects []runtime.Object
	for _, object := range []metav1.Object{
		configMap("raw-cloud-config", map[string]string{"config": goodConfig}),
		secret("raw-cloud-credentials", map[string][]byte{"clouds.yaml": []byte(goodClouds)}),
		configMap("kube-root-ca.crt", map[string]string{"ca.crt": "the API's CA"}),
		secret("cert-syncer-identity", map[string][]byte{"token": []byte("a token")}),
	} {
		same := func(o metav1.Object) bool {
			return o.GetName() == object.GetName() && fmt.Sprintf("%T", o) == fmt.Sprintf("%T", object)
		}
		if !slices.ContainsFunc(replaced, same) {
			objects = append(objects, object.(runtime.Object))
		}
	}
	for _, object := range replaced {
		if object.GetLabels()["absent"] == "" {
			objects = append(objects, object.(runtime.Object))
		}
	}
	return objects
}

// without stands for an object that does not exist.
func without[T metav1.Object](object T) T {
	object.SetLabels(map[string]string{"absent": "yes"})
	return object
}

var firstWrites = []string{
	"create secrets/cloud-config",
	"create secrets/cloud-credentials",
	"create secrets/cert-syncer-token",
	"create configmaps/cloud-config",
	"create configmaps/trusted-ca",
	"create configmaps/kubeconfigs",
	"create configmaps/cloud-controller-manager-pod",
}

func TestACandidateIsAppliedWithThePodLast(t *testing.T) {
	f := newFixture(t, inputs()...)
	require.NoError(t, f.run(t))
	require.ElementsMatch(t, firstWrites, f.writes())
	require.Equal(t, firstWrites[len(firstWrites)-1], f.writes()[len(firstWrites)-1])
	require.Empty(t, f.problems(t))

	f.refresh(t)
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes(), "an unchanged candidate is not written again")
}

func TestWhatIsNeitherMineNorKnownIsLeftAlone(t *testing.T) {
	for name, config := range map[string]string{
		"nothing is observed yet":                     ``,
		"the platform has no controller manager":      `{"platform": "none"}`,
		"something else than a platform was observed": `{"infrastructureName": "ci-x7k2p"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, operatorv1.StaticPodOperatorSpec{
				OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(config)}},
			}, inputs()...)
			require.NoError(t, f.run(t))
			require.Empty(t, f.writes())
			require.Empty(t, f.problems(t))
		})
	}
}

func TestARefusedChangeLeavesEverything(t *testing.T) {
	const edited = "configmap/cloud-provider-config in openshift-config"
	for name, tc := range map[string]struct {
		changed metav1.Object
		want    []string
	}{
		"no cloud config": {
			changed: without(configMap("raw-cloud-config", nil)),
			want: []string{"CloudConfigDegraded: " + edited + ", key config: it does not exist; create it, or correct spec.cloudConfig of " +
				"infrastructure.config.openshift.io/cluster"},
		},
		"another key": {
			changed: configMap("raw-cloud-config", map[string]string{"b": "", "a": ""}),
			want: []string{"CloudConfigDegraded: " + edited + ", key config: there is no such key, the object has a, b; add the key, or correct " +
				"spec.cloudConfig of infrastructure.config.openshift.io/cluster"},
		},
		"no data": {
			changed: configMap("raw-cloud-config", nil),
			want: []string{"CloudConfigDegraded: " + edited + ", key config: there is no such key, the object has no data; add the key, or correct " +
				"spec.cloudConfig of infrastructure.config.openshift.io/cluster"},
		},
		"a CA bundle in binary data": {
			changed: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "raw-cloud-config"},
				Data:       map[string]string{"config": goodConfig},
				BinaryData: map[string][]byte{"ca-bundle.pem": {0xff}},
			},
			want: []string{"CloudConfigDegraded: " + edited + ", key ca-bundle.pem: it holds binary data, which no file on a node is made from; " +
				"store it as plain text in UTF-8"},
		},
		"a likely typo in a change": {
			changed: configMap("raw-cloud-config", map[string]string{"config": "[Global]\nregoin = RegionOne\n"}),
			want:    []string{"CloudConfigDegraded: " + edited + `, key config, line 2:1: unknown key "regoin" in [Global]; did you mean "region"?`},
		},
		"no credentials": {
			changed: without(secret("raw-cloud-credentials", nil)),
			want: []string{"CredentialsDegraded: secret/openstack-cloud-credentials in openshift-cloud-controller-manager: there is no credentials Secret: " +
				"see whether the cloud-credential-operator makes it, or create it where credentials are managed by hand"},
		},
		"no CA of the API": {
			changed: without(configMap("kube-root-ca.crt", nil)),
			want: []string{"ConfigurationDegraded: configmap/kube-root-ca.crt in openshift-cloud-controller-manager, key ca.crt: the CA of the API server " +
				"is not there; kube-controller-manager provides it, so see whether that runs"},
		},
		"no token of the cert-syncer": {
			changed: secret("cert-syncer-identity", nil),
			want: []string{"ConfigurationDegraded: secret/cert-syncer-identity in openshift-cloud-controller-manager, key token: the token of the cert-syncer " +
				"is not there; kube-controller-manager provides it, so see whether that runs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			good := newFixture(t, inputs()...)
			require.NoError(t, good.run(t))
			objects := inputs(tc.changed)
			for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
				accepted, err := good.kube.CoreV1().ConfigMaps(target).Get(t.Context(), name, metav1.GetOptions{})
				require.NoError(t, err)
				objects = append(objects, accepted)
			}

			f := newFixture(t, objects...)
			require.NoError(t, f.run(t))
			require.Empty(t, f.writes())
			require.Equal(t, tc.want, f.problems(t))
			require.Len(t, f.recorder.Events(), 1)

			require.NoError(t, f.run(t))
			require.Len(t, f.recorder.Events(), 1, "the same text is told once")
		})
	}
}

func TestALikelyTypoDoesNotStopAFirstInstallation(t *testing.T) {
	f := newFixture(t, inputs(configMap("raw-cloud-config", map[string]string{"config": "[Global]\nregoin = RegionOne\n"}))...)
	require.NoError(t, f.run(t))
	require.Len(t, f.writes(), len(firstWrites))
	want := []string{"CloudConfigNotices: configmap/cloud-provider-config in openshift-config, key config, line 2:1: " +
		`unknown key "regoin" in [Global]; did you mean "region"?`}
	require.Equal(t, want, f.problems(t))

	// Nor does it become an error when anything else changes.
	f.refresh(t)
	f.OperatorImage = "registry/operator@sha256:3"
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"update configmaps/cloud-controller-manager-pod"}, f.writes())
	require.Equal(t, want, f.problems(t))
}

func TestOpenStackIsInstalledWithoutACloudConfiguration(t *testing.T) {
	const defaults = "; write at least the line [Global] to have OpenShift's defaults, which a first installation gets without it"
	withoutKey := strings.Replace(observed, `, "key": "config"`, "", 1)
	unnamed := strings.Replace(observed, `,
		"cloudConfig": {"name": "cloud-provider-config", "key": "config"}`, "", 1)
	for name, test := range map[string]struct {
		observed string
		raw      metav1.Object
		state    string
	}{
		"the text is empty":                        {observed, configMap("raw-cloud-config", map[string]string{"config": ""}), "empty"},
		"Infrastructure names no key, no data":     {withoutKey, configMap("raw-cloud-config", nil), "missing"},
		"Infrastructure names no ConfigMap at all": {unnamed, without(configMap("raw-cloud-config", nil)), "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, operatorv1.StaticPodOperatorSpec{
				OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Managed, ObservedConfig: runtime.RawExtension{Raw: []byte(test.observed)}},
			}, inputs(test.raw)...)
			f.clock.Step(time.Minute)
			require.NoError(t, f.run(t))
			require.Len(t, f.writes(), len(firstWrites))
			require.Equal(t, []string{"CloudConfigNotices: configmap/cloud-provider-config in openshift-config, key config: " +
				"there is no cloud configuration: it is " + test.state + defaults}, f.problems(t))
		})
	}
}

func TestANewClusterIsGivenTime(t *testing.T) {
	for name, absent := range map[string]metav1.Object{
		"for the credentials":                     without(secret("raw-cloud-credentials", nil)),
		"for the CA of the API":                   without(configMap("kube-root-ca.crt", nil)),
		"for the token of the cert-syncer":        secret("cert-syncer-identity", nil),
		"for the copy of the cloud configuration": without(configMap("raw-cloud-config", nil)),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, inputs(absent)...)
			f.clock.Step(59 * time.Second)
			require.NoError(t, f.run(t))
			require.Empty(t, f.problems(t))

			f.clock.Step(time.Second)
			require.NoError(t, f.run(t))
			require.Len(t, f.problems(t), 1)
			require.Empty(t, f.writes())
		})
	}
}

func TestTheManagedCopyHasAKeyOfItsOwn(t *testing.T) {
	raw := configMap("raw-cloud-config", map[string]string{"cloud.conf": goodConfig})
	raw.Annotations = map[string]string{"cloud-controller-manager.openshift.io/copied-from": "openshift-config-managed/kube-cloud-config"}
	f := newFixture(t, inputs(raw)...)
	require.NoError(t, f.run(t))
	require.Empty(t, f.problems(t))
	require.Len(t, f.writes(), len(firstWrites))
}

func TestATrustedCAThatIsMissingIsLeftOutAndTold(t *testing.T) {
	f := newFixtureWith(t, operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{
		Raw: []byte(`{"trustedCA": "user-ca-bundle",` + observed[1:]),
	}}}, inputs()...)
	f.clock.Step(time.Hour)
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"TrustedCADegraded: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: it does not exist; create it, or correct " +
		"spec.trustedCA of proxy.config.openshift.io/cluster"}, f.problems(t))
	require.Len(t, f.writes(), len(firstWrites))

	f.OperandImages = nil
	f.refresh(t)
	require.NoError(t, f.run(t))
	require.Len(t, f.problems(t), 2, "another cause does not hide it")
}

func TestAMissingImageIsReported(t *testing.T) {
	f := newFixture(t, inputs()...)
	f.OperandImages = nil
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Equal(t, []string{"ImageDegraded: deployment/cluster-cloud-controller-manager-operator in openshift-cloud-controller-manager-operator, " +
		"key openstack-cloud-controller-manager: there is no image of the cloud-controller-manager for platform openstack; the release must name it"}, f.problems(t))
}

func TestAFailedWriteStopsBeforeThePod(t *testing.T) {
	f := newFixture(t, inputs()...)
	f.kube.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName() != "trusted-ca" {
			return false, nil, nil
		}
		return true, nil, errors.New("no quota")
	})
	require.EqualError(t, f.run(t), "configmap/trusted-ca in openshift-cloud-controller-manager: no quota")
	require.NotContains(t, f.writes(), "create configmaps/cloud-controller-manager-pod")
}

func TestMessagesAreBounded(t *testing.T) {
	line := "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
	lines := slices.Repeat([]string{line}, 20)
	got := bounded(lines)
	require.Less(t, len(got), 1024)
	require.Regexp(t, "\nand 11 more$", got)
	require.Equal(t, line, bounded(lines[:1]))
	require.Empty(t, bounded(nil))
}
