package rights

import "slices"

const (
	operatorAccount  = "cluster-cloud-controller-manager"
	operandAccount   = "cloud-controller-manager"
	preflightAccount = "cloud-controller-manager-preflight"

	operatorNamespace = "openshift-cloud-controller-manager-operator"
	targetNamespace   = "openshift-cloud-controller-manager"
	managedNamespace  = "openshift-config-managed"

	policies       = "validatingadmissionpolicies.admissionregistration.k8s.io"
	policyBindings = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
	roleBindings   = "rolebindings.rbac.authorization.k8s.io"
	constraints    = "securitycontextconstraints.security.openshift.io"
)

// The tests that use what TestOpenStack does not, on clusters of their own.
const (
	removal  = "TestRemoval"
	takeover = "TestTakeover/three_nodes"

	storyOnOpenStack = "TestStory/openstack"
	storyOnAWS       = "TestStory/aws"
	storyOnAzure     = "TestStory/azure"

	pki           = "TestThePKIConfigurationSelectsTheKeysOfNewCertificates"
	managedConfig = "TestOnVSphereTheOperatorWritesTheManagedConfigBehindItsGate"
	policyWatch   = "TestTheOperatorNoticesThatNothingHoldsTheDeletionsOfNodes"
	nodeManager   = "TestAzureHasANodeManagerAndFederatedTokens"
)

const (
	// streamed is the reason for informers with Kubernetes' WatchList, which start with a watch instead of a list. The API
	// server of TestRemoval does not stream lists.
	streamed = "An informer lists only where the API server cannot stream the list, as while a cluster is upgraded."

	noMonitoring  = "Only requests of our own accounts are compared. A step lists as Prometheus, and fails if it may not."
	noSCC         = "The development cluster has no admission by security context constraints."
	noDeletion    = "No instance is deleted or stopped."
	noBalancer    = "The cloud has no load balancers, so there is no Service to write to."
	noPolicy      = "OpenStack has no admission policy; those that another platform left are read live and deleted."
	noNodeManager = "OpenStack has no cloud-node-manager; one that another platform left is read live and deleted."
	notRemoved    = "Only a removal deletes it."
	noPredecessor = "Only a take-over needs it."
	notManaged    = "The operator writes the managed cloud configuration on vSphere only, behind a feature gate."
	noLock        = "Azure and GCP have a binding there; leftovers are deleted."
)

// Unused are the rights of docs/rights.md that TestOpenStack does not use.
var Unused = slices.Concat(lists, unusedByOperator, unusedByRemoval, unusedByOperand, []Exception{
	{
		Account: "installer-sa", Namespace: targetNamespace, Resources: []string{constraints}, Verbs: []string{"use"},
		Reason: noSCC,
	},
	{
		Account: preflightAccount, Namespace: targetNamespace, Resources: []string{constraints}, Verbs: []string{"use"},
		Reason: noSCC,
	},
	{
		Account: "prometheus-k8s", Namespace: operatorNamespace, Verbs: []string{"get", "list", "watch"},
		Resources: []string{"pods", "services", "endpointslices.discovery.k8s.io"}, Reason: noMonitoring,
	},
	{
		Account: "prometheus-k8s", Namespace: targetNamespace, Verbs: []string{"get", "list", "watch"},
		Resources: []string{"pods", "services", "endpointslices.discovery.k8s.io"}, Reason: noMonitoring,
	},
	{
		Account: "installer-sa", Namespace: targetNamespace, Resources: []string{"leases.coordination.k8s.io"},
		Verbs: []string{"get", "update"}, Reason: "An installer frees the lease only if the leader was the last to roll out.",
		Sometimes: true,
	},
})

var lists = []Exception{
	listed(operatorAccount, "", "apiservers.config.openshift.io", "clusteroperators.config.openshift.io",
		"featuregates.config.openshift.io", "infrastructures.config.openshift.io", "networks.config.openshift.io",
		"proxies.config.openshift.io", "cloudcontrollermanagers.operator.openshift.io", "namespaces", "nodes",
		"clusterrolebindings.rbac.authorization.k8s.io"),
	listed(operatorAccount, targetNamespace, "configmaps", "secrets", "pods", "leases.coordination.k8s.io",
		"serviceaccounts", "services", "deployments.apps", roleBindings),
	listed(operatorAccount, operatorNamespace, "secrets"),
	listed(operatorAccount, "openshift-config", "configmaps"),
	listed(operatorAccount, managedNamespace, "configmaps"),
	listed(operatorAccount, "kube-system", "configmaps"),
	listed(operandAccount, "", "nodes", "services"),
	listed("file-syncer", targetNamespace, "configmaps", "secrets"),
	{
		Account: preflightAccount, Resources: []string{"nodes", "services"}, Verbs: []string{"list"}, Reason: streamed,
		Sometimes: true,
	},
	{
		Account: operatorAccount, Namespace: "default", Resources: []string{"events"}, Verbs: []string{"list"},
		Reason: streamed, Sometimes: true,
	},
	{
		Account: operatorAccount, Resources: []string{"events"}, Verbs: []string{"list"},
		Reason: "The Events of a Service are read only while it waits for its load balancer.",
	},
	{
		Account: operatorAccount, Namespace: "default", Resources: []string{"events"}, Verbs: []string{"create"},
		Reason: "A Node has an Event once it has waited for half a minute, as in TestFaults.", Sometimes: true,
	},
}

func listed(account, namespace string, resources ...string) Exception {
	return Exception{
		Account: account, Namespace: namespace, Resources: resources, Verbs: []string{"list"},
		Reason: streamed, Sometimes: true, By: removal,
	}
}

var unusedByOperator = []Exception{
	{
		Account: operatorAccount, Resources: []string{"clusteroperators.config.openshift.io"},
		Verbs:  []string{"create", "delete"},
		Reason: "The payload's ClusterOperator is there from the start, and the operator's resource stays to the end.",
	},
	{
		Account: operatorAccount, Resources: []string{"pkis.config.openshift.io"}, Names: []string{"cluster"},
		Verbs: []string{"watch"}, Reason: "The feature gate ConfigurablePKI is off.", By: pki,
	},
	{
		Account: operatorAccount, Resources: []string{"pkis.config.openshift.io"}, Names: []string{"cluster"},
		Verbs: []string{"list"}, Reason: streamed,
	},
	{
		Account: operatorAccount, Resources: []string{policyBindings}, Verbs: []string{"create"},
		Reason: noPolicy, By: storyOnAWS,
	},
	{Account: operatorAccount, Resources: []string{policies, policyBindings}, Verbs: []string{"list"}, Reason: streamed},
	{
		Account: operatorAccount, Resources: []string{policies}, Verbs: []string{"get"},
		Reason: "No policy is missing from the cache.", By: policyWatch,
	},
	{
		Account: operatorAccount, Resources: []string{policyBindings}, Verbs: []string{"get"},
		Reason: "Bindings of other platforms are read live until the informer has synced.", Sometimes: true,
	},
	{
		Account: operatorAccount, Resources: []string{policyBindings}, Verbs: []string{"update"},
		Reason: "Nobody changes the binding of a policy.",
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace, Resources: []string{constraints}, Verbs: []string{"use"},
		Reason: noSCC,
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace, Resources: []string{"secrets"}, Verbs: []string{"update"},
		Reason: "The signer is good for a year. The long steps shorten that.", Sometimes: true,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"leases.coordination.k8s.io"},
		Verbs: []string{"create"}, Reason: "TestFaults deletes the lease, on a cluster of its own.",
	},
	{
		Account: operatorAccount, Resources: []string{"nodes"}, Verbs: []string{"patch"}, Reason: noDeletion,
		By: storyOnOpenStack,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"pods"}, Verbs: []string{"delete"},
		Reason: "An installer pod that failed is deleted for the next try.", Sometimes: true, By: removal,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"secrets"}, Verbs: []string{"delete"},
		Reason:    "A withdrawn preflight's Secret goes once no rejection is remembered, which a fast run does not reach.",
		Sometimes: true, By: removal,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"pods"}, Verbs: []string{"update"},
		Reason: "An installer pod that is there already is adapted.", Sometimes: true,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"daemonsets.apps"},
		Verbs: []string{"watch", "create", "update"}, Reason: noNodeManager, By: nodeManager,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"daemonsets.apps"},
		Verbs: []string{"list"}, Reason: streamed,
	},
	{
		Account: operatorAccount, Namespace: managedNamespace, Resources: []string{"configmaps"},
		Verbs: []string{"get", "create", "update"}, Reason: notManaged, By: managedConfig,
	},
	{
		Account: operatorAccount, Namespace: "kube-system", Resources: []string{roleBindings},
		Verbs: []string{"watch", "create"}, Reason: noLock, By: nodeManager,
	},
	{
		Account: operatorAccount, Namespace: "kube-system", Resources: []string{roleBindings}, Verbs: []string{"list"},
		Reason: streamed,
	},
	{
		Account: operatorAccount, Namespace: "kube-system", Resources: []string{roleBindings}, Verbs: []string{"update"},
		Reason: "Nobody changes the binding.",
	},
	{
		Account: operatorAccount, Namespace: "kube-system",
		Resources: []string{"clusterroles.rbac.authorization.k8s.io"}, Verbs: []string{"bind"},
		Reason: noLock, By: storyOnAzure,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"deployments.apps"},
		Verbs: []string{"delete"}, Reason: noPredecessor, By: takeover,
	},
	{
		Account: operatorAccount, Resources: []string{"namespaces"}, Verbs: []string{"patch"}, Reason: noPredecessor,
		By: takeover,
	},
}

var unusedByRemoval = []Exception{
	{
		Account: operatorAccount, Resources: []string{"services"}, Verbs: []string{"list"},
		Reason: "Only a removal lists Services, or an informer where the API server cannot stream the list.", By: removal,
	},
	{
		Account: operatorAccount, Resources: []string{"clusterrolebindings.rbac.authorization.k8s.io"},
		Names: []string{"system:openshift:cloud-controller-manager:operand"},
		Verbs: []string{"delete"}, Reason: notRemoved, By: removal,
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace, Resources: []string{"secrets"},
		Names: []string{"cloud-controller-manager-serving-signer"},
		Verbs: []string{"delete"}, Reason: notRemoved, By: removal,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"serviceaccounts"},
		Names: []string{"cloud-controller-manager", "file-syncer", "installer-sa"},
		Verbs: []string{"delete"}, Reason: notRemoved, By: removal,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"services"},
		Verbs: []string{"delete"}, Reason: notRemoved, By: removal,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{roleBindings},
		Names: []string{
			"system:openshift:cloud-controller-manager:file-syncer", "system:openshift:cloud-controller-manager:installer",
			"system:openshift:cloud-controller-manager:operand-lease",
		},
		Verbs: []string{"delete"}, Reason: notRemoved, By: removal,
	},
}

var unusedByOperand = []Exception{
	{
		Account: operandAccount, Resources: []string{"nodes"}, Verbs: []string{"get", "patch", "delete"},
		Reason: noDeletion, By: storyOnOpenStack,
	},
	{
		Account: operandAccount, Resources: []string{"nodes/status"}, Verbs: []string{"patch"},
		Reason: "The kubelets report the addresses that their instances have, and none of these changes.",
		By:     storyOnAWS,
	},
	{
		Account: operandAccount, Resources: []string{"services", "services/status"}, Verbs: []string{"patch"},
		Reason: noBalancer, By: storyOnOpenStack,
	},
	{
		Account: operandAccount, Resources: []string{"services"}, Verbs: []string{"get"},
		Reason: "Only some providers read a Service again before they change it, if another change interferes.",
	},
	{
		Account: operandAccount, Resources: []string{"events"}, Verbs: []string{"patch"},
		Reason: "Only repetitions of an event are patched.", Sometimes: true, By: storyOnOpenStack,
	},
}
