package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
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

	// Condition reports a preflight that did not succeed. Its name has none of the suffixes that the ClusterOperator
	// aggregates.
	Condition = "PreflightNotices"

	// lookInterval is how often a preflight is looked at: only its log tells that it has looked up the nodes.
	lookInterval = time.Second

	// endTime is how long a kubelet may take to end a pod, whose grace period is 5 seconds.
	endTime = 30 * time.Second

	// quietTime is how long a preflight may last before the condition says what it waits for.
	quietTime = time.Minute
)

// revisionFailed is the reason of the condition and the event about a revision that fails on its first node.
const revisionFailed = "RevisionFailed"

// reasons are those of the condition and of events about a preflight.
var reasons = map[trial.Result]string{
	trial.Failed: "PreflightFailed", trial.Inconclusive: "PreflightInconclusive",
}

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// Secrets, ConfigMaps, Pods and Leases watch the operand's namespace, Nodes the control-plane Nodes.
	Secrets    corev1informers.SecretInformer
	ConfigMaps corev1informers.ConfigMapInformer
	Pods       corev1informers.PodInformer
	Leases     coordinationinformers.LeaseInformer
	Nodes      corev1informers.NodeInformer
	// Lease is that of the operand, whose duration depends on the topology, which Infrastructures has.
	Lease           *controlplane.Lease
	Infrastructures configinformers.InfrastructureInformer
	// Kube writes Secrets, creates and deletes pods, deletes the lease of preflights, and reads logs.
	Kube kubernetes.Interface
	// Started returns the controllers that the cloud-controller-manager of a static pod has started.
	Started func(ctx context.Context, pod *corev1.Pod) ([]string, error)
	// Mask removes the values of Secrets from a text.
	Mask     func(text string) (string, error)
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	Options
	// seen, started and led are the pod that was seen, the one whose container ran, and the one that led, by their UIDs.
	// ending is the one that is being deleted, and forced the one that was deleted without its kubelet.
	seen, started, led, ending patience.Since[string]
	forced                     types.UID
	// lasts is the digest of the candidate without a verdict.
	lasts patience.Since[string]
	// unready is the pod on the first node of a rollout that is not Ready, by its UID, and running its container that
	// runs, by its ID. mute is the one whose log was empty, and asked is when logs were read because of it.
	unready, running, mute patience.Since[string]
	asked                  time.Time
	// ready is its container that is Ready, by its ID, and forgiven are the ends of it that do not count.
	ready    patience.Since[string]
	forgiven ends
	// leading is about the proof of a revision.
	leading leading
}

// New returns the controller. An idle one reacts to events only.
func New(o Options) factory.Controller {
	dependencies.Require(o)
	c := newController(o)
	f := factory.New().
		WithFilteredEventsInformers(isOfPreflight, o.Secrets.Informer(), o.Pods.Informer(), o.Leases.Informer()).
		WithBareInformers(o.ConfigMaps.Informer(), o.Infrastructures.Informer())
	return reconciler.From(f, name, o.Operator, o.Recorder, c.sync)
}

func newController(o Options) *controller { return &controller{Options: o} }

// isOfPreflight selects the objects of preflights by their names, and the static pods, which change only in a rollout.
func isOfPreflight(obj any) bool {
	if pod, isPod := obj.(*corev1.Pod); isPod && controlplane.IsOperand(pod) {
		return true
	}
	object, ok := obj.(metav1.Object)
	return !ok || slices.Contains([]string{operand.PreflightName, operand.PreflightPod}, object.GetName())
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err // A removal deletes everything.
	}
	secret, err := operatorclient.Find(c.Secrets.Lister().Secrets(operand.Namespace), "secret", operand.Namespace,
		operand.PreflightName)
	if err != nil {
		return err
	}
	record := trial.Of(secret)
	if err := c.watchFirstNode(ctx, syncCtx, record); err != nil {
		return err
	}
	if err := c.prove(ctx, syncCtx, record); err != nil {
		return err
	}
	if !record.Runs() {
		c.lasts = patience.Since[string]{}
		return c.endWith(ctx, syncCtx, record)
	}
	verdict, waitsFor, err := c.run(ctx, record)
	if err != nil {
		return c.withCommand(err, record)
	}
	if verdict != nil {
		verdict.Tries = 1
		return c.conclude(ctx, record, verdict.After(record.Verdict))
	}
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), lookInterval)
	if record.Verdict != nil {
		return nil // it is repeated, and the former verdict is reported meanwhile
	}
	return c.report(ctx, record, nil, waitsFor)
}

// endWith ends the preflight of a candidate that has a verdict, if there is one. The verdict counts until the change has
// been seen to work.
func (c *controller) endWith(ctx context.Context, syncCtx factory.SyncContext, record *trial.Record) error {
	if err := c.watchLeader(ctx, syncCtx, record); err != nil {
		return err
	}
	verdict := record.Verdict
	if verdict == nil || verdict.Result == trial.Successful {
		return c.end(ctx, syncCtx, record, nil)
	}
	if verdict.Revision != 0 {
		return c.end(ctx, syncCtx, record, verdict) // What works is the former one.
	}
	if late, err := c.rolloutOf(record); err != nil {
		return err
	} else if late != nil {
		_, err = c.rejectRevision(ctx, record, late, verdict)
		return err
	}
	works, err := c.worksSince(record)
	if err != nil {
		return err
	}
	if works {
		return c.end(ctx, syncCtx, trial.Of(nil), nil)
	}
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), controlplane.SettleTime)
	return c.end(ctx, syncCtx, record, verdict)
}

// run moves the preflight of a candidate on, and returns its verdict or what it waits for.
func (c *controller) run(ctx context.Context, record *trial.Record) (*trial.Verdict, string, error) {
	pod, err := c.pod()
	if err != nil {
		return nil, "", err
	}
	switch {
	case pod == nil:
		return c.create(ctx, record)
	case pod.DeletionTimestamp != nil || pod.Annotations[operand.PreflightDigestAnnotation] != record.Digest:
		return nil, "the end of the former pod/" + pod.Name, c.deletePod(ctx, pod)
	case c.isUnwatched(pod):
		return c.runAgain(ctx, record, pod)
	}
	e, err := c.observe(ctx, pod)
	if err != nil {
		return nil, "", err
	}
	e.changesImage = record.Inputs[diagnostic.Image] != ""
	verdict, waitsFor := e.judge()
	if verdict != nil && verdict.Result != trial.Successful {
		verdict, err = c.compareWithLeader(ctx, record, verdict)
	}
	return verdict, waitsFor, err
}

// pod returns the pod in the cache, nil if there is none.
func (c *controller) pod() (*corev1.Pod, error) {
	return operatorclient.Find(c.Pods.Lister().Pods(operand.Namespace), "pod", operand.Namespace, operand.PreflightPod)
}

// lease returns the lease of preflights in the cache, nil if there is none.
func (c *controller) lease() (*coordinationv1.Lease, error) {
	return operatorclient.Find(c.Leases.Lister().Leases(operand.Namespace), "lease", operand.Namespace,
		operand.PreflightName)
}

// create creates the pod. A lease of a former preflight goes first: its process has ended.
func (c *controller) create(ctx context.Context, record *trial.Record) (*trial.Verdict, string, error) {
	if err := c.deleteLease(ctx); err != nil {
		return nil, "", err
	}
	node, err := c.node(record.Verdict)
	if err != nil {
		return nil, "", err
	}
	if node == "" {
		return nil, "a Ready control-plane node", nil
	}
	pod, err := operand.PreflightPodOf(record.Secret)
	if err != nil {
		return nil, "", err
	}
	pod.Spec.NodeName = node
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, operand.PreflightDigestAnnotation, record.Digest)
	// Without the Secret, there is nothing to try.
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Secret", Name: record.Secret.Name, UID: record.Secret.UID,
	}}
	if record.Again {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, operand.PreflightAgainAnnotation, "true")
	}
	created, err := c.Kube.CoreV1().Pods(operand.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil:
		c.seen.See(string(created.UID), c.Clock.Now())
	case !apierrors.IsAlreadyExists(err):
		return nil, "", fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
	}
	return nil, fmt.Sprintf("the start of pod/%s on node/%s", pod.Name, node), nil
}

// node returns the first Ready Node that is not cordoned, by name; "" if there is none. The leader's comes last, and
// that of the former verdict before it, because what failed may be its network.
func (c *controller) node(former *trial.Verdict) (string, error) {
	nodes, err := operatorclient.All(c.Nodes.Lister(), "the control-plane nodes")
	if err != nil {
		return "", err
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return controlplane.KubeletOf(node) != controlplane.KubeletReady || controlplane.IsCordoned(node)
	})
	if len(nodes) == 0 {
		return "", nil
	}
	leader := c.Lease.Record().Process.Node
	rank := func(n *corev1.Node) int {
		switch {
		case n.Name == leader:
			return 2
		case former != nil && n.Name == former.Node:
			return 1
		default:
			return 0
		}
	}
	return slices.MinFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	}).Name, nil
}

// observe returns what is known about the preflight.
func (c *controller) observe(ctx context.Context, pod *corev1.Pod) (*evidence, error) {
	now, uid := c.Clock.Now(), string(pod.UID)
	e := &evidence{now: now, pod: pod, since: c.seen.See(uid, now)}
	state := controlplane.ContainerStatus(pod, operand.Name).State
	if state.Running == nil && state.Terminated == nil {
		return e, nil
	}
	lease, err := c.lease()
	if err != nil {
		return nil, err
	}
	if state.Running != nil {
		e.startedAt = c.started.See(uid, now)
	}
	if leads(lease, pod) {
		e.ledAt, e.held = c.led.See(uid, now), leaseholder.HeldFor(lease)
	} else if lease != nil {
		e.holder = leaseholder.Identity(lease)
	}
	text, _, unread := operandlog.Read(ctx, c.Kube.CoreV1(), pod.Name)
	if unread != nil {
		e.unread = unread.Error()
	}
	e.log, err = c.Mask(text)
	return e, err
}

// conclude writes the verdict. The next sync ends the preflight.
func (c *controller) conclude(ctx context.Context, record *trial.Record, verdict *trial.Verdict) error {
	record.Conclude(verdict)
	if err := record.Save(ctx, c.Kube.CoreV1()); err != nil {
		return err
	}
	if verdict.Result == trial.Successful {
		c.Recorder.Event("PreflightSuccessful", verdict.Describe())
	} else {
		c.Recorder.Warning(reasons[verdict.Result], verdict.Describe())
	}
	return nil
}

// end deletes what a preflight leaves, and reports its verdict, nil if there is none to report, and what waits.
func (c *controller) end(
	ctx context.Context, syncCtx factory.SyncContext, record *trial.Record, verdict *trial.Verdict,
) error {
	pod, err := c.pod()
	if err != nil {
		return err
	}
	if pod != nil {
		if err := c.deletePod(ctx, pod); err != nil {
			return err
		}
		if pod.DeletionTimestamp != nil {
			syncCtx.Queue().AddAfter(syncCtx.QueueKey(), max(lookInterval, c.ending.At().Add(endTime).Sub(c.Clock.Now())))
		}
	} else if err := c.deleteLease(ctx); err != nil {
		return err
	}
	return c.report(ctx, record, verdict, "")
}

func (c *controller) apply(ctx context.Context, conditions ...*operatorclient.Condition) error {
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditions...)
}

// deletePod deletes a pod. A kubelet that is dead never ends it, and the next preflight needs its name. Its process may
// go on there, but it only reads, and holds nothing but the lease of preflights: the next one is then inconclusive.
func (c *controller) deletePod(ctx context.Context, pod *corev1.Pod) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	isForced := pod.DeletionTimestamp != nil
	if isForced {
		now := c.Clock.Now()
		if now.Sub(c.ending.See(string(pod.UID), now)) < endTime || c.forced == pod.UID {
			return nil
		}
		options.GracePeriodSeconds = ptr.To[int64](0)
	}
	err := operatorclient.Delete(ctx, c.Kube.CoreV1().Pods(operand.Namespace).Delete, "pod", operand.Namespace, pod.Name,
		options)
	if err != nil || !isForced {
		return err
	}
	c.forced = pod.UID // It may stay, if it has a finalizer.
	c.Recorder.Warningf("PreflightPodForced", "deleted pod/%s without the kubelet of node/%s, which has not ended it "+
		"for %s; check the node", pod.Name, pod.Spec.NodeName, endTime)
	return nil
}

// deleteLease deletes the lease of preflights if it exists.
func (c *controller) deleteLease(ctx context.Context) error {
	lease, err := c.lease()
	if err != nil || lease == nil {
		return err
	}
	return operatorclient.Delete(ctx, c.Kube.CoordinationV1().Leases(operand.Namespace).Delete, "lease",
		operand.Namespace, lease.Name, metav1.DeleteOptions{})
}
