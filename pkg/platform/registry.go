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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
)

// None is the name of the platform on which the operator runs nothing and is Available.
const None = "none"

// ErrNoStatus reports that an Infrastructure has no platform type yet. Callers must not take that for None.
var ErrNoStatus = errors.New("infrastructure.config.openshift.io/cluster has no status.platformStatus.type; " +
	"the installer writes it, restore it from the cluster's installation or a backup")

// registry has every platform except for the fallback, in any order: at most one entry matches a cluster.
var registry = []Platform{
	{
		Name: "alibabacloud",
		Credentials: Credentials{
			Secret: "alibabacloud-cloud-credentials",
			ByHand: true,
			// Without a Secret, the RAM role of the instances is used.
			Optional: true,
		},
		Deletions:      Deletions{Unannounced: true},
		WithoutMetrics: true,
		// NeedNLB (cloud-provider-alibaba-cloud, pkg/controller/helper/service_utils.go).
		Classes: map[string]string{"alibabacloud.com/nlb": "nlb-controller"},
		Rewrite: alibabacloud.Rewrite,
		matches: func(s *configv1.PlatformStatus, e *operatorv1.CustomCloudControllerManager) bool {
			return s.Type == configv1.AlibabaCloudPlatformType || isExternalWithCCM(s) &&
				builtIn(e) == operatorv1.CustomCloudControllerManagerPlatformAlibabaCloud
		},
	},
	{
		Name:  "aws",
		Image: "aws-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "cloud-controller-manager-credentials",
			Request:    "openshift-aws-cloud-controller-manager",
			RootSecret: "aws-creds",
			// Clusters of earlier releases use the control plane's instance profile.
			Optional: true,
		},
		// A name with the prefix i- is looked up as an instance ID (cloud-provider-aws, pkg/providers/v1/aws.go).
		Lookup:    Lookup{Name: "private DNS name", Domain: WithDomain},
		Deletions: Deletions{Described: true},
		// isLBExternal (cloud-provider-aws, pkg/providers/v1/aws_loadbalancer.go).
		HandsOver: []string{
			"service.beta.kubernetes.io/aws-load-balancer-type=external",
			"service.beta.kubernetes.io/aws-load-balancer-type=nlb-ip",
		},
		Preflight: true,
		Rewrite:   aws.Rewrite,
		matches:   ofType(configv1.AWSPlatformType),
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
		Preflight: true,
		Rewrite:   azure.Rewrite,
		matches: func(s *configv1.PlatformStatus, _ *operatorv1.CustomCloudControllerManager) bool {
			return s.Type == configv1.AzurePlatformType && !isAzureStack(s)
		},
	},
	{
		Name:             "azurestack",
		Image:            "azure-cloud-controller-manager",
		NodeManagerImage: "azure-cloud-node-manager",
		// The same Secret as on Azure, but an administrator creates it and there is no root Secret.
		Credentials: Credentials{Secret: "azure-cloud-credentials",
			Request: "openshift-azure-cloud-controller-manager"},
		Rewrite: azure.RewriteStack,
		matches: func(s *configv1.PlatformStatus, _ *operatorv1.CustomCloudControllerManager) bool {
			return s.Type == configv1.AzurePlatformType && isAzureStack(s)
		},
	},
	{
		Name: "digitalocean",
		Credentials: Credentials{
			Secret: "digitalocean-cloud-credentials",
			ByHand: true,
		},
		Lookup:    Lookup{Name: "name"},
		Preflight: true,
		Rewrite:   digitalocean.Rewrite,
		matches: func(s *configv1.PlatformStatus, e *operatorv1.CustomCloudControllerManager) bool {
			return isExternalWithCCM(s) && builtIn(e) == operatorv1.CustomCloudControllerManagerPlatformDigitalOcean
		},
	},
	{
		Name:   "external",
		Custom: true,
		// Its cloud-controller-manager is not known.
		Deletions: Deletions{Unannounced: true},
		Rewrite:   external.Rewrite,
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
		Lookup: Lookup{Name: "name", Domain: NoDomain},
		// ensureExternalLoadBalancer (cloud-provider-gcp, providers/gce/gce_loadbalancer_external.go). An internal Service
		// is not asked for it (GetLoadBalancerAnnotationType in gce_annotations.go).
		HandsOver: []string{"cloud.google.com/l4-rbs=enabled"},
		Keeps: []string{
			"networking.gke.io/load-balancer-type=Internal", "networking.gke.io/load-balancer-type=internal",
			"cloud.google.com/load-balancer-type=Internal", "cloud.google.com/load-balancer-type=internal",
		},
		Preflight: true,
		Rewrite:   gcp.Rewrite,
		matches:   ofType(configv1.GCPPlatformType),
	},
	{
		Name:  "ibmcloud",
		Image: "ibm-cloud-controller-manager",
		// Created by ccoctl before the installation, so there is no root Secret.
		Credentials: Credentials{Secret: "ibm-cloud-credentials", Request: "openshift-ibm-cloud-controller-manager"},
		Lookup:      Lookup{Name: "name"},
		// Its InstanceExists returns true (ibm/ibm_instances.go).
		Deletions: Deletions{Never: true},
		Preflight: true,
		Rewrite:   ibm.Rewrite,
		matches:   ofType(configv1.IBMCloudPlatformType),
	},
	{
		Name:  "nutanix",
		Image: "nutanix-cloud-controller-manager",
		// Created by ccoctl before the installation. The provider reads it through the API, by this name.
		Credentials: Credentials{Secret: "nutanix-credentials", Request: "openshift-nutanix-cloud-controller-manager"},
		// Its LoadBalancer returns false (nutanix-cloud-native/cloud-provider-nutanix, pkg/provider/provider.go).
		WithoutLoadBalancers: true,
		Lookup:               Lookup{SystemUUID: true},
		Preflight:            true,
		Rewrite:              nutanix.Rewrite,
		matches:              ofType(configv1.NutanixPlatformType),
	},
	{
		Name:  "openstack",
		Image: "openstack-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "openstack-cloud-credentials",
			Request:    "openshift-openstack-cloud-controller-manager",
			RootSecret: "openstack-credentials",
		},
		Lookup:    Lookup{Name: "name", Domain: NoDomain},
		Preflight: true,
		Rewrite:   openstack.Rewrite,
		matches:   ofType(configv1.OpenStackPlatformType),
	},
	{
		Name:  "powervs",
		Image: "powervs-cloud-controller-manager",
		// The same name as on IBM Cloud, also created by ccoctl before the installation.
		Credentials: Credentials{Secret: "ibm-cloud-credentials",
			Request: "openshift-powervs-cloud-controller-manager"},
		Lookup:    Lookup{Name: "name"},
		Deletions: Deletions{Never: true},
		Rewrite:   ibm.RewritePowerVS,
		matches:   ofType(configv1.PowerVSPlatformType),
	},
	{
		Name:  "vsphere",
		Image: "vsphere-cloud-controller-manager",
		Credentials: Credentials{
			Secret:     "vsphere-cloud-credentials",
			Request:    "openshift-vsphere-cloud-controller-manager",
			RootSecret: "vsphere-creds",
		},
		// Only NSX-T has load balancers (kubernetes/cloud-provider-vsphere, pkg/cloudprovider/vsphere/loadbalancer).
		WithoutLoadBalancers: true,
		Lookup:               Lookup{Name: "name", SystemUUID: true, BareMetal: true},
		Preflight:            true,
		Rewrite:              vsphere.Rewrite,
		ManagedConfig:        ManagedConfig{FeatureGate: featuregate.MultiVCenterDay2, Rewrite: vsphere.RewriteManaged},
		matches:              ofType(configv1.VSpherePlatformType),
	},
}

// fallback is every platform without a registry entry: the API requires treating an unknown platform type as None.
var fallback = Platform{Name: None}

// All returns every known platform, the fallback last.
func All() []Platform {
	return append(append([]Platform{}, registry...), fallback)
}

// ByName returns the platform with the name, and whether it is known.
func ByName(name string) (Platform, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Platform{}, false
}

// Handovers returns the HandsOver and the Keeps of all platforms.
func Handovers() (handsOver, keeps []string) {
	for _, p := range registry {
		handsOver, keeps = append(handsOver, p.HandsOver...), append(keeps, p.Keeps...)
	}
	return handsOver, keeps
}

// Of returns the platform of a cluster, or ErrNoStatus. custom is spec.custom, nil if unset.
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

func builtIn(e *operatorv1.CustomCloudControllerManager) operatorv1.CustomCloudControllerManagerPlatform {
	if e == nil {
		return ""
	}
	return e.Platform
}

// isAzureStack reports whether the cluster is on Azure Stack Hub. Azure without a status is a public cloud.
func isAzureStack(s *configv1.PlatformStatus) bool {
	return s.Azure != nil && s.Azure.CloudName == configv1.AzureStackCloud
}

// DependsOnCustom reports whether spec.custom determines the platform.
func DependsOnCustom(infrastructure *configv1.Infrastructure) bool {
	return infrastructure.Status.PlatformStatus != nil && isExternalWithCCM(infrastructure.Status.PlatformStatus)
}

// isExternalWithCCM reports whether the nodes wait for a cloud-controller-manager that the release does not have.
func isExternalWithCCM(s *configv1.PlatformStatus) bool {
	return s.Type == configv1.ExternalPlatformType && s.External != nil &&
		s.External.CloudControllerManager.State == configv1.CloudControllerManagerExternal
}
