package operator

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// startTarget starts the operand namespace's Pod informer, whose first list has what the server has.
func startTarget(tb testing.TB, server *apitest.Server) informerSet {
	tb.Helper()
	kube, err := kubernetes.NewForConfig(server.Config)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	set := newInformerSet(kube, nil)
	pod := set.target.Core().V1().Pods().Informer()
	tb.Cleanup(set.target.Shutdown)
	tb.Cleanup(cancel)
	set.target.Start(ctx.Done())
	require.True(tb, cache.WaitForCacheSync(ctx.Done(), pod.HasSynced))
	return set
}

// workerPods returns pods of the cloud-node-manager of the same size as on Azure.
func workerPods(count int) []runtime.Object {
	pods := make([]runtime.Object, 0, count)
	for i := range count {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: operand.Namespace, Name: fmt.Sprintf("azure-cloud-node-manager-%d", i),
				Labels: operand.NodeManagerLabels(), Annotations: map[string]string{"x": fmt.Sprintf("%01000d", i)},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("worker-%d", i), Containers: []corev1.Container{{
				Name: "cloud-node-manager", Image: "registry.example.com/x", Env: []corev1.EnvVar{{Name: "NO_PROXY", Value: fmt.Sprintf("%02000d", i)}},
			}}},
		})
	}
	return pods
}

func staticPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: operand.Namespace, Name: name, Labels: map[string]string{"app": operand.Name},
	}}
}

// The Pod informer of the operand's namespace wakes every static-pod controller.
func TestAWorkersPodDoesNotWakeTheStaticPodControllers(t *testing.T) {
	workers := workerPods(3)
	server := apitest.Start(t)
	server.Set(t, append(workers, staticPod("cloud-controller-manager-master-0"))...)
	set := startTarget(t, server)
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

	// The watch keeps the order, so the last event comes after the workers' events.
	for _, worker := range workers {
		worker.(*corev1.Pod).Annotations = map[string]string{"x": "changed"}
	}
	changed := staticPod("cloud-controller-manager-master-0")
	changed.Annotations = map[string]string{"x": "changed"}
	server.Set(t, append(workers, changed)...)
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
			server := apitest.Start(b)
			server.Set(b, append(workerPods(workers), staticPod("a"), staticPod("b"), staticPod("c"))...)
			for b.Loop() {
				before := heap()
				set := startTarget(b, server)
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
