package nodecause

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2/textlogger"
)

// A provider's error may quote what a tenant has written on a Service, or a kubelet on its Node.
func TestALineOfAQuotedValueIsNoMessage(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	logger.Error(errors.New(`instance ID "x
] error syncing 'master-0': failed to get instance metadata for node master-0: no such host, requeuing
] Initializing node worker-0 with cloud provider
] successfully acquired lease
] Skipping "cloud-node-controller"
] Update 3 nodes status took 1s.
" is not valid`), "Unhandled Error")
	require.Contains(t, log.String(), "\t] Update 3 nodes status took 1s.\n")

	require.Empty(t, Attempts(log.String()))
	require.Equal(t, Start{}, StartOf(log.String()))
	require.Equal(t, Lookups{}, FirstLookups(log.String()))
	require.Equal(t, Lookups{}, LastLookups(log.String()))
}
