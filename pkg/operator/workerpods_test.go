package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"testing"

	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// podServer serves the Pods of one namespace like the API server: lists and watches obey the label selector. All
// other resources are empty.
type podServer struct {
	pods    []corev1.Pod
	changes chan corev1.Pod
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil || r.URL.Query().Get("sendInitialEvents") == "true" {
		http.Error(w, "no such list", http.StatusBadRequest)
		return
	}
	isPods := r.URL.Path == "/api/v1/namespaces/"+operatorclient.TargetNamespace+"/pods"
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r, isPods, selector)
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	if isPods {
		list.Items = slices.DeleteFunc(slices.Clone(s.pods), func(p corev1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) })
	}
	_ = json.NewEncoder(w).Encode(list)
}

// watch sends the changes of Pods that match the selector until the client disconnects.
func (s *podServer) watch(w http.ResponseWriter, r *http.Request, isPods bool, selector labels.Selector) {
	flusher := w.(http.Flusher)
	flusher.Flush()
	changes := s.changes
	if !isPods {
		changes = nil
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case pod := <-changes:
			if selector.Matches(labels.Set(pod.Labels)) {
				raw, _ := json.Marshal(pod)
				_ = json.NewEncoder(w).Encode(map[string]any{"type": watch.Modified, "object": json.RawMessage(raw)})
				flusher.Flush()
			}
		}
	}
}

// startTarget starts the operand namespace's Pod informer with the given pods.
func startTarget(tb testing.TB, pods []corev1.Pod) (informerSet, *podServer) {
	tb.Helper()
	handler := &podServer{pods: pods, changes: make(chan corev1.Pod)}
	server := httptest.NewServer(handler)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	tb.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
	})
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(tb, err)
	set := newInformerSet(kube, configfake.NewClientset())
	pod := set.target.Core().V1().Pods().Informer()
	tb.Cleanup(set.target.Shutdown)
	tb.Cleanup(cancel)
	set.target.Start(ctx.Done())
	require.True(tb, cache.WaitForCacheSync(ctx.Done(), pod.HasSynced))
	return set, handler
}

// workerPods returns pods of the cloud-node-manager of the same size as on Azure.
func workerPods(count int) []corev1.Pod {
	pods := make([]corev1.Pod, 0, count)
	for i := range count {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: operatorclient.TargetNamespace, Name: fmt.Sprintf("azure-cloud-node-manager-%d", i), ResourceVersion: "1",
				Labels: operand.NodeManagerLabels(), Annotations: map[string]string{"x": fmt.Sprintf("%01000d", i)},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("worker-%d", i), Containers: []corev1.Container{{
				Name: "cloud-node-manager", Image: "registry.example.com/x", Env: []corev1.EnvVar{{Name: "NO_PROXY", Value: fmt.Sprintf("%02000d", i)}},
			}}},
		})
	}
	return pods
}

func staticPod(name string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: operatorclient.TargetNamespace, Name: name, ResourceVersion: "1", Labels: map[string]string{"app": operand.Name},
	}}
}

// The Pod informer of the operand's namespace wakes every static-pod controller.
func TestAWorkersPodDoesNotWakeTheStaticPodControllers(t *testing.T) {
	workers := workerPods(3)
	set, server := startTarget(t, append(workers, staticPod("cloud-controller-manager-master-0")))
	woken := make(chan string, 10)
	controller := factory.New().
		WithInformersQueueKeyFunc(func(obj runtime.Object) string { return obj.(metav1.Object).GetName() }, set.target.Core().V1().Pods().Informer()).
		WithSync(func(_ context.Context, syncCtx factory.SyncContext) error {
			woken <- syncCtx.QueueKey()
			return nil
		}).
		ToController("static-pods", events.NewInMemoryRecorder("test", clock.RealClock{}))
	go controller.Run(t.Context(), 1)
	require.Equal(t, "cloud-controller-manager-master-0", <-woken)

	for _, worker := range workers {
		worker.ResourceVersion = "2"
		server.changes <- worker
	}
	// The watch keeps the order, so this event comes after the workers' events.
	mirror := staticPod("cloud-controller-manager-master-0")
	mirror.ResourceVersion = "3"
	server.changes <- mirror
	require.Equal(t, "cloud-controller-manager-master-0", <-woken)
	select {
	case name := <-woken:
		require.Fail(t, "woken by "+name)
	default:
	}
	pods, err := set.target.Core().V1().Pods().Lister().List(labels.Everything())
	require.NoError(t, err)
	require.Len(t, pods, 1)
}

// BenchmarkWorkerPods reports the Pod informer's content in a cluster with the given number of workers.
func BenchmarkWorkerPods(b *testing.B) {
	for _, workers := range []int{0, 5000} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			pods := append(workerPods(workers), staticPod("a"), staticPod("b"), staticPod("c"))
			for b.Loop() {
				before := heap()
				set, _ := startTarget(b, pods)
				b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
				b.ReportMetric(float64(len(set.target.Core().V1().Pods().Informer().GetStore().List())), "cached-pods")
			}
		})
	}
}

// heap returns the size of the live heap in bytes.
func heap() int64 {
	goruntime.GC()
	goruntime.GC()
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
