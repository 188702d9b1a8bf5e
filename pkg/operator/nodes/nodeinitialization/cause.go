package nodeinitialization

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// logInterval is the time between two reads of the log while nodes wait.
const logInterval = 30 * time.Second

// idleGrace is how long a node controller may run without an attempt to initialize a node.
const idleGrace = 30 * time.Second

type finding struct {
	class nodecause.Class
	quote string
}

// investigation is what is known about the waiting nodes. It ends when no node waits.
type investigation struct {
	findings map[string]finding
	// readAt is when the log of leader was last read. withoutNodeController is the leader if it runs no node controller.
	readAt                        time.Time
	leader, withoutNodeController string
	// idle is the leader whose node controller has started without an attempt, since when this was seen.
	idle patience.Since[string]
	// leads is the leader, since when it was seen.
	leads patience.Since[string]
}

// investigate updates the findings. It reads the leader's log once per logInterval, and when another process leads.
func (c *controller) investigate(ctx context.Context, nodes []string) error {
	i := &c.investigation
	view, err := c.View()
	if err != nil {
		return err
	}
	leader := view.Holder()
	now := c.Clock.Now()
	switch {
	case leader.State == controlplane.Predecessor:
		*i = investigation{}
	case leader.State != controlplane.Leading && leader.State != controlplane.Starting:
		*i = investigation{findings: map[string]finding{}}
		for _, node := range nodes {
			i.findings[node] = finding{class: nodecause.Of(nodecause.Evidence{Leaderless: true})}
		}
	case leader.Identity != i.leader || now.Sub(i.readAt) >= logInterval:
		i.leads.See(leader.Identity, now)
		i.readAt, i.leader = now, leader.Identity
		return c.readFindings(ctx, leader, view.StaticPod(leader.Node), nodes)
	}
	return nil
}

// readFindings reads the leader's log. If that fails, the only news is that a process leads: the API server needs the
// address of the leader's node, which may wait too.
func (c *controller) readFindings(
	ctx context.Context, leader controlplane.Holder, pod *corev1.Pod, nodes []string,
) error {
	former := c.investigation.findings
	maps.DeleteFunc(former, func(_ string, f finding) bool {
		return f.class == nodecause.NoLeader || f.class == nodecause.NoNodeController
	})
	c.investigation.withoutNodeController = ""
	log, complete, err := operandlog.Read(ctx, c.Kube.CoreV1(), pod.Name)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The cause of uninitialized nodes is not known", "err", err)
		return nil
	}
	attempts, evidence := nodecause.Attempts(log), nodecause.Evidence{}
	// A new leader may not have looked at the nodes yet.
	if leader.State == controlplane.Leading {
		evidence.Complete = complete
		idle := ""
		if len(attempts) == 0 {
			start := c.startOf(ctx, leader, log, complete, pod.Name)
			evidence, idle = c.withoutAttempts(leader, start, complete)
			evidence.NoNodeController = evidence.NoNodeController && !c.looksAtNodes(ctx, pod)
		}
		since := c.investigation.idle.See(idle, c.Clock.Now())
		if idle != "" && c.Clock.Since(since) >= idleGrace {
			evidence.NoNodeController = true
		}
	}
	if evidence.NoNodeController {
		c.investigation.withoutNodeController = leader.Identity
	}
	masked, err := c.Mask(log) // as a whole: a value may have several lines, which an attempt joins
	if err != nil {
		return err
	}
	created := map[string]time.Time{}
	waiting, _, _ := c.store.snapshot()
	for node, w := range waiting {
		created[node] = w.since
	}
	return c.find(nodes, nodecause.PresentAttempts(masked, c.Clock.Now(), created), evidence, former)
}

// find replaces the findings by those of the attempts.
func (c *controller) find(
	nodes []string, attempts map[string]nodecause.Attempt, evidence nodecause.Evidence, former map[string]finding,
) error {
	c.investigation.findings = map[string]finding{}
	for _, node := range nodes {
		if !evidence.NoNodeController {
			evidence.Attempt = attempts[node]
		}
		found := finding{class: nodecause.Of(evidence)}
		if text := evidence.Attempt.Error; text != "" {
			masked, err := c.Mask(text)
			if err != nil {
				return err
			}
			found.quote = terminationmessage.Summary(masked)
		}
		c.investigation.findings[node] = found.after(former[node])
	}
	return nil
}

// withoutAttempts returns the evidence about a leader that has not attempted to initialize a node, and its identity if
// its node controller has started. A leader that has initialized a Node runs its node controller, whatever the log
// says: a tenant can write into a log, but cannot initialize a Node.
func (c *controller) withoutAttempts(
	leader controlplane.Holder, start nodecause.Start, complete bool,
) (evidence nodecause.Evidence, idle string) {
	// A provider may wait for its cloud before its controllers start.
	evidence.Complete = complete && (start.Started || start.Skipped)
	if c.store.hasInitialized(c.investigation.leads.At()) {
		return evidence, ""
	}
	if start.Seen && start.Started {
		idle = leader.Identity
	}
	evidence.Attempt.Error, evidence.NoNodeController = start.Why, start.Skipped
	return evidence, idle
}

// nodeController is the name of the controller that initializes nodes (k8s.io/cloud-provider/names).
const nodeController = "cloud-node-controller"

// looksAtNodes asks the leader whether its node controller runs, whatever its log has.
func (c *controller) looksAtNodes(ctx context.Context, pod *corev1.Pod) bool {
	started, err := c.Started(ctx, pod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The leader does not tell what it has started", "pod", pod.Name, "err", err)
	}
	return slices.Contains(started, nodeController)
}

// startOf returns what the log of a leader without attempts says about the start of its lead. The node controller tries
// each waiting Node when it starts, and again with each report of its kubelet. If the end of the log does not reach
// back to the start of the lead, which the lease has, only the beginning of the log counts. A rotated log has neither.
func (c *controller) startOf(
	ctx context.Context, leader controlplane.Holder, log string, complete bool, pod string,
) nodecause.Start {
	start := nodecause.StartOf(log)
	if start.Seen && nodecause.Acquires(log, leader.Acquired) || complete {
		return start
	}
	begin, err := operandlog.ReadBegin(ctx, c.Kube.CoreV1(), pod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("It is not known whether the leader looks at nodes", "err", err)
		return nodecause.Start{}
	}
	start = nodecause.StartOf(begin)
	// The leader may have tried nodes in the part that was not read.
	return nodecause.Start{Skipped: start.Skipped, Why: start.Why}
}

// after returns the finding, with the former quote if the cause is the same: request IDs, ports and durations must not
// change a condition. A node without a line in this part of the log keeps the former finding.
func (f finding) after(former finding) finding {
	isSame := f.class == former.class && former.quote != "" &&
		(f.class != nodecause.Other || terminationmessage.Alike(f.quote, former.quote))
	if f.class == nodecause.Unknown || isSame {
		return former
	}
	return f
}

func (i *investigation) byClass(nodes []string) [][]string {
	var groups [][]string
	for _, node := range nodes {
		class := i.findings[node].class
		at := slices.IndexFunc(groups, func(g []string) bool { return i.findings[g[0]].class == class })
		if at < 0 {
			groups, at = append(groups, nil), len(groups)
		}
		groups[at] = append(groups[at], node)
	}
	return groups
}

func (i *investigation) waiting(nodes []string, waiting map[string]wait) []nodecause.Waiting {
	var found []nodecause.Waiting
	for _, group := range i.byClass(nodes) {
		found = append(found, nodecause.Waiting{
			Cause: i.findings[group[0]].class, Nodes: len(group), Since: waiting[group[0]].since,
		})
	}
	return found
}

func (i *investigation) explain(group []string, waiting map[string]wait, by initializer) string {
	f := i.findings[group[0]]
	if f.class == nodecause.Unknown {
		return fmt.Sprintf("; read the log of %s, and check that the cloud has an instance with the node's name and with "+
			"the node's addresses, that its API is reachable from %s, and that the credentials may read instances and their "+
			"networks", by.log, by.place)
	}
	quote := ""
	if f.quote != "" {
		quote = fmt.Sprintf(" (%q)", f.quote)
	}
	machines := make([]nodecause.Machine, len(group))
	for i, node := range group {
		machines[i] = waiting[node].machine
	}
	cause, action := f.class.ExplainFor(f.quote, by.lookup, machines...)
	return fmt.Sprintf(": %s%s; %s", cause, quote, action)
}

// label has the time since when a node waits: a duration would change with every sync.
func (i *investigation) label(node string, w wait, by initializer) string {
	label := fmt.Sprintf("node/%s (since %s", node, w.since.UTC().Format(time.RFC3339))
	if description := i.findings[node].class.Describe(w.machine, by.lookup); description != "" {
		label += "; " + description
	}
	return label + ")"
}

const (
	eventReason = "NodeNotInitialized"

	eventSource = "cloud-controller-manager-operator"

	// eventLimit is how many Events a sync writes. The other nodes have their turn when the log is read again.
	eventLimit = 10

	eventTimeout = 10 * time.Second
)

type cause struct {
	node  string
	class nodecause.Class
}

// emitEvents writes an Event for each cause of a node that has none in this wait, even if the cause returns. A failed
// write is repeated by the next sync, and only logged because the conditions have the same text.
func (c *controller) emitEvents(ctx context.Context, nodes []string, waiting map[string]wait, by initializer) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	maps.DeleteFunc(c.reported, func(of cause, _ bool) bool { _, waits := waiting[of.node]; return !waits })
	written := 0
	for _, node := range nodes {
		now := cause{node, c.investigation.findings[node].class}
		if now.class == nodecause.Unknown || c.reported[now] || written == eventLimit {
			continue
		}
		written++
		message := fmt.Sprintf("not initialized by the %s%s", by.name, c.investigation.explain([]string{node}, waiting, by))
		if err := c.record(ctx, node, message); err != nil {
			klog.FromContext(ctx).V(2).Info("No Event about a node that waits", "node", node, "err", err)
			continue
		}
		c.reported[now] = true
	}
}

// record writes an Event like a kubelet's: kubectl describe node shows those whose object's UID is the node's name.
func (c *controller) record(ctx context.Context, node, message string) error {
	now := c.Clock.Now()
	_, err := c.Kube.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", node, now.UnixNano())},
		InvolvedObject:      corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node)},
		Source:              corev1.EventSource{Component: eventSource},
		ReportingController: eventSource,
		Type:                corev1.EventTypeWarning, Reason: eventReason, Message: operatorclient.Bounded(message), Count: 1,
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now),
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("writing an event about node/%s: %w", node, err)
	}
	return nil
}
