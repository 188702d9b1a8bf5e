package targetconfigcontroller

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// rolls makes revision 2 of a change that is made in a cluster with revision 1.
func (f *fixture) rolls(t *testing.T, change func()) {
	t.Helper()
	f.makeRevision(t)
	change()
	f.sees(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	f.makeRevisionOf(t, 2)
}

// fails writes the verdict about revision 2 on its first node, as the preflight's controller does.
func (f *fixture) fails(t *testing.T) {
	t.Helper()
	f.failsAs(t, "Crash")
}

// failsAs is the same with a class.
func (f *fixture) failsAs(t *testing.T, class string) {
	t.Helper()
	configMaps, secrets := f.copies(t)
	former := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.StartDigests(1)
	failed := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.StartDigests(2)
	record := f.record(t)
	record.Inputs = failed.Changed(former)
	record.Conclude(&trial.Verdict{
		Result: trial.Failed, Class: class, Message: "it failed", Node: "m1", Tries: 1,
		Ended: metav1.NewTime(f.clock.Now()), Revision: 2, Former: 1,
	})
	f.save(t, record)
}

func TestARevisionThatFailsOnItsFirstNodeGoesBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change     func(*fixture, *testing.T)
		conditions []string
		stays      string
	}{
		"an image": {func(f *fixture, _ *testing.T) { f.newImage() }, []string{"ImageDegraded"},
			"the former image stays in use"},
		"a port": {func(f *fixture, t *testing.T) { f.setOverrides(t, port) }, []string{"ConfigurationDegraded"},
			"the former flags stay in use"},
		"the cloud configuration": {func(f *fixture, t *testing.T) {
			f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
		}, []string{"CloudConfigDegraded"}, "the content of revision 1 stays in use"},
		"credentials and an image": {func(f *fixture, t *testing.T) { f.rotate(t, "second"); f.newImage() },
			[]string{"CredentialsDegraded", "ImageDegraded"}, "the content of revision 1 stays in use"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.rolls(t, func() { tc.change(f, t) })
			require.False(t, f.wentBack(t))
			f.fails(t)
			f.restart()
			f.sees(t)
			require.True(t, f.wentBack(t), "in the first pass, without another preflight")
			require.Equal(t, tc.conditions, f.degraded(t))
			require.Contains(t, f.trueConditions(t)[0], "revision 2 on node/m1, the first one that got it, for 0s at "+
				"2026-11-20T13:00:45Z: it failed; the node goes back to what revision 1 has; to use it nevertheless, run: ")
			require.Contains(t, f.trueConditions(t)[0], tc.stays)
			f.sees(t)
			require.True(t, f.wentBack(t))
			f.makeRevisionOf(t, 3)
			f.works = false
			f.sees(t)
			require.True(t, f.wentBack(t), "also while nothing leads")

			f.works = true
			f.clock.Step(24 * time.Hour)
			f.sees(t)
			require.True(t, f.wentBack(t))
			require.False(t, trial.Of(f.submitted(t)).Runs(), "a preflight would not see it")
			require.Equal(t, tc.conditions, f.degraded(t))

			f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
			f.sees(t)
			require.Equal(t, "another token", f.delivered(t, operand.Secret, "file-syncer-token", "token"))

			f.meta.Annotations = map[string]string{
				"cloudcontrollermanager.operator.openshift.io/accepted-preflight": f.valueToAccept(t),
			}
			f.sees(t)
			require.False(t, f.wentBack(t))
			require.Empty(t, f.trueConditions(t))
		})
	}
}

// copies returns the objects of the operand's namespace.
func (f *fixture) copies(t *testing.T) (configMaps []*corev1.ConfigMap, secrets []*corev1.Secret) {
	t.Helper()
	f.fillCaches(t)
	configMaps, err := f.target.Core().V1().ConfigMaps().Lister().ConfigMaps(target).List(labels.Everything())
	require.NoError(t, err)
	secrets, err = f.target.Core().V1().Secrets().Lister().Secrets(target).List(labels.Everything())
	require.NoError(t, err)
	return configMaps, secrets
}

// wentBack reports whether the candidate starts with what revision 1 has.
func (f *fixture) wentBack(t *testing.T) bool {
	t.Helper()
	configMaps, secrets := f.copies(t)
	has := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.StartDigests(1)
	present := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.StartDigests(0)
	return present.Matches(has)
}

func TestAnotherByteEndsTheQuarantine(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.fails(t)
	f.sees(t)
	f.setOverrides(t, `extendedArguments: {secure-port: ["10260"]}`)
	f.sees(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "--secure-port=10260")
	require.Empty(t, f.trueConditions(t))
	f.makeRevisionOf(t, 3)

	// The bytes that have failed are known.
	f.setOverrides(t, port)
	f.sees(t)
	require.Equal(t, []string{"ConfigurationDegraded"}, f.degraded(t))
	require.Contains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "--secure-port=10260")
}

func TestAPreflightThatSucceedsLiftsNoQuarantine(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.fails(t)
	f.sees(t)
	f.rotate(t, "wrong")
	f.sees(t)
	f.concludeAs(t, trial.Failed, "Crash", 1)
	f.sees(t)
	require.Equal(t, []string{"ConfigurationDegraded", "CredentialsDegraded"}, slices.Sorted(slices.Values(f.degraded(t))))
	f.clock.Step(time.Minute)
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs(), "that of the credentials is repeated")
	f.conclude(t, trial.Successful, 2)
	f.sees(t)
	f.sees(t)
	require.Contains(t, f.password(t), "wrong")
	require.Equal(t, []string{"ConfigurationDegraded"}, f.degraded(t))
	require.NotContains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "10259")
}

func TestARevisionGoesBackAtOnceBesideARejectedInput(t *testing.T) {
	f := newWorking(t)
	f.rotate(t, "wrong")
	f.sees(t)
	f.concludeAs(t, trial.Failed, "Crash", 1)
	f.sees(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	require.False(t, f.wentBack(t))
	f.fails(t)
	f.sees(t)
	require.True(t, f.wentBack(t), "without another preflight")
	require.Equal(t, []string{"ConfigurationDegraded", "CredentialsDegraded"}, slices.Sorted(slices.Values(f.degraded(t))))
}

func TestARevisionThatIsUndoneBeforeItGoesBackIsNoChange(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.fails(t)
	f.setOverrides(t, "")
	f.sees(t)
	require.True(t, f.wentBack(t))
	require.Empty(t, f.trueConditions(t))
}

func TestARevisionGoesBackAtOnceWhileARejectedLoginPauses(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	f.clock.Step(5 * time.Minute)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs(), "that of the login is repeated")
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 2)
	f.sees(t)
	f.fails(t)
	f.sees(t)
	require.True(t, f.wentBack(t), "what runs elsewhere logs in there already")
}

func TestARevisionWhoseLoginIsRejectedIsTriedAgainWithOtherCredentials(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.change(t) })
	f.failsAs(t, trial.RejectedLogin)
	f.sees(t)
	require.True(t, f.wentBack(t))
	f.makeRevisionOf(t, 3)

	// The former ones were revoked. Nothing else can log in.
	f.rotate(t, "other")
	f.sees(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "other")
	require.False(t, f.wentBack(t), "the cloud configuration was not to blame")
	require.Empty(t, f.trueConditions(t))
}

// The cloud rejects the others too, until it knows them, and an administrator does not wait for another try.
func TestOtherCredentialsThatAreAcceptedReplaceThoseOfARevisionWhoseLoginIsRejected(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.change(t) })
	f.failsAs(t, trial.RejectedLogin)
	f.sees(t)
	f.rotate(t, "other")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.True(t, f.wentBack(t))
	require.NotContains(t, f.password(t), "other")
	for _, r := range f.record(t).Rejected {
		if r.Verdict.Revision == 0 {
			f.meta.Annotations = map[string]string{"cloudcontrollermanager.operator.openshift.io/accepted-preflight": r.Inputs.Value()}
		}
	}
	f.sees(t)
	require.Contains(t, f.password(t), "other")
	require.False(t, f.wentBack(t), "the cloud configuration was not to blame")
}

func TestARevisionThatCrashesStaysRejectedWithOtherCredentials(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.change(t) })
	f.fails(t)
	f.rotate(t, "other")
	f.sees(t)
	require.True(t, f.wentBack(t))
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t), "the credentials are not to blame")

	// The former ones may be revoked next, so the others replace them beside the former cloud configuration.
	f.makeRevisionOf(t, 3)
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs())
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "other")
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	former := f.delivered(t, operand.Secret, operand.CloudConfigSecret+"-1", "cloud.conf")
	require.Equal(t, former, f.delivered(t, operand.Secret, operand.CloudConfigSecret, "cloud.conf"))
	f.makeRevisionOf(t, 4)
	f.sees(t)
	require.Contains(t, f.password(t), "other")
	f.rotate(t, "the next one")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "other")
	require.Equal(t, []string{"CloudConfigDegraded", "CredentialsDegraded"}, slices.Sorted(slices.Values(f.degraded(t))))
}

// The correction of a mistake may be another one.
func TestARevisionGoesBackAlsoIfOtherInputsAreRejectedMeanwhile(t *testing.T) {
	const another = "[Global]\nuse-clouds = true\n[LoadBalancer]\nmax-shared-lb = 3\n"
	for name, tc := range map[string]struct{ mistake, correction func(f *fixture) }{
		"a cloud configuration": {
			func(f *fixture) { f.change(t) },
			func(f *fixture) {
				f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": another}))
			},
		},
		"flags": {
			func(f *fixture) { f.setOverrides(t, port) },
			func(f *fixture) { f.setOverrides(t, `extendedArguments: {v: ["4"]}`) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.rolls(t, func() { tc.mistake(f) })
			tc.correction(f)
			f.sees(t)
			f.fails(t)
			f.sees(t)
			f.concludeAs(t, trial.Failed, "Crash", 1)
			f.sees(t)
			require.True(t, f.wentBack(t))
			f.makeRevisionOf(t, 3)
			f.clock.Step(2 * time.Hour)
			f.sees(t)
			require.True(t, f.wentBack(t), "what has failed is not tried again, though it was accepted")
		})
	}
}

func TestARevisionGoesBackWhoseLoginIsRejectedWithCredentialsThatStay(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.change(t) })
	f.failsAs(t, trial.RejectedLogin)
	f.sees(t)
	require.True(t, f.wentBack(t), "the credentials are those with which the others run")
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	f.makeRevisionOf(t, 3)

	// They hold nothing else back.
	f.newImage()
	f.sees(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "sha256:9")
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
}

func TestTheVerdictAboutARevisionEndsOnceItIsAccepted(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.fails(t)
	f.sees(t)
	f.meta.Annotations = map[string]string{
		"cloudcontrollermanager.operator.openshift.io/accepted-preflight": f.valueToAccept(t),
	}
	f.sees(t)
	require.False(t, f.wentBack(t))
	f.sees(t)
	if secret := f.submitted(t); secret != nil {
		require.Nil(t, trial.Of(secret).Verdict, "the notice says that the node goes back")
	}
}

func TestARevisionThatWasEditedByHandIsNotWhatIsGoneBackTo(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*fixture, *testing.T)
		edit      func(pod string) string
		condition string
	}{
		"half a document": {func(f *fixture, t *testing.T) { f.setOverrides(t, port) },
			func(string) string { return "{half a" }, "ConfigurationDegraded"},
		"other flags": {func(f *fixture, t *testing.T) { f.setOverrides(t, port) },
			func(pod string) string { return strings.ReplaceAll(pod, "--leader-elect=true", "--leader-elect=false") },
			"ConfigurationDegraded"},
		"another image": {func(f *fixture, _ *testing.T) { f.newImage() },
			func(pod string) string { return strings.ReplaceAll(pod, "registry/openstack@", "elsewhere/openstack@") },
			"ImageDegraded"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.rolls(t, func() { tc.change(f, t) })
			former, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), "cloud-controller-manager-pod-1", metav1.GetOptions{})
			require.NoError(t, err)
			edited := tc.edit(former.Data["pod.yaml"])
			require.NotEqual(t, former.Data["pod.yaml"], edited)
			f.fails(t)
			former.Data["pod.yaml"] = edited
			f.put(t, former)
			before := f.podConfigMap(t).Data
			f.sees(t)
			require.True(t, maps.Equal(before, f.podConfigMap(t).Data), "nothing unchecked reaches a node")
			require.Equal(t, []string{tc.condition}, f.degraded(t))

			// A correction is the cure.
			f.setOverrides(t, `extendedArguments: {secure-port: ["10260"]}`)
			f.OperandImages["openstack-cloud-controller-manager"] = "registry/openstack@sha256:10"
			f.sees(t)
			f.conclude(t, trial.Successful, 1)
			f.sees(t)
			require.Contains(t, f.podConfigMap(t).Data["pod.yaml"], "--secure-port=10260")
			require.Empty(t, f.trueConditions(t))
		})
	}
}
