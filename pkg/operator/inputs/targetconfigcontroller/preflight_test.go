package targetconfigcontroller

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const otherConfig = goodConfig + "\n[LoadBalancer]\nmax-shared-lb = 3\n"

// submitted returns the candidate that was given to a preflight, nil if there is none.
func (f *fixture) submitted(t *testing.T) *corev1.Secret {
	t.Helper()
	secret, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return secret
}

// conclude writes a verdict about the submitted candidate, as the preflight does.
func (f *fixture) conclude(t *testing.T, result trial.Result, tries int) {
	t.Helper()
	f.concludeAs(t, result, "", tries)
}

// concludeAs is the same with a class.
func (f *fixture) concludeAs(t *testing.T, result trial.Result, class string, tries int) {
	t.Helper()
	record := f.record(t)
	record.Conclude(&trial.Verdict{
		Result: result, Class: class, Message: "it failed", Node: "m1", Tries: tries, Ended: metav1.NewTime(f.clock.Now()),
	})
	f.save(t, record)
}

// record returns what is known about the candidates.
func (f *fixture) record(t *testing.T) *trial.Record {
	t.Helper()
	return trial.Of(f.submitted(t))
}

// save writes the record.
func (f *fixture) save(t *testing.T, record *trial.Record) {
	t.Helper()
	secret, err := record.InSecret()
	require.NoError(t, err)
	f.put(t, secret)
}

// newWorking returns a cluster whose cloud-controller-managers work with the good inputs.
func newWorking(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, goodInputs()...)
	f.works = true
	f.settle(t)
	require.Nil(t, f.submitted(t), "a first installation has no preflight")
	f.refresh(t)
	return f
}

// balancers is the setting that otherConfig changes, as it is delivered.
func (f *fixture) balancers(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`max-shared-lb = \d+`).FindString(f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"))
}

const (
	former  = "max-shared-lb = 1"
	changed = "max-shared-lb = 3"
)

func (f *fixture) change(t *testing.T) {
	t.Helper()
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
	require.NoError(t, f.run(t))
	f.refresh(t)
}

func (f *fixture) sees(t *testing.T) {
	t.Helper()
	require.NoError(t, f.run(t))
	f.refresh(t)
}

// rotate changes the credentials.
func (f *fixture) rotate(t *testing.T, password string) {
	t.Helper()
	f.put(t, secret("openstack-cloud-credentials", map[string][]byte{
		"clouds.yaml": []byte(strings.Replace(goodClouds, "hidden", password, 1)),
	}))
}

func (f *fixture) password(t *testing.T) string {
	t.Helper()
	return f.delivered(t, operand.Secret, "cloud-credentials", "clouds.yaml")
}

func (f *fixture) newImage() {
	f.OperandImages["openstack-cloud-controller-manager"] = "registry/openstack@sha256:9"
}

// tried returns the cloud configuration and the credentials of the submitted candidate.
func (f *fixture) tried(t *testing.T) string {
	t.Helper()
	data := f.submitted(t).Data
	return string(data["secret-cloud-config-cloud.conf"]) + string(data["secret-cloud-credentials-clouds.yaml"])
}

// degraded returns the conditions that are true.
func (f *fixture) degraded(t *testing.T) []string {
	t.Helper()
	var types []string
	for _, condition := range f.trueConditions(t) {
		conditionType, _, _ := strings.Cut(condition, ": ")
		types = append(types, conditionType)
	}
	return types
}

// valueToAccept returns the value that the first condition names.
func (f *fixture) valueToAccept(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`accepted-preflight=\S*?([0-9a-f]{12}(-unproved)?)(\n|$)`).FindStringSubmatch(f.trueConditions(t)[0])
	require.NotEmpty(t, found, f.trueConditions(t)[0])
	return found[1]
}

func TestAChangeWaitsForItsPreflight(t *testing.T) {
	f := newWorking(t)
	f.sees(t)
	require.Nil(t, f.submitted(t), "nothing has changed")
	f.change(t)
	require.Contains(t, string(f.submitted(t).Data["secret-cloud-config-cloud.conf"]), changed)
	require.Nil(t, f.record(t).Verdict)
	f.clock.Step(holdAllTimeout - time.Second)
	f.sees(t)
	require.Equal(t, former, f.balancers(t))
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	require.Empty(t, f.trueConditions(t))
}

func TestACopyThatWasEditedByHandHoldsBackNoChange(t *testing.T) {
	for name, edited := range map[string]string{"half a document": "{half a", "a pod without the container": "{}"} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.makeRevision(t)
			f.put(t, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager-pod-1"},
				Data:       map[string]string{"pod.yaml": edited},
			})
			f.change(t)
			f.conclude(t, trial.Successful, 1)
			f.sees(t)
			require.Equal(t, changed, f.balancers(t), "the next revision is the cure")
		})
	}
}

func TestAnAnnotationThatWasEditedByHandIsWrittenAgain(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	annotate := func(tokens string) {
		candidate := f.podConfigMap(t)
		candidate.Annotations[operand.TokensAnnotation] = tokens
		f.put(t, candidate)
	}
	annotate("{")
	f.sees(t)
	require.Equal(t, "null", f.podConfigMap(t).Annotations[operand.TokensAnnotation])

	annotate("{")
	f.rotate(t, "other")
	f.sees(t)
	require.Contains(t, f.tried(t), "other", "a change is tried nevertheless")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Equal(t, "null", f.podConfigMap(t).Annotations[operand.TokensAnnotation])
}

func TestACandidateThatWasEditedByHandIsReplacedBesideARejectedImage(t *testing.T) {
	edited := func(edit func(pod string) string) func(*fixture, *testing.T) {
		return func(f *fixture, t *testing.T) {
			candidate := f.podConfigMap(t)
			candidate.Data["pod.yaml"] = edit(candidate.Data["pod.yaml"])
			f.put(t, candidate)
		}
	}
	for name, change := range map[string]func(*fixture, *testing.T){
		"half a document":           edited(func(string) string { return "{half a" }),
		"a pod without a container": edited(func(string) string { return "{}" }),
		"another image": edited(func(pod string) string {
			return strings.ReplaceAll(pod, "registry/openstack@", "elsewhere/openstack@")
		}),
		"nothing is left": func(f *fixture, t *testing.T) {
			require.NoError(t, f.kube.CoreV1().ConfigMaps(target).Delete(t.Context(), operand.PodConfigMap, metav1.DeleteOptions{}))
			f.refresh(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.makeRevision(t)
			before := f.podConfigMap(t).Data
			f.newImage()
			f.sees(t)
			f.conclude(t, trial.Failed, 1)
			f.sees(t)
			require.Equal(t, []string{"ImageDegraded"}, f.degraded(t))

			change(f, t)
			f.sees(t)
			require.Equal(t, before, f.podConfigMap(t).Data)
			require.Equal(t, []string{"ImageDegraded"}, f.degraded(t))
		})
	}
}

// unproved returns the events about changes that nothing has proved.
func (f *fixture) unproved() []string {
	var texts []string
	for _, event := range f.recorder.Events() {
		if event.Reason == "PreflightUnproved" {
			texts = append(texts, event.Message)
		}
	}
	return texts
}

func TestACandidateThatIsTooLargeRollsOutUnproved(t *testing.T) {
	f := newWorking(t)
	f.rotate(t, "hidden\n# "+strings.Repeat("x", 1<<20))
	f.sees(t)
	require.Contains(t, f.password(t), "xxx")
	f.sees(t)
	require.Equal(t, []string{"nothing has proved the change of [Credentials]: the cloud-controller-manager's files do not " +
		"fit in one Secret"}, f.unproved())
}

func TestAChangeWhosePreflightFailsIsRejected(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.Equal(t, former, f.balancers(t))
	value := f.valueToAccept(t)
	require.Equal(t, []string{"CloudConfigDegraded: configmap/cloud-provider-config in openshift-config, key config: " +
		"a cloud-controller-manager with the changed inputs, on node/m1 for 0s at 2026-11-20T13:00:45Z: it failed; it is tried " +
		"again at 2026-11-20T13:01:45Z; to use it nevertheless, run: oc annotate --overwrite cloudcontrollermanager cluster " +
		"cloudcontrollermanager.operator.openshift.io/accepted-preflight=" + value + "\nuntil then, the version accepted at 2026-11-20T13:00:00Z stays in use",
	}, f.trueConditions(t))

	// Another input is not held up.
	f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
	f.sees(t)
	require.Equal(t, "another token", f.delivered(t, operand.Secret, "file-syncer-token", "token"))
	require.Equal(t, former, f.balancers(t))

	// Neither the end of the former leader nor a restarted operator changes the verdict.
	f.works = false
	f.sees(t)
	require.Equal(t, former, f.balancers(t))

	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.sees(t)
	require.Empty(t, f.trueConditions(t), "the mistake was undone")
	f.sees(t)
	require.Nil(t, f.submitted(t), "the notice ends with the mistake")
}

func TestATakeOverWaitsForItsPreflight(t *testing.T) {
	newPreceded := func(t *testing.T) *fixture {
		t.Helper()
		f := newFixture(t, goodInputs()...)
		f.works, f.leads = true, controlplane.PredecessorRevision
		require.NoError(t, f.run(t))
		f.refresh(t)
		require.NotNil(t, f.submitted(t))
		return f
	}
	isInstalled := func(t *testing.T, f *fixture) bool {
		t.Helper()
		f.sees(t)
		all, err := f.kube.CoreV1().ConfigMaps(target).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		return slices.ContainsFunc(all.Items, func(c corev1.ConfigMap) bool { return c.Name == operand.PodConfigMap })
	}

	t.Run("it is successful", func(t *testing.T) {
		f := newPreceded(t)
		f.conclude(t, trial.Successful, 1)
		require.True(t, isInstalled(t, f))
		require.Empty(t, f.trueConditions(t))
	})
	t.Run("it fails, and another configuration does not", func(t *testing.T) {
		f := newPreceded(t)
		f.conclude(t, trial.Failed, 1)
		require.False(t, isInstalled(t, f))
		require.Equal(t, []string{"CloudConfigDegraded", "CredentialsDegraded", "TrustedCADegraded"}, f.degraded(t))
		f.works = false
		require.False(t, isInstalled(t, f), "the predecessor's leader is away for a moment")
		f.works = true
		f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
		require.False(t, isInstalled(t, f))
		f.conclude(t, trial.Successful, 1)
		require.True(t, isInstalled(t, f))
		require.Empty(t, f.trueConditions(t))
	})
	t.Run("an administrator accepts what failed", func(t *testing.T) {
		f := newPreceded(t)
		f.conclude(t, trial.Failed, 1)
		require.False(t, isInstalled(t, f))
		f.accept(f.valueToAccept(t))
		require.True(t, isInstalled(t, f))
	})
	t.Run("it shows nothing", func(t *testing.T) {
		f := newPreceded(t)
		f.conclude(t, trial.Inconclusive, 1)
		require.False(t, isInstalled(t, f))
		require.Empty(t, f.degraded(t))
		f.works = false
		f.sees(t)
		f.clock.SetTime(f.clock.Now().Add(holdTimeout))
		require.True(t, isInstalled(t, f), "nothing works that it could break")
	})
}

func TestARejectionNamesTheKeyThatHasChanged(t *testing.T) {
	const object = "CloudConfigDegraded: configmap/cloud-provider-config in openshift-config"
	for name, tc := range map[string]struct {
		changed map[string]string
		want    string
	}{
		"the configuration": {map[string]string{"config": otherConfig}, object + ", key config: "},
		"the CA of the cloud": {map[string]string{"config": goodConfig, "ca-bundle.pem": testCA},
			object + ", key ca-bundle.pem: "},
		"both": {map[string]string{"config": otherConfig, "ca-bundle.pem": testCA}, object + ": "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.put(t, userConfigMap("cloud-provider-config", tc.changed))
			f.sees(t)
			f.conclude(t, trial.Failed, 1)
			f.sees(t)
			// A CA of the cloud is among the trusted CAs too, so TrustedCADegraded may follow.
			conditions := f.trueConditions(t)
			place, _, found := strings.Cut(conditions[0], "a cloud-controller-manager with the changed inputs")
			require.True(t, found, conditions)
			require.Equal(t, tc.want, place)
		})
	}
}

func TestAnAdministratorMayAcceptAFailedPreflight(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.meta.Annotations = map[string]string{
		"cloudcontrollermanager.operator.openshift.io/accepted-preflight": "0123456789ab",
	}
	f.sees(t)
	require.Equal(t, former, f.balancers(t), "it is about another change")
	f.meta.Annotations["cloudcontrollermanager.operator.openshift.io/accepted-preflight"] = f.valueToAccept(t)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	require.Empty(t, f.trueConditions(t))
	require.Empty(t, f.unproved(), "nothing else changes")
	f.sees(t)
	require.NotNil(t, f.submitted(t), "the notice stays until the change works")
}

func TestAFailedPreflightIsRepeatedAfterAPause(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	for tries, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute,
		32 * time.Minute, time.Hour, time.Hour} {
		f.conclude(t, trial.Failed, tries+1)
		f.clock.Step(pause - time.Second)
		f.sees(t)
		require.False(t, trial.Of(f.submitted(t)).Runs(), "%d tries", tries+1)
		f.clock.Step(time.Second)
		f.sees(t)
		require.True(t, trial.Of(f.submitted(t)).Runs(), "%d tries", tries+1)
		require.Equal(t, former, f.balancers(t), "the former verdict counts until there is another one")
	}
	f.conclude(t, trial.Successful, 9)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	require.Empty(t, f.trueConditions(t))
}

func TestAFailedPreflightIsRepeatedByItself(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	calls, err := controllertest.NewTimer(f.clock, f.recorder).Run(t.Context(), f.sync, time.Minute)
	require.NoError(t, err)
	require.Contains(t, calls, time.Minute)
	require.True(t, trial.Of(f.submitted(t)).Runs())
}

func TestAnImageWhosePreflightFailsChangesNothing(t *testing.T) {
	f := newWorking(t)
	f.OperandImages["openstack-cloud-controller-manager"] = "registry/openstack@sha256:9"
	f.sees(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.NotContains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "sha256:9")
	require.Len(t, f.trueConditions(t), 1)
	require.True(t, strings.HasPrefix(f.trueConditions(t)[0], "ImageDegraded: "), f.trueConditions(t)[0])
}

func TestAnImageIsTriedOnItsOwnWhoseChangeWasTriedWithARejectedInput(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.newImage()
	f.sees(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.NotContains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "sha256:9")
	require.Contains(t, f.tried(t), former)
	require.Contains(t, string(f.submitted(t).Data["pod.yaml"]), "sha256:9")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "sha256:9")
	require.Equal(t, former, f.balancers(t))
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
}

func TestARejectedInputStaysRejectedWhileAnotherOneChanges(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 3)
	f.sees(t)
	value := f.valueToAccept(t)

	f.rotate(t, "second")
	f.sees(t)
	require.Contains(t, f.tried(t), former, "what is tried is without it")
	require.Contains(t, f.tried(t), "second")
	require.NotContains(t, f.password(t), "second", "it waits for its verdict")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Equal(t, former, f.balancers(t))
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	require.Equal(t, value, f.valueToAccept(t), "it is about the same change")

	// Both are tried together once the first is due again.
	f.clock.Step(4 * time.Minute)
	f.sees(t)
	require.Contains(t, f.tried(t), changed)
	require.Contains(t, f.tried(t), "second")
	verdict := trial.Of(f.submitted(t)).Verdict
	require.Equal(t, 3, verdict.Tries, "the tries of a change count on")
	f.conclude(t, trial.Successful, 4)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	require.Empty(t, f.trueConditions(t))
}

// Otherwise correct credentials would wait as long as those that were revoked long ago.
func TestTheTriesOfOtherCredentialsDoNotCount(t *testing.T) {
	for name, tc := range map[string]struct {
		rotates bool
		want    int
	}{"the same ones": {false, 6}, "other ones, which were tried once": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.change(t)
			f.concludeAs(t, trial.Failed, trial.RejectedLogin, 6)
			f.sees(t)
			if tc.rotates {
				f.rotate(t, "second")
				f.sees(t)
				f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
				f.sees(t)
			}
			f.clock.Step(2 * time.Hour)
			f.sees(t)
			require.Contains(t, f.tried(t), changed)
			require.Equal(t, tc.want, f.record(t).Verdict.Tries)
		})
	}
}

func TestTwoRejectedInputsAreIndependent(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	f.rotate(t, "second")
	f.sees(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded", "CredentialsDegraded"}, f.degraded(t))
	require.Equal(t, former, f.balancers(t))
	require.NotContains(t, f.password(t), "second")

	// One is corrected, and tried without the other.
	f.rotate(t, "third")
	f.sees(t)
	require.Contains(t, f.tried(t), former)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "third")
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))

	// The other is rejected nevertheless, and its pause goes on.
	f.clock.Step(time.Minute)
	f.sees(t)
	require.Contains(t, f.tried(t), changed)
}

func TestARejectedInputThatIsUndoneLeavesTheVerdictAboutAnother(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 7)
	f.sees(t)
	f.rotate(t, "second")
	f.sees(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	f.put(t, secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte(goodClouds)}))
	f.sees(t)
	verdict := trial.Of(f.submitted(t)).Verdict
	require.Equal(t, 7, verdict.Tries)
	require.False(t, trial.Of(f.submitted(t)).Runs())
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.sees(t)
	require.Empty(t, f.trueConditions(t))
	f.sees(t)
	require.Nil(t, f.submitted(t))
}

func TestARejectedInputIsTriedAgainWhenWhatWasTriedBesideItIsUndone(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	f.rotate(t, "second")
	f.sees(t)
	require.Contains(t, f.tried(t), "second")
	f.put(t, secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte(goodClouds)}))
	f.clock.Step(time.Minute)
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs())
	require.NotContains(t, f.tried(t), "second")
	require.Contains(t, f.tried(t), changed)
}

func TestInputsThatFailTogetherAreRejectedTogether(t *testing.T) {
	f := newWorking(t)
	f.rotate(t, "second")
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded", "CredentialsDegraded"}, f.degraded(t))

	// Either may have been wrong, so a change of one is another try of both.
	f.rotate(t, "third")
	f.sees(t)
	require.Contains(t, f.tried(t), changed)
	require.Contains(t, f.tried(t), "third")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	require.Empty(t, f.trueConditions(t))
}

func TestARejectedImageOrFlagsHoldBackNothingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*fixture, *testing.T)
		condition string
		rejected  string
	}{
		"an image":            {func(f *fixture, _ *testing.T) { f.newImage() }, "ImageDegraded", "registry/openstack@sha256:9"},
		"flags":               {func(f *fixture, t *testing.T) { f.setOverrides(t, flags) }, "ConfigurationDegraded", "--v=7"},
		"flags, as of a port": {func(f *fixture, t *testing.T) { f.setOverrides(t, port) }, "ConfigurationDegraded", "--secure-port=10259"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			pod := func() string { return f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml") }
			before := pod()
			tc.change(f, t)
			f.sees(t)
			f.conclude(t, trial.Failed, 1)
			f.Version, f.OperatorImage = "next", "registry/operator@sha256:3"
			f.sees(t)
			require.Contains(t, f.trueConditions(t)[0], "\nuntil then, the former ")
			require.NotContains(t, f.rendered(t), "next", "the upgrade has not ended")

			f.change(t)
			require.Equal(t, former, f.balancers(t), "it waits for its own verdict")
			require.Contains(t, f.tried(t), changed)
			require.NotContains(t, string(f.submitted(t).Data["pod.yaml"]), tc.rejected)
			f.conclude(t, trial.Successful, 1)
			f.sees(t)
			require.Equal(t, changed, f.balancers(t))
			require.NotContains(t, pod(), tc.rejected)
			require.Equal(t, f.args(t, before), f.args(t, pod()))
			require.Equal(t, []string{tc.condition}, f.degraded(t))

			f.clock.Step(time.Minute)
			f.sees(t)
			require.True(t, trial.Of(f.submitted(t)).Runs(), "it is repeated")
			f.conclude(t, trial.Successful, 2)
			f.sees(t)
			require.Contains(t, pod(), tc.rejected)
			require.Contains(t, f.rendered(t), "next")
			require.Empty(t, f.trueConditions(t))
		})
	}
}

const (
	flags = `extendedArguments: {v: ["7"]}`
	port  = `extendedArguments: {secure-port: ["10259"]}`
)

// rendered returns which operator has rendered the candidate.
func (f *fixture) rendered(t *testing.T) string {
	t.Helper()
	pod, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), operand.PodConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	return pod.Annotations[operand.RenderedByAnnotation]
}

// args returns the arguments of the cloud-controller-manager.
func (f *fixture) args(t *testing.T, manifest string) []string {
	t.Helper()
	pod, err := operand.StaticPodOf(&corev1.ConfigMap{Data: map[string]string{"pod.yaml": manifest}})
	require.NoError(t, err)
	return pod.Spec.Containers[0].Args
}

func TestAChangeThatIsMadeAgainWaitsAgain(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.sees(t)
	f.clock.Step(time.Hour)
	f.change(t)
	require.Equal(t, former, f.balancers(t))
}

func TestAFailedChangeBesideAnInputThatAParserRejectsIsRejected(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregoin = RegionOne\n"}))
	f.OperandImages["openstack-cloud-controller-manager"] = "registry/openstack@sha256:9"
	f.sees(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.NotContains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), "sha256:9")
	require.Len(t, f.trueConditions(t), 2)
}

func TestWhatTheCloudControllerManagerDoesNotStartWithHasNoPreflight(t *testing.T) {
	f := newWorking(t)
	f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
	f.OperatorImage = "registry/operator@sha256:3"
	f.sees(t)
	require.Equal(t, "another token", f.delivered(t, operand.Secret, "file-syncer-token", "token"))
	require.Nil(t, f.submitted(t))
}

func TestAChangeOfWhatDoesNotWorkHasNoPreflight(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	f.works = false
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.sees(t)
	f.waits(t, holdTimeout)
	require.Nil(t, f.submitted(t), "the verdict about the former candidate is void")
	require.Equal(t, former, f.balancers(t))
}

func TestAChangeWaitsWhileItIsNotKnownWhetherTheFormerOneWorks(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
	f.worksErr = errors.New("listing pods: no answer")
	require.EqualError(t, f.run(t), "listing pods: no answer")
	require.Equal(t, former, f.balancers(t))
}

func TestAFailedChangeThatWasAcceptedButNotAppliedIsReplacedByWhatRuns(t *testing.T) {
	f := newWorking(t)
	f.makeRevision(t)
	f.change(t)
	f.works = false
	f.sees(t)
	f.clock.Step(holdTimeout)
	full := errors.New("no quota")
	f.kube.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return full != nil, nil, full
	})
	require.EqualError(t, f.run(t), "applying configmap/cloud-controller-manager-pod in openshift-cloud-controller-manager: no quota")
	f.refresh(t)
	require.Equal(t, changed, f.balancers(t), "it is applied by half")
	full = nil
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.Equal(t, former, f.balancers(t))
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	require.Contains(t, f.trueConditions(t)[0], "until then, the content of revision 1 stays in use")

	// Another input is not held up.
	f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
	f.sees(t)
	require.Equal(t, "another token", f.delivered(t, operand.Secret, "file-syncer-token", "token"))
	require.Equal(t, former, f.balancers(t))
}

func TestAChangeThatIsUndoneWhileItRollsOutIsNotTried(t *testing.T) {
	f := newWorking(t)
	f.makeRevision(t)
	f.change(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.sees(t)
	require.Equal(t, former, f.balancers(t), "the leader runs it")
	require.Nil(t, f.submitted(t))
	require.Empty(t, f.trueConditions(t))
}

func TestAVerdictThatCannotBeDecodedIsReplaced(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	corrupt := f.submitted(t)
	corrupt.Annotations[trial.Annotation] = "{"
	f.put(t, corrupt)
	f.sees(t)
	require.Equal(t, former, f.balancers(t))
	require.True(t, trial.Of(f.submitted(t)).Runs(), "it is tried again")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
}

func TestTheTimeToWaitBeginsAnewAfterAChangeWasUndone(t *testing.T) {
	f := newWorking(t)
	f.makeRevision(t)
	f.change(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	f.rotate(t, "second")
	f.sees(t)
	require.NotContains(t, f.password(t), "second")
	f.rotate(t, "hidden")
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.sees(t)
	require.Equal(t, former, f.balancers(t))
	f.clock.Step(time.Hour)
	f.change(t)
	require.Equal(t, former, f.balancers(t))
	require.Empty(t, f.unproved())
}

func TestWhatRollsOutBesideAnAcceptedChangeIsTold(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	value := f.valueToAccept(t)
	f.rotate(t, "untried")
	f.sees(t)
	f.meta.Annotations = map[string]string{"cloudcontrollermanager.operator.openshift.io/accepted-preflight": value}
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
	require.Contains(t, f.password(t), "untried")
	require.Equal(t, []string{"nothing has proved the change of [Credentials]: it rolls out with what an administrator has " +
		"accepted"}, f.unproved())
}

func TestAChangeThatHasWaitedDoesNotWaitAgainBecauseItCannotBeApplied(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.works = false
	f.sees(t)
	f.clock.Step(holdTimeout)
	failure := errors.New("no quota")
	f.kube.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return failure != nil, nil, failure
	})
	require.ErrorIs(t, f.run(t), failure)
	f.refresh(t)
	failure = nil
	f.clock.Step(time.Second)
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
}

func TestARejectedLoginIsNotRepeatedSoonerBecauseAnotherChangeFails(t *testing.T) {
	f := newWorking(t)
	f.rotate(t, "wrong")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	f.change(t)
	require.NotContains(t, f.tried(t), "wrong")
	f.concludeAs(t, trial.Failed, "Crash", 1)
	f.sees(t)
	f.clock.Step(time.Minute)
	f.sees(t)
	require.False(t, trial.Of(f.submitted(t)).Runs(), "another login within five minutes")
	f.clock.Step(4 * time.Minute)
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs())
}

// The former credentials were revoked before an upgrade, so the image's preflight could not log in.
func TestOtherCredentialsAreTriedAtOnceBesideARejectedImage(t *testing.T) {
	f := newWorking(t)
	f.newImage()
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 7)
	f.sees(t)
	f.change(t)
	require.False(t, trial.Of(f.submitted(t)).Runs(), "another login with the same credentials")
	f.rotate(t, "renewed")
	f.works = false
	f.sees(t)
	f.waits(t, holdTimeout)
	require.Contains(t, f.password(t), "renewed", "they may be the cure")
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs())
	require.Contains(t, f.tried(t), "renewed")
}

// The preflight of a flag that a preflight pins has the digest of the former candidate's.
func TestThePreflightOfAPinnedFlagEndsWithTheChangeOfTheFlag(t *testing.T) {
	f := newWorking(t)
	f.setOverrides(t, `extendedArguments: {secure-port: ["10259"]}`)
	f.sees(t)
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.Equal(t, []string{"ConfigurationDegraded"}, f.degraded(t))
	f.setOverrides(t, "")
	f.sees(t)
	require.Empty(t, f.trueConditions(t))
	require.Nil(t, f.submitted(t), "nothing waits for a preflight")
}

// setOverrides sets spec.unsupportedConfigOverrides.
func (f *fixture) setOverrides(t *testing.T, yaml string) {
	t.Helper()
	spec, _, version, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	spec.UnsupportedConfigOverrides.Raw = []byte(yaml)
	_, _, err = f.operator.UpdateStaticPodOperatorSpec(t.Context(), version, spec)
	require.NoError(t, err)
}

func TestARejectedLoginThatIsUndoneAndMadeAgainIsNotRepeatedAtOnce(t *testing.T) {
	f := newWorking(t)
	f.rotate(t, "wrong")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 2)
	f.sees(t)
	f.rotate(t, "hidden")
	f.sees(t)
	f.sees(t)
	require.Empty(t, f.trueConditions(t))
	require.False(t, trial.Of(f.submitted(t)).Runs())
	require.Nil(t, trial.Of(f.submitted(t)).Verdict, "nothing is to be noticed")

	f.rotate(t, "wrong")
	f.sees(t)
	require.Equal(t, []string{"CredentialsDegraded"}, f.degraded(t), "it is known to be rejected")
	require.False(t, trial.Of(f.submitted(t)).Runs())
	require.Equal(t, 2, trial.Of(f.submitted(t)).Verdict.Tries)
	f.clock.Step(10 * time.Minute)
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs(), "the pause goes on")

	// After an hour, no account counts it any more.
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 3)
	f.sees(t)
	f.rotate(t, "hidden")
	f.sees(t)
	f.clock.Step(trial.RememberPeriod)
	f.sees(t)
	require.Nil(t, f.submitted(t))
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	f := newWorking(t)
	for i := range 12 {
		f.rotate(t, fmt.Sprintf("wrong-%d", i))
		f.sees(t)
		f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
		f.sees(t)
		f.clock.Step(time.Second)
	}
	f.rotate(t, "hidden")
	f.sees(t)
	require.Len(t, trial.Of(f.submitted(t)).Rejected, 8)
}
