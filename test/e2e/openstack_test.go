package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// step is a subtest on the shared cluster.
type step struct {
	name string
	run  func(*testing.T)
}

func TestOpenStack(t *testing.T) {
	runBesideOthers(t)
	// The payload is applied after the bootstrap node has finished.
	s := startSuite(t, devcluster.Options{
		Name: "e2e", Platform: configv1.OpenStackPlatformType, Nodes: nodes, WithoutPayload: true, Progress: os.Stderr,
	})
	steps := []step{
		{"the bootstrap node's pod initializes a node", func(t *testing.T) {
			story := newStory(s, "openstack")
			require.NoError(t, s.LoadImages(t.Context()))
			story.testBootstrap(t)
			story.endBootstrap(t)
			story.bootOthers(t)
		}},
		{"the operator brings up a cloud-controller-manager on every node", s.testStart},
		{"a change rolls node by node, also when the operator is killed", s.testRollout},
		{"a broken configuration is reported and changes nothing", s.testBrokenConfiguration},
		{"a rejected cloud configuration holds up neither an image nor a CA", s.testRejectedInput},
		{"a mistake that only the cloud sees becomes no revision", s.testPreflight},
		{"a change waits while its cloud is down or throttles", s.testHeldChange},
		{"rotated credentials reach every node", s.testCredentials},
		{"a frozen leader keeps its lease, and a killed one is replaced", s.testLeaderEnds},
		{"each process sees its own files, also when they are swapped", s.testFiles},
		{"an edited manifest is repaired", s.testEditedManifest},
		{"a restarted kubelet changes nothing", s.testKubelet},
		{"static resources that others change are corrected", s.testCorrection},
		{"metrics are for those who may read them", s.testMetrics},
		{"Prometheus finds every server and the metrics of the alerts", s.testPrometheus},
		{"old revisions are removed from the nodes and the API", s.testPruning},
		{"an image that cannot be pulled ends no process", s.testMissingImage},
	}
	if os.Getenv("E2E_LONG") != "" {
		steps = append(steps, s.longSteps()...)
	}
	s.runSteps(t, append(steps, step{"no request was denied and no account may do everything", s.testRights}))
}

// runSteps runs the steps in order until one fails.
func (s *suite) runSteps(t *testing.T, steps []step) {
	t.Helper()
	for _, step := range steps {
		fmt.Fprintln(os.Stderr, "== testing:", step.name)
		began := time.Now()
		s.monitor.Begin(step.name)
		passed := t.Run(step.name, func(t *testing.T) {
			step.run(t)
			s.requireAnnounced(t.Context(), t)
		})
		// Every step depends on those before it.
		require.True(t, passed, "the steps after this one are left out")
		fmt.Fprintf(os.Stderr, "== passed in %s\n", rounded(began))
	}
}

func (s *suite) testStart(t *testing.T) {
	s.monitor.Expect(monitor.Rollout("the first revision"))
	leftovers := s.createLeftovers(t)
	require.NoError(t, s.LoadImages(t.Context()))
	began := time.Now()
	require.NoError(t, s.InstallPayload(t.Context()))
	s.awaitSettled(t, 1, rolloutLimit)
	s.figure("payload applied to Available on %d nodes at one revision: %s", nodes, rounded(began))

	for _, n := range s.Nodes() {
		s.await(t, n.Name()+" to be initialized", briefly,
			func(ctx context.Context) error { return s.initialized(ctx, n) })
	}
	s.requireGone(t, leftovers)
	s.requireOneLeader(t)
	s.figure("resident memory of the operator: %d MiB, of a cloud-controller-manager: %d MiB, of a file-syncer: %d MiB",
		s.memory(t, operatorBinary, "operator"), s.memory(t, operandBinary, ""),
		s.memory(t, syncerBinary, ""))
}

// requireOneLeader checks that the controllers of exactly one cloud-controller-manager run, the lease's holder. Its
// requests also verify the serving certificate and the client CA.
//
// It returns the leader's node. After a rollout there may be no leader until a standby asks for the lease.
func (s *suite) requireOneLeader(t *testing.T) string {
	t.Helper()
	var leader string
	s.await(t, "exactly one leader, which holds the lease", leaderLimit, func(ctx context.Context) error {
		_, lease, err := s.leader(ctx)
		if err != nil {
			return err
		}
		valid := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
		if time.Now().After(valid) {
			return fmt.Errorf("the lease of %s ran out at %s", *lease.Spec.HolderIdentity, valid.Format(time.TimeOnly))
		}
		leader, err = s.oneLeads(ctx)
		return err
	})
	return leader
}

// oneLeads returns the node of the only process that leads, and an error unless that process holds the lease.
func (s *suite) oneLeads(ctx context.Context) (string, error) {
	holder, _, err := s.leader(ctx)
	if err != nil {
		return "", err
	}
	if storyPlatforms[strings.ToLower(string(s.Platform()))].servesNoMetrics {
		return holder, nil
	}
	client, err := operandprobe.Client(ctx, s.kube, s.RESTConfig())
	if err != nil {
		return "", err
	}
	var leaders []string
	for _, n := range s.ControlPlane() {
		leads, err := operandprobe.Leads(ctx, client, n.IP())
		if err != nil {
			return "", err
		}
		if leads {
			leaders = append(leaders, n.Name())
		}
	}
	if len(leaders) != 1 || leaders[0] != holder {
		return "", fmt.Errorf("%v lead and %s holds the lease", leaders, holder)
	}
	return holder, nil
}

func (s *suite) testRollout(t *testing.T) {
	before := s.revision(t)
	s.expectRollout("a key of the cloud configuration is changed")
	s.operands.sample()
	began := s.setCloudConfig(t, s.cloudConfig(t)+"max-shared-lb = 3\n")

	s.await(t, "the first node to run the new revision", rolloutLimit, func(context.Context) error {
		if reached := s.operands.reached(before + 1); reached == 0 {
			return fmt.Errorf("no pod of revision %d", before+1)
		}
		return nil
	})
	require.Less(t, s.operands.reached(before+1), nodes, "the rollout is to be in the middle")
	s.killOperator(t)

	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.figure("change of a cloud configuration key to %d nodes at the new revision, the operator killed once: %s", nodes,
		rounded(began))
	s.requirePreflightSucceeded(t, began)
	s.operands.requireServing(t)
	for _, n := range s.Nodes() {
		path := fmt.Sprintf("etc/kubernetes/static-pod-resources/cloud-controller-manager-pod-%d/secrets/cloud-config/cloud.conf", before+1)
		content, err := os.ReadFile(filepath.Join(n.Root(), path))
		require.NoError(t, err)
		require.Regexp(t, `(?m)^max-shared-lb\s*=\s*"?3"?$`, string(content))
	}
	began = time.Now()
	s.requireOneLeader(t)
	s.figure("end of the rollout to a leader: %s", rounded(began))
}

// expectRollout announces a new revision. The lease moves once, to the first node that has the revision, and the leader's
// node rolls last. In about one of thirty rollouts it moves again a minute later: another standby took it first.
func (s *suite) expectRollout(why string) {
	s.monitor.Expect(monitor.Rollout(why), monitor.NewLeader(why).Times(mostMoves))
}

// mostMoves is how often a rollout may move the lead.
const mostMoves = 2

// killOperator ends the operator's process like the kernel's OOM killer.
func (s *suite) killOperator(t *testing.T) {
	t.Helper()
	pids := s.processes(t, operatorBinary, "operator")
	require.Len(t, pids, 1, "one operator runs")
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
}

// processes returns the processes of this cluster's nodes with the program and, unless it is empty, the first argument.
func (s *suite) processes(t *testing.T, program, argument string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		content, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(string(content), "\x00")
		if words[0] == program && (argument == "" || words[1] == argument) && s.nodeOf(pid) != nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// nodeOf returns the cluster's node whose first process is an ancestor of a process, or nil.
func (s *suite) nodeOf(pid int) *node.Node {
	for pid > 1 {
		for _, n := range s.Nodes() {
			if n.PID() == pid {
				return n
			}
		}
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil
		}
		// The name in parentheses may contain any character; the state and the parent follow it.
		fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return nil
		}
	}
	return nil
}

// memory returns the resident memory in MiB of the largest process.
func (s *suite) memory(t *testing.T, program, argument string) int {
	t.Helper()
	biggest := 0
	for _, pid := range s.processes(t, program, argument) {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		require.NoError(t, err)
		pages, err := strconv.Atoi(strings.Fields(string(content))[1])
		require.NoError(t, err)
		biggest = max(biggest, pages*os.Getpagesize()/(1<<20))
	}
	require.NotZero(t, biggest, "%s %s runs", program, argument)
	return biggest
}

func (s *suite) testBrokenConfiguration(t *testing.T) {
	const detectionLimit = 30 * time.Second
	good := s.cloudConfig(t)
	revision, containers := s.revision(t), s.operands.containers()
	for _, broken := range []struct {
		what, text string
		message    []string
	}{
		{"a typo", strings.Replace(good, "max-shared-lb", "max-shared-ld", 1),
			[]string{"configmap/cloud-provider-config in openshift-config", "max-shared-ld", "max-shared-lb"}},
		{"an unclosed section", strings.Replace(good, "[LoadBalancer]", "[LoadBalancer", 1),
			[]string{"configmap/cloud-provider-config in openshift-config"}},
	} {
		line := lineOfDifference(good, broken.text)
		s.monitor.Expect(monitor.Degraded(fmt.Sprintf("line %d:", line), broken.what+" in the cloud configuration"))
		began := s.setCloudConfig(t, broken.text)
		s.awaitDegraded(t, detectionLimit, append(broken.message, fmt.Sprintf("line %d:", line))...)
		s.figure("%s to Degraded=True with line %d: %s", broken.what, line, rounded(began))

		began = s.setCloudConfig(t, good)
		s.await(t, "a clean ClusterOperator", detectionLimit, s.clean)
		s.figure("%s undone to clean: %s", broken.what, rounded(began))
	}
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly), "no new revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

func lineOfDifference(a, b string) int {
	lines, others := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range lines {
		if lines[i] != others[i] {
			return i + 1
		}
	}
	return 0
}

func (s *suite) testCredentials(t *testing.T) {
	before := s.revision(t)
	s.expectRollout("the password is rotated")
	require.NoError(t, s.Cloud().SetPassword("rotated-2b7e151628aed2a6"))
	observed := s.observeRollout(t)
	s.setCredentials(t, s.Cloud().CloudsYAML())
	began := time.Now()
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	observed.requireQuiet(t)
	s.figure("change of clouds.yaml to %d nodes at the new revision: %s", nodes, rounded(began))

	// The provider logs in at its start, so every Ready pod has logged in. Only the leader uses the cloud afterwards,
	// and a newly created node makes it do so.
	leader := s.requireOneLeader(t)
	calls := s.Cloud().Requests()[openstack.ComputeServers]
	deleted, containers := s.follower(t, leader), s.operands.containers()
	s.monitor.Expect(monitor.NodeDeleted(deleted.Name(), "the test deletes it"),
		monitor.Uninitialized(deleted.Name(), "its Node registers again"))
	require.NoError(t, s.kube.CoreV1().Nodes().Delete(t.Context(), deleted.Name(), metav1.DeleteOptions{}))
	require.NoError(t, deleted.RestartKubelet(t.Context()))
	s.await(t, deleted.Name()+" to be initialized with the new password", briefly,
		func(ctx context.Context) error { return s.initialized(ctx, deleted) })
	require.Greater(t, s.Cloud().Requests()[openstack.ComputeServers], calls, "the cloud was asked")
	// For the operator it is another node. The installer finds the revision there, and the process goes on.
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

// follower returns a node that neither leads nor runs the operator.
func (s *suite) follower(t *testing.T, leader string) *node.Node {
	t.Helper()
	return s.followers(t, leader)[0]
}

// followers returns the nodes that neither lead nor run the operator. There is at least one.
func (s *suite) followers(t *testing.T, leader string) []*node.Node {
	t.Helper()
	pods, err := s.kube.CoreV1().Pods(operatorNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	busy := map[string]bool{leader: true}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			busy[pod.Spec.NodeName] = true
		}
	}
	free := slices.DeleteFunc(s.ControlPlane(), func(n *node.Node) bool { return busy[n.Name()] })
	require.NotEmpty(t, free, "every node leads or runs the operator: %v", busy)
	return free
}

func (s *suite) testKubelet(t *testing.T) {
	leader := s.requireOneLeader(t)
	revision, containers := s.revision(t), s.operands.containers()
	require.NoError(t, s.Node(leader).RestartKubelet(t.Context()))
	restarted := time.Now()
	s.await(t, "the restarted kubelet to report", briefly, func(ctx context.Context) error {
		object, err := s.kube.CoreV1().Nodes().Get(ctx, leader, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && c.LastHeartbeatTime.After(restarted) {
				return nil
			}
		}
		return fmt.Errorf("%v", object.Status.Conditions)
	})
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

// keepRevisions sets how many revisions the pruners keep.
func (s *suite) keepRevisions(t *testing.T, limit int) {
	t.Helper()
	_, err := s.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"failedRevisionLimit": %d, "succeededRevisionLimit": %d}}`, limit, limit),
		metav1.PatchOptions{})
	require.NoError(t, err)
}

// testPruning needs old revisions from the steps before it.
func (s *suite) testPruning(t *testing.T) {
	revision, containers := s.revision(t), s.operands.containers()
	require.Greater(t, revision, int32(1))
	s.keepRevisions(t, 1)
	for _, n := range s.Nodes() {
		s.await(t, n.Name()+" to have the latest revision only", briefly, func(context.Context) error {
			directories, err := filepath.Glob(filepath.Join(n.Root(),
				"etc/kubernetes/static-pod-resources/cloud-controller-manager-pod-*"))
			if err != nil {
				return err
			}
			if len(directories) != 1 || filepath.Base(directories[0]) != fmt.Sprintf("cloud-controller-manager-pod-%d",
				revision) {
				return fmt.Errorf("it has %v", directories)
			}
			return nil
		})
	}
	s.await(t, "the Secrets of the revision before to be gone", briefly, func(ctx context.Context) error {
		_, err := s.kube.CoreV1().Secrets(targetNamespace).Get(ctx, fmt.Sprintf("cloud-credentials-%d", revision-1),
			metav1.GetOptions{})
		return gone(err)
	})
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

// servedCertificate returns the serving certificate of a node's cloud-controller-manager.
func servedCertificate(ctx context.Context, n *node.Node) (*x509.Certificate, error) {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(n.IP(), "10258"))
	if err != nil {
		return nil, err
	}
	certificate := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	return certificate, connection.Close()
}
