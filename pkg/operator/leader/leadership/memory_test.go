package leadership

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// remembering returns a controller that keeps what it sees in the file, and continues with what is there.
func remembering(t *testing.T, c *cluster, file string) *releasing {
	t.Helper()
	r := newReleasing()
	r.Memory = NewMemory(file)
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	r.Memory.Recall(r.Lease)
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

// The operator sees the renewal of second 0 in second 1, and its pod is replaced twice: each process counts on, but for
// the seconds in which none runs. Without its memory, the last one would count from its own first look.
func TestTheNextPodOfTheOperatorCountsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		// skew is how far the clock of the next pods' nodes is ahead.
		skew time.Duration
		// away is for how long no process runs between two pods.
		away int
		want int
	}{
		"the clocks agree":                       {away: 5, want: 1 + 137 + 2*5},
		"the clock of the next one is ahead":     {away: 5, skew: time.Minute, want: 1 + 137 + 2*5},
		"the clock of the next one is behind":    {away: 5, skew: -time.Minute, want: 1 + 137 + 2*5},
		"what was left is two minutes old":       {away: 120, want: 1 + 137 + 2*120},
		"what was left is older":                 {away: 121, want: 100 + 2*121 + 137},
		"what was left seems to be older":        {away: 5, skew: 116 * time.Second, want: 100 + 2*5 + 137},
		"what was left seems to be of to-morrow": {away: 5, skew: -24 * time.Hour, want: 100 + 2*5 + 137},
	} {
		t.Run(name, func(t *testing.T) {
			c := threeMasters()
			r := remembering(t, c, filepath.Join(t.TempDir(), "leader.json"))
			r.witness(t, c)
			second, skew := 50, time.Duration(0)
			for range 2 {
				left, err := r.Memory.Leave(at(second).Add(skew))
				require.NoError(t, err)
				second += tc.away
				skew += tc.skew
				file := filepath.Join(t.TempDir(), "leader.json")
				require.NoError(t, NewMemory(file).Take(left, at(second).Add(skew)))
				r = remembering(t, c, file)
				r.skew = skew
				require.NoError(t, r.observe(t, c, second))
				second += 50
			}
			require.Equal(t, tc.want, r.untilReleased(t, c, second-49, 600))
		})
	}
}

func TestWhatAProcessLeavesIsBounded(t *testing.T) {
	c := threeMasters()
	c.Lease.Annotations = map[string]string{"a-tenant": strings.Repeat("x", legacyLimit)}
	r := remembering(t, c, filepath.Join(t.TempDir(), "leader.json"))
	r.witness(t, c)
	left, err := r.Memory.Leave(at(10))
	require.ErrorContains(t, err, "leaving what was seen of the lease: it has ")
	require.ErrorContains(t, err, " bytes, and at most 8192 are left")
	require.Empty(t, left)
}

func TestAProcessThatHasSeenNothingLeavesNothing(t *testing.T) {
	c := threeMasters()
	file := filepath.Join(t.TempDir(), "leader.json")
	for _, m := range []*Memory{NewMemory(file), remembering(t, c, file).Memory} {
		left, err := m.Leave(at(10))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// It has seen a holder that the former process did not know.
func TestAProcessLeavesNothingThatItHasSeenEnd(t *testing.T) {
	c := threeMasters()
	r := remembering(t, c, filepath.Join(t.TempDir(), "leader.json"))
	r.witness(t, c)
	left, err := r.Memory.Leave(at(5))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "leader.json")
	require.NoError(t, NewMemory(file).Take(left, at(7)))
	r = remembering(t, c, file)
	c.Lease.Spec.HolderIdentity = ptr.To("")
	require.NoError(t, r.observe(t, c, 8))
	require.NoFileExists(t, file)
	left, err = r.Memory.Leave(at(9))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The clock of a machine that has just started is set while the operator watches, or has watched: what a process has
// seen has the reading of a clock that is never set, which JSON does not keep.
func TestAClockThatIsSetEndsNoLeaseEarlier(t *testing.T) {
	for name, tc := range map[string]struct {
		// before is by how much the clock is set before the first process leaves, and after once the second one has begun.
		before, after time.Duration
	}{
		"forward after":  {after: 90 * time.Second},
		"forward before": {before: 90 * time.Second},
		"back after":     {after: -90 * time.Second},
		"back before":    {before: -90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			began, second, set := time.Now(), 0, time.Duration(0)
			now := func() time.Time { return afterSetting(began.Add(time.Duration(second)*time.Second), set) }
			c := threeMasters()
			file := filepath.Join(t.TempDir(), "leader.json")
			r := remembering(t, c, file)
			look := func() {
				r.Lease.See(c.Lease, now())
				_, err := r.keepLease(t.Context(), r.controller.observe(c.ViewOf(r.Lease.Record(), now())))
				require.NoError(t, err)
			}
			c.Renew(-26)
			look()
			second = 1
			c.Renew(0)
			look()
			second, set = 20, tc.before
			left, err := r.Memory.Leave(now())
			require.NoError(t, err)
			file = filepath.Join(t.TempDir(), "leader.json")
			require.NoError(t, NewMemory(file).Take(left, now()))
			r = remembering(t, c, file)
			look()
			set += tc.after
			for ; r.released() == nil; second++ {
				look()
			}
			require.Equal(t, 1+137, second-1)
		})
	}
}

// afterSetting returns a time of a clock that was set forward by so many seconds. No function changes only one reading.
func afterSetting(t time.Time, by time.Duration) time.Time {
	*(*int64)(unsafe.Pointer(&t)) += int64(by/time.Second) << 30
	return t
}

func TestWhatTheFormerPodLeftDoesNotReplaceWhatThisPodHasSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leader.json")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	require.NoError(t, NewMemory(file).Take(`{"left": "2026-05-01T12:00:00Z"}`, at(0)))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "{}", string(content))
}

func TestWhatSomebodyElseWroteIntoTheLockIsNotTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leader.json")
	require.EqualError(t, NewMemory(file).Take("{", at(0)),
		"decoding what the former pod saw of the lease: unexpected end of JSON input")
	require.NoFileExists(t, file)
}

func TestAMemoryThatIsNoneOfALeaseIsAnError(t *testing.T) {
	l := &controlplane.Lease{}
	require.EqualError(t, l.Recall([]byte("{")), "decoding the memory of the lease: unexpected end of JSON input")
	require.EqualError(t, l.Recall([]byte("{}")), "decoding the memory of the lease: it has no lease")
	require.EqualError(t, l.Recall([]byte(`{"Lease": {}}`)), "decoding the memory of the lease: it has no lease")
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
