package liveview_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/liveview"
)

func TestOnATerminalTheBlockIsRedrawnBelowTheProgressLines(t *testing.T) {
	var out bytes.Buffer
	screen := liveview.NewScreen(&out, func() (int, int) { return 80, 24 })
	require.NoError(t, screen.Show([]string{"one", "two"}, "summary"))
	require.NoError(t, screen.Show([]string{"one", "two"}, "other summary"))
	fmt.Fprintln(screen, "progress")
	require.NoError(t, screen.Show([]string{"three"}, "summary"))
	require.NoError(t, screen.Close())
	require.Equal(t, "one\ntwo\n"+
		"\x1b[2A\x1b[Jprogress\none\ntwo\n"+
		"\x1b[2A\x1b[Jthree\n"+
		"\x1b[1A\x1b[J", out.String())
}

func TestTheBlockIsCutToTheTerminal(t *testing.T) {
	var out bytes.Buffer
	screen := liveview.NewScreen(&out, func() (int, int) { return 8, 3 })
	require.NoError(t, screen.Show([]string{"1234567", "12345678", "a third line"}, ""))
	require.Equal(t, "1234567\n123456…\n", out.String())
}

func TestElsewhereTheSummaryIsWrittenWhenItChanges(t *testing.T) {
	var out bytes.Buffer
	screen := liveview.NewScreen(&out, nil)
	require.NoError(t, screen.Show([]string{"one"}, "first"))
	require.NoError(t, screen.Show([]string{"two"}, "first"))
	fmt.Fprintln(screen, "progress")
	require.NoError(t, screen.Show([]string{"two"}, "second"))
	require.NoError(t, screen.Close())
	require.Equal(t, "first\nprogress\nsecond\n", out.String())
}
