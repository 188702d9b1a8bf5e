package staticpod

import (
	"errors"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestThePodsImageIsThatOfThePayloadOrOfTheUser(t *testing.T) {
	for name, tc := range map[string]struct {
		observed string
		want     []string
	}{
		"the payload's":              {observed: `{"platform":"openstack"}`, want: []string{"registry/openstack"}},
		"the user's":                 {observed: `{"platform":"openstack","external":{"image":"registry/mine"}}`, want: []string{"registry/mine"}},
		"nothing runs":               {observed: `{"platform":"none"}`},
		"the platform is not known":  {observed: `{}`},
		"the user names no image":    {observed: `{"platform":"openstack","external":{}}`, want: []string{"registry/openstack"}},
		"the payload names no image": {observed: `{"platform":"azure"}`, want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			s := &starter{Options: Options{
				Operator: v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
					ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
				}}, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
				OperandImages: map[string]string{"openstack-cloud-controller-manager": "registry/openstack"},
				OnImage:       func(image string) error { told = append(told, image); return nil },
			}}
			require.NoError(t, s.sync(t.Context(), nil))
			require.NoError(t, s.sync(t.Context(), nil))
			require.Equal(t, tc.want, told, "told once")
			require.Equal(t, len(tc.want) > 0, s.started)
		})
	}
}

func TestAnotherImageIsToldToo(t *testing.T) {
	spec := &operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack","external":{"image":"registry/mine:1"}}`)},
	}}
	var told []string
	s := &starter{Options: Options{
		Operator: v1helpers.NewFakeStaticPodOperatorClient(spec, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
		OnImage:  func(image string) error { told = append(told, image); return nil },
	}}
	require.NoError(t, s.sync(t.Context(), nil))
	spec.ObservedConfig.Raw = []byte(`{"platform":"openstack","external":{"image":"registry/mine:2"}}`)
	require.NoError(t, s.sync(t.Context(), nil))
	require.Equal(t, []string{"registry/mine:1", "registry/mine:2"}, told)
}

func TestWithoutItsImageNothingStarts(t *testing.T) {
	s := &starter{Options: Options{
		Operator: v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
		}}, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
		OnImage: func(string) error { return errors.New("no environment") },
	}}
	require.EqualError(t, s.sync(t.Context(), nil), "no environment")
	require.False(t, s.started)
}
