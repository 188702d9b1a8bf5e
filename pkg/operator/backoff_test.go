package operator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// TestAControllerThatFailedForLongTriesAgainWithinHalfAMinute is about the cap. No fault that is drawn shows its absence
// for sure: library-go's queue tries again 82, 164 and 328 seconds after the first failure, and at each event of an
// informer, so that the outage must end shortly after a try, and nothing may happen then.
func TestEveryControllerTriesAgainWithinAMinuteHoweverLongItFailed(t *testing.T) {
	o, cc := assemble(t, apitest.Start(t, addToScheme))
	w, err := newWiring(o, cc)
	require.NoError(t, err)
	for _, controller := range w.controllers() {
		assert.LessOrEqual(t, controllertest.Pause(controller), time.Minute, controller.Name())
	}
}
