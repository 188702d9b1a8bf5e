package preflight

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const inUse = "F1125 19:00:00.000000       1 server.go:1] failed to listen on 0.0.0.0:10250: bind: address already in use\n"

// newRollout returns a control plane on whose second node, the first of a rollout, runs revision 4 since second 1, with
// another port than revision 3 on the others.
func newRollout(t *testing.T, nodes ...string) *world {
	t.Helper()
	w := newWorld(t, nodes...)
	for _, node := range nodes {
		w.label(node, "3")
	}
	for revision, port := range map[int]string{3: "10258", 4: "10250"} {
		pod := fmt.Sprintf(`{"spec": {"containers": [{"name": "cloud-controller-manager", "image": "a", "args": ["--secure-port=%s"]}]}}`, port)
		require.NoError(t, w.caches.Core().V1().ConfigMaps().Informer().GetStore().Add(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("cloud-controller-manager-pod-%d", revision)},
			Data:       map[string]string{"pod.yaml": pod},
		}))
	}
	w.latest = 4
	if len(nodes) > 1 {
		w.Install(nodes[1], 1)
		w.label(nodes[1], "4")
		w.Ready(nodes[1], false)
	}
	return w
}

func (w *world) label(node, revision string) {
	pod := w.Pods[node].DeepCopy()
	pod.Labels["revision"] = revision
	w.Pods[node] = pod
}

// crashes lets the container on a node end twice.
func (w *world) crashes(node, message string) {
	w.Start(node, 1)
	w.Exit(node, 2, message)
	w.Start(node, 3)
	w.Exit(node, 4, message)
}

// rejected returns the rejections, nil if there is no Secret.
func (w *world) rejected(t *testing.T) []trial.Rejection {
	t.Helper()
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return trial.Of(secret).Rejected
}

const notHealthy = "F1125 19:00:00.000000       1 server.go:1] Failed to wait for apiserver being healthy: timed out\n"

const crashed = `revision 4 on node/m1, the first one that got it, for 0s at 2026-11-21T09:00:05Z: it failed: "failed to ` +
	`listen on 0.0.0.0:10250: bind: address already in use"; correct what was changed; the node goes back to what revision 3 has`

func TestARevisionThatCrashesOnItsFirstNodeIsRejected(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.Exit("m1", 2, inUse)
	w.pass(t, 5*time.Second)
	require.Nil(t, w.rejected(t), "one end may be the node's fault")
	w.Start("m1", 5)
	w.Ready("m1", false)
	w.Exit("m1", 5, inUse)
	w.pass(t, 0)
	rejections := w.rejected(t)
	require.Len(t, rejections, 1)
	require.Equal(t, []diagnostic.Cause{diagnostic.Configuration}, rejections[0].Inputs.Causes())
	require.Equal(t, strings.Replace(crashed, "for 0s", "for 5s", 1), rejections[0].Verdict.Describe())
	require.EqualValues(t, 4, rejections[0].Verdict.Revision)
	require.EqualValues(t, 3, rejections[0].Verdict.Former)
	w.pass(t, 10*time.Minute)
	require.Equal(t, operatorv1.OperatorCondition{
		Type: "PreflightNotices", Status: operatorv1.ConditionTrue, Reason: "RevisionFailed",
		Message: rejections[0].Verdict.Describe(),
	}, w.condition(t))
	require.Equal(t, []string{"Warning RevisionFailed: " + rejections[0].Verdict.Describe()}, w.events())
}

// It is the first node, as it had no cloud-controller-manager.
func TestARevisionThatCrashesOnAMachineThatHasJoinedIsRejected(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.Status.NodeStatuses[1].CurrentRevision = 0
	w.crashes("m1", inUse)
	w.clock.SetTime(controlplanetest.At(5))
	w.pass(t, 0)
	require.Len(t, w.rejected(t), 1)
	require.Equal(t, crashed, w.rejected(t)[0].Verdict.Describe())
}

// The rollout goes around such a machine, which may be away for days.
func TestARevisionThatCrashesBesideAMachineThatDoesNotWorkIsRejected(t *testing.T) {
	kubelet := func(status corev1.ConditionStatus) func(w *world) {
		return func(w *world) { w.Nodes["m3"].Status.Conditions[0].Status = status; w.Ready("m3", false) }
	}
	for name, tc := range map[string]struct {
		happens func(w *world)
		want    int
	}{
		"it has died as it joined": {func(w *world) {
			w.Nodes["m3"].Status.Conditions[0].Status = corev1.ConditionUnknown
			w.Status.NodeStatuses[3].CurrentRevision = 0
			delete(w.Pods, "m3")
		}, 1},
		"its kubelet is silent":                   {kubelet(corev1.ConditionUnknown), 1},
		"its container runtime does not work":     {kubelet(corev1.ConditionFalse), 1},
		"only its cloud-controller-manager fails": {kubelet(corev1.ConditionTrue), 0},
		"it had the revision before it died": {func(w *world) {
			w.label("m3", "4")
			kubelet(corev1.ConditionUnknown)(w)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2", "m3")
			tc.happens(w)
			w.crashes("m1", inUse)
			w.clock.SetTime(controlplanetest.At(5))
			w.pass(t, 0)
			require.Len(t, w.rejected(t), tc.want)
		})
	}
}

// A rollout that another change interrupted has left an older revision on the third node.
func TestARevisionThatCrashesIsComparedWithThatOfTheLeader(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.label("m2", "2")
	w.Status.NodeStatuses[2].CurrentRevision = 2
	w.crashes("m1", inUse)
	w.clock.SetTime(controlplanetest.At(5))
	w.pass(t, 0)
	require.Len(t, w.rejected(t), 1)
	require.Equal(t, crashed, w.rejected(t)[0].Verdict.Describe())
}

func TestTheVerdictAboutARevisionReplacesThatOfItsPreflight(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Inputs = operand.StartDigests{diagnostic.Configuration: "sha256:a"}
	record.Conclude(&trial.Verdict{Result: trial.Successful, Tries: 1})
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.crashes("m1", inUse)
	w.clock.SetTime(controlplanetest.At(5))
	w.pass(t, 0)
	require.Len(t, w.rejected(t), 1)
	require.Equal(t, crashed, w.rejected(t)[0].Verdict.Describe())
}

// A cloud that rejects every login for minutes must not cost the change that just rolls out.
func TestACloudThatRejectsALoginItHasAcceptedRejectsNoRevision(t *testing.T) {
	const revoked = "F1125 19:00:00.000000       1 main.go:1] unable to access compute v2 API : got 401 instead\n"
	for name, tc := range map[string]struct {
		message string
		inputs  func(changes operand.StartDigests) operand.StartDigests
		want    bool
	}{
		"a preflight has logged in with it": {revoked, func(c operand.StartDigests) operand.StartDigests { return c }, false},
		"the preflight tried something else": {revoked, func(operand.StartDigests) operand.StartDigests {
			return operand.StartDigests{diagnostic.Configuration: "sha256:other"}
		}, true},
		"it does not end for its login": {inUse, func(c operand.StartDigests) operand.StartDigests { return c }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			changes := w.changed()
			record := &trial.Record{Digest: "sha256:1", Inputs: tc.inputs(changes)}
			record.Conclude(&trial.Verdict{Result: trial.Successful, Tries: 1})
			require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
			w.crashes("m1", tc.message)
			w.renews(t, 5*time.Minute)
			require.Equal(t, tc.want, len(w.rejected(t)) > 0)
			w.renews(t, 6*time.Minute)
			require.NotEmpty(t, w.rejected(t), "the former revision led for ten minutes")
			require.Equal(t, !tc.want, w.rejected(t)[0].Verdict.LoggedIn && tc.message == revoked)
		})
	}
}

// Somebody has deleted the pod of revision 3, so what revision 4 changes is not known, and the node cannot go back.
func TestARevisionIsNotRejectedForWhatTheFormerOneLacks(t *testing.T) {
	for name, isDeleted := range map[string]bool{"it has everything": false, "it lacks its pod": true} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			if isDeleted {
				w.deletesFormerPod(t)
			}
			w.crashes("m1", inUse)
			w.renews(t, 11*time.Minute)
			require.Equal(t, isDeleted, len(w.rejected(t)) == 0)
		})
	}
}

// A process that is not Ready may have led, and logged what a tenant wrote.
func TestAFirstNodeIsNotJudgedByWhatATenantWrote(t *testing.T) {
	const own = "F1125 19:00:00.000000       1 main.go:1] dial tcp 192.0.2.1:443: connect: no route to host\n"
	w := newRollout(t, "m0", "m1", "m2")
	w.masked = own
	w.crashes("m1", own+"F1125 19:00:00.000001       1 a.go:1] Authentication failed\n")
	w.renews(t, time.Minute)
	require.Empty(t, w.rejected(t), "the cloud may be down")
}

// The credentials are rotated while an image rolls out with the former ones, which the cloud has revoked.
func TestAnImageIsNotRejectedForALoginThatItDoesNotChange(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	require.NoError(t, w.caches.Core().V1().ConfigMaps().Informer().GetStore().Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-controller-manager-pod-4"},
		Data: map[string]string{"pod.yaml": `{"spec": {"containers": [{"name": "cloud-controller-manager", "image": "b",
			"args": ["--secure-port=10258"]}]}}`},
	}))
	w.crashes("m1", "F1125 19:00:00.000000       1 main.go:1] unable to access compute v2 API : got 401 instead\n")
	w.renews(t, 5*time.Minute)
	require.Empty(t, w.rejected(t))
	w.renews(t, 6*time.Minute)
	require.NotEmpty(t, w.rejected(t), "the former revision led for ten minutes")
	require.Equal(t, trial.RejectedLogin, w.rejected(t)[0].Verdict.Class, "so other credentials end it")
}

// The new credentials of revision 4 become valid after it was rejected, and the former ones, with which the first node
// goes back to revision 5, are revoked.
func TestTheRejectedLoginOfARevisionIsTriedAgainWhenTheFormerOneIsRejectedToo(t *testing.T) {
	const revoked = "F1125 19:00:00.000000       1 main.go:1] unable to access compute v2 API : got 401 instead\n"
	for name, tc := range map[string]struct {
		change func(w *world)
		want   bool
	}{
		"the node that has gone back cannot log in":  {func(w *world) { w.label("m1", "5") }, true},
		"the revision is still on its first node":    {func(*world) {}, false},
		"the revision is still to go back":           {func(w *world) { w.latest = 4; w.label("m1", "5") }, false},
		"a preflight had logged in with its changes": {func(w *world) { w.label("m1", "5"); w.logsIn(t) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			w.crashes("m1", revoked)
			w.clock.SetTime(controlplanetest.At(5))
			w.pass(t, 0)
			require.Len(t, w.rejected(t), 1)
			require.Equal(t, trial.Never, w.rejected(t)[0].Verdict.RepeatIn(w.clock.Now()))
			w.latest = 5
			tc.change(w)
			w.renews(t, 10*time.Second)
			require.Equal(t, tc.want, w.rejected(t)[0].Verdict.RepeatIn(w.clock.Now()) == 0)
		})
	}
}

// logsIn makes the rejection one whose preflight had logged in.
func (w *world) logsIn(t *testing.T) {
	t.Helper()
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Verdict.LoggedIn, record.Rejected[0].Verdict.LoggedIn = true, true
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
}

// What the leader logs proves nothing: a tenant may have written it. That its process leads, and that the other one is
// not Ready, no tenant can write.
func TestARevisionThatHangsOnItsFirstNodeIsRejectedAfterTheFormerOneHasLedForTenMinutes(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.masked = lookedUp
	w.renews(t, 9*time.Minute+50*time.Second)
	require.Nil(t, w.rejected(t), "the cloud may be down")
	w.renews(t, 10*time.Second)
	require.Len(t, w.rejected(t), 1)
	require.Equal(t, "Hang", w.rejected(t)[0].Verdict.Class)
	require.Equal(t, "it was not Ready within 10m0s, while one of revision 3 led; correct what was changed",
		w.rejected(t)[0].Verdict.Message)
}

// Its cloud may be another one than the leader's, and down.
func TestARevisionThatEndsBecauseItsCloudDoesNotAnswerDoesNotHang(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.crashes("m1", "dial tcp 192.0.2.1:5000: i/o timeout\n")
	w.clock.SetTime(controlplanetest.At(5))
	w.renews(t, 2*time.Minute)
	w.masked = lookedUp
	w.renews(t, 10*time.Second)
	require.Nil(t, w.rejected(t))
}

func TestARevisionThatWaitsForNoCloudOnItsFirstNodeIsRejectedAfterHalfAMinute(t *testing.T) {
	for name, tc := range map[string]struct{ log, because string }{
		"it stands by": {
			log:     "I1125 19:00:00.000000       1 leaderelection.go:258] Attempting to acquire leader lease...\n",
			because: "it stands by, so it does not wait for its cloud",
		},
		"its log is empty": {because: "it has logged nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			w.begin = tc.log
			w.renews(t, 20*time.Second)
			require.Nil(t, w.rejected(t))
			w.renews(t, 20*time.Second)
			require.Len(t, w.rejected(t), 1)
			require.Equal(t, "Hang", w.rejected(t)[0].Verdict.Class)
			require.Equal(t, "it was not Ready within 30s, and "+tc.because+"; correct what was changed",
				w.rejected(t)[0].Verdict.Message)
		})
	}
}

// Its status arrives late if the API server is slow: until then, the log is that of the next process, which has begun a
// moment ago.
func TestAContainerThatHasJustBegunAgainHasNotHung(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.begin = ""
	w.renews(t, 30*time.Second)
	require.Nil(t, w.rejected(t), "its log may be that of the next process")
	w.Exit("m1", 30, "dial tcp 192.0.2.1:5000: i/o timeout\n")
	w.Start("m1", 30)
	w.Ready("m1", false)
	w.renews(t, 2*time.Minute)
	require.Len(t, w.rejected(t), 1, "the next one hangs")
	require.Equal(t, "2026-11-21T09:01:01Z", w.rejected(t)[0].Verdict.Ended.UTC().Format(time.RFC3339))
}

func TestWhatIsNotTheRevisionsFaultRejectsNothing(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *world){
		"it becomes Ready":                   func(_ *testing.T, w *world) { w.Start("m1", 5) },
		"the cloud cannot be reached":        func(_ *testing.T, w *world) { w.crashes("m1", "dial tcp 192.0.2.1:5000: i/o timeout\n") },
		"the cloud has an error":             func(_ *testing.T, w *world) { w.crashes("m1", "got 503 instead\n") },
		"the API server does not answer":     func(_ *testing.T, w *world) { w.crashes("m1", "leaderelection lost\n") },
		"the API server is not ready":        func(_ *testing.T, w *world) { w.crashes("m1", notHealthy) },
		"the kernel ends it":                 func(_ *testing.T, w *world) { w.killed("m1") },
		"the node restarts twice":            func(_ *testing.T, w *world) { w.restarts("m1") },
		"another node has it too":            func(_ *testing.T, w *world) { w.label("m2", "4") },
		"another node is not Ready":          func(_ *testing.T, w *world) { w.Ready("m2", false) },
		"another node has none, as at first": func(_ *testing.T, w *world) { w.Status.NodeStatuses[2].CurrentRevision = 0 },
		"nothing leads":                      func(_ *testing.T, w *world) { w.clock.SetTime(controlplanetest.At(200)) },
		"the kubelet is silent":              func(_ *testing.T, w *world) { w.Nodes["m1"].Status.Conditions[0].Status = corev1.ConditionUnknown },
		"it has what the others have":        func(t *testing.T, w *world) { w.sameConfig(t) },
		"an administrator has accepted it":   func(_ *testing.T, w *world) { w.accepts = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			w.crashes("m1", inUse)
			w.clock.SetTime(controlplanetest.At(5))
			change(t, w)
			w.masked = ""
			w.pass(t, 2*time.Minute)
			require.Nil(t, w.rejected(t))
			require.Empty(t, w.events())
		})
	}
}

func TestAPreflightThatFailsWhileItsChangeRollsOutTakesTheRevisionBack(t *testing.T) {
	late := func(t *testing.T) *world {
		t.Helper()
		w := newRollout(t, "m0", "m1", "m2")
		w.Ready("m1", true)
		w.submit(t, "sha256:1")
		secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
		require.NoError(t, err)
		inputs := w.changed()
		record := trial.Of(secret)
		record.Inputs = inputs
		record.Conclude(&trial.Verdict{
			Result: trial.Failed, Class: "Unauthorized", Message: "the cloud says no", Node: "m2", Tries: 1,
			Ended: metav1.NewTime(controlplanetest.Begin),
		})
		require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
		return w
	}
	const message = "a cloud-controller-manager with what revision 4 changes, on node/m2 for 0s at 2026-11-21T09:00:00Z: the " +
		"cloud says no; the nodes go back to what revision 3 has"

	t.Run("one node has it, and no administrator accepts it any more", func(t *testing.T) {
		w := late(t)
		w.accepts = true
		w.pass(t, time.Second)
		require.False(t, w.rejected(t)[0].IsFor(4))
		w.accepts = false
		w.pass(t, time.Minute)
		require.Len(t, w.rejected(t), 1)
		require.True(t, w.rejected(t)[0].IsFor(4))
		require.Equal(t, message, w.rejected(t)[0].Verdict.Describe())
		require.Equal(t, []string{"Warning RevisionFailed: " + message}, w.events())
		require.Equal(t, operatorv1.OperatorCondition{
			Type: "PreflightNotices", Status: operatorv1.ConditionTrue, Reason: "RevisionFailed", Message: message,
		}, w.condition(t))
	})
	for name, change := range map[string]func(*testing.T, *world){
		"the leader's node has it too":     func(_ *testing.T, w *world) { w.Status.NodeStatuses[0].CurrentRevision = 4 },
		"nothing leads":                    func(_ *testing.T, w *world) { w.clock.SetTime(controlplanetest.At(200)) },
		"an administrator has accepted it": func(_ *testing.T, w *world) { w.accepts = true },
		"the revision has something else":  func(t *testing.T, w *world) { w.sameConfig(t) },
		"the former one has lost its pod":  func(t *testing.T, w *world) { w.deletesFormerPod(t) },
	} {
		t.Run(name, func(t *testing.T) {
			w := late(t)
			change(t, w)
			w.pass(t, time.Minute)
			require.Len(t, w.rejected(t), 1)
			require.False(t, w.rejected(t)[0].IsFor(4))
			require.Empty(t, w.events())
		})
	}
}

func TestASingleNodeGoesBackToNothing(t *testing.T) {
	w := newRollout(t, "m0")
	w.label("m0", "4")
	w.crashes("m0", inUse)
	w.pass(t, time.Minute)
	require.Nil(t, w.rejected(t))
}

// renews lets time pass while the leader renews its lease.
func (w *world) renews(t *testing.T, d time.Duration) {
	t.Helper()
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.pass(t, 10*time.Second)
		w.Renew(int(w.clock.Since(controlplanetest.Begin).Seconds()))
		w.Seen.See(w.Lease, w.clock.Now())
	}
}

// killed lets the kernel end the container on a node.
func (w *world) killed(node string) {
	w.crashes(node, "")
	w.Container(node).LastTerminationState.Terminated.Reason = "OOMKilled"
}

// restarts lets a node restart, so that the container runtime does not know how the container ended.
func (w *world) restarts(node string) {
	w.crashes(node, lookedUp)
	w.Container(node).LastTerminationState.Terminated.Reason = "Unknown"
}

// deletesFormerPod deletes the pod of revision 3, of which the cloud configuration is left.
func (w *world) deletesFormerPod(t *testing.T) {
	t.Helper()
	core := w.caches.Core().V1()
	require.NoError(t, core.Secrets().Informer().GetStore().Add(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-config-3"},
	}))
	require.NoError(t, core.ConfigMaps().Informer().GetStore().Delete(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-controller-manager-pod-3"},
	}))
}

// sameConfig gives the revision what the former one has.
func (w *world) sameConfig(t *testing.T) {
	t.Helper()
	store := w.caches.Core().V1().ConfigMaps().Informer().GetStore()
	object, _, err := store.GetByKey(namespace + "/cloud-controller-manager-pod-3")
	require.NoError(t, err)
	same := object.(*corev1.ConfigMap).DeepCopy()
	same.Name = "cloud-controller-manager-pod-4"
	require.NoError(t, store.Update(same))
}

func TestASecretWithoutAnnotationsTakesAVerdictAboutARevision(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	_, err := w.kube.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operand.PreflightName},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.crashes("m1", inUse)
	w.clock.SetTime(controlplanetest.At(5))
	w.pass(t, 0)
	require.Len(t, w.rejected(t), 1)
	require.Equal(t, crashed, w.rejected(t)[0].Verdict.Describe())
}

// A rollout may stay at its second node for long, so the first one runs the revision well until its probe fails once.
func TestTheTimeOfAContainerThatIsNotReadyBeginsAnew(t *testing.T) {
	unready := func(w *world) {
		w.Start("m1", 1)
		w.Ready("m1", false)
	}
	for name, between := range map[string]func(*testing.T, *world){
		"after it was Ready": func(t *testing.T, w *world) {
			w.Ready("m1", true)
			w.renews(t, 5*time.Minute)
		},
		"after its kubelet was silent": func(t *testing.T, w *world) {
			w.Nodes["m1"].Status.Conditions[0].Status = corev1.ConditionUnknown
			w.renews(t, 5*time.Minute)
			w.Nodes["m1"].Status.Conditions[0].Status = corev1.ConditionTrue
		},
		"after another node was not Ready": func(t *testing.T, w *world) {
			w.Ready("m2", false)
			w.renews(t, 5*time.Minute)
			w.Ready("m2", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			w.begin, w.masked = "I1125 19:00:00.000000       1 leaderelection.go:258] Attempting to acquire leader lease...\n", lookedUp
			unready(w)
			w.renews(t, 10*time.Second)
			between(t, w)
			w.Ready("m1", false)
			w.renews(t, 20*time.Second)
			require.Nil(t, w.rejected(t), "20 seconds are not enough")
			w.renews(t, 20*time.Second)
			require.Len(t, w.rejected(t), 1)
			require.Equal(t, "it was not Ready within 30s, and it stands by, so it does not wait for its cloud; "+
				"correct what was changed", w.rejected(t)[0].Verdict.Message)
		})
	}
}

// While the rollout stays at its second node, the container of the first one may end twice in days.
func TestTheEndsOfAContainerThatWorkedAreNotCountedTogether(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	now := func() int { return int(w.clock.Since(controlplanetest.Begin).Seconds()) }
	for range 3 {
		w.Start("m1", now())
		w.renews(t, 40*time.Second)
		w.Exit("m1", now(), inUse)
		w.renews(t, 10*time.Second)
		require.Nil(t, w.rejected(t), "one end may be the node's fault")
	}
	// That it is Ready for a moment proves nothing.
	w.Start("m1", now())
	w.renews(t, 20*time.Second)
	w.Exit("m1", now(), inUse)
	w.renews(t, 10*time.Second)
	require.Len(t, w.rejected(t), 1)
}

// A move for the proof restarts the process of the first node. If another standby takes the lead, it is tried again.
func TestWhatMovesOfTheLeadEndIsNoFailureOfARevision(t *testing.T) {
	for name, hasStatus := range map[string]bool{"the move runs": true, "the status of the move comes later": false} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			for _, second := range []int{10, 70} {
				w.Start("m1", second-10)
				w.move(t, second, hasStatus)
				w.Exit("m1", second, inUse)
				w.renews(t, 10*time.Second)
				require.NoError(t, w.kube.CoreV1().Pods(namespace).Delete(t.Context(), moveName, metav1.DeleteOptions{}))
			}
			require.Nil(t, w.rejected(t))
			w.crashes("m1", inUse)
			w.renews(t, 10*time.Second)
			require.Len(t, w.rejected(t), 1)
		})
	}
}

const moveName = "handover-prove-m0"

// move adds a pod on the first node that moves the lead since a second.
func (w *world) move(t *testing.T, second int, hasStatus bool) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: moveName, Labels: map[string]string{"app": controlplane.HandoverApp},
		},
		Spec:   corev1.PodSpec{NodeName: "m1"},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if hasStatus {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: controlplanetest.Stamp(controlplanetest.At(second))},
		}}}
	}
	_, err := w.kube.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}
