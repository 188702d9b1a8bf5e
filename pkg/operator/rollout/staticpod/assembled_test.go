package staticpod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// wired has the controllers as the operator runs them, on a cluster with one node.
type wired struct {
	controllers []factory.Controller
	kube        *fake.Clientset
	caches      informers.SharedInformerFactory
	operator    *appliedStatus
	clock       *clocktesting.FakePassiveClock
}

func newWired(t *testing.T, revision int32) *wired {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	kube, config := fake.NewClientset(), configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0)
	infrastructures := config.Config().V1().Infrastructures()
	require.NoError(t, infrastructures.Informer().GetStore().Add(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: configv1.HighlyAvailableTopologyMode},
	}))
	status := &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: revision},
		NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "master-0"}},
	}
	a := &wired{
		kube: kube, caches: informers.NewSharedInformerFactory(kube, 0), clock: clock,
		operator: newAppliedStatus(operatorv1.OperatorSpec{
			ManagementState: operatorv1.Managed,
			ObservedConfig: runtime.RawExtension{
				Raw: []byte(
					`{"platform": "openstack", "infrastructureName": "ci", "apiServerInternalURI": "https://api-int:6443"}`,
				),
			},
		}, status),
	}
	nodes := informers.NewSharedInformerFactory(kube, 0)
	require.NoError(
		t, nodes.Core().V1().Nodes().Informer().GetStore().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-0"}}),
	)
	a.controllers = controllers(options{
		Deps: dependencies.Deps{
			Operator: a.operator, Kube: kube, Target: a.caches, Nodes: nodes.Core().V1().Nodes(), Clock: clock,
			Infrastructures: infrastructures, Lease: &controlplane.Lease{}, Recorder: events.NewInMemoryRecorder("test", clock),
		},
		configMaps: kube.CoreV1(), secrets: kube.CoreV1(), image: "operator",
	})
	return a
}

// sync runs a controller once.
func (a *wired) sync(t *testing.T, name string) error {
	t.Helper()
	for _, controller := range a.controllers {
		if controller.Name() == name {
			return controller.Sync(t.Context(), controllertest.NewTimer(a.clock, events.NewInMemoryRecorder("test", a.clock)))
		}
	}
	require.Fail(t, "no controller "+name)
	return nil
}

// create creates objects in the API and in the caches.
func (a *wired) create(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	core := a.caches.Core().V1()
	for _, object := range objects {
		require.NoError(t, a.kube.Tracker().Add(object))
		switch object.(type) {
		case *corev1.ConfigMap:
			require.NoError(t, core.ConfigMaps().Informer().GetStore().Add(object))
		case *corev1.Secret:
			require.NoError(t, core.Secrets().Informer().GetStore().Add(object))
		case *corev1.Pod:
			require.NoError(t, core.Pods().Informer().GetStore().Add(object))
		}
	}
}

// candidate creates the objects of a candidate, or of a revision.
func (a *wired) candidate(t *testing.T, suffix string, change func([]*corev1.Secret)) {
	t.Helper()
	configMaps, secrets := candidate(t, suffix)
	if change != nil {
		change(secrets)
	}
	for _, object := range configMaps {
		a.create(t, object)
	}
	for _, object := range secrets {
		a.create(t, object)
	}
}

// revision creates the objects of a revision, and those that have none.
func (a *wired) revision(t *testing.T, number int) {
	t.Helper()
	suffix := fmt.Sprintf("-%d", number)
	a.candidate(t, suffix, nil)
	a.create(
		t,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "revision-status" + suffix},
			Data:       map[string]string{"revision": suffix[1:]},
		},
	)
}

func (a *wired) podOf(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	created, err := a.kube.CoreV1().Pods(target).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return created
}

// Each case fails if the operator assembles library-go's controllers without one of its own parts.
func TestTheControllersAreAssembled(t *testing.T) {
	t.Run("every controller runs", func(t *testing.T) {
		var names []string
		for _, controller := range newWired(t, 0).controllers {
			names = append(names, controller.Name())
		}
		require.Equal(t, []string{
			"RevisionController", "Installer", "RolloutProgressController",
			"cloud-controller-manager-InstallerState", "cloud-controller-manager-Node",
			"cloud-controller-manager-StaticPodState",
			"MissingStaticPodController", "PruneController", "cloud-controller-manager-UnsupportedConfigOverrides",
		}, names)
	})
	revisionStatus := func(t *testing.T, a *wired) *corev1.ConfigMap {
		t.Helper()
		list, err := a.kube.CoreV1().ConfigMaps(target).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			if list.Items[i].Name == "revision-status-1" {
				return &list.Items[i]
			}
		}
		return nil
	}
	isReady := func(t *testing.T, a *wired) bool {
		t.Helper()
		created := revisionStatus(t, a)
		return created != nil && created.Annotations["operator.openshift.io/revision-ready"] == "true"
	}
	// The revision controller returns an error to come back.
	create := func(t *testing.T, a *wired) {
		t.Helper()
		for range 3 {
			if err := a.sync(t, "RevisionController"); err != nil {
				require.ErrorContains(t, err, "synthetic requeue request")
			}
		}
	}
	t.Run("a whole candidate becomes a revision", func(t *testing.T) {
		a := newWired(t, 0)
		a.candidate(t, "", nil)
		create(t, a)
		require.True(t, isReady(t, a))
	})
	t.Run("half a candidate becomes no revision", func(t *testing.T) {
		a := newWired(t, 0)
		a.candidate(
			t, "", func(secrets []*corev1.Secret) { secrets[0].Data["cloud.conf"] = []byte("[Global]\nregion = other\n") },
		)
		create(t, a)
		require.Nil(t, revisionStatus(t, a))
	})
	t.Run("a candidate without its tokens becomes no revision", func(t *testing.T) {
		a := newWired(t, 0)
		configMaps, secrets := candidate(t, "")
		for _, configMap := range configMaps {
			if configMap.Name == operand.PodConfigMap {
				configMap.Annotations[operand.TokensAnnotation] = `[{"key":"token","audience":"openshift"}]`
			}
			a.create(t, configMap)
		}
		for _, secret := range secrets {
			a.create(t, secret)
		}
		create(t, a)
		require.Nil(t, revisionStatus(t, a))
	})
	t.Run("a revision whose copies differ from the candidate is not ready", func(t *testing.T) {
		a := newWired(t, 0)
		a.candidate(t, "", nil)
		a.kube.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
			name := action.(clienttesting.GetAction).GetName()
			found, err := a.kube.Tracker().Get(action.GetResource(), target, name)
			if secret, ok := found.(*corev1.Secret); ok && strings.HasPrefix(name, "cloud-config-") {
				secret.Data = map[string][]byte{"cloud.conf": []byte("another writer's")}
			}
			return true, found, err
		})
		create(t, a)
		require.NotNil(t, revisionStatus(t, a))
		require.False(t, isReady(t, a))
	})
	t.Run("an installer gets the synced files, and waits for the images", func(t *testing.T) {
		a := newWired(t, 1)
		a.revision(t, 1)
		for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Synced) {
			a.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}})
		}
		for _, name := range operand.DeliveredBy(operand.Secret, operand.Synced) {
			a.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}})
		}
		require.NoError(t, a.sync(t, "Installer"))
		a.operator.version++ // another write
		require.NoError(t, a.sync(t, "Installer"))
		installer := a.podOf(t, "installer-1-master-0")
		args := installer.Spec.Containers[0].Args
		require.Contains(t, args, "--cert-dir=/etc/kubernetes/static-pod-resources/cloud-controller-manager-certs")
		require.Contains(t, args, "--cert-secrets=kube-token")
		require.Contains(t, args, "--cert-configmaps=client-ca")
		require.Contains(t, args, "--pod=cloud-controller-manager-pod")
		require.Equal(
			t, []string{"/usr/bin/cluster-cloud-controller-manager-operator", "installer"}, installer.Spec.Containers[0].Command,
		)
		require.NotEmpty(t, installer.Spec.InitContainers, "they pull the images")
		require.True(t, installer.Spec.HostNetwork)
	})
	t.Run("a static pod that does not appear is reported", func(t *testing.T) {
		a := newWired(t, 1)
		a.revision(t, 1)
		done := installed("installer-1-master-0")
		done.Spec.NodeName = "master-0"
		ended := metav1.NewTime(time.Now().Add(-time.Hour)) // library-go compares with the system's clock
		done.CreationTimestamp = ended
		done.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "installer", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: ended}}},
		}
		a.create(t, done)
		require.ErrorContains(t, a.sync(t, "MissingStaticPodController"), `revision: 1 on node: "master-0" didn't show up`)
	})
	t.Run("the pruner deletes only directories of revisions", func(t *testing.T) {
		a := newWired(t, 9)
		a.operator.status.NodeStatuses[0].CurrentRevision = 9
		a.revision(t, 1)
		a.revision(t, 9)
		require.NoError(t, a.sync(t, "PruneController"))
		pruner := a.podOf(t, "revision-pruner-9-master-0").Spec.Containers[0]
		require.Contains(t, pruner.Args, "--static-pod-name=cloud-controller-manager-pod")
		require.Equal(t, []string{"/usr/bin/cluster-cloud-controller-manager-operator", "prune"}, pruner.Command)
		require.Equal(t, "operator", pruner.Image)
		_, err := a.kube.CoreV1().ConfigMaps(target).Get(t.Context(), "revision-status-1", metav1.GetOptions{})
		require.ErrorContains(t, err, "not found")
	})
}

func TestTheOperatorEndsAfterItsStaticPodControllers(t *testing.T) {
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	started, end := make(chan struct{}), make(chan struct{})
	s := &starter{
		Deps: dependencies.Deps{Recorder: recorder, Operator: newAppliedStatus(
			operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)}},
			&operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: askedWith("AsExpected")}},
		)},
		controllers: func() []factory.Controller {
			return []factory.Controller{factory.New().
				WithPostStartHooks(func(context.Context, factory.SyncContext) error {
					close(started)
					<-end // a request to the API server that takes its time
					return nil
				}).
				WithSync(func(context.Context, factory.SyncContext) error { return nil }).
				ToController("Slow", recorder)}
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.controller().Run(ctx, 1)
	}()
	require.NoError(t, s.sync(ctx, nil))
	<-started
	stop()
	require.Never(t, func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}, 200*time.Millisecond, 10*time.Millisecond, "a controller still runs")
	close(end)
	<-ended
}

// library-go's queue waits for up to 1000 seconds after a spell of failing requests.
func TestEachControllerTriesAgainWithinAMinuteWhatHasFailed(t *testing.T) {
	// These sync every minute, whatever their queue waits for.
	resyncs := []string{"cloud-controller-manager-InstallerState",
		"cloud-controller-manager-StaticPodState", "MissingStaticPodController"}
	a := newWired(t, 1)
	a.operator.fails = errors.New("forbidden")
	var names []string
	for _, controller := range a.controllers {
		names = append(names, controller.Name())
		if slices.Contains(resyncs, controller.Name()) {
			continue
		}
		t.Run(controller.Name(), func(t *testing.T) {
			timer := controllertest.NewTimer(clocktesting.NewFakeClock(time.Unix(0, 0)), events.NewInMemoryRecorder("test", a.clock))
			var err error
			called, _ := timer.Run(t.Context(), func(ctx context.Context, syncCtx factory.SyncContext) error {
				err = controller.Sync(ctx, syncCtx)
				return nil
			}, time.Minute)
			require.True(t, len(called) > 1 || err == nil, "%v: %s", called, err)
		})
	}
	require.Subset(t, names, resyncs)
}
