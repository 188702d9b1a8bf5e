package staticpod

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/management"
	library "github.com/openshift/library-go/pkg/operator/staticpod"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installerstate"
	missingstaticpod "github.com/openshift/library-go/pkg/operator/staticpod/controller/missingstaticpod"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/node"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/prune"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

// alone replaces the operator's installer controller with library-go's as it is.
func (s *simulated) alone() {
	inner := (&original{kube: s.kube, caches: s.caches, operator: s.operator, recorder: s.recorder}).installer(nodePodsOf(
		options{Deps: dependencies.Deps{Kube: s.kube, Target: s.caches}, image: "operator"},
		func() (*url.URL, error) { return url.Parse("https://api-int:6443") },
	))
	s.controller = factory.New().WithSync(inner.Sync).ToController("Alone", s.recorder)
	s.progress = factory.New().WithSync(
		func(context.Context, factory.SyncContext) error { return nil },
	).ToController("None", s.recorder)
}

// These are the reasons for installerClient, nextNode and a part of noderepair. If one of them fails after an update of library-go, look
// whether the workaround can go.
func TestWhatTheInstallerControllerDoesByItself(t *testing.T) {
	t.Run("it begins with the leader's node if its kubelet is silent, and never goes on", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1", "m2")
		s.alone()
		s.lead()
		s.silence("m0", false)
		s.unknown("m0")
		s.revision(2)
		s.run(5 * time.Minute)
		require.Equal(t, "m0 1 to 2, m1 1, m2 1", s.revisions())
	})
	t.Run("it installs nothing on a node whose target is its revision", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.repair("m0")
		s.run(time.Minute)
		require.Equal(t, "m0 1 to 1", s.revisions())
		_, err := s.kube.CoreV1().Pods(target).Get(t.Context(), "installer-1-m0", metav1.GetOptions{})
		require.ErrorContains(t, err, "not found")
	})
	t.Run("it goes on to the latest revision instead of the target", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.revision(2)
		s.run(time.Second)
		s.revision(3)
		s.run(time.Second)
		require.Equal(t, "m0 1 to 3", s.revisions())
	})
	t.Run("it takes the installer of a former Node by its name, and waits forever for its static pod", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOriginal(t, 1, []operatorv1.NodeStatus{{NodeName: "m0", TargetRevision: 1}},
				append(revisionObjects(t, 1), installed("installer-1-m0"))...)
			controller := o.installer(o.kube.CoreV1())
			for range 24 {
				require.NoError(t, o.sync(t, controller))
				require.Equal(t, []operatorv1.NodeStatus{{NodeName: "m0", TargetRevision: 1}}, o.operator.status.NodeStatuses)
				<-time.After(time.Hour) // of the bubble
			}
		})
	})
	t.Run("it applies only the nodes that it reads", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1")
		s.alone()
		s.run(time.Second)
		s.operator.status.NodeStatuses = s.operator.status.NodeStatuses[:1]
		s.run(time.Second)
		require.NotContains(t, s.operator.applied["cloud-controller-manager-Installer"], "m1")
	})
}

// These are the reasons for the corrections in installerclient.go, and for the progress controller.
func TestWhatTheInstallerControllerReportsByItself(t *testing.T) {
	t.Run("an outage while no node has a revision", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.NodeStatuses[0].CurrentRevision = 0
		require.NoError(t, s.controller.Sync(t.Context(), s.syncContext()))
		require.Equal(
			t, "False: 0 nodes are active; 1 node is at revision 0; 0 nodes have achieved new revision 1",
			s.operator.condition(t, "StaticPodsAvailable"),
		)
	})
	t.Run("a node where nothing runs as being at its revision", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1")
		s.alone()
		s.deleteManifest("m1")
		s.unknown("m1")
		s.run(time.Second)
		require.Equal(t, "False: 2 nodes are at revision 1", s.operator.condition(t, "NodeInstallerProgressing"))
	})
	t.Run("the objects of revision 0 as missing", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.LatestAvailableRevision = 0
		require.ErrorContains(t, s.controller.Sync(t.Context(), s.syncContext()), "missing required resources")
		require.Contains(t, s.operator.condition(t, "InstallerControllerDegraded"), "True: missing required resources")
	})
	t.Run("a failure that is over", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.NodeStatuses[0].LastFailedRevision = 1
		s.run(time.Minute)
		require.Equal(t, int32(1), s.operator.status.NodeStatuses[0].LastFailedRevision)
	})
	t.Run("nothing while it waits to retry", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1")
		s.alone()
		s.run(time.Second)
		s.revision(2)
		failed := metav1.Now()
		s.operator.status.NodeStatuses[0] = operatorv1.NodeStatus{
			NodeName: "m0", CurrentRevision: 1, TargetRevision: 2, LastFailedRevision: 2, LastFailedTime: &failed,
		}
		before := s.operator.version
		s.run(time.Second)
		require.Equal(t, before, s.operator.version)
	})
	t.Run("an event about a revision that a repaired node has already", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.NodeStatuses[0] = operatorv1.NodeStatus{NodeName: "m0", TargetRevision: 1}
		require.NoError(t, s.kube.Tracker().Add(installed("installer-1-m0")))
		s.run(time.Second)
		require.Contains(t, s.recorder.Events()[len(s.recorder.Events())-1].Message, `Updated node "m0" from revision 0 to 1`)
	})
}

func installed(name string) *corev1.Pod {
	p := pod(name, map[string]string{"app": "installer"})
	p.Status.Phase = corev1.PodSucceeded
	return p
}

// original has library-go's controllers as they are, with an API server in memory. Its caches have the same objects.
type original struct {
	kube     *fake.Clientset
	caches   informers.SharedInformerFactory
	operator *appliedStatus
	recorder events.InMemoryRecorder
	// delays are those after which a controller wants to be called again.
	delays []time.Duration
	workqueue.TypedRateLimitingInterface[any]
}

func newOriginal(t *testing.T, latest int32, nodes []operatorv1.NodeStatus, objects ...runtime.Object) *original {
	t.Helper()
	kube := fake.NewClientset(objects...)
	o := &original{
		kube: kube, caches: informers.NewSharedInformerFactory(kube, 0),
		operator: newAppliedStatus(operatorv1.OperatorSpec{ManagementState: operatorv1.Managed},
			&operatorv1.StaticPodOperatorStatus{
				OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: latest}, NodeStatuses: nodes,
			}),
		recorder: events.NewInMemoryRecorder("test", clock.RealClock{}),
	}
	core := o.caches.Core().V1()
	for _, object := range objects {
		store := core.ConfigMaps().Informer().GetStore()
		switch object.(type) {
		case *corev1.Pod:
			store = core.Pods().Informer().GetStore()
		case *corev1.Node:
			store = core.Nodes().Informer().GetStore()
		case *corev1.Secret:
			store = core.Secrets().Informer().GetStore()
		}
		require.NoError(t, store.Add(object))
	}
	return o
}

func (o *original) sync(t *testing.T, controller interface {
	Sync(ctx context.Context, syncCtx factory.SyncContext) error
}) error {
	t.Helper()
	return controller.Sync(t.Context(), o)
}

// Queue, QueueKey and Recorder implement factory.SyncContext.
func (o *original) Queue() workqueue.RateLimitingInterface { return o } //nolint:staticcheck // The type of factory.SyncContext.
func (o *original) QueueKey() string                       { return factory.DefaultQueueKey }
func (o *original) Recorder() events.Recorder              { return o.recorder }

func (o *original) AddAfter(_ any, delay time.Duration) { o.delays = append(o.delays, delay) }

func (o *original) installer(pods corev1client.PodsGetter) *installer.InstallerController {
	return installer.NewInstallerController("cloud-controller-manager", target, "cloud-controller-manager",
		revisioned("ConfigMap"), revisioned("Secret"), []string{"installer"}, o.caches, o.operator,
		o.kube.CoreV1(), o.kube.CoreV1(), pods, o.recorder)
}

func (o *original) pruner() factory.Controller {
	return prune.NewPruneController(target, "cloud-controller-manager-pod", []string{"prune"}, o.kube.CoreV1(),
		o.kube.CoreV1(), o.operator, o.caches, o.recorder)
}

func (o *original) nodes() factory.Controller {
	return node.NewNodeController("cloud-controller-manager", o.operator, o.caches, o.recorder, nil)
}

func (o *original) missing() factory.Controller {
	config := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0)
	return missingstaticpod.New(o.operator, o.caches, o.recorder, target, "cloud-controller-manager",
		"cloud-controller-manager", config.Config().V1().Infrastructures())
}

func (o *original) installerState() factory.Controller {
	return installerstate.NewInstallerStateController("cloud-controller-manager", o.caches, o.kube.CoreV1(),
		o.kube.CoreV1(), o.operator, target, o.recorder)
}

func (o *original) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	found, err := o.kube.CoreV1().Pods(target).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return found
}

// This is the reason for settling: the kubelet of the node writes the time, and the operator compares it with its
// own clock.
func TestWhatMinReadyDurationComparesByItself(t *testing.T) {
	for name, tc := range map[string]struct {
		// ahead is how far the kubelet's clock is.
		ahead time.Duration
		wait  []time.Duration
	}{
		"the clocks agree":                        {0, []time.Duration{settlePeriod}},
		"the kubelet's clock is ahead":            {time.Minute, []time.Duration{settlePeriod + time.Minute}},
		"the kubelet's clock is an hour behind":   {-time.Hour, nil},
		"the kubelet's clock is a little behind":  {-2 * time.Second, []time.Duration{settlePeriod - 2*time.Second}},
		"the kubelet's clock is behind by enough": {-settlePeriod - time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running := staticPod("1", true)
				running.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(tc.ahead))
				o := newOriginal(t, 2, []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1}},
					append(revisionObjects(t, 2), running)...)
				require.NoError(t, o.sync(t, o.installer(o.kube.CoreV1()).WithMinReadyDuration(settlePeriod)))
				require.Equal(t, tc.wait, o.delays)
				require.Equal(t, tc.wait == nil, o.operator.status.NodeStatuses[0].TargetRevision == 2)
			})
		})
	}
}

// These are the reasons for nodePods and pullImages.
func TestWhatTheControllersDoWithPodsByThemselves(t *testing.T) {
	created := map[string]func(t *testing.T) *corev1.Pod{
		"installer": func(t *testing.T) *corev1.Pod {
			o := newOriginal(t, 1, []operatorv1.NodeStatus{{NodeName: "m0", TargetRevision: 1}}, revisionObjects(t, 1)...)
			require.NoError(t, o.sync(t, o.installer(o.kube.CoreV1())))
			return o.pod(t, "installer-1-m0")
		},
		"pruner": func(t *testing.T) *corev1.Pod {
			o := newOriginal(t, 20, []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 20}}, revisionStatusOf(20))
			require.NoError(t, o.sync(t, o.pruner()))
			return o.pod(t, "revision-pruner-20-m0")
		},
	}
	for name, create := range created {
		t.Run(name+" pods need the pod network and the Service of the API server", func(t *testing.T) {
			spec := create(t).Spec
			require.False(t, spec.HostNetwork)
			require.Empty(t, spec.DNSPolicy)
			for _, env := range spec.Containers[0].Env {
				require.NotContains(t, env.Name, "KUBERNETES_SERVICE")
			}
		})
		t.Run(name+" pods have limits, and neither a partition nor an SCC", func(t *testing.T) {
			pod := create(t)
			require.NotEmpty(t, pod.Spec.Containers[0].Resources.Limits)
			require.Empty(t, pod.Annotations)
		})
		t.Run(name+" pods have the image of the environment", func(t *testing.T) {
			t.Setenv("OPERATOR_IMAGE", "of-the-environment")
			require.Equal(t, "of-the-environment", create(t).Spec.Containers[0].Image)
		})
		t.Run(name+" pods have one container, and pull no other image", func(t *testing.T) {
			spec := create(t).Spec
			require.Len(t, spec.Containers, 1)
			require.Empty(t, spec.InitContainers)
		})
	}
	for name, tc := range map[string]struct {
		change func(status *corev1.PodStatus)
		want   []string
	}{
		"it quotes the whole termination message of a failed container": {
			func(status *corev1.PodStatus) {
				status.ContainerStatuses = []corev1.ContainerStatus{ended("installer", "I1121 noise\nF1121 password=hunter2")}
			},
			[]string{"installer: I1121 noise\nF1121 password=hunter2"},
		},
		"it quotes no init container": {
			func(status *corev1.PodStatus) {
				status.InitContainerStatuses = []corev1.ContainerStatus{ended("pull-cloud-controller-manager", "permission denied")}
			},
			[]string{`no detailed termination message, see ` +
				"`" + `oc get -oyaml -n "openshift-cloud-controller-manager" pods "installer-1-m0"` + "`"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := pod("installer-1-m0", map[string]string{"app": "installer"})
			failed.Status.Phase = corev1.PodFailed
			tc.change(&failed.Status)
			o := newOriginal(t, 1, []operatorv1.NodeStatus{{NodeName: "m0", TargetRevision: 1}},
				append(revisionObjects(t, 1), failed)...)
			require.NoError(t, o.sync(t, o.installer(o.kube.CoreV1())))
			require.Equal(t, tc.want, o.operator.status.NodeStatuses[0].LastFailedRevisionErrors)
		})
	}
	t.Run("an installer that a cache does not have yet has disappeared", func(t *testing.T) {
		o := newOriginal(t, 1, []operatorv1.NodeStatus{{NodeName: "m0", TargetRevision: 1}}, revisionObjects(t, 1)...)
		require.NoError(t, o.sync(t, o.installer(behind{PodsGetter: o.kube.CoreV1(), cached: fake.NewClientset().CoreV1()})))
		require.Contains(t, reasons(o.recorder), "InstallerPodDisappeared")
	})
}

func ended(name, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: message},
	}}
}

// behind writes pods and reads them from a cache.
type behind struct {
	corev1client.PodsGetter
	cached corev1client.PodsGetter
}

func (b behind) Pods(namespace string) corev1client.PodInterface {
	return behindPods{b.PodsGetter.Pods(namespace), b.cached.Pods(namespace)}
}

type behindPods struct {
	corev1client.PodInterface
	cached corev1client.PodInterface
}

func (b behindPods) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	return b.cached.Get(ctx, name, options)
}

func reasons(recorder events.InMemoryRecorder) []string {
	var all []string
	for _, event := range recorder.Events() {
		all = append(all, event.Reason)
	}
	return all
}

// These are the reasons for rolling and for what progress says about installer pods.
func TestWhatTheControllersReportOnARolloutByThemselves(t *testing.T) {
	for name, state := range map[string]corev1.ContainerState{
		"the end of the former static pod is a failure":  ended("", "lost the lease").State,
		"a container that is being created is a failure": {Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		"a container in back-off is a failure, as it is here": {
			Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, operatorv1.ConditionTrue, staticPodsDegraded(t, time.Time{}, nil, rolledPod{state: state, revision: "1", target: 2}))
		})
	}
	t.Run("a container that initializes is none", func(t *testing.T) {
		state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		require.Equal(t, operatorv1.ConditionFalse, staticPodsDegraded(t, time.Time{}, nil, rolledPod{state: state, revision: "2", target: 2}))
	})
	waiting := func(reason string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "a", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "not found"},
		}}}
	}
	for name, tc := range map[string]struct {
		pending          time.Duration
		init, containers []corev1.ContainerStatus
		want             []string
	}{
		"a container that waits for its image is none for five minutes": {
			pending: 4 * time.Minute, containers: waiting("ImagePullBackOff"),
		},
		"and one after that": {
			pending: 6 * time.Minute, containers: waiting("ImagePullBackOff"),
			want: []string{"InstallerPodContainerWaitingDegraded ImagePullBackOff"},
		},
		"an init container that waits for its image never is, only the container after it": {
			pending: time.Hour, init: waiting("ImagePullBackOff"), containers: waiting("PodInitializing"),
			want: []string{"InstallerPodContainerWaitingDegraded PodInitializing"},
		},
		"a kubelet that starts nothing never is": {pending: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			installing := pod("installer-1-m0", map[string]string{"app": "installer"})
			installing.Spec.NodeName = "m0"
			installing.Status = corev1.PodStatus{
				Phase: corev1.PodPending, InitContainerStatuses: tc.init, ContainerStatuses: tc.containers,
			}
			started := metav1.NewTime(time.Now().Add(-tc.pending))
			installing.Status.StartTime = &started
			o := newOriginal(t, 1, nil, installing)
			require.NoError(t, o.sync(t, o.installerState()))
			var degraded []string
			for _, c := range o.operator.status.Conditions {
				if c.Status == operatorv1.ConditionTrue {
					degraded = append(degraded, c.Type+" "+c.Reason)
				}
			}
			require.Equal(t, tc.want, degraded)
		})
	}
}

// This is the reason for noEvents: the cloud-controller-manager may write large Events into the namespace.
func TestWhatTheInstallerStateControllerReadsByItself(t *testing.T) {
	hourAgo := metav1.NewTime(time.Now().Add(-time.Hour))
	waiting := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "installer-1-m0", Labels: map[string]string{"app": "installer"}},
		Spec:       corev1.PodSpec{NodeName: "m0"},
		Status:     corev1.PodStatus{Phase: corev1.PodPending, StartTime: &hourAgo},
	}
	for name, tc := range map[string]struct {
		events func(*original) corev1client.EventsGetter
		want   []string
	}{
		"it lists all Events":       {func(o *original) corev1client.EventsGetter { return o.kube.CoreV1() }, []string{"list events"}},
		"with noEvents it does not": {func(*original) corev1client.EventsGetter { return noEvents{} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOriginal(t, 1, nil, waiting.DeepCopy())
			require.NoError(t, o.sync(t, installerstate.NewInstallerStateController("cloud-controller-manager", o.caches,
				o.kube.CoreV1(), tc.events(o), o.operator, target, o.recorder)))
			var read []string
			for _, action := range o.kube.Actions() {
				if action.Matches("list", "events") {
					read = append(read, "list events")
				}
			}
			require.Equal(t, tc.want, read)
		})
	}
}

// These are the reasons for listers.go.
func TestWhatTheControllersReportOnNodesByThemselves(t *testing.T) {
	t.Run("Nodes in another order with each sync", func(t *testing.T) {
		var objects []runtime.Object
		for i := range 8 {
			objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("m%d", i), Labels: map[string]string{"node-role.kubernetes.io/master": ""},
			}})
		}
		o := newOriginal(t, 1, nil, objects...)
		controller, messages := o.nodes(), sets.New[string]()
		for range 50 {
			require.NoError(t, o.sync(t, controller))
			messages.Insert(o.operator.condition(t, "NodeControllerDegraded"))
		}
		require.Greater(t, messages.Len(), 1)
	})
	for name, nodes := range map[string][]runtime.Object{
		"vanished":         nil,
		"registered again": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m7", CreationTimestamp: metav1.Now()}}},
	} {
		t.Run("the missing static pods of Nodes that have "+name+", in another order with each sync", func(t *testing.T) {
			o := newOriginal(t, 4, nil,
				append(nodes, installedLongAgo("m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7")...)...)
			controller, messages := o.missing(), sets.New[string]()
			for range 50 {
				err := o.sync(t, controller)
				require.ErrorContains(t, err, `for revision: 4 on node: "m7" didn't show up`)
				messages.Insert(err.Error())
			}
			require.Greater(t, messages.Len(), 1)
		})
	}
}

// This is the reason why noderepair detects a replaced machine. A later library-go writes NodeStatus.nodeUID and removes
// the status of a Node with another UID, so only one of the two detections may stay: see docs/upstream.
func TestANodeThatWasReplacedKeepsItsRevisionInTheStatus(t *testing.T) {
	o := newOriginal(t, 4, []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 4}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "m0", UID: "of the new machine", Labels: map[string]string{"node-role.kubernetes.io/master": ""},
	}})
	require.NoError(t, o.sync(t, o.nodes()))
	require.Equal(t, []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 4}}, o.operator.status.NodeStatuses)
	_, has := reflect.TypeFor[operatorv1.NodeStatus]().FieldByName("NodeUID")
	require.False(t, has, "the node controller compares UIDs: remove the detection of noderepair, and with_node_uid of hack")
}

// installedLongAgo are the installers of these nodes, and the ConfigMap that the missing-static-pod controller reads.
func installedLongAgo(nodes ...string) []runtime.Object {
	hourAgo := metav1.NewTime(time.Now().Add(-time.Hour))
	objects := []runtime.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager-pod-4"},
		Data: map[string]string{
			"pod.yaml": `{"apiVersion":"v1","kind":"Pod","spec":{"terminationGracePeriodSeconds":30}}`,
		},
	}}
	for _, node := range nodes {
		p := installed("installer-4-" + node)
		p.CreationTimestamp, p.Spec.NodeName = hourAgo, node
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "installer", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: hourAgo}},
		}}
		objects = append(objects, p)
	}
	return objects
}

// These are the reasons for starter, which ends all controllers during a removal.
func TestWhatTheControllersDoDuringARemovalByThemselves(t *testing.T) {
	removed := func(o *original) *original {
		o.operator.StaticPodOperatorClient = v1helpers.NewFakeStaticPodOperatorClient(
			&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Removed}},
			o.operator.status, nil, nil)
		return o
	}
	t.Run("the node controller writes its condition", func(t *testing.T) {
		o := removed(newOriginal(t, 1, nil))
		require.NoError(t, o.sync(t, o.nodes()))
		require.Equal(t, "False: All master nodes are ready", o.operator.condition(t, "NodeControllerDegraded"))
	})
	t.Run("the prune controller creates pods", func(t *testing.T) {
		o := removed(newOriginal(t, 20, []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 20}}, revisionStatusOf(20)))
		require.NoError(t, o.sync(t, o.pruner()))
		require.Equal(t, "m0", o.pod(t, "revision-pruner-20-m0").Spec.NodeName)
	})
	t.Run("the missing-static-pod controller misses what was removed", func(t *testing.T) {
		o := removed(newOriginal(t, 4, nil, installedLongAgo("m0")...))
		require.ErrorContains(t, o.sync(t, o.missing()), "didn't show up")
	})
	// Run tells library-go so. Otherwise Unmanaged would stop them too.
	t.Run("those of an operator that is always managed install again", func(t *testing.T) {
		management.SetOperatorAlwaysManaged()
		t.Cleanup(management.SetOperatorUnmanageable)
		o := removed(newOriginal(t, 1, []operatorv1.NodeStatus{{NodeName: "m0"}}, revisionObjects(t, 1)...))
		for range 2 {
			require.NoError(t, o.sync(t, o.installer(o.kube.CoreV1())))
		}
		require.Equal(t, "m0", o.pod(t, "installer-1-m0").Spec.NodeName)
	})
}

// These are the reasons why staticpod.go assembles the controllers itself.
func TestWhatTheBuilderDoesByItself(t *testing.T) {
	o := newOriginal(t, 1, []operatorv1.NodeStatus{{NodeName: "m0", TargetRevision: 1}}, revisionObjects(t, 1)...)
	config := configinformers.NewSharedInformerFactory(configfake.NewClientset(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: configv1.HighlyAvailableTopologyMode},
	}), 0)
	namespaced := v1helpers.NewFakeKubeInformersForNamespaces(map[string]informers.SharedInformerFactory{target: o.caches})
	all, err := library.NewBuilder(o.operator, o.kube, namespaced, o.caches, config, clock.RealClock{}).
		WithEvents(o.recorder).
		WithVersioning("cloud-controller-manager", nil).
		WithOperandPodLabelSelector(labels.SelectorFromSet(labels.Set{"app": "cloud-controller-manager"})).
		WithRevisionedResources(target, "cloud-controller-manager", revisioned("ConfigMap"), revisioned("Secret")).
		WithInstaller([]string{"installer"}).
		WithPruning([]string{"prune"}, "cloud-controller-manager-pod").
		WithStartupMonitor(func() (bool, error) { return true, nil }).
		ToControllers()
	require.NoError(t, err)
	o.caches.Start(t.Context().Done())
	config.Start(t.Context().Done())
	ended := make(chan struct{})
	go func() { defer close(ended); all.Start(t.Context()) }()
	t.Cleanup(func() { <-ended })

	t.Run("it binds the installer to cluster-admin", func(t *testing.T) {
		require.Eventually(t, func() bool {
			binding, err := o.kube.RbacV1().ClusterRoleBindings().Get(t.Context(),
				"system:openshift:operator:openshift-cloud-controller-manager-installer", metav1.GetOptions{})
			return err == nil && binding.RoleRef.Name == "cluster-admin"
		}, time.Minute, 10*time.Millisecond)
	})
	t.Run("an installer does not wait for the lock of the startup monitor", func(t *testing.T) {
		var args []string
		require.Eventually(t, func() bool {
			installing, err := o.kube.CoreV1().Pods(target).Get(t.Context(), "installer-1-m0", metav1.GetOptions{})
			if err != nil {
				return false
			}
			args = installing.Spec.Containers[0].Args
			return true
		}, time.Minute, 10*time.Millisecond)
		for _, arg := range args {
			require.NotContains(t, arg, "--pod-manifests-lock-file")
		}
	})
}
