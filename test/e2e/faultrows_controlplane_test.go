package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// noHeartbeats is why pods count as not Ready: no kubelet could report for longer than the cluster's grace period of
// eight seconds.
const noHeartbeats = "no kubelet can report without an API server, so no pod is known to be Ready"

// reportAgain is how long no pod may count as Ready once the API server is back: a kubelet reports every ten seconds,
// and asks again after up to seven.
const reportAgain = 30 * time.Second

// controlPlaneFaults are faults of the API server and etcd.
func controlPlaneFaults() []fault {
	return []fault{
		{
			name:   "the API server is down for 10 seconds during a rollout",
			unseen: "nobody can write a condition without an API server", inject: withoutAPIServer(10 * time.Second),
			allows: allowance{revisions: 1, noneReady: reportAgain, why: noHeartbeats},
		},
		{
			name:   "the API server is down for a minute during a rollout",
			unseen: "nobody can write a condition without an API server", inject: withoutAPIServer(time.Minute),
			allows: allowance{revisions: 1, noneReady: reportAgain, why: noHeartbeats},
		},
		{
			name:   "the API server is down for five minutes during a rollout",
			unseen: "nobody can write a condition without an API server", inject: withoutAPIServer(5 * time.Minute),
			slow: true,
			allows: allowance{revisions: 1, withoutLeader: 5*time.Minute - gaveUp + leaseExpires,
				unavailable: 2*standbyAsks + settles,
				why:         "the leader gives up without an API server, and afterwards its lease has to expire, as the operator's has"},
		},
		{
			name:   "etcd is killed and restarts during a rollout",
			unseen: "nobody can write a condition without etcd, and it is back within seconds",
			allows: allowance{revisions: 1, noneReady: reportAgain, why: noHeartbeats},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitInstaller(t, f.change(t), "")
				f.killServer(t, "etcd")
				return func(t *testing.T) { require.NoError(t, f.StartEtcd(context.WithoutCancel(t.Context()))) }
			},
		},
		{
			name:   "every request waits up to half a second for the API server during a rollout",
			unseen: "everything works, only later; a slow API server is reported by its own operator",
			allows: allowance{revisions: 1, noneReady: reportAgain, why: noHeartbeats},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				restore := f.slowServer(t, "kube-apiserver")
				revision := f.change(t)
				return func(t *testing.T) {
					defer restore()
					f.awaitSettled(t, revision, rolloutLimit)
				}
			},
		},
		{
			name:   "the API server answers the operator and the operand with 429 during a rollout",
			unseen: "client-go waits and repeats; what lasts is the Degraded condition of a controller whose requests fail",
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				allow := f.rejectRequests(t)
				release := f.occupy(t)
				revision := f.change(t)
				return func(t *testing.T) {
					defer allow(t)
					defer release(t)
					// Controllers whose requests fail are Degraded, so the ClusterOperator is not clean meanwhile.
					f.awaitEverywhere(t, revision)
				}
			},
		},
	}
}

// awaitEverywhere waits until every node runs a revision.
func (f *running) awaitEverywhere(t *testing.T, revision int32) {
	t.Helper()
	f.await(t, "every node to have the revision", rolloutLimit, func(context.Context) error {
		if reached := f.operands.reached(revision); reached < f.size {
			return fmt.Errorf("%d have it", reached)
		}
		return nil
	})
}

// withoutAPIServer kills the API server while the first node installs.
func withoutAPIServer(outage time.Duration) func(*running, *testing.T) func(*testing.T) {
	return func(f *running, t *testing.T) func(*testing.T) {
		f.awaitInstaller(t, f.change(t), "")
		f.killServer(t, "kube-apiserver")
		return func(t *testing.T) {
			<-time.After(outage)
			require.NoError(t, f.StartAPIServer(context.WithoutCancel(t.Context())))
		}
	}
}

// killServer kills a server of the control plane and waits for its end.
func (f *running) killServer(t *testing.T, name string) {
	t.Helper()
	pid, runs := f.Processes()[name]
	require.True(t, runs, "%s runs", name)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	f.began = time.Now()
	f.await(t, "the end of "+name, briefly, func(context.Context) error {
		if err := syscall.Kill(pid, 0); err == nil {
			return errors.New("it exists")
		}
		return nil
	})
}

// slowServer stops a server for most of the time: the kernel of a test machine may have no netem. The server still has
// enough time for its work.
func (f *running) slowServer(t *testing.T, name string) (restore func()) {
	t.Helper()
	const stopped, runs = 500 * time.Millisecond, 250 * time.Millisecond
	pid := f.Processes()[name]
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		every(ctx, runs, func() {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			<-time.After(stopped)
			_ = syscall.Kill(pid, syscall.SIGCONT)
		})
	}()
	f.began = time.Now()
	return func() { cancel(); <-done }
}

const throttled = "e2e-throttled"

// rejectRequests makes API priority and fairness serve one request of our accounts at a time, and reject the others.
func (f *running) rejectRequests(t *testing.T) (allow func(*testing.T)) {
	t.Helper()
	api := f.kube.FlowcontrolV1()
	_, err := api.PriorityLevelConfigurations().Create(t.Context(), &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: throttled},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: ptr.To[int32](0), LendablePercent: ptr.To[int32](0),
				BorrowingLimitPercent: ptr.To[int32](0),
				LimitResponse:         flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	everything := []flowcontrolv1.ResourcePolicyRule{{
		Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"},
		ClusterScope: true,
	}}
	var subjects []flowcontrolv1.Subject
	for _, namespace := range []string{operatorNamespace, targetNamespace} {
		subjects = append(subjects, flowcontrolv1.Subject{Kind: rbacv1.GroupKind,
			Group: &flowcontrolv1.GroupSubject{Name: "system:serviceaccounts:" + namespace}})
	}
	_, err = api.FlowSchemas().Create(t.Context(), &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: throttled},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: throttled},
			MatchingPrecedence:         2, // 1 is reserved.
			Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{{Subjects: subjects, ResourceRules: everything}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, errors.Join(api.FlowSchemas().Delete(ctx, throttled, metav1.DeleteOptions{}),
			api.PriorityLevelConfigurations().Delete(ctx, throttled, metav1.DeleteOptions{})))
	}
}

// occupy uses the only seat of the priority level about half of the time, so that many other requests of our accounts
// are rejected. The returned function ends that, and fails the test unless many were. Two clients that compete for the
// seat would also reject each other: the API server then asks everyone to wait for half a minute, and nothing gets
// through.
func (f *running) occupy(t *testing.T) (release func(*testing.T)) {
	t.Helper()
	config := f.RESTConfig()
	config.Impersonate.UserName = ours[0]
	config.Impersonate.Groups = []string{"system:serviceaccounts:" + operatorNamespace, "system:authenticated"}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	began := time.Now()
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			asked := time.Now()
			// Rejected or not, it is repeated.
			_ = client.CoreV1().RESTClient().Get().Namespace(targetNamespace).Resource("configmaps").MaxRetries(0).
				Do(ctx).Error()
			<-time.After(max(10*time.Millisecond, time.Since(asked))) // As long as the seat was used.
		}
	})
	return func(t *testing.T) {
		cancel()
		group.Wait()
		rejected := 0
		f.eachRequest(t, accounts, func(e *auditEvent) {
			if e.ResponseStatus.Code == http.StatusTooManyRequests && e.StageTimestamp.After(began) &&
				strings.HasPrefix(e.User.Username, accounts) {
				rejected++
			}
		})
		f.figure("requests answered with 429: %d", rejected)
		require.Greater(t, rejected, 10)
	}
}

// operatorFaults are faults of the operator itself.
func operatorFaults() []fault {
	return []fault{
		{
			name:   "the operator is killed when a rollout begins",
			unseen: "its successor goes on; the Deployment shows the restart", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.change(t)
				f.killOperatorBriefly(t)
				f.began = time.Now()
				return nil
			},
		},
		{
			name:   "the operator is killed while the first node installs",
			unseen: "its successor goes on; the Deployment shows the restart", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitInstaller(t, f.change(t), "")
				f.killOperatorBriefly(t)
				return nil
			},
		},
		{
			name:   "the operator is killed while the leader's node installs",
			unseen: "its successor goes on; the Deployment shows the restart",
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitInstaller(t, f.change(t), f.leader)
				f.killOperatorBriefly(t)
				return nil
			},
		},
		{
			name:   "the operator is killed when every node has the new revision and one leads",
			unseen: "its successor goes on; the Deployment shows the restart", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				revision := f.change(t)
				f.awaitEverywhere(t, revision)
				// Before, it is killed while the leader's node installs.
				f.await(t, "exactly one leader", leaderLimit, func(ctx context.Context) error {
					_, err := f.oneLeads(ctx)
					return err
				})
				f.killOperatorBriefly(t)
				f.began = time.Now()
				return nil
			},
		},
		{
			name:   "the operator is away while the token ends",
			unseen: "without the operator nobody writes a condition; it refreshes the token once it is back",
			allows: allowance{withoutLeader: tokenDelivered + leaseExpires, unavailable: 2*standbyAsks + settles,
				why: "nothing renews the token without the operator, so the leader gives up; with the next token its lease has " +
					"to expire"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.scale(t, 0)
				f.awaitOperator(t, "", 0)
				leading := f.processesOn(t, f.leader, operandBinary, "")
				// A token has at least ten minutes, and ends with its ServiceAccount.
				require.NoError(t, f.kube.CoreV1().ServiceAccounts(targetNamespace).Delete(t.Context(), operand,
					metav1.DeleteOptions{}))
				f.began = time.Now()
				return func(t *testing.T) {
					f.await(t, "the leader to give up", giveUpLimit, func(context.Context) error {
						if slices.Equal(f.processesOn(t, f.leader, operandBinary, ""), leading) {
							return fmt.Errorf("process %v on %s runs", leading, f.leader)
						}
						return nil
					})
					f.scale(t, 1)
					// Until it leads, every condition is that of the former one.
					f.awaitOperatorLeads(t, "")
				}
			},
		},
		{
			name:   "the operator hangs for three minutes and goes on beside a new leader",
			unseen: "without the operator nobody writes a condition; its successor goes on", slow: true,
			inject: hangingOperator,
		},
	}
}

// killOperatorBriefly kills the operator. The next process has to act within operatorBack, although the former one could
// not release the operator's lock.
func (f *running) killOperatorBriefly(t *testing.T) {
	t.Helper()
	former := f.awaitOperatorLeads(t, "")
	f.killOperator(t)
	killed, acts := time.Now(), false
	f.repaired = func(ctx context.Context) error {
		holder, err := f.operatorHolder(ctx)
		if err != nil || acts {
			return err
		}
		if holder == former || holder == "" {
			require.Less(t, time.Since(killed), operatorBack, "the operator's lock is held by %q", holder)
			return fmt.Errorf("the operator's lock is held by %q", holder)
		}
		acts = true
		f.figure("operator killed to the next one: %s", rounded(killed))
		return nil
	}
}

// hangingOperator stops the operator and the kubelet that would end it, until another operator leads.
func hangingOperator(f *running, t *testing.T) func(*testing.T) {
	leading := f.awaitOperatorLeads(t, "")
	pids := f.processes(t, operatorBinary, "operator")
	require.Len(t, pids, 1)
	f.node = f.nodeOf(pids[0])
	thaw := f.freezeProgram(t, f.node, f.BinDir()+"/kubelet")
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGSTOP))
	hangs := time.Now()
	return func(t *testing.T) {
		defer thaw(t)
		f.awaitOperatorLeads(t, leading)
		f.await(t, "three minutes to pass since the first one hung", giveUpLimit, func(context.Context) error {
			if lasts := time.Since(hangs); lasts < 3*time.Minute {
				return fmt.Errorf("it hangs for %s", lasts)
			}
			return nil
		})
		require.NoError(t, syscall.Kill(pids[0], syscall.SIGCONT))
	}
}
