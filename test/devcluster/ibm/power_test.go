package ibm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

const (
	workspace = "6b3c1a52-7f0e-4d5a-9c1b-2e8f4a6d0c37"
	power     = "https://eu-de.power-iaas.cloud.ibm.com/pcloud/v1/cloud-instances/"
	crn       = "crn:v1:bluemix:public:power-iaas:eu-de-1:a/" + account + ":" + workspace + "::"
)

// ask asks the workspace with a valid token, and reads the answer.
func (c cloud) ask(t *testing.T, address, crn string, into any) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	require.NoError(t, c.authenticator("").Authenticate(request))
	request.Header.Set("CRN", crn)
	status, content := standintest.Do(t, c.client, request)
	require.NoError(t, json.Unmarshal(content, into))
	return status
}

// pvm is what the cloud-controller-manager reads of a virtual machine.
type pvm struct {
	ID       string `json:"pvmInstanceID"`
	Name     string `json:"serverName"`
	Status   string `json:"status"`
	Networks []struct{ NetworkName, Type, MacAddress, IPAddress string }
}

func (c cloud) pvms(t *testing.T) []pvm {
	t.Helper()
	var found struct{ PvmInstances []pvm }
	require.Equal(t, http.StatusOK, c.ask(t, power+workspace+"/pvm-instances", crn, &found))
	return found.PvmInstances
}

func TestAMachineOfAWorkspaceHasTheAddressOfItsLease(t *testing.T) {
	c := startWith(t, ibm.Options{Power: true})
	all := c.pvms(t)
	require.Len(t, all, 2)
	require.Equal(t, "ibmpowervs://eu-de/eu-de-1/"+workspace+"/"+all[1].ID, c.ProviderID("b"))
	require.Equal(t, "eu-de-1", c.Zone("b"))
	var one pvm
	require.Equal(t, http.StatusOK, c.ask(t, power+workspace+"/pvm-instances/"+all[1].ID, crn, &one))
	require.Equal(t, all[1], one)
	require.Equal(t, "b", one.Name)
	require.Len(t, one.Networks, 1)
	network := one.Networks[0]
	require.Equal(t, []string{"dynamic", ""}, []string{network.Type, network.IPAddress})

	var servers []struct {
		ID      string
		Network struct{ Name string }
	}
	require.Equal(t, http.StatusOK, c.ask(t, power+workspace+"/services/dhcp", crn, &servers))
	require.Len(t, servers, 1)
	require.Equal(t, network.NetworkName, servers[0].Network.Name)
	var server struct {
		Leases []struct{ InstanceIP, InstanceMacAddress string }
	}
	require.Equal(t, http.StatusOK, c.ask(t, power+workspace+"/services/dhcp/"+servers[0].ID, crn, &server))
	leased := map[string]string{}
	for _, lease := range server.Leases {
		leased[lease.InstanceMacAddress] = lease.InstanceIP
	}
	require.Equal(t, "10.0.0.2", leased[network.MacAddress])
}

func TestAMachineOfAWorkspaceStopsAndCanBeDenied(t *testing.T) {
	c := startWith(t, ibm.Options{Power: true})
	require.Equal(t, "ACTIVE", c.pvms(t)[0].Status)
	require.NoError(t, c.StopInstance("a"))
	stopped := c.pvms(t)[0]
	require.Equal(t, "SHUTOFF", stopped.Status)
	require.NoError(t, c.DenyInstances(true))
	require.Empty(t, c.pvms(t))
	var refused any
	require.Equal(t, http.StatusNotFound, c.ask(t, power+workspace+"/pvm-instances/"+stopped.ID, crn, &refused))
}

func TestARequestNamesTheWorkspace(t *testing.T) {
	c := startWith(t, ibm.Options{Power: true})
	var refused struct{ Errors []struct{ Message string } }
	require.Equal(t, http.StatusBadRequest, c.ask(t, power+workspace+"/pvm-instances", strings.Replace(crn, account, "x", 1),
		&refused))
	require.Equal(t, "The header CRN does not name the workspace.", refused.Errors[0].Message)
	require.Equal(t, http.StatusNotFound, c.ask(t, power+"other/pvm-instances", crn, &refused))
	require.Zero(t, c.Requests()[standin.Unserved])
}

func TestWithoutAWorkspaceItsEndpointsAreNotServed(t *testing.T) {
	c := start(t)
	var refused any
	require.Equal(t, http.StatusNotImplemented, c.ask(t, power+workspace+"/pvm-instances", crn, &refused))
	require.Equal(t, 1, c.Requests()[standin.Unserved])
}

func TestAWorkspaceHasAnEndpointOfTheAdministratorToo(t *testing.T) {
	c := startWith(t, ibm.Options{Power: true})
	status := configv1.PlatformStatus{PowerVS: &configv1.PowerVSPlatformStatus{}}
	c.Redirect(&status)
	endpoints := status.PowerVS.ServiceEndpoints
	require.Equal(t, "Power", endpoints[len(endpoints)-1].Name)
	var found any
	require.Equal(t, http.StatusOK, c.ask(t, endpoints[len(endpoints)-1].URL+"/pcloud/v1/cloud-instances/"+workspace+
		"/pvm-instances", crn, &found))
	require.Equal(t, 1, c.AskedCustom())
}

func TestTheInstallationNamesTheWorkspace(t *testing.T) {
	c := startWith(t, ibm.Options{Power: true})
	installed := c.Installation()
	require.Equal(t, "eu-de-1", installed.Status.PowerVS.Zone)
	require.Nil(t, installed.Status.IBMCloud)
	require.Contains(t, installed.CloudConfig["config"], "\npowerVSCloudInstanceID = "+workspace+"\n")
}
