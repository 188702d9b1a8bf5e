package targetconfigcontroller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
