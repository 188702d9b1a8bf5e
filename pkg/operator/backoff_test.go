package operator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// Random faults rarely show that the cap is missing: library-go's queue tries again 82, 164 and 328 seconds after the
// first failure and at each event, so an outage must end shortly after a try, and no event may follow.
func TestEveryControllerTriesAgainWithinAMinuteHoweverLongItFailed(t *testing.T) {
	o, cc := assemble(t, apitest.Start(t, addToScheme))
	w, err := newWiring(o, cc)
	require.NoError(t, err)
	for _, controller := range w.controllers() {
		assert.LessOrEqual(t, controllertest.Pause(controller), time.Minute, controller.Name())
	}
}
