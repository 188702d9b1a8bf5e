package operand_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// known is testdata/known.yaml: what each platform's cloud-controller-manager supports, with sources.
type known struct {
	Sources   map[string]string        `json:"sources"`
	Common    []string                 `json:"common"`
	Platforms map[string]knownPlatform `json:"platforms"`
}

type knownPlatform struct {
	// Common reports whether it has the common flags except for those in Without.
	Common  bool     `json:"common"`
	Without []string `json:"without"`
	// FeatureGates are the gates that it has in the release that ships it, with the source of each. The process exits
	// if it gets any other gate.
	FeatureGates map[string]string `json:"featureGates"`
	// Flags and Environment are its own flags and variables, with the source of each.
	Flags       map[string]string `json:"flags"`
	Environment map[string]string `json:"environment"`
}

func readKnown(t *testing.T) known {
	t.Helper()
	var k known
	require.NoError(t, yaml.UnmarshalStrict(read(t, "known.yaml"), &k))
	return k
}

// flags returns all flags of a platform's cloud-controller-manager.
func (k known) flags(platform string) []string {
	p := k.Platforms[platform]
	flags := slices.Collect(maps.Keys(p.Flags))
	for _, name := range k.Common {
		if p.Common && !slices.Contains(p.Without, name) {
			flags = append(flags, name)
		}
	}
	return flags
}

func TestOnlyKnownFlagsAndVariablesAreUsed(t *testing.T) {
	k := readKnown(t)
	everyRendering(t, func(t *testing.T, r rendering) {
		_, is := k.Platforms[r.platform.Name]
		require.True(t, is, "platform %s is not in testdata/known.yaml: say there which flags and variables it knows",
			r.platform.Name)
		allowed := k.flags(r.platform.Name)
		for name := range r.flags() {
			require.Contains(t, allowed, name, "the cloud-controller-manager of %s would not start", r.platform.Name)
		}
		if r.platform.Name == "external" {
			return // the variables are spec.custom's
		}
		// Every Go program supports these.
		environment := []string{"SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TZ"}
		for _, variable := range r.operand().Env {
			if !slices.Contains(environment, variable.Name) {
				require.Contains(t, k.Platforms[r.platform.Name].Environment, variable.Name, "nobody would read it")
			}
		}
	})
}

// allGates enables all feature gates of cloud-controller-managers in k8s.io/controller-manager 0.36.
var allGates = []string{
	"CloudControllerManagerWatchBasedRoutesReconciliation", "CloudControllerManagerWebhook",
	"ControllerManagerReleaseLeaderElectionLockOnExit",
}

func TestOnlyEnabledAndKnownFeatureGatesArePassedOn(t *testing.T) {
	k := readKnown(t)
	for _, p := range managed() {
		for _, phase := range podPhases(p) {
			for name, enabled := range map[string][]string{"no gate": nil, "all gates": allGates, "the webhooks' gate": {"CloudControllerManagerWebhook"}} {
				t.Run(fmt.Sprintf("%s with %s enabled in phase %s", p.Name, name, phase.Name), func(t *testing.T) {
					in := inputs(t, p, phase)
					gates, err := yaml.Marshal(map[string]any{"cluster": map[string]any{"featureGates": enabled}})
					require.NoError(t, err)
					in.Config, err = operandconfig.Merge(in.Config, gates)
					require.NoError(t, err)
					var want []string
					for _, gate := range slices.Sorted(maps.Keys(k.Platforms[p.Name].FeatureGates)) {
						if slices.Contains(enabled, gate) {
							want = append(want, gate+"=true")
						}
					}
					got, given := rendered(t, in).flags()["feature-gates"]
					require.Equal(t, len(want) > 0, given, "a flag without a gate is rejected")
					require.Equal(t, strings.Join(want, ","), got)
				})
			}
		}
	}
}

func TestConfiguredTLSGroupsArePassedOnWhereTheFlagIsKnown(t *testing.T) {
	k := readKnown(t)
	const flag = "tls-curve-preferences"
	for _, p := range managed() {
		for _, phase := range podPhases(p) {
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) {
				in := inputs(t, p, phase)
				var err error
				in.Config, err = operandconfig.Merge(in.Config, []byte(`servingInfo: {curvePreferences: ["23", "4588"]}`))
				require.NoError(t, err)
				want := map[string]string{}
				if slices.Contains(k.flags(p.Name), flag) {
					want[flag] = "23,4588"
				}
				got := rendered(t, in).flags()
				maps.DeleteFunc(got, func(name, _ string) bool { return name != flag })
				require.Equal(t, want, got, "a cloud-controller-manager that does not know the flag exits")
			})
		}
	}
}

func TestEverythingKnownHasASource(t *testing.T) {
	k := readKnown(t)
	var platforms []string
	for _, p := range managed() {
		platforms = append(platforms, p.Name)
	}
	require.ElementsMatch(t, platforms, slices.Collect(maps.Keys(k.Platforms)))
	used := map[string]bool{"cloud-provider": true}
	for name, p := range k.Platforms {
		for _, sources := range []map[string]string{p.Flags, p.Environment, p.FeatureGates} {
			for entry, source := range sources {
				require.Contains(t, k.Sources, source, "%s of %s", entry, name)
				used[source] = true
			}
		}
		for _, flag := range p.Without {
			require.Contains(t, k.Common, flag, name)
		}
	}
	require.Len(t, used, len(k.Sources), "an unused source")
}

// A removed flag that no platform has is obsolete or misspelled.
func TestEveryRemovedFlagIsSetOnAnotherPlatform(t *testing.T) {
	given := map[string]bool{}
	everyRendering(t, func(_ *testing.T, r rendering) {
		for name := range r.flags() {
			given[name] = true
		}
	})
	for _, p := range managed() {
		config, err := bindata.Read("assets/platforms/" + p.Name + "/config.yaml")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		decoded, err := operandconfig.Decode(config)
		require.NoError(t, err)
		for _, name := range decoded.WithoutArguments {
			require.True(t, given[name], "platform %s is without %s, which no platform has", p.Name, name)
		}
	}
}
