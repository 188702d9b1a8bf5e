package validate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// brokenPerPlatform is the minimum number of invalid configurations per platform, each with a mistake of a real
// administrator.
const brokenPerPlatform = 3

// caseFlags returns the flags of a case in testdata/<platform>: the file with its name is the ConfigMap, the
// directory with its name has the manifests.
func caseFlags(dir, name string) []string {
	flags := []string{"--infra-config-file=infrastructure.yaml"}
	if _, err := os.Stat(filepath.Join(dir, name+".yaml")); err == nil {
		flags = append(flags, "--cloud-config-file="+name+".yaml")
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		flags = append(flags, "--rendered-manifest-files="+name)
	}
	return flags
}

// cases lists the cases of a platform.
func cases(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".yaml"); name != "infrastructure" && filepath.Ext(name) != ".golden" {
			names = append(names, name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func TestEveryPlatform(t *testing.T) {
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			names := cases(t, filepath.Join("testdata", p.Name))
			require.Contains(t, names, "good")
			require.Greater(t, len(names), brokenPerPlatform)
			for _, name := range names {
				t.Run(name, func(t *testing.T) { testCase(t, p.Name, name) })
			}
		})
	}
}

func testCase(t *testing.T, platformName, name string) {
	t.Helper()
	dir := filepath.Join("testdata", platformName)
	f := workspace{t: t, dir: dir}
	text := f.command(caseFlags(dir, name)...)
	require.Equal(t, name != "good", text.code == 1, text.stdout)
	require.Empty(t, text.stderr)
	require.Contains(t, text.stdout, "checked for platform "+platformName+"\n")
	asJSON := f.command(append(caseFlags(dir, name), "-o", "json")...)
	require.Equal(t, text.code, asJSON.code)
	requireSameDiagnostics(t, text.stdout, asJSON.stdout)
	requireGolden(t, filepath.Join(dir, name+".golden"), text.stdout)
	if name == "keys-and-values" {
		requireGolden(t, filepath.Join(dir, name+".json.golden"), asJSON.stdout)
	}
}

// requireSameDiagnostics checks that both formats have the same diagnostics.
func requireSameDiagnostics(t *testing.T, text, asJSON string) {
	t.Helper()
	var parsed struct {
		Diagnostics []struct {
			File, Severity, Object, Message, Code string
			Line, Column                          int
		} `json:"findings"`
		Errors, Warnings int
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON), &parsed))
	require.Len(t, parsed.Diagnostics, parsed.Errors+parsed.Warnings)
	lines := strings.Split(text, "\n")
	for _, f := range parsed.Diagnostics {
		require.NotEmpty(t, f.Object)
		require.Regexp(t, `^CCM\d{4}$`, f.Code, f.Message)
		require.Positive(t, f.Line)
		require.Positive(t, f.Column)
		require.True(t, slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, f.File+":") && strings.HasSuffix(line, ": "+f.Severity+": "+f.Message+" ["+f.Code+"]")
		}), f.Message)
	}
}

// TestNoSecretIsPrinted searches the output for the examples' secrets.
func TestNoSecretIsPrinted(t *testing.T) {
	goldens, err := filepath.Glob("testdata/*/*.golden")
	require.NoError(t, err)
	require.NotEmpty(t, goldens)
	for _, golden := range goldens {
		data, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.NotContains(t, string(data), "correct-horse", golden)
		require.NotContains(t, string(data), "MIICdgIBADANBg", golden)
	}
}

func requireGolden(t *testing.T, golden, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		assert.Fail(t, "the golden file is rewritten, look at the difference and run again without UPDATE_GOLDEN")
		return
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
