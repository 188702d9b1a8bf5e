package nodecause_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// failed is an attempt that ended with the error.
func failed(text string) nodecause.Evidence {
	return nodecause.Evidence{Complete: true, Attempt: nodecause.Attempt{Error: text}}
}

func TestTheEvidenceHasOneCause(t *testing.T) {
	openstack := func(status, body string) string {
		return "Expected HTTP response code [200] when accessing [GET https://nova.example.com:8774/v2.1/servers/detail?name=%5Em1%24], " +
			"but got " + status + " instead: " + body
	}
	for name, tc := range map[string]struct {
		evidence nodecause.Evidence
		want     nodecause.Class
	}{
		"nothing is known": {want: nodecause.Unknown},
		"no CCM leads, whatever the former one logged": {
			evidence: nodecause.Evidence{Leaderless: true, Attempt: nodecause.Attempt{Error: "instance not found"}},
			want:     nodecause.NoLeader,
		},
		"the whole log has nothing about the node": {
			evidence: nodecause.Evidence{Complete: true}, want: nodecause.NotAsked,
		},
		"the leader looks at no node, and the whole log has nothing about this one": {
			evidence: nodecause.Evidence{NoNodeController: true, Complete: true, Attempt: nodecause.Attempt{Error: "got 503 instead: "}},
			want:     nodecause.NoNodeController,
		},
		"the node was initialized before it got the taint again": {
			evidence: nodecause.Evidence{Complete: true, Attempt: nodecause.Attempt{Succeeded: true}}, want: nodecause.Unknown,
		},
		"the first attempt has not ended": {
			evidence: nodecause.Evidence{Attempt: nodecause.Attempt{Pending: true}}, want: nodecause.NoAnswer,
		},
		"an error that no longer applies": {
			evidence: nodecause.Evidence{Attempt: nodecause.Attempt{Overtaken: true}, Complete: true}, want: nodecause.Unknown,
		},
		"another attempt has not ended": {
			evidence: nodecause.Evidence{Attempt: nodecause.Attempt{Pending: true, Error: "instance not found"}},
			want:     nodecause.UnknownMachine,
		},
		"an error that nobody knows": {evidence: failed("flavor original_name/id not found"), want: nodecause.Other},

		"any provider does not know the machine": {evidence: failed("instance not found"), want: nodecause.UnknownMachine},
		"a provider returns nothing": {
			evidence: failed("because cloud provided nil metadata"), want: nodecause.UnknownMachine,
		},
		"OpenStack has no server of that name": {evidence: failed("failed to find object"), want: nodecause.UnknownMachine},
		"AWS has no instance of that ID": {
			evidence: failed("operation error EC2: DescribeInstances, https response error StatusCode: 400, RequestID: 5032c1d1-" +
				"4a29-4f0e-a1a3-7ffcb7d62429, api error InvalidInstanceID.NotFound: The instance ID 'i-0503' does not exist"),
			want: nodecause.UnknownMachine,
		},
		"Google Cloud has no instance of that name": {
			evidence: failed(`error while querying for providerID "gce://p/z/m1": googleapi: Error 404: The resource 'projects/p/zones/z/instances/m1' was not found, notFound`),
			want:     nodecause.UnknownMachine,
		},
		"OpenStack's library has no server of that name": {
			evidence: failed("Unable to find server with name m1"), want: nodecause.UnknownMachine,
		},
		"vSphere knows the machine, but no address of it": {
			evidence: failed("failed to get instance ID from cloud provider: unable to find suitable IP address for node m1 with IP family [ipv4]"),
			want:     nodecause.NoAddress,
		},
		"Octavia has no quota left, and calls it forbidden": {
			evidence: failed(openstack("403", `{"faultcode": "Client", "faultstring": "Quota has been met for resources: Load Balancer"}`)),
			want:     nodecause.QuotaExceeded,
		},
		"Octavia's provider lacks an option": {
			evidence: failed(openstack("501", `{"faultcode": "Server", "faultstring": "Provider 'ovn' does not support a requested option: OVN provider does not support allowed_cidrs option"}`)),
			want:     nodecause.Other,
		},
		"AWS's SDK gives up to retry what it cannot reach": {
			evidence: failed(`operation error EC2: DescribeInstances, request send failed, Post "https://ec2.us-east-2.amazonaws.com/": dial tcp ` +
				"192.0.2.1:443: i/o timeout\nfailed to get rate limit token, retry quota exceeded, 2 available, 5 requested"),
			want: nodecause.Unreachable,
		},
		"AWS has no address left": {
			evidence: failed("api error AddressLimitExceeded: The maximum number of addresses has been reached."), want: nodecause.QuotaExceeded,
		},
		"Azure has no address left": {
			evidence: failed("RESPONSE 400: 400 Bad Request ERROR CODE: PublicIPCountLimitReached"), want: nodecause.QuotaExceeded,
		},
		"a policy of Azure forbids it to everybody": {
			evidence: failed("RESPONSE 403: 403 Forbidden ERROR CODE: RequestDisallowedByPolicy"), want: nodecause.Other,
		},
		"Alibaba Cloud's provider wants a provider ID": {
			evidence: failed("unrecognized node type, skip sync node"), want: nodecause.NoProviderID,
		},
		"Alibaba Cloud's provider of 2025 wants a provider ID": {
			evidence: failed(`cloud node not found by prvdId ""`), want: nodecause.NoProviderID,
		},
		"Alibaba Cloud has no such instance": {
			evidence: failed(`cloud node not found by prvdId "cn-hangzhou.i-1"`), want: nodecause.UnknownMachine,
		},
		"Alibaba Cloud knows no such access key": {
			evidence: failed("SDKError:\n   StatusCode: 404\n   Code: InvalidAccessKeyId.NotFound\n   Message: Specified access key is not found."),
			want:     nodecause.Unauthenticated,
		},
		"another component has set the provider ID, OpenStack": {
			evidence: failed(`ProviderID "rke2://m1" didn't match expected format "openstack://region/InstanceID"`),
			want:     nodecause.UnknownMachine,
		},
		"another component has set the provider ID, AWS": {
			evidence: failed("Invalid format for AWS instance (rke2://m1)"), want: nodecause.UnknownMachine,
		},
		"a load balancer's member has no provider ID": {
			evidence: failed(`ProviderID "" didn't match expected format "openstack://region/InstanceID"`), want: nodecause.Other,
		},
		"DigitalOcean has no such droplet": {
			evidence: failed(`getting droplet by ID: GET https://api.digitalocean.com/v2/droplets/4: 404 (request "a") The resource you were accessing could not be found.`),
			want:     nodecause.UnknownMachine,
		},
		"DigitalOcean rejects the token": {
			evidence: failed(`regions list request failed: GET https://api.digitalocean.com/v2/regions?page=1&per_page=50: 401 (request "a") Unable to authenticate you`),
			want:     nodecause.Unauthenticated,
		},
		"DigitalOcean's token lacks a scope": {
			evidence: failed(`getting droplet by ID: GET https://api.digitalocean.com/v2/droplets/4: 403 (request "a") Forbidden: `),
			want:     nodecause.Unauthorized,
		},
		"IBM Cloud knows no such API key": {
			evidence: failed("An error occurred while performing the 'authenticate' step: Provided API key could not be found."),
			want:     nodecause.Unauthenticated,
		},
		"IBM Cloud says one word": {evidence: failed("Forbidden"), want: nodecause.Unauthorized},
		"Nutanix rejects the user": {
			evidence: failed(`failed to get VM: API call failed: {"data":{"error":[{"code":"X","errorGroup":"UNAUTHORIZED","message":"Unauthorized"}]}}`),
			want:     nodecause.Unauthenticated,
		},
		"Nutanix' user lacks a role": {
			evidence: failed(`failed to get VM: API call failed: {"data":{"error":[{"code":"X","errorGroup":"FORBIDDEN","message":"Forbidden"}]}}`),
			want:     nodecause.Unauthorized,
		},
		"Nutanix rejects the user, as Prism Central's gateway says it": {
			evidence: failed(`failed to get VM: API call failed: {"state": "ERROR", "code": 401, "message_list": [{"reason": "AUTHENTICATION_REQUIRED"}]}`),
			want:     nodecause.Unauthenticated,
		},
		"Nutanix has no such VM": {
			evidence: failed(`failed to get VM: API call failed: {"data":{"error":[{"code":"X","errorGroup":"VM_NOT_FOUND","message":"Not Found"}]}}`),
			want:     nodecause.UnknownMachine,
		},
		"vSphere has no such machine":              {evidence: failed("No VM found"), want: nodecause.UnknownMachine},
		"vSphere's provider knows no such machine": {evidence: failed("VM not found"), want: nodecause.UnknownMachine},
		"vSphere's provider remembers a machine that was deleted": {
			evidence: failed("ServerFaultCode: The object has already been deleted or has not been completely created"),
			want:     nodecause.UnknownMachine,
		},
		"vSphere has no such datacenter": {evidence: failed("datacenter 'DC9' not found"), want: nodecause.UnknownMachine},

		"OpenStack has two servers of that name": {
			evidence: failed("multiple results where only one expected"), want: nodecause.Ambiguous,
		},
		"AWS has two instances of that name": {
			evidence: failed("multiple instances found for name: m1"), want: nodecause.Ambiguous,
		},

		"the kubelet has an address that the cloud does not have": {
			evidence: failed(`provided node ip for node "m1" is not valid: failed to get node address from cloud provider that ` +
				`matches ip: 192.0.2.7`),
			want: nodecause.AddressMismatch,
		},

		"OpenStack rejects the token, and the password": {
			evidence: failed("Unable to re-authenticate: " + openstack("401", "{}") + ": " + openstack("401", "{}")),
			want:     nodecause.Unauthenticated,
		},
		"AWS rejects the key": {
			evidence: failed("error listing instances: operation error EC2: DescribeInstances, https response error StatusCode: 401, " +
				"RequestID: 4290c1d1-4a29, api error AuthFailure: AWS was not able to validate the provided access credentials"),
			want: nodecause.Unauthenticated,
		},
		"vCenter rejects the password": {
			evidence: failed("ServerFaultCode: Cannot complete login due to an incorrect user name or password."),
			want:     nodecause.Unauthenticated,
		},

		"OpenStack's policy forbids it": {
			evidence: failed(openstack("403", `{"forbidden": {"message": "Policy doesn't allow it"}}`)), want: nodecause.Unauthorized,
		},
		"OpenStack's policy forbids it, in Keystone's form": {
			evidence: failed(`{"error":{"code":403,"message":"You are not authorized to perform the requested action.","title":"Forbidden"}}`),
			want:     nodecause.Unauthorized,
		},
		"OpenStack's policy forbids it, in Nova's form, quoted in a log": {
			evidence: failed(`err="{\"forbidden\": {\"code\": 403, \"message\": \"Policy doesn't allow it\"}}"`),
			want:     nodecause.Unauthorized,
		},
		"AWS' policy forbids it": {
			evidence: failed("https response error StatusCode: 403, api error UnauthorizedOperation: You are not authorized"),
			want:     nodecause.Unauthorized,
		},
		"Google Cloud forbids it": {
			evidence: failed("googleapi: Error 403: Required 'compute.instances.get' permission, forbidden"),
			want:     nodecause.Unauthorized,
		},
		"vCenter forbids it": {
			evidence: failed("ServerFaultCode: Permission to perform this operation was denied."), want: nodecause.Unauthorized,
		},

		"a quota is not a permission": {
			evidence: failed(openstack("403", `{"forbidden": {"message": "Quota exceeded for cores"}}`)),
			want:     nodecause.QuotaExceeded,
		},

		"OpenStack asks for patience": {evidence: failed(openstack("429", "")), want: nodecause.Throttled},
		"AWS asks for patience with a 503": {
			evidence: failed("https response error StatusCode: 503, api error RequestLimitExceeded: Request limit exceeded."),
			want:     nodecause.Throttled,
		},
		"the ID of a request is no status": {
			evidence: failed("request 429 of 503: flavor 401 has no name"), want: nodecause.Other,
		},

		"nobody listens": {
			evidence: failed(`Get "https://nova.example.com:8774/": dial tcp 192.0.2.1:8774: connect: connection refused`),
			want:     nodecause.Unreachable,
		},
		"the name does not resolve": {
			evidence: failed(`Get "https://nova.example.com/": dial tcp: lookup nova.example.com on 192.0.2.53:53: no such host`),
			want:     nodecause.Unreachable,
		},
		"the cloud has no such region": {
			evidence: failed("failed to find compute v2 endpoint for region RegionTwo: No suitable endpoint could be found in " +
				"the service catalog."),
			want: nodecause.NoEndpoint,
		},
		"the cloud has no load-balancer API": {
			evidence: failed("Failed to create an OpenStack LoadBalancer client: failed to find load-balancer v2 endpoint for " +
				"region RegionOne: No suitable endpoint could be found in the service catalog."),
			want: nodecause.NoLoadBalancers,
		},
		"the cloud has no network API": {
			evidence: failed("Failed to create an OpenStack Network client: failed to find network v2 endpoint for region " +
				"RegionOne: No suitable endpoint could be found in the service catalog."),
			want: nodecause.NoEndpoint,
		},
		"a proxy wants credentials": {
			evidence: failed(`Post "https://keystone.example.com:5000/v3/auth/tokens": Proxy Authentication Required`),
			want:     nodecause.ProxyRefused,
		},
		"a proxy forbids the cloud": {
			evidence: failed(`Post "https://keystone.example.com:5000/v3/auth/tokens": Forbidden`),
			want:     nodecause.ProxyRefused,
		},
		"a proxy forbids the cloud, in a log": {
			evidence: failed(`err="Get \"https://ec2.example.com/\": Forbidden"`), want: nodecause.ProxyRefused,
		},
		"the API itself forbids it": {
			evidence: failed(`Get "https://nova.example.com/": got 403 instead: Forbidden`), want: nodecause.Unauthorized,
		},
		"the API takes too long": {
			evidence: failed(`Get "https://nova.example.com/": context deadline exceeded`), want: nodecause.Unreachable,
		},
		"a token has expired, and the login is not reached": {
			evidence: failed("Unable to re-authenticate: " + openstack("401", "{}") +
				`: Post "https://keystone.example.com/v3/auth/tokens": dial tcp 192.0.2.1:5000: connect: connection refused`),
			want: nodecause.Unreachable,
		},

		"the API is down": {
			evidence: failed(openstack("503", "<html><body>Service Unavailable</body></html>")), want: nodecause.Unavailable,
		},
		"a token has expired, and the login is down": {
			evidence: failed("Unable to re-authenticate: " + openstack("401", "{}") + ": " + openstack("502", "")),
			want:     nodecause.Unavailable,
		},

		"nobody trusts the certificate": {
			evidence: failed(`Get "https://nova.example.com/": tls: failed to verify certificate: x509: certificate signed by unknown authority`),
			want:     nodecause.Certificate,
		},
		"the certificate has expired": {
			evidence: failed(`Get "https://nova.example.com/": tls: failed to verify certificate: x509: certificate has expired or is not yet valid`),
			want:     nodecause.Certificate,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := nodecause.Of(tc.evidence)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want == nodecause.Unknown, got.Cause() == "", "a cause")
			require.Equal(t, tc.want == nodecause.Unknown, got.Action() == "", "an action")
		})
	}
}

func TestTheLastAttemptForEachNodeIsFound(t *testing.T) {
	const unanswered = "sync node error: [NodeAddress] list ecs instances from api: SDK.ServerError, ErrorCode: ServiceUnavailable, " +
		"Message: Service Unavailable"
	const at = "1124 12:03:04.123456       1 node_controller.go:"
	begin := func(node string) string {
		return "I" + at + "432] Initializing node " + node + " with cloud provider\n"
	}
	fail := func(node, text string) string {
		return "I" + at + "236] error syncing '" + node + "': failed to get instance metadata for node " + node + ": " + text +
			", requeuing\n" + "E" + at + `247] "Unhandled Error" err="error syncing '` + node + `': ` + text + `, requeuing"` + "\n"
	}
	for name, tc := range map[string]struct {
		log  string
		want map[string]nodecause.Attempt
	}{
		"an empty log": {want: map[string]nodecause.Attempt{}},
		"the error of each node, without what every attempt logs": {
			log: begin("m1") + fail("m1", "a") + begin("m1") + fail("m1", "b: c") + begin("m10") + fail("m10", "d"),
			want: map[string]nodecause.Attempt{
				"m1": {Error: "b: c"}, "m10": {Error: "d"},
			},
		},
		"a modifier's error": {
			log: "I" + at + `236] error syncing 'm1': failed to get node modifiers from cloud provider: provided node ip for node "m1" ` +
				"is not valid: x, requeuing\n",
			want: map[string]nodecause.Attempt{"m1": {Error: `provided node ip for node "m1" is not valid: x`}},
		},
		"an attempt under way":          {log: begin("m1"), want: map[string]nodecause.Attempt{"m1": {Pending: true}}},
		"an attempt after a failed one": {log: fail("m1", "a") + begin("m1"), want: map[string]nodecause.Attempt{"m1": {Error: "a", Pending: true}}},
		"a node that was initialized": {
			log:  fail("m1", "a") + begin("m1") + "I" + at + "477] Successfully initialized node m1 with cloud provider\n",
			want: map[string]nodecause.Attempt{"m1": {Succeeded: true}},
		},
		"a node that the provider skips": {
			log:  begin("m1") + "I" + at + "442] Skip sync node m1 because cloud provided nil metadata\n",
			want: map[string]nodecause.Attempt{"m1": {Error: "because cloud provided nil metadata"}},
		},
		"OpenStack's provider logs before why it has no client": {
			log: begin("m1") + "E" + at + "68] unable to access network v2 API : failed to find network v2  endpoint: got 429 instead: {}\n" +
				fail("m1", "failed to get instances from cloud provider") + fail("m2", "failed to find object"),
			want: map[string]nodecause.Attempt{
				"m1": {Error: "failed to find network v2  endpoint: got 429 instead: {}"}, "m2": {Error: "failed to find object"},
			},
		},
		"vSphere's provider logs before why it found no machine, once for each look-up": {
			log: begin("m1") + "E" + at + "120] shakeOutNodeIDLookup failed. Err=Post \"https://vc/sdk\": x509: expired\n" +
				"E" + at + "120] shakeOutNodeIDLookup failed. Err=ServerFaultCode: The session is not authenticated.\n" +
				fail("m1", unknownByVSphere) + begin("m2") + fail("m2", unknownByVSphere),
			want: map[string]nodecause.Attempt{
				"m1": {Error: "ServerFaultCode: The session is not authenticated."}, "m2": {Error: unknownByVSphere},
			},
		},
		"vSphere's provider finds the machine, with another host name": {
			log: begin("m1") + "E" + at + "109] " + otherHostName + "\n" + fail("m1", unknownByVSphere),
			want: map[string]nodecause.Attempt{
				"m1": {Error: otherHostName},
			},
		},
		"vSphere's provider looks up a Node that does not wait": {
			log: begin("m1") + "E" + at + "120] shakeOutNodeIDLookup failed. Err=No VM found\n" +
				"E" + at + "120] shakeOutNodeIDLookup failed. Err=nodeID is empty\n" + fail("m1", unknownByVSphere),
			want: map[string]nodecause.Attempt{
				"m1": {Error: "No VM found"},
			},
		},
		"a provider without a reason": {
			log:  fail("m1", "failed to get instances from cloud provider"),
			want: map[string]nodecause.Attempt{"m1": {Error: "failed to get instances from cloud provider"}},
		},
		"an error of several lines": {
			log: "I" + at + "236] error syncing 'm1': got 503 instead: <html>\n<body>\n error syncing 'm2': x, requeuing\n",
			want: map[string]nodecause.Attempt{
				"m1": {Error: "got 503 instead: <html>"},
			},
		},
		"Alibaba Cloud's provider passes by a node without a provider ID": {
			log: "E" + at + `277] node-controller "msg"="unrecognized node type, skip sync node" "error"=null "node"="m1"` + "\n" +
				"I" + at + `170] node-controller "msg"="Successfully initialized nodes" "nodes"=["m1"]` + "\n",
			want: map[string]nodecause.Attempt{"m1": {Error: "unrecognized node type, skip sync node"}},
		},
		"Alibaba Cloud's provider of 2025 looks up an empty provider ID": {
			log: "I" + at + `340] node-controller "msg"="cloud node not found by prvdId, skip update node address" "node"="m1" "prvdId"=""` +
				"\n" + "I" + at + `340] node-controller "msg"="cloud node not found by prvdId, skip update node address" "node"="m2" ` +
				`"prvdId"="cn-hangzhou.i-1"` + "\n",
			want: map[string]nodecause.Attempt{
				"m1": {Error: `cloud node not found by prvdId ""`}, "m2": {Error: `cloud node not found by prvdId "cn-hangzhou.i-1"`},
			},
		},
		"Alibaba Cloud's provider does not look up a batch of nodes again": {
			log: "E" + at + `188] node-controller "msg"="sync node error" "error"="[NodeAddress] list ecs instances from api: ` +
				`SDK.ServerError\nErrorCode: ServiceUnavailable\nRecommend: \nRequestId: 3078\nMessage: Service Unavailable\n` +
				`RespHeaders: map[Content-Length:[152]]" "names"=["m1","m2"]` + "\n",
			want: map[string]nodecause.Attempt{"m1": {Error: unanswered}, "m2": {Error: unanswered}},
		},
		"a batch of nodes in another form": {
			log:  "E" + at + `188] node-controller "msg"="sync node error" "error"="denied" "names"=["m1" "m2"] more` + "\n",
			want: map[string]nodecause.Attempt{},
		},
		"Alibaba Cloud's provider fails to write a node": {
			log: "E" + at + `400] node-controller "msg"="patch node address error, wait for next retry" "error"="nodes \"m1\" is forbidden" ` +
				`"node"="m1"` + "\n",
			want: map[string]nodecause.Attempt{
				"m1": {Error: `patch node address error, wait for next retry: nodes "m1" is forbidden`},
			},
		},
		"a line that is cut": {log: "I" + at + "236] error syncing 'm1': the secret is s3c", want: map[string]nodecause.Attempt{}},
		"other lines": {
			log:  "I" + at + "1] error syncing 'm1\n" + "I" + at + "1] Adding node label from cloud provider: a=b\n",
			want: map[string]nodecause.Attempt{},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nodecause.Attempts(tc.log)) })
	}
}

func TestAPresentAttemptIsOfThisNodeAndNotOvertaken(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 5, 0, 0, time.UTC)
	line := func(at, message string) string {
		return "I1124 " + at + ".123456       1 node_controller.go:236] " + message + "\n"
	}
	begin := func(at, node string) string { return line(at, "Initializing node "+node+" with cloud provider") }
	end := func(at, node string) string {
		return line(at, "Successfully initialized node "+node+" with cloud provider")
	}
	fail := func(at, text string) string {
		return line(at, "error syncing 'm1': failed to get instance metadata for node m1: "+text)
	}
	const (
		rejected  = "got 401 instead: {}"
		retries   = ", requeuing"
		forbidden = "oauth2/google: status code 403: {"
		uncached  = "cannot find node with providerID vsphere://1 in nodeUUIDMap"
	)
	pending := nodecause.Attempt{Pending: true}
	for name, tc := range map[string]struct {
		log  string
		want nodecause.Attempt
	}{
		"an error": {fail("12:04:00", rejected+retries), nodecause.Attempt{Error: rejected}},
		"an error, and the login of another node succeeds": {
			fail("12:04:00", rejected+retries) + begin("12:04:01", "m2") + end("12:04:02", "m2"), nodecause.Attempt{Overtaken: true},
		},
		"an error after the login of another node": {
			end("12:04:00", "m2") + fail("12:04:01", rejected+retries), nodecause.Attempt{Error: rejected},
		},
		"an error of the node itself, and another one is initialized": {
			fail("12:04:00", "failed to find object"+retries) + end("12:04:02", "m2"), nodecause.Attempt{Error: "failed to find object"},
		},
		"an attempt that goes on": {
			fail("12:03:10", rejected+retries) + begin("12:03:30", "m1"), nodecause.Attempt{Error: rejected, Pending: true},
		},
		"an attempt that hangs":     {fail("12:02:00", rejected+retries) + begin("12:02:30", "m1"), pending},
		"an error of a former Node": {fail("11:50:00", rejected+retries), nodecause.Attempt{}},
		"a success of a former Node": {
			begin("11:50:00", "m1") + end("11:50:01", "m1"), nodecause.Attempt{},
		},
		"an error by a clock that is a little behind": {fail("11:57:00", rejected+retries), nodecause.Attempt{Error: rejected}},
		"an error of several lines": {
			fail("12:04:00", forbidden) + "  \"message\": \"iam.serviceAccounts.getAccessToken denied\"\n}\n, requeuing\n",
			nodecause.Attempt{Error: forbidden + ` "message": "iam.serviceAccounts.getAccessToken denied" }`},
		},
		"an error of several lines without an end": {
			fail("12:04:00", forbidden) + "\"got 401 instead\"\n" + line("12:04:01", "x"+retries), nodecause.Attempt{Error: forbidden},
		},
		"lines of another message": {
			line("12:03:00", "x") + "error syncing 'm1': got 401 instead, requeuing\n" + fail("12:04:00", "y"+retries) + "got 401 instead, requeuing\n",
			nodecause.Attempt{Error: "y"},
		},
		"vSphere's provider has logged why it has not discovered the node": {
			line("12:03:00", "error discovering node m1: VM Guest hostname is empty") + line("12:03:00", "error discovering node m2: x") +
				fail("12:04:00", uncached+retries),
			nodecause.Attempt{Error: "VM Guest hostname is empty"},
		},
		"vSphere's provider has logged it about another node": {
			line("12:03:00", "error discovering node m2: x") + fail("12:04:00", uncached+retries), nodecause.Attempt{Error: uncached},
		},
	} {
		t.Run(name, func(t *testing.T) {
			created := map[string]time.Time{"m1": now.Add(-5 * time.Minute)}
			require.Equal(t, tc.want, nodecause.PresentAttempts(tc.log, now, created)["m1"])
		})
	}
}

// unknownByVSphere is the error of vSphere's provider for a Node with a provider ID, whatever the vCenter has answered.
const unknownByVSphere = "node not found"

// otherHostName is what it logs before, if the machine's host name is not the Node's name (cloud-provider-vsphere#433 has
// the other line, about a Node that does not wait).
const otherHostName = "DiscoverNode succeeded, but CACHE missed for node=m1. If this is a Linux VM, hostnames are case " +
	"sensitive. Make sure they match."

func TestADescriptionHasWhatTheCloudWasAskedFor(t *testing.T) {
	m := nodecause.Machine{Node: "m1", SystemUUID: "4c4c-4544", NodeIP: "192.0.2.7"}
	unknown, named := platform.Lookup{}, platform.Lookup{Name: "name"}
	require.Equal(t, `no providerID, systemUUID "4c4c-4544"`, nodecause.UnknownMachine.Describe(m, unknown))
	require.Equal(t, `no providerID, looked up by the name "m1"`, nodecause.UnknownMachine.Describe(m, named))
	require.Equal(t, `node IP "192.0.2.7"`, nodecause.AddressMismatch.Describe(m, unknown))
	require.Empty(t, nodecause.Unavailable.Describe(m, unknown))
	m.ProviderID = "openstack:///1"
	require.Equal(t, `providerID "openstack:///1", systemUUID "4c4c-4544"`, nodecause.Ambiguous.Describe(m, unknown))
	require.Equal(t, `providerID "openstack:///1"`, nodecause.UnknownMachine.Describe(m, named))
}

// The names are values of a metric's label.
func TestEachClassHasAName(t *testing.T) {
	names := map[string]bool{}
	for class := nodecause.Unknown; class <= nodecause.Other; class++ {
		names[class.String()] = true
	}
	require.Len(t, names, int(nodecause.Other)+1)
	require.Equal(t, "Throttled", nodecause.Throttled.String())
	require.Equal(t, "Other", nodecause.Other.String())
}

func TestTheFirstLookupsAreThoseBeforeTheEndOfTheRound(t *testing.T) {
	const at = "1125 19:00:00.000000       1 node_controller.go:277] "
	const failure = "E" + at + `Error getting instance metadata for node addresses: Authentication failed` + "\n"
	const missing = "E" + at + "Error getting instance metadata for node addresses: cannot find node with providerID vsphere://1 in nodeUUIDMap\n"
	const rejected = "E" + at + "Failed to create govmomi client. err: ServerFaultCode: Cannot complete login due to an incorrect user name or password.\n"
	reads := func(vCenter string) string {
		return "I" + at + "Invalid credentials. Fetching credentials from secrets. vcServer=" + vCenter + " credentialHolder=vsphere-creds\n"
	}
	found := func(uuid string) string {
		return "I" + at + "Found node " + uuid + " as vm=1 in vc=2 and datacenter=3\n"
	}
	for name, tc := range map[string]struct {
		log  string
		want nodecause.Lookups
	}{
		"nothing was logged": {"", nodecause.Lookups{}},
		"the round goes on":  {failure, nodecause.Lookups{Failed: 1, Error: "Authentication failed"}},
		"one of three failed": {
			"I" + at + "Waiting for informer caches to sync\n" + failure + "I" + at + "Update 3 nodes status took 12ms.\n" + failure,
			nodecause.Lookups{Ended: true, Nodes: 3, Failed: 1, Error: "Authentication failed"},
		},
		"vSphere's provider logs before why it found no machine": {
			"E" + at + "shakeOutNodeIDLookup failed. Err=ServerFaultCode: Permission to perform this operation was denied.\n" +
				"E" + at + "Error getting instance metadata for node addresses: node not found\n",
			nodecause.Lookups{Failed: 1, Error: "ServerFaultCode: Permission to perform this operation was denied."},
		},
		"vSphere's provider would log in again and again": {
			rejected + reads("a") + rejected + rejected + "I" + at + "Update 3 nodes status took 12ms.\n",
			nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: "ServerFaultCode: Cannot complete login due to an incorrect user name or password."},
		},
		"vSphere's provider begins without credentials": {
			rejected + reads("a") + rejected + reads("b") + "I" + at + "Update 3 nodes status took 12ms.\n",
			nodecause.Lookups{Ended: true, Nodes: 3},
		},
		"vSphere's provider does not trust the vCenter": {
			"E" + at + "Failed to create govmomi client. err: tls: failed to verify certificate: x509: unknown\n",
			nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: "tls: failed to verify certificate: x509: unknown"},
		},
		"vSphere's provider may reach the vCenter next time": {
			"E" + at + "Failed to create govmomi client. err: dial tcp 192.0.2.1:443: connect: connection refused\n", nodecause.Lookups{},
		},
		"vSphere's provider has found no node yet": {
			missing + missing + "I" + at + "Update 2 nodes status took 12ms.\n" + found("a"),
			nodecause.Lookups{Nodes: 2},
		},
		"vSphere's provider finds the nodes after the round": {
			missing + missing + "I" + at + "Update 2 nodes status took 12ms.\n" + found("a") + found("A") + found("b"),
			nodecause.Lookups{Ended: true, Nodes: 2},
		},
		"vSphere's provider fails before the end of the round": {
			"E" + at + "error discovering node m0: Authentication failed\n" + missing + "I" + at + "Update 1 nodes status took 12ms.\n",
			nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: "Authentication failed"},
		},
		"vSphere's provider had found one of the nodes": {
			found("a") + missing + "I" + at + "Update 2 nodes status took 12ms.\n" + "E" + at + "error discovering node m1: no VM found\n",
			nodecause.Lookups{Ended: true, Nodes: 2, Failed: 1, Error: "no VM found"},
		},
		"Nutanix' provider may not label the nodes that it has looked up": {
			"E" + at + "Error getting instance metadata for node addresses: error occurred while updating labels on node m1\n" +
				"I" + at + "Update 1 nodes status took 12ms.\n",
			nodecause.Lookups{Ended: true, Nodes: 1},
		},
		"Azure's SDK does not trust the login": {
			"[Nov 25 19:00:00.000000] Retry: error Get \"https://a\": tls: failed to verify certificate: x509: unknown\n",
			nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: "Get \"https://a\": tls: failed to verify certificate: x509: unknown"},
		},
		"a proxy refuses Azure's SDK": {
			"[Nov 25 19:00:00.000000] Retry: error Get \"https://a\": Forbidden\n",
			nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: "Get \"https://a\": Forbidden"},
		},
		"Azure's SDK may reach the login next time": {
			"[Nov 25 19:00:00.000000] Retry: error Get \"https://a\": EOF\n", nodecause.Lookups{},
		},
		"Azure's SDK reaches the login twice in vain": {
			strings.Repeat("[Nov 25 19:00:00.000000] Retry: error Get \"https://a\": EOF\n", 2),
			nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: "Get \"https://a\": EOF"},
		},
		"the line is not complete":     {"I" + at + "Update 3 nodes status took 12", nodecause.Lookups{}},
		"something else has the words": {"Update 3 nodes status took 12ms.\n", nodecause.Lookups{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nodecause.FirstLookups(tc.log)) })
	}
}

func TestTheLastLookupsAreThoseOfTheLastRoundThatEnded(t *testing.T) {
	const at = "1125 19:00:00.000000       1 node_controller.go:277] "
	const failure = "E" + at + `Error getting instance metadata for node addresses: Authentication failed` + "\n"
	const end = "I" + at + "Update 3 nodes status took 12ms.\n"
	require.Equal(t, nodecause.Lookups{}, nodecause.LastLookups(failure))
	require.Equal(t, nodecause.Lookups{Ended: true, Nodes: 3}, nodecause.LastLookups(failure+end+end+failure))
	require.Equal(t, nodecause.Lookups{Ended: true, Nodes: 3, Failed: 1, Error: "Authentication failed"},
		nodecause.LastLookups(end+failure+end))
}

// What cannot be cured by other credentials. AWS wraps each error of a login in "failed to refresh cached credentials".
func TestAFederatedLoginAndAClockAreNoWrongCredentials(t *testing.T) {
	aws := func(text string) string {
		return "operation error EC2: DescribeInstances, get identity: get credentials: failed to refresh cached credentials, " + text
	}
	sts := func(status, text string) string {
		return aws("failed to retrieve credentials, operation error STS: AssumeRoleWithWebIdentity, https response error StatusCode: " +
			status + ", RequestID: 1, " + text)
	}
	azure := func(text string) string {
		return `POST https://login.microsoftonline.com/t/oauth2/v2.0/token: RESPONSE 401 Unauthorized {"error":"invalid_client","error_description":"` + text + `"}`
	}
	google := func(text string) string { return `Get "https://compute.googleapis.com/": oauth2/google: ` + text }
	for name, tc := range map[string]struct {
		text string
		want nodecause.Class
	}{
		"AWS has no identity provider for the issuer": {
			sts("400", "InvalidIdentityToken: No OpenIDConnect provider found in your account for https://issuer"), nodecause.NoIdentityProvider,
		},
		"AWS does not reach the issuer": {
			sts("400", "InvalidIdentityToken: Couldn't retrieve verification key from your identity provider"), nodecause.NoIdentityProvider,
		},
		"AWS expects another audience": {sts("400", "InvalidIdentityToken: Incorrect token audience"), nodecause.NotTrusted},
		"the role's trust policy has another subject": {
			sts("403", "api error AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity"), nodecause.NotTrusted,
		},
		"the token's file does not exist on AWS": {
			aws("failed to retrieve jwt from provide source, unable to read file at /t/token: open /t/token: no such file or directory"), nodecause.NoToken,
		},
		"the token's file does not exist on Google Cloud": {google(`failed to open credential file "/t/token"`), nodecause.NoToken},
		"the token has expired": {
			sts("400", "ExpiredTokenException: Token expired: current date/time 1700000100 must be before the expiration date/time 1700000000"),
			nodecause.NoToken,
		},
		"AWS finds no credentials, and the instance has no role": {
			aws("no EC2 IMDS role found, operation error ec2imds: GetMetadata, http response error StatusCode: 404, request to EC2 " +
				"IMDS failed"), nodecause.NoCredentials,
		},
		"AWS finds no credentials, and the instance's metadata cannot be reached": {
			aws("no EC2 IMDS role found, operation error ec2imds: GetMetadata, canceled, context deadline exceeded"),
			nodecause.Unreachable,
		},
		"AWS has no region": {
			aws("operation error STS: AssumeRoleWithWebIdentity, failed to resolve service endpoint, endpoint rule error, Invalid Configuration: Missing Region"),
			nodecause.NoRegion,
		},
		"Google Cloud's service account is not bound": {
			google(`status code 403: {"error":{"message":"Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist)."}}`),
			nodecause.NotTrusted,
		},
		"Google Cloud has no such provider": {
			google(`status code 400: {"error":"invalid_target","error_description":"The target service indicated by the \"audience\" parameters is invalid."}`),
			nodecause.NoIdentityProvider,
		},
		"Google Cloud's provider has another issuer": {
			google(`status code 400: {"error":"invalid_grant","error_description":"The issuer in ID Token https://a does not match the expected ones"}`),
			nodecause.NoIdentityProvider,
		},
		"Google Cloud's provider has another audience": {
			google(`status code 400: {"error":"invalid_grant","error_description":"The audience in ID Token [openshift] does not match"}`), nodecause.NotTrusted,
		},
		"AWS's call of the issuer fails": {
			sts("400", "api error IDPCommunicationError: IDP communication error"), nodecause.NoIdentityProvider,
		},
		"the issuer refuses a claim": {sts("403", "api error IDPRejectedClaim: the token was revoked"), nodecause.NotTrusted},
		"Google Cloud does not reach the issuer": {
			google(`status code 400: {"error":"invalid_grant","error_description":"Error connecting to the given credential's issuer."}`),
			nodecause.NoIdentityProvider,
		},
		"Google Cloud's provider has a condition": {
			google(`status code 401: {"error":"unauthorized_client","error_description":"The given credential is rejected by the attribute condition."}`),
			nodecause.NotTrusted,
		},
		"the token is too old for Google Cloud": {
			google(`status code 400: {"error":"invalid_grant","error_description":"ID Token issued at 1713260741 is stale to sign-in."}`), nodecause.NoToken,
		},
		"Azure has no federated credential":          {azure("AADSTS70021: No matching federated identity record found"), nodecause.NotTrusted},
		"Azure's federated credential: the issuer":   {azure("AADSTS700211: No matching record found for presented assertion issuer"), nodecause.NoIdentityProvider},
		"Azure's federated credential: the audience": {azure("AADSTS700212: No matching record found for presented assertion audience"), nodecause.NotTrusted},
		"Azure's federated credential: the subject":  {azure("AADSTS700213: No matching record found for presented assertion subject"), nodecause.NotTrusted},
		"AWS' clock is another":                      {"https response error StatusCode: 400, api error RequestExpired: Request has expired.", nodecause.WrongClock},
		"AWS' clock, in a signature": {
			"https response error StatusCode: 403, api error SignatureDoesNotMatch: Signature expired: 20261121T080000Z is now earlier than 20261121T084500Z",
			nodecause.WrongClock,
		},
		"Google Cloud's clock is another": {
			`oauth2: cannot fetch token: 400 Bad Request Response: {"error":"invalid_grant","error_description":"Invalid JWT: Token must be a ` +
				`short-lived token (60 minutes) and in a reasonable timeframe."}`, nodecause.WrongClock,
		},
		"Azure's clock is another": {azure("AADSTS700024: Client assertion is not within its valid time range."), nodecause.WrongClock},
		"a certificate is of the future": {
			"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is before 2026-11-21T00:00:00Z",
			nodecause.WrongClock,
		},
		"Azure's client secret has expired":    {azure("AADSTS7000222: The provided client secret keys for app are expired."), nodecause.Unauthenticated},
		"Azure's client secret is another":     {azure("AADSTS7000215: Invalid client secret provided."), nodecause.Unauthenticated},
		"Google Cloud's key was deleted":       {`oauth2: cannot fetch token: 400 {"error":"invalid_grant","error_description":"Invalid JWT Signature."}`, nodecause.Unauthenticated},
		"AWS' session token has expired":       {"api error ExpiredToken: The security token included in the request is expired", nodecause.Unauthenticated},
		"AWS' STS cannot be reached":           {aws("operation error STS: AssumeRoleWithWebIdentity, dial tcp 192.0.2.1:443: i/o timeout"), nodecause.Unreachable},
		"AWS refuses the static key":           {aws("api error InvalidClientTokenId: The security token included in the request is invalid"), nodecause.Unauthenticated},
		"AWS forbids what the role may not do": {"api error UnauthorizedOperation: You are not authorized to perform this operation", nodecause.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, nodecause.ClassOf(tc.text))
			isCredentials := strings.Contains(tc.want.Action(), "replace the credentials")
			require.Equal(t, tc.want == nodecause.Unauthenticated, isCredentials, tc.want.Action())
		})
	}
}

func TestTheActionAboutAnUnknownMachineKnowsTheCloudsNames(t *testing.T) {
	openstack, aws := platform.Lookup{Name: "name", Domain: platform.NoDomain}, platform.Lookup{Name: "private DNS name", Domain: platform.WithDomain}
	vsphere := platform.Lookup{Name: "name", SystemUUID: true, BareMetal: true}
	const (
		has      = "the node's name has a domain"
		lacks    = "the node's name has no domain"
		isID     = "the node's name is looked up as an instance ID"
		untaints = "remove the taint by hand: oc adm taint nodes "
	)
	for name, tc := range map[string]struct {
		by       platform.Lookup
		machines []nodecause.Machine
		want     []string
		not      []string
	}{
		"a name like the cloud's":                 {openstack, []nodecause.Machine{{Node: "a"}}, []string{"check that"}, []string{has, lacks, isID, untaints}},
		"one of two names has a domain":           {openstack, []nodecause.Machine{{Node: "a"}, {Node: "b.example.com"}}, []string{has, `name the instance "b.example.com"`}, nil},
		"a providerID makes the name unimportant": {openstack, []nodecause.Machine{{Node: "a.example.com", ProviderID: "openstack:///1"}}, nil, []string{has}},
		"a private DNS name":                      {aws, []nodecause.Machine{{Node: "ip-10-0-144-157.eu-west-1.compute.internal"}}, nil, []string{has, lacks, isID}},
		"a private DNS name without its domain":   {aws, []nodecause.Machine{{Node: "ip-10-0-144-157"}}, []string{lacks}, nil},
		"an instance ID":                          {aws, []nodecause.Machine{{Node: "i-0123456789abcdef0"}}, nil, []string{has, lacks, isID}},
		"an instance ID with a domain":            {aws, []nodecause.Machine{{Node: "i-0123456789abcdef0.aws.example.com"}}, []string{isID}, nil},
		"a worker that may be on bare metal":      {vsphere, []nodecause.Machine{{Node: "a"}}, []string{untaints + "a "}, nil},
		"several such workers":                    {vsphere, []nodecause.Machine{{Node: "a"}, {Node: "b"}}, []string{untaints + "<node> "}, nil},
		"a virtual machine":                       {vsphere, []nodecause.Machine{{Node: "a", ProviderID: "vsphere://1"}}, nil, []string{untaints}},
		"names of which nothing is known":         {platform.Lookup{}, []nodecause.Machine{{Node: "a.b"}}, []string{nodecause.UnknownMachine.Action()}, []string{has}},
	} {
		t.Run(name, func(t *testing.T) {
			action := nodecause.UnknownMachine.ActionFor(tc.by, tc.machines...)
			for _, want := range tc.want {
				require.Contains(t, action, want)
			}
			for _, not := range tc.not {
				require.NotContains(t, action, not)
			}
		})
	}
	require.Equal(t, nodecause.Throttled.Action(), nodecause.Throttled.ActionFor(vsphere, nodecause.Machine{Node: "a"}))
}
