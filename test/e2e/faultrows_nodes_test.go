package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// notReady is how the operator reports a node whose kubelet does not work.
var notReady = sign{condition: "NodeControllerDegraded", message: `node.*{node}.*not ready`}

// nodeFaults are faults of machines, kubelets and container runtimes, and of the installation on a node.
func nodeFaults() []fault {
	return []fault{
		{
			name: "a kubelet hangs while it installs", shows: notReady, allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitInstaller(t, f.change(t), f.node.Name())
				return f.freezeProgram(t, f.node, filepath.Join(f.BinDir(), "kubelet"))
			},
		},
		{
			// The node stays Ready for more than a minute. No preflight holds a redeployment up, so the installer is what hangs.
			name:   "a container runtime hangs before the installer starts",
			shows:  sign{condition: "InstallerPodStartDegraded", message: `node/{node}: .*container runtime`},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				containerd, err := exec.LookPath("containerd")
				require.NoError(t, err)
				thaw := f.freezeProgram(t, f.node, containerd)
				f.redeploy(t)
				f.wanted++
				return thaw
			},
		},
		{
			name: "a node crashes while it installs", shows: notReady, allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitInstaller(t, f.change(t), f.node.Name())
				require.NoError(t, f.node.Kill())
				return func(t *testing.T) { require.NoError(t, f.node.Restart(context.WithoutCancel(t.Context()))) }
			},
		},
		{
			name:   "all kubelets restart at once",
			unseen: "static pods run on, and are Ready again within seconds",
			allows: allowance{noneReady: 15 * time.Second,
				why: "a kubelet that has started reports pods as not Ready until it has probed them, which it does every 10 s"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				var group sync.WaitGroup
				errs := make([]error, len(f.Nodes()))
				for i, n := range f.Nodes() {
					group.Go(func() { errs[i] = n.RestartKubelet(t.Context()) })
				}
				group.Wait()
				require.NoError(t, errors.Join(errs...))
				restarted := time.Now().Add(time.Second) // The API has whole seconds.
				f.repaired = func(ctx context.Context) error {
					list, err := f.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
					if err != nil {
						return err
					}
					for _, n := range list.Items {
						if i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
							return c.Type == corev1.NodeReady && c.LastHeartbeatTime.After(restarted)
						}); i < 0 {
							return fmt.Errorf("%s has not reported since", n.Name)
						}
					}
					return nil
				}
				return nil
			},
		},
		{
			name:   "an installer pod is deleted",
			unseen: "the operator creates it again at once", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				pod := f.awaitInstaller(t, f.change(t), "")
				require.NoError(t, f.kube.CoreV1().Pods(targetNamespace).Delete(t.Context(), pod.Name,
					*metav1.NewDeleteOptions(0)))
				return nil
			},
		},
		{
			name:   "an installer pod is evicted",
			unseen: "the operator creates it again at once", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				pod := f.awaitInstaller(t, f.change(t), "")
				require.NoError(t, f.kube.PolicyV1().Evictions(targetNamespace).Evict(t.Context(),
					&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: targetNamespace, Name: pod.Name}}))
				return nil
			},
		},
		{
			name:   "an installer is killed between the former manifest and the new one",
			unseen: "the next installer finishes its work within seconds", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				pod := f.awaitInstaller(t, f.change(t), f.node.Name())
				manifest := filepath.Join(f.node.Root(), "etc/kubernetes/manifests/cloud-controller-manager-pod.yaml")
				exists := func() bool { _, err := os.Stat(manifest); return err == nil }
				require.Eventually(t, func() bool { return !exists() }, briefly, 10*time.Millisecond, "the former manifest goes")
				for _, pid := range f.processesOn(t, f.node.Name(), operatorBinary, "installer") {
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				}
				f.began = time.Now()
				f.await(t, pod.Name+" to fail", briefly, func(ctx context.Context) error {
					failed, err := f.kube.CoreV1().Pods(targetNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
					if err == nil && failed.Status.Phase != corev1.PodFailed {
						err = fmt.Errorf("it is %s", failed.Status.Phase)
					}
					return err
				})
				require.Eventually(t, exists, briefly, 10*time.Millisecond, "the new manifest")
				f.figure("installer killed without a manifest on the node to the new one: %s", rounded(f.began))
				return nil
			},
		},
		{
			name:   "the clock of the leader's node is two hours ahead during a rollout",
			unseen: "nothing that the operator does compares clocks of machines; the node's own time service is who reports",
			allows: allowance{revisions: 2, withoutLeader: leaseExpires,
				why: "a process that acquires the lease before its clock is moved seems to be older than its container"},
			inject: skewedRollout(2 * time.Hour),
		},
		{
			name:   "the clock of the leader's node is five minutes behind during a rollout",
			unseen: "nothing that the operator does compares clocks of machines; the node's own time service is who reports",
			allows: allowance{revisions: 2, withoutLeader: leaseExpires,
				why: "a process that ended before it acquired the lease is not known to have ended"},
			inject: skewedRollout(-5 * time.Minute),
		},
		{
			name:  "the leader's node is drained and reboots",
			shows: sign{event: "LeadMoved", message: `instead of {node}_`},
			allows: allowance{withoutLeader: 10 * time.Second,
				why: "the lead moves before the reboot, to a process that starts when the former leader has ended"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitSettledLeader(t)
				f.node = f.Node(f.leader)
				f.drain(t)
				f.awaitAnotherLeader(t)
				f.figure("leader's node cordoned to another leader: %s", rounded(f.began))
				f.await(t, "the static pod to be back", briefly, func(ctx context.Context) error {
					messages, err := f.messages(ctx, sign{event: "LeadMoved"})
					if err == nil && len(messages) == 0 {
						err = errors.New("no event says so")
					}
					return err
				})
				require.NoError(t, f.node.Kill())
				return func(t *testing.T) {
					f.await(t, f.node.Name()+" not to report", giveUpLimit, func(ctx context.Context) error {
						object, err := f.kube.CoreV1().Nodes().Get(ctx, f.node.Name(), metav1.GetOptions{})
						if err == nil && !slices.ContainsFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool {
							return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
						}) {
							err = errors.New("it is not Unknown whether it is Ready")
						}
						return err
					})
					require.NoError(t, f.node.Restart(context.WithoutCancel(t.Context())))
					f.setCordoned(t, f.node, false)
				}
			},
		},
		{
			name: "the leader's node crashes", shows: notReady, slow: true,
			allows: allowance{
				withoutLeader: leaseExpires,
				why:           "a node that is not Ready may still act, so its lease has to expire",
			},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.node = f.Node(f.leader)
				f.moveOperator(t, f.node)
				require.NoError(t, f.node.Kill())
				return func(t *testing.T) {
					f.awaitAnotherLeader(t)
					require.NoError(t, f.node.Restart(context.WithoutCancel(t.Context())))
				}
			},
		},
		{
			name: "the leader's node is cut off from the API server", shows: notReady, slow: true,
			allows: allowance{
				withoutLeader: leaseExpires,
				why:           "the leader acts for up to 133 s without an API server, so its lease has to expire",
			},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.node = f.Node(f.leader)
				f.moveOperator(t, f.node)
				join := f.cutOff(t)
				return func(t *testing.T) {
					defer join(t)
					f.awaitAnotherLeader(t)
				}
			},
		},
	}
}

// moveOperator makes the operator run on another node.
func (f *running) moveOperator(t *testing.T, away *node.Node) {
	t.Helper()
	f.suite.moveOperator(t, away)
	f.awaitSettled(t, f.revision, briefly)
	f.began = time.Now()
}

// moveOperator makes the operator run on another node.
func (s *suite) moveOperator(t *testing.T, away *node.Node) {
	t.Helper()
	s.setCordoned(t, away, true)
	pods := s.kube.CoreV1().Pods(operatorNamespace)
	require.NoError(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + away.Name()}))
	s.await(t, "the operator on another node", briefly, func(context.Context) error {
		if pids := s.processes(t, operatorBinary, "operator"); len(pids) != 1 || s.nodeOf(pids[0]) == away {
			return fmt.Errorf("%d processes run", len(pids))
		}
		return nil
	})
	s.setCordoned(t, away, false)
	s.awaitOperatorLeads(t, away.Name()+"_")
}

func (s *suite) setCordoned(t *testing.T, n *node.Node, cordoned bool) {
	t.Helper()
	_, err := s.kube.CoreV1().Nodes().Patch(t.Context(), n.Name(), types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, cordoned), metav1.PatchOptions{})
	require.NoError(t, err)
}

// drain cordons the row's node and evicts what a drain evicts there: the operator at once, and the pod of the handover
// as soon as it runs.
func (f *running) drain(t *testing.T) {
	t.Helper()
	f.setCordoned(t, f.node, true)
	f.began = time.Now()
	require.NoError(t, f.kube.CoreV1().Pods(operatorNamespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + f.node.Name()}))
	f.await(t, "the pod of the handover to be evicted", giveUpLimit, func(ctx context.Context) error {
		name := "handover-leave-" + f.node.Name()
		pod, err := f.kube.CoreV1().Pods(targetNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Status.Phase == corev1.PodPending {
			return errors.New("it is Pending")
		}
		return f.kube.PolicyV1().Evictions(targetNamespace).Evict(ctx,
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: targetNamespace, Name: name}})
	})
}

func (f *running) awaitAnotherLeader(t *testing.T) {
	t.Helper()
	f.await(t, "another leader than "+f.leader, giveUpLimit, func(ctx context.Context) error {
		now, _, err := f.suite.leader(ctx)
		if err == nil && (now == f.leader || now == "") {
			err = fmt.Errorf("the holder is %q", now)
		}
		return err
	})
}

// cutOff drops what the row's node sends to the API server. The processes there still answer this test.
func (f *running) cutOff(t *testing.T) (join func(*testing.T)) {
	t.Helper()
	server, err := url.Parse(f.URL())
	require.NoError(t, err)
	rule := func(operation string) error {
		output, err := exec.Command("nsenter", "--target", strconv.Itoa(f.node.PID()), "--net", "--", "iptables", operation,
			"OUTPUT", "--destination", server.Hostname(), "--protocol", "tcp", "--dport", server.Port(), "--jump",
			"DROP").CombinedOutput()
		if err != nil {
			return fmt.Errorf("iptables %s: %w: %s", operation, err, output)
		}
		return nil
	}
	require.NoError(t, rule("--append"))
	f.began = time.Now()
	return func(t *testing.T) { require.NoError(t, rule("--delete")) }
}

// skewedRollout moves the clock of the leader's node, rolls a revision out, corrects the clock, and rolls another one
// out. A container that started in the future is foreign to a lease that it acquires afterwards (docs/operations.md).
func skewedRollout(offset time.Duration) func(*running, *testing.T) func(*testing.T) {
	return func(f *running, t *testing.T) func(*testing.T) {
		// One that leads by a wrong clock from its start on never counts as a leader that worked.
		f.awaitSettledLeader(t)
		f.node = f.Node(f.leader)
		f.await(t, "the cluster's certificates to be valid by that clock", 2*offset.Abs(), func(context.Context) error {
			if age := time.Since(f.started); age < -offset {
				return fmt.Errorf("they have been for %s", age)
			}
			return nil
		})
		restore := f.moveClocks(t, f.node, offset)
		revision := f.change(t)
		return func(t *testing.T) {
			defer f.change(t)
			defer restore()
			f.awaitSettled(t, revision, rolloutLimit)
			// By that clock, the lease of a leader there is out of date.
			f.await(t, "exactly one leader", leaderLimit, func(ctx context.Context) error {
				_, err := f.oneLeads(ctx)
				return err
			})
		}
	}
}

// awaitInstaller waits for the installer pod of a revision on a node, by default on the first one. The row's node is
// that node.
func (f *running) awaitInstaller(t *testing.T, revision int32, on string) *corev1.Pod {
	t.Helper()
	prefix := fmt.Sprintf("installer-%d-%s", revision, on)
	var installer corev1.Pod
	f.await(t, "pod "+prefix, briefly, func(ctx context.Context) error {
		pods, err := f.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=installer"})
		if err != nil {
			return err
		}
		for _, installer = range pods.Items {
			if strings.HasPrefix(installer.Name, prefix) && installer.Status.Phase != corev1.PodSucceeded {
				return nil
			}
		}
		return fmt.Errorf("it is not among %d pods", len(pods.Items))
	})
	f.node, f.began = f.Node(installer.Spec.NodeName), time.Now()
	return &installer
}

// freezeProgram stops the process of a program on a node and returns what lets it go on.
func (f *running) freezeProgram(t *testing.T, n *node.Node, program string) (thaw func(*testing.T)) {
	t.Helper()
	pids := f.processesOn(t, n.Name(), program, "")
	require.NotEmpty(t, pids, "%s on %s", program, n.Name())
	for _, pid := range pids {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	f.began = time.Now()
	return func(*testing.T) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT) // It may have been replaced.
		}
	}
}

// fileFaults are faults of the disk, the manifest and the other files of a node.
func fileFaults() []fault {

	return []fault{
		{
			name:   "the disk of a node is full during a rollout",
			shows:  sign{condition: "NodeInstallerDegraded", message: `no space left on device`},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				const saved = "/run/lock/saved"
				// The pruner would make room by removing former revisions.
				former := "find " + resources + " -maxdepth 1 -name 'cloud-controller-manager-pod-*' -not -name '*-" +
					strconv.Itoa(int(f.revision)) + "' -exec rm -r {} +"
				umount := f.mountOver(t, "cp -a "+resources+" "+saved+" && "+
					"mount -t tmpfs -o size=64m tmpfs "+resources+" && cp -a "+saved+"/. "+resources+" && "+
					"rm -r "+saved+" && "+former+" && ! cat /dev/zero > "+resources+"/full")
				f.change(t)
				return umount
			},
		},
		{
			name:   "the disk of a node is read-only during a rollout",
			shows:  sign{condition: "NodeInstallerDegraded", message: `read-only file system`},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				umount := f.mountReadOnly(t)
				f.change(t)
				return umount
			},
		},
		{
			name:   "a directory of the next revision was half written by another process",
			unseen: "the installer replaces it", allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				directory := filepath.Join(f.node.Root(), revisionDirectory(f.revision+1), "secrets/cloud-config")
				require.NoError(t, os.MkdirAll(directory, 0o700))
				file := filepath.Join(directory, "cloud.conf")
				require.NoError(t, os.WriteFile(file, []byte("[Glob"), 0o600))
				f.change(t)
				f.repaired = func(context.Context) error {
					content, err := os.ReadFile(file)
					if err == nil && !strings.Contains(string(content), "max-shared-lb") {
						err = fmt.Errorf("it is %q", content)
					}
					return err
				}
				return nil
			},
		},
		{
			name: "a manifest is deleted", shows: sign{event: "NodeFilesRepaired", message: `node/{node}`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				return f.damageFile(t, manifestPath, os.Remove)
			},
		},
		{
			name:  "the manifest of the leader is edited",
			shows: sign{event: "NodeFilesRepaired", message: `node/{node}.*manifest`},
			allows: allowance{withoutLeader: replacementReports + standbyAsks,
				why: "the next process asks before the lease is released, and a standby asks every 26 to 57 s"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.node = f.Node(f.leader)
				return f.damageFile(t, manifestPath, func(path string) error {
					content, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					return os.WriteFile(path, []byte(strings.Replace(string(content), "--v=2", "--v=3", 1)), 0o600)
				})
			},
		},
		{
			name:   "the directory of the running revision is deleted on a node",
			shows:  sign{event: "NodeFilesRepaired", message: `node/{node}.*the files of revision`},
			allows: allowance{deleted: 1, why: "the fault itself deletes the revision of one node"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				return f.damageFile(t, revisionDirectory(f.revision)+"/secrets/cloud-config/cloud.conf",
					func(string) error { return os.RemoveAll(filepath.Join(f.node.Root(), revisionDirectory(f.revision))) })
			},
		},
		{
			name:   "the leader's token is damaged on its node",
			unseen: "the file-syncer repairs it within half a minute",
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.node = f.Node(f.leader)
				return f.damageFile(t, synced+"/secrets/kube-token/token", overwriteFile)
			},
		},
		{
			name:  "the client CA is damaged on a node",
			shows: sign{event: "SyncedFilesRepaired", message: `configmap/client-ca on node {node}`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				return f.damageFile(t, synced+"/configmaps/client-ca/ca-bundle.crt", overwriteFile)
			},
		},
		{
			name:  "the serving certificate is damaged on a node",
			shows: sign{event: "SyncedFilesRepaired", message: `secret/serving-cert on node {node}`},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				return f.damageFile(t, synced+"/secrets/serving-cert/tls.crt", overwriteFile)
			},
		},
		{
			name: "a directory of synced files cannot be written while a token changes",
			shows: sign{condition: "NodeFilesDegraded", message: `node/{node}.*secret/kube-token`,
				clearedWithin: 2 * time.Minute,
				why:           "a file-syncer that could not write tries again after a minute"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				directory := filepath.Join(f.node.Root(), synced, "secrets")
				setImmutable(t, directory, true)
				f.deleteSecrets(t, targetNamespace, kubeToken)
				f.repaired = func(ctx context.Context) error {
					secret, err := f.kube.CoreV1().Secrets(targetNamespace).Get(ctx, kubeToken, metav1.GetOptions{})
					if err != nil {
						return err
					}
					return requireContent(filepath.Join(directory, kubeToken, "token"), secret.Data["token"])
				}
				return func(t *testing.T) { setImmutable(t, directory, false) }
			},
		},
		{
			name:   "a file-syncer is killed",
			unseen: "its kubelet restarts it at once",
			inject: func(f *running, t *testing.T) func(*testing.T) {
				pids := f.processesOn(t, f.node.Name(), syncerBinary, "")
				require.Len(t, pids, 1)
				require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
				f.repaired = func(context.Context) error {
					if now := f.processesOn(t, f.node.Name(), syncerBinary, ""); len(now) != 1 || now[0] == pids[0] {
						return errors.New("it does not run")
					}
					return nil
				}
				return nil
			},
		},
	}
}

const (
	// resources is the directory of everything that the operator installs on a node, synced that of the synced files.
	resources = "/etc/kubernetes/static-pod-resources"
	synced    = resources + "/cloud-controller-manager-certs"
)

func overwriteFile(path string) error { return os.WriteFile(path, []byte("damaged"), 0o600) }

// mountOver runs a script in the mount namespace of the row's node and returns what ends its mount over the installed
// files. Containers that run keep what they have mounted.
func (f *running) mountOver(t *testing.T, script string) (umount func(*testing.T)) {
	t.Helper()
	inNode := func(script string) error {
		output, err := exec.Command("nsenter", "--target", strconv.Itoa(f.node.PID()), "--mount", "--pid", "--", "sh", "-c",
			script).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", script, err, output)
		}
		return nil
	}
	require.NoError(t, inNode(script))
	return func(t *testing.T) { require.NoError(t, inNode("umount -l "+resources)) }
}

// mountReadOnly makes the installed files of the row's node read-only.
func (f *running) mountReadOnly(t *testing.T) (umount func(*testing.T)) {
	t.Helper()
	return f.mountOver(t, "mount --bind "+resources+" "+resources+" && mount -o remount,bind,ro "+resources)
}

// damageFile damages a file of the row's node, and makes the row wait until it is as before.
func (f *running) damageFile(t *testing.T, path string, damage func(path string) error) func(*testing.T) {
	t.Helper()
	path = filepath.Join(f.node.Root(), path)
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	f.began = time.Now()
	require.NoError(t, damage(path))
	f.repaired = func(context.Context) error { return requireContent(path, sound) }
	return nil
}

func (f *running) deleteSecrets(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		err := f.kube.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	}
}

func (f *running) deleteConfigMaps(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		err := f.kube.CoreV1().ConfigMaps(namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	}
}
