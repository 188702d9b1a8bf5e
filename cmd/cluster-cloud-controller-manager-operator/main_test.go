package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSubcommands(t *testing.T) {
	root := newCommand(t.Context())
	root.InitDefaultCompletionCmd()
	var names []string
	for _, command := range root.Commands() {
		require.NotEmpty(t, command.Short, command.Name())
		names = append(names, command.Name())
	}
	require.ElementsMatch(t, []string{"operator", "render", "validate", "convert", "installer", "prune", "cert-syncer", "env-file", "version", "completion"}, names)
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
