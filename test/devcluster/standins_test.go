package devcluster

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// Every other status says something about the cloud: that a right is missing, that an object does not exist, or that a
// retry helps.
func TestWhatAStandInDoesNotServeIsNotImplemented(t *testing.T) {
	for name, start := range standIns {
		t.Run(name, func(t *testing.T) {
			cloud, err := start(t.Context(), standInOptions{listen: "127.0.0.1:0"})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, cloud.Close()) })
			served := cloud.(interface {
				standIn
				URL() string
				Port() string
				Requests() map[string]int
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL()+"/not/served?Action=Nothing",
				http.NoBody)
			require.NoError(t, err)
			status, body := standintest.Do(t, standintest.NewClient(t, served), request)
			require.Equal(t, http.StatusNotImplemented, status, string(body))
			require.Equal(t, map[string]int{Unserved: 1}, served.Requests())
		})
	}
}
