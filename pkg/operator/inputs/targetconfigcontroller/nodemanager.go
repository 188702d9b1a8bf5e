package targetconfigcontroller

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/resource/resourcemerge"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// generationManager owns only the generation of the cloud-node-manager in the status.
const generationManager = "TargetConfigController-NodeManager"

// applyNodeManager writes the configuration, and the DaemonSet if its specification or generation differs.
func (c *controller) applyNodeManager(
	ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus,
	resources *operand.Resources,
) error {
	required := resources.NodeManager
	if required == nil {
		return nil
	}
	if secret := resources.NodeManagerConfig; secret != nil {
		if err := c.applySecret(ctx, recorder, secret); err != nil {
			return err
		}
	}
	expected := resourcemerge.ExpectedDaemonSetGeneration(required, status.Generations)
	live := c.Kube.AppsV1().DaemonSets(required.Namespace)
	seen := c.NodeManagers.Lister().DaemonSets(required.Namespace)
	client := cachedDaemonSets{live, operatorclient.Cached(seen.Get, live.Get)}
	recreate, err := deleteForeignSelector(ctx, client, recorder, required)
	if err != nil {
		return err
	}
	if recreate {
		client.get = live.Get // The cache still has the deleted DaemonSet.
	}
	actual, _, err := resourceapply.ApplyDaemonSet(ctx, client, recorder, required, expected)
	if err != nil {
		return fmt.Errorf("applying daemonset/%s in %s: %w", required.Name, required.Namespace, err)
	}
	generation := applyoperatorv1.GenerationStatus().WithGroup(appsv1.GroupName).WithResource("daemonsets").
		WithNamespace(actual.Namespace).WithName(actual.Name).WithLastGeneration(actual.Generation)
	err = c.Operator.ApplyStaticPodOperatorStatus(
		ctx, generationManager, applyoperatorv1.StaticPodOperatorStatus().WithGenerations(generation))
	if err != nil {
		return fmt.Errorf("writing the generation of daemonset/%s to cloudcontrollermanager/cluster: %w",
			actual.Name, err)
	}
	return nil
}

// deleteForeignSelector deletes a DaemonSet with another selector, which is immutable, and reports whether it did.
// Since 4.11 the predecessor's selector equals ours, so such a DaemonSet is from 4.10 or was created manually. All
// its pods are deleted at once: our selector does not match them, so the new DaemonSet could not adopt them. An
// initialized node works without the cloud-node-manager for a minute.
func deleteForeignSelector(
	ctx context.Context, client appsv1client.DaemonSetInterface, recorder events.Recorder, required *appsv1.DaemonSet,
) (bool, error) {
	existing, err := client.Get(ctx, required.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading daemonset/%s in %s: %w", required.Name, required.Namespace, err)
	}
	if equality.Semantic.DeepEqual(existing.Spec.Selector, required.Spec.Selector) {
		return false, nil
	}
	err = client.Delete(ctx, required.Name, metav1.DeleteOptions{
		Preconditions:     metav1.NewUIDPreconditions(string(existing.UID)),
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("deleting daemonset/%s in %s, whose selector is %s: %w",
			required.Name, required.Namespace, metav1.FormatLabelSelector(existing.Spec.Selector), err)
	}
	recorder.Eventf("NodeManagerRecreated",
		"deleted daemonset/%s in %s to create it again: its selector %s is immutable and must be %s",
		required.Name, required.Namespace,
		metav1.FormatLabelSelector(existing.Spec.Selector), metav1.FormatLabelSelector(required.Spec.Selector))
	return true, nil
}

// cachedDaemonSets reads a missing object from the API, because the informer may not be running.
type cachedDaemonSets struct {
	appsv1client.DaemonSetInterface
	get operatorclient.GetFunc[*appsv1.DaemonSet]
}

func (d cachedDaemonSets) DaemonSets(string) appsv1client.DaemonSetInterface { return d }

func (d cachedDaemonSets) Get(ctx context.Context, name string, options metav1.GetOptions) (*appsv1.DaemonSet, error) {
	return d.get(ctx, name, options)
}
