package nodecause_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

// TestAnErrorFromTheFieldHasItsClass has errors of public threads, shortened, with other names and numbers, and of the
// providers and their clouds' documents. Each ends an attempt to initialize a node, a change of a load balancer, or the
// process.
func TestAnErrorFromTheFieldHasItsClass(t *testing.T) {
	const (
		adal     = "azure.BearerAuthorizer#WithAuthorization: Failed to refresh the Token for request to https://management.azure.com/: "
		autorest = "network.LoadBalancersClient#List: Failure responding to request: "
		raw      = "Retriable: false, RetryAfter: 0s, HTTPStatusCode: "
		octavia  = "https://octavia.example.com:9876/v2.0/lbaas/"
	)
	for _, tc := range []struct {
		thread, text string
		want         nodecause.Class
	}{
		// OpenStack.
		{"cloud-provider-openstack#970", "Resource not found", nodecause.Other},
		{"cloud-provider-openstack#1441", "error creating loadbalancer: Bad request with: [POST " + octavia + "loadbalancers], error message: " +
			`{"faultcode": "Client", "faultstring": "Validation failure: Pools must be named", "debuginfo": null}`, nodecause.Other},
		{"cloud-provider-openstack#1305", `could not init cloud provider "openstack": Authentication failed`, nodecause.Unauthenticated},
		{"cloud-provider-openstack#2200", "failed to get instance ID from cloud provider: Successfully re-authenticated, but got error executing " +
			"request: Authentication failed", nodecause.Unavailable},
		{"cloud-provider-openstack#2200, by a later gophercloud", "Successfully re-authenticated, but got error executing request: Expected HTTP " +
			"response code [200] when accessing [GET https://nova.example.com/servers], but got 401 instead: Unauthorized", nodecause.Unavailable},
		{"a machine that is gone, after another login", "Successfully re-authenticated, but got error executing request: failed to find object",
			nodecause.UnknownMachine},
		{"cloud-provider-openstack#2062", `error fetching node by provider ID: ProviderID "" didn't match expected format ` +
			`"openstack:///InstanceID", and error by node name: failed to find object`, nodecause.UnknownMachine},
		{"k8s-on-openstack#6", `could not init cloud provider "openstack": Post http://controller:5000/v3/auth/tokens: dial tcp: lookup ` +
			"controller on 192.0.2.53:53: no such host", nodecause.Unreachable},
		{"machine-controller#1004", `could not init cloud provider "openstack": You must provide a password to authenticate`, nodecause.NoCredentials},
		{"cluster-api-provider-openstack#3061", "You must provide an Application Credential Secret", nodecause.NoCredentials},
		{"kubespray#9518", `Post "https://keystone.example.com:5000/v3/auth/tokens": x509: certificate signed by unknown authority`,
			nodecause.Certificate},
		{"gophercloud's former word for 403", "Request forbidden: [POST " + octavia + `loadbalancers], error message: {"debuginfo": null, ` +
			`"faultcode": "Client", "faultstring": "Policy does not allow this request to be performed."}`, nodecause.Unauthorized},
		{"gophercloud's former word for 403, of a quota", "Request forbidden: [POST " + octavia + `loadbalancers], error message: {"debuginfo": ` +
			`null, "faultcode": "Client", "faultstring": "Quota has been met for resources: Load Balancer"}`, nodecause.QuotaExceeded},
		{"gophercloud's former word for 503", "The service is currently unable to handle the request due to a temporary overloading or " +
			"maintenance. This is a temporary condition. Try again later.", nodecause.Unavailable},
		{"Neutron's quota", "Expected HTTP response code [201] when accessing [POST https://neutron.example.com/v2.0/security-group-rules], but got " +
			`409 instead: {"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['security_group_rule'].", "detail": ""}}`,
			nodecause.QuotaExceeded},
		{"cloud-provider-openstack#1208", "failed to get node modifiers from cloud provider: failed to find kubelet node IP from cloud provider",
			nodecause.AddressMismatch},

		// vSphere.
		{"cloud-provider-vsphere#326", "ServerFaultCode: Cannot complete login due to an incorrect user name or password.", nodecause.Unauthenticated},
		{"cloud-provider-vsphere#390", "unable to find suitable IP address for node 42336a7c-ca0f-77ca-7fb1-094c735bec09 with IP family [ipv4]",
			nodecause.NoAddress},
		{"cloud-provider-vsphere#338", "VM GuestNicInfo is empty", nodecause.NoAddress},
		{"cloud-provider-vsphere#381", "VM Guest hostname is empty", nodecause.NoAddress},
		{"the name of a machine in other letters", otherHostName, nodecause.NoAddress},
		{"vsphere-csi-driver#2475", "failed to get instance ID from cloud provider: No VM found", nodecause.UnknownMachine},
		{"cloud-provider-vsphere#482", "datacenter 'DC - Region' not found", nodecause.UnknownMachine},
		{"cloud-provider-vsphere#482, by the provider", "datacenter not found", nodecause.UnknownMachine},
		{"installer#6770", "vSphere region category openshift-region does not match any tags for mo: VirtualMachine:vm-1045339", nodecause.NoZone},
		{"installer#6770, of a former release", "failed to get zone from cloud provider: vSphere zone category openshift-zone does not match any tags " +
			"for mo: HostSystem:host-1", nodecause.NoZone},
		{"kubernetes#73307", "failed to get zone from cloud provider: POST https://vc.example.com:443/rest/com/vmware/cis/tagging/tag-association" +
			"?~action=list-attached-tags: 403 Forbidden", nodecause.Unauthorized},
		{"the same, and a login that ended", "GET https://vc.example.com/rest/com/vmware/cis/tagging/tag/id:1: 401 Unauthorized",
			nodecause.Unauthenticated},
		{"a vCenter with another certificate", `Post "https://vc.example.com/sdk": host "vc.example.com:443" thumbprint does not match "AA:BB"`,
			nodecause.Certificate},
		{"a Secret without the vCenter's keys", "Credentials not found", nodecause.NoCredentials},
		{"a Secret without a password", "Username/Password is missing", nodecause.NoCredentials},
		{"a certificate for another name", `Post "https://192.0.2.7/sdk": tls: failed to verify certificate: x509: cannot validate certificate for ` +
			"192.0.2.7 because it doesn't contain any IP SANs", nodecause.Certificate},

		// AWS.
		{"cloud-provider-aws#285", "failed to get instance ID from cloud provider: instance not found", nodecause.UnknownMachine},
		{"cloud-provider-aws#724", "Invalid format for AWS instance (aws:///i-1)", nodecause.UnknownMachine},
		{"kubernetes#52797", "error listing AWS instances: NoCredentialProviders: no valid providers in chain. Deprecated.", nodecause.NoCredentials},
		{"kserve#2179", "TooManyLoadBalancers: Exceeded quota of account 123456789012\n\tstatus code: 400, request id: 5b9b", nodecause.QuotaExceeded},
		{"the same, by the present SDK", "operation error Elastic Load Balancing v2: CreateLoadBalancer, https response error StatusCode: 400, " +
			"RequestID: 5b9b, TooManyLoadBalancers: The maximum number of load balancers has been reached", nodecause.QuotaExceeded},
		{"zalando kubernetes-on-aws#195", "error authorizing security group ingress: RulesPerSecurityGroupLimitExceeded: The maximum number of rules " +
			"per security group has been reached.", nodecause.QuotaExceeded},
		{"a VPC full of security groups", "api error SecurityGroupLimitExceeded: The maximum number of security groups for VPC 'vpc-1' has been reached.",
			nodecause.QuotaExceeded},
		{"a request too many", "api error RequestLimitExceeded: Request limit exceeded.", nodecause.Throttled},
		{"dwmkerr terraform-aws-openshift#73", "Multiple tagged security groups found for instance i-0f53; ensure only the k8s security group is tagged",
			nodecause.Other},
		{"a role without a policy", "AccessDenied: User: arn:aws:sts::123456789012:assumed-role/a/b is not authorized to perform: " +
			"elasticloadbalancing:DescribeLoadBalancers because no identity-based policy allows it\n\tstatus code: 403", nodecause.Unauthorized},
		{"a token of another issuer", "WebIdentityErr: failed to retrieve credentials\ncaused by: InvalidIdentityToken: No OpenIDConnect provider " +
			"found in your account for https://issuer\n\tstatus code: 400", nodecause.NoIdentityProvider},

		{"kubermatic#13838", `could not init cloud provider "aws": error creating AWS metadata client: "unable to get instance identity document: ` +
			`EC2MetadataError: failed to make EC2Metadata request\n\n\tstatus code: 401, request id: "`, nodecause.Other},
		{"kubermatic#13838, by the present SDK", "operation error ec2imds: GetMetadata, http response error StatusCode: 401, request to EC2 IMDS failed",
			nodecause.Other},
		{"cloud-provider-aws#1027", `could not init cloud provider "aws": error creating AWS metadata client: "EC2MetadataRequestError: failed to get ` +
			`EC2 instance identity document\ncaused by: RequestCanceled: EC2 IMDS access disabled via AWS_EC2_METADATA_DISABLED env var"`,
			nodecause.Other},
		{"hive#1610", "AccessDenied: User: a is not authorized to perform: iam:CreateServiceLinkedRole on resource: b", nodecause.Unauthorized},

		// Azure.
		{"aad-pod-identity#778", adal + "StatusCode=403 -- Original Error: adal: Refresh request failed. Status Code = '403'. Response body: " +
			`{"error":"invalid_request","error_description":"Identity not found"}`, nodecause.NoCredentials},
		{"autoscaler#6934", "ManagedIdentityCredential authentication failed\nGET http://169.254.169.254/metadata/identity/oauth2/token\nRESPONSE " +
			`400 Bad Request {"error": "invalid_request", "error_description": "Identity not found"}`, nodecause.NoCredentials},
		{"microsoft openshift-container-platform#193", adal + "StatusCode=401 -- Original Error: adal: Refresh request failed. Status Code = '401'. " +
			`Response body: {"error":"invalid_client","error_description":"AADSTS7000222: The provided client secret keys are expired."}`,
			nodecause.Unauthenticated},
		{"terraform-provider-azurestack#82", adal + "StatusCode=503 -- Original Error: adal: Refresh request failed. Status Code = '503'. Response " +
			"body: ", nodecause.Unavailable},
		{"jenkins-infra azure#250", raw + `403, RawError: {"error":{"code":"AuthorizationFailed","message":"The client 'a' with object id 'a' does not ` +
			`have authorization to perform action 'Microsoft.Network/virtualNetworks/subnets/read' over scope 'b'"}}`, nodecause.Unauthorized},
		{"AKS#1945", `Code="LinkedAuthorizationFailed" Message="The client 'a' with object id 'a' has permission to perform action ` +
			`'Microsoft.Network/loadBalancers/write' on scope 'b'; however, it does not have permission to perform action 'c'"`, nodecause.Unauthorized},
		{"docs-pks#1092", autorest + `StatusCode=403 -- Original Error: autorest/azure: Service returned an error. Status=403 Code="Forbidden"`,
			nodecause.Unauthorized},
		{"okd#128", "ensure(openshift-ingress/router-default): backendPoolID(a) - failed to ensure host in pool: \"azure - cloud provider rate " +
			"limited(read) for operation:NicGet\"", nodecause.Throttled},
		{"cloud-provider-azure#5904", raw + `0, RawError: azure cloud provider throttled for operation VMSSVMList with reason "client throttled"`,
			nodecause.Throttled},
		{"terraform-provider-azurerm#19146", `autorest/azure: Service returned an error. Status=429 Code="OperationNotAllowed" Message="The server ` +
			`rejected the request." Details=[{"code":"TooManyRequests"}]`, nodecause.Throttled},
		{"azqr#34", "RESPONSE 429: 429 Too Many Requests ERROR CODE: ResourceRequestsThrottled", nodecause.Throttled},
		{"a region's public addresses", "RESPONSE 400: 400 Bad Request ERROR CODE: StandardSkuPublicIPCountLimitReached", nodecause.QuotaExceeded},
		{"AKS#1692", "timed out waiting for the condition", nodecause.Other},
		{"a configuration without credentials", "no credentials provided for Azure cloud provider", nodecause.NoCredentials},

		// Google Cloud.
		{"kubernetes#19120", "googleapi: Error 403: Quota 'BACKEND_SERVICES' exceeded.  Limit: 3.0", nodecause.QuotaExceeded},
		{"a quota, by an operation", "googleapi: Error 403: QUOTA_EXCEEDED - Quota 'FORWARDING_RULES' exceeded.  Limit: 15.0 globally.",
			nodecause.QuotaExceeded},
		{"too many requests", "googleapi: Error 403: Rate Limit Exceeded, rateLimitExceeded", nodecause.Throttled},
		{"a project without the API", "googleapi: Error 403: Compute Engine API has not been used in project 1 before or it is disabled., " +
			"accessNotConfigured", nodecause.NoEndpoint},
		{"a project without an account for bills", "googleapi: Error 403: The billing account for the owning project is disabled in state absent, " +
			"accountDisabled", nodecause.Other},
		{"no key and no metadata", "google: could not find default credentials. See https://cloud.google.com/docs/authentication", nodecause.NoCredentials},
		{"cloud-provider-gcp#637", "failed to get instance ID from cloud provider: instance not found", nodecause.UnknownMachine},
		{"the provider, without an interface", "could not find network interfaces for instanceID 4", nodecause.NoAddress},
		{"cloud-provider-gcp#753", "failed to create forwarding rule for load balancer (a): context deadline exceeded", nodecause.Unreachable},
		{"kubernetes#113562", "failed to create forwarding rule for load balancer (a): googleapi: Error 400: Invalid value for field " +
			"'resource.IPAddress': '192.0.2.7'. Invalid IP address specified., invalid", nodecause.Other},
		{"cloud-provider-gcp#611", `failed to ensure load balancer: services "a" is forbidden: User "system:serviceaccount:kube-system:cloud-provider" ` +
			`cannot patch resource "services/status" in API group "" in the namespace "b"`, nodecause.Denied},
		{"cloud-provider-gcp#611, in a log", `err="services \"a\" is forbidden: User \"system:serviceaccount:kube-system:cloud-provider\" cannot patch"`,
			nodecause.Denied},
		{"a policy of admission", `nodes "m1" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: the CCM may not do this`,
			nodecause.Denied},
		{"cluster-network-operator#296", `Post "https://keystone.example.com:5000/v3/auth/tokens": proxyconnect tcp: x509: certificate signed by ` +
			"unknown authority", nodecause.ProxyRefused},
		{"cluster-authentication-operator#203", `Get "https://ec2.example.com/": Tunnel or SSL Forbidden`, nodecause.ProxyRefused},
		{"cluster-ingress-operator#500", `failed to add load balancer cleanup finalizer: Service "router-default" is invalid: metadata.finalizers: ` +
			"Forbidden: no new finalizers can be added if the object is being deleted", nodecause.Other},

		// IBM Cloud.
		{"cluster-cloud-controller-manager-operator#147", "GetCloudProviderVpc failed: 0 resource groups match name: a", nodecause.Other},

		{"terraform-provider-ibm#1693", `{"errors": [{"code": "over_quota", "message": "Adding a rule would exceed the limit of 25"}]}`,
			nodecause.QuotaExceeded},

		{"the provider, without an instance", "Instance not found: name=m1 url=https://us-south.iaas.cloud.ibm.com/v1", nodecause.UnknownMachine},
		{"the provider, with two instances", "More than one instance entry returned: name=m1 url=https://us-south.iaas.cloud.ibm.com/v1",
			nodecause.Ambiguous},
		{"the provider, without a file", "VPC credentials file not provided", nodecause.NoCredentials},
		{"Power VS' provider, without an instance", "Instance m1 not found in 0b0af8a7-cbee cloud instance", nodecause.UnknownMachine},
		{"Power VS' provider, without a lease", "not able to find internal ip for pvm instance: m1 with attached network name: a", nodecause.NoAddress},
		{"Power VS' provider, with another network", "Node m1 attached with network a of type fixed expecting Network Type to be dynamic to fetch IP " +
			"from DHCP server", nodecause.NoAddress},
		{"Power VS' client", `failed to get the instance list, Error: failed to Get all PVM Instances of Power Instance a :[GET /pcloud/v1/` +
			`cloud-instances/{cloud_instance_id}/pvm-instances][403] pcloudPvminstancesGetallForbidden {"code":403,"description":"not authorized"}`,
			nodecause.Unauthorized},

		// Nutanix.
		{"nutanix helm#177", `failed to get VM: API call failed: {"data":{"error":[{"message":"it is not found.","severity":"ERROR","code":"VMM-30100",` +
			`"locale":"en-US","errorGroup":"VM_NOT_FOUND"}]}}`, nodecause.UnknownMachine},
		{"Nutanix' former API", `status: 404 Not Found, error-response: {"api_version": "3.1", "code": 404, "message_list": [{"message": "Unknown VM", ` +
			`"reason": "ENTITY_NOT_FOUND"}], "state": "ERROR"}`, nodecause.UnknownMachine},
		{"nutanix.ansible#648", `failed to get VM: API call failed: {"state": "ERROR", "code": 401, "message_list": [{"reason": ` +
			`"AUTHENTICATION_REQUIRED", "message": "Authentication required."}]}`, nodecause.Unauthenticated},
		{"a machine that has no address yet", "unable to determine network interfaces from VM with UUID 3fbf7e7f", nodecause.NoAddress},

		// Alibaba Cloud.
		{"cloud-provider-alibaba-cloud#105", "Aliyun API Error: RequestId: D91A Status Code: 400 Code: BackendServer.ServerIdEmpty Message: The " +
			"specified ServerId can not be empty.", nodecause.Other},
		{"cloud-provider-alibaba-cloud#301", `Post "http://slb-vpc.cn-shanghai.aliyuncs.com/?Action=DescribeLoadBalancerAttribute": dial tcp: i/o timeout`,
			nodecause.Unreachable},
		{"cloud-provider-alibaba-cloud#81", "Aliyun API Error: RequestId: 302D Status Code: 404 Code: InvalidRegionId.NotFound Message: The specified " +
			"RegionId does not exist.", nodecause.NoRegion},
		{"certimate#1329", "SDKError: StatusCode: 403 Code: Forbidden Message: code: 403, User not authorized to operate on the specified resource.",
			nodecause.Unauthorized},
		{"a policy of RAM", "SDK.ServerError\nErrorCode: Forbidden.RAM\nMessage: User not authorized to operate on the specified resource, or this API " +
			"doesn't support RAM.", nodecause.Unauthorized},
		{"Alibaba Cloud's clock is another", "SDK.ServerError\nErrorCode: InvalidTimeStamp.Expired\nMessage: Specified time stamp or date value is " +
			"expired.", nodecause.WrongClock},
		{"a token that has expired", "SDK.ServerError\nErrorCode: InvalidSecurityToken.Expired\nMessage: Specified SecurityToken is expired.",
			nodecause.Unauthenticated},
		{"Alibaba Cloud's guide", "The backend server number has reached to the quota limit of this load balancers", nodecause.QuotaExceeded},

		// DigitalOcean.
		{"digitalocean-cloud-controller-manager#62", "GET https://api.digitalocean.com/v2/load_balancers: 401 Unable to authenticate you.",
			nodecause.Unauthenticated},
		{"digitalocean-cloud-controller-manager#103", "error while waiting for loadbalancer a: Get https://api.digitalocean.com/v2/load_balancers/5: " +
			"context deadline exceeded", nodecause.Unreachable},
		{"digitalocean openapi#1173", `PUT https://api.digitalocean.com/v2/load_balancers/5: 403 (request "18fd") Load Balancer can't be updated while it ` +
			"processes previous actions", nodecause.Other},

		{"the provider, without a token", `environment variable "DO_ACCESS_TOKEN" is required`, nodecause.NoCredentials},
		{"the provider, without a droplet", "droplet 4 for node m1 does not exist", nodecause.UnknownMachine},
		{"the provider, with another's provider ID", `determining droplet ID from providerID: provider ID "rke2://m1" is missing prefix ` +
			`"digitalocean://"`, nodecause.UnknownMachine},
		{"the provider, without a network", "getting node addresses of droplet 4 for node m1: could not get private ip: no networks have been defined",
			nodecause.NoAddress},

		// Every cloud.
		{"proxmox-cloud-controller-manager#111", `provided node ip for node "m1" is not valid: failed to get node address from cloud provider that ` +
			"matches ip: 192.0.2.3", nodecause.AddressMismatch},
		{"digitalocean-cloud-controller-manager#639", "There are no available nodes for LoadBalancer", nodecause.Other},
		{"gatekeeper's webhook", `admission webhook "validation.gatekeeper.sh" denied the request: [node-labels] you must provide labels`,
			nodecause.Denied},
		{"oci-cloud-controller-manager, with another time", "Http Status Code: 401. Error Code: NotAuthenticated. Message: Date 'Sat, 21 Nov 2026 " +
			"08:52:46 UTC' is not within allowed clock skew.", nodecause.WrongClock},
		{"Entra ID, for a moment", `RESPONSE 400 Bad Request {"error":"temporarily_unavailable","error_description":"AADSTS90033: A transient error ` +
			`has occurred."}`, nodecause.Unavailable},
		{"DigitalOcean's limit", `POST https://api.digitalocean.com/v2/load_balancers: 403 (request "1") You have reached the load balancer limit for ` +
			"your account.", nodecause.QuotaExceeded},
		{"Hetzner Cloud's limit", "limit of 3600 requests per hour reached (rate_limit_exceeded)", nodecause.Throttled},
		{"cluster-api-provider-openstack#2336", "Expected HTTP response code [201 202] when accessing [POST https://keystone.example.com:5000/v3/auth/tokens], " +
			`but got 404 instead: {"error":{"code":404,"message":"Could not find Application Credential: 818a.","title":"Not Found"}}`,
			nodecause.Unauthenticated},
		{"Nova, of a server that is deleted meanwhile", `got 404 instead: {"itemNotFound": {"code": 404, "message": "Instance 4 could not be found."}}`,
			nodecause.UnknownMachine},
		{"OpenStack's provider, of another region", `ProviderID "openstack://RegionTwo/4" didn't match supported region "RegionOne"`,
			nodecause.UnknownMachine},
		{"gardener's list of errors", "[SDK.CanNotResolveEndpoint] Can not resolve endpoint(param = {cn-hangzou Ecs})", nodecause.NoRegion},
		{"Nova's former limit", `got 413 instead: {"overLimit": {"code": 413, "message": "This request was rate-limited."}}`, nodecause.Throttled},
		{"openshift release#16256", "googleapi: Error 403: Quota exceeded for quota group 'ListGroup' and limit 'List requests per 100 seconds' of " +
			"service 'compute.googleapis.com' for consumer 'project_number:1'., rateLimitExceeded", nodecause.Throttled},
		{"kubernetes#84366", "TooManyAccessPointsException: The maximum number of load balancers has been reached", nodecause.QuotaExceeded},
		{"Power VS, as go-swagger says it", "failed to Get PVM Instances: [GET /pcloud/v1/cloud-instances/{cloud_instance_id}/pvm-instances][403] " +
			"pcloudPvminstancesGetallForbidden  &{Code:0 Description:user does not have access}", nodecause.Unauthorized},
		{"Power VS, without an instance", "[GET /pcloud/v1/cloud-instances/{cloud_instance_id}/pvm-instances/{pvm_instance_id}][404] " +
			"pcloudPvminstancesGetNotFound  &{Code:0 Description:pvm-instance does not exist}", nodecause.UnknownMachine},
		{"a port that looks like a status", `Get "https://nova.example.com:503/": unexpected answer`, nodecause.Other},
	} {
		t.Run(tc.thread, func(t *testing.T) {
			require.Equal(t, tc.want.String(), nodecause.ClassOf(tc.text).String(), tc.text)
		})
	}
}

func TestAnErrorHasItsOwnRemedy(t *testing.T) {
	const (
		ofClass = ""
		path    = "correct the scheme, the port and the path"
		logsIn  = "wait: the cloud-controller-manager logs in again"
		project = "the project and the domains"
		account = "enable the region for the account"
		ciphers = "enable TLS 1.2 or 1.3"
		busy    = "oc get clusteroperators kube-apiserver etcd"
		policy  = "change the policy that the error names"
		settle  = "settle what the cloud asks of the account"
		vCenter = "check the user and the password in the vCenter"
		tenant  = "correct the tenant"
		noProxy = "noProxy of proxy/cluster"
	)
	keystone := func(text string) string { return `Post "https://keystone.example.com:5000/v3/auth/tokens": ` + text }
	for text, want := range map[string]string{
		`failed calling webhook "a": failed to call webhook: Post "https://a.a.svc:443/a": context deadline exceeded`:    "repair the admission webhook",
		`Patch "https://api-int.example.com:6443/api/v1/nodes/m1": dial tcp 192.0.2.5:6443: connect: connection refused`: "check the API servers",
		`Operation cannot be fulfilled on nodes "m1": the object has been modified; please apply your changes`:           "what else changes the object",
		"api error AuthFailure: AWS was not able to validate the provided access credentials":                            "chronyc tracking there: it may be five minutes off",
		"failed to refresh cached credentials, RegionDisabledException: STS is not activated in this region":             "activate STS in the region",
		"StatusCode: 401, api error OptInRequired: You are not subscribed to this service.":                              account,
		"StatusCode: 403, api error SubscriptionRequiredException: The AWS Access Key Id needs a subscription":           account,
		"AADSTS53003: Access has been blocked by Conditional Access policies.":                                           "exclude the identity from the policy",
		"AADSTS700024: Client assertion is not within its valid time range. Current time: 2026-11-21T09:00:00Z":          "compare the current time in the error",
		"AADSTS90033: A transient error has occurred. Please try again.":                                                 "check the state of Entra ID",
		`admission webhook "validation.gatekeeper.sh" denied the request: [node-labels] you must provide labels`:         "correct the policy of the webhook",
		`Patch "https://172.30.0.1:443/api/v1/nodes/m1": dial tcp 172.30.0.1:443: connect: connection refused`:           "check the API servers",
		`Get "https://pc.example.com:9440/api/vmm/v4.1/ahv/config/vms/1": dial tcp 192.0.2.1:9440: i/o timeout`:          ofClass,
		"etcdserver: request timed out": busy,
		"the server has received too many requests and has asked us to try again later (patch nodes m1)":           busy,
		"the server was unable to return a response in the time allotted, but may still be processing the request": busy,
		"client rate limiter Wait returned an error: context deadline exceeded":                                    busy,
		"failed to update load balancer status: Unauthorized":                                                      "KubeTokenDegraded",
		"Unauthorized": ofClass,
		// cloud-provider-openstack#1364
		`Node "m1" is invalid: metadata.labels: Invalid value: "Small HD 4GB": a valid label must be an empty string`: "rename in the cloud",
		"context canceled": "wait: ",
		// Without credentials in the Secret; and without the instance's metadata.
		`no EC2 IMDS role found, request send failed, Get "http://169.254.169.254/latest/": dial tcp 169.254.169.254:80: x`:  noProxy,
		`Get "http://metadata.google.internal/computeMetadata/v1/": context deadline exceeded`:                               noProxy,
		`GET http://169.254.169.254/metadata/identity/oauth2/token RESPONSE 400 {"error_description": "Identity not found"}`: ofClass,
		// karpenter-provider-aws#7370
		"api error UnauthorizedOperation: a is not authorized to perform: b with an explicit deny in a service control policy":         policy,
		"googleapi: Error 403: Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: 1, policyViolation": policy,
		"RESPONSE 403: 403 Forbidden ERROR CODE: RequestDisallowedByPolicy":                                                            policy,
		"googleapi: Error 412: Constraint constraints/compute.vmExternalIpAccess violated for projects/p., conditionNotMet":            policy,
		"AccessDenied: no identity-based policy allows it":                                                                             ofClass,
		"RESPONSE 403: 403 Forbidden ERROR CODE: ReadOnlyDisabledSubscription":                                                         settle,
		"googleapi: Error 403: The billing account for the owning project is disabled in state absent, accountDisabled":                settle,
		"StatusCode: 401, api error Blocked: This account is currently blocked and not recognized as a valid account.":                 settle,
		"Code: ORDER.ARREARAGE Message: The account is arrearage.":                                                                     settle,
		// karpenter-provider-aws#1536
		"UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: 0l-KP": "decode-authorization-message",
		"ErrorCode: PAY.INSUFFICIENT_BALANCE": settle,
		"operation error EC2: DescribeInstances, failed to get rate limit token, retry quota exceeded, 0 available, 5 requested": "find what else calls", // karpenter#2104
		"AADSTS90002: Tenant 'a' not found.": tenant,
		"ERROR CODE: InvalidAuthenticationTokenTenant The access token is from the wrong issuer. RESPONSE 401":                                                       tenant,
		"ServerFaultCode: Cannot complete login due to an incorrect user name or password.":                                                                          vCenter,
		`[POST https://keystone.example.com:5000/v3/auth/tokens], but got 404 instead: {"error":{"code":404,"message":"Could not find Application Credential: 8."}}`: "create another one",
		`could not init cloud provider "openstack": Authentication failed`:                                                                                           project,
		"AADSTS7000222: The provided client secret keys for app are expired.":                                                                                        ofClass,
		"ServerFaultCode: The session is not authenticated.":                                                                                                         logsIn,
		"NotAuthenticated":      logsIn,
		"Authentication failed": project,
		"when accessing [POST https://keystone.example.com:5000/v3/auth/tokens], but got 401 instead: {}":              project,
		"when accessing [GET https://nova.example.com/servers], but got 401 instead: {}":                               ofClass,
		"Successfully re-authenticated, but got error executing request: Authentication failed":                        ofClass,
		"googleapi: Error 403: Request had insufficient authentication scopes.":                                        "the scope cloud-platform",
		"failed to get node address from cloud provider that matches ip: 2600:1f14::7":                                 "NodeIPFamilies",
		"failed to get node address from cloud provider that matches ip: 192.0.2.3":                                    ofClass,
		keystone("remote error: tls: handshake failure"):                                                               ciphers,
		keystone("remote error: tls: protocol version not supported"):                                                  ciphers,
		"No supported version available from endpoint https://keystone.example.com:5000/":                              path,
		`Resource not found: [POST https://keystone.example.com/auth/tokens], error message: {"error": {"code": 404}}`: path,
		keystone("http: server gave HTTP response to HTTPS client"):                                                    path,
		`Post "keystone.example.com:5000/v3/auth/tokens": unsupported protocol scheme "keystone.example.com"`:          path,
		keystone("tls: first record does not look like a TLS handshake"):                                               path,
		// govmomi#1045 and golang go#30560; managed-notifications#305
		`Post "https://vc.example.com/sdk": Service Unavailable`:                           "check that the proxy resolves",
		`Post "https://vc.example.com/sdk": 503 Service Unavailable`:                       ofClass,
		keystone("proxyconnect tcp: dial tcp 192.0.2.9:3128: connect: connection refused"): "correct the URLs of proxy/cluster",
		keystone("dial tcp: lookup keystone.example.com on 192.0.2.53:53: no such host"):   "check the host name",
		keystone("proxyconnect tcp: tls: first record does not look like a TLS handshake"): "the scheme http",
	} {
		t.Run(text, func(t *testing.T) {
			_, action, found := nodecause.Remedy(text)
			require.Contains(t, action, want)
			require.Equal(t, want != ofClass, found)
			class := nodecause.ClassOf(text)
			_, explained := class.Explain(text)
			if !found {
				action = class.Action()
			}
			require.Equal(t, action, explained)
			_, ofOther := nodecause.NoLeader.Explain(text)
			require.Equal(t, nodecause.NoLeader.Action(), ofOther)
		})
	}
}

func TestAMissingPermissionIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		// AKS#1945, kops#17700
		"RESPONSE 403 LinkedAuthorizationFailed: The client 'a' has permission to perform action 'Microsoft.Network/loadBalancers/write' on scope 'b'; " +
			"however, it does not have permission to perform action 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope(s) 'c'": "Microsoft.Network/virtualNetworks/subnets/join/action",
		"RESPONSE 403 AuthorizationFailed: The client 'a' does not have authorization to perform action 'Microsoft.Network/publicIPAddresses/read'": "Microsoft.Network/publicIPAddresses/read",
		"UnauthorizedOperation: User: a is not authorized to perform: ec2:DescribeInstanceTopology because no identity-based policy allows it":      "ec2:DescribeInstanceTopology",
		"googleapi: Error 403: Required 'compute.instances.get' permission for 'projects/p', forbidden":                                             "compute.instances.get",
		`got 403 instead: {"forbidden": {"message": "Policy doesn't allow os_compute_api:servers:show to be performed."}}`:                          "os_compute_api:servers:show",
	} {
		_, action := nodecause.Unauthorized.Explain(text)
		require.Equal(t, "permit them "+want, action)
		_, action = nodecause.Unavailable.Explain(text)
		require.Equal(t, nodecause.Unavailable.Action(), action)
	}
}
