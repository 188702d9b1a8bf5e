// Package operatorclient defines the names of the objects that this operator shares with other components, and builds
// the client of the operator's resource.
package operatorclient

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// OperatorNamespace is the namespace of the operator.
	OperatorNamespace = "openshift-cloud-controller-manager-operator"

	// UserConfigNamespace contains the objects that administrators edit.
	UserConfigNamespace = "openshift-config"

	// ManagedConfigNamespace contains the objects that other operators derive from them.
	ManagedConfigNamespace = "openshift-config-managed"

	// ManagedCloudConfig is the ConfigMap in ManagedConfigNamespace with the cloud configuration that
	// cluster-config-operator derives.
	ManagedCloudConfig = "kube-cloud-config"

	// ManagedCloudConfigKey is the key in ManagedCloudConfig.
	ManagedCloudConfigKey = "cloud.conf"

	// KubeSystemNamespace is the namespace of APIServerAuthentication.
	KubeSystemNamespace = "kube-system"

	// APIServerAuthentication is the ConfigMap in which the API server publishes the CAs of its clients.
	APIServerAuthentication = "extension-apiserver-authentication"

	// ClusterOperator is the name of this operator's ClusterOperator.
	ClusterOperator = "cloud-controller-manager"

	// NodeDeletionAnnotation on a Node permits the cloud-controller-manager to delete it. The operator and administrators
	// set it, with different values.
	NodeDeletionAnnotation = "cloudcontrollermanager.operator.openshift.io/node-deletion"

	// NodeDeletionsAnnotation on the CloudControllerManager permits the cloud-controller-manager to delete many Nodes
	// until the time in its value. Administrators set it.
	NodeDeletionsAnnotation = "cloudcontrollermanager.operator.openshift.io/node-deletions-allowed-until"

	// RemovalAnnotation on the CloudControllerManager lets a requested removal start at once. Its value is the generation
	// in which the administrator saw the request, so that it does not confirm a later request.
	RemovalAnnotation = "cloudcontrollermanager.operator.openshift.io/confirmed-removal"

	// PreflightAnnotation on the CloudControllerManager lets a change become a revision although its preflight failed. Its
	// value is the beginning of the candidate's digest, so that it permits no other change.
	PreflightAnnotation = "cloudcontrollermanager.operator.openshift.io/accepted-preflight"

	// Instance is the name of the singleton CloudControllerManager, and of every singleton in config.openshift.io.
	Instance = "cluster"
)

// The conditions about the operand as a whole. The availability controller writes the first three on managed platforms;
// on others, the unmanaged controller writes all four.
const (
	AvailableCondition   = "CloudControllerManagerAvailable"
	ProgressingCondition = "CloudControllerManagerProgressing"
	DegradedCondition    = "CloudControllerManagerDegraded"
	UpgradeableCondition = "CloudControllerManagerUpgradeable"
)

// IsAccepted reports whether an administrator has accepted a value. annotation is the value of PreflightAnnotation: one
// or several values, separated by commas.
func IsAccepted(annotation, value string) bool {
	is := func(v string) bool { return strings.TrimSpace(v) == value }
	return slices.ContainsFunc(strings.Split(annotation, ","), is)
}

// maxAccepted is how many values a command has at most. Conditions cut a longer message in the middle, see Bounded. The
// older values are those of inputs that were replaced long ago.
const maxAccepted = 32

// AcceptCommand returns the command with which an administrator accepts another value. It omits what is no value: a
// shell would interpret it.
func AcceptCommand(annotation, value string) string {
	var values []string
	for _, v := range strings.Split(annotation+","+value, ",") {
		if v = strings.TrimSpace(v); v != "" && strings.Trim(v, "0123456789abcdefghijklmnopqrstuvwxyz-") == "" {
			values = append(values, v)
		}
	}
	values = values[max(0, len(values)-maxAccepted):]
	return fmt.Sprintf("oc annotate --overwrite cloudcontrollermanager %s %s=%s", Instance, PreflightAnnotation,
		strings.Join(values, ","))
}
