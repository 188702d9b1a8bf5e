package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// operands watches the static pods' mirror pods, so that it sees every change.
type operands struct {
	mutex sync.Mutex
	pods  map[string]*corev1.Pod
	// samples are the changes of the number of Ready pods since the last call of sample.
	samples []sample
}

type sample struct {
	at    time.Time
	nodes []string
}

func watchOperands(t *testing.T, client kubernetes.Interface) *operands {
	t.Helper()
	o := &operands{pods: map[string]*corev1.Pod{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(targetNamespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "app=" + operand }))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { o.observe(object, true) },
		UpdateFunc: func(_, object any) { o.observe(object, true) },
		DeleteFunc: func(object any) { o.observe(object, false) },
	})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	return o
}

func (o *operands) observe(object any, exists bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	delete(o.pods, pod.Name)
	if exists {
		o.pods[pod.Name] = pod
	}
	ready := o.ready()
	if n := len(o.samples); n == 0 || !slices.Equal(o.samples[n-1].nodes, ready) {
		o.samples = append(o.samples, sample{time.Now(), ready})
	}
}

func (o *operands) ready() []string {
	var nodes []string
	for _, pod := range o.pods {
		if isReady(pod) && pod.DeletionTimestamp == nil {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// sample drops all changes except for the current state.
func (o *operands) sample() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.samples = []sample{{time.Now(), o.ready()}}
}

// serving returns how long fewer than count pods were Ready since sample, how many were at least, and the changes.
func (o *operands) serving(count int) (fewer time.Duration, fewest int, history string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	fewest = nodes
	var b strings.Builder
	for i, s := range o.samples {
		until := time.Now()
		if i+1 < len(o.samples) {
			until = o.samples[i+1].at
		}
		if len(s.nodes) < count {
			fewer += until.Sub(s.at)
		}
		fewest = min(fewest, len(s.nodes))
		fmt.Fprintf(&b, "%s Ready: %v\n", s.at.Format(time.TimeOnly), s.nodes)
	}
	return fewer, fewest, b.String()
}

// requireServing requires of a rollout since sample that all cloud-controller-managers but one were Ready. While the
// lead moves to the first node, the process there and the former leader start at the same time.
func (o *operands) requireServing(t *testing.T) {
	t.Helper()
	fewer, fewest, history := o.serving(nodes - 1)
	require.GreaterOrEqual(t, fewest, nodes-2, history)
	require.LessOrEqual(t, fewer, moveLimit, history)
}

// allReady returns nil when there is one Ready pod on each of the nodes, each of the revision.
func (o *operands) allReady(revision int32, nodes int) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if ready := o.ready(); len(ready) != nodes || len(slices.Compact(ready)) != nodes {
		return fmt.Errorf("Ready pods are on %v", ready)
	}
	for _, name := range slices.Sorted(maps.Keys(o.pods)) {
		if has := o.pods[name].Labels["revision"]; has != strconv.Itoa(int(revision)) {
			return fmt.Errorf("%s is of revision %s, not %d", name, has, revision)
		}
	}
	return nil
}

// containers returns the IDs of all running containers by pod and container name. A restart changes the ID.
func (o *operands) containers() map[string]string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	ids := map[string]string{}
	for _, pod := range o.pods {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Running != nil {
				ids[pod.Name+"/"+c.Name] = c.ContainerID
			}
		}
	}
	return ids
}

// reached returns the number of nodes with a pod of the revision, Ready or not.
func (o *operands) reached(revision int32) int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	count := 0
	for _, pod := range o.pods {
		if pod.Labels["revision"] == strconv.Itoa(int(revision)) {
			count++
		}
	}
	return count
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
