package architecture

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/admissiontest"
)

const (
	nodeManagerUser = "system:serviceaccount:openshift-cloud-controller-manager:cloud-node-manager"
	nodeNameClaim   = "authentication.kubernetes.io/node-name"
)

// The policy is compiled and evaluated by the API server's code. test/integration uses a real API server.
func TestACloudNodeManagerChangesOnlyItsOwnNode(t *testing.T) {
	const denied = "a cloud-node-manager may change only the node that it runs on"
	for name, tc := range map[string]struct {
		user   string
		extra  map[string][]string
		denied []string
	}{
		"its own node": {
			user: nodeManagerUser, extra: map[string][]string{nodeNameClaim: {"worker-0"}},
		},
		"another node": {
			user: nodeManagerUser, extra: map[string][]string{nodeNameClaim: {"worker-1"}}, denied: []string{denied},
		},
		"a token of two nodes": {
			user: nodeManagerUser, extra: map[string][]string{nodeNameClaim: {"worker-1", "worker-0"}}, denied: []string{denied},
		},
		"a token of no node": {
			user:   nodeManagerUser,
			extra:  map[string][]string{"authentication.kubernetes.io/pod-name": {"worker-0"}},
			denied: []string{denied},
		},
		"a token without claims": {user: nodeManagerUser, denied: []string{denied}},
		"the cloud-controller-manager": {
			user: "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.denied, denials(t, &user.DefaultInfo{Name: tc.user, Extra: tc.extra}, worker(), worker()))
		})
	}
}

func TestACloudNodeManagerChangesOnlyWhatTheCloudSaysOfItsNode(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		denied []string
	}{
		"nothing": {change: func(*corev1.Node) {}},
		"everything that it writes": {change: func(n *corev1.Node) {
			for _, key := range []string{
				"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
				"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region",
				"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone",
				"topology.kubernetes.azure.com/interconnect-group", "topology.kubernetes.azure.com/sub-fault-domain",
			} {
				n.Labels[key] = "x"
			}
			n.Spec.ProviderID = "azure:///x"
			n.Spec.Taints = n.Spec.Taints[1:]
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}}
			n.ResourceVersion, n.Generation, n.ManagedFields = "2", 2, []metav1.ManagedFieldsEntry{{Manager: "x"}}
		}},
		"a control-plane label": {
			change: func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/master"] = "" },
			denied: []string{"a cloud-node-manager may not change these labels: node-role.kubernetes.io/master"},
		},
		"a changed and a removed label": {
			change: func(n *corev1.Node) {
				n.Labels["kubernetes.io/hostname"] = "x"
				delete(n.Labels, "node-role.kubernetes.io/worker")
			},
			denied: []string{
				"a cloud-node-manager may not change these labels: kubernetes.io/hostname, node-role.kubernetes.io/worker",
			},
		},
		"another node's taint": {
			change: func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] },
			denied: []string{
				"a cloud-node-manager may change no taint but remove node.cloudprovider.kubernetes.io/uninitialized",
			},
		},
		"a new taint": {
			change: func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "x", Effect: "NoSchedule"})
			},
			denied: []string{
				"a cloud-node-manager may change no taint but remove node.cloudprovider.kubernetes.io/uninitialized",
			},
		},
		"the rest of metadata, spec and status": {
			change: func(n *corev1.Node) {
				n.Annotations = map[string]string{"x": "y"}
				n.OwnerReferences, n.Finalizers = nil, []string{"example.com/x"}
				n.Spec.Unschedulable, n.Spec.PodCIDR = true, ""
				n.Status.Capacity = nil
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue}}
			},
			denied: []string{"a cloud-node-manager may not change these fields: metadata.annotations, metadata.finalizers, " +
				"metadata.ownerReferences, spec.podCIDR, spec.unschedulable, status.capacity, status.conditions"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := worker()
			tc.change(changed)
			own := &user.DefaultInfo{Name: nodeManagerUser, Extra: map[string][]string{nodeNameClaim: {"worker-0"}}}
			require.Equal(t, tc.denied, denials(t, own, worker(), changed))
		})
	}
	t.Run("another provider ID", func(t *testing.T) {
		old, changed := worker(), worker()
		old.Spec.ProviderID, changed.Spec.ProviderID = "azure:///x", "azure:///y"
		own := &user.DefaultInfo{Name: nodeManagerUser, Extra: map[string][]string{nodeNameClaim: {"worker-0"}}}
		denied := []string{"a cloud-node-manager may set spec.providerID only where it is empty"}
		require.Equal(t, denied, denials(t, own, old, changed))
		changed.Spec.ProviderID = ""
		require.Equal(t, denied, denials(t, own, old, changed))
	})
	t.Run("a node without labels, taints and a status", func(t *testing.T) {
		own := &user.DefaultInfo{Name: nodeManagerUser, Extra: map[string][]string{nodeNameClaim: {"worker-0"}}}
		empty := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}}
		changed := empty.DeepCopy()
		changed.Labels = map[string]string{"topology.kubernetes.io/zone": "1"}
		require.Empty(t, denials(t, own, empty, changed))
	})
}

const (
	operandUser  = "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager"
	operatorUser = "system:serviceaccount:openshift-cloud-controller-manager-operator:cluster-cloud-controller-manager"
	permission   = "cloudcontrollermanager.operator.openshift.io/node-deletion"
)

func TestACloudControllerManagerDeletesOnlyNodesThatAreConfirmed(t *testing.T) {
	const (
		exists = "the kubelet of this node reports its state, so its machine exists; to let the cloud-controller-manager " +
			"delete the Node nevertheless, annotate it with cloudcontrollermanager.operator.openshift.io/node-deletion=Allowed"
		unconfirmed = "the operator has not confirmed that the machine of this node is gone; if that takes longer than a " +
			"minute, the condition NodeDeletionDegraded of cloudcontrollermanager/cluster says why"
	)
	for name, tc := range map[string]struct {
		user       string
		ready      corev1.ConditionStatus
		permission string
		denied     []string
	}{
		"a node that works":                         {ready: corev1.ConditionTrue, denied: []string{exists, unconfirmed}},
		"a node that reports that it is not ready":  {ready: corev1.ConditionFalse, denied: []string{exists, unconfirmed}},
		"a silent node":                             {ready: corev1.ConditionUnknown, denied: []string{unconfirmed}},
		"a node that never reported":                {denied: []string{unconfirmed}},
		"a silent node that the operator confirmed": {ready: corev1.ConditionUnknown, permission: "Confirmed"},
		"a confirmed node that is back": {
			ready: corev1.ConditionTrue, permission: "Confirmed", denied: []string{exists},
		},
		"a node that works, with permission": {ready: corev1.ConditionTrue, permission: "Allowed"},
		"a silent node with permission":      {ready: corev1.ConditionUnknown, permission: "Allowed"},
		"a permission that is not defined": {
			ready: corev1.ConditionUnknown, permission: "allowed", denied: []string{unconfirmed},
		},
		"an administrator": {user: "admin", ready: corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			node := worker()
			node.Status.Conditions = nil
			if tc.ready != "" {
				node.Status.Conditions = []corev1.NodeCondition{
					{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: tc.ready},
				}
			}
			if tc.permission != "" {
				node.Annotations = map[string]string{permission: tc.permission}
			}
			by := tc.user
			if by == "" {
				by = operandUser
			}
			require.Equal(t, tc.denied, denialsOf(t, "node-deletion", &user.DefaultInfo{Name: by}, node, nil))
		})
	}
}

// The predecessor's payload overwrites the role of the same name, so its operator has none of our rights.
func TestThePolicyForDeletionsHoldsWhileTheOperatorMayConfirm(t *testing.T) {
	for name, tc := range map[string]struct {
		by      string
		granted authorizer.AuthorizerFunc
		denied  int
	}{
		"this operator's rights":     {by: operandUser, granted: operatorMay(t), denied: 2},
		"the predecessor's rights":   {by: operandUser, granted: nobodyMay},
		"an administrator's request": {by: "admin", granted: operatorMay(t)},
	} {
		t.Run(name, func(t *testing.T) {
			denied := evaluateWith(t, tc.granted, "node-deletion", &user.DefaultInfo{Name: tc.by}, worker(), nil, "nodes")
			require.Len(t, denied, tc.denied)
		})
	}
}

// An API server reads the parameters of a policy before it asks whether the policy is about a request.
func TestNoPolicyHasAParameter(t *testing.T) {
	for _, m := range payload(t) {
		if policy, ok := m.object.(*admissionv1.ValidatingAdmissionPolicy); ok {
			require.Nil(t, policy.Spec.ParamKind, policy.Name)
		}
	}
}

// operatorMay allows what the roles of the payload allow the operator.
func operatorMay(t *testing.T) authorizer.AuthorizerFunc {
	t.Helper()
	rules := operatorRights(t)[""]
	return func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		resource := a.GetResource()
		if a.GetSubresource() != "" {
			resource += "/" + a.GetSubresource()
		}
		if a.GetUser().GetName() == operatorUser && allows(rules, a.GetVerb(), resource, a.GetName()) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
}

func nobodyMay(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

func TestTheOperatorChangesOnlyItsMarksOnNodes(t *testing.T) {
	const (
		word  = "the operator may only confirm the deletion of a Node, or take that back"
		taint = "the operator may change no taint but node.cloudprovider.kubernetes.io/uninitialized with PreferNoSchedule"
	)
	mark := corev1.Taint{
		Key:    "node.cloudprovider.kubernetes.io/uninitialized",
		Value:  "x",
		Effect: corev1.TaintEffectPreferNoSchedule,
	}
	for name, tc := range map[string]struct {
		old, change func(*corev1.Node)
		denied      []string
	}{
		"nothing": {change: func(*corev1.Node) {}},
		"both marks": {change: func(n *corev1.Node) {
			n.Annotations = map[string]string{permission: "Confirmed"}
			n.Spec.Taints = append(n.Spec.Taints, mark)
			n.ResourceVersion, n.Generation, n.ManagedFields = "2", 2, []metav1.ManagedFieldsEntry{{Manager: "x"}}
		}},
		"both marks are removed": {
			old: func(n *corev1.Node) {
				n.Annotations = map[string]string{permission: "Confirmed", "a": "b"}
				n.Spec.Taints = append(n.Spec.Taints, mark)
			},
			change: func(n *corev1.Node) {
				delete(n.Annotations, permission)
				n.Spec.Taints = n.Spec.Taints[:2]
			},
		},
		"an administrator's word": {
			change: func(n *corev1.Node) { n.Annotations = map[string]string{permission: "Allowed"} }, denied: []string{word},
		},
		"an administrator's word is taken back": {
			old:    func(n *corev1.Node) { n.Annotations = map[string]string{permission: "Allowed"} },
			change: func(n *corev1.Node) { n.Annotations = nil }, denied: []string{word},
		},
		"other annotations": {
			old: func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b", "c": "d"} },
			change: func(n *corev1.Node) {
				n.Annotations = map[string]string{"a": "x", "e": "f"}
			},
			denied: []string{"the operator may not change these annotations: a, c, e"},
		},
		"a taint that repels pods": {
			change: func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: mark.Key, Value: "x", Effect: corev1.TaintEffectNoExecute})
			},
			denied: []string{taint},
		},
		"the initialization": {change: func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[1:] }, denied: []string{taint}},
		"the rest": {
			change: func(n *corev1.Node) {
				n.Labels["node-role.kubernetes.io/master"] = ""
				n.Spec.Unschedulable, n.Spec.ProviderID, n.Finalizers = true, "x", []string{"example.com/x"}
			},
			denied: []string{
				"the operator may not change these fields: metadata.finalizers, metadata.labels, spec.providerID, " +
					"spec.unschedulable",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := worker()
			if tc.old != nil {
				tc.old(old)
			}
			changed := old.DeepCopy()
			tc.change(changed)
			require.Equal(t, tc.denied, denialsOf(t, "operator-nodes", &user.DefaultInfo{Name: operatorUser}, old, changed))
		})
	}
}

// worker returns an uninitialized node.
func worker() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "worker-0", ResourceVersion: "1", Generation: 1,
			Labels:          map[string]string{"kubernetes.io/hostname": "worker-0", "node-role.kubernetes.io/worker": ""},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "x", UID: "y"}},
		},
		Spec: corev1.NodeSpec{
			PodCIDR: "10.0.0.0/24",
			Taints: []corev1.Taint{
				{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
				{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule},
			},
		},
		Status: corev1.NodeStatus{
			Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}},
		},
	}
}

func policyNamed(t *testing.T, name string) admissionv1.ValidatingAdmissionPolicySpec {
	t.Helper()
	for _, m := range payload(t) {
		if policy, ok := m.object.(*admissionv1.ValidatingAdmissionPolicy); ok &&
			policy.Name == "openshift-cloud-controller-manager-"+name {
			require.Equal(t, admissionv1.Fail, *policy.Spec.FailurePolicy)
			return policy.Spec
		}
	}
	require.Fail(t, "the payload has no policy "+name)
	return admissionv1.ValidatingAdmissionPolicySpec{}
}

// denials returns the messages of the cloud-node-manager's policy for an update of a node.
func denials(t *testing.T, by user.Info, old, changed *corev1.Node) []string {
	t.Helper()
	return denialsOf(t, "node-manager", by, old, changed)
}

// denialsOf returns a policy's messages for an update of a node, or for its deletion if changed is nil.
func denialsOf(t *testing.T, policy string, by user.Info, old, changed *corev1.Node) []string {
	t.Helper()
	if changed == nil {
		return evaluate(t, policy, by, old, nil, "nodes")
	}
	return evaluate(t, policy, by, old, changed, "nodes")
}

// evaluate returns a policy's messages for an update of an object of the core API, or for its deletion if changed is
// nil.
func evaluate(t *testing.T, policy string, by user.Info, old, changed runtime.Object, resource string) []string {
	t.Helper()
	return evaluateWith(t, operatorMay(t), policy, by, old, changed, resource)
}

// evaluateWith is evaluate with the authorizer that the policy asks.
func evaluateWith(
	t *testing.T, granted authorizer.Authorizer, policy string, by user.Info, old, changed runtime.Object, resource string,
) []string {
	t.Helper()
	compiled, err := admissiontest.Compile(policyNamed(t, policy))
	require.NoError(t, err)
	kinds, _, err := scheme.Scheme.ObjectKinds(old)
	require.NoError(t, err)
	object, err := meta.Accessor(old)
	require.NoError(t, err)
	request := admissiontest.Request{
		By: by, Kind: kinds[0], Resource: corev1.SchemeGroupVersion.WithResource(resource),
		Namespace: object.GetNamespace(), Name: object.GetName(), Old: old, New: changed,
	}
	denials, err := compiled.Denials(t.Context(), request, granted)
	require.NoError(t, err)
	var messages []string
	for _, denial := range denials {
		require.Equal(t, metav1.StatusReasonForbidden, denial.Reason)
		messages = append(messages, denial.Message)
	}
	return messages
}
