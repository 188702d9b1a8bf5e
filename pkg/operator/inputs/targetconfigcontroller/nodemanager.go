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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// generationManager owns only the generation of the cloud-node-manager in the status.
const generationManager = "TargetConfigController-NodeManager"

// applyNodeManager writes the cloud-node-manager's configuration. It then writes the DaemonSet if its specification
// differs from the rendered one, or if its generation shows that another client changed it.
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

// cachedDaemonSets reads from the cache first. The informer may not be running, so a missing object is read from the
// API.
type cachedDaemonSets struct {
	appsv1client.DaemonSetInterface
	get operatorclient.GetFunc[*appsv1.DaemonSet]
}

func (d cachedDaemonSets) DaemonSets(string) appsv1client.DaemonSetInterface { return d }

func (d cachedDaemonSets) Get(
	ctx context.Context, name string, options metav1.GetOptions,
) (*appsv1.DaemonSet, error) {
	return d.get(ctx, name, options)
}
