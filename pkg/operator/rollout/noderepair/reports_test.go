package noderepair

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever has the file-syncer's token, which is the same on every node, can write any text for any node.
func TestAReportThatNoFileSyncerWritesIsNone(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, text := range map[string]string{
		"no JSON":             "x",
		"another type":        `["x"]`,
		"an unknown field":    `{"directory": "", "manifest": "", "more": 1}`,
		"more than one":       `{"directory": "` + digest + `"} {}`,
		"a digest of text":    `{"directory": "look at https://evil.example.com", "manifest": ""}`,
		"a long digest":       `{"directory": "` + digest + `0", "manifest": ""}`,
		"more than a report":  `{"directory": "", "manifest": "", "notWritten": "` + strings.Repeat("x", 5000) + `"}`,
		"a lot of whitespace": `{"directory": "", "manifest": ""` + strings.Repeat(" ", 5000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.reports = c.reports.DeepCopy()
			c.reports.Data["m1"] = text
			require.NoError(t, c.caches.Core().V1().ConfigMaps().Informer().GetStore().Add(c.reports))
			c.run(t, 2*filesPatience)
			require.Equal(t, "NodeFilesDegraded False AsExpected: ", c.condition(t))
			require.Empty(t, c.targets(t), "it repairs nothing")
			for range 2 {
				c.run(t, maxSilence/2)
				for _, node := range []string{"m0", "m2"} {
					c.sound.At.Time = c.clock.Now()
					c.report(t, node, c.sound)
				}
			}
			c.run(t, time.Second)
			require.Contains(t, c.condition(t), "NodeFilesDegraded True NotReported: node/m1: ")
			require.NotContains(t, c.condition(t), "evil")
		})
	}
}

func TestWhatAReportSaysIsEscaped(t *testing.T) {
	c := newCluster(t)
	failing := c.sound
	failing.NotWritten = "secret/a: \x1b[2J\u202eno\nspace " + strings.Repeat("ä", 900)
	text, err := json.Marshal(failing)
	require.NoError(t, err)
	require.Less(t, len(text), 4096)
	c.report(t, "m1", failing)
	c.run(t, 2*filesPatience)
	require.Equal(t, "NodeFilesDegraded True NotWritten: node/m1: the file-syncer cannot update files below "+
		`/etc/kubernetes/static-pod-resources: secret/a: \x1b[2J\u202eno\nspace `+strings.Repeat(
		"ä",
		466)+"…", c.condition(t),
	)
}
