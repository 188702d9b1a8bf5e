// Package operatorclient names the objects that this operator and its surroundings share, and builds the client
// of the operator's own resource.
package operatorclient

const (
	// OperatorNamespace is where the operator itself runs.
	OperatorNamespace = "openshift-cloud-controller-manager-operator"

	// TargetNamespace is where the operand and everything that it is made from live.
	TargetNamespace = "openshift-cloud-controller-manager"

	// UserConfigNamespace holds what administrators edit.
	UserConfigNamespace = "openshift-config"

	// ManagedConfigNamespace holds what other operators derive from it.
	ManagedConfigNamespace = "openshift-config-managed"

	// ManagedCloudConfig is the ConfigMap in ManagedConfigNamespace with the cloud configuration as
	// cluster-config-operator left it.
	ManagedCloudConfig = "kube-cloud-config"

	// ManagedCloudConfigKey is the key in ManagedCloudConfig.
	ManagedCloudConfigKey = "cloud.conf"

	// KubeSystemNamespace is where APIServerAuthentication is.
	KubeSystemNamespace = "kube-system"

	// APIServerAuthentication is the ConfigMap in which the API server publishes the CAs of its clients.
	APIServerAuthentication = "extension-apiserver-authentication"

	// ClusterOperator is the name of this operator's ClusterOperator.
	ClusterOperator = "cloud-controller-manager"

	// Instance is the name of the one CloudControllerManager, and of every singleton in config.openshift.io.
	Instance = "cluster"
)
