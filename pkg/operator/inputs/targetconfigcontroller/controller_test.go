package targetconfigcontroller

import (
	"cmp"
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

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
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

// fixture is a cluster and its controller.
type fixture struct {
	kube *fake.Clientset
	// target has the objects of the operand's namespace, user the ConfigMaps of the other namespaces.
	target   informers.SharedInformerFactory
	user     informers.SharedInformerFactory
	operator v1helpers.StaticPodOperatorClient
	// meta is that of the operator's resource.
	meta     *metav1.ObjectMeta
	clock    *clocktesting.FakeClock
	recorder events.InMemoryRecorder
	*controller

	// scribbled makes confirm report that the observed configuration is not the observers'.
	scribbled bool

	// lease is what the process has seen of the operand's lease.
	lease controlplane.Lease
	// leads is what works returns instead of 1, if it is not 0.
	leads int32
	// works is whether works returns revision 1, with worksErr.
	works    bool
	worksErr error
}

type operatorResource struct {
	v1helpers.StaticPodOperatorClient
	meta *metav1.ObjectMeta
}

func (r operatorResource) GetObjectMeta() (*metav1.ObjectMeta, error) { return r.meta, nil }

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	return newObserving(t, observed, objects...)
}

// newObserving returns a cluster with an observed configuration.
func newObserving(t *testing.T, observed string, objects ...runtime.Object) *fixture {
	t.Helper()
	f := newFixtureWith(t, operatorv1.StaticPodOperatorSpec{
		OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Managed, ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}},
	}, objects...)
	f.refresh(t)
	return f
}

func newFixtureWith(t *testing.T, spec operatorv1.StaticPodOperatorSpec, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{
		kube:  fake.NewClientset(objects...),
		meta:  &metav1.ObjectMeta{},
		clock: clocktesting.NewFakeClock(started),
	}
	f.operator = operatorResource{
		v1helpers.NewFakeStaticPodOperatorClient(&spec, &operatorv1.StaticPodOperatorStatus{}, nil, nil), f.meta,
	}
	f.recorder = events.NewInMemoryRecorder("test", f.clock)
	f.target = informers.NewSharedInformerFactory(f.kube, 0)
	f.user = informers.NewSharedInformerFactory(f.kube, 0)
	require.NoError(t, f.target.Core().V1().Namespaces().Informer().GetStore().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target}}))
	f.start(Options{
		Namespaces:    f.target.Core().V1().Namespaces(),
		UserConfig:    f.user.Core().V1().ConfigMaps(),
		ManagedConfig: f.user.Core().V1().ConfigMaps(),
		NodeManagers:  f.target.Apps().V1().DaemonSets(),
		OperandImages: map[string]string{"openstack-cloud-controller-manager": "registry/openstack@sha256:1"},
		OperatorImage: "registry/operator@sha256:2",
	})
	f.refresh(t)
	return f
}

// start starts a process of the operator. Its client reads from the API: a test refreshes the caches when it wants to.
func (f *fixture) start(o Options) {
	f.controller = newController(dependencies.Deps{
		Operator: f.operator, Kube: f.kube, Target: f.target, Clock: f.clock, Recorder: f.recorder, Lease: &f.lease,
	}, func(*operatorv1.OperatorSpec) (bool, error) { return !f.scribbled, nil }, o)
	f.configMaps, f.secrets = f.kube.CoreV1(), f.kube.CoreV1()
	f.workingRevision = func() (int32, error) {
		return map[bool]int32{true: cmp.Or(f.leads, 1)}[f.works], f.worksErr
	}
}

// refresh updates the caches from the API.
func (f *fixture) refresh(t *testing.T) {
	t.Helper()
	f.fillCaches(t)
	f.kube.ClearActions()
}

func (f *fixture) fillCaches(t *testing.T) {
	t.Helper()
	configMaps, err := f.kube.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var inTarget, elsewhere, cached []any
	for i, configMap := range configMaps.Items {
		if configMap.Namespace == target {
			inTarget = append(inTarget, &configMaps.Items[i])
		} else {
			elsewhere = append(elsewhere, &configMaps.Items[i])
		}
	}
	require.NoError(t, f.target.Core().V1().ConfigMaps().Informer().GetStore().Replace(inTarget, ""))
	require.NoError(t, f.user.Core().V1().ConfigMaps().Informer().GetStore().Replace(elsewhere, ""))
	secrets, err := f.kube.CoreV1().Secrets(target).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range secrets.Items {
		cached = append(cached, &secrets.Items[i])
	}
	require.NoError(t, f.target.Core().V1().Secrets().Informer().GetStore().Replace(cached, ""))
}

func (f *fixture) run(t *testing.T) error {
	t.Helper()
	return f.sync(t.Context(), factory.NewSyncContext("test", f.recorder))
}

// runUntilSettled runs the controller until no input is pending.
func (f *fixture) runUntilSettled(t *testing.T) {
	t.Helper()
	require.NoError(t, f.run(t))
	f.fillCaches(t)
	f.clock.Step(componentGracePeriod)
	require.NoError(t, f.run(t))
}

// writes returns the writing requests in their order.
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

// trueConditions returns the conditions that are True, as "<type>: <message>".
func (f *fixture) trueConditions(t *testing.T) []string {
	t.Helper()
	_, status, _, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	var found []string
	for _, condition := range status.Conditions {
		if condition.Status == operatorv1.ConditionTrue {
			found = append(found, condition.Type+": "+condition.Message)
		}
	}
	slices.Sort(found)
	return found
}

func publishedCA(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "kube-root-ca.crt"}, Data: data}
}

func userConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: name}, Data: data}
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}, Data: data}
}

// foreignToken is the file-syncer's Secret with a text instead of a token.
func foreignToken() *corev1.Secret {
	s := secret("file-syncer-identity", map[string][]byte{"token": []byte("damaged")})
	s.Type = corev1.SecretTypeServiceAccountToken
	return s
}

// goodInputs returns a valid cluster's inputs, in which the given objects replace those of the same kind and name.
func goodInputs(replaced ...metav1.Object) []runtime.Object {
	var objects []runtime.Object
	for _, object := range []metav1.Object{
		userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}),
		secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte(goodClouds)}),
		publishedCA(map[string]string{"ca.crt": "the API's CA"}),
		secret("file-syncer-identity", map[string][]byte{"token": []byte("a token")}),
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

// without marks an object as absent.
func without[T metav1.Object](object T) T {
	object.SetLabels(map[string]string{"absent": "yes"})
	return object
}

var firstWrites = []string{
	"create secrets/accepted-inputs",
	"create secrets/cloud-config",
	"create secrets/cloud-credentials",
	"create secrets/file-syncer-token",
	"create configmaps/cloud-config",
	"create configmaps/trusted-ca",
	"create configmaps/kubeconfigs",
	"create configmaps/cloud-controller-manager-pod",
}

func TestACandidateIsAppliedWithThePodLast(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	require.ElementsMatch(t, firstWrites, f.writes())
	require.Equal(t, firstWrites[len(firstWrites)-1], f.writes()[len(firstWrites)-1])
	require.Empty(t, f.trueConditions(t))

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
			}, goodInputs()...)
			require.NoError(t, f.run(t))
			require.Empty(t, f.writes())
			require.Empty(t, f.trueConditions(t))
		})
	}
}

func TestARejectedChangeLeavesEverything(t *testing.T) {
	const edited = "configmap/cloud-provider-config in openshift-config"
	const noToken = "ConfigurationDegraded: secret/file-syncer-identity in openshift-cloud-controller-manager, key token: the " +
		"token of the file-syncer is missing; check that kube-controller-manager, which writes it, is running"
	for name, tc := range map[string]struct {
		changed metav1.Object
		want    []string
	}{
		"no cloud config": {
			changed: without(userConfigMap("cloud-provider-config", nil)),
			want: []string{"CloudConfigDegraded: " + edited + ", key config: it does not exist; create it, or correct spec.cloudConfig of " +
				"infrastructure.config.openshift.io/cluster"},
		},
		"another key": {
			changed: userConfigMap("cloud-provider-config", map[string]string{"b": "", "a": ""}),
			want: []string{"CloudConfigDegraded: " + edited + ", key config: there is no such key, the object has a, b; add the key, or correct " +
				"spec.cloudConfig of infrastructure.config.openshift.io/cluster"},
		},
		"no data": {
			changed: userConfigMap("cloud-provider-config", nil),
			want: []string{"CloudConfigDegraded: " + edited + ", key config: there is no such key, the object has no data; add the key, or correct " +
				"spec.cloudConfig of infrastructure.config.openshift.io/cluster"},
		},
		"a CA bundle in binary data": {
			changed: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"},
				Data:       map[string]string{"config": goodConfig},
				BinaryData: map[string][]byte{"ca-bundle.pem": {0xff}},
			},
			want: []string{"CloudConfigDegraded: " + edited + ", key ca-bundle.pem: binary data is not supported; store the value as UTF-8 " +
				"text"},
		},
		"a likely typo in a change": {
			changed: userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregoin = RegionOne\n"}),
			want:    []string{"CloudConfigDegraded: " + edited + `, key config, line 2:1: unknown key "regoin" in [Global]; did you mean "region"?`},
		},
		"no credentials": {
			changed: without(secret("openstack-cloud-credentials", nil)),
			want: []string{"CredentialsDegraded: secret/openstack-cloud-credentials in openshift-cloud-controller-manager: there is no credentials Secret: " +
				"check the cloud-credential-operator, or create the Secret if credentials are managed manually"},
		},
		"no CA of the API": {
			changed: without(publishedCA(nil)),
			want: []string{"ConfigurationDegraded: configmap/kube-root-ca.crt in openshift-cloud-controller-manager, key ca.crt: the CA of the API server " +
				"is missing; check that kube-controller-manager, which writes it, is running"},
		},
		"another token than the file-syncer's": {
			changed: foreignToken(),
			want:    []string{noToken},
		},
		"no token of the file-syncer": {
			changed: secret("file-syncer-identity", nil),
			want:    []string{noToken},
		},
	} {
		t.Run(name, func(t *testing.T) {
			good := newFixture(t, goodInputs()...)
			require.NoError(t, good.run(t))
			objects := goodInputs(tc.changed)
			for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
				accepted, err := good.kube.CoreV1().ConfigMaps(target).Get(t.Context(), name, metav1.GetOptions{})
				require.NoError(t, err)
				objects = append(objects, accepted)
			}

			f := newFixture(t, objects...)
			f.runUntilSettled(t)
			require.Empty(t, f.writes())
			require.Equal(t, tc.want, withoutCommand(f.trueConditions(t)))
			require.Len(t, f.recorder.Events(), 1)

			require.NoError(t, f.run(t))
			require.Len(t, f.recorder.Events(), 1, "the same text is told once")
		})
	}
}

func TestALikelyTypoDoesNotStopAFirstInstallation(t *testing.T) {
	f := newFixture(t, goodInputs(userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregoin = RegionOne\n"}))...)
	require.NoError(t, f.run(t))
	require.Len(t, f.writes(), len(firstWrites))
	want := []string{"CloudConfigNotices: configmap/cloud-provider-config in openshift-config, key config, line 2:1: " +
		`unknown key "regoin" in [Global]; did you mean "region"?`}
	require.Equal(t, want, f.trueConditions(t))

	// It does not become an error when another input changes either.
	f.refresh(t)
	f.OperatorImage = "registry/operator@sha256:3"
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"update configmaps/cloud-controller-manager-pod"}, f.writes())
	require.Equal(t, want, f.trueConditions(t))
}

func TestOpenStackIsInstalledWithoutACloudConfiguration(t *testing.T) {
	const defaults = "; write at least the line [Global] to have OpenShift's defaults, which a first installation gets without it"
	withoutKey := strings.Replace(observed, `, "key": "config"`, "", 1)
	unnamed := strings.Replace(observed, `,
		"cloudConfig": {"name": "cloud-provider-config", "key": "config"}`, "", 1)
	const edited = "configmap/cloud-provider-config in openshift-config, key config"
	for name, test := range map[string]struct {
		observed      string
		edited        metav1.Object
		source, state string
	}{
		"the text is empty":                    {observed, userConfigMap("cloud-provider-config", map[string]string{"config": ""}), edited, "empty"},
		"Infrastructure names no key, no data": {withoutKey, userConfigMap("cloud-provider-config", nil), edited, "missing"},
		"Infrastructure names no ConfigMap at all": {
			unnamed, without(userConfigMap("cloud-provider-config", nil)), "infrastructure.config.openshift.io/cluster, spec.cloudConfig", "missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newObserving(t, test.observed, goodInputs(test.edited)...)
			f.runUntilSettled(t)
			require.Len(t, f.writes(), len(firstWrites))
			require.Equal(t, []string{"CloudConfigNotices: " + test.source + ": there is no cloud configuration: it is " + test.state + defaults}, f.trueConditions(t))
		})
	}
}

func TestANewClusterIsGivenTime(t *testing.T) {
	for name, absent := range map[string]metav1.Object{
		"for the credentials":              without(secret("openstack-cloud-credentials", nil)),
		"for the CA of the API":            without(publishedCA(nil)),
		"for the token of the file-syncer": secret("file-syncer-identity", nil),
		"for the cloud configuration":      without(userConfigMap("cloud-provider-config", nil)),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs(absent)...)
			require.NoError(t, f.run(t))
			f.clock.Step(44 * time.Second)
			require.NoError(t, f.run(t))
			require.Empty(t, f.trueConditions(t))

			f.clock.Step(time.Second)
			require.NoError(t, f.run(t))
			require.Len(t, f.trueConditions(t), 1)
			require.Empty(t, f.writes())
		})
	}
}

func TestTheManagedCopyHasAKeyOfItsOwn(t *testing.T) {
	managed := userConfigMap("kube-cloud-config", map[string]string{"cloud.conf": goodConfig})
	managed.Namespace = "openshift-config-managed"
	f := newFixture(t, goodInputs(managed)...)
	require.NoError(t, f.run(t))
	require.Empty(t, f.trueConditions(t))
	require.Len(t, f.writes(), len(firstWrites))
}

func TestATrustedCAThatIsMissingIsLeftOutAndTold(t *testing.T) {
	f := newObserving(t, `{"trustedCA": "user-ca-bundle",`+observed[1:], goodInputs()...)
	f.runUntilSettled(t)
	require.Equal(t, []string{"TrustedCADegraded: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: it does not exist; create it, or correct " +
		"spec.trustedCA of proxy.config.openshift.io/cluster"}, f.trueConditions(t))
	require.Len(t, f.writes(), len(firstWrites))

	f.OperandImages = nil
	f.refresh(t)
	require.NoError(t, f.run(t))
	require.Len(t, f.trueConditions(t), 2, "another cause does not hide it")
}

func TestATrustedCAThatPreventsACandidateIsRejected(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	recorder := events.NewInMemoryRecorder("test", f.clock)
	rejection := diagnostic.Diagnostic{Cause: diagnostic.TrustedCA, Object: "configmap/user-ca-bundle", Message: "is too large"}
	require.NoError(t, f.report(t.Context(), recorder, &operatorv1.StaticPodOperatorStatus{},
		&candidate{errors: []diagnostic.Diagnostic{rejection}}))
	require.Equal(t, []string{"TrustedCADegraded: " + rejection.String()}, f.trueConditions(t))
	require.Len(t, recorder.Events(), 1)
	require.Equal(t, "TrustedCARefused", recorder.Events()[0].Reason)
}

func TestInputsThatCannotBeJudgedMakeOneEvent(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	rejection := &diagnostic.Diagnostic{Cause: diagnostic.Credentials, Object: "secret/a", Message: "the reason"}
	for message, want := range map[string]int{rejection.String(): 0, "another": 1} {
		recorder := events.NewInMemoryRecorder("test", f.clock)
		status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{
			{Type: "CredentialsDegraded", Status: operatorv1.ConditionTrue, Message: message},
		}}}
		require.NoError(t, f.reportOnly(t.Context(), recorder, status, rejection))
		require.Len(t, recorder.Events(), want)
	}
}

// A warning is about the accepted inputs, which stay in use.
func TestWarningsStayWhileAnInputIsRejected(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{
		{Type: "CloudConfigNotices", Status: operatorv1.ConditionTrue, Message: "a warning"},
	}}}
	rejection := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Object: "secret/a", Message: "the reason"}
	require.NoError(t, f.report(t.Context(), f.recorder, status, &candidate{errors: []diagnostic.Diagnostic{rejection}}))
	require.ElementsMatch(t,
		[]string{"CredentialsDegraded: " + rejection.String(), "CloudConfigNotices: a warning"}, f.trueConditions(t))
}

func TestTheOtherConditionsStayWhileInputsCannotBeJudged(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{
		{Type: "CloudConfigNotices", Status: operatorv1.ConditionTrue, Message: "a warning"},
		{Type: "CredentialsDegraded", Status: operatorv1.ConditionTrue, Message: "no password"},
		{Type: "ImageDegraded", Status: operatorv1.ConditionFalse, Reason: "AsExpected"},
	}}}
	missing := &diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: "namespace/a", Message: "is missing"}
	require.NoError(t, f.reportOnly(t.Context(), f.recorder, status, missing))
	require.ElementsMatch(t, []string{
		"CloudConfigNotices: a warning", "CredentialsDegraded: no password", "ConfigurationDegraded: " + missing.String(),
	}, f.trueConditions(t))
}

func TestAMissingImageIsReported(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	f.OperandImages = nil
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Equal(t, []string{"ImageDegraded: deployment/cluster-cloud-controller-manager-operator in openshift-cloud-controller-manager-operator, " +
		"key openstack-cloud-controller-manager: there is no image of the cloud-controller-manager for platform openstack; the release must name it"}, f.trueConditions(t))
}

func TestAFailedWriteStopsBeforeThePod(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	f.kube.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName() != "trusted-ca" {
			return false, nil, nil
		}
		return true, nil, errors.New("no quota")
	})
	require.EqualError(t, f.run(t), "applying configmap/trusted-ca in openshift-cloud-controller-manager: no quota")
	require.NotContains(t, f.writes(), "create configmaps/cloud-controller-manager-pod")
}

func TestMessagesAreBounded(t *testing.T) {
	line := "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
	lines := slices.Repeat([]string{line}, 20)
	got := joinBounded(lines)
	require.Less(t, len(got), 1024)
	require.Regexp(t, "\nand 11 more$", got)
	require.Equal(t, line, joinBounded(lines[:1]))
	long := strings.Repeat("x", maxMessage+1)
	require.Equal(t, long, joinBounded([]string{long}), "one line is always said")
	half := strings.Repeat("x", maxMessage/2)
	require.Equal(t, half+"\n"+half, joinBounded([]string{half, half}), "as many lines as fit")
	require.Equal(t, half+"\nand 1 more", joinBounded([]string{half, half + "x"}))
	require.Empty(t, joinBounded(nil))
}

func TestWhatAnotherComponentIsAboutToRepairIsNotReportedYet(t *testing.T) {
	for name, tc := range map[string]struct {
		observed string
		change   func(f *fixture, t *testing.T)
		// gracePeriod is how long the other component may take.
		patience time.Duration
	}{
		"a new key that is not seen yet": {
			observed: strings.Replace(observed, `"config"}`, `"new"}`, 1),
			change:   (*fixture).refresh,
			patience: 5 * time.Second,
		},
		"a cloud configuration that is created again": {
			observed: observed,
			change: func(f *fixture, t *testing.T) {
				require.NoError(t, f.kube.CoreV1().ConfigMaps("openshift-config").Delete(t.Context(), "cloud-provider-config", metav1.DeleteOptions{}))
				f.refresh(t)
			},
			patience: 5 * time.Second,
		},
		"credentials that the cloud-credential-operator creates again": {
			observed: observed,
			change:   deleteSecret("openstack-cloud-credentials"),
			patience: 45 * time.Second,
		},
		"the token of the file-syncer": {
			observed: observed,
			change:   deleteSecret("file-syncer-identity"),
			patience: 45 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs()...)
			require.NoError(t, f.run(t))
			f.refresh(t)
			f.setObserved(t, tc.observed)
			tc.change(f, t)
			f.refresh(t)

			require.NoError(t, f.run(t))
			require.Empty(t, f.trueConditions(t))
			require.Empty(t, f.writes())
			f.clock.Step(tc.patience - time.Nanosecond)
			require.NoError(t, f.run(t))
			require.Empty(t, f.trueConditions(t))
			f.clock.Step(time.Nanosecond)
			require.NoError(t, f.run(t))
			require.Len(t, f.trueConditions(t), 1)
		})
	}
}

func TestAnObservedConfigurationThatTheObserversDoNotConfirmChangesNothing(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	f.refresh(t)
	f.setObserved(t, strings.Replace(observed, "api-int.example", "by-hand.example", 1))
	f.scribbled = true
	f.clock.Step(time.Hour)
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Empty(t, f.trueConditions(t))

	f.scribbled = false
	require.NoError(t, f.run(t))
	require.NotEmpty(t, f.writes())
}

func TestEachAbsenceIsGivenItsOwnTime(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	for range 2 {
		deleteSecret("openstack-cloud-credentials")(f, t)
		require.NoError(t, f.run(t))
		f.clock.Step(44 * time.Second)
		require.NoError(t, f.run(t))
		require.Empty(t, f.trueConditions(t))
		_, err := f.kube.CoreV1().Secrets(target).Create(t.Context(), secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte(goodClouds)}),
			metav1.CreateOptions{})
		require.NoError(t, err)
		f.refresh(t)
		require.NoError(t, f.run(t))
	}
}

func TestWithoutItsNamespaceNoInputIsBlamed(t *testing.T) {
	now := metav1.NewTime(started)
	for name, tc := range map[string]struct {
		namespace *corev1.Namespace
		want      string
	}{
		"it is being deleted": {
			namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target, DeletionTimestamp: &now}},
			want: "ConfigurationDegraded: namespace/openshift-cloud-controller-manager: it is being deleted, so no configuration can be rolled out; " +
				"read its status for what delays the deletion; the cluster-version-operator creates it again afterwards",
		},
		"it does not exist": {
			want: "ConfigurationDegraded: namespace/openshift-cloud-controller-manager: it does not exist, so no configuration can be rolled out; " +
				"check that the cluster-version-operator, which creates it, is running",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs(userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregoin = RegionOne\n"}))...)
			require.NoError(t, f.run(t))
			warning := f.trueConditions(t)
			require.Len(t, warning, 1)
			for _, name := range []string{"openstack-cloud-credentials", "file-syncer-identity"} {
				deleteSecret(name)(f, t)
			}
			namespaces := f.target.Core().V1().Namespaces().Informer().GetStore()
			require.NoError(t, namespaces.Replace(nil, ""))
			if tc.namespace != nil {
				require.NoError(t, namespaces.Add(tc.namespace))
			}
			f.clock.Step(time.Hour)
			for range 2 {
				require.NoError(t, f.run(t))
				require.Equal(t, append(warning, tc.want), f.trueConditions(t), "the warning is about the last accepted inputs")
			}
			told := slices.DeleteFunc(f.recorder.Events(), func(e *corev1.Event) bool { return e.Reason != "ConfigurationUnjudged" })
			require.Len(t, told, 1)
		})
	}
}

// setObserved sets the observed configuration.
func (f *fixture) setObserved(t *testing.T, observed string) {
	t.Helper()
	spec, _, version, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	spec.ObservedConfig.Raw = []byte(observed)
	_, _, err = f.operator.UpdateStaticPodOperatorSpec(t.Context(), version, spec)
	require.NoError(t, err)
}

func deleteSecret(name string) func(*fixture, *testing.T) {
	return func(f *fixture, t *testing.T) {
		require.NoError(t, f.kube.CoreV1().Secrets(target).Delete(t.Context(), name, metav1.DeleteOptions{}))
		f.refresh(t)
	}
}
