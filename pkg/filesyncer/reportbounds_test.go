package filesyncer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReportIsBoundedHoweverLongItsCauses(t *testing.T) {
	n := newReporting(t)
	s := &syncer{Options: n.Options, failing: map[object]error{
		{secrets, "kube-token"}: errors.New("no\nspace \x1b[2J"),
		{configMaps, "a"}:       errors.New(strings.Repeat("ä\u202e", 10_000)),
	}}
	current := s.look(t.Context())
	require.Len(t, []rune(current.NotWritten), maxNotWritten)
	require.True(t, strings.HasPrefix(current.NotWritten, `configmap/a: ä\u202eä\u202e`), current.NotWritten)
	delete(s.failing, object{configMaps, "a"})
	current = s.look(t.Context())
	require.Equal(t, `secret/kube-token: no\nspace \x1b[2J`, current.NotWritten)

	text, err := json.Marshal(current)
	require.NoError(t, err)
	parsed, err := ParseReport(string(text))
	require.NoError(t, err)
	require.True(t, current.At.Time.Equal(parsed.At.Add(0)) || current.At.Unix() == parsed.At.Unix())
	parsed.At = current.At
	require.Equal(t, current, parsed)
}
