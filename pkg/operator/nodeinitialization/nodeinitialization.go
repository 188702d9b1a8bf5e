// Package nodeinitialization detects nodes that stay uninitialized. Health endpoints do not suffice for that: the
// operand's process is healthy without a cloud, and it skips controllers that cannot start.
package nodeinitialization

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// ConditionType is the condition that this package writes.
	ConditionType = "NodeInitializationDegraded"

	// DefaultThreshold is how long a node may stay uninitialized. A throttling cloud API can take minutes.
	DefaultThreshold = 5 * time.Minute

	name = "NodeInitializationController"

	// maxNames limits the nodes in the message.
	maxNames = 5
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
	operator  v1helpers.OperatorClient
	nodes     corev1client.NodeInterface
	store     *store
	clock     clock.PassiveClock
	threshold time.Duration
}

// New returns the controller that sets NodeInitializationDegraded while a node has had the uninitialized taint for
// longer than the threshold. The time counts from the node's creation, or from the moment when the taint appeared. On
// unmanaged platforms, and while the platform is unknown, the controller writes no condition. It runs its own watch
// of Nodes and stores only the uninitialized ones.
func New(o Options) factory.Controller {
	syncCtx := factory.NewSyncContext(name, o.Recorder)
	c := &controller{
		operator:  o.Operator,
		nodes:     o.Nodes,
		clock:     o.Clock,
		threshold: o.Threshold,
		store: &store{
			clock:   o.Clock,
			waiting: map[string]time.Time{},
			changed: func() { syncCtx.Queue().Add(factory.DefaultQueueKey) },
		},
	}
	if c.threshold == 0 {
		c.threshold = DefaultThreshold
	}
	c.Controller = factory.New().
		WithInformers(o.Operator.Informer()).
		WithSyncContext(syncCtx).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
	return c
}

// Run watches Nodes and runs the controller until ctx ends.
func (c *controller) Run(ctx context.Context, workers int) {
	go newReflector(c.nodes, c.store).RunWithContext(ctx)
	c.Controller.Run(ctx, workers)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	waiting, synced := c.store.snapshot()
	if !synced {
		return nil
	}
	overdue, next := c.judge(waiting)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	status := applyoperatorv1.OperatorStatus().WithConditions(condition(observed, overdue, waiting))
	if err := c.operator.ApplyOperatorStatus(ctx, factory.ControllerFieldManager(name, "condition"), status); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// judge returns the overdue nodes, the longest waiting first, and the time until the next node becomes overdue, 0 if
// none is waiting.
func (c *controller) judge(waiting map[string]time.Time) (overdue []string, next time.Duration) {
	now := c.clock.Now()
	for node, since := range waiting {
		left := c.threshold - now.Sub(since)
		if left <= 0 {
			overdue = append(overdue, node)
		} else {
			next = min(cmp.Or(next, left), left)
		}
	}
	slices.SortFunc(overdue, func(a, b string) int {
		if order := waiting[a].Compare(waiting[b]); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	return overdue, next
}

func condition(p platform.Platform, overdue []string, since map[string]time.Time) *applyoperatorv1.OperatorConditionApplyConfiguration {
	c := applyoperatorv1.OperatorCondition().WithType(ConditionType)
	if len(overdue) == 0 {
		return c.WithStatus(operatorv1.ConditionFalse).WithReason("AsExpected")
	}
	var named []string
	for _, node := range overdue[:min(len(overdue), maxNames)] {
		// The message has the time instead of the duration, which would change with every sync.
		named = append(named, fmt.Sprintf("node/%s (since %s)", node, since[node].UTC().Format(time.RFC3339)))
	}
	more := ""
	if rest := len(overdue) - len(named); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return c.WithStatus(operatorv1.ConditionTrue).WithReason("NodesUninitialized").WithMessage(fmt.Sprintf(
		"not initialized by the %s: %s%s; read the log of %s, and check that the cloud has an instance with the node's name, "+
			"that its API is reachable from %s, and that the credentials may read instances and their networks",
		initializerOf(p).name, strings.Join(named, ", "), more, initializerOf(p).log, initializerOf(p).place))
}

// initializer describes the component that initializes nodes: its name, its log, and from where it calls the cloud's
// API.
type initializer struct{ name, log, place string }

// initializerOf returns the cloud-node-manager if the platform has one, otherwise the cloud-controller-manager.
func initializerOf(p platform.Platform) initializer {
	if p.NodeManagerImage != "" {
		return initializer{operand.NodeManagerContainer, fmt.Sprintf("the pod of daemonset/%s in %s on that node", operand.NodeManager, operand.Namespace), "the node"}
	}
	return initializer{operand.Name, fmt.Sprintf("the pod in %s that holds the lease %s", operand.Namespace, operand.Lease), "the control plane"}
}
