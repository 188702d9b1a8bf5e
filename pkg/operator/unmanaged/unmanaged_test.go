package unmanaged

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
)

// countingVersions counts what wakes the status controller.
type countingVersions struct {
	status.VersionGetter
	set int
}

func (v *countingVersions) SetVersion(operand, version string) {
	v.set++
	v.VersionGetter.SetVersion(operand, version)
}

func TestSync(t *testing.T) {
	const reason = "PlatformWithoutCloudControllerManager"
	const message = "The platform that infrastructure.config.openshift.io/cluster names in status.platformStatus.type " +
		"needs no cloud-controller-manager of this operator"

	for name, tc := range map[string]struct {
		observed     string
		want         []operatorv1.OperatorCondition
		wantVersions map[string]string
		wantSet      int
	}{
		"on a platform without an operand it is available at its versions": {
			observed: `{"platform":"none"}`,
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "True", Reason: reason, Message: message},
				{Type: "CloudControllerManagerProgressing", Status: "False", Reason: reason, Message: message},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: reason, Message: message},
				{Type: "CloudControllerManagerUpgradeable", Status: "True", Reason: reason, Message: message},
			},
			wantVersions: map[string]string{"operator": "4.23.0", "cloud-controller-manager": "4.23.1"},
			wantSet:      2,
		},
		"where an operand is to run, versions are for those who see it run": {
			observed:     `{"platform":"openstack"}`,
			wantVersions: map[string]string{},
		},
		"while the platform is unknown nothing is claimed": {
			observed:     `{}`,
			wantVersions: map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
			}, &operatorv1.OperatorStatus{}, nil)
			versions := &countingVersions{VersionGetter: status.NewVersionGetter()}
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			c := New(Options{Operator: operator, Versions: versions, OperatorVersion: "4.23.0", OperandVersion: "4.23.1", Recorder: recorder})
			for range 2 {
				require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			}
			_, got, _, err := operator.GetOperatorState()
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Conditions)
			require.Equal(t, tc.wantVersions, versions.GetVersions())
			require.Equal(t, tc.wantSet, versions.set)
			require.Empty(t, recorder.Events())
		})
	}
}
