package configobservation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
)

func TestWhetherTheObserversConfirm(t *testing.T) {
	infrastructure := func(platform configv1.PlatformType) *configv1.Infrastructure {
		return &configv1.Infrastructure{
			ObjectMeta: named,
			Spec:       configv1.InfrastructureSpec{CloudConfig: configv1.ConfigMapFileReference{Name: "cloud-provider-config", Key: "config"}},
			Status: configv1.InfrastructureStatus{
				InfrastructureName: "ci-x7k2p", APIServerInternalURL: "https://api-int:6443", PlatformStatus: &configv1.PlatformStatus{Type: platform},
			},
		}
	}
	custom := world{infrastructure: infrastructure(configv1.ExternalPlatformType), custom: &ccmv1.CustomCloudControllerManager{
		Image: "registry/acme:1", Probe: &ccmv1.CustomCloudControllerManagerProbe{Port: 9999},
	}}
	custom.infrastructure.Status.PlatformStatus.External = &configv1.ExternalPlatformStatus{
		CloudControllerManager: configv1.CloudControllerManagerStatus{State: configv1.CloudControllerManagerExternal},
	}
	openStack := world{infrastructure: infrastructure(configv1.OpenStackPlatformType)}
	for name, tc := range map[string]struct {
		world
		// now is what the cluster has become since it was observed, nil for no change.
		now      *world
		scribble func(string) string
		unsynced bool
		want     bool
	}{
		"what was observed":                   {world: openStack, want: true},
		"what was observed, numbers among it": {world: custom, want: true},
		"a value that somebody wrote":         {world: openStack, scribble: replaced("ci-x7k2p", "by-hand")},
		"a field that somebody added":         {world: openStack, scribble: replaced(`{"`, `{"trustedCA":"mine","`)},
		"a field that no observer knows":      {world: openStack, scribble: replaced(`{"`, `{"mine":"mine","`)},
		"another platform":                    {world: openStack, scribble: replaced(`"openstack"`, `"aws"`)},
		"an Infrastructure of another platform": {
			world: openStack, now: &world{infrastructure: infrastructure(configv1.AWSPlatformType)},
		},
		"an Infrastructure that has a new key": {
			world: openStack, now: &world{infrastructure: func() *configv1.Infrastructure {
				changed := infrastructure(configv1.OpenStackPlatformType)
				changed.Spec.CloudConfig.Key = "new"
				return changed
			}()},
		},
		"an Infrastructure that is gone": {world: openStack, now: &world{}, want: true},
		"listers that are not filled":    {world: openStack, unsynced: true},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Time{}))
			observed, err := configobservation.Observe(tc.listers(t), recorder, map[string]any{})
			require.NoError(t, err)
			raw, err := json.Marshal(observed)
			require.NoError(t, err)
			if tc.scribble != nil {
				before := string(raw)
				raw = []byte(tc.scribble(before))
				require.NotEqual(t, before, string(raw))
			}
			now := tc.world
			if tc.now != nil {
				now = *tc.now
			}
			listers := now.listers(t)
			listers.Informers = []factory.Informer{informer{synced: !tc.unsynced}}
			confirmed, err := configobservation.Confirm(listers)(&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: raw}})
			require.NoError(t, err)
			require.Equal(t, tc.want, confirmed)
		})
	}
}

func TestWhatIsNoConfigurationIsNotConfirmed(t *testing.T) {
	_, err := configobservation.Confirm(world{}.listers(t))(&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte("[")}})
	require.EqualError(t, err, "decoding spec.observedConfig of cloudcontrollermanager/cluster: unexpected end of JSON input")
}

func replaced(from, to string) func(string) string {
	return func(s string) string { return strings.Replace(s, from, to, 1) }
}

// informer is an informer without events.
type informer struct {
	factory.Informer
	synced bool
}

func (i informer) HasSynced() bool { return i.synced }
