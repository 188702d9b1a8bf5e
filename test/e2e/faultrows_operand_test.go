package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

const (
	missingImage = "localhost/devcluster/missing:1"
	// wrongImage exists on every node and has one program, which is not a cloud-controller-manager.
	wrongImage = "localhost/devcluster/pause:1"
	// withRestart is visibleLimit with the restart of the operator, whose Deployment has the image.
	withRestart = 2 * visibleLimit
)

// operandFaults are faults of the cloud-controller-managers.
func operandFaults() []fault {
	return []fault{
		{
			name:   "the leading process is killed",
			unseen: "its kubelet restarts it, and the operator releases the lease with an event",
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitSettledLeader(t)
				f.signal(t, f.leader, syscall.SIGKILL)
				return nil
			},
		},
		{
			name: "the leading process hangs",
			shows: sign{condition: "UnresponsiveDegraded",
				message: `container cloud-controller-manager .* node/{node} runs.*holds lease/cloud-controller-manager`},
			allows: allowance{withoutLeader: hangs + standbyAsks,
				why: "the kubelet ends a process that hangs after 90 s, and a standby asks for the lease every 26 to 57 s"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.node = f.Node(f.leader)
				pid := f.signal(t, f.leader, syscall.SIGSTOP)
				// Its kubelet replaces it.
				return func(t *testing.T) {
					f.await(t, "the process that hangs to be ended", giveUpLimit, func(context.Context) error {
						if err := syscall.Kill(pid, 0); err == nil {
							return errors.New("it exists")
						}
						return nil
					})
				}
			},
		},
		{
			name:   "the process of a new revision is Ready and then ends",
			unseen: "its kubelet restarts it; CrashLoopDegraded names one that keeps ending", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitRevisionReady(t, f.change(t))
				f.signal(t, f.node.Name(), syscall.SIGKILL)
				return nil
			},
		},
		{
			name:  "the processes of a new revision would end at their start",
			shows: sign{condition: "CredentialsDegraded", message: `connection refused`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				good := f.Cloud().CloudsYAML()
				nobody := regexp.MustCompile(`(https://[^:/]+):\d+/`).ReplaceAll(good, []byte("${1}:1/"))
				require.NotEqual(t, string(good), string(nobody))
				f.setCredentials(t, nobody)
				return func(t *testing.T) {
					require.Zero(t, f.operands.reached(f.revision+1), "no node gets it")
					f.setCredentials(t, good)
				}
			},
		},
		{
			name: "the image of a new revision does not exist",
			shows: sign{condition: "ImageDegraded", message: regexp.QuoteMeta(missingImage) + `(.|\n)*the former image stays in use`,
				within: withRestart, clearedWithin: withRestart, why: "the operator restarts with the image"},
			inject: otherImage(missingImage),
		},
		{
			name: "the image of a new revision has no cloud-controller-manager",
			shows: sign{condition: "ImageDegraded", message: `it failed: (.|\n)*no such file or directory`,
				within: withRestart, clearedWithin: withRestart, why: "the operator restarts with the image"},
			inject: otherImage(wrongImage),
		},
	}
}

// otherImage upgrades to another image, and back. A preflight rejects it, so that it becomes no revision.
func otherImage(image string) func(*running, *testing.T) func(*testing.T) {
	return func(f *running, t *testing.T) func(*testing.T) {
		present := f.staticPods(t)[0].Spec.Containers[0].Image
		f.setOperandImage(t, image)
		return func(t *testing.T) {
			f.setOperandImage(t, present)
		}
	}
}

// signal sends a signal to the cloud-controller-manager of a node.
func (f *running) signal(t *testing.T, on string, signal syscall.Signal) (pid int) {
	t.Helper()
	pids := f.processesOn(t, on, operandBinary, "")
	require.Len(t, pids, 1)
	require.NoError(t, syscall.Kill(pids[0], signal))
	f.began = time.Now()
	return pids[0]
}

// awaitRevisionReady waits for the first Ready pod of a revision. The row's node is its node.
func (f *running) awaitRevisionReady(t *testing.T, revision int32) {
	t.Helper()
	f.await(t, fmt.Sprintf("a Ready pod of revision %d", revision), rolloutLimit, func(ctx context.Context) error {
		pods, err := f.kube.CoreV1().Pods(targetNamespace).List(ctx,
			metav1.ListOptions{LabelSelector: "app=" + operand + ",revision=" + strconv.Itoa(int(revision))})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return isReady(&p) })
		if i < 0 {
			return fmt.Errorf("none of %d is", len(pods.Items))
		}
		f.node = f.Node(pods.Items[i].Spec.NodeName)
		return nil
	})
}

// cloudFaults are faults of the cloud.
func cloudFaults() []fault {
	waits := func(cause string) sign {
		return sign{condition: "NodeInitializationNotices", message: `node/{node} .*` + cause + ` \(".+"\); `}
	}
	return []fault{
		{
			name:  "the cloud is down while a node waits for it",
			shows: waits(`the cloud's API answers with a server error`),
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.Cloud().Fail(openstack.AllEndpoints, http.StatusServiceUnavailable))
				f.askCloud(t)
				f.repaired = func(ctx context.Context) error { return f.initialized(ctx, f.node) }
				return f.cloudReturns
			},
		},
		{
			name: "the cloud is down when a rollout begins",
			// The change waits for the cloud, and nothing is degraded.
			shows: sign{condition: "PreflightNotices", message: `the cloud's API answers with a server error.*it is tried again at`,
				clearedWithin: retryLimit + visibleLimit, why: "the change rolls out after the next preflight"},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.Cloud().Fail(openstack.AllEndpoints, http.StatusServiceUnavailable))
				f.change(t)
				return f.cloudReturns
			},
		},
		{
			name:  "the cloud is down when the leading process ends",
			shows: sign{condition: "StaticPodsDegraded", message: `cloud-controller-manager-`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitSettledLeader(t)
				require.NoError(t, f.Cloud().Fail(openstack.AllEndpoints, http.StatusServiceUnavailable))
				f.signal(t, f.leader, syscall.SIGKILL)
				return f.cloudReturns
			},
		},
		{
			name:  "the certificate of the cloud has expired when the leading process ends",
			shows: sign{condition: "StaticPodsDegraded", message: `certificate has expired`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitSettledLeader(t)
				f.Cloud().ExpireCertificate(true)
				f.signal(t, f.leader, syscall.SIGKILL)
				return func(*testing.T) { f.Cloud().ExpireCertificate(false) }
			},
		},
		{
			name:  "the name of the cloud does not resolve when the leading process ends",
			shows: sign{condition: "StaticPodsDegraded", message: `lookup openstack\.example\.com`},
			allows: allowance{withoutLeader: standbyAsks,
				why: "the next process of the leader's node cannot start, and a standby asks for the lease every 26 to 57 s"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitSettledLeader(t)
				f.resolve(t, false)
				f.signal(t, f.leader, syscall.SIGKILL)
				return func(t *testing.T) { f.resolve(t, true) }
			},
		},
		{
			name:  "the cloud asks for patience while a node waits for it",
			shows: waits(`the cloud throttles requests`),
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.Cloud().Throttle(2*time.Second))
				f.askCloud(t)
				f.repaired = func(ctx context.Context) error { return f.initialized(ctx, f.node) }
				return f.cloudReturns
			},
		},
		{
			name:  "the cloud answers from before the machine of a node that waits for it",
			shows: waits(`the cloud does not know the machine`),
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.Cloud().SetServers(slices.DeleteFunc(f.servers(), func(i openstack.Instance) bool { return i.Name == f.node.Name() }))
				f.askCloud(t)
				f.repaired = func(ctx context.Context) error { return f.initialized(ctx, f.node) }
				return func(*testing.T) { f.Cloud().SetServers(f.servers()) }
			},
		},
		{
			name:  "the certificate of the cloud has expired while a node waits for it",
			shows: waits(`the certificate of the cloud's API is not trusted`),
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.Cloud().ExpireCertificate(true)
				f.taintUninitialized(t, f.node)
				f.repaired = func(ctx context.Context) error { return f.initialized(ctx, f.node) }
				return func(*testing.T) { f.Cloud().ExpireCertificate(false) }
			},
		},
		{
			name:   "the cloud takes three seconds for each answer during a rollout",
			unseen: "no node waits; NodesWaiting names one that does",
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.Cloud().Delay(openstack.AllEndpoints, 3*time.Second))
				revision := f.change(t)
				return func(t *testing.T) {
					f.awaitSettled(t, revision, rolloutLimit)
					require.NoError(t, f.Cloud().Delay(openstack.AllEndpoints, 0))
				}
			},
		},
		{
			name:   "the cloud revokes the credentials, and a process restarts",
			shows:  sign{condition: "StaticPodsDegraded", message: `cloud-controller-manager-{node}`},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.Cloud().SetPassword(fmt.Sprintf("rotated-%d-8c5f0e1b7a64", time.Now().UnixNano())))
				f.invariants.keepSecret(t)
				f.signal(t, f.node.Name(), syscall.SIGKILL)
				return func(t *testing.T) {
					f.setCredentials(t, f.Cloud().CloudsYAML())
					f.wanted = f.revision + 1
				}
			},
		},
	}
}

// resolve makes every node resolve the name of the cloud or not.
func (f *running) resolve(t *testing.T, name bool) {
	t.Helper()
	for _, n := range f.Nodes() {
		require.NoError(t, n.Resolve(name))
	}
}

func (f *running) cloudReturns(t *testing.T) {
	t.Helper()
	require.NoError(t, f.Cloud().Fail(openstack.AllEndpoints, 0))
}

func (f *running) cloudCalls() int {
	calls := 0
	for _, count := range f.Cloud().Requests() {
		calls += count
	}
	return calls
}

// askCloud makes the leader ask the cloud about the node with the fault, and waits until it has.
func (f *running) askCloud(t *testing.T) {
	t.Helper()
	calls := f.cloudCalls()
	f.taintUninitialized(t, f.node)
	f.await(t, "the leader to ask the cloud", briefly, func(context.Context) error {
		if now := f.cloudCalls(); now == calls {
			return fmt.Errorf("it was asked %d times", now)
		}
		return nil
	})
}

// taintUninitialized makes the leader ask the cloud about a node.
func (s *suite) taintUninitialized(t *testing.T, n *node.Node) {
	t.Helper()
	s.await(t, n.Name()+" to be uninitialized", briefly, func(ctx context.Context) error {
		object, err := s.kube.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: uninitialized, Value: "true",
			Effect: corev1.TaintEffectNoSchedule})
		_, err = s.kube.CoreV1().Nodes().Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}
