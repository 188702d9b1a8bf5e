// Package nodeinitialization detects nodes that stay uninitialized. Health endpoints do not suffice for that: the
// operand's process is healthy without a cloud, and it skips controllers that cannot start.
package nodeinitialization

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The conditions of this package. Notices reports nodes that have not waited long enough to degrade the operator.
const (
	DegradedCondition = "NodeInitializationDegraded"
	NoticesCondition  = "NodeInitializationNotices"
)

// Inertia reports the condition at once: its controller has waited.
var Inertia = operatorclient.Inertia{DegradedCondition: operatorclient.AtOnce}

const (
	// defaultThreshold tolerates a throttling cloud API, which can take minutes.
	defaultThreshold = 5 * time.Minute

	// noticeAfter is how long a node waits before it is reported. A cloud that responds initializes it within seconds.
	noticeAfter = 30 * time.Second

	name = "NodeInitializationController"
)

// Options are what New needs besides the Deps; all but Threshold are required.
type Options struct {
	// Started returns the controllers that the cloud-controller-manager of a static pod has started.
	Started func(ctx context.Context, pod *corev1.Pod) ([]string, error)
	// Mask removes the values of the operand's Secrets from a text.
	Mask func(string) (string, error)
	// Report gets the nodes that have waited for half a minute, by cause, in every sync.
	Report func([]nodecause.Waiting)
	// NodeController gets the leader whose node controller is not running, in every sync.
	NodeController *controlplane.NodeController
	// Threshold is how long a node may stay uninitialized before the operator degrades, defaultThreshold if zero.
	Threshold time.Duration
}

type controller struct {
	factory.Controller
	dependencies.Deps
	Options
	store         *store
	investigation investigation
	// reported are the causes that have an Event about a waiting node.
	reported map[cause]bool
}

// New returns the controller that sets NodeInitializationDegraded while a node has had the uninitialized taint for
// longer than the threshold, and NodeInitializationNotices after half a minute, or while another node has drifted from
// what a CCM and its kubelet make of it. The time counts from the node's creation, or from when the taint appeared. On
// unmanaged platforms, and while the platform is unknown, it writes no condition. It runs its own watch of Nodes, and
// stores only the waiting and the drifted ones. While nodes wait, a timer looks for the cause again.
func New(d dependencies.Deps, o Options) factory.Controller {
	dependencies.Require(d, o)
	syncCtx := factory.NewSyncContext(name, d.Recorder)
	o.Threshold = cmp.Or(o.Threshold, defaultThreshold)
	c := &controller{Deps: d, Options: o, reported: map[cause]bool{}, store: &store{
		clock:   d.Clock,
		waiting: map[string]wait{},
		wrong:   map[string]drift{},
		lost:    map[string][]time.Time{},
		changed: func() { syncCtx.Queue().Add(factory.DefaultQueueKey) },
	}}
	f := factory.New().
		// The leader matters only while a node waits, and then a timer runs.
		WithBareInformers(d.Lease, d.Target.Core().V1().Pods().Informer(), d.Infrastructures.Informer()).
		WithSyncContext(syncCtx)
	c.Controller = reconciler.From(f, name, d.Operator, d.Recorder, c.sync)
	return c
}

// Run watches Nodes and runs the controller until ctx ends and both have ended.
func (c *controller) Run(ctx context.Context, workers int) {
	var reflector sync.WaitGroup
	reflector.Go(func() { newReflector(c.Kube.CoreV1().Nodes(), c.store).RunWithContext(ctx) })
	c.Controller.Run(ctx, workers)
	reflector.Wait()
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known || !observed.Managed() {
		c.Report(nil)
		c.NodeController.See("", nil, c.Clock.Now())
		return err
	}
	waiting, wrong, synced := c.store.snapshot()
	if !synced {
		return nil
	}
	overdue, late, next := c.split(waiting)
	by := initializerOf(observed)
	nodes := slices.Concat(overdue, late)
	if len(nodes) == 0 || !by.leads {
		c.investigation = investigation{}
	} else {
		if err := c.investigate(ctx, nodes); err != nil {
			return err
		}
		next = patience.Sooner(next, logInterval)
	}
	c.Report(c.investigation.waiting(nodes, waiting))
	c.NodeController.See(c.investigation.withoutNodeController, nodes, c.Clock.Now())
	drifts, nextDrift := c.drifts(wrong)
	reconciler.After(syncCtx, patience.Sooner(next, nextDrift))
	err = operatorclient.ApplyConditions(ctx, c.Operator, name,
		c.condition(DegradedCondition, "NodesUninitialized", by, overdue, waiting),
		withDrifts(c.condition(NoticesCondition, "NodesWaiting", by, late, waiting), drifts))
	if by.leads {
		c.emitEvents(ctx, nodes, waiting, by)
	}
	return err
}

// split returns the nodes that have waited for the threshold and those that have waited for noticeAfter, each with the
// longest waiting first, and the time until another node is one of them, 0 if none will be.
func (c *controller) split(waiting map[string]wait) (overdue, late []string, next time.Duration) {
	now := c.Clock.Now()
	longestFirst := func(a, b string) int {
		return cmp.Or(waiting[a].since.Compare(waiting[b].since), strings.Compare(a, b))
	}
	for _, node := range slices.SortedFunc(maps.Keys(waiting), longestFirst) {
		left := c.Threshold - now.Sub(waiting[node].since)
		switch soon := noticeAfter - now.Sub(waiting[node].since); {
		case left <= 0:
			overdue = append(overdue, node)
			continue
		case soon <= 0:
			late = append(late, node)
		default:
			left = min(left, soon)
		}
		next = patience.Sooner(next, left)
	}
	return overdue, late, next
}

func (c *controller) condition(
	conditionType, reason string, by initializer, nodes []string, waiting map[string]wait,
) *operatorclient.Condition {
	if len(nodes) == 0 {
		return operatorclient.AsExpected(conditionType)
	}
	var causes []string
	for _, group := range c.investigation.byClass(nodes) {
		var named []string
		for _, node := range group {
			named = append(named, c.investigation.label(node, waiting[node], by))
		}
		causes = append(causes, diagnostic.Few(named)+c.investigation.explain(group, waiting, by))
	}
	return operatorclient.NewCondition(conditionType, operatorv1.ConditionTrue, reason,
		fmt.Sprintf("not initialized by the %s: %s", by.name, strings.Join(causes, "; ")))
}

// drifts returns what is wrong with nodes that do not wait, one text for each cause, and the time until another is
// reported, 0 for none. The components whose taints keep pods away may take minutes to start.
func (c *controller) drifts(wrong map[string]drift) (texts []string, next time.Duration) {
	groups := map[nodecause.Drift][]string{}
	flapping, next := c.store.flapping()
	for _, node := range flapping {
		groups[nodecause.Drift{AddressFlaps: true}] = append(groups[nodecause.Drift{AddressFlaps: true}], "node/"+node)
	}
	for node, d := range wrong {
		limit := noticeAfter
		if d.Value().Taint != "" {
			limit = c.Threshold
		}
		if left := limit - c.Clock.Since(d.At()); left > 0 {
			next = patience.Sooner(next, left)
			continue
		}
		groups[d.Value()] = append(groups[d.Value()], "node/"+node)
	}
	for cause, nodes := range groups {
		slices.Sort(nodes)
		texts = append(texts, diagnostic.Few(nodes)+": "+cause.Explain())
	}
	slices.Sort(texts)
	return texts, next
}

func withDrifts(notices *operatorclient.Condition, drifts []string) *operatorclient.Condition {
	if len(drifts) == 0 {
		return notices
	}
	reason, text := "NodesDrifted", diagnostic.JoinFew(drifts, "; ", "; and %d more")
	if ptr.Deref(notices.Status, "") == operatorv1.ConditionTrue {
		reason, text = *notices.Reason, *notices.Message+"; "+text
	}
	return operatorclient.NewCondition(NoticesCondition, operatorv1.ConditionTrue, reason, text)
}

// initializer is what initializes nodes, with its log and place. leads reports whether the leader does it for all.
type initializer struct {
	name, log, place string
	leads            bool
	lookup           platform.Lookup
}

func initializerOf(p platform.Platform) initializer {
	if p.NodeManagerImage != "" {
		log := fmt.Sprintf("the pod of daemonset/%s in %s on that node", operand.NodeManager, operand.Namespace)
		return initializer{operand.NodeManagerContainer, log, "the node", false, p.Lookup}
	}
	log := fmt.Sprintf("the pod in %s that holds the lease %s", operand.Namespace, operand.Lease)
	return initializer{operand.Name, log, "the control plane", true, p.Lookup}
}
