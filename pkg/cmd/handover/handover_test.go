package handover

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const leads, next = "master-0_first", "master-1_second"

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// testNode is a node's disk and the API server.
type testNode struct {
	*options
	kube     *fake.Clientset
	manifest string
	// refuses is set when nothing listens on the port.
	refuses bool
}

func leaseOf(holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.Lease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder)},
	}
}

// newNode returns master-0, whose process leads, or the standby on master-1.
func newNode(t *testing.T, node string) *testNode {
	t.Helper()
	root := t.TempDir()
	kube := fake.NewClientset(leaseOf(leads))
	n := &testNode{kube: kube, options: &options{
		holder: leads, limit: time.Minute,
		Pod: nodepod.Pod{
			Node: node, Name: "handover-" + node, Client: kube, TerminationLog: filepath.Join(root, "termination-log"),
			ResourceDir: filepath.Join(root, "resources"), PodManifestDir: filepath.Join(root, "manifests"),
		},
		after: func(time.Duration) <-chan time.Time { ended := make(chan time.Time); close(ended); return ended },
	}}
	if node == "master-0" {
		n.successor, n.port = "master-1", 10258
		n.addMirrorPod(t, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
	n.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		if address != "127.0.0.1:10258" || n.refuses {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		connection, _ := net.Pipe()
		return connection, nil
	}
	n.manifest = filepath.Join(n.PodManifestDir, operand.ManifestFile)
	require.NoError(t, nodefiles.ReplaceFile(n.manifest, []byte("pod")))
	return n
}

// addMirrorPod sets the mirror pod of the node.
func (n *testNode) addMirrorPod(t *testing.T, state corev1.ContainerState) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "cloud-controller-manager-" + n.Node},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "file-syncer", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			{Name: "cloud-controller-manager", State: state},
		}},
	}
	_ = n.kube.Tracker().Delete(pods, operand.Namespace, pod.Name)
	require.NoError(t, n.kube.Tracker().Add(pod))
}

// releases returns how often the lease was written, and requires that it was released.
func (n *testNode) releases(t *testing.T) (count int) {
	t.Helper()
	for _, action := range n.kube.Actions() {
		if update, ok := action.(clienttesting.UpdateAction); ok && action.Matches("update", "leases") {
			require.Empty(t, *update.GetObject().(*coordinationv1.Lease).Spec.HolderIdentity)
			count++
		}
	}
	return count
}

// whenAway changes the lease to each holder in turn, once the manifest is away and the former one was read.
func (n *testNode) whenAway(t *testing.T, holders ...string) {
	t.Helper()
	n.kube.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if n.isAway() && len(holders) > 0 {
			require.NoError(t, n.kube.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"),
				leaseOf(holders[0]), operand.Namespace))
			holders = holders[1:]
		}
		return false, nil, nil
	})
	t.Cleanup(func() { require.Empty(t, holders, "holders that nobody saw") })
}

func (n *testNode) isAway() bool {
	_, err := os.Stat(n.manifest)
	return err != nil
}

// requireBack checks that the manifest is as before, and that nothing is left beside it.
func (n *testNode) requireBack(t *testing.T) {
	t.Helper()
	require.True(t, nodefiles.Holds(n.manifest, []byte("pod")))
	entries, err := os.ReadDir(n.PodManifestDir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func (n *testNode) events(t *testing.T) []string {
	t.Helper()
	list, err := n.kube.CoreV1().Events(operand.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var found []string
	for _, event := range list.Items {
		found = append(found, event.Reason+": "+event.Message)
	}
	return found
}

func TestTheSuccessorStartsAgainWhenTheLeaseIsFree(t *testing.T) {
	n := newNode(t, "master-1")
	n.whenAway(t, leads, "")
	require.NoError(t, n.run(t.Context()))
	n.requireBack(t)
	require.Empty(t, n.events(t), "the other node tells it")
}

func TestTheSuccessorStartsAgainWhenAnotherStandbyWasFirst(t *testing.T) {
	n := newNode(t, "master-1")
	n.whenAway(t, "master-2_third")
	require.NoError(t, n.run(t.Context()))
	n.requireBack(t)
}

func TestTheFormerLeaderStartsAgainWhenAnotherProcessLeads(t *testing.T) {
	n := newNode(t, "master-0")
	n.whenAway(t, leads, "", "", next)
	require.NoError(t, n.run(t.Context()))
	n.requireBack(t)
	require.Equal(t, []string{"LeadMoved: master-1_second leads instead of master-0_first"}, n.events(t))
}

func TestTheLeaseIsReleasedWhenTheStaticPodHasEnded(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for name, tc := range map[string]struct {
		change func(t *testing.T, n *testNode)
		want   int
	}{
		"the kubelet reports its end, and the port is free": {
			change: func(t *testing.T, n *testNode) { n.addMirrorPod(t, ended); n.refuses = true }, want: 1,
		},
		"the kubelet has deleted the mirror pod, and the port is free": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, n.kube.Tracker().Delete(pods, operand.Namespace, "cloud-controller-manager-master-0"))
				n.refuses = true
			}, want: 1,
		},
		"a kubelet that was restarted deletes the mirror pod, and the process still has the port": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, n.kube.Tracker().Delete(pods, operand.Namespace, "cloud-controller-manager-master-0"))
			},
		},
		"the process has closed its port and runs": {
			change: func(t *testing.T, n *testNode) { n.addMirrorPod(t, running); n.refuses = true },
		},
		"the port does not answer": {
			change: func(t *testing.T, n *testNode) {
				n.addMirrorPod(t, ended)
				n.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, os.ErrDeadlineExceeded }
			},
		},
		"the mirror pod cannot be read": {
			change: func(_ *testing.T, n *testNode) {
				n.refuses = true
				n.kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, context.DeadlineExceeded
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "master-0")
			n.limit = 700 * time.Millisecond
			changed := false
			n.kube.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				if n.isAway() && !changed {
					changed = true
					tc.change(t, n)
				}
				return false, nil, nil
			})
			_, err := n.handOver(t.Context())
			require.Error(t, err)
			require.Equal(t, tc.want, n.releases(t))
			n.requireBack(t)
		})
	}
}

func TestALeaseThatCannotBeReleasedIsTriedAgain(t *testing.T) {
	n := newNode(t, "master-0")
	tries := 0
	n.kube.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		tries++
		return tries == 1, nil, context.DeadlineExceeded
	})
	n.kube.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if n.isAway() {
			n.refuses = true
			_ = n.kube.Tracker().Delete(pods, operand.Namespace, "cloud-controller-manager-master-0")
		}
		if tries == 2 {
			return true, leaseOf(next), nil
		}
		return false, nil, nil
	})
	got, err := n.handOver(t.Context())
	require.NoError(t, err)
	require.Equal(t, next, got)
	require.Equal(t, 2, tries)
}

func TestTheManifestComesBackAfterItsLimit(t *testing.T) {
	for node, tc := range map[string]struct {
		holders []string
		want    string
	}{
		"master-0": {
			[]string{""},
			`nobody has taken lease/cloud-controller-manager within 500ms`,
		},
		"master-1": {
			nil,
			`"master-0_first" still holds lease/cloud-controller-manager after 500ms`,
		},
	} {
		t.Run(node, func(t *testing.T) {
			n := newNode(t, node)
			n.limit = 500 * time.Millisecond
			n.whenAway(t, tc.holders...)
			require.EqualError(t, n.run(t.Context()), tc.want)
			n.requireBack(t)
			require.Equal(t, []string{"LeadNotMoved: Moving the lead away from master-0_first: " + tc.want}, n.events(t))
		})
	}
}

func TestTheManifestComesBackFromAnAPIServerThatIsGone(t *testing.T) {
	n := newNode(t, "master-0")
	n.limit = 500 * time.Millisecond
	n.kube.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if n.isAway() {
			return true, nil, context.DeadlineExceeded
		}
		return false, nil, nil
	})
	require.ErrorContains(t, n.run(t.Context()), "whether the lead has moved is not known after 500ms: ")
	n.requireBack(t)
}

func TestTheLeaderDoesNotEndBeforeTheSuccessorWaits(t *testing.T) {
	n := newNode(t, "master-0")
	require.NoError(t, n.kube.Tracker().Add(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "cloud-controller-manager-master-1"},
	}))
	reads := 0
	n.kube.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.GetAction).GetName() != "cloud-controller-manager-master-1" {
			return false, nil, nil
		}
		require.False(t, n.isAway())
		reads++
		if reads == 3 {
			require.NoError(t, n.kube.Tracker().Delete(pods, operand.Namespace, "cloud-controller-manager-master-1"))
		}
		return false, nil, nil
	})
	cleanedUp := false
	n.after = func(d time.Duration) <-chan time.Time {
		require.Equal(t, time.Second, d)
		require.False(t, n.isAway())
		cleanedUp = true
		return time.After(0)
	}
	n.whenAway(t, next)
	require.NoError(t, n.run(t.Context()))
	require.True(t, cleanedUp)
	n.requireBack(t)
}

func TestASuccessorThatDoesNotEndIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"it runs": {want: "pod/cloud-controller-manager-master-1 has not ended within 30s, so its node is not ready to lead"},
		"it cannot be read": {
			errors.New("the server is busy"), "whether pod/cloud-controller-manager-master-1 has ended within 30s is not known: the server is busy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "master-0")
			n.kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &corev1.Pod{}, tc.err })
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			require.EqualError(t, n.awaitSuccessor(ctx), tc.want)
		})
	}
}

func TestNothingIsTakenAwayIf(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, n *testNode)
		want   string
	}{
		"another process leads already": {
			change: func(_ *testing.T, n *testNode) { n.holder = "master-0_former" },
			want:   `the holder of lease/cloud-controller-manager is "master-0_first"`,
		},
		"nobody leads": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, n.kube.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), leaseOf(""),
					operand.Namespace))
			},
			want: `nobody holds lease/cloud-controller-manager`,
		},
		"the lease cannot be read": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, n.kube.Tracker().Delete(coordinationv1.SchemeGroupVersion.WithResource("leases"),
					operand.Namespace, operand.Lease))
			},
			want: `reading lease/cloud-controller-manager in openshift-cloud-controller-manager: ` +
				`leases.coordination.k8s.io "cloud-controller-manager" not found`,
		},
		"the leader listens on no port, so its end could not be proven": {
			change: func(_ *testing.T, n *testNode) { n.successor, n.refuses = "master-2", true },
			want: "the cloud-controller-manager does not listen on its port: dial: connect: connection refused\n" +
				"dial: connect: connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "master-1")
			tc.change(t, n)
			_, err := n.handOver(t.Context())
			require.EqualError(t, err, tc.want)
			n.requireBack(t)
		})
	}
}

func TestAnInstallerAtWorkGoesFirst(t *testing.T) {
	n := newNode(t, "master-1")
	unlock, err := nodefiles.Lock(t.Context(), filepath.Join(n.ResourceDir, ".cloud-controller-manager-pod.lock"))
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = n.handOver(ctx)
	require.ErrorContains(t, err, "another installer or removal may be at work on this node")
	n.requireBack(t)
}

func TestANodeWithoutAStaticPodIsAnError(t *testing.T) {
	n := newNode(t, "master-1")
	require.NoError(t, os.Remove(n.manifest))
	_, err := n.handOver(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, n.isAway())
}

func TestFlagsAreRequired(t *testing.T) {
	command := NewCommand()
	command.SetArgs([]string{"--successor=master-1"})
	require.EqualError(t, command.Execute(), `required flag(s) "holder", "pod-manifest-dir", "resource-dir" not set`)
}

// A single node has no standby: its own next process leads.
func TestTheOnlyNodeStartsAgainWhenTheLeaseIsFree(t *testing.T) {
	n := newNode(t, "master-0")
	n.successor, n.refuses = "master-0", false
	n.addMirrorPod(t, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	n.kube.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		n.refuses = n.isAway()
		return false, nil, nil
	})
	require.NoError(t, n.run(t.Context()))
	n.requireBack(t)
	require.Equal(t, 1, n.releases(t))
	require.Equal(t, []string{"LeadMoved: master-0_first has ended, and the next process of this node leads"}, n.events(t))
}

// A process that leads for the first time with what a revision changes may end at once. The process of this node then
// starts, and asks for the lease before the other standbys.
func TestTheFormerLeaderStaysAwayWhileTheNextOneProvesItself(t *testing.T) {
	for name, tc := range map[string]struct {
		holders []string
		events  int
	}{
		"it leads":        {[]string{next}, 1},
		"it loses it":     {[]string{next, ""}, 0},
		"another one has": {[]string{next, "master-2_third"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "master-0")
			n.stayAway = time.Second
			if len(tc.holders) > 1 {
				n.stayAway = time.Minute
			}
			n.whenAway(t, tc.holders...)
			began := time.Now()
			require.NoError(t, n.run(t.Context()))
			n.requireBack(t)
			require.Len(t, n.events(t), tc.events)
			require.Equal(t, len(tc.holders) == 1, time.Since(began) >= n.stayAway)
		})
	}
}
