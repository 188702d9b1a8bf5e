package alibabacloud_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	alierrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/alibabacloud"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// cloud is a running stand-in with Alibaba Cloud's own client.
type cloud struct {
	*alibabacloud.Server
	transport http.RoundTripper
	ecs       *ecs.Client
}

// start starts a stand-in with two instances, and a client with its current access key.
func start(t *testing.T) cloud {
	t.Helper()
	s, err := alibabacloud.Start(t.Context(), alibabacloud.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetInstances([]alibabacloud.Instance{
		{Name: "a", Addresses: []string{"10.0.0.1"}}, {Name: "b", Addresses: []string{"10.0.0.2"}},
	}))
	c := cloud{Server: s, transport: wrapped{standintest.NewClient(t, s).Transport}}
	c.ecs = c.newClient(t, s.Credentials())
	return c
}

// wrapped hides that it is an http.Transport: the SDK replaces how one dials.
type wrapped struct{ http.RoundTripper }

// newClient returns a client as the cloud-controller-manager makes one, with the access key of a Secret.
func (c cloud) newClient(t *testing.T, secret map[string][]byte) *ecs.Client {
	t.Helper()
	client, err := ecs.NewClientWithOptions("cn-hangzhou", &sdk.Config{Transport: c.transport, Scheme: "HTTPS"},
		&credentials.StsTokenCredential{AccessKeyId: string(secret["alibaba_access_key_id"]),
			AccessKeySecret: string(secret["alibaba_access_key_secret"])})
	require.NoError(t, err)
	client.Network = "vpc"
	return client
}

// byAddress asks for instances as the cloud-controller-manager does for a Node without a provider ID.
func (c cloud) byAddress(t *testing.T, change func(r *ecs.DescribeInstancesRequest), addresses ...string) []ecs.Instance {
	t.Helper()
	request := ecs.CreateDescribeInstancesRequest()
	request.InstanceNetworkType = "vpc"
	list, err := json.Marshal(addresses)
	require.NoError(t, err)
	request.PrivateIpAddresses = string(list)
	request.VpcId = "vpc-bp1aevy8sofi8mh1q5f39"
	request.Tag = &[]ecs.DescribeInstancesTag{{Key: "ack.aliyun.com"}}
	change(request)
	answer, err := c.ecs.DescribeInstances(request)
	require.NoError(t, err)
	return answer.Instances.Instance
}

func unchanged(*ecs.DescribeInstancesRequest) {}

// byID asks for instances as the cloud-controller-manager does for Nodes with a provider ID.
func (c cloud) byID(names ...string) ([]ecs.Instance, error) {
	request := ecs.CreateDescribeInstancesRequest()
	var ids []string
	for _, name := range names {
		ids = append(ids, fmt.Sprintf("%q", alibabacloud.InstanceID(name)))
	}
	request.InstanceIds = "[" + strings.Join(ids, ",") + "]"
	request.MaxResults = requests.NewInteger(1)
	var found []ecs.Instance
	for {
		answer, err := c.ecs.DescribeInstances(request)
		if err != nil {
			return nil, err
		}
		found = append(found, answer.Instances.Instance...)
		if answer.NextToken == "" {
			return found, nil
		}
		request.NextToken = answer.NextToken
	}
}

// requireFailure requires that the API rejected a request.
func requireFailure(t *testing.T, status int, code string, err error) {
	t.Helper()
	var failed *alierrors.ServerError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, fmt.Sprint(status, " ", code), fmt.Sprint(failed.HttpStatus(), " ", failed.ErrorCode()))
}

func TestAnInstanceIsFoundByItsAddressAndByItsIdentity(t *testing.T) {
	c := start(t)
	found := c.byAddress(t, unchanged, "10.0.0.2")
	require.Len(t, found, 1)
	one := found[0]
	require.Equal(t, c.ProviderID("b"), one.RegionId+"."+one.InstanceId)
	require.Equal(t, []string{c.Region(), c.Zone("b"), "Running"}, []string{one.RegionId, one.ZoneId, one.Status})
	require.NotEqual(t, c.Zone("a"), c.Zone("b"))
	require.NotEmpty(t, one.InstanceType)
	require.Equal(t, []string{"10.0.0.2"}, one.VpcAttributes.PrivateIpAddress.IpAddress)
	require.Equal(t, c.SystemUUID("b"), one.SerialNumber)

	same, err := c.byID("b")
	require.NoError(t, err)
	require.Equal(t, found, same)
	require.Equal(t, map[string]int{alibabacloud.DescribeByAddress: 1, alibabacloud.DescribeByID: 1}, c.Requests())
}

func TestAnInstanceIsFoundInItsVPCAndRegionByItsTagOnly(t *testing.T) {
	c := start(t)
	for name, change := range map[string]func(r *ecs.DescribeInstancesRequest){
		"another VPC": func(r *ecs.DescribeInstancesRequest) { r.VpcId = "vpc-other" },
		"another tag": func(r *ecs.DescribeInstancesRequest) { r.Tag = &[]ecs.DescribeInstancesTag{{Key: "other"}} },
		"another region": func(r *ecs.DescribeInstancesRequest) {
			r.RegionId, r.Domain = "cn-beijing", "ecs-vpc.cn-hangzhou.aliyuncs.com"
		},
		"another network": func(r *ecs.DescribeInstancesRequest) { r.InstanceNetworkType = "classic" },
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, c.byAddress(t, change, "10.0.0.2")) })
	}
	require.Len(t, c.byAddress(t, unchanged, "10.0.0.2"), 1)
}

func TestAnInstanceStopsAndGoesAndCanBeDenied(t *testing.T) {
	c := start(t)
	require.NoError(t, c.StopInstance("a"))
	stopped, err := c.byID("a", "b")
	require.NoError(t, err)
	require.Equal(t, []string{"Stopped", "Running"}, []string{stopped[0].Status, stopped[1].Status})
	require.NoError(t, c.StartInstance("a"))
	require.NoError(t, c.DenyInstances(true))
	denied, err := c.byID("a", "b")
	require.NoError(t, err)
	require.Empty(t, denied)
	require.NoError(t, c.DenyInstances(false))

	require.NoError(t, c.SetInstances([]alibabacloud.Instance{{Name: "b", Addresses: []string{"10.0.0.2"}}}))
	left, err := c.byID("a", "b")
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "Running", left[0].Status)
	require.EqualError(t, c.StopInstance("a"), `alibabacloud stand-in: no instance "a"`)
}

func TestAListHasPages(t *testing.T) {
	c := start(t)
	found, err := c.byID("a", "b") // one for a page
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, map[string]int{alibabacloud.DescribeByID: 2}, c.Requests())
	request := ecs.CreateDescribeInstancesRequest()
	request.NextToken = "9"
	_, err = c.ecs.DescribeInstances(request)
	requireFailure(t, http.StatusBadRequest, "InvalidParameter", err)
}

func TestADeletedAccessKeyIsUnknownAndTheRecordHasIt(t *testing.T) {
	c := start(t)
	former := c.Credential()
	_, err := c.byID("a")
	require.NoError(t, err)
	require.NoError(t, c.Rotate())
	_, err = c.byID("a")
	requireFailure(t, http.StatusNotFound, "InvalidAccessKeyId.NotFound", err)
	c.ecs = c.newClient(t, c.Credentials())
	_, err = c.byID("a")
	require.NoError(t, err)
	require.Equal(t, []string{
		alibabacloud.DescribeByID + " " + former + " 200", alibabacloud.DescribeByID + " " + former + " 404",
		alibabacloud.DescribeByID + " " + c.Credential() + " 200",
	}, standintest.Made(c.Calls()))
}

func TestAWrongSignatureIsRejected(t *testing.T) {
	c := start(t)
	secret := c.Credentials()
	secret["alibaba_access_key_secret"] = []byte("battery staple")
	c.ecs = c.newClient(t, secret)
	_, err := c.byID("a")
	// The SDK tells this from its own mistakes by the text that the cloud has signed, which the stand-in keeps to itself.
	requireFailure(t, http.StatusBadRequest, "SignatureDoesNotMatch", err)
}

func TestASignatureIsGoodOnce(t *testing.T) {
	c := start(t)
	var recorded *http.Request
	client := &http.Client{Transport: c.transport}
	_, err := c.byID("a")
	require.NoError(t, err)
	request := ecs.CreateDescribeInstancesRequest()
	_, err = c.ecs.DescribeInstances(request)
	require.NoError(t, err)
	again := func(change func(query string) string) string {
		recorded, err = http.NewRequestWithContext(t.Context(), http.MethodPost, change(request.BuildUrl()), http.NoBody)
		require.NoError(t, err)
		_, content := standintest.Do(t, client, recorded)
		var failed struct{ Code string }
		require.NoError(t, json.Unmarshal(content, &failed))
		return failed.Code
	}
	require.Equal(t, "SignatureNonceUsed", again(func(query string) string { return query }))
	require.Equal(t, "InvalidTimeStamp.Expired", again(func(query string) string {
		return strings.Replace(query, "Timestamp=20", "Timestamp=19", 1)
	}))
	require.Equal(t, "MissingAccessKeyId", again(func(query string) string {
		return strings.Replace(query, "AccessKeyId=", "Other=", 1)
	}))
	require.Equal(t, "InvalidParameter", again(func(query string) string {
		return strings.Replace(query, "HMAC-SHA1", "HMAC-MD5", 1)
	}))
}

func TestAnOutageFailsEveryRequest(t *testing.T) {
	c := start(t)
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	_, err := c.byID("a")
	requireFailure(t, http.StatusServiceUnavailable, "ServiceUnavailable", err)
	require.NoError(t, c.Fail(standin.AllEndpoints, 0))
	_, err = c.byID("a")
	require.NoError(t, err)
}

func TestWhatIsNotServedIsCounted(t *testing.T) {
	c := start(t)
	_, err := c.ecs.DescribeRegions(ecs.CreateDescribeRegionsRequest())
	requireFailure(t, http.StatusNotImplemented, "NotImplemented", err)
	require.Equal(t, map[string]int{standin.Unserved: 1}, c.Requests())
}

func TestAnInstallationHasTheVPCTheCredentialsAndTheStandInsCA(t *testing.T) {
	c := start(t)
	installed := c.Installation()
	require.Equal(t, c.Region(), installed.Status.AlibabaCloud.Region)
	require.EqualValues(t, "AlibabaCloud", installed.Custom.Platform)
	require.Contains(t, installed.CloudConfig["config"], "\n  vpcid: vpc-bp1aevy8sofi8mh1q5f39\n")
	require.Equal(t, string(c.CABundle()), installed.TrustedCA)
	require.Equal(t, c.Credentials(), installed.Credentials)
}
