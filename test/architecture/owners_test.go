package architecture

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Prow reads OWNERS and OWNERS_ALIASES. It takes a name that no alias defines for a person.
func TestEveryAliasInOwnersIsDefined(t *testing.T) {
	var owners struct {
		Approvers    []string `json:"approvers"`
		Reviewers    []string `json:"reviewers"`
		Component    string   `json:"component"`
		Subcomponent string   `json:"subcomponent"`
	}
	require.NoError(t, yaml.UnmarshalStrict(read(t, "OWNERS"), &owners))
	var defined struct {
		Aliases map[string][]string `json:"aliases"`
	}
	require.NoError(t, yaml.UnmarshalStrict(read(t, "OWNERS_ALIASES"), &defined))
	require.NotEmpty(t, owners.Approvers)
	require.NotEmpty(t, owners.Reviewers)
	used := slices.Concat(owners.Approvers, owners.Reviewers)
	require.ElementsMatch(t, slices.Collect(maps.Keys(defined.Aliases)), used)
	for alias, people := range defined.Aliases {
		require.NotEmpty(t, people, alias)
		require.Equal(t, slices.Sorted(slices.Values(people)), slices.Compact(slices.Sorted(slices.Values(people))), alias)
	}
}

func TestCIBuildsWithTheToolchainOfTheProduct(t *testing.T) {
	var ci struct {
		BuildRootImage struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
			Tag       string `json:"tag"`
		} `json:"build_root_image"`
	}
	require.NoError(t, yaml.UnmarshalStrict(read(t, ".ci-operator.yaml"), &ci))
	builder := regexp.MustCompile(`(?m)^FROM \S+/ocp/builder:rhel-9-(golang-(\d+\.\d+)-openshift-\S+) AS builder$`).
		FindStringSubmatch(string(read(t, "Dockerfile.rhel")))
	require.Len(t, builder, 3)
	require.Equal(t, "rhel-9-release-"+builder[1], ci.BuildRootImage.Tag)
	require.Contains(t, string(read(t, "go.mod")), "\ngo "+builder[2]+".")
}
