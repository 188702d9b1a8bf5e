package ibm_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/IBM/go-sdk-core/v5/core"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// cloud is a running stand-in with IBM Cloud's own client of the VPC.
type cloud struct {
	*ibm.Server
	client *http.Client
	vpc    *vpcv1.VpcV1
}

const (
	account = "1e1f75646aef447814a6d907cc83fb3c"
	region  = "eu-de"
	cluster = "dev-x7k2p"
	vpcName = cluster + "-vpc"
)

// start starts a stand-in with two instances, and a client with its current API key.
func start(t *testing.T) cloud {
	t.Helper()
	return startWith(t, ibm.Options{})
}

func startWith(t *testing.T, options ibm.Options) cloud {
	t.Helper()
	options.Listen = "127.0.0.1:0"
	s, err := ibm.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetInstances([]ibm.Instance{
		{Name: "a", Addresses: []string{"10.0.0.1"}}, {Name: "b", Addresses: []string{"10.0.0.2"}},
	}))
	c := cloud{Server: s, client: standintest.NewClient(t, s)}
	c.vpc = c.newVPC(t, "https://"+region+".iaas.cloud.ibm.com/v1")
	return c
}

// authenticator buys tokens with the API key of the Secret.
func (c cloud) authenticator(endpoint string) *core.IamAuthenticator {
	return &core.IamAuthenticator{ApiKey: string(c.Credentials()["ibmcloud_api_key"]), URL: endpoint, Client: c.client}
}

// newVPC returns a client of the VPC at an endpoint, with the API key of the Secret.
func (c cloud) newVPC(t *testing.T, endpoint string) *vpcv1.VpcV1 {
	t.Helper()
	vpc, err := vpcv1.NewVpcV1(&vpcv1.VpcV1Options{URL: endpoint, Authenticator: c.authenticator("")})
	require.NoError(t, err)
	vpc.Service.SetHTTPClient(c.client)
	return vpc
}

// instances lists the instances with a name in the cluster's VPC, as the cloud-controller-manager does.
func (c cloud) instances(t *testing.T, name string) []vpcv1.Instance {
	t.Helper()
	found, _, err := c.vpc.ListInstances(new(vpcv1.ListInstancesOptions).SetName(name).SetVPCName(vpcName))
	require.NoError(t, err)
	return found.Instances
}

func TestAnInstanceIsFoundByItsNameInItsVPC(t *testing.T) {
	c := start(t)
	found := c.instances(t, "b")
	require.Len(t, found, 1)
	instance := found[0]
	require.Equal(t, "ibm://"+account+"///"+cluster+"/"+*instance.ID, c.ProviderID("b"))
	require.Equal(t, []string{"b", "running", c.Zone("b"), "10.0.0.2", vpcName}, []string{*instance.Name, *instance.Status,
		*instance.Zone.Name, *instance.PrimaryNetworkInterface.PrimaryIP.Address, *instance.VPC.Name})
	require.NotEmpty(t, *instance.Profile.Name)
	require.NotEqual(t, c.Zone("a"), c.Zone("b"))
	require.Equal(t, region, c.Region())

	other, _, err := c.vpc.ListInstances(new(vpcv1.ListInstancesOptions).SetName("b").SetVPCName("other"))
	require.NoError(t, err)
	require.Empty(t, other.Instances)
}

func TestAnInstanceStopsAndGoesAndCanBeDenied(t *testing.T) {
	c := start(t)
	before := c.instances(t, "a")
	require.NoError(t, c.StopInstance("a"))
	require.Equal(t, "stopped", *c.instances(t, "a")[0].Status)
	require.NoError(t, c.StartInstance("a"))
	require.Equal(t, before, c.instances(t, "a"))

	require.NoError(t, c.DenyInstances(true))
	require.Empty(t, c.instances(t, "a"))
	require.NoError(t, c.DenyInstances(false))
	require.NoError(t, c.SetInstances([]ibm.Instance{{Name: "b", Addresses: []string{"10.0.0.2"}}}))
	require.Empty(t, c.instances(t, "a"))
	require.EqualError(t, c.StopInstance("a"), `ibm stand-in: no instance "a"`)
}

func TestTheDefaultEndpointTellsTheOneOfTheRegion(t *testing.T) {
	c := start(t)
	everywhere := c.newVPC(t, vpcv1.DefaultServiceURL)
	found, _, err := everywhere.GetRegion(everywhere.NewGetRegionOptions(region))
	require.NoError(t, err)
	require.Equal(t, "https://eu-de.iaas.cloud.ibm.com", *found.Endpoint)
	_, response, err := everywhere.GetRegion(everywhere.NewGetRegionOptions("us-east"))
	require.EqualError(t, err, "The resource could not be found.")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestAListHasPages(t *testing.T) {
	c := start(t)
	var names []string
	pager, err := c.vpc.NewSubnetsPager(new(vpcv1.ListSubnetsOptions).SetLimit(3))
	require.NoError(t, err)
	for pager.HasNext() {
		subnets, err := pager.GetNext()
		require.NoError(t, err)
		require.LessOrEqual(t, len(subnets), 3)
		for _, subnet := range subnets {
			names = append(names, *subnet.VPC.Name+"/"+*subnet.Name)
		}
	}
	require.Equal(t, []string{vpcName + "/" + vpcName + "-subnet-eu-de-1", vpcName + "/" + vpcName + "-subnet-eu-de-2",
		vpcName + "/" + vpcName + "-subnet-eu-de-3", "other/other"}, names)
	require.Equal(t, 2, c.Requests()[ibm.ListSubnets])
}

func TestAFormerAPIKeyAndItsTokensAreRejected(t *testing.T) {
	c := start(t)
	require.Len(t, c.instances(t, "a"), 1)
	require.Equal(t, "key-1", c.Credential())
	formerKey := c.authenticator("")
	require.NoError(t, c.Rotate())
	require.Equal(t, "key-2", c.Credential())

	_, response, err := c.vpc.ListInstances(new(vpcv1.ListInstancesOptions))
	require.EqualError(t, err, "The request is not authorized.")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	_, err = formerKey.RequestToken()
	require.EqualError(t, err, "Provided API key could not be found.")

	c.vpc = c.newVPC(t, "https://"+region+".iaas.cloud.ibm.com/v1")
	require.Len(t, c.instances(t, "a"), 1)
	require.Equal(t, []string{
		ibm.IssueToken + " key-1 200", ibm.ListInstances + " key-1 200", ibm.ListInstances + " key-1 401",
		ibm.IssueToken + " key-1 400", ibm.IssueToken + " key-2 200", ibm.ListInstances + " key-2 200",
	}, standintest.Made(c.Calls()))
}

func TestAnUnknownAPIKeyIsRejected(t *testing.T) {
	c := start(t)
	_, err := (&core.IamAuthenticator{ApiKey: "unknown", Client: c.client}).RequestToken()
	require.EqualError(t, err, "Provided API key could not be found.")
	require.Empty(t, c.Calls()[0].Credential)
}

// get asks for a path with a valid token.
func (c cloud) get(t *testing.T, address string) (status int, body map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	require.NoError(t, c.authenticator("").Authenticate(request))
	status, content := standintest.Do(t, c.client, request)
	require.NoError(t, json.Unmarshal(content, &body))
	return status, body
}

func TestAResourceGroupIsFoundByItsNameInItsAccount(t *testing.T) {
	c := start(t)
	const groups = "https://resource-controller.cloud.ibm.com/v2/resource_groups?"
	for wanted, query := range map[int]url.Values{
		1: {"account_id": {account}, "name": {cluster}},
		2: {"account_id": {account}},
		0: {"account_id": {"other"}, "name": {cluster}},
	} {
		status, found := c.get(t, groups+query.Encode())
		require.Equal(t, http.StatusOK, status)
		require.Len(t, found["resources"], wanted)
	}
}

func TestARequestToTheVPCNamesItsVersion(t *testing.T) {
	c := start(t)
	for _, query := range []string{"", "?version=2026-01-27", "?generation=2", "?version=2026-01-27&generation=1"} {
		status, answer := c.get(t, "https://eu-de.iaas.cloud.ibm.com/v1/instances"+query)
		require.Equal(t, http.StatusBadRequest, status, query)
		require.Equal(t, []any{map[string]any{"code": "invalid_value",
			"message": "The query needs a version and generation=2."}}, answer["errors"])
	}
}

func TestOtherRequestsAreCounted(t *testing.T) {
	c := start(t)
	status, _ := c.get(t, "https://eu-de.iaas.cloud.ibm.com/v1/volumes?version=2026-01-01&generation=2")
	require.Equal(t, http.StatusNotImplemented, status)
	require.Equal(t, 1, c.Requests()[standin.Unserved])
}

func TestAnOutageReachesEveryEndpoint(t *testing.T) {
	c := start(t)
	require.Len(t, c.instances(t, "a"), 1)
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	_, response, err := c.vpc.ListInstances(new(vpcv1.ListInstancesOptions))
	require.EqualError(t, err, "Service Unavailable")
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	_, err = c.authenticator("").RequestToken()
	require.EqualError(t, err, "Service Unavailable")
	require.NoError(t, c.Fail(standin.AllEndpoints, 0))
	require.Len(t, c.instances(t, "a"), 1)
}

func TestTheAdministratorsEndpointsAreCountedApart(t *testing.T) {
	c := start(t)
	require.Len(t, c.instances(t, "a"), 1)
	require.Equal(t, []int{2, 0}, []int{c.AskedOwn(), c.AskedCustom()})
	endpoints := map[configv1.IBMCloudServiceName]string{}
	status := configv1.PlatformStatus{IBMCloud: &configv1.IBMCloudPlatformStatus{}}
	c.Redirect(&status)
	for _, endpoint := range status.IBMCloud.ServiceEndpoints {
		endpoints[endpoint.Name] = endpoint.URL
	}
	vpc, err := vpcv1.NewVpcV1(&vpcv1.VpcV1Options{URL: endpoints[configv1.IBMCloudServiceVPC],
		Authenticator: c.authenticator(strings.TrimSuffix(endpoints[configv1.IBMCloudServiceIAM], "/v1"))})
	require.NoError(t, err)
	vpc.Service.SetHTTPClient(c.client)
	c.vpc = vpc
	require.Len(t, c.instances(t, "a"), 1)
	require.Equal(t, []int{2, 2}, []int{c.AskedOwn(), c.AskedCustom()})
}

func TestTheInstallationHasTheCredentialsAndTheCA(t *testing.T) {
	c := start(t)
	installed := c.Installation()
	require.Equal(t, c.Credentials(), installed.Credentials)
	require.Equal(t, string(c.CABundle()), installed.TrustedCA)
	require.Equal(t, region, installed.Status.IBMCloud.Location)
	require.True(t, bytes.Contains(installed.Credentials["ibm-credentials.env"],
		installed.Credentials["ibmcloud_api_key"]))
}
