package validate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installersConfigs are what the installers of all releases write (github.com/openshift/installer,
// pkg/asset/manifests), by platform. Those of releases before a platform was supported lack what it needs.
var installersConfigs = map[string]map[string]string{
	"openstack": {
		"with a region": `[Global]
secret-name = openstack-credentials
secret-namespace = kube-system
region = regionOne
`,
		"without a region": `[Global]
secret-name = openstack-credentials
secret-namespace = kube-system
`,
		"of releases with the in-tree provider's load balancer": `[Global]
secret-name = openstack-credentials
secret-namespace = kube-system
region = regionOne

[LoadBalancer]
use-octavia = True
`,
	},
	"aws": {
		"without endpoints": "[Global]\n",
		"with an endpoint": `[Global]

[ServiceOverride "0"]
Service = ec2
Region  = eu-central-1
URL     = https://vpce-0c1.ec2.eu-central-1.vpce.amazonaws.com
SigningRegion = eu-central-1
`,
	},
	"azure": {
		"with every field of the installer's type": `{
	"cloud": "AzurePublicCloud",
	"tenantId": "11111111-2222-3333-4444-555555555555",
	"aadClientId": "",
	"aadClientSecret": "",
	"aadClientCertPath": "",
	"aadClientCertPassword": "",
	"useManagedIdentityExtension": true,
	"userAssignedIdentityID": "",
	"subscriptionId": "66666666-7777-8888-9999-000000000000",
	"resourceGroup": "demo-x7k2p-rg",
	"location": "westeurope",
	"vnetName": "demo-vnet",
	"vnetResourceGroup": "network-rg",
	"subnetName": "demo-worker-subnet",
	"securityGroupName": "demo-x7k2p-nsg",
	"routeTableName": "demo-x7k2p-node-routetable",
	"primaryAvailabilitySetName": "",
	"vmType": "",
	"primaryScaleSetName": "",
	"cloudProviderBackoff": true,
	"cloudProviderBackoffRetries": 0,
	"cloudProviderBackoffExponent": 0,
	"cloudProviderBackoffDuration": 6,
	"cloudProviderBackoffJitter": 0,
	"cloudProviderRateLimit": false,
	"cloudProviderRateLimitQPS": 0,
	"cloudProviderRateLimitBucket": 0,
	"cloudProviderRateLimitQPSWrite": 0,
	"cloudProviderRateLimitBucketWrite": 0,
	"useInstanceMetadata": true,
	"loadBalancerSku": "standard",
	"excludeMasterFromStandardLB": null,
	"disableOutboundSNAT": null,
	"maximumLoadBalancerRuleCount": 0
}
`,
	},
	"gcp": {
		"in the cluster's project": `[global]
project-id      = demo-project
regional        = true
multizone       = true
node-tags       = demo-x7k2p-master
node-tags       = demo-x7k2p-control-plane
node-tags       = demo-x7k2p-worker
node-instance-prefix = demo-x7k2p
external-instance-groups-prefix = demo-x7k2p
subnetwork-name = demo-x7k2p-worker-subnet

`,
		"in a shared network": `[global]
project-id      = demo-project
regional        = true
multizone       = true
node-tags       = demo-x7k2p-master
node-tags       = demo-x7k2p-worker
node-instance-prefix = demo-x7k2p
external-instance-groups-prefix = demo-x7k2p
subnetwork-name = shared
network-project-id = host-project

`,
	},
	"vsphere": {
		"for the in-tree provider": `[Global]
secret-name = "vsphere-creds"
secret-namespace = "kube-system"
insecure-flag = "1"

[Workspace]
server = "vcenter1.example.com"
datacenter = "dc1"
default-datastore = "/dc1/datastore/ds1"
folder = "/dc1/vm/demo-x7k2p"
resourcepool-path = "/dc1/host/cluster1/Resources"

[VirtualCenter "vcenter1.example.com"]
datacenters = "dc1"
`,
		"for several zones, as INI": `[Global]
secret-name = "vsphere-creds"
secret-namespace = "kube-system"
insecure-flag = "1"

[VirtualCenter "vcenter1.example.com"]
port = "443"

datacenters = "dc1"

[Workspace]
server = "vcenter1.example.com"
datacenter = "dc1"
default-datastore = "/dc1/datastore/ds1"
folder = "/dc1/vm/demo-x7k2p"
resourcepool-path = "/dc1/host/cluster1/Resources"

[Labels]
region = "openshift-region"
zone = "openshift-zone"
`,
		"as YAML": `global:
  user: ""
  password: ""
  server: ""
  port: 0
  insecureFlag: true
  datacenters: []
  soapRoundtripCount: 0
  caFile: ""
  thumbprint: ""
  secretName: vsphere-creds
  secretNamespace: kube-system
  secretsDirectory: ""
  apiDisable: false
  apiBinding: ""
  ipFamily: []
vcenter:
  vcenter1.example.com:
    user: ""
    password: ""
    tenantref: ""
    server: vcenter1.example.com
    port: 443
    insecureFlag: true
    datacenters:
    - dc1
    soapRoundtripCount: 0
    caFile: ""
    thumbprint: ""
    secretref: ""
    secretName: ""
    secretNamespace: ""
    ipFamily: []
labels:
  zone: openshift-zone
  region: openshift-region
`,
	},
	"ibmcloud": {
		"of early releases, with another component's kubeconfig": `[global]
version = 1.1.0
[kubernetes]
config-file = /mnt/etc/kubernetes/controller-manager-kubeconfig
[provider]
accountID = 0123456789abcdef0123456789abcdef
clusterID = demo-x7k2p
cluster-default-provider = g2
region = eu-gb
g2Credentials = /etc/vpc/ibmcloud_api_key
g2ResourceGroupName = demo
g2VpcName = demo-x7k2p-vpc
g2workerServiceAccountID = 0123456789abcdef0123456789abcdef
g2VpcSubnetNames = demo-x7k2p-subnet-eu-gb-1,demo-x7k2p-subnet-eu-gb-2

`,
	},
	"powervs": {
		"with a workspace": `[global]
version = 1.1.0
[kubernetes]
config-file = ""
[provider]
accountID = 0123456789abcdef0123456789abcdef
clusterID = demo-x7k2p
cluster-default-provider = g2
region = eu-gb
g2Credentials = /etc/vpc/ibmcloud_api_key
g2ResourceGroupName = demo
g2VpcName = demo-x7k2p-vpc
g2workerServiceAccountID = 0123456789abcdef0123456789abcdef
g2VpcSubnetNames = demo-x7k2p-subnet-eu-gb-1
powerVSCloudInstanceID = 11111111-2222-3333-4444-555555555555
powerVSRegion = lon
powerVSZone = lon06
`,
	},
	"nutanix": {
		"with the categories that it leaves empty": `{
	"prismCentral": {
		"address": "prism.example.com",
		"port": 9440,
		"credentialRef": {
			"kind": "Secret",
			"name": "nutanix-credentials",
			"namespace": "openshift-cloud-controller-manager"
		}
	},
	"topologyDiscovery": {
		"type": "Prism",
		"topologyCategories": null
	},
	"enableCustomLabeling": true
}
`,
	},
}

func TestWhatTheInstallersOfAllReleasesWriteIsWorthNoWarning(t *testing.T) {
	for platform, configs := range installersConfigs {
		infrastructure, err := os.ReadFile(filepath.Join("testdata", platform, "infrastructure.yaml"))
		require.NoError(t, err)
		for name, config := range configs {
			t.Run(platform+" "+name, func(t *testing.T) {
				f := newWorkspace(t)
				f.write("infra.yaml", string(infrastructure))
				f.write("cloud.yaml", configMap+"  config: |\n"+indent(config))
				got := f.run()
				require.Zero(t, got.code, got.stdout)
				require.True(t, strings.HasSuffix(got.stdout, "0 errors, 0 warnings in cloud.yaml, checked for platform "+platform+"\n"), got.stdout)
			})
		}
	}
}
