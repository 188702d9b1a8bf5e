package leadership

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// remembering returns a controller that keeps what it sees in the file, and continues with what is there.
func remembering(t *testing.T, c *cluster, file string) *releasing {
	t.Helper()
	r := newReleasing()
	r.Memory = file
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	Recall(r.Lease, file)
	return r
}

// The operator is killed in second 5, after the leader has renewed the lease in second 0. The next process of its pod
// looks from second 20 on.
func TestTheNextProcessOfTheOperatorReleasesTheLeaseOfAProcessThatEndedMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *cluster)
		// looks is the second of its first look, 20 if it is 0.
		looks int
		// want is the second of the release, 0 if there is none.
		want int
	}{
		"the container was restarted": {
			change: func(c *cluster) { c.Exit("m0", 6, "panic"); c.Start("m0", 7) }, want: 20,
		},
		"the container was ended by a rollout": {
			change: func(c *cluster) {
				c.Exit("m0", 6, "")
				container := c.Container("m0")
				container.State, container.LastTerminationState = container.LastTerminationState, corev1.ContainerState{}
			},
			want: 20,
		},
		"the next revision's container runs":     {change: func(c *cluster) { c.Install("m0", 6) }, want: 25},
		"the container ended after a renewal":    {change: func(c *cluster) { c.Renew(9); c.Exit("m0", 11, "") }, want: 20},
		"the container was restarted twice":      {change: func(c *cluster) { c.Restart("m0", 6); c.Restart("m0", 9) }, want: 25},
		"the process runs":                       {change: func(*cluster) {}},
		"the process runs and renews":            {change: func(c *cluster) { c.Renew(18) }},
		"the pod is gone, and with it the proof": {change: func(c *cluster) { delete(c.Pods, "m0") }},
		"the lease was released": {
			change: func(c *cluster) { c.Exit("m0", 6, ""); c.Lease.Spec.HolderIdentity = ptr.To("") },
		},
		"another process acquired the lease": {
			change: func(c *cluster) {
				c.Exit("m0", 6, "")
				c.Acquire("m1", "b", 8)
				c.Lease.Spec.LeaseTransitions = ptr.To(int32(1))
			},
		},
		"the lease is one from before": {change: func(c *cluster) { c.Exit("m0", 6, ""); c.Renew(-26) }},
		"the operator was away for a moment less than the lease lasts": {
			change: func(c *cluster) { c.Restart("m0", 6) }, looks: 137, want: 137,
		},
		"the operator was away for as long as the lease lasts": {
			change: func(c *cluster) { c.Renew(100); c.Restart("m0", 101) }, looks: 138,
		},
		"the clock was set back": {change: func(c *cluster) { c.Restart("m0", 6) }, looks: -30},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "leader.json")
			c := threeMasters()
			c.Acquire("m0", "a", -60)
			remembering(t, c, file).witness(t, c)
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())

			tc.change(c)
			looks := tc.looks
			if looks == 0 {
				looks = 20
			}
			r := remembering(t, c, file)
			require.Equal(t, tc.want, r.untilReleased(t, c, looks, looks+40))
			if tc.want != 0 {
				require.NoFileExists(t, file)
			}
		})
	}
}

func TestTheNextProcessOfTheOperatorKnowsForHowLongTheHolderTookTheLease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leader.json")
	c := threeMasters()
	r := remembering(t, c, file)
	r.witness(t, c)
	c.Edit("m0_first", 3600)
	require.NoError(t, r.observe(t, c, 10))
	require.Equal(t, 1+137, remembering(t, c, file).untilReleased(t, c, 20, 600))
}

func TestANewOperatorWithoutAMemoryReleasesNothing(t *testing.T) {
	for name, content := range map[string]string{
		"there is none": "", "it is damaged": "{", "it has no lease": "{}",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "leader.json")
			if content != "" {
				require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			}
			c := threeMasters()
			c.Renew(0)
			c.Exit("m0", 6, "")
			require.Zero(t, remembering(t, c, file).untilReleased(t, c, 20, 60))
		})
	}
}

func TestAMemoryThatIsNoneOfALeaseIsAnError(t *testing.T) {
	l := &controlplane.Lease{}
	require.EqualError(t, l.Recall([]byte("{")), "decoding the memory of the lease: unexpected end of JSON input")
	require.EqualError(t, l.Recall([]byte("{}")), "decoding the memory of the lease: it has no lease")
}

// Only a process of ours that was seen to hold the lease is kept.
func TestNothingIsKeptOfAHolderThatMayNotBeOfThePresent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leader.json")
	c := threeMasters()
	r := remembering(t, c, file)
	require.NoError(t, r.observe(t, c, 1))
	require.NoFileExists(t, file)
	c.Renew(26)
	require.NoError(t, r.observe(t, c, 27))
	require.FileExists(t, file)
	c.Lease.Spec.HolderIdentity = ptr.To("")
	require.NoError(t, r.observe(t, c, 30))
	require.NoFileExists(t, file)
}

// The only process that can lead needs no memory.
func TestNothingIsKeptOnASingleNodeBeforeARenewal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leader.json")
	c := newCluster("m0")
	r := remembering(t, c, file)
	require.NoError(t, r.observe(t, c, 1))
	require.Equal(t, "m0_first", r.Lease.Record().Process.Identity)
	require.NoFileExists(t, file)
}

func TestALeaseIsNotReleasedBeforeTheMemoryOfItIsGone(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "leader.json")
	c := threeMasters()
	r := remembering(t, c, file)
	r.witness(t, c)
	// What is in its place cannot be removed.
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.MkdirAll(filepath.Join(file, "directory"), 0o700))
	c.Exit("m0", 5, "")
	require.EqualError(t, r.observe(t, c, 6),
		"forgetting the holder of lease/cloud-controller-manager: remove "+file+": directory not empty")
	require.Nil(t, r.released())
}
