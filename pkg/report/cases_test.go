package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// TestACaseFromTheFieldIsExplained explains dumps of what public threads are about.
func TestACaseFromTheFieldIsExplained(t *testing.T) {
	for name, explain := range map[string]func(*snapshot.Snapshot) (*report.Explanation, error){
		"4-bare-metal-node-waits-on-vsphere": func(s *snapshot.Snapshot) (*report.Explanation, error) {
			return report.ExplainNode(s, "bm-worker-0")
		},
		"5-load-balancer-on-vsphere": func(s *snapshot.Snapshot) (*report.Explanation, error) {
			return report.ExplainService(s, "shop", "frontend")
		},
		"6-node-name-with-domain": func(s *snapshot.Snapshot) (*report.Explanation, error) {
			return report.ExplainNode(s, "master-3.novalocal")
		},
		"7-no-oidc-provider": func(s *snapshot.Snapshot) (*report.Explanation, error) {
			return report.ExplainNode(s, "worker-7")
		},
		"16-deletion-of-a-balancer-that-is-gone": func(s *snapshot.Snapshot) (*report.Explanation, error) {
			return report.ExplainService(s, "shop", "frontend")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := snapshot.ReadDirectory("testdata/cases/"+name, report.LeadingPod)
			require.NoError(t, err)
			e, err := explain(s)
			requireExplained(t, "case-"+name, e, err)
		})
	}
}

// on makes the cluster one of another platform.
func on(platform string) func(*world) {
	return func(w *world) {
		w.Resource.Spec.ObservedConfig.Raw = []byte(fmt.Sprintf(`{"platform":%q}`, platform))
	}
}

const loggedFailure = `I1121 09:00:10.123456       1 event.go:389] "Event occurred" object="shop/frontend" fieldPath="" kind="Service" ` +
	`apiVersion="v1" type="Warning" reason="SyncLoadBalancerFailed" message="Error syncing load balancer: failed to ensure load balancer: ` +
	`could not find any suitable subnets for creating the ELB"` + "\n"

// The siblings of the cases.
func TestASiblingOfACaseIsExplained(t *testing.T) {
	node := func(platform, name, failure string) func(*world) (*report.Explanation, error) {
		return func(w *world) (*report.Explanation, error) {
			on(platform)(w)
			w.worker(name, corev1.Taint{Key: uninitialized, Effect: corev1.TaintEffectNoSchedule}).Spec.ProviderID = ""
			w.Logs["cloud-controller-manager-master-0"] = fmt.Sprintf("I1121 09:00:10.123456       1 node_controller.go:236] error syncing '%s': "+
				"failed to get instance metadata for node %s: %s, requeuing\n", name, name, failure)
			return report.ExplainNode(read(w.t, w.cluster()), name)
		}
	}
	service := func(change ...func(*world)) func(*world) (*report.Explanation, error) {
		return func(w *world) (*report.Explanation, error) {
			for _, c := range change {
				c(w)
			}
			return report.ExplainService(read(w.t, w.cluster(), snapshot.Service("shop", "frontend")...), "shop", "frontend")
		}
	}
	deletion := func(platform string) func(*world) (*report.Explanation, error) {
		return func(w *world) (*report.Explanation, error) {
			on(platform)(w)
			silentWorker(w)
			return report.ExplainDeletion(read(w.t, w.cluster(), snapshot.NodeEvents()...), "worker-3")
		}
	}
	warnedAbout := func(message string) func(*world) {
		return func(w *world) {
			warned(w, message)
			service, is := w.More[len(w.More)-2].(*corev1.Service)
			require.True(w.t, is)
			service.Finalizers = []string{"example.com/other", "service.kubernetes.io/load-balancer-cleanup"}
			service.DeletionTimestamp = ptr.To(metav1.NewTime(now))
		}
	}
	const gone = "Error syncing load balancer: failed to check if load balancer exists before cleanup: "
	for name, explain := range map[string]func(*world) (*report.Explanation, error){
		"aws-name-without-a-domain": node("aws", "ip-10-0-144-157", "instance not found"),
		"aws-instance-id-with-a-domain": node("aws", "i-0123456789abcdef0.aws.example.com", "operation error EC2: DescribeInstances, https response "+
			"error StatusCode: 400, RequestID: 1, api error InvalidInstanceID.Malformed: Invalid id"),
		"gcp-name-with-a-domain": node("gcp", "worker-1.c.project.internal", "googleapi: Error 400: Invalid value for field 'instance': "+
			"'worker-1.c.project.internal'. Must be a match of regex '[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?', invalid"),
		"admission-webhook-does-not-answer": node("openstack", "worker-1", `Internal error occurred: failed calling webhook "a.example.com": failed to `+
			`call webhook: Post "https://a.a.svc:443/mutate?timeout=10s": dial tcp 172.30.5.6:443: connect: connection refused`),
		"api-server-is-not-reached": node("openstack", "worker-1", `Patch "https://api-int.example.com:6443/api/v1/nodes/worker-1": dial tcp `+
			"192.0.2.5:6443: connect: connection refused"),
		"aws-clock-of-another-time": node("aws", "ip-10-0-144-157.ec2.internal", "https response error StatusCode: 401, RequestID: 1, api error "+
			"AuthFailure: AWS was not able to validate the provided access credentials"),
		"aws-address-of-another-family": node("aws", "ip-10-0-144-157.ec2.internal", `provided node ip for node "ip-10-0-144-157.ec2.internal" is not `+
			"valid: failed to get node address from cloud provider that matches ip: 2600:1f14::7"),
		"node-on-nutanix": node("nutanix", "worker-1", `{"errorGroup":"VM_NOT_FOUND"}`),
		"bare-metal-worker-without-a-taint": func(w *world) (*report.Explanation, error) {
			on("vsphere")(w)
			w.worker("bm-worker-0").Spec.ProviderID = ""
			return report.ExplainNode(read(w.t, w.cluster()), "bm-worker-0")
		},
		"load-balancer-on-nutanix": service(on("nutanix"), func(w *world) { balanced(w) }),
		"load-balancer-without-octavia": service(func(w *world) {
			balanced(w)
			w.Logs["cloud-controller-manager-master-0"] = "W1121 09:00:10.123456       1 controllermanager.go:326] Skipping \"service-lb-controller\"\n"
		}),
		"deletion-without-octavia": service(func(w *world) {
			balanced(w).DeletionTimestamp = ptr.To(metav1.NewTime(now))
			w.Logs["cloud-controller-manager-master-0"] = "W1121 09:00:10.123456       1 controllermanager.go:326] Skipping \"service-lb-controller\"\n"
		}),
		"deletion-on-nutanix": service(on("nutanix"), func(w *world) { balanced(w).DeletionTimestamp = ptr.To(metav1.NewTime(now)) }),
		"azure-resource-group-is-gone": service(on("azure"), warnedAbout(gone+`GET https://management.azure.com/: RESPONSE 404: 404 Not Found, `+
			`ERROR CODE: ResourceGroupNotFound`)),
		"deletion-without-the-application-credential": service(warnedAbout(gone + "Expected HTTP response code [201] when accessing [POST " +
			`https://keystone.example.com:5000/v3/auth/tokens], but got 404 instead: {"error":{"code":404,"message":"Could not find Application ` +
			`Credential: 818a.","title":"Not Found"}}`)),
		"services-status-is-forbidden": service(on("gcp"), func(w *world) {
			warned(w, `Error syncing load balancer: failed to ensure load balancer: services "frontend" is forbidden: User `+
				`"system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager" cannot patch resource "services/status" `+
				`in API group "" in the namespace "shop"`)
		}),
		"error-in-json": service(on("gcp"), func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: oauth2/google: status code 403: {\n  \"error\": {\n    \"message\": "+
				"\"Permission 'iam.serviceAccounts.getAccessToken' denied on resource.\"\n  }\n}\n")
		}),
		"webhook-without-a-certificate": service(func(w *world) {
			warned(w, `Error syncing load balancer: failed to add load balancer cleanup finalizer: Internal error occurred: failed calling webhook `+
				`"a.example.com": failed to call webhook: Post "https://a.a.svc:443/mutate?timeout=10s": x509: certificate signed by unknown authority`)
		}),
		"deletion-of-a-balancer-that-failed": service(warnedAbout("Error syncing load balancer: failed to delete load balancer: load balancer " +
			"9476c89a is not ACTIVE, current provisioning status: ERROR")),
		"aws-without-a-subnet": service(on("aws"), func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: could not find any suitable subnets for creating the ELB")
		}),
		"aws-node-without-a-provider-id": service(on("aws"), func(w *world) {
			w.worker("worker-1").Spec.ProviderID = ""
			warned(w, `Error syncing load balancer: failed to ensure load balancer: could not look up instance ID for node "worker-1": node has no providerID`)
		}),
		"ibm-cloud-without-a-node": service(on("ibmcloud"), func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: There are no available nodes for this load balancer")
		}),
		"google-cloud-without-a-node": service(on("gcp"), func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: cannot EnsureLoadBalancer() with no hosts")
		}),
		"vsphere-without-an-address": node("vsphere", "worker-1", "VM GuestNicInfo is empty"),
		"vsphere-without-a-tag": node("vsphere", "worker-1", "vSphere region category openshift-region does not match any tags for mo: "+
			"HostSystem:host-1"),
		"event-in-the-leaders-log": service(func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: Quota exceeded")
			w.Logs["cloud-controller-manager-master-0"] = `I1121 09:00:10.123456       1 event.go:389] "Event occurred" object="shop/frontend" fieldPath="" ` +
				`kind="Service" apiVersion="v1" type="Warning" reason="SyncLoadBalancerFailed" ` +
				`message="Error syncing load balancer: failed to ensure load balancer: Quota exceeded"` + "\n"
		}),
		"event-of-several-lines-in-the-leaders-log": service(on("azure"), func(w *world) {
			warned(w, "(combined from similar events): Error syncing load balancer: PUT https://management.azure.com/\nRESPONSE 429: 429 Too Many Requests")
			w.Logs["cloud-controller-manager-master-0"] = `I1121 09:00:10.123456       1 event.go:389] "Event occurred" object="shop/frontend" fieldPath="" ` +
				`kind="Service" apiVersion="v1" type="Warning" reason="SyncLoadBalancerFailed" message=<` + "\n\tError syncing load balancer: PUT " +
				"https://management.azure.com/\n\tRESPONSE 429: 429 Too Many Requests\n >\n"
		}),
		"event-only-in-the-leaders-log": service(func(w *world) {
			balanced(w)
			w.Logs["cloud-controller-manager-master-0"] = loggedFailure
		}),
		"logged-failure-that-is-over": service(func(w *world) {
			balanced(w)
			w.Logs["cloud-controller-manager-master-0"] = loggedFailure + `I1121 09:00:12.123456       1 event.go:389] "Event occurred" ` +
				`object="shop/frontend" fieldPath="" kind="Service" apiVersion="v1" type="Normal" reason="EnsuredLoadBalancer" message="Ensured load balancer"` + "\n"
		}),
		"later-event-of-a-tenant": service(func(w *world) {
			warned(w, "Error syncing load balancer: failed to ensure load balancer: Quota exceeded")
			forged := w.More[len(w.More)-1].(*corev1.Event).DeepCopy()
			forged.Name, forged.Message, forged.LastTimestamp = "forged", "Unauthorized: got 401", metav1.NewTime(now.Add(time.Hour))
			w.More = append(w.More, forged)
			w.Logs["cloud-controller-manager-master-0"] = `I1121 09:00:10.123456       1 event.go:389] "Event occurred" object="shop/frontend" fieldPath="" ` +
				`kind="Service" message="Error syncing load balancer: failed to ensure load balancer: Quota exceeded"` + "\n"
		}),
		"event-in-an-annotation": service(func(w *world) {
			warned(w, "Quota exceeded")
			w.Logs["cloud-controller-manager-master-0"] = `I1121 09:00:10.123456       1 aws.go:389] EnsureLoadBalancer(map[a:"Event occurred" ` +
				`object="shop/frontend" message="Quota exceeded"` + "\n"
		}),
		"deletion-on-ibm-cloud": deletion("ibmcloud"),
		"deletion-on-power-vs":  deletion("powervs"),
	} {
		t.Run(name, func(t *testing.T) {
			e, err := explain(newWorld(t))
			requireExplained(t, "sibling-"+name, e, err)
		})
	}
}

func TestNoAdviceOrdersTheDeletionOfANodeThatMayRunPods(t *testing.T) {
	for name, change := range map[string]func(*world, *corev1.Node){
		"no providerID":      func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "" },
		"of another machine": func(_ *world, n *corev1.Node) { n.Spec.ProviderID = "vsphere://" + strings.Repeat("4", 36) },
		"a name with a domain": func(w *world, n *corev1.Node) {
			n.Spec.ProviderID, n.Spec.Taints = "", []corev1.Taint{{Key: uninitialized, Effect: corev1.TaintEffectNoSchedule}}
			w.Logs["cloud-controller-manager-master-0"] = "I1121 09:00:10.123456       1 node_controller.go:236] error syncing 'worker-1.a': " +
				"failed to get instance metadata for node worker-1.a: failed to find object, requeuing\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			node := w.worker("worker-1.a")
			node.Status.NodeInfo.SystemUUID = strings.Repeat("5", 36)
			change(w, node)
			e, err := report.ExplainNode(read(t, w.cluster()), "worker-1.a")
			require.NoError(t, err)
			require.NotEmpty(t, e.Action)
			if strings.Contains(e.Action, "delete") {
				require.Contains(t, e.Action, "drain")
			}
		})
	}
}
