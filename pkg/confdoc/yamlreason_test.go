package confdoc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

func TestAReasonHasNoPrefixOfTheYAMLLibraries(t *testing.T) {
	for _, prefix := range []string{"", "yaml: ", "error converting YAML to JSON: yaml: ", "error converting YAML to JSON: "} {
		require.Equal(t, "control characters", confdoc.YAMLReason(prefix+"control characters"), prefix)
		_, reason := confdoc.YAMLDefect([]byte("a: b\n"), errors.New(prefix+"unmarshal errors:\n  a"))
		require.Equal(t, "an alias, an anchor, a tag or a key does not fit here: put the value in quotes", reason, prefix)
	}
}
