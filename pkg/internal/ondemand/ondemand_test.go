package ondemand

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// started counts calls of Start.
type started struct{ times int }

func (s *started) Start(<-chan struct{}) { s.times++ }

func TestOnlyWhatThePlatformNeedsIsStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		observed                 string
		everywhere, there, gated int
	}{
		"a platform that needs both":     {observed: `{"platform":"openstack"}`, everywhere: 1, there: 1},
		"a platform that needs one":      {observed: `{"platform":"none"}`, everywhere: 1},
		"an enabled feature gate":        {observed: `{"platform":"none","cluster":{"featureGates":["Gate"]}}`, everywhere: 1, gated: 1},
		"another feature gate":           {observed: `{"platform":"none","cluster":{"featureGates":["Gates"]}}`, everywhere: 1},
		"a gate without a platform":      {observed: `{"cluster":{"featureGates":["Gate"]}}`},
		"no platform has been seen yet":  {observed: `{}`},
		"there is no configuration yet ": {},
	} {
		t.Run(name, func(t *testing.T) {
			var everywhere, there, gated started
			c := &controller{
				operator: v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
					ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
				}, &operatorv1.OperatorStatus{}, nil),
				demands: []Demand{
					{Informers: &everywhere, Needed: func(platform.Platform) bool { return true }},
					{Informers: &there, Needed: func(p platform.Platform) bool { return p.Name == "openstack" }},
					{Informers: &gated, Needed: func(platform.Platform) bool { return true }, FeatureGate: "Gate"},
				},
			}
			require.NoError(t, c.sync(t.Context(), nil))
			require.Equal(t, tc.everywhere, everywhere.times)
			require.Equal(t, tc.there, there.times)
			require.Equal(t, tc.gated, gated.times)
		})
	}
}

func TestInformersStartWhileARemovalCleansTheNodes(t *testing.T) {
	for step, want := range map[string]int{"RemovingStaticPods": 1, "RemovingObjects": 0, "Removed": 0} {
		var there started
		c := &controller{
			operator: v1helpers.NewFakeOperatorClient(
				&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)}},
				&operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: step}}},
				nil,
			),
			demands: []Demand{{Informers: &there, Needed: platform.Platform.Managed}},
		}
		require.NoError(t, c.sync(t.Context(), nil))
		require.Equal(t, want, there.times, step)
	}
}

func TestNobodyWaitsForAnInformerThatMayNeverStart(t *testing.T) {
	informer := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Apps().V1().DaemonSets().Informer()
	require.False(t, informer.HasSynced())
	require.True(t, Informer{informer}.HasSynced())
}

func TestEverythingButTheStatusChangesTheSpec(t *testing.T) {
	old := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "d", UID: "u", ResourceVersion: "1", Generation: 1, Labels: map[string]string{"a": "b"},
	}}
	for name, tc := range map[string]struct {
		change func(*appsv1.DaemonSet)
		want   bool
	}{
		"its status":     {change: func(d *appsv1.DaemonSet) { d.Status.NumberReady = 1 }},
		"a resync":       {change: func(d *appsv1.DaemonSet) { d.ResourceVersion = "1" }, want: true},
		"its spec":       {change: func(d *appsv1.DaemonSet) { d.Generation = 2 }, want: true},
		"its labels":     {change: func(d *appsv1.DaemonSet) { d.Labels = nil }, want: true},
		"an annotation":  {change: func(d *appsv1.DaemonSet) { d.Annotations = map[string]string{"x": "y"} }, want: true},
		"its deletion":   {change: func(d *appsv1.DaemonSet) { d.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, want: true},
		"another object": {change: func(d *appsv1.DaemonSet) { d.UID = "v" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			updated := old.DeepCopy()
			updated.ResourceVersion = "2"
			tc.change(updated)
			require.Equal(t, tc.want, ChangesSpec(old, updated))
		})
	}
}
