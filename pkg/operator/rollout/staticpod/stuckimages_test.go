package staticpod

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// nodeStatuses is an operator client with these nodes. library-go's fake loses its nodes when a condition is applied.
type nodeStatuses struct {
	v1helpers.StaticPodOperatorClient
	nodes []operatorv1.NodeStatus
	err   error
}

func (n *nodeStatuses) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, status, resourceVersion, err := n.StaticPodOperatorClient.GetStaticPodOperatorState()
	status = status.DeepCopy()
	status.NodeStatuses = n.nodes
	return spec, status, resourceVersion, errors.Join(err, n.err)
}

// installation is a cluster whose installer pods the controller judges.
type installation struct {
	clock  *clocktesting.FakePassiveClock
	status *nodeStatuses
	cache  cache.Store
	*progress
}

func newInstallation(t *testing.T, nodes ...operatorv1.NodeStatus) *installation {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	status := &nodeStatuses{nodes: nodes, StaticPodOperatorClient: v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{}, nil, nil)}
	deps := controllertest.Complete(t, dependencies.Deps{Operator: status, Clock: clock})
	i := &installation{clock: clock, status: status, cache: deps.Target.Core().V1().Pods().Informer().GetStore()}
	i.progress = &progress{Deps: deps}
	for _, node := range nodes {
		if node.CurrentRevision > 0 {
			static := pod("cloud-controller-manager-"+node.NodeName, map[string]string{
				"app": "cloud-controller-manager", "revision": strconv.Itoa(int(node.CurrentRevision)),
			})
			static.Spec.NodeName = node.NodeName
			i.store(t, static)
		}
	}
	return i
}

func (i *installation) store(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	require.NoError(t, i.cache.Add(pod))
}

// syncFor runs the controller's timers for a time and returns the condition after it.
func (i *installation) syncFor(t *testing.T, duration time.Duration) string {
	t.Helper()
	_, err := controllertest.NewTimer(i.clock, events.NewInMemoryRecorder("test", i.clock)).
		Run(t.Context(), i.sync, duration)
	require.NoError(t, err)
	return i.condition(t)
}

func (i *installation) condition(t *testing.T) string {
	t.Helper()
	return i.conditionOf(t, ImagePullCondition)
}

func (i *installation) conditionOf(t *testing.T, conditionType string) string {
	t.Helper()
	_, status, _, err := i.Operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	found := v1helpers.FindOperatorCondition(status.Conditions, conditionType)
	require.NotNil(t, found)
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

// changing is a node that changes from revision 1 to 2.
func changing(node string) operatorv1.NodeStatus {
	return operatorv1.NodeStatus{NodeName: node, CurrentRevision: 1, TargetRevision: 2}
}

// waitingInstaller is an installer pod on master-0 whose second init container waits.
func waitingInstaller(name, reason, message string) *corev1.Pod {
	p := pod(name, map[string]string{"app": "installer"})
	p.UID = types.UID(name)
	p.Spec = corev1.PodSpec{NodeName: "master-0", InitContainers: []corev1.Container{
		{Name: "copy-image-puller", Image: "operator"},
		{Name: "pull-cloud-controller-manager", Image: "registry/ccm:2"},
	}}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodPending,
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "copy-image-puller", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			{
				Name: "pull-cloud-controller-manager", Image: "registry/ccm@sha256:2",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "installer", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"},
		}}},
	}
	return p
}

const (
	asExpected = "False AsExpected: "

	stuckPrefix = "revision 2 cannot be installed on node/master-0: container pull-cloud-controller-manager of " +
		`pod/installer-2-master-0 with image "registry/ccm:2" does not start: `
	stuckKeeps  = "; revision 1 keeps running there"
	stuckAction = "; check that the image exists, and that the node can reach its registry and has credentials for it"
)

func TestAnImageThatKeepsARevisionFromBeingInstalledIsReported(t *testing.T) {
	const unknown = "manifest unknown"
	terminating := waitingInstaller("installer-2-master-0", "ErrImagePull", unknown)
	terminating.DeletionTimestamp = &metav1.Time{}
	failed := waitingInstaller("installer-2-master-0", "ErrImagePull", unknown)
	failed.Status.Phase = corev1.PodFailed
	elsewhere := waitingInstaller("installer-2-master-1", "ErrImagePull", unknown)
	elsewhere.Spec.NodeName = "master-1"
	pruner := waitingInstaller("installer-2-master-0", "ErrImagePull", unknown)
	pruner.Labels["app"] = "pruner"
	starting := waitingInstaller("installer-2-master-0", "PodInitializing", "")
	starting.Status.InitContainerStatuses[0].State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"},
	}
	first := waitingInstaller("installer-2-master-0", "PodInitializing", "")
	first.Status.InitContainerStatuses[0].State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: unknown},
	}
	running := waitingInstaller("installer-2-master-0", "", "")
	running.Status.InitContainerStatuses[1].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

	for name, tc := range map[string]struct {
		node operatorv1.NodeStatus
		pod  *corev1.Pod
		want string
	}{
		"it does not exist": {
			node: changing("master-0"), pod: waitingInstaller("installer-2-master-0", "ErrImagePull", unknown),
			want: "True ImageNotPulled: " + stuckPrefix + unknown + stuckKeeps + stuckAction,
		},
		"the operator's does not exist": {
			node: changing("master-0"), pod: first,
			want: "True ImageNotPulled: revision 2 cannot be installed on node/master-0: container copy-image-puller of " +
				`pod/installer-2-master-0 with image "operator" does not start: ` + unknown + stuckKeeps + stuckAction,
		},
		"the kubelet waits before it pulls again": {
			node: changing("master-0"), pod: waitingInstaller("installer-2-master-0", "ImagePullBackOff",
				`Back-off pulling image "registry/ccm:2": ErrImagePull: `+unknown),
			want: "True ImageNotPulled: " + stuckPrefix + unknown + stuckKeeps + stuckAction,
		},
		"an older kubelet waits": {
			node: changing("master-0"),
			pod: waitingInstaller("installer-2-master-0", "ImagePullBackOff",
				`Back-off pulling image "registry/ccm:2"`),
			want: "True ImageNotPulled: " + stuckPrefix + `Back-off pulling image "registry/ccm:2"` + stuckKeeps + stuckAction,
		},
		"its name is invalid, and the kubelet says nothing else": {
			node: changing("master-0"), pod: waitingInstaller("installer-2-master-0", "InvalidImageName", ""),
			want: "True ImageNotPulled: " + stuckPrefix + "InvalidImageName" + stuckKeeps + stuckAction,
		},
		"the registry's answer has a secret and an escape sequence": {
			node: changing("master-0"), pod: waitingInstaller("installer-2-master-0", "ErrImagePull",
				"GET https://s3/x?X-Amz-Signature=hunter2: \x1b[2J403"),
			want: "True ImageNotPulled: " + stuckPrefix + "GET https://s3/x?X-Amz-Signature=<redacted> [2J403" +
				stuckKeeps + stuckAction,
		},
		"no revision runs on the node yet": {
			node: operatorv1.NodeStatus{NodeName: "master-0", TargetRevision: 2},
			pod:  waitingInstaller("installer-2-master-0", "ErrImagePull", unknown),
			want: "True ImageNotPulled: " + stuckPrefix + unknown + stuckAction,
		},
		"the node's own revision is installed again, perhaps because it does not run": {
			node: operatorv1.NodeStatus{NodeName: "master-0", CurrentRevision: 2, TargetRevision: 2},
			pod:  waitingInstaller("installer-2-master-0", "ErrImagePull", unknown),
			want: "True ImageNotPulled: " + stuckPrefix + unknown + stuckAction,
		},
		"an installer of an earlier revision is superseded": {
			node: changing("master-0"), pod: waitingInstaller("installer-1-master-0", "ErrImagePull", unknown),
			want: asExpected,
		},
		"a node without a target has nothing to install": {
			node: operatorv1.NodeStatus{NodeName: "master-0", CurrentRevision: 2},
			pod:  waitingInstaller("installer-2-master-0", "ErrImagePull", unknown), want: asExpected,
		},
		"an installer on another node is that node's": {node: changing("master-0"), pod: elsewhere, want: asExpected},
		"an installer that is being deleted is gone":  {node: changing("master-0"), pod: terminating, want: asExpected},
		"a failed installer is retried":               {node: changing("master-0"), pod: failed, want: asExpected},
		"a pruner installs nothing":                   {node: changing("master-0"), pod: pruner, want: asExpected},
		"an installer that starts is progressing":     {node: changing("master-0"), pod: starting, want: asExpected},
		"an init container that runs has its image":   {node: changing("master-0"), pod: running, want: asExpected},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t, tc.node)
			i.store(t, tc.pod)
			require.Equal(t, tc.want, i.syncFor(t, time.Hour))
		})
	}
}

func TestAnImageIsReportedWhileTheInstallerWaitsForIt(t *testing.T) {
	const reported = "True ImageNotPulled: " + stuckPrefix + "manifest unknown" + stuckKeeps + stuckAction
	i := newInstallation(t, changing("master-0"))
	i.store(t, waitingInstaller("installer-2-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(t, asExpected, i.syncFor(t, imagePullGracePeriod-time.Nanosecond))
	i.store(t, waitingInstaller("installer-2-master-0", "ImagePullBackOff",
		`Back-off pulling image "registry/ccm:2": ErrImagePull: manifest unknown`))
	require.Equal(t, reported, i.syncFor(t, time.Nanosecond), "the time goes on while the kubelet waits")

	i.store(t, waitingInstaller("installer-2-master-0", "PodInitializing", ""))
	require.Equal(t, asExpected, i.syncFor(t, time.Hour), "the image is there")
	i.store(t, waitingInstaller("installer-2-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(t, asExpected, i.syncFor(t, 0), "the time starts anew")
	require.Equal(t, reported, i.syncFor(t, imagePullGracePeriod))

	i.status.nodes[0].TargetRevision = 3
	i.store(t, waitingInstaller("installer-3-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(t, asExpected, i.syncFor(t, imagePullGracePeriod-time.Nanosecond), "another revision is installed")
	require.NoError(t, i.cache.Delete(waitingInstaller("installer-3-master-0", "", "")))
	require.Equal(t, asExpected, i.syncFor(t, time.Hour), "the pod is gone")
}

// Its manifest was deleted, or its machine was replaced.
func TestNothingIsSaidToRunWhereNoStaticPodIs(t *testing.T) {
	i := newInstallation(t, changing("master-0"))
	require.NoError(t, i.cache.Delete(pod("cloud-controller-manager-master-0", nil)))
	i.store(t, waitingInstaller("installer-2-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(
		t, "True ImageNotPulled: "+stuckPrefix+"manifest unknown"+stuckAction, i.syncFor(t, imagePullGracePeriod),
	)
}

func TestTheNextContainerHasItsOwnTime(t *testing.T) {
	i := newInstallation(t, changing("master-0"))
	first := waitingInstaller("installer-2-master-0", "", "")
	first.Status.InitContainerStatuses[0].State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"},
	}
	i.store(t, first)
	require.Equal(t, asExpected, i.syncFor(t, imagePullGracePeriod-time.Nanosecond))
	i.store(t, waitingInstaller("installer-2-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(t, asExpected, i.syncFor(t, imagePullGracePeriod-time.Nanosecond))
	require.Contains(t, i.syncFor(t, time.Nanosecond), stuckPrefix)
}

func TestEachNodeIsReportedWhenItsTimeHasCome(t *testing.T) {
	i := newInstallation(t, changing("master-1"), changing("master-0"))
	second := waitingInstaller("installer-2-master-1", "ErrImagePull", "manifest unknown")
	second.Spec.NodeName = "master-1"
	i.store(t, second)
	require.Equal(t, asExpected, i.syncFor(t, imagePullGracePeriod-time.Second))
	i.store(t, waitingInstaller("installer-2-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(t, asExpected, i.syncFor(t, 0))

	calls, err := controllertest.NewTimer(i.clock, events.NewInMemoryRecorder("test", i.clock)).
		Run(t.Context(), i.sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, time.Second, imagePullGracePeriod}, calls)
	const text = "does not start: manifest unknown" + stuckKeeps + stuckAction
	require.Equal(t, "True ImageNotPulled: "+stuckPrefix+"manifest unknown"+stuckKeeps+stuckAction+"\n"+
		"revision 2 cannot be installed on node/master-1: container pull-cloud-controller-manager of "+
		`pod/installer-2-master-1 with image "registry/ccm:2" `+text, i.condition(t))
}

func TestAnOperatorThatRestartsKeepsReportingTheImage(t *testing.T) {
	const reported = "True ImageNotPulled: " + stuckPrefix + "manifest unknown" + stuckKeeps + stuckAction
	i := newInstallation(t, changing("master-0"))
	i.store(t, waitingInstaller("installer-2-master-0", "ErrImagePull", "manifest unknown"))
	require.Equal(t, reported, i.syncFor(t, imagePullGracePeriod))
	i.progress = &progress{Deps: i.Deps}
	require.Equal(t, reported, i.syncFor(t, 0))
}

func TestImagesAreNotJudgedWithoutTheStatus(t *testing.T) {
	i := newInstallation(t)
	i.status.err = errors.New("no cache")
	require.EqualError(t, i.sync(t.Context(), factory.NewSyncContext("test", events.NewInMemoryRecorder("test", i.clock))),
		"no cache")
}

func TestAnInstallerThatNoKubeletStartsIsReported(t *testing.T) {
	const reported = "True NotStarted: revision 2 cannot be installed on node/master-0: " +
		"the kubelet has not started any container of pod/installer-2-master-0; " +
		"check that the kubelet and the container runtime there respond, " +
		"and that they can pull the image of this operator"
	pending := waitingInstaller("installer-2-master-0", "", "")
	pending.Status = corev1.PodStatus{Phase: corev1.PodPending}
	creating := waitingInstaller("installer-2-master-0", "PodInitializing", "")
	creating.Status.InitContainerStatuses[0].State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"},
	}
	for name, pod := range map[string]*corev1.Pod{"it reports nothing": pending, "it waits for its runtime": creating} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t, changing("master-0"))
			i.store(t, pod)
			require.Equal(t, asExpected, i.syncFor(t, imagePullGracePeriod-time.Nanosecond))
			require.Equal(t, asExpected, i.conditionOf(t, InstallerStartCondition))
			require.Equal(t, asExpected, i.syncFor(t, time.Nanosecond), "no image is to blame")
			require.Equal(t, reported, i.conditionOf(t, InstallerStartCondition))

			i.progress = &progress{Deps: i.Deps}
			i.syncFor(t, 0)
			require.Equal(t, reported, i.conditionOf(t, InstallerStartCondition), "another operator goes on")

			i.store(t, waitingInstaller("installer-2-master-0", "PodInitializing", ""))
			require.Equal(t, asExpected, i.syncFor(t, time.Hour))
			require.Equal(t, asExpected, i.conditionOf(t, InstallerStartCondition), "a container has started")
		})
	}
}
