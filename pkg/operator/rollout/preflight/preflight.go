package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
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

	// endTimeout is how long a kubelet may take to end a pod, whose grace period is 5 seconds.
	endTimeout = 30 * time.Second

	// quietPeriod is how long a preflight may last before the condition says what it waits for.
	quietPeriod = time.Minute
)

type controller struct {
	dependencies.Deps
	leases        coordinationinformers.LeaseInformer
	controllersOf func(ctx context.Context, pod *corev1.Pod) ([]string, error)
	mask          func(text string) (string, error)

	// podSeen, containerStarted and leaseAcquired are when the pod of a UID was first seen, its container ran and it led.
	// podEnding is the pod that is being deleted, and forced the one that was deleted without its kubelet.
	podSeen, containerStarted, leaseAcquired, podEnding patience.Since[string]
	forced                                              types.UID
	// lasts has the time since which a candidate, by its digest, has had no verdict.
	lasts patience.Since[string]
	// unready is the UID of the pod on a rollout's first node while it is not Ready, running the ID of its running
	// container, and emptyLog the container whose log was empty. lastLogRead is when logs were last read because of it.
	unready, running, emptyLog patience.Since[string]
	lastLogRead                time.Time
	// ready is the ID of its Ready container, and ignored how many of the ends of that pod's container do not count.
	ready   patience.Since[string]
	ignored map[types.UID]int
	memory  memory
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
	now     time.Time
	status  *operatorv1.StaticPodOperatorStatus
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
	s.now, s.status = s.view.Now(), s.view.Status()
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
	verdict, waitsFor, err := s.run(ctx)
	if err != nil {
		return fmt.Errorf("%w%s", err, s.whatHappens(s.record.Inputs, ""))
	}
	if verdict != nil {
		verdict.Tries = 1
		return s.conclude(ctx, verdict.After(s.record.Verdict))
	}
	s.after(lookInterval)
	if s.record.Verdict != nil {
		return nil // it is repeated, and the former verdict is reported meanwhile
	}
	return s.report(ctx, nil, waitsFor)
}

// endConcluded ends the preflight of a candidate with a verdict, which counts until the change has been seen to work.
func (s *state) endConcluded(ctx context.Context) error {
	if err := s.recordRejectedLogin(ctx); err != nil {
		return err
	}
	verdict := s.record.Verdict
	if verdict == nil || verdict.Result == trial.Successful {
		return s.end(ctx, nil)
	}
	if verdict.Revision != 0 {
		return s.end(ctx, verdict) // The former revision works.
	}
	if late := s.lateRollout(); late != nil {
		_, err := s.rejectRevision(ctx, late, verdict)
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
// acquired the lease since then has settled. The leader's node rolls last, so that process has the change.
func (s *state) worksSince(verdict time.Time) bool {
	latest := s.status.LatestAvailableRevision
	isBehind := func(n operatorv1.NodeStatus) bool { return n.CurrentRevision != latest }
	return s.view.Holder().State == controlplane.Leading && s.view.Record().HeldSince.After(verdict) &&
		!slices.ContainsFunc(s.status.NodeStatuses, isBehind) && s.objects.StartDigests(latest).Matches(s.record.Inputs)
}

func (s *state) run(ctx context.Context) (*trial.Verdict, string, error) {
	switch {
	case s.pod == nil:
		return s.create(ctx)
	case s.pod.DeletionTimestamp != nil || controlplane.IsMirror(s.pod) ||
		s.pod.Annotations[operand.PreflightDigestAnnotation] != s.record.Digest:
		return nil, "the end of the former pod/" + s.pod.Name, s.deletePod(ctx)
	case s.isUnwatched():
		return s.runAgain(ctx)
	}
	e, err := s.evidence(ctx)
	if err != nil {
		return nil, "", err
	}
	verdict, waitsFor := e.judge()
	if verdict != nil && verdict.Result != trial.Successful {
		verdict = s.compareWithLeader(ctx, verdict)
	}
	return verdict, waitsFor, nil
}

// create creates the pod. It first deletes the lease of a former preflight, whose process has ended.
func (s *state) create(ctx context.Context) (*trial.Verdict, string, error) {
	if err := s.deleteLease(ctx); err != nil {
		return nil, "", err
	}
	node := s.node()
	if node == "" {
		return nil, "a Ready control-plane node that is not cordoned", nil
	}
	pod, err := operand.PreflightPodOf(s.record.Secret)
	if err != nil {
		return nil, "", err
	}
	pod.Spec.NodeName = node
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, operand.PreflightDigestAnnotation, s.record.Digest)
	if s.record.Again {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, operand.PreflightAgainAnnotation, "true")
	}
	// Without the Secret, there is nothing to try.
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Secret", Name: s.record.Secret.Name, UID: s.record.Secret.UID,
	}}
	created, err := s.Kube.CoreV1().Pods(operand.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		s.podSeen.See(string(created.UID), s.now)
	case !apierrors.IsAlreadyExists(err):
		return nil, "", fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
	}
	return nil, fmt.Sprintf("the start of pod/%s on node/%s", pod.Name, node), nil
}

// node returns the first Ready Node that is not cordoned, by name, "" if there is none. The leader's comes last, and
// that of the former verdict before it, because its network may have failed.
func (s *state) node() string {
	nodes := slices.DeleteFunc(slices.Clone(s.view.Nodes()), func(node *corev1.Node) bool {
		return controlplane.KubeletOf(node) != controlplane.KubeletReady || controlplane.IsCordoned(node)
	})
	if len(nodes) == 0 {
		return ""
	}
	leader, former := s.view.Record().Process.Node, s.record.Verdict
	rank := func(n *corev1.Node) int {
		switch {
		case n.Name == leader:
			return 2
		case former != nil && n.Name == former.Node:
			return 1
		}
		return 0
	}
	return slices.MinFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	}).Name
}

func (s *state) evidence(ctx context.Context) (*evidence, error) {
	uid := string(s.pod.UID)
	e := &evidence{
		now: s.now, pod: s.pod, since: s.podSeen.See(uid, s.now), changesImage: s.record.Inputs[diagnostic.Image] != "",
	}
	state := controlplane.ContainerStatus(s.pod).State
	if state.Running == nil && state.Terminated == nil {
		return e, nil
	}
	if state.Running != nil {
		e.startedAt = s.containerStarted.See(uid, s.now)
	}
	if leads(s.lease, s.pod) {
		e.ledAt, e.held = s.leaseAcquired.See(uid, s.now), leaseholder.HeldFor(s.lease)
	} else if s.lease != nil {
		e.holder = leaseholder.Identity(s.lease)
	}
	text, _, unread := operandlog.Read(ctx, s.Kube.CoreV1(), s.pod.Name)
	if unread != nil {
		e.unread = unread.Error()
	}
	var err error
	if state.Running != nil && s.now.Sub(e.startedAt) >= lookupTimeout {
		if e.nodes, err = s.countNodes(ctx); err != nil {
			return nil, err
		}
	}
	e.log, err = s.mask(text)
	return e, err
}

// countNodes lists one Node: the API server tells how many it did not list.
func (s *state) countNodes(ctx context.Context) (int, error) {
	list, err := s.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("counting the Nodes: %w", err)
	}
	return len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0)), nil
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
		s.after(max(lookInterval, s.podEnding.At().Add(endTimeout).Sub(s.now)))
	}
	return s.report(ctx, verdict, "")
}

// deletePod deletes the pod, without its kubelet after endTimeout: the next preflight needs the name. The process may
// continue. It only reads, and it holds the preflights' lease, which makes the next preflight inconclusive.
func (s *state) deletePod(ctx context.Context) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.pod.UID))}
	isForced := s.pod.DeletionTimestamp != nil
	if isForced {
		if s.now.Sub(s.podEnding.See(string(s.pod.UID), s.now)) < endTimeout || s.forced == s.pod.UID {
			return nil
		}
		options.GracePeriodSeconds = ptr.To[int64](0)
	}
	err := operatorclient.Delete(ctx, s.Kube.CoreV1().Pods(operand.Namespace).Delete, "pod", operand.Namespace,
		s.pod.Name, options)
	if err != nil || !isForced {
		return err
	}
	s.forced = s.pod.UID // It stays if it has a finalizer.
	s.Recorder.Warningf("PreflightPodForced", "deleted pod/%s without the kubelet of node/%s, which has not ended it "+
		"for %s; check the node", s.pod.Name, s.pod.Spec.NodeName, endTimeout)
	return nil
}

func (s *state) deleteLease(ctx context.Context) error {
	if s.lease == nil {
		return nil
	}
	return operatorclient.Delete(ctx, s.Kube.CoordinationV1().Leases(operand.Namespace).Delete, "lease",
		operand.Namespace, s.lease.Name, metav1.DeleteOptions{})
}

// deadlineExceeded is the reason of a pod that its kubelet ended at spec.activeDeadlineSeconds
// (pkg/kubelet/active_deadline.go). An operator that watches the pod ends it sooner.
const deadlineExceeded = "DeadlineExceeded"

// isUnwatched reports whether the pod ended while no operator watched it: this process found it ended, or its deadline
// has passed. Such an end says nothing about the candidate, because the state of the leader and the cloud is unknown.
func (s *state) isUnwatched() bool {
	hasEnded := controlplane.HasEnded(s.pod) ||
		controlplane.ContainerStatus(s.pod).State.Terminated != nil
	if hasEnded && s.podSeen.Value() != string(s.pod.UID) {
		return true
	}
	s.podSeen.See(string(s.pod.UID), s.now)
	return hasEnded && s.pod.Status.Reason == deadlineExceeded
}

// runAgain replaces a pod that no operator watched, once: each run logs in to the cloud.
func (s *state) runAgain(ctx context.Context) (*trial.Verdict, string, error) {
	if s.pod.Annotations[operand.PreflightAgainAnnotation] != "" {
		e := &evidence{now: s.now, pod: s.pod, since: s.now}
		return e.verdict(trial.Inconclusive, notStarted, "pod/%s ended twice while no operator watched it; check the pods "+
			"of the operator", s.pod.Name), "", nil
	}
	waitsFor := "the end of pod/" + s.pod.Name + ", which no operator watched"
	if err := s.deletePod(ctx); err != nil {
		return nil, waitsFor, err
	}
	s.record.Again = true
	return nil, waitsFor, s.record.Save(ctx, s.Kube.CoreV1())
}
