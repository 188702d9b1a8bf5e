package targetconfigcontroller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// inRegion gives the credentials a password and a region.
func (f *fixture) inRegion(t *testing.T, password, region string) {
	t.Helper()
	f.put(t, secret("openstack-cloud-credentials", map[string][]byte{
		"clouds.yaml": []byte(strings.Replace(goodClouds, "hidden", password, 1) + "    region_name: " + region + "\n"),
	}))
}

func TestCredentialsThatContradictTheConfigurationAreRejectedAsTheConfigurationIs(t *testing.T) {
	const message = `region is "%s", but region_name of clouds.yaml in the credentials Secret is another one: ` +
		`write the same region in both, or remove one of them`
	f := newFixture(t, goodInputs()...)
	f.settle(t)
	f.refresh(t)
	f.inRegion(t, "second", "RegionOne")
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Empty(t, f.trueConditions(t))

	f.inRegion(t, "third", "RegionTwo")
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Equal(t, []string{"CredentialsDegraded: secret/openstack-cloud-credentials in openshift-cloud-controller-manager: " +
		strings.Replace(message, "%s", "RegionOne", 1) + "\nuntil then, the version accepted at 2026-11-20T13:00:45Z stays in use"},
		withoutCommand(f.trueConditions(t)))

	f.inRegion(t, "third", "RegionOne")
	f.sees(t)
	require.Contains(t, f.password(t), "third")
	require.Empty(t, f.trueConditions(t))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregion = RegionTwo\n"}))
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	require.Contains(t, f.trueConditions(t)[0], strings.Replace(message, "%s", "RegionTwo", 1))
}

func TestAContradictionFromTheFirstInstallationHoldsUpNoRotation(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	f.inRegion(t, "first", "RegionTwo")
	f.settle(t)
	f.refresh(t)
	f.inRegion(t, "second", "RegionTwo")
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Equal(t, []string{"CloudConfigNotices"}, f.degraded(t))
}

func TestAnotherRegionInBothObjectsIsAcceptedInEitherOrder(t *testing.T) {
	for name, configFirst := range map[string]bool{"the cloud configuration first": true, "the credentials first": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs()...)
			f.inRegion(t, "first", "RegionOne")
			f.settle(t)
			f.refresh(t)
			f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregion = RegionOne\n"}))
			f.sees(t)
			config := func() {
				f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": "[Global]\nregion = RegionTwo\n"}))
				f.sees(t)
			}
			if configFirst {
				config()
			}
			f.inRegion(t, "second", "RegionTwo")
			f.sees(t)
			if !configFirst {
				config()
			}
			require.Empty(t, f.trueConditions(t))
			require.Contains(t, f.password(t), "second")
		})
	}
}

// A take-over finds what has worked for years. Later changes of the same file may keep it, but not add to it.
func TestAContradictionToInfrastructureHoldsUpNeitherATakeOverNorAnotherChange(t *testing.T) {
	const (
		observed = `{"platform": "nutanix", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443",
			"cloudConfig": {"name": "cloud-provider-config", "key": "config"}, "cluster": {"spec": {"type": "Nutanix",
			"nutanix": {"prismCentral": {"address": "prism.example.com", "port": 9440}, "prismElements": []}}}}`
		login  = `[{"type":"basic_auth","data":{"prismCentral":{"username":"ccm","password":"hidden"}}}]`
		object = "configmap/cloud-provider-config in openshift-config, key config, line 1:30: "
		differ = `prismCentral.address is "10.0.0.9", but spec.platformSpec.nutanix.prismCentral.address of ` +
			`infrastructure.config.openshift.io/cluster is "prism.example.com": correct one of them`
	)
	config := func(port, more string) *corev1.ConfigMap {
		return userConfigMap("cloud-provider-config", map[string]string{
			"config": `{"prismCentral": {"address": "10.0.0.9", "port": ` + port + `}` + more + `}`})
	}
	f := newObserving(t, observed, goodInputs(config("9440", ""),
		secret("nutanix-credentials", map[string][]byte{"credentials": []byte(login)}))...)
	f.OperandImages["nutanix-cloud-controller-manager"] = "registry/nutanix@sha256:1"
	f.settle(t)
	f.refresh(t)
	require.Equal(t, []string{"CloudConfigNotices: " + object + differ}, f.trueConditions(t))
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "10.0.0.9")

	f.put(t, config("9440", `, "enableCustomLabeling": true`))
	f.sees(t)
	require.Equal(t, []string{"CloudConfigNotices: " + object + differ}, f.trueConditions(t))
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "enableCustomLabeling")

	f.put(t, config("9441", `, "enableCustomLabeling": false`))
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded", "CloudConfigNotices"}, f.degraded(t))
	require.Contains(t, f.trueConditions(t)[0], `prismCentral.port is "9441", but spec.platformSpec.nutanix.prismCentral.port of `+
		`infrastructure.config.openshift.io/cluster is "9440": correct one of them`)
	require.NotContains(t, f.trueConditions(t)[0], "10.0.0.9")
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), `"enableCustomLabeling": true`)
}
