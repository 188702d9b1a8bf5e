package parity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/parity"
)

// Facts of both sides, with flags that differ, that are the same on every platform and that only one side has.
func bothSides() (theirs, ours parity.Facts) {
	theirs = parity.Facts{
		"aws":     {"flag": {"v": "3", "leader-elect": "true", "kubeconfig": "/a"}},
		"gcp":     {"flag": {"v": "3", "leader-elect": "true"}},
		"payload": {"object": {"ClusterRole/a": "yes"}},
	}
	ours = parity.Facts{
		"aws":     {"flag": {"v": "2", "leader-elect": "true"}},
		"gcp":     {"flag": {"v": "2", "leader-elect": "true", "kubeconfig": "/b"}},
		"tropos":  {"flag": {"v": "5"}},
		"payload": {"object": {"ClusterRole/a": "yes"}},
	}
	return theirs, ours
}

func TestADifferenceNeedsAReasonAndAReasonADifference(t *testing.T) {
	level := parity.Reason{Section: "flag", Items: []string{"v"}, Why: "the log level decides"}
	kubeconfigOn := func(platforms ...string) parity.Reason {
		return parity.Reason{Section: "flag", Items: []string{"kube*"}, Platforms: platforms, Why: "another token"}
	}
	kubeconfig := kubeconfigOn("aws", "gcp")
	for name, tc := range map[string]struct {
		reasons []parity.Reason
		want    string
	}{
		"all differences": {[]parity.Reason{level, kubeconfig}, ""},
		"no reason for one platform": {
			[]parity.Reason{level, kubeconfigOn("gcp")},
			`no reason for aws, flag kubeconfig: "/a" of the predecessor, "–" of ours`,
		},
		"a reason in another section": {
			[]parity.Reason{level, kubeconfig, {Section: "environment", Items: []string{"v"}, Why: "a mistake"}},
			"no difference for the reason of environment v: a mistake",
		},
		"a reason for what is the same": {
			[]parity.Reason{level, kubeconfig, {Section: "flag", Items: []string{"leader-elect"}, Why: "a mistake"}},
			"no difference for the reason of flag leader-elect: a mistake",
		},
		"a reason for a platform without the difference": {
			[]parity.Reason{level, kubeconfigOn("aws", "gcp", "vsphere")},
			"no difference on vsphere for the reason: another token",
		},
		"a reason behind another": {
			[]parity.Reason{level, kubeconfig, {Section: "flag", Items: []string{"v"}, Why: "a second one"}},
			"no difference for the reason of flag v: a second one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := bothSides()
			_, err := parity.Document(parity.Predecessor{Commit: "0123456789", Facts: theirs}, ours, tc.reasons)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestTheDocumentSaysOnceWhatIsTheSameOnEveryPlatform(t *testing.T) {
	theirs, ours := bothSides()
	document, err := parity.Document(parity.Predecessor{Commit: "0123456789", Facts: theirs}, ours, []parity.Reason{
		{Section: "flag", Items: []string{"v"}, Why: "the log level decides"},
		{Section: "flag", Items: []string{"kubeconfig"}, Why: "another token"},
	})
	require.NoError(t, err)
	_, tables, found := strings.Cut(string(document), "- Not compared: tropos, which the predecessor does not have.\n")
	require.True(t, found)
	tables, _, found = strings.Cut(tables, "\n## Proposed")
	require.True(t, found)
	require.Equal(t, `
| scope | same in both | other value | only the predecessor | only ours |
|---|---|---|---|---|
| [every platform](#every-platform) | 1 | 1 | 0 | 0 |
| [aws](#aws) | 0 | 0 | 1 | 0 |
| [gcp](#gcp) | 0 | 0 | 0 | 1 |
| [payload](#payload) | 1 | 0 | 0 | 0 |

## Every platform

| what | item | predecessor | ours | why they differ |
|---|---|---|---|---|
| flag | `+"`v` | `3` | `2`"+` | the log level decides |

The same in both:

- flag: `+"`leader-elect: true`"+`

## aws

| what | item | predecessor | ours | why they differ |
|---|---|---|---|---|
| flag | `+"`kubeconfig` | `/a`"+` | – | another token |

## gcp

| what | item | predecessor | ours | why they differ |
|---|---|---|---|---|
| flag | `+"`kubeconfig` | – | `/b`"+` | another token |

## Payload

The same in both:

- object: `+"`ClusterRole/a`"+`
`, tables)
}

func TestTheFileHasTheFactsOfEveryPlatformOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "predecessor.yaml")
	theirs, _ := bothSides()
	written := parity.Predecessor{Commit: "0123456789", Facts: theirs}
	require.NoError(t, written.Write(file))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(content), "leader-elect"), string(content))
	read, err := parity.ReadPredecessor(file)
	require.NoError(t, err)
	require.Equal(t, written, read)
}

func TestAnEditedFileOfFactsIsRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "predecessor.yaml")
	require.NoError(t, os.WriteFile(file, []byte("commit: 0123456789\nfacts: {}\n"), 0o600))
	_, err := parity.ReadPredecessor(file)
	require.EqualError(t, err, file+" was not written by cmd/parity")
}
