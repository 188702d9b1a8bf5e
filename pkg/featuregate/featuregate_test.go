package featuregate_test

import (
	"io/fs"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/api/features"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
)

// release is the major version of the release that the pinned openshift/api is for.
const release = 5

// byDefault returns the gates of the pinned openshift/api, and whether each is on by default.
func byDefault() map[string]bool {
	gates := map[string]bool{}
	set := features.FeatureSets(release, features.SelfManaged, configv1.Default)
	for on, descriptions := range map[bool][]features.FeatureGateDescription{true: set.Enabled, false: set.Disabled} {
		for _, description := range descriptions {
			gates[string(description.FeatureGateAttributes.Name)] = on
		}
	}
	return gates
}

func TestWhatTheAbsenceOfAGateMeansFollowsFromOpenshiftsTable(t *testing.T) {
	known := byDefault()
	require.NotEmpty(t, known)
	for _, gate := range featuregate.Gates {
		on, exists := known[gate.Name]
		switch {
		case gate.Upstream:
			require.False(t, exists, "%s: openshift/api has it now, so it is not only upstream's", gate.Name)
			require.False(t, gate.OnIfAbsent, gate.Name)
		case gate.Removed != "":
			require.True(t, gate.OnIfAbsent, "%s is removed, so it is on for all; one that was given up goes", gate.Name)
			require.True(t, on || !exists, "%s is not on by default, so it was not removed for being on", gate.Name)
		default:
			require.True(t, exists, "%s: openshift/api has removed it: enter when, in Removed, or delete its uses", gate.Name)
			require.Equal(t, on, gate.OnIfAbsent, "%s: only a gate that is on by default goes for being on for all", gate.Name)
		}
	}
}

func TestAGateThatTheClusterListsIsWhatTheClusterSays(t *testing.T) {
	for _, gate := range featuregate.Gates {
		require.True(t, featuregate.Enabled(gate.Name, map[string]bool{gate.Name: true}))
		require.False(t, featuregate.Enabled(gate.Name, map[string]bool{gate.Name: false}))
		require.Equal(t, gate.OnIfAbsent, featuregate.Enabled(gate.Name, map[string]bool{"Other": !gate.OnIfAbsent}))
	}
	require.True(t, featuregate.Enabled("Other", map[string]bool{"Other": true}))
	require.False(t, featuregate.Enabled("Other", nil), "nothing is known about it")
}

func TestEveryGateOfAPlatformsAssetsIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, gate := range featuregate.Gates {
		known[gate.Name] = true
	}
	used := 0
	files, err := fs.Glob(bindata.FS(), "assets/platforms/*/config.yaml")
	require.NoError(t, err)
	for _, file := range files {
		data := bindata.MustRead(file)
		var config struct {
			FeatureGates   []string
			GatedArguments map[string]any
		}
		require.NoError(t, yaml.Unmarshal(data, &config), file)
		for gate := range config.GatedArguments {
			config.FeatureGates = append(config.FeatureGates, gate)
		}
		for _, gate := range config.FeatureGates {
			used++
			require.True(t, known[gate], "%s names %s: without an entry in Gates, no cluster turns it on", file, gate)
		}
	}
	require.NotZero(t, used)
}
