package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/logs"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
)

func TestTheSubcommands(t *testing.T) {
	root := newCommand(t.Context())
	root.InitDefaultCompletionCmd()
	var names []string
	for _, command := range root.Commands() {
		require.NotEmpty(t, command.Short, command.Name())
		names = append(names, command.Name())
	}
	require.ElementsMatch(t, []string{"operator", "render", "validate", "convert", "status", "explain", "dump", "installer", "prune", "remove", "handover", "env-file", "version", "completion"}, names)
}

// cli.Run adds the flags of the logs to every subcommand, and panics if one is there already.
func TestNoSubcommandHasAFlagOfTheLogs(t *testing.T) {
	root := newCommand(t.Context())
	logs.AddFlags(root.PersistentFlags(), logs.SkipLoggingConfigurationFlags())
	for _, command := range root.Commands() {
		require.NotPanics(t, func() { command.InheritedFlags() }, command.Name())
	}
}

func TestAnUnknownSubcommandIsAnError(t *testing.T) {
	root := newCommand(t.Context())
	root.SetArgs([]string{"rendr"})
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	require.EqualError(t, root.Execute(), "unknown command \"rendr\" for \"cluster-cloud-controller-manager-operator\"\n\nDid you mean this?\n\trender\n")
}

// asCommand makes the test's executable run the command, so that exit codes are real.
const asCommand = "ROOT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// run runs the command and returns its exit code and the text that it prints.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestWrongUsageExitsWith2(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string
		message string
	}{
		"an unknown command": {[]string{"valdiate"}, "unknown command \"valdiate\" for " +
			"\"cluster-cloud-controller-manager-operator\"\n\nDid you mean this?\n\tvalidate\n\n"},
		"an unknown flag":            {[]string{"--nothing"}, "unknown flag: --nothing\n"},
		"an unknown flag of version": {[]string{"version", "--nothing"}, "version: unknown flag: --nothing\n"},
		"of a command in a cluster":  {[]string{"installer", "--nothing"}, "installer: unknown flag: --nothing\n"},
		"of prune":                   {[]string{"prune", "--nothing"}, "prune: unknown flag: --nothing\n"},
		"of the operator":            {[]string{"operator", "--nothing"}, "operator: unknown flag: --nothing\n"},
		"an argument of version": {[]string{"version", "extra"}, "version: unknown command \"extra\" for " +
			"\"cluster-cloud-controller-manager-operator version\"\n"},
		"an unknown shell": {[]string{"completion", "bsh"}, "unknown command \"bsh\" for " +
			"\"cluster-cloud-controller-manager-operator completion\"\n"},
		"no directory for a dump": {[]string{"dump"}, "dump: wrong arguments: write " +
			"cluster-cloud-controller-manager-operator dump DIR [flags]\n"},
		"something else to explain": {[]string{"explain", "nodes", "worker-1"}, "explain: \"nodes\" is nothing to explain: " +
			"did you mean node? specify node NAME, service NAMESPACE/NAME, deletion NODE, rollout, or one code of " +
			"https://github.com/openshift/cluster-cloud-controller-manager-operator/blob/main/docs/reasons.md\n"},
		"a wrong value": {[]string{"validate", "--fail-on=never", "-"}, "validate: --fail-on is \"never\": specify error or warning\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, test.args...)
			require.Equal(t, usage.Unusable, code)
			require.Empty(t, stdout)
			require.Equal(t, test.message, stderr)
		})
	}
}

func TestTheHelpHasNoFlagsOfLogsThatNobodyWrites(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"validate", "--help"}, {"convert", "--help"}, {"help", "version"}} {
		code, stdout, stderr := run(t, args...)
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.NotContains(t, stdout, "-vmodule", args)
	}
	_, stdout, _ := run(t, "operator", "--help")
	require.Contains(t, stdout, "-vmodule", "the operator writes logs")
}

func TestTheVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		code, stdout, _ := run(t, args...)
		require.Zero(t, code)
		require.Regexp(t, `^\S+ \(commit \S+, go1\.\S+, \S+/\S+\)\n$`, stdout)
	}
}

func TestCompletion(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"of subcommands":        {[]string{"vali"}, "validate\tCheck a cloud configuration without a cluster, or against one\n:4\n"},
		"of flags":              {[]string{"convert", "--di"}, "--diff\tPrint the changes and their reasons instead of the result.\n:4\n"},
		"of a flag's values":    {[]string{"validate", "--output", ""}, "text\njson\n:4\n"},
		"of files":              {[]string{"validate", "--cloud-config-file", ""}, "yaml\nyml\njson\n:8\n"},
		"of arguments":          {[]string{"validate", ""}, "yaml\nyml\njson\n:8\n"},
		"of the least severity": {[]string{"validate", "--fail-on", ""}, "error\nwarning\n:4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := newCommand(t.Context())
			var out bytes.Buffer
			root.SetArgs(append([]string{"__complete"}, test.args...))
			root.SetOut(&out)
			root.SetErr(&bytes.Buffer{})
			require.NoError(t, root.Execute())
			require.Equal(t, test.want, out.String())
		})
	}
}

func TestAPluginOfKubectlHasItsName(t *testing.T) {
	for name, tc := range map[string]struct {
		args, want []string
		display    string
	}{
		"the operator":          {[]string{"/usr/bin/cluster-cloud-controller-manager-operator", "status"}, []string{"/usr/bin/cluster-cloud-controller-manager-operator", "status"}, "cluster-cloud-controller-manager-operator"},
		"kubectl ccm":           {[]string{"/usr/bin/kubectl-ccm", "status"}, []string{"/usr/bin/kubectl-ccm", "status"}, "kubectl ccm"},
		"oc ccm":                {[]string{"oc-ccm"}, []string{"oc-ccm"}, "oc ccm"},
		"kubectl's completion":  {[]string{"kubectl_complete-ccm", "sta"}, []string{"kubectl_complete-ccm", "__complete", "sta"}, "kubectl ccm"},
		"another plugin's name": {[]string{"kubectl-other"}, []string{"kubectl-other"}, "cluster-cloud-controller-manager-operator"},
	} {
		t.Run(name, func(t *testing.T) {
			root := newCommand(t.Context())
			require.Equal(t, tc.want, asPlugin(root, tc.args))
			require.Equal(t, tc.display, root.DisplayName())
		})
	}
}
