package observedplatform

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		observed    string
		wantName    string
		wantKnown   bool
		wantManaged bool
		wantErr     string
	}{
		"nothing observed yet is not known":             {},
		"an observation without a platform is no other": {observed: `{"infrastructureName":"ci-1"}`},
		"OpenStack is managed":                          {observed: `{"platform":"openstack"}`, wantName: "openstack", wantKnown: true, wantManaged: true},
		"None is known and unmanaged":                   {observed: `{"platform":"none"}`, wantName: "none", wantKnown: true},
		"a platform of a newer version is an error": {
			observed: `{"platform":"atlantis"}`,
			wantErr: `spec.observedConfig of cloudcontrollermanager/cluster names the platform "atlantis", which this operator version ` +
				`does not support; remove the field to observe the platform again`,
		},
		"a platform that is no text is an error": {
			observed: `{"platform":7}`,
			wantErr:  `decoding spec.observedConfig of cloudcontrollermanager/cluster: .platform accessor error: 7 is of the type float64, expected string`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)}}
			got, known, err := Of(spec)
			if tc.wantErr != "" {
				require.EqualError(t, err, tc.wantErr)
				require.False(t, known)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.wantKnown, known)
			require.Equal(t, tc.wantName, got.Name)

			managed, known, err := Managed(v1helpers.NewFakeOperatorClient(spec, &operatorv1.OperatorStatus{}, nil))
			require.NoError(t, err)
			require.Equal(t, tc.wantKnown, known)
			require.Equal(t, tc.wantManaged, managed)
		})
	}
}

func TestARemovalMakesThePlatformUnmanaged(t *testing.T) {
	for name, tc := range map[string]struct {
		observed    string
		status      operatorv1.ConditionStatus
		reason      Removal
		want        string
		wantForPods string
	}{
		"no removal":              {observed: `{"platform":"openstack"}`, want: "openstack", wantForPods: "openstack"},
		"one that has to wait":    {observed: `{"platform":"openstack"}`, status: "False", reason: "Blocked", want: "openstack", wantForPods: "openstack"},
		"one of the static pods":  {observed: `{"platform":"openstack"}`, status: "True", reason: RemovingStaticPods, want: "none", wantForPods: "openstack"},
		"one of the objects":      {observed: `{"platform":"openstack"}`, status: "True", reason: RemovingObjects, want: "none", wantForPods: "none"},
		"one that is complete":    {observed: `{"platform":"openstack"}`, status: "True", reason: Removed, want: "none", wantForPods: "none"},
		"one that is taken back":  {observed: `{"platform":"openstack"}`, status: "True", reason: Restoring, want: "none", wantForPods: "none"},
		"a platform without CCM":  {observed: `{"platform":"none"}`, status: "True", reason: Removed, want: "none", wantForPods: "none"},
		"an unknown one stays so": {observed: `{}`, status: "True", reason: RemovingStaticPods},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)}}
			status := &operatorv1.OperatorStatus{}
			if tc.status != "" {
				status.Conditions = []operatorv1.OperatorCondition{{Type: RemovingCondition, Status: tc.status, Reason: string(tc.reason)}}
			}
			client := v1helpers.NewFakeOperatorClient(spec, status, nil)
			got, known, err := Get(client)
			require.NoError(t, err)
			require.Equal(t, tc.want != "", known)
			require.Equal(t, tc.want, got.Name)
			got, known, err = OfNodePods(client)
			require.NoError(t, err)
			require.Equal(t, tc.wantForPods != "", known)
			require.Equal(t, tc.wantForPods, got.Name)
			managed, _, err := Managed(client)
			require.NoError(t, err)
			require.Equal(t, tc.want == "openstack", managed)
		})
	}
}
