package removal

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/openshift/library-go/pkg/controller/factory"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// removeObjects is a step: it deletes the objects of the operand, the last ones being the rights and identities. It
// repeats that until it finds none. The namespace stays, and what the payload and other components own in it. So does
// kube-cloud-config in openshift-config-managed, which other components read.
func (c *controller) removeObjects(ctx context.Context, syncCtx factory.SyncContext) error {
	left, err := c.removePods(ctx, "", slices.Concat(appWriters, []string{appRemoval, operand.PreflightName})...)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return c.report(ctx, observedplatform.RemovingObjects, left, nil)
	}
	if err := c.endLeases(ctx); err != nil {
		return err
	}
	if err := c.remember(ctx); err != nil {
		return err
	}
	found, err := c.deleteOwn(ctx)
	if err != nil {
		return err
	}
	resources, err := c.RemoveStaticResources(ctx, c.Recorder)
	if err != nil {
		return err
	}
	if found || resources {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), verifyPeriod)
		return nil
	}
	if err := c.deleteSigner(ctx); err != nil {
		return err
	}
	if err := c.removeConditions(ctx); err != nil {
		return err
	}
	if err := c.enter(ctx, observedplatform.Removed); err != nil {
		return err
	}
	c.Recorder.Event("Removed", "Removed the cloud-controller-manager and its objects")
	return nil
}

func (c *controller) endLeases(ctx context.Context) error {
	if err := c.releaseLease(ctx); err != nil {
		return err
	}
	return c.deletePreflightLease(ctx)
}

// releaseLease frees the lease of the last leader if it has ended. The next cloud-controller-manager, of this operator
// or of another one, then need not wait until the lease expires. A lease stays if its holder is not on a node of the
// control plane, or if a pod on that node could be the holder.
func (c *controller) releaseLease(ctx context.Context) error {
	leases := c.Leases.Lister().Leases(operand.Namespace)
	lease, err := operatorclient.Find(leases, "lease", operand.Namespace, operand.Lease)
	if err != nil || lease == nil {
		return err
	}
	if ours, err := c.couldOnlyBeOurs(ctx, lease); err != nil || !ours {
		return err
	}
	err = leaseholder.Release(ctx, c.Kube.CoordinationV1(), lease)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Recorder.Eventf("LeaseReleased", "Released lease/%s in %s: the static pod of its holder %s was removed",
		operand.Lease, operand.Namespace, leaseholder.Identity(lease))
	return nil
}

func (c *controller) deletePreflightLease(ctx context.Context) error {
	leases := c.PreflightLeases.Lister().Leases(operand.Namespace)
	lease, err := operatorclient.Find(leases, "lease", operand.Namespace, operand.PreflightName)
	if err != nil || lease == nil {
		return err
	}
	return operatorclient.Delete(ctx, c.Kube.CoordinationV1().Leases(operand.Namespace).Delete, "lease",
		operand.Namespace, lease.Name, metav1.DeleteOptions{})
}

// couldOnlyBeOurs reports whether the holder was a static pod of this operator that has ended: no pod is left on its
// node, whose kubelet reports. A View cannot tell: the pod by which it knows a process of ours is gone.
func (c *controller) couldOnlyBeOurs(ctx context.Context, lease *coordinationv1.Lease) (bool, error) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return false, err
	}
	var names []string
	for _, node := range nodes {
		if controlplane.KubeletOf(node) == controlplane.KubeletReady {
			names = append(names, node.Name)
		}
	}
	node := leaseholder.Node(lease, names)
	if node == "" {
		return false, nil
	}
	others, err := c.Pods()
	if err != nil {
		return false, err
	}
	for _, pod := range others {
		if leaseholder.Short(pod.Spec.NodeName) == leaseholder.Short(node) {
			return false, nil
		}
	}
	return true, nil
}

// remember copies to the operator's resource the annotations by which the next installation is not a first one.
func (c *controller) remember(ctx context.Context) error {
	pod, err := c.ConfigMap(operand.PodConfigMap)
	if err != nil || pod == nil {
		return err
	}
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return err
	}
	kept := operand.Remembered(pod.Annotations)
	if kept == nil || maps.Equal(kept, operand.Remembered(meta.Annotations)) {
		return nil
	}
	return c.Annotate(ctx, kept)
}

// deleteOwn deletes the ConfigMaps and Secrets that the operator or its pods wrote, and reports whether there were any.
func (c *controller) deleteOwn(ctx context.Context) (found bool, err error) {
	objects, err := c.Objects()
	if err != nil {
		return false, err
	}
	var errs []error
	remove := func(kind, name string, by func(context.Context, string, metav1.DeleteOptions) error) {
		found = true
		errs = append(errs, operatorclient.Delete(ctx, by, kind, operand.Namespace, name, metav1.DeleteOptions{}))
	}
	for _, configMap := range objects.ConfigMaps {
		if operand.IsOwnConfigMap(configMap.Name) ||
			slices.Contains([]string{filesyncer.ReportConfigMap, operand.ServingCAConfigMap}, configMap.Name) {
			remove("configmap", configMap.Name, c.Kube.CoreV1().ConfigMaps(operand.Namespace).Delete)
		}
	}
	for _, secret := range objects.Secrets {
		if operand.IsOwnSecret(secret.Name) || secret.Name == operand.NodeManagerConfigSecret {
			remove("secret", secret.Name, c.Kube.CoreV1().Secrets(operand.Namespace).Delete)
		}
	}
	return found, errors.Join(errs...)
}

func (c *controller) deleteSigner(ctx context.Context) error {
	return operatorclient.Delete(ctx, c.Kube.CoreV1().Secrets(operatorclient.OperatorNamespace).Delete, "secret",
		operatorclient.OperatorNamespace, c.SignerSecret, metav1.DeleteOptions{})
}
