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
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The conditions that this package writes. Notices reports nodes that have not waited long enough to degrade the
// operator.
const (
	DegradedCondition = "NodeInitializationDegraded"
	NoticesCondition  = "NodeInitializationNotices"
)

const (
	// DefaultThreshold is how long a node may stay uninitialized. A throttling cloud API can take minutes.
	DefaultThreshold = 5 * time.Minute

	// noticeAfter is how long a node waits before it is reported. A cloud that responds initializes it within seconds.
	noticeAfter = 30 * time.Second

	name = "NodeInitializationController"
)

// Options are the dependencies of New; all but Threshold are required.
type Options struct {
	Operator v1helpers.OperatorClient
	Nodes    corev1client.NodeInterface
	Clock    clock.PassiveClock
	Recorder events.Recorder

	// Threshold is how long a node may stay uninitialized before the operator degrades, DefaultThreshold if zero.
	Threshold time.Duration
}

type controller struct {
	factory.Controller
	Options
	store *store
}

// New returns the controller that sets NodeInitializationDegraded while a node has had the uninitialized taint for
// longer than the threshold, and NodeInitializationNotices after half a minute. The time counts from the node's
// creation, or from the moment when the taint appeared. On unmanaged platforms, and while the platform is unknown, the
// controller writes no condition. It runs its own watch of Nodes and stores only the uninitialized ones.
func New(o Options) factory.Controller {
	syncCtx := factory.NewSyncContext(name, o.Recorder)
	o.Threshold = cmp.Or(o.Threshold, DefaultThreshold)
	c := &controller{Options: o, store: &store{
		clock:   o.Clock,
		waiting: map[string]time.Time{},
		changed: func() { syncCtx.Queue().Add(factory.DefaultQueueKey) },
	}}
	c.Controller = factory.New().
		WithInformers(o.Operator.Informer()).
		WithSyncContext(syncCtx).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
	return c
}

// Run watches Nodes and runs the controller until ctx ends and both have ended.
func (c *controller) Run(ctx context.Context, workers int) {
	var reflector sync.WaitGroup
	reflector.Go(func() { newReflector(c.Nodes, c.store).RunWithContext(ctx) })
	c.Controller.Run(ctx, workers)
	reflector.Wait()
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	waiting, synced := c.store.snapshot()
	if !synced {
		return nil
	}
	overdue, late, next := c.judge(waiting)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, factory.ControllerFieldManager(name, "condition"),
		condition(DegradedCondition, "NodesUninitialized", observed, overdue, waiting),
		condition(NoticesCondition, "NodesWaiting", observed, late, waiting))
}

// judge returns the nodes that have waited for the threshold and those that have waited for noticeAfter, each with the
// longest waiting first, and the time until a node becomes one of them, 0 if none will.
func (c *controller) judge(waiting map[string]time.Time) (overdue, late []string, next time.Duration) {
	now := c.Clock.Now()
	longestFirst := func(a, b string) int {
		return cmp.Or(waiting[a].Compare(waiting[b]), strings.Compare(a, b))
	}
	for _, node := range slices.SortedFunc(maps.Keys(waiting), longestFirst) {
		left := c.Threshold - now.Sub(waiting[node])
		switch soon := noticeAfter - now.Sub(waiting[node]); {
		case left <= 0:
			overdue = append(overdue, node)
			continue
		case soon <= 0:
			late = append(late, node)
		default:
			left = min(left, soon)
		}
		next = min(cmp.Or(next, left), left)
	}
	return overdue, late, next
}

// condition returns a condition that is True if nodes is not empty.
func condition(
	conditionType, reason string, p platform.Platform, nodes []string, since map[string]time.Time,
) *operatorclient.Condition {
	if len(nodes) == 0 {
		return operatorclient.AsExpected(conditionType)
	}
	var named []string
	for _, node := range nodes {
		// The message has the time instead of the duration, which would change with every sync.
		named = append(named, fmt.Sprintf("node/%s (since %s)", node, since[node].UTC().Format(time.RFC3339)))
	}
	by := initializerOf(p)
	return operatorclient.NewCondition(conditionType, operatorv1.ConditionTrue, reason, fmt.Sprintf(
		"not initialized by the %s: %s; read the log of %s, and check that the cloud has an instance with the node's "+
			"name and with the node's addresses, that its API is reachable from %s, and that the credentials may read "+
			"instances and their networks",
		by.name, diagnostic.JoinFew(named, ", ", " and %d more"), by.log, by.place))
}

// initializer describes the component that initializes nodes: its name, its log, and from where it calls the cloud's
// API.
type initializer struct{ name, log, place string }

// initializerOf returns the cloud-node-manager if the platform has one, otherwise the cloud-controller-manager.
func initializerOf(p platform.Platform) initializer {
	if p.NodeManagerImage != "" {
		log := fmt.Sprintf("the pod of daemonset/%s in %s on that node", operand.NodeManager, operand.Namespace)
		return initializer{operand.NodeManagerContainer, log, "the node"}
	}
	log := fmt.Sprintf("the pod in %s that holds the lease %s", operand.Namespace, operand.Lease)
	return initializer{operand.Name, log, "the control plane"}
}
