package operatorclient_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

type listing func(labels.Selector) ([]*corev1.Node, error)

func (l listing) List(selector labels.Selector) ([]*corev1.Node, error) { return l(selector) }

func TestAListOfAllObjectsHasEachAndItsErrorNamesThem(t *testing.T) {
	nodes := []*corev1.Node{{}, {}}
	all, err := operatorclient.All(listing(func(selector labels.Selector) ([]*corev1.Node, error) {
		require.True(t, selector.Empty(), selector)
		return nodes, nil
	}), "nodes")
	require.NoError(t, err)
	require.Equal(t, nodes, all)

	cause := errors.New("no cache")
	_, err = operatorclient.All(listing(func(labels.Selector) ([]*corev1.Node, error) { return nil, cause }), "nodes")
	require.EqualError(t, err, "listing nodes: no cache")
	require.ErrorIs(t, err, cause)
}
