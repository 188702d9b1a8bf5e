package nodeinitialization

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/filteredwatch"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// NodeIPAnnotation is set by a kubelet that was started with --node-ip (k8s.io/cloud-provider/api).
const NodeIPAnnotation = "alpha.kubernetes.io/provided-node-ip"

// store records the waiting nodes, and what is wrong with others. It stores no other nodes, because a cluster may have
// thousands. It implements cache.ReflectorStore.
type store struct {
	clock clock.PassiveClock
	// changed is called after the set of waiting or wrong nodes has changed.
	changed func()

	lock    sync.Mutex
	synced  bool
	waiting map[string]wait
	wrong   map[string]drift
	// lost are the last times at which a Node lost an address of type InternalIP that came back, up to flaps of them.
	lost map[string][]time.Time

	// initialized is when a waiting Node was last initialized.
	initialized time.Time
}

// A Node flaps if it has lost its address flaps times within flapPeriod.
const (
	flaps      = 3
	flapPeriod = time.Hour
)

// drift is what is wrong with a node that does not wait, since when this was seen.
type drift = patience.Since[nodecause.Drift]

type wait struct {
	since   time.Time
	machine nodecause.Machine
}

var _ cache.ReflectorStore = &store{}

func newReflector(nodes corev1client.NodeInterface, s *store) *cache.Reflector {
	return filteredwatch.NewReflector(filteredwatch.Source[*corev1.Node, *corev1.NodeList]{
		Name:       "uninitialized-nodes",
		List:       nodes.List,
		Watch:      nodes.Watch,
		IsRelevant: s.isRelevant,
		Strip:      stripped,
	}, nodes, s)
}

// isRelevant reports whether the store needs a Node. It is called for every Node, so it also notes initializations.
func (s *store) isRelevant(node *corev1.Node) bool {
	s.lock.Lock()
	if _, waited := s.waiting[node.Name]; waited && !controlplane.IsUninitialized(node) && node.Spec.ProviderID != "" {
		s.initialized = s.clock.Now()
	}
	s.lock.Unlock()
	return controlplane.IsUninitialized(node) || nodecause.DriftOf(node) != nodecause.Drift{}
}

func stripped(node *corev1.Node) *corev1.Node {
	kept := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, ResourceVersion: node.ResourceVersion, CreationTimestamp: node.CreationTimestamp,
		},
		Spec: corev1.NodeSpec{Taints: node.Spec.Taints, ProviderID: node.Spec.ProviderID},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{SystemUUID: node.Status.NodeInfo.SystemUUID},
			Conditions: controlplane.ReadyConditions(node),
			Addresses:  internalIP(node),
		},
	}
	if ip, found := node.Annotations[NodeIPAnnotation]; found {
		kept.Annotations = map[string]string{NodeIPAnnotation: ip}
	}
	return kept
}

func internalIP(node *corev1.Node) []corev1.NodeAddress {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return []corev1.NodeAddress{address}
		}
	}
	return nil
}

// maxValue limits what a kubelet writes about its machine. The ID of a machine on Azure has up to 200 characters.
const maxValue = 200

// MachineOf returns what a Node says about its machine.
func MachineOf(node *corev1.Node) nodecause.Machine {
	return nodecause.Machine{
		Node:       node.Name,
		ProviderID: printable.Cut(node.Spec.ProviderID, maxValue),
		SystemUUID: printable.Cut(node.Status.NodeInfo.SystemUUID, maxValue),
		NodeIP:     printable.Cut(node.Annotations[NodeIPAnnotation], maxValue),
	}
}

func (s *store) Add(obj any) error { return s.Update(obj) }

// Update counts the wait of a node that gets the taint during the watch from now, whatever its age.
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

// set reports whether it changed the set of waiting or wrong nodes. since is when a new wait started.
func (s *store) set(node *corev1.Node, since time.Time) bool {
	w, waited := s.waiting[node.Name]
	d, wasWrong := s.wrong[node.Name]
	delete(s.waiting, node.Name)
	delete(s.wrong, node.Name)
	if d.Value().NoInternalIP && internalIP(node) != nil {
		times := append(s.lost[node.Name], d.At())
		s.lost[node.Name] = times[max(0, len(times)-flaps):]
	}
	found := nodecause.DriftOf(node)
	switch {
	case controlplane.IsUninitialized(node):
		if !waited {
			w.since = since
		}
		s.waiting[node.Name] = wait{w.since, MachineOf(node)}
		return !waited
	case found != nodecause.Drift{}:
		isNew := !wasWrong || d.Value() != found
		d.See(found, s.clock.Now())
		s.wrong[node.Name] = d
		return isNew
	default:
		return waited || wasWrong
	}
}

// flapping returns the flapping Nodes, and the time until one stops flapping, 0 for never.
func (s *store) flapping() (nodes []string, next time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for node, times := range s.lost {
		left := flapPeriod - s.clock.Since(times[0])
		if len(times) == flaps && left > 0 {
			nodes, next = append(nodes, node), patience.Sooner(next, left)
		}
	}
	return nodes, next
}

func (s *store) Delete(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return nil
	}
	s.lock.Lock()
	delete(s.lost, node.Name)
	s.lock.Unlock()
	return s.Update(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}})
}

// Replace counts the wait of a node in the first list from its creation, because the kubelet registers it with the
// taint: a restart of the operator does not reset the time. A node that is not listed may not exist any more.
func (s *store) Replace(objs []any, _ string) error {
	s.lock.Lock()
	listed := map[string]bool{}
	for _, obj := range objs {
		node, ok := obj.(*corev1.Node)
		if !ok {
			continue
		}
		listed[node.Name] = true
		since := s.clock.Now()
		if created := node.CreationTimestamp.Time; !s.synced && created.Before(since) {
			since = created
		}
		s.set(node, since)
	}
	maps.DeleteFunc(s.waiting, func(node string, _ wait) bool { return !listed[node] })
	maps.DeleteFunc(s.wrong, func(node string, _ drift) bool { return !listed[node] })
	maps.DeleteFunc(s.lost, func(node string, _ []time.Time) bool { return !listed[node] })
	s.synced = true
	s.lock.Unlock()
	s.changed()
	return nil
}

func (s *store) Resync() error { return nil }

func (s *store) hasInitialized(since time.Time) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return !s.initialized.Before(since)
}

func (s *store) snapshot() (waiting map[string]wait, wrong map[string]drift, synced bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return maps.Clone(s.waiting), maps.Clone(s.wrong), s.synced
}
