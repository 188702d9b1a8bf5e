package confdoc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

func TestPlaceholders(t *testing.T) {
	for name, c := range map[string]struct {
		data         string
		line, column int
		placeholder  string
	}{
		"a revision":                            {"a\nüb REVISION", 2, 4, "REVISION"},
		"a node name inside a word":             {"xNODE_NAMEx", 1, 2, "NODE_NAME"},
		"a node name for the environment":       {"NODE_ENVVAR_NAME", 1, 1, "NODE_ENVVAR_NAME"},
		"the first of several":                  {"REVISION NODE_NAME", 1, 1, "REVISION"},
		"the first of several in another order": {"NODE_NAME REVISION", 1, 1, "NODE_NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			line, column, placeholder, found := confdoc.Placeholders([]byte(c.data))
			require.True(t, found)
			require.Equal(t, []any{c.line, c.column, c.placeholder}, []any{line, column, placeholder})
		})
	}
	for _, data := range []string{"", "revision node_name", "REVIS\nION", "NODE-NAME"} {
		_, _, _, found := confdoc.Placeholders([]byte(data))
		require.False(t, found, data)
	}
}
