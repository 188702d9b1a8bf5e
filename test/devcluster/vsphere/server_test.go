package vsphere_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
)

func start(t *testing.T) *vsphere.Server {
	t.Helper()
	s, err := vsphere.Start(t.Context(), vsphere.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// login logs in as a cloud-controller-manager does, trusting the CA and with the credentials of the Secret.
func login(t *testing.T, s *vsphere.Server, ca []byte, credentials map[string][]byte) (*govmomi.Client, error) {
	t.Helper()
	address, err := soap.ParseURL(s.URL())
	require.NoError(t, err)
	transport := soap.NewClient(address, false)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ca))
	transport.DefaultTransport().TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	client, err := vim25.NewClient(t.Context(), transport)
	if err != nil {
		return nil, err
	}
	manager := session.NewManager(client)
	return &govmomi.Client{Client: client, SessionManager: manager}, manager.Login(t.Context(), user(s, credentials))
}

func user(s *vsphere.Server, credentials map[string][]byte) *url.Userinfo {
	return url.UserPassword(string(credentials[s.Host()+".username"]), string(credentials[s.Host()+".password"]))
}

func requireLogin(t *testing.T, s *vsphere.Server) *govmomi.Client {
	t.Helper()
	client, err := login(t, s, s.CABundle(), s.Credentials())
	require.NoError(t, err)
	return client
}

// findByUUID returns the virtual machine with a BIOS UUID, nil if there is none.
func findByUUID(ctx context.Context, client *vim25.Client, uuid string) (*mo.VirtualMachine, error) {
	center, err := find.NewFinder(client).Datacenter(ctx, "DC0")
	if err != nil {
		return nil, err
	}
	reference, err := object.NewSearchIndex(client).FindByUuid(ctx, center, uuid, true, nil)
	if err != nil || reference == nil {
		return nil, err
	}
	var found mo.VirtualMachine
	machine := object.NewVirtualMachine(client, reference.Reference())
	return &found, machine.Properties(ctx, machine.Reference(), []string{"guest", "summary", "runtime"}, &found)
}

func TestAVirtualMachineIsFoundByTheUUIDOfItsFirmware(t *testing.T) {
	s := start(t)
	require.NoError(t, s.SetInstances([]vsphere.Instance{{Name: "a", Addresses: []string{"10.200.0.10"}}}))
	client := requireLogin(t, s)
	found, err := findByUUID(t.Context(), client.Client, vsphere.UUID("a"))
	require.NoError(t, err)
	require.NotNil(t, found)
	require.Equal(t, "a", found.Guest.HostName)
	require.Equal(t, []string{"10.200.0.10"}, found.Guest.Net[0].IpAddress)
	require.Equal(t, types.VirtualMachinePowerStatePoweredOn, found.Summary.Runtime.PowerState)
	require.Equal(t, vsphere.UUID("a"), found.Summary.Config.Uuid)
	require.Equal(t, "vsphere://"+vsphere.UUID("a"), s.ProviderID("a"))

	// The conversion of the cloud-controller-manager, for 00112233-4455-6677-….
	system := strings.ReplaceAll(s.SystemUUID("a"), "-", "")
	swapped := system[6:8] + system[4:6] + system[2:4] + system[:2] + system[10:12] + system[8:10] + system[14:16] +
		system[12:14] + system[16:]
	require.Equal(t, strings.ReplaceAll(vsphere.UUID("a"), "-", ""), swapped)

	missing, err := findByUUID(t.Context(), client.Client, vsphere.UUID("b"))
	require.NoError(t, err)
	require.Nil(t, missing)
}

func TestVirtualMachinesComeAndGo(t *testing.T) {
	s := start(t)
	client := requireLogin(t, s)
	state := func(name string) types.VirtualMachinePowerState {
		t.Helper()
		found, err := findByUUID(t.Context(), client.Client, vsphere.UUID(name))
		require.NoError(t, err)
		if found == nil {
			return ""
		}
		return found.Runtime.PowerState
	}
	require.NoError(t, s.SetInstances([]vsphere.Instance{{Name: "a"}, {Name: "b"}}))
	require.NoError(t, s.StopInstance("a"))
	require.Equal(t, types.VirtualMachinePowerStatePoweredOff, state("a"))
	require.NoError(t, s.SetInstances([]vsphere.Instance{{Name: "a"}, {Name: "c"}}))
	require.Equal(t, types.VirtualMachinePowerStatePoweredOff, state("a"), "it stays as it is")
	require.Empty(t, state("b"))
	require.Equal(t, types.VirtualMachinePowerStatePoweredOn, state("c"))
	require.NoError(t, s.StartInstance("a"))
	require.Equal(t, types.VirtualMachinePowerStatePoweredOn, state("a"))
	require.EqualError(t, s.StopInstance("b"), `vsphere stand-in: no virtual machine "b"`)
}

func TestEachZoneIsATagOfTheClusterOfItsVirtualMachines(t *testing.T) {
	s := start(t)
	require.NoError(t, s.SetInstances([]vsphere.Instance{{Name: "a"}, {Name: "b"}, {Name: "c"}}))
	require.Equal(t, []string{"zone-a", "zone-b", "zone-c"}, []string{s.Zone("a"), s.Zone("b"), s.Zone("c")})
	client := requireLogin(t, s)
	api := rest.NewClient(client.Client)
	require.NoError(t, api.Login(t.Context(), user(s, s.Credentials())))
	manager := tags.NewManager(api)
	finder := find.NewFinder(client.Client)
	for path, want := range map[string]string{
		"/DC0": "openshift-region region-a", "/DC0/host/DC0_C1": "openshift-zone zone-b",
	} {
		element, err := finder.ManagedObjectList(t.Context(), path)
		require.NoError(t, err)
		require.Len(t, element, 1)
		attached, err := manager.GetAttachedTags(t.Context(), element[0].Object)
		require.NoError(t, err)
		require.Len(t, attached, 1)
		category, err := manager.GetCategory(t.Context(), attached[0].CategoryID)
		require.NoError(t, err)
		require.Equal(t, want, category.Name+" "+attached[0].Name)
	}
	for _, call := range s.Calls() {
		if strings.Contains(call.Endpoint, "tagging") {
			require.Equal(t, "ccm-1@vsphere.local", call.Credential, call.Endpoint)
			require.NotContains(t, call.Endpoint, "urn:")
		}
	}
}

func TestARotationEndsTheFormerUserAndItsSessions(t *testing.T) {
	s := start(t)
	former := s.Credentials()
	client := requireLogin(t, s)
	api := rest.NewClient(client.Client)
	require.NoError(t, api.Login(t.Context(), user(s, former)))
	require.Equal(t, "ccm-1@vsphere.local", s.Credential())
	require.NoError(t, s.Rotate())
	require.Equal(t, "ccm-2@vsphere.local", s.Credential())

	rotated := len(s.Calls())
	_, err := login(t, s, s.CABundle(), former)
	require.True(t, soap.IsSoapFault(err), "%v", err)
	require.IsType(t, types.InvalidLogin{}, soap.ToSoapFault(err).VimFault())
	active, err := client.SessionManager.UserSession(t.Context())
	require.NoError(t, err)
	require.Nil(t, active)
	_, err = findByUUID(t.Context(), client.Client, vsphere.UUID("a"))
	require.Error(t, err)
	_, err = tags.NewManager(api).ListCategories(t.Context())
	require.ErrorContains(t, err, "401")
	require.Error(t, api.Login(t.Context(), user(s, former)))
	rejected := map[string]bool{}
	for _, call := range s.Calls()[rotated:] {
		if call.Credential == "ccm-1@vsphere.local" {
			require.GreaterOrEqual(t, call.Status, http.StatusBadRequest, "%+v", call)
			rejected[call.Endpoint] = true
		}
	}
	for _, endpoint := range []string{vsphere.Login, vsphere.RESTSession, "RetrievePropertiesEx"} {
		require.True(t, rejected[endpoint], "%s: %v", endpoint, rejected)
	}
	_, err = findByUUID(t.Context(), requireLogin(t, s).Client, vsphere.UUID("a"))
	require.NoError(t, err)
	calls := s.Calls()
	require.Equal(t, "ccm-2@vsphere.local", calls[len(calls)-1].Credential)
}

func TestAVCenterFails(t *testing.T) {
	s := start(t)
	client := requireLogin(t, s)
	require.NoError(t, s.Fail(vsphere.Login, http.StatusServiceUnavailable))
	_, err := login(t, s, s.CABundle(), s.Credentials())
	require.ErrorContains(t, err, "503 Service Unavailable")
	_, err = findByUUID(t.Context(), client.Client, vsphere.UUID("a"))
	require.NoError(t, err)
	require.NoError(t, s.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	_, err = findByUUID(t.Context(), client.Client, vsphere.UUID("a"))
	require.ErrorContains(t, err, "503 Service Unavailable")
}

func TestAVCenterRejectsAUserWithItsOwnFaults(t *testing.T) {
	s := start(t)
	client := requireLogin(t, s)
	require.NoError(t, s.Fail(vsphere.FindByUUID, http.StatusForbidden))
	_, err := findByUUID(t.Context(), client.Client, vsphere.UUID("a"))
	require.EqualError(t, err, "ServerFaultCode: Permission to perform this operation was denied.")
	require.NoError(t, s.Fail(vsphere.FindByUUID, http.StatusUnauthorized))
	_, err = findByUUID(t.Context(), client.Client, vsphere.UUID("a"))
	require.EqualError(t, err, "ServerFaultCode: The session is not authenticated.")
	require.NoError(t, s.Fail(vsphere.Login, http.StatusUnauthorized))
	_, err = login(t, s, s.CABundle(), s.Credentials())
	require.EqualError(t, err, "ServerFaultCode: Cannot complete login due to an incorrect user name or password.")
}

func TestTheGuestOfASecondVirtualMachineMayHaveTheName(t *testing.T) {
	s := start(t)
	require.NoError(t, s.SetInstances([]vsphere.Instance{{Name: "a", Addresses: []string{"10.200.0.10"}}}))
	client := requireLogin(t, s)
	named := func() int {
		center, err := find.NewFinder(client.Client).Datacenter(t.Context(), "DC0")
		require.NoError(t, err)
		found, err := object.NewSearchIndex(client.Client).FindAllByDnsName(t.Context(), center, "a", true)
		require.NoError(t, err)
		return len(found)
	}
	require.Equal(t, 1, named())
	require.NoError(t, s.Duplicate("a", true))
	require.Equal(t, 2, named())
	require.NoError(t, s.Duplicate("a", false))
	require.Equal(t, 1, named())
}

func TestAClientWithoutTheCAIsNotServed(t *testing.T) {
	s, other := start(t), start(t)
	_, err := login(t, s, other.CABundle(), s.Credentials())
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

func TestAnInstallationHasAFailureDomainForEachZone(t *testing.T) {
	s := start(t)
	installed := s.Installation()
	domains := installed.Spec.VSphere.FailureDomains
	require.Len(t, domains, 3)
	require.Equal(t, "zone-b", domains[1].Zone)
	require.Equal(t, "/DC0/host/DC0_C1", domains[1].Topology.ComputeCluster)
	require.Equal(t, s.Host(), installed.Spec.VSphere.VCenters[0].Server)
	require.Equal(t, []string{"127.0.0.0/24"}, installed.Spec.VSphere.NodeNetworking.Internal.NetworkSubnetCIDR)
	require.Equal(t, string(s.CABundle()), installed.CloudConfig["ca-bundle.pem"])
	require.Contains(t, installed.CloudConfig["config"], "port: "+s.Port())
	require.Contains(t, installed.Credentials, "127.0.0.1.password")
}

func TestStartRejectsAnAddressThatNoClientReaches(t *testing.T) {
	_, err := vsphere.Start(t.Context(), vsphere.Options{Listen: "0.0.0.0:0"})
	require.EqualError(t, err, `vsphere stand-in: listen address "0.0.0.0:0": must be an IP that clients can reach`)
}
