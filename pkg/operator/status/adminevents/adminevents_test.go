package adminevents

import (
	"errors"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

func TestOnlyEventsForAdministratorsAreRecorded(t *testing.T) {
	// diff is the message of library-go's controller.
	diff := func(before, after configv1.ConditionStatus, messageBefore, messageAfter string) string {
		status := func(status configv1.ConditionStatus, message string) configv1.ClusterOperatorStatus {
			return configv1.ClusterOperatorStatus{Conditions: []configv1.ClusterOperatorStatusCondition{
				{Type: configv1.OperatorProgressing, Status: status, Message: message}, {Type: "EvaluationConditionsDetected", Status: before},
			}}
		}
		return "Status for clusteroperator/a changed: " + v1helpers.GetStatusDiff(status(before, messageBefore), status(after, messageAfter))
	}
	for name, tc := range map[string]struct {
		record func(events.Recorder)
		want   []string
	}{
		"a rollout begins": {func(r events.Recorder) {
			r.Event("OperatorStatusChanged", diff("False", "True", "3 of 3", "2 of 3"))
		}, []string{"OperatorStatusChanged"}},
		"a rollout goes on": {func(r events.Recorder) {
			r.Eventf("OperatorStatusChanged", "%s", diff("True", "True", "2 of 3", "1 of 3"))
		}, nil},
		"a message quotes a change of another condition": {func(r events.Recorder) {
			r.Eventf("OperatorStatusChanged", "%s", diff("True", "True", "2 of 3", "Ready changed from True"))
		}, nil},
		"a node has the revision": {func(r events.Recorder) {
			r.WithComponentSuffix("installer-controller").Eventf("NodeCurrentRevisionChanged", "to %d", 2)
		}, []string{"NodeCurrentRevisionChanged"}},
		"an object is written": {func(r events.Recorder) {
			r.WithComponentSuffix("a").ForComponent("b").WithContext(t.Context()).Eventf("ConfigMapCreated", "Created %s", "a")
		}, nil},
		"an installation begins": {func(r events.Recorder) {
			r.Warningf("RequiredInstallerResourcesMissing", "secrets: %s", "a-0")
		}, nil},
		"a creation has lost a race": {func(r events.Recorder) {
			apply(t, r, "create", apierrors.NewAlreadyExists(corev1.Resource("secrets"), "a"))
		}, nil},
		"an update has lost a race": {func(r events.Recorder) {
			apply(t, r, "update", apierrors.NewConflict(corev1.Resource("secrets"), "a", errors.New("the object has been modified; "+
				"please apply your changes to the latest version and try again")))
		}, nil},
		"a creation is forbidden": {func(r events.Recorder) {
			apply(t, r, "create", apierrors.NewForbidden(corev1.Resource("secrets"), "a", errors.New("no")))
		}, []string{"SecretCreateFailed"}},
		"a warning of ours": {func(r events.Recorder) { r.Warning("CloudConfigNotices", "a") }, []string{"CloudConfigNotices"}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := events.NewInMemoryRecorder("test", clock.RealClock{})
			tc.record(New(inner))
			var got []string
			for _, event := range inner.Events() {
				got = append(got, event.Reason)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// apply lets library-go write a Secret, which fails.
func apply(t *testing.T, r events.Recorder, verb string, err error) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}, Data: map[string][]byte{"a": []byte("new")}}
	kube := fake.NewClientset()
	if verb == "update" {
		kube = fake.NewClientset(&corev1.Secret{ObjectMeta: secret.ObjectMeta, Type: corev1.SecretTypeOpaque})
	}
	kube.PrependReactor(verb, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
	_, _, failed := resourceapply.ApplySecret(t.Context(), kube.CoreV1(), r, secret)
	require.Equal(t, err, failed)
}

func TestAnEventIsNotLongerThanAnObjectMayBe(t *testing.T) {
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	filtered := New(recorder)
	huge := strings.Repeat("9", 1<<20)
	filtered.Event("A", huge)
	filtered.Warningf("B", "%s", huge)
	filtered.ForComponent("c").Eventf("C", "%s", huge)
	require.Len(t, recorder.Events(), 3)
	for _, event := range recorder.Events() {
		require.Less(t, len(event.Message), 8<<10)
	}
}
