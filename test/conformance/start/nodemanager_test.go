package start

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const nodeManagerUser = "system:serviceaccount:" + operand.Namespace + ":cloud-node-manager"

// nodeManager renders the platform's DaemonSet with the files that its pods mount.
func nodeManager(t *testing.T, name string) (*appsv1.DaemonSet, objects) {
	t.Helper()
	resources, err := operand.Render(inputs(t, name, operand.OperatorPhase()))
	require.NoError(t, err)
	require.NotNil(t, resources.NodeManager)
	mounted := objects{}
	for _, o := range resources.ConfigMaps {
		mounted["configmaps/"+o.Name] = map[string][]byte{}
		for key, value := range o.Data {
			mounted["configmaps/"+o.Name][key] = []byte(value)
		}
	}
	for _, o := range append(resources.Secrets, resources.NodeManagerConfig) {
		if o == nil {
			continue
		}
		mounted["secrets/"+o.Name] = o.Data
	}
	return resources.NodeManager, mounted
}

func TestAzuresNodeManagerInitializesItsNode(t *testing.T) {
	fresh(t)
	register(t)
	seen := auditOffset(t)
	daemonSet, mounted := nodeManager(t, "azure")
	p := newHost(t).newContainer(t, daemonSet.Spec.Template.Spec, mounted).start(t)
	p.await(t, "initialized node", initialized)
	require.Empty(t, denied(t, seen, nodeManagerUser), "the node manager's rules do not allow what it does")
	require.Contains(t, cloud.lines(), "GET "+metadataAddress+"/metadata/instance")
}

// That of Azure Stack Hub has no metadata service that tells enough; it comes to ask the resource manager.
func TestAzureStacksNodeManagerAsksTheResourceManager(t *testing.T) {
	fresh(t)
	register(t)
	seen := auditOffset(t)
	daemonSet, mounted := nodeManager(t, "azurestack")
	p := newHost(t).newContainer(t, daemonSet.Spec.Template.Spec, mounted).start(t)
	p.await(t, "login and request", func(context.Context) error {
		return cloud.seen("GET management.local.azurestack.example.com/subscriptions/66666666-7777-8888-9999-000000000000/resourceGroups/"+
			"demo-x7k2p-rg/providers/Microsoft.Compute/virtualMachines/"+nodeName, "")
	})
	require.Empty(t, denied(t, seen, nodeManagerUser), "the node manager's rules do not allow what it does")
}

func TestTheNodeManagerRefusesAFlagThatItDoesNotKnow(t *testing.T) {
	fresh(t)
	register(t)
	daemonSet, mounted := nodeManager(t, "azure")
	p := newHost(t).newContainer(t, daemonSet.Spec.Template.Spec, mounted).start(t, "--no-such-flag")
	require.Contains(t, p.awaitEnd(t), "unknown flag: --no-such-flag")
	require.Empty(t, cloud.lines())
}
