package targetconfigcontroller

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// others has a value of each exported field of the inputs.
func others() operand.Inputs {
	return operand.Inputs{
		Version: "4.99.1", Phase: operand.Phase{Name: "a", Files: &operand.FileLayout{Prefix: "a"}},
		Platform: platform.Platform{Name: "a", Rewrite: func(clouds.Source) clouds.Result { return clouds.Result{} }},
		Config:   []byte("a"), Overrides: []byte("a"), Images: operand.Images{Operand: "a"},
		CloudConfig: operand.CloudConfig{Keys: map[string][]byte{"a": []byte("a")}},
		Credentials: operand.Credentials{Data: map[string][]byte{"a": []byte("a")}},
		Custom:      customccm.Secrets{ReadOnce: map[string][]byte{"a": []byte("a")}}, Trust: []operand.TrustSource{{Data: []byte("a")}},
		Identity: &operand.Identity{CABundle: []byte("a")}, ForceRedeploymentReason: "a", First: true,
		Kept: map[string]string{"a": "a"}, Policy: diagnostic.Strict,
		AcceptedWarnings: []diagnostic.Diagnostic{{Message: "a"}}, Former: &operand.Former{Image: true},
	}
}

// counted counts its renderings, and returns their number.
type counted struct {
	renderings int
	err        error
}

func (c *counted) render(operand.Inputs) (int, error) {
	c.renderings++
	return c.renderings, c.err
}

func TestARenderingIsRepeatedForOtherInputsOnly(t *testing.T) {
	var m memo[int]
	c := &counted{}
	of := func(in operand.Inputs) int {
		result, err := m.of(in, c.render)
		require.NoError(t, err)
		return result
	}
	require.Equal(t, 1, of(others()))
	require.Equal(t, 1, of(others()))
	all := reflect.TypeFor[operand.Inputs]()
	for i := range all.NumField() {
		if !all.Field(i).IsExported() {
			continue
		}
		changed := others()
		field := reflect.ValueOf(&changed).Elem().Field(i)
		require.False(t, field.IsZero(), "others has no %s", all.Field(i).Name)
		field.SetZero()
		before := of(others())
		require.Equal(t, before+1, of(changed), all.Field(i).Name)
	}
}

func TestARejectionIsRenderedAgain(t *testing.T) {
	var m memo[int]
	c := &counted{err: errors.New("rejected")}
	for range 2 {
		_, err := m.of(others(), c.render)
		require.EqualError(t, err, "rejected")
	}
	require.Equal(t, 2, c.renderings)
}

func TestAKeptRenderingIsNotChangedByItsReader(t *testing.T) {
	named := func(name string) *operand.Resources {
		meta := metav1.ObjectMeta{Name: name}
		return &operand.Resources{
			Pod: &corev1.Pod{ObjectMeta: meta}, NodeManager: &appsv1.DaemonSet{ObjectMeta: meta},
			NodeManagerConfig: &corev1.Secret{ObjectMeta: meta}, ConfigMaps: []*corev1.ConfigMap{{ObjectMeta: meta}},
			Secrets: []*corev1.Secret{{ObjectMeta: meta}}, Warnings: []diagnostic.Diagnostic{{Message: name}},
		}
	}
	kept := named("kept")
	c := &controller{lastRendered: memo[*operand.Resources]{others(), kept, true}}
	own, err := c.rendered(others())
	require.NoError(t, err)
	require.Equal(t, kept, own)
	for _, object := range []metav1.Object{
		own.Pod, own.NodeManager, own.NodeManagerConfig, own.ConfigMaps[0], own.Secrets[0],
	} {
		object.SetName("changed")
	}
	own.Warnings[0].Message = "changed"
	require.Equal(t, named("kept"), kept)
}
