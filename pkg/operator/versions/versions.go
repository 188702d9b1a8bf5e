// Package versions reports the versions of the release payload once every operand runs them. The
// cluster-version-operator continues an upgrade when it reads them in the ClusterOperator.
//
// A revision has no version of its own: an upgrade that changes nothing on a node creates no revision. The live
// candidate records the version that rendered it last, outside the data that revisions copy and compare. A node is at
// that version when the digests of its current revision and of the candidate are equal.
package versions

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The version names that the cluster-version-operator reads: the payload's version and the operator's image.
const (
	operatorVersion = "operator"
	operatorImage   = "operator-image"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// ConfigMaps watches the operand's namespace. DaemonSets watches the cloud-node-manager on platforms that have
	// one.
	ConfigMaps coreinformers.ConfigMapInformer
	DaemonSets appsinformers.DaemonSetInformer
	// Versions is shared with the ClusterOperator's status controller.
	Versions status.VersionGetter
	// OperatorVersion and OperandVersion are the versions in the release payload. OperatorImage is this operator's
	// image.
	OperatorVersion, OperandVersion, OperatorImage string

	Recorder events.Recorder
}

type controller struct {
	operator   v1helpers.StaticPodOperatorClient
	configMaps corelisters.ConfigMapNamespaceLister
	daemonSets appslisters.DaemonSetNamespaceLister
	versions   status.VersionGetter
	rendered   string
	publish    map[string]string
}

// New returns the controller that publishes all versions at once. On an unmanaged platform it publishes them as soon
// as the platform is known. On others it waits until every control-plane node runs what this operator version
// rendered and the cloud-node-manager has rolled out. It never withdraws a version; during a rollout the
// ClusterOperator keeps the previous one.
func New(o Options) factory.Controller {
	c := &controller{
		operator:   o.Operator,
		configMaps: o.ConfigMaps.Lister().ConfigMaps(operand.Namespace),
		daemonSets: o.DaemonSets.Lister().DaemonSets(operand.Namespace),
		versions:   o.Versions,
		rendered:   operand.RenderedBy(o.OperatorVersion, o.OperatorImage),
		publish: map[string]string{
			operatorVersion: o.OperatorVersion, operatorImage: o.OperatorImage, operand.Name: o.OperandVersion,
		},
	}
	return factory.New().
		WithInformers(o.Operator.Informer(), o.ConfigMaps.Informer(), ondemand.Informer{SharedIndexInformer: o.DaemonSets.Informer()}).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController("Versions", o.Recorder)
}

func (c *controller) sync(_ context.Context, _ factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known {
		return err
	}
	pending, err := c.pending(observed)
	if err != nil {
		return err
	}
	if pending != "" {
		klog.V(4).InfoS("Not reporting the versions yet", "reason", pending)
		return nil
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

// pending returns what has not reached the payload's version, empty if nothing is pending.
func (c *controller) pending(observed platform.Platform) (string, error) {
	if !observed.Managed() {
		return "", nil
	}
	if pending, err := c.nodesPending(); err != nil || pending != "" {
		return pending, err
	}
	if observed.NodeManagerImage == "" {
		return "", nil
	}
	daemonSet, err := c.daemonSets.Get(operand.NodeManager)
	switch {
	case apierrors.IsNotFound(err):
		// The DaemonSet may exist while its informer has not started; an event follows.
		return fmt.Sprintf("daemonset/%s in %s is not in the cache", operand.NodeManager, operand.Namespace), nil
	case err != nil:
		return "", fmt.Errorf("daemonset/%s in %s: %w", operand.NodeManager, operand.Namespace, err)
	}
	return c.rolloutPending(daemonSet)
}

// nodesPending compares each control-plane node's current revision with the live candidate.
func (c *controller) nodesPending() (string, error) {
	_, operatorStatus, _, err := c.operator.GetStaticPodOperatorState()
	if err != nil {
		return "", fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	candidate, pending, err := c.digest(operand.PodConfigMap)
	if err != nil || pending != "" {
		return pending, err
	}
	if len(operatorStatus.NodeStatuses) == 0 {
		return "no control-plane node is known", nil
	}
	for _, node := range operatorStatus.NodeStatuses {
		if pending, err := c.nodePending(node, candidate); err != nil || pending != "" {
			return pending, err
		}
	}
	return "", nil
}

func (c *controller) nodePending(node operatorv1.NodeStatus, candidate string) (string, error) {
	if node.CurrentRevision == 0 {
		return fmt.Sprintf("node/%s has no revision", node.NodeName), nil
	}
	name := fmt.Sprintf("%s-%d", operand.PodConfigMap, node.CurrentRevision)
	copied, err := c.configMaps.Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("configmap/%s of node/%s does not exist", name, node.NodeName), nil
	case err != nil:
		return "", fmt.Errorf("configmap/%s in %s: %w", name, operand.Namespace, err)
	case operand.DigestOf(copied) != candidate:
		return fmt.Sprintf("node/%s is at revision %d, which is not the live candidate", node.NodeName, node.CurrentRevision), nil
	}
	return "", nil
}

// digest returns the live candidate's digest if this operator version rendered it.
func (c *controller) digest(name string) (digest, pending string, err error) {
	candidate, err := c.configMaps.Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return "", "there is no candidate", nil
	case err != nil:
		return "", "", fmt.Errorf("configmap/%s in %s: %w", name, operand.Namespace, err)
	case candidate.Annotations[operand.RenderedByAnnotation] != c.rendered:
		return "", fmt.Sprintf("configmap/%s was rendered by %q", name, candidate.Annotations[operand.RenderedByAnnotation]), nil
	}
	return operand.DigestOf(candidate), "", nil
}

// rolloutPending tolerates as many nodes without an updated and available pod as the DaemonSet's maxUnavailable, but
// never all: one broken worker must not block an upgrade. A pod that is neither updated nor available counts twice,
// so the check is stricter than maxUnavailable.
func (c *controller) rolloutPending(daemonSet *appsv1.DaemonSet) (string, error) {
	if by := daemonSet.Annotations[operand.RenderedByAnnotation]; by != c.rendered {
		return fmt.Sprintf("daemonset/%s was rendered by %q", daemonSet.Name, by), nil
	}
	if daemonSet.Status.ObservedGeneration < daemonSet.Generation {
		return fmt.Sprintf("daemonset/%s has changed", daemonSet.Name), nil
	}
	desired := int(daemonSet.Status.DesiredNumberScheduled)
	allowed := 0
	if rolling := daemonSet.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		var err error
		// Rounded up, as the DaemonSet controller does.
		allowed, err = intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(rolling.MaxUnavailable, intstr.FromInt32(1))), desired, true)
		if err != nil {
			return "", fmt.Errorf("maxUnavailable of daemonset/%s in %s: %w", daemonSet.Name, daemonSet.Namespace, err)
		}
	}
	allowed = max(0, min(allowed, desired-1))
	outdated := desired - int(daemonSet.Status.UpdatedNumberScheduled)
	unavailable := desired - int(daemonSet.Status.NumberAvailable)
	if outdated+unavailable > allowed {
		return fmt.Sprintf("daemonset/%s: of %d pods %d are not updated and %d are not available", daemonSet.Name, desired, outdated, unavailable), nil
	}
	return "", nil
}
