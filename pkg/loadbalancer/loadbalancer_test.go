package loadbalancer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWhatAServiceNeeds(t *testing.T) {
	created, deleted := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	balanced := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	}
	deletes := func(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.NewTime(deleted)) }
	cleansUp := func(s *corev1.Service) { s.Finalizers = []string{"example.com/other", Finalizer} }
	cleansUpOnAlibaba := func(s *corev1.Service) { s.Finalizers = []string{"service.k8s.alibaba/resources"} }
	ofClass := func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/other") }
	for name, tc := range map[string]struct {
		changes []func(*corev1.Service)
		want    Need
		since   time.Time
	}{
		"a new one needs an address, since its creation":        {want: Address, since: created},
		"one that is served needs nothing":                      {changes: []func(*corev1.Service){cleansUp, balanced}, want: Nothing},
		"one of a class is another controller's":                {changes: []func(*corev1.Service){ofClass}, want: Nothing},
		"one of a class that is being deleted is, too":          {changes: []func(*corev1.Service){ofClass, deletes, cleansUp}, want: Nothing},
		"a deletion needs the end of the load balancer":         {changes: []func(*corev1.Service){balanced, deletes, cleansUp}, want: Deletion, since: deleted},
		"a deletion needs it on Alibaba Cloud, too":             {changes: []func(*corev1.Service){balanced, deletes, cleansUpOnAlibaba}, want: Deletion, since: deleted},
		"a deletion that another finalizer holds is not ours":   {changes: []func(*corev1.Service){deletes}, want: Nothing},
		"one without a load balancer needs nothing":             {changes: []func(*corev1.Service){func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }}, want: Nothing},
		"one that is being deleted no longer needs its address": {changes: []func(*corev1.Service){deletes, cleansUp}, want: Deletion, since: deleted},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
			}
			for _, change := range tc.changes {
				change(service)
			}
			require.Equal(t, tc.want, NeedOf(service))
			if tc.want != Nothing {
				require.Equal(t, tc.since, NeedOf(service).Since(service))
			}
		})
	}
}

// Errors of public threads, shortened, with other names and numbers.
func TestAnErrorThatDoesNotSayWhatToDoHasARemedy(t *testing.T) {
	const (
		wait     = "wait: "
		octavia  = "find out in Octavia"
		space    = "release unused addresses"
		router   = "by a router"
		subnet   = "tag a subnet"
		group    = "on exactly one security group"
		use      = "what still uses"
		publicIP = "address of a public IP"
		groups   = "external-instance-groups-prefix"
		state    = "into the state Succeeded"
		vmType   = "set vmType"
	)
	for _, tc := range []struct{ thread, message, want string }{
		{"cloud-provider-openstack#2036", "failed to delete load balancer: load balancer a is not ACTIVE, current provisioning status: ERROR", octavia},
		{"cloud-provider-openstack#2341", "loadbalancer a has gone into ERROR state, please check Octavia for details. Load balancer was deleted " +
			"and its creation will be retried", octavia},
		{"cluster-api-provider-openstack#1687", "Expected HTTP response code [201 202] when accessing [POST https://a], but got 409 instead: " +
			`{"faultcode": "Client", "faultstring": "Load Balancer a is immutable and cannot be updated."}`, wait},
		{"a deletion while Octavia works", "failed to delete load balancer: load balancer a is in immutable status, current provisioning status: " +
			"PENDING_UPDATE", wait},
		{"Octavia is slow", "timeout waiting for the loadbalancer a ACTIVE", wait},
		{"cluster-api-provider-openstack#1269", `error creating LB floatingip: got 404 instead: {"NeutronError": {"type": ` +
			`"ExternalGatewayForFloatingIPNotFound", "message": "External network a is not reachable from subnet b."}}`, router},
		{"kubermatic#12905", "error creating LB floatingip: Resource not found: [POST https://a/v2.0/floatingips], error message: External network a is " +
			"not reachable from subnet b.  Therefore, cannot associate Port c with a Floating IP.", router},
		{"openshift-on-openstack#39", `got 409 instead: {"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses ` +
			`available on network a."}}`, space},
		{"amazon-eks-workshop#9", "failed to ensure load balancer: could not find any suitable subnets for creating the ELB", subnet},
		{"learn-terraform-provision-eks-cluster#85", "Multiple tagged security groups found for instance i-1; ensure only the k8s security group is " +
			"tagged; the tagged groups were sg-1(a) sg-2(b)", group},
		{"launchpad_legacy#62", "Multiple untagged security groups found for instance i-1; ensure the k8s security group is tagged", group},
		{"managed-notifications#432", "InvalidSubnet: Not enough IP space available in subnet-1. ELB requires at least 8 free IP addresses in each " +
			"subnet.", space},
		{"eksctl#1960", "api error DependencyViolation: resource sg-1 has a dependent object", use},
		{"cloud-provider-azure#792", `HTTPStatusCode: 429, RawError: {"Error":{"Details":[{"Code":"GatewayError"}],"InnerError":"A retryable error ` +
			`occurred."}}`, wait},
		{"gardener#1533", `Code="RetryableError" Message="A retryable error occurred." Details=[{"code":"RetryableErrorDueToAnotherOperation"}]`, wait},
		{"cloud-provider-azure#792, its title", "HTTPStatusCode: 412, RawError: {\"error\":{\"code\":\"PreconditionFailed\"}}", wait},
		{"cloud-provider-gcp#313", "googleapi: Error 400: Resource 'projects/a/zones/b/instances/c' is expected to be in the subnetwork 'd'", groups},
		{"zero-to-jupyterhub-k8s#2708", "googleapi: Error 400: INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS - Validation failed for instance 'a': instance " +
			"may belong to at most one load-balanced instance group.", groups},
		{"kubernetes#65025", "Cannot proceed with operation because resource a used by resource b is not in Succeeded state. Resource is in Failed " +
			"state and the last operation that updated/is updating the resource is PutNicOperation.", state},
		{"kubernetes#103348", "failed to ensure load balancer: not a vmss instance", vmType},
		{"IBM Cloud's provider, while the cloud works", "Failed ensuring LoadBalancer: update can not be performed, load balancer is not ready: " +
			"online/update_pending", wait},
		{"Google Cloud's provider, without a tag", "failed to ensure node firewall for load balancer (a): no node tags supplied and also failed to " +
			"parse the given lists of hosts for tags. Abort creating firewall rule", "set node-tags"},
		{"AKS#253", "user supplied IP Address 192.0.2.7 was not found in resource group a", publicIP},
		{"digitalocean openapi#1173", `PUT https://api.digitalocean.com/v2/load_balancers/5: 403 (request "1") Load Balancer can't be updated while ` +
			"it processes previous actions", wait},
		{"DigitalOcean's provider, at first", "failed to ensure load balancer: load-balancer is currently being created", wait},
		{"terraform-provider-alicloud#1233", "SDKError: StatusCode: 400 Code: ServiceIsConfiguring", wait},

		{"IBM Cloud's API, while the cloud works", "The load balancer with ID 'r006-1' cannot be updated because its status is 'UPDATE_PENDING'.", wait},
		{"vultr-cloud-controller-manager, at first", "load-balancer is not yet active - current status: pending", wait},
		{"Google Cloud's target pool, at first", "googleapi: Error 400: The resource 'projects/p/regions/r/targetPools/a' is not ready, resourceNotReady", wait},
		{"oci-cloud-controller-manager, while the cloud works", "Load balancer ocid1 has other work requests in progress: Service error:Conflict.", wait},

		{"kubernetes#74694", "InvalidInstance: EC2 instance i-1 is not in running state.", wait},
		{"Google Cloud, after another change", "googleapi: Error 412: Invalid fingerprint., conditionNotMet", wait},
		{"Octavia deletes slowly", "failed to delete load balancer: loadbalancer failed to delete within the allotted time", wait},
		{"OpenStack's provider, with a failure it cannot remove", "loadbalancer 4 is in ERROR state and there was an error when removing it: x", octavia},
		{"cloud-provider-openstack#2303", "failed to get subnet to create load balancer for service temp/foo: failed to find object", "set subnet-id"},
		{"the same, without an answer", "failed to get subnet to create load balancer for service temp/foo: got 503 instead", ""},
		{"cloud-provider-gcp#612", "googleapi: Error 400: Invalid value for field 'resource.subnetwork': ''. Network interface must specify a subnet " +
			"if the network resource is in custom subnet mode., invalid", "set subnetwork-name"},
		{"cluster-ingress-operator#312", "ensure(a/b): lb(kubernetes-internal) - failed to get subnet: c-vnet/c-node-subnet", "set vnetName"},
		{"legacy-cloud-providers#9", "EnsureBackendPoolDeleted: failed to parse the VMAS ID : getAvailabilitySetNameByID: failed to parse the VMAS ID",
			"that has no virtual machine"},
		{"AKS#2878", `"code": "LoadBalancerInUseByVirtualMachineScaleSet", "message": "Cannot delete load balancer a since its child resources b are ` +
			`in use by virtual machine scale set c."`, use},
		{"Alibaba Cloud's guide, of a vSwitch", "Code: VSwitchAvailableIpNotExist Message: The specified VSwitch has no available ip.", space},
		{"Alibaba Cloud's guide, of a server group", "Code: RspoolVipExist Message: there are vips associating with this vServer group.", use},
		{"IBM Cloud has failed", "Failed ensuring LoadBalancer: LoadBalancer is in error state", ""},
		{"Azure's subnet is full", "RESPONSE 400: 400 Bad Request ERROR CODE: SubnetIsFull", space},
		{"cloud-provider-aws#566", "failed to delete load balancer: timed out deleting ELB: a. Could not delete security groups sg-1", use},
		{"Neutron's security group is used", `got 409 instead: {"NeutronError": {"type": "SecurityGroupInUse", "message": "Security Group 1 in use."}}`, use},
		{"a target group is used", "ResourceInUse: Target group 'a' is currently in use by a listener or a rule", use},
		{"kubernetes#85565", `Code="PublicIPAddressCannotBeDeleted" Message="Public IP address a can not be deleted since it is still allocated to ` +
			`resource b."`, use},
		{"Google Cloud's backend is used", "googleapi: Error 400: The backend_service resource 'a' is already being used by 'b', " +
			"resourceInUseByAnotherResource", use},

		{"kserve#2179", "TooManyLoadBalancers: Exceeded quota of account 1", ""},
		{"AKS#1945", "RESPONSE 403: 403 Forbidden ERROR CODE: LinkedAuthorizationFailed", ""},
		{"digitalocean-cloud-controller-manager#639", "There are no available nodes for LoadBalancer", ""},
		{"kubernetes#18502", "error creating gce static IP address: googleapi: Error 400: Specified IP address is already reserved., invalid", ""},
	} {
		t.Run(tc.thread, func(t *testing.T) {
			if tc.want == "" {
				require.Empty(t, Remedy(tc.message))
			}
			require.Contains(t, Remedy(tc.message), tc.want)
		})
	}
}

func TestAMessageOfSeveralLinesIsQuotable(t *testing.T) {
	for message, want := range map[string]string{
		"status code 403: {\n  \"error\": {\n    \"code\": 403\n  }\n}\n":                             `status code 403: { "error": { "code": 403 } }`,
		"PUT https://management.azure.com/\nRESPONSE 429: 429 Too Many Requests":                      "PUT https://management.azure.com/\nRESPONSE 429: 429 Too Many Requests",
		"RESPONSE 404: 404 Not Found\n----\n{\n  \"error\": {\n    \"code\": \"a-b\"\n  }\n}\n----\n": `RESPONSE 404: 404 Not Found { "error": { "code": "a-b" } }`,
		"": "",
	} {
		require.Equal(t, want, Quotable(message))
	}
}

func TestALoadBalancerIsGone(t *testing.T) {
	for message, want := range map[string]bool{
		"failed to check if load balancer exists before cleanup: error getting floating ip for port a: failed to find object": true, // cloud-provider-openstack#821
		"error deleting target groups after deleting load balancer: \"api error TargetGroupNotFound: not found\"":             true,
		"Error deleting load balancer (will retry): Resource not found":                                                       true, // kubernetes#50364
		"failed to delete load balancer: load balancer a is not ACTIVE, current provisioning status: ERROR":                   false,
		"RESPONSE 404: 404 Not Found ERROR CODE: SubscriptionNotFound":                                                        false,
		"api error DependencyViolation: resource sg-1 has a dependent object":                                                 false,
	} {
		require.Equal(t, want, IsGone(message), message)
	}
}
