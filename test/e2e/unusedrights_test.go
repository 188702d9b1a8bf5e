package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

const (
	operatorAccount = "cluster-cloud-controller-manager"
	operandAccount  = "cloud-controller-manager"

	// streamed is the reason for informers with Kubernetes' WatchList, which start with a watch instead of a list.
	streamed = "An informer lists only where the API server cannot stream the list, as while a cluster is upgraded."

	noSCC      = "The development cluster has no admission by security context constraints."
	noBalancer = "The cloud of the development cluster has no load balancers, so there is no Service to write to."
)

// notRemoved is the reason for the rights that only a removal uses.
const notRemoved = "TestRemoval removes the cloud-controller-manager, on a cluster of its own."

// noPredecessor is the reason for the rights that only a take-over uses.
const noPredecessor = "TestTakeover replaces the predecessor, on a cluster of its own."

// noDeletion is the reason for the rights that only the confirmation of a deletion uses.
const noDeletion = "TestTwentyLiesCostNoNode deletes instances, on a cluster of its own."

// unusedRights are the rights of docs/rights.md that TestOpenStack does not use.
var unusedRights = slices.Concat(unusedByOperator, unusedByOperand, []rights.Exception{
	{
		Account: "installer-sa", Namespace: targetNamespace,
		Resources: []string{"securitycontextconstraints.security.openshift.io"},
		Verbs:     []string{"use"}, Reason: noSCC,
	},
	{
		Account: "file-syncer", Namespace: targetNamespace, Resources: []string{"configmaps", "secrets"},
		Verbs:  []string{"list"},
		Reason: streamed, Sometimes: true,
	},
})

// Exceptions for removed rights are detected without a cluster.
func TestUnusedRightsAreRights(t *testing.T) {
	granted, err := rights.Granted("../..")
	require.NoError(t, err)
	require.Empty(t, rights.Compare(rights.On("openstack", granted), nil, unusedRights).Outdated)
}

var unusedByOperator = []rights.Exception{
	{
		Account: operatorAccount, Verbs: []string{"list"}, Reason: streamed, Sometimes: true,
		Resources: []string{
			"apiservers.config.openshift.io", "clusteroperators.config.openshift.io",
			"featuregates.config.openshift.io",
			"infrastructures.config.openshift.io", "networks.config.openshift.io", "proxies.config.openshift.io",
			"cloudcontrollermanagers.operator.openshift.io", "namespaces", "nodes",
			"clusterrolebindings.rbac.authorization.k8s.io",
		},
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Verbs: []string{"list"}, Reason: streamed,
		Sometimes: true,
		Resources: []string{"configmaps", "secrets", "pods", "leases.coordination.k8s.io", "serviceaccounts",
			"services", "deployments.apps", "rolebindings.rbac.authorization.k8s.io"},
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace, Verbs: []string{"list"}, Reason: streamed,
		Sometimes: true,
		Resources: []string{"secrets"},
	},
	{
		Account: operatorAccount, Namespace: configNamespace, Verbs: []string{"list"}, Reason: streamed,
		Sometimes: true,
		Resources: []string{"configmaps"},
	},
	{
		Account: operatorAccount, Namespace: "openshift-config-managed", Verbs: []string{"list"}, Reason: streamed,
		Sometimes: true,
		Resources: []string{"configmaps"},
	},
	{
		Account: operatorAccount, Namespace: "kube-system", Verbs: []string{"list"}, Reason: streamed, Sometimes: true,
		Resources: []string{"configmaps"},
	},
	{
		Account: operatorAccount, Resources: []string{"clusteroperators.config.openshift.io"},
		Verbs:  []string{"create", "delete"},
		Reason: "The payload's ClusterOperator is there from the start, and the operator's resource stays to the end.",
	},
	{
		Account: operatorAccount, Resources: []string{"pkis.config.openshift.io"}, Names: []string{"cluster"},
		Verbs:  []string{"list", "watch"},
		Reason: "The feature gate ConfigurablePKI is off. test/integration enables it.",
	},
	{
		Account: operatorAccount, Resources: []string{"validatingadmissionpolicybindings.admissionregistration.k8s.io"},
		Verbs:  []string{"list", "watch", "create", "update"},
		Reason: "OpenStack has no admission policy; those that another platform left are read live and deleted.",
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace,
		Resources: []string{"securitycontextconstraints.security.openshift.io"},
		Verbs:     []string{"use"}, Reason: noSCC,
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace, Resources: []string{"secrets"},
		Verbs:  []string{"update"},
		Reason: "The signer is good for a year. The long steps shorten that.", Sometimes: true,
	},
	{
		Account: operatorAccount, Resources: []string{"clusterrolebindings.rbac.authorization.k8s.io"},
		Names: []string{"system:openshift:cloud-controller-manager:operand"},
		Verbs: []string{"delete"}, Reason: notRemoved,
	},
	{
		Account: operatorAccount, Namespace: operatorNamespace, Resources: []string{"secrets"},
		Names: []string{"cloud-controller-manager-serving-signer"},
		Verbs: []string{"delete"}, Reason: notRemoved,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"serviceaccounts"},
		Names: []string{"cloud-controller-manager", "file-syncer", "installer-sa"},
		Verbs: []string{"delete"}, Reason: notRemoved,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"services"},
		Verbs: []string{"delete"}, Reason: notRemoved,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace,
		Resources: []string{"rolebindings.rbac.authorization.k8s.io"},
		Names: []string{
			"system:openshift:cloud-controller-manager:file-syncer", "system:openshift:cloud-controller-manager:installer",
			"system:openshift:cloud-controller-manager:operand-lease",
		},
		Verbs: []string{"delete"}, Reason: notRemoved,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"leases.coordination.k8s.io"},
		Verbs: []string{"create"}, Reason: "TestFaults deletes the lease, on a cluster of its own.",
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"deployments.apps"},
		Verbs: []string{"delete"}, Reason: noPredecessor,
	},
	{
		Account: operatorAccount, Resources: []string{"namespaces"}, Verbs: []string{"patch"}, Reason: noPredecessor,
	},
	{Account: operatorAccount, Resources: []string{"nodes"}, Verbs: []string{"patch"}, Reason: noDeletion},
	{
		Account: operatorAccount, Namespace: "default", Resources: []string{"events"}, Verbs: []string{"list"},
		Reason: streamed, Sometimes: true,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"pods"},
		Verbs:     []string{"update", "delete"},
		Reason:    "An installer pod that failed is deleted for the next try; one that is there already is adapted.",
		Sometimes: true,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"secrets"}, Verbs: []string{"delete"},
		Reason: "A Secret of a wrong type is deleted and created again. Those of old revisions go with their owner.",
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"events"}, Verbs: []string{"list"},
		Reason: "Events are read only for an installer pod that has been pending for minutes.", Sometimes: true,
	},
	{
		Account: operatorAccount, Namespace: targetNamespace, Resources: []string{"daemonsets.apps"},
		Verbs:  []string{"list", "watch", "create", "update"},
		Reason: "OpenStack has no cloud-node-manager; one that another platform left is read live and deleted.",
	},
	{
		Account: operatorAccount, Namespace: "openshift-config-managed", Resources: []string{"configmaps"},
		Verbs:  []string{"get", "create", "update"},
		Reason: "The operator writes the managed cloud configuration on vSphere only.",
	},
	{
		Account: operatorAccount, Namespace: "kube-system",
		Resources: []string{"rolebindings.rbac.authorization.k8s.io"},
		Verbs:     []string{"list", "watch", "create", "update"},
		Reason:    "Azure and GCP have a binding there; leftovers are deleted.",
	},
	{
		Account: operatorAccount, Namespace: "kube-system",
		Resources: []string{"clusterroles.rbac.authorization.k8s.io"},
		Verbs:     []string{"bind"}, Reason: "Azure and GCP have a binding there.",
	},
}

var unusedByOperand = []rights.Exception{
	{
		Account: operandAccount, Resources: []string{"nodes", "services"}, Verbs: []string{"list"}, Reason: streamed,
		Sometimes: true,
	},
	{
		Account: operandAccount, Resources: []string{"nodes"}, Verbs: []string{"get", "patch", "delete"},
		Reason: "Every instance runs: none is tainted for being shut down, and no Node is deleted because its " +
			"instance is gone.",
	},
	{
		Account: operandAccount, Resources: []string{"nodes/status"}, Verbs: []string{"patch"},
		Reason: "The kubelets report the addresses that their instances have, and none of these changes.",
	},
	{Account: operandAccount, Resources: []string{"services"}, Verbs: []string{"get", "patch"}, Reason: noBalancer},
	{Account: operandAccount, Resources: []string{"services/status"}, Verbs: []string{"patch"}, Reason: noBalancer},
	{
		Account: operandAccount, Resources: []string{"events"}, Verbs: []string{"patch"},
		Reason: "Only repetitions of an event are patched.", Sometimes: true,
	},
}
