package diagnostic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

func TestPolicyDecidesOnlyAboutLikelyMistakes(t *testing.T) {
	for kind, want := range map[diagnostic.Kind][2]diagnostic.Severity{
		diagnostic.Invalid:       {diagnostic.Error, diagnostic.Error},
		diagnostic.Ambiguous:     {diagnostic.Warning, diagnostic.Error},
		diagnostic.Typo:          {diagnostic.Warning, diagnostic.Error},
		diagnostic.Redirected:    {diagnostic.Warning, diagnostic.Error},
		diagnostic.Contradictory: {diagnostic.Warning, diagnostic.Error},
		diagnostic.Insecure:      {diagnostic.Warning, diagnostic.Warning},
		diagnostic.Doubtful:      {diagnostic.Warning, diagnostic.Warning},
		diagnostic.Unknown:       {diagnostic.Warning, diagnostic.Warning},
		diagnostic.Legacy:        {diagnostic.Warning, diagnostic.Warning},
		diagnostic.Rewritten:     {diagnostic.Warning, diagnostic.Warning},
		diagnostic.Adapted:       {diagnostic.Change, diagnostic.Change},
	} {
		require.Equal(t, want, [2]diagnostic.Severity{kind.Severity(diagnostic.Lenient),
			kind.Severity(diagnostic.Strict)}, kind)
	}
}

func TestADiagnosticIsOneLine(t *testing.T) {
	d := diagnostic.Diagnostic{Object: "configmap/a in b", Key: "config", Line: 3, Column: 4,
		Message: "duplicate key x: keep one", SeeLine: 2}
	require.Equal(t, "configmap/a in b, key config, line 3:4: duplicate key x: keep one (see line 2)", d.String())
	d.File, d.Severity = "a.yaml", diagnostic.Error
	require.Equal(t, "a.yaml:3:4: error: duplicate key x: keep one", d.String(),
		"the position already has the line of the file")
	require.Equal(t, "it does not exist", diagnostic.Diagnostic{Message: "it does not exist"}.String())
	require.Equal(t, "secret/a: it does not exist", diagnostic.Diagnostic{Object: "secret/a",
		Message: "it does not exist"}.String())
}

func TestAListIsSortedByInputAndPlace(t *testing.T) {
	var l diagnostic.List
	l.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Key: diagnostic.CABundleKey, Kind: diagnostic.Invalid,
		Message: "5"})
	l.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: "b", Kind: diagnostic.Typo, Message: "4"})
	l.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: "a", Line: 9, Kind: diagnostic.Typo, Message: "3"})
	l.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: 2, Kind: diagnostic.Typo, Message: "2"})
	l.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Typo, Message: "1"})
	l.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted,
		Message: "not with an invalid input"})
	var messages []string
	for _, d := range l.Sorted() {
		messages = append(messages, d.Message)
	}
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, messages)
}

func TestAListOfNodesIsBounded(t *testing.T) {
	for want, names := range map[string][]string{
		"node/a":                                 {"a"},
		"node/a, node/b, node/c, node/d, node/e": {"a", "b", "c", "d", "e"},
		"node/a, node/b, node/c, node/d, node/e and 1 more": {"a", "b", "c", "d", "e", "f"},
	} {
		require.Equal(t, want, diagnostic.FewNodes(names))
	}
}
