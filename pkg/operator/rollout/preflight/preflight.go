package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	name = "Preflight"

	// Condition reports a preflight that did not succeed. The ClusterOperator does not aggregate its suffix.
	Condition = "PreflightNotices"

	// lookInterval is how often a preflight is looked at: only its log shows that it has looked up the nodes.
	lookInterval = time.Second

	// quietPeriod is how long a preflight may last before the condition says what it waits for.
	quietPeriod = time.Minute
)

type controller struct {
	dependencies.Deps
	leases        coordinationinformers.LeaseInformer
	controllersOf func(ctx context.Context, pod *corev1.Pod) ([]string, error)
	mask          func(text string) (string, error)

	// lasts has the time since which a candidate, by its digest, has had no verdict.
	lasts patience.Since[string]
	// What this process remembers, beside the record, of a preflight's pod, a rollout's first node, and a proof.
	podMemory
	firstNodeMemory
	memory proofMemory
}

// New returns the controller. Timers requeue only while it watches a preflight or a rollout. leases watches the lease
// of preflights, controllersOf returns the controllers that the cloud-controller-manager of a static pod has started,
// and mask removes the values of Secrets from a text.
func New(
	d dependencies.Deps, leases coordinationinformers.LeaseInformer,
	controllersOf func(ctx context.Context, pod *corev1.Pod) ([]string, error), mask func(text string) (string, error),
) factory.Controller {
	dependencies.Require(d, leases, controllersOf, mask)
	c := &controller{Deps: d, leases: leases, controllersOf: controllersOf, mask: mask}
	target := d.Target.Core().V1()
	f := factory.New().
		WithFilteredEventsInformers(isOfPreflight, target.Secrets().Informer(), target.Pods().Informer(), leases.Informer()).
		WithBareInformers(target.ConfigMaps().Informer(), d.Infrastructures.Informer())
	return reconciler.From(f, name, d.Operator, d.Recorder, c.sync)
}

// isOfPreflight selects the objects of preflights by name, and the static pods, which change only in a rollout.
func isOfPreflight(obj any) bool {
	if pod, isPod := obj.(*corev1.Pod); isPod && controlplane.IsOperand(pod) {
		return true
	}
	object, ok := obj.(metav1.Object)
	return !ok || slices.Contains([]string{operand.PreflightName, operand.PreflightPod}, object.GetName())
}

// state is what one sync reads.
type state struct {
	*controller
	syncCtx factory.SyncContext
	// acceptance has the values that an administrator has accepted, see operatorclient.IsAccepted.
	acceptance string
	view       controlplane.View
	objects    operand.Objects
	record     *trial.Record
	pod        *corev1.Pod
	lease      *coordinationv1.Lease
}

func (c *controller) observe(syncCtx factory.SyncContext) (s *state, err error) {
	s = &state{controller: c, syncCtx: syncCtx}
	if s.view, err = c.View(); err != nil {
		return nil, err
	}
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return nil, err
	}
	s.acceptance = meta.Annotations[operatorclient.PreflightAnnotation]
	if s.objects, err = c.Objects(); err != nil {
		return nil, err
	}
	s.record = trial.Of(s.objects.Secret(operand.PreflightName))
	if s.pod, err = c.Pod(operand.PreflightPod); err != nil {
		return nil, err
	}
	s.lease, err = operatorclient.Find(c.leases.Lister().Leases(operand.Namespace), "lease", operand.Namespace,
		operand.PreflightName)
	return s, err
}

func (s *state) after(d time.Duration) { s.syncCtx.Queue().AddAfter(s.syncCtx.QueueKey(), d) }

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	if managed, _, err := observedplatform.Managed(c.Operator); err != nil || !managed {
		return err // A removal deletes everything.
	}
	s, err := c.observe(syncCtx)
	if err != nil {
		return err
	}
	if err := s.watchFirstNode(ctx); err != nil {
		return err
	}
	if err := s.prove(ctx); err != nil {
		return err
	}
	if !s.record.Runs() {
		c.lasts = patience.Since[string]{}
		return s.endConcluded(ctx)
	}
	return s.try(ctx)
}

// try lets the preflight of the candidate go on, and reports what it waits for until it has a verdict.
func (s *state) try(ctx context.Context) error {
	verdict, waitsFor, err := s.run(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w%s", err, s.whatHappens(s.record.Inputs, ""))
	case verdict != nil:
		verdict.Tries = 1
		return s.conclude(ctx, verdict.After(s.record.Verdict))
	}
	s.after(lookInterval)
	if s.record.Verdict != nil {
		return nil // it is repeated, and the former verdict is reported meanwhile
	}
	return s.report(ctx, nil, waitsFor)
}

// conclude writes the verdict. The next sync ends the preflight.
func (s *state) conclude(ctx context.Context, verdict *trial.Verdict) error {
	s.record.Conclude(verdict)
	if err := s.record.Save(ctx, s.Kube.CoreV1()); err != nil {
		return err
	}
	if verdict.Result == trial.Successful {
		s.Recorder.Event("PreflightSuccessful", verdict.Describe())
	} else {
		s.Recorder.Warning(reasons[verdict.Result], verdict.Describe())
	}
	return nil
}

// endConcluded ends the preflight of a candidate with a verdict, which counts until the change has been seen to work.
func (s *state) endConcluded(ctx context.Context) error {
	if err := s.recordLeaderRejected(ctx); err != nil {
		return err
	}
	verdict := s.record.Verdict
	switch {
	case verdict == nil, verdict.Result == trial.Successful:
		return s.end(ctx, nil)
	case verdict.Revision != 0:
		return s.end(ctx, verdict) // The former revision works.
	}
	if former := s.rejectedLate(); former != 0 {
		verdict.Late = true
		_, err := s.rejectRevision(ctx, former, verdict)
		return err
	}
	if s.worksSince(verdict.Ended.Time) {
		s.record = trial.Of(nil)
		return s.end(ctx, nil)
	}
	s.after(controlplane.SettleTime)
	return s.end(ctx, verdict)
}

// worksSince reports whether every node has the latest revision with the candidate's changes, and a process that
// acquired the lease since then has settled. That has the change, because an installation ends the process of its node.
func (s *state) worksSince(verdict time.Time) bool {
	latest := s.view.Status().LatestAvailableRevision
	isBehind := func(n operatorv1.NodeStatus) bool { return n.CurrentRevision != latest }
	return s.view.Holder().State == controlplane.Leading && s.view.Record().HeldSince.After(verdict) &&
		!slices.ContainsFunc(s.view.Status().NodeStatuses, isBehind) &&
		s.objects.StartDigests(latest).Matches(s.record.Inputs)
}

// end deletes what a preflight leaves, and reports its verdict, if any, and what waits.
func (s *state) end(ctx context.Context, verdict *trial.Verdict) error {
	remove := s.deletePod
	if s.pod == nil {
		remove = s.deleteLease
	}
	if err := remove(ctx); err != nil {
		return err
	}
	if s.pod != nil && s.pod.DeletionTimestamp != nil {
		s.after(max(lookInterval, s.podEnding.At().Add(endTimeout).Sub(s.view.Now())))
	}
	return s.report(ctx, verdict, "")
}
