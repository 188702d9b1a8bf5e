package operatorclient_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

type getting func(name string) (*corev1.Node, error)

func (g getting) Get(name string) (*corev1.Node, error) { return g(name) }

func TestTheErrorOfAReadNamesTheNamespaceIfThereIsOne(t *testing.T) {
	cause := errors.New("no cache")
	failing := getting(func(string) (*corev1.Node, error) { return nil, cause })
	for namespace, want := range map[string]string{
		"kube-system": "reading node/master-0 in kube-system: no cache",
		"":            "reading node/master-0: no cache",
	} {
		_, err := operatorclient.Find(failing, "node", namespace, "master-0")
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, cause)
	}
}

func TestADeletionHasNothingToDoIf(t *testing.T) {
	gone := apierrors.NewNotFound(corev1.Resource("pods"), "a")
	differs := apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("the UID in the precondition differs"))
	precondition := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("1")}
	for name, tc := range map[string]struct {
		err     error
		options metav1.DeleteOptions
		want    string
	}{
		"the object does not exist": {err: gone},
		"the object was replaced":   {err: differs, options: precondition},
		"but not if it conflicts without a precondition": {
			err:  differs,
			want: `deleting pod/a in b: Operation cannot be fulfilled on pods "a": the UID in the precondition differs`,
		},
		"but not if it is forbidden": {
			err: errors.New("forbidden"), options: precondition, want: "deleting pod/a in b: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			remove := func(_ context.Context, name string, options metav1.DeleteOptions) error {
				require.Equal(t, "a", name)
				require.Equal(t, tc.options, options)
				return tc.err
			}
			err := operatorclient.Delete(t.Context(), remove, "pod", "b", "a", tc.options)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
		})
	}
}
