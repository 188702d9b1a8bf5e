package monitor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// served is an API server whose nodes the test controls.
type served struct {
	dynamic.Interface
	nodes   atomic.Pointer[unstructured.UnstructuredList]
	watches chan *watch.FakeWatcher
}

func serve(version string, nodes ...*corev1.Node) *served {
	s := &served{watches: make(chan *watch.FakeWatcher, 10)}
	s.set(version, nodes...)
	scheme := runtime.NewScheme()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
		configv1.GroupVersion.WithResource("clusteroperators"):            "ClusterOperatorList",
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}: "LeaseList",
		core("pods"):   "PodList",
		core("nodes"):  "NodeList",
		ccmv1.Resource: "CloudControllerManagerList",
	})
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, s.nodes.Load().DeepCopy(), nil
	})
	client.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFake()
		s.watches <- w
		return true, w, nil
	})
	s.Interface = client
	return s
}

func (s *served) set(version string, nodes ...*corev1.Node) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "NodeList"}}
	list.SetResourceVersion(version)
	for _, n := range nodes {
		list.Items = append(list.Items, *object(n, version))
	}
	s.nodes.Store(list)
}

func object(n *corev1.Node, version string) *unstructured.Unstructured {
	n = n.DeepCopy()
	n.APIVersion, n.Kind, n.ResourceVersion = "v1", "Node", version
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(n)
	if err != nil {
		panic(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func start(t *testing.T, s *served) (*Monitor, *Watches) {
	t.Helper()
	m := New(time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	w := m.Watch(ctx, s)
	t.Cleanup(func() { cancel(); w.Wait() })
	return m, w
}

func TestAWatchThatEndsGoesOnWhereItWas(t *testing.T) {
	s := serve("5", node())
	m, w := start(t, s)
	first := <-s.watches
	first.Modify(object(node("one"), "6"))
	first.Stop()
	second := <-s.watches
	second.Modify(object(node("two"), "7"))
	s.set("7", node("two"))
	require.NoError(t, nodesCaughtUp(t, w))
	require.Equal(t, []string{"new -> none", "none -> one:NoSchedule", "one:NoSchedule -> two:NoSchedule"}, texts(m))
	require.Empty(t, m.Violations())
}

func TestAWatchThatLostEventsIsAViolation(t *testing.T) {
	s := serve("5", node())
	m, w := start(t, s)
	lost := <-s.watches
	s.set("9", node("later"))
	expired := apierrors.NewResourceExpired("too old resource version: 5 (8)").ErrStatus
	lost.Error(&expired)
	<-s.watches
	require.NoError(t, nodesCaughtUp(t, w))
	require.Equal(t, []string{
		"new -> none", "too old resource version: 5 (8)", "none -> later:NoSchedule",
	}, texts(m))
	require.Equal(t, []string{
		`a watch lost events, which the step "start" did not announce: watch of nodes too old resource version: 5 (8)`,
	}, m.Violations())
}

func TestANodeDeletedBetweenWatchesIsReported(t *testing.T) {
	s := serve("5", node())
	m, w := start(t, s)
	lost := <-s.watches
	s.set("9")
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	lost.Error(&expired)
	<-s.watches
	require.NoError(t, nodesCaughtUp(t, w))
	require.Equal(t, []string{"new -> none", "too old", "deleted"}, texts(m))
}

func TestResourceVersionsAreNumbers(t *testing.T) {
	require.True(t, older("9", "10"))
	require.True(t, older("", "1"))
	require.True(t, older("19", "20"))
	require.False(t, older("10", "9"))
	require.False(t, older("10", "10"))
}

// nodesCaughtUp is CatchUp for the source that the test controls.
func nodesCaughtUp(t *testing.T, w *Watches) error {
	t.Helper()
	for _, s := range w.sources {
		if s.name != "nodes" {
			continue
		}
		nodes := &Watches{monitor: w.monitor, sources: []*source{s}}
		return nodes.CatchUp(t.Context())
	}
	return errors.New("no watch of nodes")
}

func texts(m *Monitor) []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var texts []string
	for _, e := range m.timeline {
		texts = append(texts, e.text)
	}
	return texts
}
