package nodedeletion

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// worker is the queue of the CCM's node controller: names of Nodes, and those that wait until they are tried again.
type worker struct {
	queue, seen []string
	spent       time.Duration
	retry       map[string]time.Time
	backOff     map[string]time.Duration
}

// cloudControllerManager initializes nodes, looks for deleted machines every five seconds, and renews the lease
// once in each retry period.
func (c *cluster) cloudControllerManager() {
	if !c.dead && c.clock.Now().Unix()%c.period == 0 {
		c.renew()
	}
	if c.fails || c.dead {
		return
	}
	c.initialize()
	for _, object := range c.nodes.List() {
		node := object.(*corev1.Node)
		key := node.Name
		if c.clock.Now().Unix()%c.pass != 0 || !c.unknown[key] || controlplane.ReadyConditions(node)[0].Status == corev1.ConditionTrue {
			continue
		}
		if !c.silent {
			c.announce(node)
		}
		permission, silent := node.Annotations[Annotation], controlplane.ReadyConditions(node)[0].Status == corev1.ConditionUnknown
		if permission == Allowed || permission == Confirmed && silent {
			require.NoError(c.t, c.nodes.Delete(node))
			c.deleted = append(c.deleted, fmt.Sprintf("%s after %s", key, c.clock.Now().Sub(start)))
		}
	}
	slices.Sort(c.deleted)
}

func waits(t corev1.Taint) bool { return t.Key == controlplane.UninitializedTaint }

// initialize looks up the machines of the Nodes with the taint, in the order of the last changes of the Nodes. What is
// not found is tried again after a back-off that doubles.
func (c *cluster) initialize() {
	var waiting []*corev1.Node
	for _, object := range c.nodes.List() {
		if node := object.(*corev1.Node); slices.ContainsFunc(node.Spec.Taints, waits) {
			waiting = append(waiting, node)
		}
	}
	slices.SortFunc(waiting, func(a, b *corev1.Node) int { return cmp.Compare(versionOf(a), versionOf(b)) })
	w := &c.worker
	var names []string
	for _, node := range waiting {
		names = append(names, node.Name)
		again := !w.retry[node.Name].IsZero() && !c.clock.Now().Before(w.retry[node.Name])
		if again || !slices.Contains(w.seen, node.Name) {
			w.queue = append(w.queue, node.Name)
			delete(w.retry, node.Name)
		}
	}
	for _, name := range w.seen {
		if !slices.Contains(names, name) {
			delete(w.backOff, name)
			delete(w.retry, name)
		}
	}
	w.seen = names
	for w.spent += time.Second; len(w.queue) > 0 && w.spent >= c.lookup; {
		name := w.queue[0]
		w.queue = w.queue[1:]
		node := c.node(name)
		if node == nil || !slices.ContainsFunc(node.Spec.Taints, waits) {
			continue
		}
		w.spent -= c.lookup
		if !c.unknown[name] || c.described[name] {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, waits)
			c.put(node)
			continue
		}
		if w.retry == nil {
			w.retry, w.backOff = map[string]time.Time{}, map[string]time.Duration{}
		}
		w.backOff[name] = max(time.Second, min(1000*time.Second, 2*w.backOff[name]))
		w.retry[name] = c.clock.Now().Add(w.backOff[name])
	}
	if len(w.queue) == 0 {
		w.spent = 0
	}
}

func versionOf(n *corev1.Node) int {
	version, _ := strconv.Atoi(n.ResourceVersion)
	return version
}

func (c *cluster) announce(node *corev1.Node) {
	event := announcementOf(node, c.clock.Now().Add(c.skew))
	if former, exists, err := c.logs.Get(event); err == nil && exists {
		event.FirstTimestamp = former.(*corev1.Event).FirstTimestamp
	}
	require.NoError(c.t, c.logs.Update(event))
}
