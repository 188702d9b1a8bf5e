package leadership

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// Without its lease, the holder acts until 133 seconds after its last renewal, and a standby would begin at once.
func TestADeletedLeaseIsRestored(t *testing.T) {
	for name, tc := range map[string]struct {
		// unseen says that the operator has not seen a renewal.
		unseen bool
		change func(c *cluster)
		second int
		// want is the holder that is restored, "" if there is none.
		want string
	}{
		"while a process holds it":           {second: 10, want: "m0_a"},
		"while a frozen process holds it":    {second: 130, want: "m0_a"},
		"while the holder's pod is gone":     {second: 10, change: func(c *cluster) { delete(c.Pods, "m0") }, want: "m0_a"},
		"after it has expired":               {second: 140},
		"after it was released":              {second: 10, change: func(c *cluster) { *c.Lease.Spec.HolderIdentity = "" }},
		"after its holder has ended":         {second: 10, change: func(c *cluster) { c.Restart("m0", 5) }},
		"that nobody has renewed since then": {second: 10, unseen: true},
		"while another process of ours holds it, which has not renewed it": {
			second: 10, change: func(c *cluster) { c.Acquire("m1", "b", 5) }, want: "m1_b",
		},
		"while the predecessor holds it": {second: 10, change: func(c *cluster) {
			c.Acquire("laptop", "b", 5)
			c.Predecessor("laptop")
		}, want: "laptop_b"},
		// Everybody would delete a lease with such a holder.
		"with a name that a person wrote, while ours may act": {
			second: 100, change: func(c *cluster) { c.Edit("intruder", 3600) }, want: "m0_a",
		},
		"with a name that a person wrote, when ours does not": {
			second: 140, change: func(c *cluster) { c.Edit("intruder", 3600) },
		},
		"with a name that a person wrote, after ours has ended": {second: 100, change: func(c *cluster) {
			c.Edit("intruder", 3600)
			c.Restart("m0", 90)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			c.Acquire("m0", "a", -60)
			if tc.unseen {
				require.NoError(t, r.observe(t, c, 1))
			} else {
				r.witness(t, c)
			}
			want := map[string]coordinationv1.LeaseSpec{"m0_a": c.Lease.Spec}
			if tc.change != nil {
				c.Lease = c.Lease.DeepCopy()
				tc.change(c)
				// No sync follows this event before the next one.
				r.Lease.See(c.Lease, at(2))
				want[*c.Lease.Spec.HolderIdentity] = c.Lease.Spec
			}
			c.Lease = nil
			for range 2 {
				require.NoError(t, r.observe(t, c, tc.second), "an existing one stays")
			}
			restored, err := r.kube.CoordinationV1().Leases("openshift-cloud-controller-manager").
				Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
			if tc.want == "" {
				require.True(t, apierrors.IsNotFound(err), "%v", err)
				require.Empty(t, r.recorder.Events())
				return
			}
			require.NoError(t, err)
			require.Equal(t, want[tc.want], restored.Spec)
			require.Len(t, r.recorder.Events(), 1)
			require.Equal(
				t,
				"LeaseRestored: lease/cloud-controller-manager in openshift-cloud-controller-manager was deleted while "+tc.want+
					" held it, and is restored: without it, another cloud-controller-manager would act beside that one",
				r.recorder.Events()[0].Reason+": "+r.recorder.Events()[0].Message,
			)
		})
	}
}

func TestALeaseThatCannotBeRestoredIsAnError(t *testing.T) {
	r := newReleasing()
	r.kube.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no answer")
	})
	c := threeMasters()
	c.Acquire("m0", "a", -60)
	r.witness(t, c)
	c.Lease = nil
	require.EqualError(t, r.observe(t, c, 10),
		"restoring lease/cloud-controller-manager in openshift-cloud-controller-manager: no answer")
}
