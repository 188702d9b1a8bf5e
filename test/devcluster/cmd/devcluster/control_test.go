package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAControlCommandThatCannotBeObeyedIsAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no cluster to rotate":       {[]string{"rotate", "--name=none"}, `no cluster named "none" runs: start it, or name another one by --name`},
		"no cluster with a machine":  {[]string{"machine", "stop", "a", "--name=none"}, `no cluster named "none" runs: start it, or name another one by --name`},
		"no cluster with a record":   {[]string{"unserved", "--name=none"}, `no stand-in of a cluster named "none" has a record`},
		"an action that is unknown":  {[]string{"machine", "reboot", "a"}, `unknown command "reboot" for "devcluster machine"`},
		"no machine":                 {[]string{"machine", "stop"}, "name one machine, as its Node: devcluster machine stop MACHINE"},
		"two machines":               {[]string{"machine", "delete", "a", "b"}, "name one machine, as its Node: devcluster machine delete MACHINE"},
		"an argument of a bare verb": {[]string{"rotate", "a"}, `unknown command "a" for "devcluster rotate"`},
	} {
		t.Run(name, func(t *testing.T) {
			command := newCommand()
			command.SetArgs(tc.args)
			command.SetOut(&bytes.Buffer{})
			require.EqualError(t, command.ExecuteContext(t.Context()), tc.want)
		})
	}
}
