package platform

import (
	"errors"

	configv1 "github.com/openshift/api/config/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/alibabacloud"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/external"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/vsphere"
)

// None is the name of the platform on which the operator runs nothing and is content.
const None = "none"

// ErrNoStatus says that an Infrastructure does not tell its platform yet. Unknown is not None: whoever gets
// this error changes nothing.
var ErrNoStatus = errors.New("infrastructure.config.openshift.io/cluster has no status.platformStatus.type; " +
	"the installer writes it, restore it from the cluster's installation or a backup")

// registry holds every platform but the fallback. Their matches exclude each other, so order has no meaning.
var registry = []Platform{
	{
		Name: "alibabacloud",
		Credentials: Credentials{
			Secret: "alibabacloud-cloud-credentials",
			ByHand: true,
			// The RAM role of the instances serves.
			Optional: true,
		},
		Rewrite: alibabacloud.Rewrite,
		matches: func(s *configv1.PlatformStatus, e *operatorv1.CustomCloudControllerManager) bool {
			return s.Type == configv1.AlibabaCloudPlatformType || isExternalWithCCM(s) && builtIn(e) == operatorv1.CustomAlibabaCloud
		},
	},
	{
		Name:  "aws",
		Image: "aws-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "cloud-controller-manager-credentials",
			Request:    "openshift-aws-cloud-controller-manager",
			RootSecret: "aws-creds",
			// The instance profile of the control plane has served since there is a cloud-controller-manager.
			Optional: true,
		},
		Rewrite: aws.Rewrite,
		matches: ofType(configv1.AWSPlatformType),
	},
	{
		Name:             "azure",
		Image:            "azure-cloud-controller-manager",
		NodeManagerImage: "azure-cloud-node-manager",
		Credentials: Credentials{
			Secret:     "azure-cloud-credentials",
			Request:    "openshift-azure-cloud-controller-manager",
			RootSecret: "azure-credentials",
		},
		Rewrite: azure.Rewrite,
		matches: func(s *configv1.PlatformStatus, _ *operatorv1.CustomCloudControllerManager) bool {
			return s.Type == configv1.AzurePlatformType && !onAzureStack(s)
		},
	},
	{
		Name:             "azurestack",
		Image:            "azure-cloud-controller-manager",
		NodeManagerImage: "azure-cloud-node-manager",
		// The same Secret as on Azure. On Azure Stack Hub an administrator makes it, there is no root Secret.
		Credentials: Credentials{Secret: "azure-cloud-credentials", Request: "openshift-azure-cloud-controller-manager"},
		Rewrite:     azure.RewriteStack,
		matches: func(s *configv1.PlatformStatus, _ *operatorv1.CustomCloudControllerManager) bool {
			return s.Type == configv1.AzurePlatformType && onAzureStack(s)
		},
	},
	{
		Name: "digitalocean",
		Credentials: Credentials{
			Secret: "digitalocean-cloud-credentials",
			ByHand: true,
		},
		Rewrite: digitalocean.Rewrite,
		matches: func(s *configv1.PlatformStatus, e *operatorv1.CustomCloudControllerManager) bool {
			return isExternalWithCCM(s) && builtIn(e) == operatorv1.CustomDigitalOcean
		},
	},
	{
		Name:    "external",
		Custom:  true,
		Rewrite: external.Rewrite,
		matches: func(s *configv1.PlatformStatus, e *operatorv1.CustomCloudControllerManager) bool {
			return isExternalWithCCM(s) && e != nil && builtIn(e) == ""
		},
	},
	{
		Name:  "gcp",
		Image: "gcp-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "gcp-ccm-cloud-credentials",
			Request:    "openshift-gcp-ccm",
			RootSecret: "gcp-credentials",
		},
		Rewrite: gcp.Rewrite,
		matches: ofType(configv1.GCPPlatformType),
	},
	{
		Name:  "ibmcloud",
		Image: "ibm-cloud-controller-manager",
		// Made before the installation, by ccoctl: there is no root Secret.
		Credentials: Credentials{Secret: "ibm-cloud-credentials", Request: "openshift-ibm-cloud-controller-manager"},
		Rewrite:     ibm.Rewrite,
		matches:     ofType(configv1.IBMCloudPlatformType),
	},
	{
		Name:  "nutanix",
		Image: "nutanix-cloud-controller-manager",
		// Made before the installation, by ccoctl. The provider reads it through the API under this very name.
		Credentials: Credentials{Secret: "nutanix-credentials", Request: "openshift-nutanix-cloud-controller-manager"},
		Rewrite:     nutanix.Rewrite,
		matches:     ofType(configv1.NutanixPlatformType),
	},
	{
		Name:  "openstack",
		Image: "openstack-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "openstack-cloud-credentials",
			Request:    "openshift-openstack-cloud-controller-manager",
			RootSecret: "openstack-credentials",
		},
		Rewrite: openstack.Rewrite,
		matches: ofType(configv1.OpenStackPlatformType),
	},
	{
		Name:  "powervs",
		Image: "powervs-cloud-controller-manager",
		// The same name as on IBM Cloud; made before the installation, by ccoctl.
		Credentials: Credentials{Secret: "ibm-cloud-credentials", Request: "openshift-powervs-cloud-controller-manager"},
		Rewrite:     ibm.RewritePowerVS,
		matches:     ofType(configv1.PowerVSPlatformType),
	},
	{
		Name:  "vsphere",
		Image: "vsphere-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "vsphere-cloud-credentials",
			Request:    "openshift-vsphere-cloud-controller-manager",
			RootSecret: "vsphere-creds",
		},
		Rewrite:       vsphere.Rewrite,
		ManagedConfig: ManagedConfig{FeatureGate: vsphere.MultiVCenterDay2, Rewrite: vsphere.RewriteManaged},
		matches:       ofType(configv1.VSpherePlatformType),
	},
}

// fallback serves every platform that no entry of the registry matches. The API asks for this:
// a component that does not know a platform type treats it as None.
var fallback = Platform{Name: None}

// All returns every known platform, the fallback last.
func All() []Platform {
	return append(append([]Platform{}, registry...), fallback)
}

// ByName returns the platform of that name, and whether it is known.
func ByName(name string) (Platform, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Platform{}, false
}

// Of returns the one platform that infrastructure describes, or ErrNoStatus if it does not tell. custom is
// spec.custom of our resource; nil where there is none.
func Of(infrastructure *configv1.Infrastructure, custom *operatorv1.CustomCloudControllerManager) (Platform, error) {
	status := infrastructure.Status.PlatformStatus
	if status == nil || status.Type == "" {
		return Platform{}, ErrNoStatus
	}
	for _, p := range registry {
		if p.matches(status, custom) {
			return p, nil
		}
	}
	return fallback, nil
}

func ofType(t configv1.PlatformType) func(*configv1.PlatformStatus, *operatorv1.CustomCloudControllerManager) bool {
	return func(s *configv1.PlatformStatus, _ *operatorv1.CustomCloudControllerManager) bool { return s.Type == t }
}

// builtIn is the platform that spec.custom names; empty where it brings a cloud-controller-manager of its own, or where there is
// no spec.custom.
func builtIn(e *operatorv1.CustomCloudControllerManager) operatorv1.CustomPlatform {
	if e == nil {
		return ""
	}
	return e.Platform
}

// onAzureStack tells an installation on Azure Stack Hub from one on a cloud of Microsoft's; an Azure without a status of its own
// is the public one.
func onAzureStack(s *configv1.PlatformStatus) bool {
	return s.Azure != nil && s.Azure.CloudName == configv1.AzureStackCloud
}

// DependsOnCustom tells whether it is for spec.custom to say what runs.
func DependsOnCustom(infrastructure *configv1.Infrastructure) bool {
	return infrastructure.Status.PlatformStatus != nil && isExternalWithCCM(infrastructure.Status.PlatformStatus)
}

// isExternalWithCCM tells whether the cluster's nodes wait for a cloud-controller-manager that somebody brings.
func isExternalWithCCM(s *configv1.PlatformStatus) bool {
	return s.Type == configv1.ExternalPlatformType && s.External != nil &&
		s.External.CloudControllerManager.State == configv1.CloudControllerManagerExternal
}
