package staticpod

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// behindResource is an operator resource whose cache has the status of before.
type behindResource struct {
	*appliedStatus
	cached *operatorv1.StaticPodOperatorStatus
}

func (b *behindResource) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, status, version, err := b.appliedStatus.GetStaticPodOperatorState()
	if b.cached != nil {
		status = b.cached
	}
	return spec, status, version, err
}

func (b *behindResource) GetStaticPodOperatorStateWithQuorum(context.Context) (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	return b.appliedStatus.GetStaticPodOperatorState()
}

// revisionObjects are the complete copies of a candidate, and the candidate itself without a revision.
func revisionObjects(t *testing.T, revision int) []runtime.Object {
	t.Helper()
	suffix := ""
	var objects []runtime.Object
	if revision > 0 {
		suffix = fmt.Sprintf("-%d", revision)
		objects = append(objects, revisionStatusOf(revision))
	}
	configMaps, secrets := candidate(t, suffix)
	for _, configMap := range configMaps {
		objects = append(objects, configMap)
	}
	for _, secret := range secrets {
		objects = append(objects, secret)
	}
	return objects
}

func revisionStatusOf(revision int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: target, Name: fmt.Sprintf("revision-status-%d", revision),
			Annotations: map[string]string{readyAnnotation: "true"},
		},
		Data: map[string]string{"revision": fmt.Sprint(revision)},
	}
}

func latestIs(latest int32, nodes ...operatorv1.NodeStatus) *operatorv1.StaticPodOperatorStatus {
	return &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: latest}, NodeStatuses: nodes,
	}
}

// revising is the revision controller, with caches and an API server that have different objects.
type revising struct {
	*revisions

	kube     *fake.Clientset
	operator *behindResource
	clock    *clocktesting.FakeClock
	recorder events.InMemoryRecorder
}

func newRevising(t *testing.T, status *operatorv1.StaticPodOperatorStatus, cached, live []runtime.Object) *revising {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	r := &revising{
		kube: fake.NewClientset(live...), clock: clock, recorder: events.NewInMemoryRecorder("test", clock),
		operator: &behindResource{appliedStatus: newAppliedStatus(operatorv1.OperatorSpec{}, status)},
	}
	r.revisions = &revisions{options: options{
		Deps: dependencies.Deps{
			Operator: r.operator, Kube: r.kube, Clock: clock,
			Target: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		},
		configMaps: r.kube.CoreV1(), secrets: r.kube.CoreV1(),
	}}
	for _, object := range cached {
		r.cache(t, object)
	}
	return r
}

// cache lets the cache have an object.
func (r *revising) cache(t *testing.T, object runtime.Object) {
	t.Helper()
	core := r.Target.Core().V1()
	if secret, isSecret := object.(*corev1.Secret); isSecret {
		require.NoError(t, core.Secrets().Informer().GetStore().Add(secret))
	} else {
		require.NoError(t, core.ConfigMaps().Informer().GetStore().Add(object))
	}
}

func (r *revising) run(t *testing.T) error {
	t.Helper()
	return r.sync(t.Context(), factory.NewSyncContext("test", r.recorder))
}

// complete returns the revisions of the API that are complete.
func (r *revising) complete(t *testing.T) []string {
	t.Helper()
	list, err := r.kube.CoreV1().ConfigMaps(target).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for i := range list.Items {
		if isReady(&list.Items[i]) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// without returns the objects but those of this name.
func without(objects []runtime.Object, name string) []runtime.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(object runtime.Object) bool {
		return object.(metav1.Object).GetName() == name
	})
}

// edited returns the objects with other data in the Secret or ConfigMap of this name.
func edited(objects []runtime.Object, name string) []runtime.Object {
	var all []runtime.Object
	for _, object := range objects {
		object = object.DeepCopyObject()
		switch o := object.(type) {
		case *corev1.Secret:
			if o.Name == name {
				o.Data = map[string][]byte{"any": []byte("other")}
			}
		case *corev1.ConfigMap:
			if o.Name == name {
				o.Data = map[string]string{"any": "other"}
			}
		}
		all = append(all, object)
	}
	return all
}

func TestACandidateBecomesARevisionOnce(t *testing.T) {
	both := func(revision int) []runtime.Object {
		return append(revisionObjects(t, 0), revisionObjects(t, revision)...)
	}
	unready := func(objects []runtime.Object) []runtime.Object {
		return append(without(objects, "revision-status-2"), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "revision-status-2",
				Annotations: map[string]string{readyAnnotation: "false", "kept": "no"}},
			Data: map[string]string{"revision": "2"},
		})
	}
	for name, tc := range map[string]struct {
		status *operatorv1.StaticPodOperatorStatus
		// behind is what the cache of the resource has, nil if it has the status.
		behind       *operatorv1.StaticPodOperatorStatus
		cached, live []runtime.Object
		// want is the latest revision then, and what is complete, "" for the same as before.
		want     int32
		complete []string
		reason   string
	}{
		"there is no candidate": {status: latestIs(0)},
		"the first one": {
			status: latestIs(0), cached: revisionObjects(t, 0), live: revisionObjects(t, 0),
			want: 1, complete: []string{"revision-status-1"}, reason: `configmap "cloud-controller-manager-pod-0" not found`,
		},
		"it is the latest revision": {
			status: latestIs(1), cached: both(1), live: both(1), want: 1, complete: []string{"revision-status-1"},
		},
		"copies differ from it": {
			status: latestIs(1), cached: edited(edited(both(1), "trusted-ca-1"), "cloud-config-1"),
			live: edited(edited(both(1), "trusted-ca-1"), "cloud-config-1"),
			want: 2, complete: []string{"revision-status-1", "revision-status-2"},
			reason: "required secret/cloud-config has changed,required configmap/cloud-config has changed," +
				"required configmap/trusted-ca has changed",
		},
		"a Secret of the latest revision was deleted": {
			status: latestIs(1), cached: without(both(1), "cloud-credentials-1"), live: without(both(1), "cloud-credentials-1"),
			want: 2, complete: []string{"revision-status-1", "revision-status-2"}, reason: `secret "cloud-credentials-1" not found`,
		},
		"the watch of Secrets is late": {
			status: latestIs(1), cached: without(both(1), "cloud-credentials-1"), live: both(1),
			want: 1, complete: []string{"revision-status-1"},
		},
		"the status does not name the latest revision yet": {
			status: latestIs(1), cached: both(2), live: both(2), want: 2, complete: []string{"revision-status-2"},
		},
		"the cache has one that exists no more": {
			status: latestIs(1), cached: both(2), live: both(1), want: 1, complete: []string{"revision-status-1"},
		},
		"the cache has one as complete that is not": {
			status: latestIs(1), cached: both(2), live: unready(both(2)), want: 1,
		},
		"the cache has none yet, and the status is behind": {
			status: latestIs(1), cached: both(1), live: append(both(2), revisionObjects(t, 1)...), want: 1,
			complete: []string{"revision-status-1", "revision-status-2"},
		},
		"the next one is complete, and the cache does not have it yet": {
			status: latestIs(1), cached: edited(both(1), "cloud-config-1"),
			live: append(edited(both(1), "cloud-config-1"), revisionObjects(t, 2)...),
			want: 1, complete: []string{"revision-status-1", "revision-status-2"},
			reason: "required secret/cloud-config has changed,required configmap/cloud-config has changed",
		},
		"the process before has started it": {
			status: latestIs(1), cached: edited(both(1), "cloud-config-1"),
			live: unready(edited(both(1), "cloud-config-1")),
			want: 2, complete: []string{"revision-status-1", "revision-status-2"},
			reason: "required secret/cloud-config has changed,required configmap/cloud-config has changed",
		},
		"the latest revision was lost with a restore": {
			status: latestIs(4), cached: both(2), live: both(2), want: 5,
			complete: []string{"revision-status-2", "revision-status-5"}, reason: `configmap "cloud-controller-manager-pod-4" not found`,
		},
		"the latest revision was lost, and the cache of the resource is behind": {
			status: latestIs(2), behind: latestIs(4), cached: both(2), live: both(2), want: 2, complete: []string{"revision-status-2"},
		},
		"a node claims one that was lost": {
			status: latestIs(2, operatorv1.NodeStatus{NodeName: "m0", CurrentRevision: 5}), cached: both(2), live: both(2),
			want: 5, complete: []string{"revision-status-2"},
		},
		"a node is to get one that was lost": {
			status: latestIs(2, operatorv1.NodeStatus{NodeName: "m0", TargetRevision: 5}), cached: both(2), live: both(2),
			want: 5, complete: []string{"revision-status-2"},
		},
		"half a candidate, and the status is behind": {
			status: latestIs(1), cached: without(both(2), "cloud-config"), live: both(2), want: 2,
			complete: []string{"revision-status-2"},
		},
		"half a candidate": {status: latestIs(0), cached: revisionObjects(t, 0)[1:], live: revisionObjects(t, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRevising(t, tc.status, tc.cached, tc.live)
			r.operator.cached = tc.behind
			require.NoError(t, r.run(t))
			require.Equal(t, tc.want, r.operator.status.LatestAvailableRevision)
			require.ElementsMatch(t, tc.complete, r.complete(t))
			reason := ""
			for _, event := range r.recorder.Events() {
				if event.Reason == "StartingNewRevision" {
					reason = event.Message
				}
			}
			if tc.reason != "" {
				require.Regexp(t, `new revision \d triggered by `, reason)
				require.Contains(t, reason, fmt.Sprintf("%q", tc.reason))
			} else {
				require.Empty(t, reason)
			}
		})
	}
}

// The installer, the pruner and the garbage collector know a revision by these names, labels and owners.
func TestARevisionIsMadeAsLibraryGoDoes(t *testing.T) {
	r := newRevising(t, latestIs(0), revisionObjects(t, 0), revisionObjects(t, 0))
	require.NoError(t, r.run(t))
	status, err := r.kube.CoreV1().ConfigMaps(target).Get(t.Context(), "revision-status-1", metav1.GetOptions{})
	require.NoError(t, err)
	labels := map[string]string{
		"operator.openshift.io/controller-instance-name": "cloud-controller-manager-RevisionController",
	}
	require.Equal(t, map[string]string{"operator.openshift.io/revision-ready": "true"}, status.Annotations)
	require.Equal(t, labels, status.Labels)
	require.Equal(t, map[string]string{
		"revision": "1", "reason": `configmap "cloud-controller-manager-pod-0" not found`,
	}, status.Data)
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "revision-status-1"}}
	for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
		copied, err := r.kube.CoreV1().ConfigMaps(target).Get(t.Context(), name+"-1", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, owners, copied.OwnerReferences)
		require.Subset(t, copied.Labels, labels)
	}
	for _, name := range operand.DeliveredBy(operand.Secret, operand.Revisioned) {
		copied, err := r.kube.CoreV1().Secrets(target).Get(t.Context(), name+"-1", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, owners, copied.OwnerReferences)
		require.Subset(t, copied.Labels, labels)
	}
	require.Equal(t, map[string][]string{
		"RevisionController-conditions":               {HeldBackCondition},
		"cloud-controller-manager-RevisionController": nil,
	}, r.operator.applied)
	require.Equal(t, "RevisionTriggered", r.recorder.Events()[len(r.recorder.Events())-1].Reason)
}

func TestARequestThatFailsEndsTheSyncOfTheRevisionController(t *testing.T) {
	candidate := append(edited(revisionObjects(t, 1), "cloud-config-1"), revisionObjects(t, 0)...)
	for name, tc := range map[string]struct {
		verb, resource string
		status         int32
		want           string
	}{
		"the latest revision cannot be read": {
			"get", "configmaps", 0, "reading configmap/revision-status-1 in openshift-cloud-controller-manager: timed out",
		},
		"a ConfigMap cannot be read": {
			"get", "configmaps", 1,
			"reading configmap/cloud-controller-manager-pod-1 in openshift-cloud-controller-manager: timed out",
		},
		"a Secret cannot be read": {
			"get", "secrets", 1, "reading secret/cloud-config-1 in openshift-cloud-controller-manager: timed out",
		},
		"the revision cannot be started": {
			"create", "configmaps", 1, "creating configmap/revision-status-2 in openshift-cloud-controller-manager: timed out",
		},
		"a Secret cannot be copied": {
			"create", "secrets", 1, "copying secret/cloud-config in openshift-cloud-controller-manager: timed out",
		},
		"the revision cannot be completed": {
			"update", "configmaps", 1, "completing configmap/revision-status-2 in openshift-cloud-controller-manager: timed out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRevising(t, latestIs(tc.status), candidate, candidate)
			r.kube.PrependReactor(tc.verb, tc.resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("timed out")
			})
			require.EqualError(t, r.run(t), tc.want)
			require.Equal(t, tc.status, r.operator.status.LatestAvailableRevision)
		})
	}
}

func TestARevisionThatIsHeldBackIsReported(t *testing.T) {
	r := newRevising(t, latestIs(0), nil, revisionObjects(t, 0))
	run := func() string {
		require.NoError(t, r.run(t))
		found := v1helpers.FindOperatorCondition(r.operator.status.Conditions, HeldBackCondition)
		require.NotNil(t, found)
		return string(found.Status) + " " + found.Message
	}
	tokens := func(data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-tokens"}, Data: data}
	}
	require.Equal(t, "False ", run(), "without a candidate there is nothing to hold back")

	var podConfigMap *corev1.ConfigMap
	for _, object := range revisionObjects(t, 0) {
		if object.(metav1.Object).GetName() == operand.PodConfigMap {
			podConfigMap = object.(*corev1.ConfigMap)
			podConfigMap.Annotations[customccm.ReloadedAnnotation] = "session"
		}
		r.cache(t, object)
	}
	require.Equal(t, "False ", run())
	r.clock.Step(59 * time.Second)
	require.Equal(t, "False ", run(), "they may come")
	r.clock.Step(time.Second)
	require.Equal(t, "True the accepted configuration is not rolled out: "+
		"secret/cloud-tokens in openshift-cloud-controller-manager does not have session, which the "+
		"cloud-controller-manager reads; check the other Degraded conditions for the cause", run())
	require.Zero(t, r.operator.status.LatestAvailableRevision)

	r.cache(t, tokens(map[string][]byte{"session": nil}))
	require.Equal(t, "False ", run())
	r.cache(t, tokens(nil))
	r.clock.Step(time.Hour)
	require.Equal(t, "False ", run(), "the time starts anew")

	podConfigMap = podConfigMap.DeepCopy()
	podConfigMap.Annotations[operand.TokensAnnotation] = "{"
	r.cache(t, podConfigMap)
	require.ErrorContains(t, r.run(t), "unexpected end of JSON input")
}

func TestItComesBackByItselfWhenARevisionWasHeldBackForTooLong(t *testing.T) {
	pod := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: operand.PodConfigMap}}
	r := newRevising(t, latestIs(0), []runtime.Object{pod}, nil)
	calls, err := controllertest.NewTimer(r.clock, r.recorder).Run(t.Context(), r.sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, heldBackGracePeriod}, calls)
}

// The caches of objects are those of before revision 2, whose candidate has another cloud configuration. That of the
// resource is not behind.
func TestACandidateOfACacheThatIsBehindBecomesNoRevision(t *testing.T) {
	cached := append(revisionObjects(t, 0), revisionObjects(t, 1)...)
	live := slices.Concat(cached, edited(revisionObjects(t, 2), "cloud-config-2"))
	r := newRevising(t, latestIs(2), cached, live)
	_ = r.run(t)
	require.ElementsMatch(t, []string{"revision-status-1", "revision-status-2"}, r.complete(t))
}
