package nodeinitialization

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

// providedNodeIP is set by a kubelet that was started with --node-ip (k8s.io/cloud-provider/api).
const providedNodeIP = "alpha.kubernetes.io/provided-node-ip"

const (
	// listPage is the page size of a list if the API server does not support streaming lists.
	listPage = 100

	// watchTimeout is long because every renewed watch is a request. HTTP/2 pings detect a dead connection.
	watchTimeout = time.Hour
)

// store records since when each uninitialized node has been waiting, and which of the others are wrong. It stores no
// other nodes, because a cluster may have thousands. It implements cache.ReflectorStore.
type store struct {
	clock clock.PassiveClock
	// changed is called after the set of waiting or wrong nodes has changed.
	changed func()

	lock    sync.Mutex
	synced  bool
	waiting map[string]wait
	wrong   map[string]drift
}

// drift is a node that does not wait and is wrong, since this process of the operator has seen that.
type drift struct {
	nodecause.Drift
	since time.Time
}

// wait is a node that waits.
type wait struct {
	since   time.Time
	machine nodecause.Machine
}

var _ cache.ReflectorStore = &store{}

// newReflector returns the reflector that fills s with the cluster's nodes.
func newReflector(nodes corev1client.NodeInterface, s *store) *cache.Reflector {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			// The watch cache ignores a limit at resource version 0.
			options.ResourceVersion, options.ResourceVersionMatch = "", ""
			list, err := nodes.List(ctx, options)
			if err != nil {
				return nil, err
			}
			list.Items = relevantOnly(list.Items)
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := nodes.Watch(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, dropIrrelevant), nil
		},
	}
	listWatcher := cache.ToListWatcherWithWatchListSemantics(source, nodes)
	reflector := cache.NewReflectorWithOptions(listWatcher, &corev1.Node{}, s,
		cache.ReflectorOptions{Name: "uninitialized-nodes", MinWatchTimeout: watchTimeout})
	reflector.WatchListPageSize = listPage
	return reflector
}

func relevantOnly(nodes []corev1.Node) []corev1.Node {
	var kept []corev1.Node
	for i := range nodes {
		if isRelevant(&nodes[i]) {
			kept = append(kept, *stripped(&nodes[i]))
		}
	}
	return kept
}

func isRelevant(node *corev1.Node) bool {
	return controlplane.IsUninitialized(node) || nodecause.DriftOf(node) != nodecause.Drift{}
}

// dropIrrelevant drops initialized nodes while the API server streams the initial list. It keeps every later change,
// because that may be the end of a node's initialization.
func dropIrrelevant(event watch.Event) (watch.Event, bool) {
	node, ok := event.Object.(*corev1.Node)
	if !ok || event.Type == watch.Bookmark {
		return event, true
	}
	if event.Type == watch.Added && !isRelevant(node) {
		return event, false
	}
	event.Object = stripped(node)
	return event, true
}

// stripped returns the fields of a node that the store reads.
func stripped(node *corev1.Node) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              node.Name,
			ResourceVersion:   node.ResourceVersion,
			CreationTimestamp: node.CreationTimestamp,
			Annotations:       nodeIP(node),
		},
		Spec: corev1.NodeSpec{Taints: node.Spec.Taints, ProviderID: node.Spec.ProviderID},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{SystemUUID: node.Status.NodeInfo.SystemUUID},
			Conditions: controlplane.ReadyConditions(node),
		},
	}
}

// nodeIP returns the annotation with the address that the kubelet was started with, nil if there is none.
func nodeIP(node *corev1.Node) map[string]string {
	if ip, found := node.Annotations[providedNodeIP]; found {
		return map[string]string{providedNodeIP: ip}
	}
	return nil
}

func machineOf(node *corev1.Node) nodecause.Machine {
	return nodecause.Machine{
		ProviderID: node.Spec.ProviderID,
		SystemUUID: node.Status.NodeInfo.SystemUUID,
		NodeIP:     node.Annotations[providedNodeIP],
	}
}

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore. A node that gets the taint during the watch waits from now on, regardless
// of its age.
func (s *store) Update(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return nil
	}
	s.lock.Lock()
	changed := s.set(node, s.clock.Now())
	s.lock.Unlock()
	if changed {
		s.changed()
	}
	return nil
}

// set stores what is relevant of a node, and reports whether that changed. since is when a new wait began.
func (s *store) set(node *corev1.Node, since time.Time) bool {
	w, waited := s.waiting[node.Name]
	d, wasWrong := s.wrong[node.Name]
	delete(s.waiting, node.Name)
	delete(s.wrong, node.Name)
	found := nodecause.DriftOf(node)
	switch {
	case controlplane.IsUninitialized(node):
		if !waited {
			w.since = since
		}
		s.waiting[node.Name] = wait{w.since, machineOf(node)}
		return !waited
	case found != nodecause.Drift{}:
		isNew := !wasWrong || d.Drift != found
		if isNew {
			d = drift{found, s.clock.Now()}
		}
		s.wrong[node.Name] = d
		return isNew
	default:
		return waited || wasWrong
	}
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return nil
	}
	return s.Update(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}})
}

// Replace implements cache.ReflectorStore. A node in the first list has waited since its creation: the kubelet
// registers a node with the taint. A restart of the operator therefore does not reset the time.
func (s *store) Replace(objs []any, _ string) error {
	s.lock.Lock()
	listed := map[string]bool{}
	for _, obj := range objs {
		node, ok := obj.(*corev1.Node)
		if !ok {
			continue
		}
		listed[node.Name] = true
		since := node.CreationTimestamp.Time
		if s.synced {
			since = s.clock.Now()
		}
		s.set(node, since)
	}
	maps.DeleteFunc(s.waiting, func(node string, _ wait) bool { return !listed[node] })
	maps.DeleteFunc(s.wrong, func(node string, _ drift) bool { return !listed[node] })
	s.synced = true
	s.lock.Unlock()
	s.changed()
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (s *store) Resync() error { return nil }

// snapshot returns the waiting and the wrong nodes, and whether the first list is complete.
func (s *store) snapshot() (waiting map[string]wait, wrong map[string]drift, synced bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return maps.Clone(s.waiting), maps.Clone(s.wrong), s.synced
}
