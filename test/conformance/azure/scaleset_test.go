package azure

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/consts"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider/config"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
)

// The provider runs on the machine local, which therefore has the address that the metadata service sees. The others
// are known to the resource manager only.
const (
	local = "master-0"
	other = "master-1"
)

var (
	masters = []standin.Instance{
		{Name: local, Addresses: []string{"127.0.0.1"}}, {Name: other, Addresses: []string{"10.0.0.11"}},
	}
	scaleSets = map[string][]standin.Instance{
		"worker": {
			{Name: "worker000000", Addresses: []string{"10.0.0.20"}}, {Name: "worker00000a", Addresses: []string{"10.0.0.21"}},
		},
		"infra": {{Name: "infra000000", Addresses: []string{"10.0.0.30"}}},
	}
)

// scaleSetChanges are an administrator's changes for scale sets. The provider's caches are as short as they can be.
var scaleSetChanges = map[string]any{
	"vmType":                               "vmss",
	"vmssCacheTTLInSeconds":                1,
	"vmssVirtualMachinesCacheTTLInSeconds": 1,
	"nonVmssUniformNodesCacheTTLInSeconds": 1,
	"vmCacheTTLInSeconds":                  1,
}

// installScaleSets makes the stand-in have machines of their own and scale sets until the test ends, and returns their
// Nodes by name.
func installScaleSets(t *testing.T, cloud *standin.Server) map[string]*corev1.Node {
	t.Helper()
	t.Setenv("NODE_NAME", local) // instead of the host name, by which the provider knows its own Node
	unserved := cloud.Requests()[devcluster.Unserved]
	reset := func() {
		for name := range scaleSets {
			require.NoError(t, cloud.SetScaleSet(name, nil)) // so that there is one to delete
			require.NoError(t, cloud.DeleteScaleSet(name))
		}
		require.NoError(t, cloud.SetInstances(nil))
		require.NoError(t, cloud.DenyInstances(false))
	}
	t.Cleanup(func() {
		reset()
		require.Equal(t, unserved, cloud.Requests()[devcluster.Unserved])
	})
	reset()
	require.NoError(t, cloud.SetInstances(masters))
	all := slices.Clone(masters)
	for name, machines := range scaleSets {
		require.NoError(t, cloud.SetScaleSet(name, machines))
		all = append(all, machines...)
	}
	nodes := map[string]*corev1.Node{}
	for _, machine := range all {
		nodes[machine.Name] = node(cloud, machine)
	}
	return nodes
}

// startWithScaleSets starts the provider for scale sets, and waits until it knows the Nodes.
func startWithScaleSets(t *testing.T, cloud *standin.Server, nodes map[string]*corev1.Node) *provider.Cloud {
	t.Helper()
	az, _ := startProvider(t, cloud, scaleSetChanges, slices.Collect(maps.Values(nodes))...)
	require.Equal(t, consts.VMTypeVMSS, az.VMType)
	await(t, func() bool {
		names, err := az.GetNodeNames()
		return err == nil && names.Len() == len(nodes)
	}, "the provider knows the Nodes")
	return az
}

func requireExists(t *testing.T, az *provider.Cloud, node *corev1.Node, want bool) {
	t.Helper()
	exists, err := az.InstanceExists(t.Context(), node)
	require.NoError(t, err, node.Name)
	require.Equal(t, want, exists, node.Name)
}

// await waits for a condition, which may take as long as the provider's caches live.
func await(t *testing.T, holds func() bool, message string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			require.Fail(t, "it did not come to this: "+message)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// awaitGone waits until the provider does not find the machine of a Node. Like the node lifecycle controller, it asks
// whether an existing machine is shut down: only this makes the provider renew what it knows.
func awaitGone(t *testing.T, az *provider.Cloud, node *corev1.Node) {
	t.Helper()
	await(t, func() bool {
		exists, err := az.InstanceExists(t.Context(), node)
		require.NoError(t, err)
		if !exists {
			return true
		}
		_, err = az.InstanceShutdown(t.Context(), node)
		require.NoError(t, err)
		return false
	}, node.Name+" is gone")
}

func TestTheProviderKnowsTheMembersOfScaleSets(t *testing.T) {
	for name, cloud := range map[string]*standin.Server{"Azure": public, "an Azure Stack Hub": stack} {
		t.Run(name, func(t *testing.T) {
			nodes := installScaleSets(t, cloud)
			az := startWithScaleSets(t, cloud, nodes)
			for _, node := range nodes {
				requireKnown(t, az, cloud, node)
			}
		})
	}
}

// requireKnown requires that the provider knows the running machine of a Node, also before the Node has a provider ID.
func requireKnown(t *testing.T, az *provider.Cloud, cloud *standin.Server, known *corev1.Node) {
	t.Helper()
	requireExists(t, az, known, true)
	stopped, err := az.InstanceShutdown(t.Context(), known)
	require.NoError(t, err)
	require.False(t, stopped)
	fresh := known.DeepCopy()
	fresh.Spec.ProviderID = ""
	for _, asked := range []*corev1.Node{known, fresh} {
		metadata, err := az.InstanceMetadata(t.Context(), asked)
		require.NoError(t, err)
		require.ElementsMatch(t, []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: known.Name}, known.Status.Addresses[0],
		}, metadata.NodeAddresses)
		metadata.NodeAddresses = nil
		require.Equal(t, &cloudprovider.InstanceMetadata{
			ProviderID: cloud.ProviderID(known.Name), InstanceType: "Standard_D4s_v5",
			Zone: cloud.Zone(known.Name), Region: cloud.Region(),
		}, metadata)
	}
}

// The provider v1.36.5 does not see a machine of its own stop: it does not request the instance view.
func TestTheProviderSeesAMemberOfAScaleSetStop(t *testing.T) {
	nodes := installScaleSets(t, public)
	az := startWithScaleSets(t, public, nodes)
	const name = "worker00000a"
	isStopped := func() bool {
		stopped, err := az.InstanceShutdown(t.Context(), nodes[name])
		require.NoError(t, err)
		return stopped
	}
	require.False(t, isStopped())
	require.NoError(t, public.StopInstance(name))
	await(t, isStopped, name+" is stopped")
	requireExists(t, az, nodes[name], true)
	require.NoError(t, public.StartInstance(name))
	await(t, func() bool { return !isStopped() }, name+" runs")
}

func TestTheProviderNoLongerFindsWhatIsDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		remove func() error
		gone   []string
	}{
		"a member of a scale set": {
			func() error { return public.SetScaleSet("worker", scaleSets["worker"][1:]) }, []string{"worker000000"},
		},
		"the only member of a scale set": {
			func() error { return public.SetScaleSet("infra", nil) }, []string{"infra000000"},
		},
		"a scale set":          {func() error { return public.DeleteScaleSet("infra") }, []string{"infra000000"}},
		"a machine of its own": {func() error { return public.SetInstances(masters[:1]) }, []string{other}},
		// The provider knows its own machine by the metadata service.
		"all machines, by a denial": {func() error { return public.DenyInstances(true) }, []string{
			"worker000000", "worker00000a", "infra000000", other,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := installScaleSets(t, public)
			az := startWithScaleSets(t, public, nodes)
			for _, node := range nodes {
				requireExists(t, az, node, true)
			}
			require.NoError(t, test.remove())
			for _, name := range test.gone {
				awaitGone(t, az, nodes[name])
			}
			for name, node := range nodes {
				requireExists(t, az, node, !slices.Contains(test.gone, name))
			}

			restarted := startWithScaleSets(t, public, nodes)
			for _, name := range test.gone {
				if name == other {
					// The provider fails for a machine of its own that it has never seen, so the Node would stay.
					_, err := restarted.InstanceExists(t.Context(), nodes[name])
					require.ErrorContains(t, err, "failed to check the providerID "+public.ProviderID(name))
				} else {
					requireExists(t, restarted, nodes[name], false)
				}
			}
		})
	}
}

func TestTheProviderFindsTheMembersOfScaleSetsAgainAfterADenial(t *testing.T) {
	nodes := installScaleSets(t, public)
	az := startWithScaleSets(t, public, nodes)
	requireExists(t, az, nodes["worker000000"], true)
	require.NoError(t, public.DenyInstances(true))
	awaitGone(t, az, nodes["worker000000"])
	require.NoError(t, public.DenyInstances(false))
	await(t, func() bool {
		exists, err := az.InstanceExists(t.Context(), nodes["worker000000"])
		require.NoError(t, err)
		return exists
	}, "it is found")
}

const listSets = "LIST virtualMachineScaleSets"

// failures are statuses that mean nothing about a machine. The SDK does not retry them, as it does 503 for a minute.
var failures = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotImplemented}

func TestAFailureIsNoDenialOfAMember(t *testing.T) {
	nodes := installScaleSets(t, public)
	member := nodes["worker000000"]
	for _, endpoint := range []string{listSets, standin.ListMembers, "LIST virtualMachines"} {
		for _, status := range failures {
			t.Run(endpoint+" "+http.StatusText(status), func(t *testing.T) {
				az := startWithScaleSets(t, public, nodes)
				t.Cleanup(func() { require.NoError(t, public.Fail(endpoint, 0)) })
				require.NoError(t, public.Fail(endpoint, status))
				_, err := az.InstanceExists(t.Context(), member)
				require.ErrorContains(t, err, fmt.Sprint("RESPONSE ", status))
				require.NoError(t, public.Fail(endpoint, 0))
				requireExists(t, az, member, true)
			})
		}
	}
}

func TestAFailureIsNoDenialOfAMemberThatWasFound(t *testing.T) {
	nodes := installScaleSets(t, public)
	member := nodes["worker000000"]
	for _, endpoint := range []string{listSets, standin.ListMembers} {
		t.Run(endpoint, func(t *testing.T) {
			az := startWithScaleSets(t, public, nodes)
			t.Cleanup(func() { require.NoError(t, public.Fail(endpoint, 0)) })
			requireExists(t, az, member, true)
			require.NoError(t, public.Fail(endpoint, http.StatusUnauthorized))
			await(t, func() bool {
				requireExists(t, az, member, true)
				_, err := az.InstanceShutdown(t.Context(), member)
				return err != nil
			}, "the provider asks again")
			requireExists(t, az, member, true)
		})
	}
}

// The cloud-node-manager starts the provider like this on Azure, and asks it about its own Node.
func TestTheMetadataServiceSufficesForAMemberOfAScaleSet(t *testing.T) {
	installScaleSets(t, public)
	const name = "worker00000b"
	t.Setenv("NODE_NAME", name)
	require.NoError(t, public.SetInstances(nil))
	require.NoError(t, public.SetScaleSet("worker", []standin.Instance{{Name: name, Addresses: masters[0].Addresses}}))
	made, err := provider.NewCloud(t.Context(), nil, &config.Config{
		UseInstanceMetadata: true, VMType: consts.VMTypeVMSS,
	}, false)
	require.NoError(t, err)
	az, is := made.(*provider.Cloud)
	require.True(t, is)
	az.Metadata, err = provider.NewInstanceMetadataService(metadataURL)
	require.NoError(t, err)

	id, err := az.InstanceID(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, public.ProviderID(name), az.ProviderName()+"://"+id)
	addresses, err := az.NodeAddresses(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
	}, addresses)
	kind, err := az.InstanceType(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, "Standard_D4s_v5", kind)
	zone, err := az.GetZone(t.Context())
	require.NoError(t, err)
	require.Equal(t, cloudprovider.Zone{FailureDomain: public.Zone(name), Region: public.Region()}, zone)
}
