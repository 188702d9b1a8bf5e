package ondemand

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// started counts the starts.
type started struct{ times int }

func (s *started) Start(<-chan struct{}) { s.times++ }

func TestOnlyWhatThePlatformNeedsIsStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		observed          string
		everywhere, there int
	}{
		"a platform that needs both":     {observed: `{"platform":"openstack"}`, everywhere: 1, there: 1},
		"a platform that needs one":      {observed: `{"platform":"none"}`, everywhere: 1},
		"no platform has been seen yet":  {observed: `{}`},
		"there is no configuration yet ": {},
	} {
		t.Run(name, func(t *testing.T) {
			var everywhere, there started
			c := &controller{
				operator: v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
					ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
				}, &operatorv1.OperatorStatus{}, nil),
				demands: []Demand{
					{Informers: &everywhere, Needed: func(platform.Platform) bool { return true }},
					{Informers: &there, Needed: func(p platform.Platform) bool { return p.Name == "openstack" }},
				},
			}
			require.NoError(t, c.sync(t.Context(), nil))
			require.Equal(t, tc.everywhere, everywhere.times)
			require.Equal(t, tc.there, there.times)
		})
	}
}

func TestNobodyWaitsForAnInformerThatMayNeverStart(t *testing.T) {
	informer := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Apps().V1().DaemonSets().Informer()
	require.False(t, informer.HasSynced())
	require.True(t, Informer{informer}.HasSynced())
}
