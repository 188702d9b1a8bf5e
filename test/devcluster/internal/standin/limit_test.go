package standin_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALimitedCloudRefusesWhatIsBeyondTheLimit(t *testing.T) {
	s := startDefault(t)
	client := newClient(t, s.CABundle())
	s.Limit(1)
	status, err := get(t, client, s.URL()+"/list")
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status)
	// A slow machine may take a second for one request.
	for status == http.StatusAccepted {
		status, err = get(t, client, s.URL()+"/list")
		require.NoError(t, err)
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	s.Limit(0)
	status, err = get(t, client, s.URL()+"/list")
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status)
}
