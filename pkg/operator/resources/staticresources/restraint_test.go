package staticresources

import (
	"errors"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// fail makes the fake API return an error for a verb on a resource while failing is true.
func (w *world) fail(verb, resource string) (failing *bool) {
	failing = new(bool)
	*failing = true
	w.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return *failing, nil, errors.New("forbidden")
	})
	return failing
}

func (w *world) syncError(t *testing.T) error {
	t.Helper()
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	return w.sync(t.Context(), factory.NewSyncContext("test", recorder))
}

func TestNoRightIsGrantedWithoutItsRestraint(t *testing.T) {
	const operand = "system:openshift:cloud-controller-manager:operand"
	const nodeManager = "system:openshift:cloud-controller-manager:node-manager"
	for name, tc := range map[string]struct{ verb, want string }{
		"a policy binding that cannot be created": {
			"create", "validatingadmissionpolicybinding/openshift-cloud-controller-manager-node-manager: forbidden",
		},
		"a policy binding that cannot be read": {
			"get", "validatingadmissionpolicybinding/openshift-cloud-controller-manager-node-manager: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(`{"platform":"azure"}`)
			failing := w.fail(tc.verb, "validatingadmissionpolicybindings")
			err := w.syncError(t)
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "roles are not bound until every admission policy is bound")
			for _, action := range w.client.Actions() {
				require.NotContains(t, []string{"clusterrolebindings", "rolebindings"}, action.GetResource().Resource)
			}
			_, err = w.client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
			require.NoError(t, err, "what grants nothing is applied")

			*failing = false
			require.NoError(t, w.syncError(t))
			for _, binding := range []string{operand, nodeManager} {
				_, err := w.client.RbacV1().ClusterRoleBindings().Get(t.Context(), binding, metav1.GetOptions{})
				require.NoError(t, err)
			}
		})
	}
}

func TestARestraintOutlivesTheRightThatItRestrains(t *testing.T) {
	w := newWorld(`{"platform":"openstack"}`, leftBehind(true)...)
	w.see(t, leftBehind(true))
	failing := w.fail("delete", "clusterrolebindings")
	require.EqualError(t, w.syncError(t), "removing what platform openstack does not use: "+
		"deleting clusterrolebinding/system:openshift:cloud-controller-manager:node-manager: forbidden")
	policies := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err := policies.Get(t.Context(), "openshift-cloud-controller-manager-node-manager", metav1.GetOptions{})
	require.NoError(t, err, "the policy is bound while the role is")

	*failing = false
	require.NoError(t, w.syncError(t))
	_, err = policies.Get(t.Context(), "openshift-cloud-controller-manager-node-manager", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}
