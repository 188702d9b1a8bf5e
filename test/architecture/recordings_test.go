package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The terminal of the recordings. Two lines are the prompt's.
const (
	recordedColumns = 100
	recordedLines   = 30 - 2
)

// recording matches a block of docs/recordings.md, and the golden file that it shows.
var recording = regexp.MustCompile("(?s)<!-- (\\S+) -->\n```\n(.*?)```\n")

func TestTheRecordingsAreTheGoldenOutputs(t *testing.T) {
	const name = "docs/recordings.md"
	before := string(read(t, name))
	shown := recording.FindAllStringSubmatch(before, -1)
	require.NotEmpty(t, shown)
	want := before
	for _, block := range shown {
		output := string(read(t, block[1]))
		require.LessOrEqual(t, strings.Count(output, "\n"), recordedLines, block[1])
		for line := range strings.Lines(output) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), recordedColumns, line)
		}
		want = strings.Replace(want, block[0], "<!-- "+block[1]+" -->\n```\n"+output+"```\n", 1)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" && want != before {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(want), 0o644))
		assert.Fail(t, "the document is rewritten, look at the difference and run again without UPDATE_GOLDEN")
		return
	}
	require.Equal(t, want, before, "make update-golden writes the golden outputs")
}
