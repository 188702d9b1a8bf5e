package diagnostics

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

func TestPrint(t *testing.T) {
	one := diagnostic.Diagnostic{File: "a.yaml", Line: 1, Column: 2, Severity: diagnostic.Error, Message: "one"}
	two := diagnostic.Diagnostic{File: "b.yaml", Line: 3, Column: 4, Severity: diagnostic.Warning, Message: "two"}
	var out bytes.Buffer
	require.NoError(t, Print(&out, []diagnostic.Diagnostic{one, two}, []string{"three\x1b"}))
	require.Equal(t, "a.yaml:1:2: error: one\nb.yaml:3:4: warning: two\nthree\\x1b\n", out.String())
	require.Equal(t, "\x1b[1ma.yaml:1:2:\x1b[0m \x1b[1;31merror:\x1b[0m one", line(one, true))
	require.Equal(t, "\x1b[1mb.yaml:3:4:\x1b[0m \x1b[1;33mwarning:\x1b[0m two", line(two, true))
}

func TestInputs(t *testing.T) {
	require.Equal(t, "infra.yaml", Inputs(offline.Request{Infrastructure: "infra.yaml"}))
	require.Equal(t, "a.yaml and b and c", Inputs(offline.Request{Infrastructure: "infra.yaml", CloudConfig: "a.yaml", Manifests: []string{"b", "c"}}))
}
