package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/logs"
)

func TestTheSubcommands(t *testing.T) {
	root := newCommand(t.Context())
	root.InitDefaultCompletionCmd()
	var names []string
	for _, command := range root.Commands() {
		require.NotEmpty(t, command.Short, command.Name())
		names = append(names, command.Name())
	}
	require.ElementsMatch(t, []string{"operator", "render", "validate", "convert", "status", "installer", "prune", "remove", "env-file", "version", "completion"}, names)
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

func TestTheVersion(t *testing.T) {
	root := newCommand(t.Context())
	var out bytes.Buffer
	root.SetArgs([]string{"version"})
	root.SetOut(&out)
	require.NoError(t, root.Execute())
	require.Regexp(t, `^\S+ \(commit \S+, go1\.\S+, \S+/\S+\)\n$`, out.String())
}

func TestCompletion(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"of subcommands":       {[]string{"vali"}, "validate\tCheck a cloud configuration without a cluster\n:4\n"},
		"of flags":             {[]string{"convert", "--di"}, "--diff\tPrint the changes and their reasons instead of the result.\n:4\n"},
		"of a flag's values":   {[]string{"validate", "--output", ""}, "text\njson\n:4\n"},
		"of files":             {[]string{"validate", "--cloud-config-file", ""}, "yaml\nyml\njson\n:8\n"},
		"of no arguments":      {[]string{"validate", ""}, ":4\n"},
		"of no arguments, too": {[]string{"convert", ""}, ":4\n"},
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
