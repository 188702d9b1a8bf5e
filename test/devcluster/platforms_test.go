package devcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

func TestAClusterCanHaveEveryPlatformOfTheRegistry(t *testing.T) {
	for _, p := range platform.All() {
		_, err := platformName(p.Name)
		require.NoError(t, err)
	}
}

func TestAnUnknownPlatformIsRefusedWithTheListOfThoseThatWork(t *testing.T) {
	_, err := Options{Platform: "Openstck"}.withDefaults()
	require.EqualError(t, err, `platform "Openstck" does not exist: write one of OpenStack, AWS, Azure, AzureStack, VSphere, `+
		"AlibabaCloud, DigitalOcean, External, GCP, IBMCloud, Nutanix, PowerVS, BareMetal, None")
	options, err := Options{Platform: "openstack"}.withDefaults()
	require.NoError(t, err)
	require.EqualValues(t, "OpenStack", options.Platform)
}

func TestTheScriptSaysInOneLineWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct{ variable, line string }{
		"an unknown platform": {"PLATFORM=Foo", "PLATFORM=Foo does not exist: write one of " + strings.Join(Platforms, " ")},
		"no number":           {"NODES=abc", "NODES=abc: write a number from 1 to 9"},
		"no node":             {"NODES=0", "NODES=0: write a number from 1 to 9"},
		"no go":               {"PATH=/usr/bin:/bin", `go is not in PATH: install Go 1\.\S+ \(https://go.dev/dl\)`},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "no go" {
				test.line = regexp.QuoteMeta(test.line)
			}
			script := exec.CommandContext(t.Context(), "/bin/bash", filepath.Join("..", "..", "hack", "run.sh"))
			script.Env = append(os.Environ(), test.variable)
			output, err := script.CombinedOutput()
			require.EqualError(t, err, "exit status 2")
			require.Regexp(t, "^make run: "+test.line+"\n$", string(output))
		})
	}
}

// hack/run.sh refuses an unknown platform before it builds anything.
func TestTheScriptKnowsTheSamePlatforms(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "hack", "run.sh"))
	require.NoError(t, err)
	require.Contains(t, string(script), "\nplatforms=("+strings.Join(Platforms, " ")+")\n")
}
