package aws

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// cloud is a running stand-in with a client that trusts its CA.
type cloud struct {
	*Server
	client *http.Client
}

func start(t *testing.T) cloud {
	t.Helper()
	return startIn(t, "")
}

func startIn(t *testing.T, dir string) cloud {
	t.Helper()
	s, err := Start(t.Context(), Options{Listen: "127.0.0.1:0", Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return cloud{Server: s, client: standintest.NewClient(t, s)}
}

// accessKey returns the current access key.
func (c cloud) accessKey() accessKey {
	key := c.Current()
	return accessKey{id: key.Name, secret: key.Secret}
}

// serving returns the version and the name of the service that has an action. It is EC2 for an unknown action.
func (c cloud) serving(action string) (version, name string) {
	if c.services[balancingVersion].actions[action] != nil {
		return "2015-12-01", "elasticloadbalancing"
	}
	return "2016-11-15", "ec2"
}

// newRequest returns a signed request for an action with parameters, each name=value.
func (c cloud) newRequest(t *testing.T, key accessKey, now time.Time, action string, parameters ...string,
) *http.Request {
	t.Helper()
	version, service := c.serving(action)
	if slices.ContainsFunc(parameters, func(p string) bool { return strings.HasPrefix(p, "LoadBalancerName") }) {
		version, service = classicVersion, "elasticloadbalancing"
	}
	form := url.Values{"Action": {action}, "Version": {version}}
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		form.Set(name, value)
	}
	body := []byte(form.Encode())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL()+"/", bytes.NewReader(body))
	require.NoError(t, err)
	date := now.UTC().Format(timeFormat)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Amz-Date", date)
	headers := []string{"content-length", "content-type", "host", "x-amz-date"}
	scope := date[:8] + "/eu-central-1/" + service + "/aws4_request"
	request.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm,
		key.id, scope, strings.Join(headers, ";"), sign(key, scope, date, canonical(request, headers, body))))
	return request
}

func (c cloud) do(t *testing.T, request *http.Request) (int, []byte) {
	t.Helper()
	return standintest.Do(t, c.client, request)
}

// call requires the answer to an action.
func call[T any](t *testing.T, c cloud, action string, parameters ...string) T {
	t.Helper()
	status, content := c.do(t, c.newRequest(t, c.accessKey(), time.Now(), action, parameters...))
	require.Equal(t, http.StatusOK, status, string(content))
	var answer T
	require.NoError(t, xml.Unmarshal(content, &answer))
	return answer
}

// requireError requires that a request fails.
func (c cloud) requireError(t *testing.T, request *http.Request, status int, code string) {
	t.Helper()
	got, content := c.do(t, request)
	require.Equal(t, status, got, string(content))
	var answer struct { // of either form
		Code      string `xml:"Errors>Error>Code"`
		Balancing string `xml:"Error>Code"`
	}
	require.NoError(t, xml.Unmarshal(content, &answer))
	require.Equal(t, code, answer.Code+answer.Balancing)
}

// requireActionError requires that an action fails.
func (c cloud) requireActionError(t *testing.T, code, action string, parameters ...string) {
	t.Helper()
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), action, parameters...), http.StatusBadRequest, code)
}

// names describes the instances of an answer.
func names(answer describeInstancesResponse) []string {
	var all []string
	for _, r := range answer.Reservations {
		for _, i := range r.Instances {
			all = append(all, i.Tags[0].Value+" "+i.State.Name)
		}
	}
	return all
}

// The request and the signature are those of the documentation of AWS.
func TestASignatureIsThatOfTheDocumentation(t *testing.T) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	request.Header.Set("X-Amz-Date", "20150830T123600Z")
	key := accessKey{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	require.Equal(t, "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
		sign(key, "20150830/us-east-1/iam/aws4_request", "20150830T123600Z",
			canonical(request, []string{"content-type", "host", "x-amz-date"}, nil)))
}

func TestOnlySignedRequestsAreAnswered(t *testing.T) {
	c := start(t)
	key := c.accessKey()
	c.requireError(t, c.newRequest(t, accessKey{id: "AKIA1", secret: "x"}, time.Now(), DescribeInstances),
		http.StatusUnauthorized, "AuthFailure")
	c.requireError(t, c.newRequest(t, accessKey{id: key.id, secret: "x"}, time.Now(), DescribeInstances),
		http.StatusForbidden, "SignatureDoesNotMatch")
	c.requireError(t, c.newRequest(t, key, time.Now().Add(-time.Hour), DescribeInstances),
		http.StatusForbidden, "RequestExpired")
	unsigned := c.newRequest(t, key, time.Now(), DescribeInstances)
	unsigned.Header.Del("Authorization")
	c.requireError(t, unsigned, http.StatusForbidden, "MissingAuthenticationToken")
	call[describeInstancesResponse](t, c, DescribeInstances)
}

func TestARotationEndsTheFormerKey(t *testing.T) {
	c := start(t)
	former := c.accessKey()
	call[describeInstancesResponse](t, c, DescribeInstances)
	require.NoError(t, c.Rotate())
	require.NotEqual(t, former.id, c.Credential())
	c.requireError(t, c.newRequest(t, former, time.Now(), DescribeInstances), http.StatusUnauthorized, "AuthFailure")
	call[describeInstancesResponse](t, c, DescribeInstances)
	require.Equal(t, []string{
		"DescribeInstances " + former.id + " 200",
		"DescribeInstances " + former.id + " 401",
		"DescribeInstances " + c.Credential() + " 200",
	}, standintest.Made(c.Calls()))
	require.Contains(t, string(c.Credentials()["credentials"]), c.Credential())
}

func TestInstancesAreFound(t *testing.T) {
	c := start(t)
	require.NoError(t, c.SetInstances([]Instance{
		{Name: "a", Addresses: []string{"10.200.0.10"}}, {Name: "b", Addresses: []string{"10.200.0.11"}},
	}))
	require.NoError(t, c.StopInstance("b"))
	found := call[describeInstancesResponse](t, c, DescribeInstances, "Filter.1.Name=private-dns-name",
		"Filter.1.Value.1=a", "Filter.2.Name=instance-state-name", "Filter.2.Value.1=stopped",
		"Filter.2.Value.2=running")
	require.Equal(t, []string{"a running"}, names(found))
	described := found.Reservations[0].Instances[0]
	require.Equal(t, "eu-central-1a", described.Zone)
	require.Equal(t, "aws:///eu-central-1a/"+described.ID, c.ProviderID("a"))
	require.Regexp(t, "^i-0[0-9a-f]{16}$", described.ID)
	require.Equal(t, "10.200.0.10", described.Interfaces[0].Addresses[0].Address)
	require.Equal(t, tag{"kubernetes.io/cluster/dev-x7k2p", "owned"}, described.Tags[1])

	byID := call[describeInstancesResponse](t, c, DescribeInstances, "InstanceId.1="+described.ID)
	require.Equal(t, []string{"a running"}, names(byID))
	require.Equal(t, []string{"a running", "b stopped"}, names(call[describeInstancesResponse](t, c,
		DescribeInstances)))
	require.NoError(t, c.StartInstance("b"))
	require.Equal(t, []string{"b running"}, names(call[describeInstancesResponse](t, c, DescribeInstances,
		"Filter.1.Name=availability-zone", "Filter.1.Value.1="+c.Zone("b"))))
	require.EqualError(t, c.StopInstance("c"), `aws stand-in: no instance "c"`)
}

func TestATerminatedInstanceIsStillDescribed(t *testing.T) {
	c := start(t)
	require.NoError(t, c.SetInstances([]Instance{{Name: "a", Addresses: []string{"10.200.0.10"}}}))
	former := c.ProviderID("a")
	require.NoError(t, c.SetInstances(nil))
	require.Empty(t, c.ProviderID("a"))
	require.Equal(t, []string{"a terminated"}, names(call[describeInstancesResponse](t, c, DescribeInstances)))
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	require.NotEqual(t, former, c.ProviderID("a"), "another machine is another instance")
	require.Equal(t, []string{"a running"}, names(call[describeInstancesResponse](t, c, DescribeInstances,
		"Filter.1.Name=private-dns-name", "Filter.1.Value.1=a")))
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeInstances, "InstanceId.1=i-1"),
		http.StatusBadRequest, "InvalidInstanceID.NotFound")
}

func TestListsHavePages(t *testing.T) {
	c := start(t)
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}, {Name: "b"}, {Name: "c"}}))
	var all []string
	token := ""
	for range 3 {
		answer := call[describeInstancesResponse](t, c, DescribeInstances, "MaxResults=2", "NextToken="+token)
		all = append(all, names(answer)...)
		if token = answer.NextToken; token == "" {
			break
		}
	}
	require.Equal(t, []string{"a running", "b running", "c running"}, all)
	for _, wrong := range []string{"MaxResults=0", "MaxResults=x"} {
		c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeInstances, wrong), http.StatusBadRequest,
			"InvalidParameterValue")
	}
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeInstances, "NextToken=x"),
		http.StatusBadRequest, "InvalidNextToken")
}

func TestZonesAndTopologies(t *testing.T) {
	c := start(t)
	answer := call[describeAvailabilityZonesResponse](t, c, DescribeAvailabilityZones)
	require.Len(t, answer.Zones, 3)
	require.Equal(t, zone{"eu-central-1b", "euc1-az2", "availability-zone", "available", "eu-central-1"},
		answer.Zones[1])
	call[describeInstanceTopologyResponse](t, c, DescribeInstanceTopology)
}

func TestWhatIsNotServedIsCounted(t *testing.T) {
	c := start(t)
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), "RunInstances"), http.StatusNotImplemented,
		"InvalidAction")
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeInstances, "Filter.1.Name=x"),
		http.StatusBadRequest, "InvalidParameterValue")
	require.Equal(t, map[string]int{standin.Unserved: 1, DescribeInstances: 1}, c.Requests())
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeInstances), http.StatusServiceUnavailable,
		"Unavailable")
}

func TestARefusalHasTheCodeOfItsCause(t *testing.T) {
	c := start(t)
	for status, want := range map[int]struct {
		status int
		code   string
	}{
		http.StatusUnauthorized:        {http.StatusUnauthorized, "AuthFailure"},
		http.StatusForbidden:           {http.StatusForbidden, "UnauthorizedOperation"},
		http.StatusTooManyRequests:     {http.StatusServiceUnavailable, "RequestLimitExceeded"},
		http.StatusInternalServerError: {http.StatusInternalServerError, "Unavailable"},
	} {
		require.NoError(t, c.Fail(DescribeInstances, status))
		c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeInstances), want.status, want.code)
	}
}

func TestASecondInstanceMayHaveTheName(t *testing.T) {
	c := start(t)
	require.NoError(t, c.SetInstances([]Instance{{Name: "a", Addresses: []string{"10.200.0.10"}}}))
	original := c.ProviderID("a")
	running := func() []string {
		return names(call[describeInstancesResponse](t, c, DescribeInstances, "Filter.1.Name=private-dns-name",
			"Filter.1.Value.1=a"))
	}
	require.NoError(t, c.Duplicate("a", true))
	require.Equal(t, []string{"a running", "a running"}, running())
	require.NoError(t, c.Duplicate("a", false))
	require.Equal(t, []string{"a running"}, running())
	require.Equal(t, original, c.ProviderID("a"))
	require.EqualError(t, c.Duplicate("b", true), `aws stand-in: no instance "b"`)
}

func TestTheMetadataServiceAnswersToATokenOfTheInstance(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := start(t)
	c.ServeMetadata(t.Context(), listener)
	ask := func(method, path, header, value string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+listener.Addr().String()+path, http.NoBody)
		require.NoError(t, err)
		request.Header.Set(header, value)
		status, content := standintest.Do(t, http.DefaultClient, request)
		return status, string(content)
	}
	const token, document = "/latest/api/token", "/latest/dynamic/instance-identity/document"
	status, _ := ask(http.MethodPut, token, tokenLifetime, "300")
	require.Equal(t, http.StatusNotFound, status, "there is no instance")
	require.NoError(t, c.SetInstances([]Instance{{Name: "a", Addresses: []string{"127.0.0.1"}}}))
	for _, lifetime := range []string{"", "0", "21601"} {
		status, _ = ask(http.MethodPut, token, tokenLifetime, lifetime)
		require.Equal(t, http.StatusBadRequest, status)
	}
	status, issued := ask(http.MethodPut, token, tokenLifetime, "300")
	require.Equal(t, http.StatusOK, status)
	status, _ = ask(http.MethodGet, document, tokenHeader, "x")
	require.Equal(t, http.StatusUnauthorized, status)
	status, content := ask(http.MethodGet, document, tokenHeader, issued)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, fmt.Sprintf(`{"accountId": "111122223333", "architecture": "x86_64", "version": "2017-09-30",
		"availabilityZone": "eu-central-1a", "instanceId": %q, "instanceType": "m6i.xlarge", "privateIp": "127.0.0.1",
		"region": "eu-central-1"}`, c.idOf("a")), content)
	status, _ = ask(http.MethodGet, "/latest/user-data", tokenHeader, issued)
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, map[string]int{CreateToken: 5, GetIdentity: 2, standin.Unserved: 1}, c.Requests())
}

func TestAnInstallationHasTheEndpoint(t *testing.T) {
	c := start(t)
	installed := c.Installation()
	require.Equal(t, "eu-central-1", installed.Status.AWS.Region)
	for i, name := range []string{"ec2", "elasticloadbalancing"} {
		endpoint := installed.Status.AWS.ServiceEndpoints[i]
		require.Equal(t, name+" "+c.URL(), endpoint.Name+" "+endpoint.URL)
	}
	require.Equal(t, string(c.CABundle()), installed.CloudConfig["ca-bundle.pem"])
	require.Contains(t, installed.CloudConfig["config"], "KubernetesClusterID = dev-x7k2p\n")
	require.Contains(t, installed.Credentials, "credentials")
	require.Regexp(t, "^ec2[0-9a-f]{5}-", c.SystemUUID("a"))
}

func TestStartRejectsAnAddressThatNoClientReaches(t *testing.T) {
	_, err := Start(t.Context(), Options{Listen: "0.0.0.0:0"})
	require.EqualError(t, err, `aws stand-in: listen address "0.0.0.0:0": must be an IP that clients can reach`)
}
