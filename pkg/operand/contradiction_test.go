package operand_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// contradiction is an edit of a platform's example, of the cloud configuration or of what is observed of Infrastructure.
type contradiction struct{ platform, inConfig, inCluster, by, message string }

func contradictions() map[string]contradiction {
	const of = " of infrastructure.config.openshift.io/cluster "
	return map[string]contradiction{
		"Alibaba Cloud's region":    {"alibabacloud", "region: cn-hangzhou", "", "region: cn-beijing", `Global.region is "cn-beijing", but status.platformStatus.alibabaCloud.region` + of + `is "cn-hangzhou"`},
		"AWS's region":              {"aws", "[Global]\n", "", "[Global]\nRegion = us-east-1\n", `Region is "us-east-1", but status.platformStatus.aws.region` + of + `is "eu-central-1"`},
		"AWS's zone":                {"aws", "[Global]\n", "", "[Global]\nZone = us-east-1a\n", `the region of Zone is "us-east-1", but status.platformStatus.aws.region` + of + `is "eu-central-1"`},
		"an endpoint of AWS":        {"aws", "", "url: https://vpce-0c1.ec2.", "url: https://vpce-0c9.ec2.", `URL is "https://vpce-0c1.ec2.eu-central-1.vpce.amazonaws.com", but status.platformStatus.aws.serviceEndpoints` + of + `is "https://vpce-0c9.ec2.eu-central-1.vpce.amazonaws.com"`},
		"Azure's cloud":             {"azure", "AzurePublicCloud", "", "AzureChinaCloud", `cloud is "AzureChinaCloud", but status.platformStatus.azure.cloudName` + of + `is "AzurePublicCloud"`},
		"a cloud that nobody knows": {"azure", "", "AzurePublicCloud", "AzureUSSecCloud", `cloud is "AzurePublicCloud", but status.platformStatus.azure.cloudName` + of + `is "AzureUSSecCloud"`},
		"Azure's group":             {"azure", "demo-x7k2p-rg", "", "other-rg", `resourceGroup is "other-rg", but status.platformStatus.azure.resourceGroupName` + of + `is "demo-x7k2p-rg"`},
		"the group of Azure's net":  {"azure", "network-rg", "", "other-rg", `vnetResourceGroup is "other-rg", but status.platformStatus.azure.networkResourceGroupName` + of + `is "network-rg"`},
		"Azure Stack's endpoint":    {"azurestack", `"https://management.local.`, "", `"https://management.other.`, `resourceManagerEndpoint is "https://management.other.azurestack.example.com", but status.platformStatus.azure.armEndpoint` + of + `is "https://management.local.azurestack.example.com"`},
		"Google Cloud's project":    {"gcp", "project-id      = demo-project", "", "project-id = other", `project-id is "other", but status.platformStatus.gcp.projectID` + of + `is "demo-project"`},
		"Google Cloud's region":     {"gcp", "[global]\n", "", "[global]\nlocal-zone = us-central1-a\n", `the region of local-zone is "us-central1", but status.platformStatus.gcp.region` + of + `is "europe-west3"`},
		"IBM Cloud's region":        {"ibmcloud", "region = eu-gb", "", "region = eu-de", `region is "eu-de", but status.platformStatus.ibmcloud.location` + of + `is "eu-gb"`},
		"IBM Cloud's group":         {"ibmcloud", "g2ResourceGroupName = demo", "", "g2ResourceGroupName = other", `g2ResourceGroupName is "other", but status.platformStatus.ibmcloud.resourceGroupName` + of + `is "demo"`},
		"Nutanix's address":         {"nutanix", "prism.example.com", "", "prism2.example.com", `prismCentral.address is "prism2.example.com", but spec.platformSpec.nutanix.prismCentral.address` + of + `is "prism.example.com"`},
		"Nutanix's port":            {"nutanix", "9440", "", "9441", `prismCentral.port is "9441", but spec.platformSpec.nutanix.prismCentral.port` + of + `is "9440"`},
		"Power VS's region":         {"powervs", "powerVSRegion = lon", "", "powerVSRegion = dal", `powerVSRegion is "dal", but status.platformStatus.powervs.region` + of + `is "lon"`},
		"Power VS's zone":           {"powervs", "powerVSZone = lon06", "", "powerVSZone = lon04", `powerVSZone is "lon04", but status.platformStatus.powervs.zone` + of + `is "lon06"`},
		"vSphere's vCenters":        {"vsphere", "", "server: vcenter", "server: vcentre", `vCenter "vcenter1.example.com" is not in spec.platformSpec.vsphere.vcenters` + of[:len(of)-1] + `, which has "vcentre1.example.com", "vcentre2.example.com"`},
	}
}

// inputs returns the inputs of the platform's example with the contradiction.
func (c contradiction) inputs(t *testing.T) operand.Inputs {
	t.Helper()
	p, _ := platform.ByName(c.platform)
	in := inputs(t, p, operand.OperatorPhase())
	replace := func(text []byte, old string) []byte {
		if old == "" {
			return text
		}
		require.Contains(t, string(text), old)
		return []byte(strings.ReplaceAll(string(text), old, c.by))
	}
	in.CloudConfig.Data, in.Config = replace(in.CloudConfig.Data, c.inConfig), replace(in.Config, c.inCluster)
	return in
}

func has(diagnostics []diagnostic.Diagnostic, message string) bool {
	for _, d := range diagnostics {
		if strings.HasPrefix(d.Message, message+": ") && d.Kind == diagnostic.Contradictory {
			return true
		}
	}
	return false
}

// A cluster may have worked for years with a contradiction, so only a change that introduces it is rejected.
func TestAContradictionToInfrastructureRejectsOnlyTheChangeThatIntroducesIt(t *testing.T) {
	for name, c := range contradictions() {
		t.Run(name, func(t *testing.T) {
			in := c.inputs(t)
			in.Policy, in.First = diagnostic.Lenient, true
			installed, err := operand.Render(in)
			require.NoError(t, err, "an installation, a take-over and a restart")
			require.NotNil(t, installed.Pod)
			require.True(t, has(installed.Warnings, c.message), installed.Warnings)

			in.Policy, in.First = diagnostic.Strict, false
			_, err = operand.Render(in)
			var rejected *operand.InputError
			require.ErrorAs(t, err, &rejected, "a change that introduces it")
			require.True(t, has(rejected.Diagnostics, c.message), rejected.Diagnostics)

			in.AcceptedWarnings = installed.Warnings
			changed, err := operand.Render(in)
			require.NoError(t, err, "a change of something else")
			require.True(t, has(changed.Warnings, c.message), changed.Warnings)
		})
	}
}

func TestEveryPlatformWithFactsInInfrastructureHasAContradiction(t *testing.T) {
	without := []string{"digitalocean", "external", "openstack"} // Infrastructure says nothing about these clouds.
	found := map[string]bool{}
	for _, c := range contradictions() {
		found[c.platform] = true
	}
	for _, p := range managed() {
		if !found[p.Name] {
			require.Contains(t, without, p.Name)
		}
	}
}

func TestAnUnknownValueOfInfrastructureRejectsNothing(t *testing.T) {
	const message = `configmap/cloud-provider-config in openshift-config, key config: status.platformStatus.azure.cloudName of ` +
		`infrastructure.config.openshift.io/cluster is "%s", which is passed on: a cloud-controller-manager that does not know ` +
		`it asks Azure's public cloud`
	azure, _ := platform.ByName("azure")
	for _, cloud := range []string{"AzureUSSecCloud", "AzureGermanCloud"} {
		for _, policy := range []diagnostic.Policy{diagnostic.Lenient, diagnostic.Strict} {
			in := inputs(t, azure, operand.OperatorPhase())
			in.Policy = policy
			in.Config = []byte(strings.ReplaceAll(string(in.Config), "AzurePublicCloud", cloud))
			in.CloudConfig.Data = []byte(strings.ReplaceAll(string(in.CloudConfig.Data), "AzurePublicCloud", cloud))
			resources, err := operand.Render(in)
			require.NoError(t, err)
			require.Len(t, resources.Warnings, 1)
			require.Equal(t, strings.Replace(message, "%s", cloud, 1), resources.Warnings[0].String())
		}
	}
}
