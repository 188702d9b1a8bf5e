package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

const (
	// longReboot is how long a machine with much hardware takes to start.
	longReboot = 5 * time.Minute
	// newKeyLimit is how long the leader may run with credentials that the cloud rejects, while another node is away.
	newKeyLimit = 2 * time.Minute
	// afterReboot is longer than a Node has to be cordoned before the lead moves.
	afterReboot = 30 * time.Second
)

// rebootFaults are reboots as the machine-config-operator makes them in every upgrade: cordon, drain, reboot, and
// uncordon once the node is Ready.
func rebootFaults() []fault {
	moves := allowance{withoutLeader: 10 * time.Second,
		why: "the lead moves before the reboot, to a process that starts when the former leader has ended"}
	rotates := moves
	rotates.revisions = 1
	return []fault{
		{
			name:   "each node is drained and reboots in turn, the leader's first",
			shows:  sign{event: "LeadMoved", message: `instead of {node}_`},
			allows: moves, slow: true,
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.forgetMoves(t)
				f.awaitSettledLeader(t)
				f.node = f.Node(f.leader)
				transitions := f.transitions(t)
				f.drainAway(t, f.node)
				return func(t *testing.T) {
					f.reboot(t, f.node, transitions)
					for _, n := range f.ControlPlane() {
						if n == f.node {
							continue
						}
						f.awaitSettledLeader(t)
						transitions := f.transitions(t)
						f.drainAway(t, n)
						f.reboot(t, n, transitions)
					}
				}
			},
		},
		{
			name:  "the leader's node is drained and reboots for five minutes, and the credentials change meanwhile",
			shows: notReady, allows: rotates, slow: true,
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.forgetMoves(t)
				f.awaitSettledLeader(t)
				f.node = f.Node(f.leader)
				transitions := f.transitions(t)
				f.drainAway(t, f.node)
				require.NoError(t, f.node.Kill())
				f.began = time.Now()
				require.NoError(t, f.Cloud().SetPassword(fmt.Sprintf("rotated-%d-3b1f9d2c6e85", time.Now().UnixNano())))
				f.invariants.keepSecret(t)
				f.setCredentials(t, f.Cloud().CloudsYAML())
				f.wanted = f.revision + 1
				return func(t *testing.T) {
					f.await(t, "a leader with the new credentials", newKeyLimit, f.leadsWith(f.wanted))
					f.figure("credentials replaced while a node reboots, to a leader with them: %s", rounded(f.began))
					f.await(t, "the reboot to last for five minutes", 2*longReboot, func(context.Context) error {
						if passed := time.Since(f.began); passed < longReboot {
							return fmt.Errorf("%s have passed", passed)
						}
						return nil
					})
					require.LessOrEqual(t, f.transitions(t)-transitions, int32(2), "one move before the reboot, one of the rollout")
					f.returns(t, f.node)
				}
			},
		},
	}
}

// forgetMoves deletes the records of former rows' moves: the lead does not leave a Node twice in a quarter of an hour.
func (f *running) forgetMoves(t *testing.T) {
	t.Helper()
	records := metav1.ListOptions{LabelSelector: "app=handover"}
	require.NoError(t, f.kube.CoreV1().Pods(targetNamespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, records))
	f.await(t, "the records of former moves to go", briefly, func(ctx context.Context) error {
		left, err := f.kube.CoreV1().Pods(targetNamespace).List(ctx, records)
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d are left", len(left.Items))
		}
		return err
	})
}

// transitions returns how often another process has acquired the lease.
func (f *running) transitions(t *testing.T) int32 {
	t.Helper()
	_, lease, err := f.suite.leader(t.Context())
	require.NoError(t, err)
	return *lease.Spec.LeaseTransitions
}

// drainAway cordons a node and evicts what a drain evicts there. It returns when the drain has ended: when the operator's
// pod is gone and, if the node had the lead, the one that moves it.
func (f *running) drainAway(t *testing.T, n *node.Node) {
	t.Helper()
	leader, _, err := f.suite.leader(t.Context())
	require.NoError(t, err)
	began := time.Now()
	if leader == n.Name() {
		f.leader, f.node = leader, n
		f.drain(t)
	} else {
		f.setCordoned(t, n, true)
		require.NoError(t, f.kube.CoreV1().Pods(operatorNamespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
			metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name()}))
	}
	f.await(t, "the drain to end", briefly, func(ctx context.Context) error {
		operators, err := f.kube.CoreV1().Pods(operatorNamespace).List(ctx,
			metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name()})
		if err != nil || len(operators.Items) > 0 {
			return errors.Join(err, errors.New("the operator's pod is there"))
		}
		_, err = f.kube.CoreV1().Pods(targetNamespace).Get(ctx, "handover-leave-"+n.Name(), metav1.GetOptions{})
		return gone(err)
	})
	f.figure("drain of %s, the leader's: %t: %s", n.Name(), leader == n.Name(), rounded(began))
}

// reboot reboots a node that was drained, and requires that the lead has moved once if the node had it, and otherwise
// not, also not after the end of the reboot.
func (f *running) reboot(t *testing.T, n *node.Node, transitions int32) {
	t.Helper()
	moves := int32(0)
	if n.Name() == f.leader {
		f.awaitAnotherLeader(t)
		moves = 1
	}
	began := time.Now()
	require.NoError(t, n.Kill())
	f.await(t, n.Name()+" not to report", giveUpLimit, func(ctx context.Context) error {
		if status := f.readiness(ctx, n); status != corev1.ConditionUnknown {
			return fmt.Errorf("it is %s whether it is Ready", status)
		}
		return nil
	})
	f.returns(t, n)
	f.figure("reboot of %s, until it is uncordoned: %s", n.Name(), rounded(began))
	require.Never(t, func() bool { return f.transitions(t) != transitions+moves }, afterReboot, time.Second,
		"the lead of %s moves once before its reboot if it had it, and not after", n.Name())
	f.leader = f.requireOneLeader(t)
}

// returns starts a node again and uncordons it once it is Ready.
func (f *running) returns(t *testing.T, n *node.Node) {
	t.Helper()
	require.NoError(t, n.Restart(context.WithoutCancel(t.Context())))
	f.await(t, n.Name()+" to be Ready", briefly, func(ctx context.Context) error {
		if status := f.readiness(ctx, n); status != corev1.ConditionTrue {
			return fmt.Errorf("it is %s whether it is Ready", status)
		}
		return nil
	})
	f.setCordoned(t, n, false)
}

// readiness returns the status of a Node's condition Ready, empty if it cannot be read.
func (f *running) readiness(ctx context.Context, n *node.Node) corev1.ConditionStatus {
	object, err := f.kube.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return ""
	}
	return object.Status.Conditions[i].Status
}

// leadsWith returns a check that the leader's static pod is Ready with a revision.
func (f *running) leadsWith(revision int32) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		leader, _, err := f.suite.leader(ctx)
		if err != nil {
			return err
		}
		pod, err := f.kube.CoreV1().Pods(targetNamespace).Get(ctx, operand+"-"+leader, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case pod.Labels["revision"] != fmt.Sprint(revision):
			return fmt.Errorf("%s leads with revision %s", leader, pod.Labels["revision"])
		case !isReady(pod):
			return errors.New("it is not Ready")
		}
		return nil
	}
}
