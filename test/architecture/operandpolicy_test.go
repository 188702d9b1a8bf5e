package architecture

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	foreignLabels      = "the cloud-controller-manager may not change these labels: "
	foreignAnnotations = "the cloud-controller-manager may not change these annotations: "
	foreignFields      = "the cloud-controller-manager may not change these fields: "
	foreignTaints      = "the cloud-controller-manager may change no taint but remove " +
		"node.cloudprovider.kubernetes.io/uninitialized and, while the Node is not Ready, add or remove " +
		"node.cloudprovider.kubernetes.io/shutdown"
	foreignCondition  = "the cloud-controller-manager may change no condition but NetworkUnavailable"
	anotherProviderID = "the cloud-controller-manager may set spec.providerID only where it is empty"
)

// policyCase is an update of a worker. With a provider ID, the worker is initialized.
type policyCase struct {
	user, providerID string
	// custom is true on the platform of custom cloud-controller-managers.
	custom      bool
	old, change func(*corev1.Node)
	denied      []string
}

func (tc policyCase) run(t *testing.T) {
	t.Helper()
	old := worker()
	if tc.providerID != "" {
		old.Spec.ProviderID, old.Spec.Taints = tc.providerID, old.Spec.Taints[1:]
	}
	if tc.old != nil {
		tc.old(old)
	}
	changed := old.DeepCopy()
	tc.change(changed)
	if tc.user == "" {
		tc.user = operandUser
	}
	granted := nobodyMay
	if tc.custom {
		granted = mayAsCustom
	}
	by := &user.DefaultInfo{Name: tc.user}
	require.Equal(t, tc.denied, evaluateWith(t, authorizer.AuthorizerFunc(granted), "operand-nodes", by, old, changed, "nodes"))
}

// mayAsCustom is the right that the operator binds on the platform of custom cloud-controller-managers.
func mayAsCustom(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() == operandUser && a.GetVerb() == "update" && a.GetResource() == "nodes" &&
		a.GetSubresource() == "metadata" && a.GetAPIGroup() == "cloudcontrollermanager.operator.openshift.io" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// isReady makes the kubelet report that it is ready.
func isReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue }

// inRack7 sets a label as an administrator does.
func inRack7(n *corev1.Node) { n.Labels["topology.kubernetes.io/zone"] = "rack-7" }

// isProbed adds the taint with which the operator asks about a machine.
func isProbed(n *corev1.Node) {
	inRack7(n)
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
		Key: uninitializedTaint, Value: "known-to-the-cloud", Effect: corev1.TaintEffectPreferNoSchedule,
	})
}

func label(keys ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, key := range keys {
			n.Labels[key] = "x"
		}
	}
}

func annotate(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{key: "x"} }
}

// The expectations are those of the sources that the policy names.
func TestACloudControllerManagerWritesWhatTheCloudSaysOfANode(t *testing.T) {
	for name, tc := range map[string]policyCase{
		"nothing": {change: func(*corev1.Node) {}},
		"a node is initialized": {change: func(n *corev1.Node) {
			label(
				"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
				"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region",
				"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone",
			)(n)
			n.Spec.ProviderID, n.Spec.Taints = "openstack:///x", n.Spec.Taints[1:]
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}}
			n.ResourceVersion, n.Generation, n.ManagedFields = "2", 2, []metav1.ManagedFieldsEntry{{Manager: "x"}}
		}},
		"labels of AWS": {providerID: "aws:///eu-west-1a/i-0", change: label(
			"topology.k8s.aws/zone-id", "topology.k8s.aws/network-node-layer-1", "k8s.io/cloud-provider-aws")},
		"labels of vSphere": {providerID: "vsphere://4", change: label("node.openshift.io/platform-type")},
		"labels of Nutanix": {providerID: "nutanix://4", change: label(
			"nutanix.com/prism-element-uuid", "nutanix.com/prism-host-name", "nutanix.com/metro-site-group")},
		"labels of Alibaba Cloud": {providerID: "cn-hangzhou.i-0", change: label(
			"node.alibabacloud.com/nodepool-id", "node.alibabacloud.com/instance-charge-type")},
		"the labels and annotations of a custom cloud": {custom: true, change: func(n *corev1.Node) {
			label("oci.oraclecloud.com/fault-domain")(n)
			annotate("oci.oraclecloud.com/compartment-id")(n)
			n.Spec.ProviderID, n.Spec.Taints = "ocid1.instance.x", n.Spec.Taints[1:]
		}},
		"a label that an initialized node lacks": {providerID: "openstack:///x", change: label("topology.kubernetes.io/zone")},
		"a label gets the value of its former name": {
			providerID: "openstack:///x",
			old:        func(n *corev1.Node) { inRack7(n); n.Labels["failure-domain.beta.kubernetes.io/zone"] = "x" },
			change:     label("topology.kubernetes.io/zone"),
		},
		"Alibaba Cloud's follows the machine": {
			providerID: "cn-hangzhou.i-0", old: inRack7, change: label("topology.kubernetes.io/zone"),
		},
		"a custom one follows the machine": {
			custom: true, providerID: "openstack:///x", old: inRack7, change: label("topology.kubernetes.io/zone"),
		},
		"one of a cloud that is not known here follows the machine": {
			providerID: "hcloud://4", old: inRack7, change: label("topology.kubernetes.io/zone"),
		},
		"a machine is shut down": {providerID: "openstack:///x", change: func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, shutdown)
		}},
		"a machine is started again": {
			providerID: "openstack:///x",
			old:        func(n *corev1.Node) { n.Spec.Taints = append([]corev1.Taint{shutdown}, n.Spec.Taints...) },
			change:     func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[1:] },
		},
		"an answer to the operator's question": {
			providerID: "openstack:///x",
			old: func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
					Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectPreferNoSchedule,
				})
			},
			change: func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] },
		},
		"a machine of Azure that is shut down is out of service": {
			providerID: "azure:///x",
			old:        func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, shutdown) },
			change:     func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, outOfService) },
		},
		"a machine of Azure is back in service": {
			providerID: "azure:///x",
			old:        func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, outOfService) },
			change:     func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] },
		},
		"the condition of a cloud's routes": {change: func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable})
		}},
		"a node without labels, taints and a status": {
			old:    func(n *corev1.Node) { *n = corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}} },
			change: func(n *corev1.Node) { n.Labels = map[string]string{"topology.kubernetes.io/zone": "1"} },
		},
		"an administrator is not limited": {user: "admin", change: label("node-role.kubernetes.io/master")},
	} {
		t.Run(name, tc.run)
	}
}

var (
	shutdown     = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule}
	outOfService = corev1.Taint{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}
)

func TestACloudControllerManagerWritesNothingElseOfANode(t *testing.T) {
	add := func(taint corev1.Taint) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) }
	}
	for name, tc := range map[string]policyCase{
		"a worker does not become a master": {
			change: label("node-role.kubernetes.io/master"), denied: []string{foreignLabels + "node-role.kubernetes.io/master"},
		},
		"nor on a custom cloud": {
			custom: true, change: label(
				"node-role.kubernetes.io/master", "machineconfiguration.openshift.io/x", "dedicated",
			),
			denied: []string{foreignLabels + "dedicated, machineconfiguration.openshift.io/x, node-role.kubernetes.io/master"},
		},
		"a first provider ID that no cloud has opens no label": {
			change: func(n *corev1.Node) {
				label("example.com/x", "node.example.com/y")(n)
				annotate("example.com/z")(n)
				n.Spec.ProviderID = "custom:///x"
			},
			denied: []string{foreignLabels + "example.com/x, node.example.com/y", foreignAnnotations + "example.com/z"},
		},
		"the network plugin's annotations, on a custom cloud either": {
			custom: true, change: annotate("k8s.ovn.org/node-subnets"),
			denied: []string{foreignAnnotations + "k8s.ovn.org/node-subnets"},
		},
		"a label of a Node that the operator asks about": {
			providerID: "openstack:///x", old: isProbed, change: label("topology.kubernetes.io/zone"),
			denied: []string{foreignLabels + "topology.kubernetes.io/zone"},
		},
		"a label of a Node in a second answer": {
			providerID: "openstack:///x",
			old:        func(n *corev1.Node) { inRack7(n); n.Labels["failure-domain.beta.kubernetes.io/zone"] = "rack-7" },
			change: label(
				"topology.kubernetes.io/region", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
			denied: []string{"the cloud-controller-manager may not change these labels of an initialized Node: topology.kubernetes.io/zone"},
		},
		"a foreign label": {
			providerID: "openstack:///x", change: label("example.com/x"), denied: []string{foreignLabels + "example.com/x"},
		},
		"a foreign label before the node is initialized": {
			change: label("example.com/x"), denied: []string{foreignLabels + "example.com/x"},
		},
		"a prefix that only begins like a cloud's": {
			change: label("nutanix.com.example/x", "topology.k8s.aws.example/x"),
			denied: []string{foreignLabels + "nutanix.com.example/x, topology.k8s.aws.example/x"},
		},
		"a changed and a removed label": {
			change: func(n *corev1.Node) {
				n.Labels["kubernetes.io/hostname"] = "x"
				delete(n.Labels, "node-role.kubernetes.io/worker")
			},
			denied: []string{foreignLabels + "kubernetes.io/hostname, node-role.kubernetes.io/worker"},
		},
		"a removed label of the cloud": {
			old:    label("topology.kubernetes.io/zone"),
			change: func(n *corev1.Node) { delete(n.Labels, "topology.kubernetes.io/zone") },
			denied: []string{foreignLabels + "topology.kubernetes.io/zone"},
		},
		"an annotation": {change: annotate(permission), denied: []string{foreignAnnotations + permission}},
		"the permission on a custom cloud": {
			custom: true, change: annotate(permission), denied: []string{foreignAnnotations + permission},
		},
		"a removed annotation": {
			old: annotate("a"), change: func(n *corev1.Node) { n.Annotations = nil }, denied: []string{foreignAnnotations + "a"},
		},
		"another provider ID": {
			providerID: "openstack:///x", change: func(n *corev1.Node) { n.Spec.ProviderID = "openstack:///y" },
			denied: []string{anotherProviderID},
		},
		"no provider ID": {
			providerID: "openstack:///x", change: func(n *corev1.Node) { n.Spec.ProviderID = "" },
			denied: []string{anotherProviderID},
		},
		"another's taint is removed": {
			change: func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] }, denied: []string{foreignTaints},
		},
		"a new taint": {
			change: add(corev1.Taint{Key: "x", Effect: "NoExecute"}), denied: []string{foreignTaints},
		},
		"a node is uninitialized": {
			providerID: "openstack:///x",
			change:     add(corev1.Taint{Key: uninitializedTaint, Effect: "NoSchedule"}),
			denied:     []string{foreignTaints},
		},
		"a shutdown that evicts pods": {
			change: add(corev1.Taint{Key: shutdown.Key, Effect: "NoExecute"}), denied: []string{foreignTaints},
		},
		"out of service on another cloud": {
			providerID: "openstack:///x", old: add(shutdown), change: add(outOfService), denied: []string{foreignTaints},
		},
		"a running machine of Azure is out of service": {
			providerID: "azure:///x", change: add(outOfService), denied: []string{foreignTaints},
		},
		"a Ready machine of Azure is shut down": {
			providerID: "azure:///x", old: isReady, change: add(shutdown), denied: []string{foreignTaints},
		},
		"a Ready machine of Azure that was shut down is out of service": {
			providerID: "azure:///x", old: func(n *corev1.Node) { isReady(n); add(shutdown)(n) }, change: add(outOfService),
			denied: []string{foreignTaints},
		},
		"a machine that becomes one of Azure is out of service": {
			old:    add(shutdown),
			change: func(n *corev1.Node) { n.Spec.ProviderID = "azure:///x"; add(outOfService)(n) }, denied: []string{foreignTaints},
		},
		"another condition": {
			change: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
			denied: []string{foreignCondition},
		},
		"the rest of metadata, spec and status": {
			change: func(n *corev1.Node) {
				n.OwnerReferences, n.Finalizers = nil, []string{"example.com/x"}
				n.Spec.Unschedulable, n.Spec.PodCIDR = true, ""
				n.Status.Capacity = nil
				n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "x"}}
			},
			denied: []string{foreignFields + "metadata.finalizers, metadata.ownerReferences, spec.podCIDR, " +
				"spec.unschedulable, " +
				"status.capacity, status.volumesAttached"},
		},
	} {
		t.Run(name, tc.run)
	}
}

const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

func TestACloudControllerManagerDoesNotRedirectServices(t *testing.T) {
	for name, tc := range map[string]struct {
		user   string
		change func(*corev1.Service)
		denied []string
	}{
		"nothing": {change: func(*corev1.Service) {}},
		"what it built": {change: func(s *corev1.Service) {
			s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup", "service.k8s.alibaba/resources"}
			s.Annotations["loadbalancer.openstack.org/load-balancer-id"] = "x"
			s.Annotations["kubernetes.digitalocean.com/load-balancer-id"] = "x"
			s.Labels = map[string]string{"service.beta.kubernetes.io/hash": "x", "service.k8s.alibaba/loadbalancer-id": "x"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
			s.ResourceVersion, s.ManagedFields = "2", []metav1.ManagedFieldsEntry{{Manager: "x"}}
		}},
		"other pods": {
			change: func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "y"} },
			denied: []string{foreignFields + "spec.selector"},
		},
		"others' addresses": {
			change: func(s *corev1.Service) {
				s.Spec.ExternalIPs, s.Spec.ExternalName = []string{"192.0.2.1"}, "example.com"
				s.Spec.Type = corev1.ServiceTypeExternalName
			},
			denied: []string{foreignFields + "spec.externalIPs, spec.externalName, spec.type"},
		},
		"an owner": {
			change: func(s *corev1.Service) { s.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} },
			denied: []string{foreignFields + "metadata.ownerReferences"},
		},
		"a serving certificate": {
			change: func(s *corev1.Service) {
				s.Annotations["service.beta.openshift.io/serving-cert-secret-name"] = "x"
				s.Labels = map[string]string{"service.openshift.io/x": "y"}
			},
			denied: []string{"the cloud-controller-manager may not change these labels or annotations: " +
				"service.beta.openshift.io/serving-cert-secret-name, service.openshift.io/x"},
		},
		"an administrator is not limited": {user: "admin", change: func(s *corev1.Service) { s.Spec.Selector = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			old := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "n", Annotations: map[string]string{"a": "b"}},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "x"}},
			}
			changed := old.DeepCopy()
			tc.change(changed)
			if tc.user == "" {
				tc.user = operandUser
			}
			require.Equal(
				t,
				tc.denied,
				evaluate(t, "operand-services", &user.DefaultInfo{Name: tc.user}, old, changed, "services"),
			)
		})
	}
}

// An update of a subresource changes metadata too.
func TestPoliciesAboutFieldsCoverTheStatus(t *testing.T) {
	for policy, resources := range map[string][]string{
		"node-manager":     {"nodes", "nodes/status"},
		"operand-nodes":    {"nodes", "nodes/status"},
		"operand-services": {"services", "services/status"},
	} {
		rules := policyNamed(t, policy).MatchConstraints.ResourceRules
		require.Len(t, rules, 1, policy)
		require.Equal(t, resources, rules[0].Resources, policy)
		require.Equal(t, []admissionv1.OperationType{admissionv1.Update}, rules[0].Operations, policy)
	}
}
