// Package versions reports the versions of the release payload once every operand runs them. The
// cluster-version-operator continues an upgrade when it reads them in the ClusterOperator.
//
// A revision has no version of its own: an upgrade that changes nothing on a node creates no revision. The live
// candidate records the version that rendered it last, outside the data that revisions copy and compare. A node is at
// that version when the digests of its current revision and of the candidate are equal.
package versions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// ProgressingCondition is True while no revision has the changes of this release, which no other condition reports.
const ProgressingCondition = "VersionsProgressing"

const name = "Versions"

const (
	operatorVersion = "operator"
	operatorImage   = "operator-image"
)

// Release has the versions in the release payload, and the operator's pull specification.
type Release struct{ OperatorVersion, OperandVersion, OperatorImage string }

type controller struct {
	dependencies.Deps
	Release
	daemonSets appsinformers.DaemonSetInformer
	versions   status.VersionGetter
	heldBy     []string
	rendered   string
	publish    map[string]string
}

// New returns the controller that publishes all versions at once: on an unmanaged platform as soon as the platform is
// known, on others when every control-plane node runs what this operator version rendered and the cloud-node-manager
// has rolled out. It never withdraws a version; during a rollout the ClusterOperator keeps the previous one.
//
// The DaemonSet of the cloud-node-manager is watched on platforms that have one. The versions are shared with the
// ClusterOperator's status controller. heldBy are the conditions that explain why a release is not rendered, in order.
func New(
	d dependencies.Deps, daemonSets appsinformers.DaemonSetInformer, versions status.VersionGetter, release Release,
	heldBy []string,
) factory.Controller {
	dependencies.Require(d, daemonSets, versions, release, heldBy)
	c := &controller{
		Deps: d, Release: release, daemonSets: daemonSets, versions: versions, heldBy: heldBy,
		rendered: operand.RenderedBy(release.OperatorVersion, release.OperatorImage),
		publish: map[string]string{
			operatorVersion: release.OperatorVersion, operatorImage: release.OperatorImage,
			operand.Name: release.OperandVersion,
		},
	}
	return reconciler.New(name, d.Operator, d.Recorder, c.sync, d.Target.Core().V1().ConfigMaps().Informer(),
		d.Target.Apps().V1().Deployments().Informer(), ondemand.Informer{SharedIndexInformer: daemonSets.Informer()})
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known {
		return err
	}
	_, operatorStatus, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return err
	}
	err = c.reached(observed, operatorStatus)
	var pending *pendingError
	if errors.As(err, &pending) {
		klog.V(4).InfoS("Not reporting the versions yet", "reason", pending)
		return c.report(ctx, operatorStatus, pending.notBegun)
	}
	if err != nil {
		return err
	}
	if err := c.report(ctx, operatorStatus, false); err != nil {
		return err
	}
	current := c.versions.GetVersions()
	for of, version := range c.publish {
		// Every call wakes the status controller, even without a change.
		if current[of] != version {
			klog.V(2).InfoS("Reporting a version", "of", of, "version", version)
			c.versions.SetVersion(of, version)
		}
	}
	return nil
}

func (c *controller) report(
	ctx context.Context, operatorStatus *operatorv1.StaticPodOperatorStatus, notBegun bool,
) error {
	if !notBegun {
		return operatorclient.ApplyConditions(ctx, c.Operator, name, operatorclient.AsExpected(ProgressingCondition))
	}
	var causes []string
	for _, held := range c.heldBy {
		found := v1helpers.FindOperatorCondition(operatorStatus.Conditions, held)
		if found != nil && found.Status == operatorv1.ConditionTrue {
			causes = append(causes, held+": "+found.Message)
		}
	}
	message := fmt.Sprintf("release %s has not begun to roll out", c.OperatorVersion)
	if len(causes) > 0 {
		message += ", and what ran before stays in use:\n" + strings.Join(causes, "\n")
	} else {
		message += "; if this lasts for minutes, read the operator's log"
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.NewCondition(ProgressingCondition, operatorv1.ConditionTrue, "RolloutNotBegun", message))
}

// pendingError is what has not reached the payload's version.
type pendingError struct {
	text string
	// notBegun reports whether no revision has the changes of this release.
	notBegun bool
}

func (e *pendingError) Error() string { return e.text }

func pendingf(format string, args ...any) error {
	return &pendingError{text: fmt.Sprintf(format, args...)}
}

func (c *controller) reached(observed platform.Platform, operatorStatus *operatorv1.StaticPodOperatorStatus) error {
	if !observed.Managed() {
		return c.removedReached(operatorStatus)
	}
	if err := c.nodesReached(operatorStatus); err != nil || observed.NodeManagerImage == "" {
		return err
	}
	daemonSets := c.daemonSets.Lister().DaemonSets(operand.Namespace)
	daemonSet, err := operatorclient.Find(daemonSets, "daemonset", operand.Namespace, operand.NodeManager)
	if err != nil {
		return err
	}
	if daemonSet == nil {
		// The DaemonSet may exist while its informer has not started; an event follows.
		return pendingf("daemonset/%s in %s is not in the cache", operand.NodeManager, operand.Namespace)
	}
	return c.rolloutReached(daemonSet)
}

// removedReached waits while the predecessor runs beside a removed operand: later manifests delete what it needs.
func (c *controller) removedReached(operatorStatus *operatorv1.StaticPodOperatorStatus) error {
	if observedplatform.RemovalOf(&operatorStatus.OperatorStatus) == "" {
		return nil
	}
	deployments, err := predecessor.Deployments(c.Target.Apps().V1().Deployments().Lister())
	if err != nil || len(deployments) == 0 {
		return err
	}
	return pendingf("deployment/%s of the predecessor exists", deployments[0].Name)
}

func (c *controller) nodesReached(operatorStatus *operatorv1.StaticPodOperatorStatus) error {
	if predecessor.Remains(operatorStatus.Conditions) {
		// The manifests after the ClusterOperator delete what the predecessor needs while it runs.
		return pendingf("the predecessor still runs")
	}
	candidate, err := c.ConfigMap(operand.PodConfigMap)
	if err != nil {
		return err
	}
	if candidate == nil {
		return pendingf("there is no candidate")
	}
	if by := candidate.Annotations[operand.RenderedByAnnotation]; by != c.rendered {
		return &pendingError{fmt.Sprintf("configmap/%s was rendered by %q", candidate.Name, by), true}
	}
	if len(operatorStatus.NodeStatuses) == 0 {
		return pendingf("no control-plane node is known")
	}
	for _, node := range operatorStatus.NodeStatuses {
		has, err := c.copyIn(node.CurrentRevision)
		if err != nil {
			return err
		}
		if has == nil || operand.DigestOf(has) != operand.DigestOf(candidate) {
			return c.notReached(&node, operatorStatus.LatestAvailableRevision, candidate)
		}
	}
	return nil
}

// notReached returns what is pending on a node. During an upgrade, that may be the candidate's revision.
func (c *controller) notReached(node *operatorv1.NodeStatus, latest int32, candidate *corev1.ConfigMap) error {
	pending := &pendingError{text: fmt.Sprintf("node/%s is at revision %d, which is not the live candidate",
		node.NodeName, node.CurrentRevision)}
	if c.versions.GetVersions()[operatorVersion] == c.OperatorVersion {
		return pending
	}
	last, err := c.copyIn(latest)
	if err != nil {
		return err
	}
	// A former process of this release may have published the versions: then only its revision tells.
	pending.notBegun = last == nil ||
		operand.DigestOf(last) != operand.DigestOf(candidate) && last.Annotations[operand.RenderedByAnnotation] != c.rendered
	return pending
}

// copyIn returns a revision's copy of the pod, nil if there is none.
func (c *controller) copyIn(revision int32) (*corev1.ConfigMap, error) {
	return c.ConfigMap(fmt.Sprintf("%s-%d", operand.PodConfigMap, revision))
}

// rolloutReached tolerates as many nodes without an updated and available pod as maxUnavailable, but never all: one
// broken worker must not block an upgrade. A pod that is neither counts twice, so the check is stricter.
func (c *controller) rolloutReached(daemonSet *appsv1.DaemonSet) error {
	if by := daemonSet.Annotations[operand.RenderedByAnnotation]; by != c.rendered {
		return pendingf("daemonset/%s was rendered by %q", daemonSet.Name, by)
	}
	if daemonSet.Status.ObservedGeneration < daemonSet.Generation {
		return pendingf("daemonset/%s has changed", daemonSet.Name)
	}
	desired := int(daemonSet.Status.DesiredNumberScheduled)
	allowed := 0
	if rolling := daemonSet.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		var err error
		// Rounded up, as the DaemonSet controller does.
		maxUnavailable := ptr.Deref(rolling.MaxUnavailable, intstr.FromInt32(1))
		allowed, err = intstr.GetScaledValueFromIntOrPercent(&maxUnavailable, desired, true)
		if err != nil {
			return fmt.Errorf("reading maxUnavailable of daemonset/%s in %s: %w", daemonSet.Name, daemonSet.Namespace, err)
		}
	}
	allowed = max(0, min(allowed, desired-1))
	outdated := desired - int(daemonSet.Status.UpdatedNumberScheduled)
	unavailable := desired - int(daemonSet.Status.NumberAvailable)
	if outdated+unavailable > allowed {
		return pendingf("daemonset/%s: of %d pods %d are not updated and %d are not available",
			daemonSet.Name, desired, outdated, unavailable)
	}
	return nil
}
