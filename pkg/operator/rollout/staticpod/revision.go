package staticpod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// HeldBackCondition is True while an accepted configuration cannot become a revision.
	HeldBackCondition = "RevisionHeldBackDegraded"

	// heldBackGracePeriod is how long a revision may be held back before the operator degrades. The objects of a candidate
	// are written in turn, and its tokens are requested afterwards.
	heldBackGracePeriod = time.Minute

	revisionController = "RevisionController"

	revisionStatus = "revision-status"

	// readyAnnotation marks the revision-status ConfigMap of a complete revision with the value true.
	readyAnnotation = "operator.openshift.io/revision-ready"

	instanceLabel     = "operator.openshift.io/controller-instance-name"
	revisionsInstance = "cloud-controller-manager-RevisionController"
)

// revisions copies an accepted candidate into a revision. Objects, annotations, events and status are those of
// library-go's revision controller, which decides by its caches, see
// docs/decisions/021-a-revision-controller-of-its-own.md. Here the caches only show that there is something to do.
type revisions struct {
	options
	held patience.Since[bool]
}

func newRevisionController(o options) factory.Controller {
	core := o.Target.Core().V1()
	return reconciler.New(revisionController, o.Operator, o.Recorder, (&revisions{options: o}).sync,
		core.ConfigMaps().Informer(), core.Secrets().Informer())
}

func (c *revisions) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return err
	}
	objects, err := c.Objects()
	if err != nil {
		return err
	}
	held, heldErr := heldBack(objects)
	if held != "" {
		klog.V(2).InfoS("Not creating a revision yet", "reason", held)
	}
	if heldErr == nil {
		heldErr = c.report(ctx, syncCtx, objects, held)
	}
	adopts, creates := nextRevision(status, objects, held != "" || heldErr != nil)
	switch {
	case adopts != 0:
		err = c.adopt(ctx, adopts)
	case creates != 0:
		err = c.create(ctx, syncCtx.Recorder(), objects, creates)
	}
	return errors.Join(heldErr, err)
}

// nextRevision returns, by the caches, a revision to write to the status, or else one to create, 0 for neither.
func nextRevision(
	status *operatorv1.StaticPodOperatorStatus, objects operand.Objects, isHeld bool,
) (adopts, creates int32) {
	latest := max(claimed(status), newest(objects.ConfigMaps))
	switch {
	case status.LatestAvailableRevision != latest:
		return latest, 0
	case isHeld || difference(objects, objects, latest) == "":
		return 0, 0
	}
	return 0, latest + 1
}

// claimed returns the latest revision that the status names. After a restore of etcd, a controller whose cache is
// behind may write that a node is at a revision that does not exist any more.
func claimed(status *operatorv1.StaticPodOperatorStatus) int32 {
	latest := status.LatestAvailableRevision
	for _, node := range status.NodeStatuses {
		latest = max(latest, node.CurrentRevision, node.TargetRevision)
	}
	return latest
}

func newest(configMaps []*corev1.ConfigMap) (latest int32) {
	for _, configMap := range configMaps {
		if strings.HasPrefix(configMap.Name, revisionStatus+"-") && isReady(configMap) {
			revision, _ := strconv.ParseInt(configMap.Data["revision"], 10, 32) // 0 if it is no number
			latest = max(latest, int32(revision))
		}
	}
	return latest
}

func isReady(status *corev1.ConfigMap) bool { return status.Annotations[readyAnnotation] == "true" }

func difference(candidate, copies operand.Objects, revision int32) string {
	configMaps, missing := changed(operand.ConfigMap, revision, candidate.ConfigMap, copies.ConfigMap,
		func(a, b *corev1.ConfigMap) bool { return equality.Semantic.DeepEqual(a.Data, b.Data) })
	if missing != "" {
		return missing
	}
	secrets, missing := changed(operand.Secret, revision, candidate.Secret, copies.Secret,
		func(a, b *corev1.Secret) bool { return equality.Semantic.DeepEqual(a.Data, b.Data) })
	return cmp.Or(missing, strings.Join(slices.Concat(secrets, configMaps), ","))
}

func changed[T any](
	kind operand.Kind, revision int32, candidate, copies func(name string) *T, equal func(a, b *T) bool,
) (texts []string, missing string) {
	for _, name := range operand.DeliveredBy(kind, operand.Revisioned) {
		copied := copies(copyName(name, revision))
		if copied == nil {
			return nil, fmt.Sprintf("%s %q not found", strings.ToLower(string(kind)), copyName(name, revision))
		}
		if !equal(candidate(name), copied) {
			texts = append(texts, fmt.Sprintf("required %s/%s has changed", strings.ToLower(string(kind)), name))
		}
	}
	return texts, ""
}

// adopt writes the latest revision to the status. After a restore of etcd, the cache has revisions that do not exist
// any more, until its watch notices. The validation of the resource does not let the number decrease, so it is written
// only if the revision exists, or if the live status has it: then the next revision must follow it.
func (c *revisions) adopt(ctx context.Context, revision int32) error {
	name := copyName(revisionStatus, revision)
	status, err := c.Kube.CoreV1().ConfigMaps(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading configmap/%s in %s: %w", name, operand.Namespace, err)
	}
	if err != nil || !isReady(status) {
		_, live, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
		if err != nil {
			return err
		}
		if claimed(live) < revision {
			klog.V(2).InfoS("The latest revision in the cache exists no more", "revision", revision)
			return nil
		}
	}
	return c.write(ctx, revision)
}

func (c *revisions) write(ctx context.Context, revision int32) error {
	return c.Operator.ApplyOperatorStatus(ctx, revisionsInstance, applyoperatorv1.OperatorStatus().
		WithLatestAvailableRevision(revision))
}

// create creates or completes a revision, unless only the caches are behind. Their events requeue.
func (c *revisions) create(
	ctx context.Context, recorder events.Recorder, candidate operand.Objects, revision int32,
) error {
	if isBehind, err := c.isBehind(ctx, candidate, revision-1); err != nil || isBehind {
		return err
	}
	former, err := c.copies(ctx, revision-1)
	if err != nil {
		return err
	}
	reason := difference(candidate, former, revision-1)
	if reason == "" {
		return nil
	}
	recorder.Eventf("StartingNewRevision", "new revision %d triggered by %q", revision, reason)
	status, err := c.start(ctx, revision, reason)
	if err != nil || isReady(status) {
		return err
	}
	if err := c.copy(ctx, recorder, revision, status); err != nil {
		return err
	}
	// The caches may not have the new copies yet.
	copies, err := c.copies(ctx, revision)
	if err != nil {
		return err
	}
	if mismatch := copies.CopiesMatch(revision); mismatch != nil {
		klog.V(2).InfoS("The revision is not ready yet", "revision", revision, "reason", mismatch.Error())
		return nil
	}
	return c.complete(ctx, recorder, revision, status, reason)
}

// isBehind reports whether the caches, and so perhaps the candidate, are older than the latest revision. A revision
// that a restore of etcd has lost does not exist in the API either.
func (c *revisions) isBehind(ctx context.Context, candidate operand.Objects, latest int32) (bool, error) {
	_, live, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil || claimed(live) != latest {
		return true, err
	}
	if newest(candidate.ConfigMaps) == latest {
		return false, nil
	}
	status, err := c.Kube.CoreV1().ConfigMaps(operand.Namespace).Get(ctx, copyName(revisionStatus, latest),
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && isReady(status), err
}

func (c *revisions) complete(
	ctx context.Context, recorder events.Recorder, revision int32, status *corev1.ConfigMap, reason string,
) error {
	status.Annotations = map[string]string{readyAnnotation: "true"}
	_, err := c.configMaps.ConfigMaps(operand.Namespace).Update(ctx, status, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("completing configmap/%s in %s: %w", status.Name, operand.Namespace, err)
	}
	recorder.Eventf("RevisionTriggered", "new revision %d triggered by %q", revision, reason)
	return c.write(ctx, revision)
}

// start creates the revision-status ConfigMap, or returns the existing one.
func (c *revisions) start(ctx context.Context, revision int32, reason string) (*corev1.ConfigMap, error) {
	name := copyName(revisionStatus, revision)
	created, err := c.configMaps.ConfigMaps(operand.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace, Name: name,
			Annotations: map[string]string{readyAnnotation: "false"},
			Labels:      map[string]string{instanceLabel: revisionsInstance},
		},
		Data: map[string]string{"revision": strconv.Itoa(int(revision)), "reason": reason},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return c.Kube.CoreV1().ConfigMaps(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
	case err != nil:
		return nil, fmt.Errorf("creating configmap/%s in %s: %w", name, operand.Namespace, err)
	}
	return created, nil
}

// copy copies the candidate. The copies go with the revision-status ConfigMap.
func (c *revisions) copy(
	ctx context.Context, recorder events.Recorder, revision int32, status *corev1.ConfigMap,
) error {
	labels := map[string]string{instanceLabel: revisionsInstance}
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: status.Name, UID: status.UID}}
	for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
		_, _, err := resourceapply.SyncConfigMapWithLabels(ctx, c.configMaps, recorder, operand.Namespace, name,
			operand.Namespace, copyName(name, revision), owners, labels)
		if err != nil {
			return fmt.Errorf("copying configmap/%s in %s: %w", name, operand.Namespace, err)
		}
	}
	for _, name := range operand.DeliveredBy(operand.Secret, operand.Revisioned) {
		_, _, err := resourceapply.SyncSecretWithLabels(ctx, c.secrets, recorder, operand.Namespace, name,
			operand.Namespace, copyName(name, revision), owners, labels)
		if err != nil {
			return fmt.Errorf("copying secret/%s in %s: %w", name, operand.Namespace, err)
		}
	}
	return nil
}

func (c *revisions) copies(ctx context.Context, revision int32) (o operand.Objects, err error) {
	core := c.Kube.CoreV1()
	o.ConfigMaps, err = copiesOf(ctx, operand.ConfigMap, revision, core.ConfigMaps(operand.Namespace).Get)
	if err != nil {
		return o, err
	}
	o.Secrets, err = copiesOf(ctx, operand.Secret, revision, core.Secrets(operand.Namespace).Get)
	return o, err
}

func copiesOf[T any](
	ctx context.Context, kind operand.Kind, revision int32, get operatorclient.GetFunc[*T],
) ([]*T, error) {
	var found []*T
	for _, name := range operand.DeliveredBy(kind, operand.Revisioned) {
		name = copyName(name, revision)
		object, err := get(ctx, name, metav1.GetOptions{})
		if err == nil {
			found = append(found, object)
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading %s/%s in %s: %w", strings.ToLower(string(kind)), name, operand.Namespace, err)
		}
	}
	return found, nil
}

// copyName differs from operand.NameIn for revision 0, which has no objects.
func copyName(name string, revision int32) string { return fmt.Sprintf("%s-%d", name, revision) }

// report writes the condition about a revision that is held back. targetconfigcontroller reports a missing candidate.
func (c *revisions) report(
	ctx context.Context, syncCtx factory.SyncContext, objects operand.Objects, text string,
) error {
	if objects.ConfigMap(operand.PodConfigMap) == nil {
		text = ""
	}
	now := c.Clock.Now()
	since := c.held.See(text != "", now)
	if text != "" {
		if wait := since.Add(heldBackGracePeriod).Sub(now); wait > 0 {
			reconciler.After(syncCtx, wait)
			return nil
		}
		text = "the accepted configuration is not rolled out: " + text + "; check the other Degraded conditions for the cause"
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, revisionController,
		operatorclient.Problem(HeldBackCondition, "CandidateIncomplete", text))
}
