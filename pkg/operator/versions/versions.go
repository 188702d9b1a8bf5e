// Package versions reports the versions of the release payload once everything in the cluster is at them. The
// cluster-version-operator goes on with an upgrade when it reads them in the ClusterOperator.
//
// A revision has no version of its own: an upgrade that changes nothing on a node makes no revision. The live candidate
// carries the version that rendered it last, outside the data that revisions copy and compare. A node is at that version
// when the digest of its current revision is the digest of that candidate.
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

// The names under which the cluster-version-operator looks for the payload's version and for the operator's image.
const (
	operatorVersion = "operator"
	operatorImage   = "operator-image"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// ConfigMaps watches the operand's namespace, DaemonSets the cloud-node-manager where the platform has one.
	ConfigMaps coreinformers.ConfigMapInformer
	DaemonSets appsinformers.DaemonSetInformer
	// Versions is shared with the ClusterOperator's status controller.
	Versions status.VersionGetter
	// OperatorVersion and OperandVersion are those of the release payload, OperatorImage is the image of this operator.
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

// New returns the controller that publishes all versions at once: where nothing runs as soon as that is known, elsewhere
// when every control-plane node runs what this version of the operator rendered, and the cloud-node-manager has rolled
// out. It never withdraws a version; while nodes change, the ClusterOperator keeps the former one.
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
		klog.V(4).InfoS("The versions are not reported yet", "reason", pending)
		return nil
	}
	current := c.versions.GetVersions()
	for of, version := range c.publish {
		// Every call wakes the status controller, also one that changes nothing.
		if current[of] != version {
			klog.V(2).InfoS("Reporting a version", "of", of, "version", version)
			c.versions.SetVersion(of, version)
		}
	}
	return nil
}

// pending returns what is not at the payload's version yet, or an empty string.
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
		// It may exist while its informer has not started. Then an event follows.
		return fmt.Sprintf("daemonset/%s in %s is not known", operand.NodeManager, operand.Namespace), nil
	case err != nil:
		return "", fmt.Errorf("daemonset/%s in %s: %w", operand.NodeManager, operand.Namespace, err)
	}
	return c.rolloutPending(daemonSet)
}

// nodesPending compares the current revision of each control-plane node with the live candidate.
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

// digest returns the digest of the live candidate if this version rendered it.
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

// rolloutPending accepts as many nodes without an updated and available pod as the DaemonSet's own maxUnavailable, but not
// all of them: one broken worker may not hold an upgrade. A pod counts twice that is neither updated nor available, so
// this never accepts more.
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
		// Rounded up, as the DaemonSet's controller does.
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
