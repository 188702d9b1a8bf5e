package convert_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/convert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// asCommand makes the test's executable run the command, so that exit codes and streams are real.
const asCommand = "CONVERT_TEST_AS_COMMAND"

// examples are the valid and invalid configurations of every platform.
const examples = "../validate/testdata"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if err := convert.NewCommand().Execute(); err != nil {
		os.Exit(3) // the command exits itself
	}
}

// result is the outcome of a run.
type result struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, dir string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// flags returns the flags of an example.
func flags(t *testing.T, platformName, name string) (dir string, flags []string) {
	t.Helper()
	dir = filepath.Join(examples, platformName)
	flags = []string{"--infra-config-file=infrastructure.yaml"}
	if _, err := os.Stat(filepath.Join(dir, name+".yaml")); err == nil {
		flags = append(flags, "--cloud-config-file="+name+".yaml")
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		flags = append(flags, "--rendered-manifest-files="+name)
	}
	return dir, flags
}

func TestEveryPlatform(t *testing.T) {
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			dir, flags := flags(t, p.Name, "good")
			whole := run(t, dir, flags...)
			require.Zero(t, whole.code, whole.stderr)
			requireGolden(t, p.Name+".golden", whole.stdout)
			diff := run(t, dir, append(flags, "--diff")...)
			require.Zero(t, diff.code, diff.stderr)
			requireGolden(t, p.Name+".diff.golden", diff.stdout)
			for _, output := range []string{whole.stdout, whole.stderr, diff.stdout, diff.stderr} {
				require.NotContains(t, output, "correct-horse")
			}
			requireReasons(t, diff.stdout)
		})
	}
}

// requireReasons checks that every difference has a reason, and that there are no other reasons. Credentials are
// delivered as separate files, which no diff shows.
func requireReasons(t *testing.T, diff string) {
	t.Helper()
	changes, reasons, credentials := 0, 0, 0
	for _, line := range strings.Split(diff, "\n") {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "+"):
			changes++
		case strings.HasPrefix(line, "good/") && strings.Contains(line, ": change: "):
			credentials++
		case strings.Contains(line, ": change: "):
			reasons++
		}
	}
	if changes > 0 {
		require.Positive(t, reasons+credentials, diff)
	} else {
		require.Zero(t, reasons, diff)
	}
}

const noSecret = "no Secret was given: credentials are not checked; give the manifests of the Secrets with --rendered-manifest-files\n"

func TestARejectedConfigurationIsNotConverted(t *testing.T) {
	dir, flags := flags(t, "openstack", "section-not-closed")
	want := result{code: 1, stderr: "section-not-closed.yaml:11:5: error: the header of section [LoadBalancer] is not closed: write \"]\" after the name [CCM0001]\n" + noSecret}
	require.Equal(t, want, run(t, dir, flags...))
	require.Equal(t, want, run(t, dir, append(flags, "--diff")...))
}

func TestWarningsDoNotGetIntoTheResult(t *testing.T) {
	dir, flags := flags(t, "openstack", "good")
	config := filepath.Join(t.TempDir(), "cloud.yaml")
	good, err := os.ReadFile(filepath.Join(dir, "good.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, append(good, "    [BlockStorage]\n"...), 0o600))
	flags = append(flags, "--cloud-config-file="+config)
	const dropped = "section [BlockStorage] is dropped: the Cinder CSI driver manages volumes and has its own configuration [CCM0008]\n"
	got := run(t, dir, flags...)
	require.Contains(t, got.stderr, ": warning: "+dropped)
	require.NotContains(t, got.stdout, "warning")
	// A diff shows the changes itself.
	got = run(t, dir, append(flags, "--diff")...)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, ": change: "+dropped)
}

func TestALayoutThatIsNotKeptHasItsReason(t *testing.T) {
	dir, _ := flags(t, "openstack", "good")
	config := filepath.Join(t.TempDir(), "cloud.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(config, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  config: |\n"+text), 0o600))
	}
	const reason = ":5:3: change: the configuration is rewritten: format, comments, whitespace, the case of names " +
		"and keys without a value are not kept [CCM0010]\n"
	for _, text := range []string{
		"    # ours\n    [Global]\n    region = one\n",
		"    [Global]\n    region = \"one\"\n",
		"    [Global]\n    region = one # the first one\n",
	} {
		write(text)
		got := run(t, dir, "--infra-config-file=infrastructure.yaml", "--cloud-config-file="+config, "--diff")
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, reason, text)
	}
}

func TestAPlatformWhereNothingRunsHasNothingToConvert(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(examples, "openstack", "infrastructure.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "infra.yaml"), bytes.ReplaceAll(data, []byte("type: OpenStack"), []byte("type: BareMetal")), 0o600))
	require.Equal(t, result{stderr: "platform BareMetal has no cloud-controller-manager: nothing is checked\n"}, run(t, dir, "--infra-config-file=infra.yaml"))
}

func TestInputThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		flags   []string
		message string
	}{
		"an unknown flag": {[]string{"--output=json"}, "unknown flag: --output"},
		"an argument":     {[]string{"good.yaml"}, "good.yaml cannot be read: no such file or directory"},
		"no file":         {nil, "--infra-config-file is required: the Infrastructure determines the platform"},
		"a missing file":  {[]string{"--infra-config-file=a.yaml"}, "a.yaml cannot be read: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, result{code: 2, stderr: "convert: " + test.message + "\n"}, run(t, t.TempDir(), test.flags...))
		})
	}
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		assert.Fail(t, "the golden file is rewritten, look at the difference and run again without UPDATE_GOLDEN")
		return
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestControlCharactersDoNotReachTheTerminalRaw(t *testing.T) {
	dir, _ := flags(t, "external", "good")
	config := filepath.Join(t.TempDir(), "e\x1b[2J\u202evil.yaml")
	const text = `"[a]\n\u009bb = \e[2J\u202e\rc\n"`
	for name, data := range map[string]string{
		"an error": "data: {config: {}}\n", "a configuration": "data:\n  config: " + strings.Replace(text, `\u009b`, "", 1) + "\n", "one that is not INI": "data:\n  config: " + text + "\n",
	} {
		require.NoError(t, os.WriteFile(config, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"\\e[2J\"}\n"+data), 0o600))
		for _, diff := range []string{"--diff=false", "--diff"} {
			got := run(t, dir, "--infra-config-file=infrastructure.yaml", "--rendered-manifest-files=good", "--cloud-config-file="+config, diff)
			output := got.stdout + got.stderr
			require.True(t, diff == "--diff" || output != "", name)
			require.NotContains(t, output, "\x1b", name)
			require.NotContains(t, output, "\u202e", name)
			require.NotContains(t, output, "\u009b", name)
		}
	}
}
