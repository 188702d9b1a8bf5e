package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	configclient "github.com/openshift/client-go/config/clientset/versioned"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	operatorName      = "cluster-cloud-controller-manager-operator"
	operatorLock      = operatorName + "-lock"
	operatorBinary    = "/usr/bin/cluster-cloud-controller-manager-operator"
	syncerBinary      = "/usr/bin/file-syncer"
	targetNamespace   = "openshift-cloud-controller-manager"
	configNamespace   = "openshift-config"
	clusterOperator   = "cloud-controller-manager"
	operand           = "cloud-controller-manager"
	uninitialized     = "node.cloudprovider.kubernetes.io/uninitialized"

	nodes = 3

	// rolloutLimit is the timeout of a rollout over three nodes. It takes half a minute, and about three minutes more
	// if a node with the operator, or the leader, does not report: their leases have to expire.
	rolloutLimit = 10 * time.Minute
	// leaderLimit exceeds the time until another process leads: on a single node the lease lasts 270 s, and a standby
	// asks for it every 60 to 132 s.
	leaderLimit = 10 * time.Minute
	// harness is what a test adds to what it measures: it asks five times a second, and answers take longer on busy cores.
	// Each suite measures it, see suite.late, and prints it with its figures: usually half a second, and 1.8 s on two
	// busy cores.
	harness = 2 * time.Second
	// The following limits are the product's promises.
	//
	// namedLimit is how long a cause may stay unnamed: half a minute until it counts, and half a minute until the log is
	// read again.
	namedLimit = visibleLimit + harness
	// cleanLimit is how long the effects of a fault may outlast its repair.
	cleanLimit = time.Minute + harness
	// goodLimit is how long a good change may wait for its preflight.
	goodLimit = 20*time.Second + harness
	// fallbackLimit is how long a node may have a revision that fails.
	fallbackLimit = time.Minute + harness
	// repairLimit is how long a damaged file may stay.
	repairLimit = time.Minute + harness
	// moveLimit is how long two processes may start at the same time while the lead moves in a rollout.
	moveLimit = 15*time.Second + harness
	// briefly is the timeout of operations that take seconds and that no promise limits: those of the tests themselves.
	briefly  = 2 * time.Minute
	interval = 200 * time.Millisecond
)

// suite is the cluster with the tests' other state.
type suite struct {
	*devcluster.Cluster
	kube     kubernetes.Interface
	config   configclient.Interface
	dynamic  dynamic.Interface
	operands *operands
	figures  []string
	// late is the longest time by which await may have seen a condition late: from the start of the last look without it,
	// or from the call, to the end of the look with it.
	late time.Duration
	// size is the number of control-plane nodes.
	size int

	// monitor fails the test for an unannounced degradation.
	monitor *monitor.Monitor
	watches *monitor.Watches
}

// runBesideOthers lets a test of the short suite run beside another one: they mostly wait, and only one of
// them has more than one node. Each test of the long suites has the machine for itself, because they measure times.
func runBesideOthers(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Parallel()
	}
}

// startSuite starts a cluster and its monitor, and announces the expected transitions of the start. Its cleanup
// prints the figures and the timeline.
func startSuite(t *testing.T, options devcluster.Options, expected ...monitor.Expectation) *suite {
	t.Helper()
	began := time.Now()
	cluster, err := devcluster.Start(t.Context(), options)
	require.NoError(t, err)
	s := &suite{Cluster: cluster, size: options.Nodes}
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(s.printFigures)
	s.figure("control plane and %d nodes: %s", options.Nodes, rounded(began))

	config := cluster.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // the manifests' warnings are not about these tests
	var errs [3]error
	s.kube, errs[0] = kubernetes.NewForConfig(config)
	s.config, errs[1] = configclient.NewForConfig(config)
	s.dynamic, errs[2] = dynamic.NewForConfig(config)
	require.NoError(t, errors.Join(errs[:]...))
	s.startMonitor(t, expected)
	s.operands = watchOperands(t, s.kube)
	return s
}

// startMonitor watches until the end of the test. Unannounced transitions of the last step then fail the test.
func (s *suite) startMonitor(t *testing.T, expected []monitor.Expectation) {
	t.Helper()
	s.monitor = monitor.New(time.Now)
	s.monitor.Expect(expected...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s.watches = s.monitor.Watch(ctx, s.dynamic)
	t.Cleanup(func() {
		s.requireAnnounced(ctx, t)
		cancel()
		s.watches.Wait()
		fmt.Fprintln(os.Stderr, "timeline, in minutes and seconds since the cluster's start:")
		require.NoError(t, s.monitor.WriteTimeline(os.Stderr))
	})
}

// requireAnnounced fails the test for each unannounced transition of the running step.
func (s *suite) requireAnnounced(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := s.watches.CatchUp(ctx); err != nil {
		t.Errorf("monitor: %v", err)
	}
	for _, violation := range s.monitor.Violations() {
		t.Errorf("monitor: %s", violation)
	}
}

// figure records a measurement; it is printed immediately and again at the end.
func (s *suite) figure(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.figures = append(s.figures, line)
	fmt.Fprintln(os.Stderr, "  measured:", line)
}

func (s *suite) printFigures() {
	s.figures = append(s.figures, fmt.Sprintf("the harness saw each condition at most %s late; limits add %s",
		s.late.Round(10*time.Millisecond), harness))
	fmt.Fprintf(os.Stderr, "measured:\n  %s\n", strings.Join(s.figures, "\n  "))
}

func rounded(since time.Time) time.Duration { return time.Since(since).Round(100 * time.Millisecond) }

// await repeats check until it returns nil. After the limit the test fails with the expected state, the last error,
// and the state of the cluster.
func (s *suite) await(t *testing.T, what string, limit time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	former, latest := time.Now(), time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), interval, limit, true, func(ctx context.Context) (bool, error) {
		former, latest = latest, time.Now()
		last = check(ctx)
		return last == nil, nil
	})
	s.late = max(s.late, time.Since(former))
	if err != nil {
		require.Failf(t, "timed out", "waiting %[2]s for %[1]s: %[3]v\n%s", what, limit, last, s.describe())
	}
}

// gone returns nil if err, the answer to a request for an object, says that it does not exist.
func gone(err error) error {
	switch {
	case err == nil:
		return errors.New("it exists")
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// describe returns the state for failures: conditions, pods, taints and the last events.
func (s *suite) describe() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var b strings.Builder
	for _, part := range []func(context.Context, io.Writer) error{s.describeStatus, s.describePods, s.describeNodes, s.describeEvents} {
		if err := part(ctx, &b); err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	fmt.Fprintf(&b, "logs: %s\n", filepath.Join(s.Dir(), "logs"))
	return b.String()
}

func (s *suite) describeStatus(ctx context.Context, out io.Writer) error {
	reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range reported.Status.Conditions {
		fmt.Fprintf(out, "clusteroperator %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	for _, c := range resource.Status.Conditions {
		fmt.Fprintf(out, "condition %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	fmt.Fprintf(out, "latest revision %d\n", resource.Status.LatestAvailableRevision)
	for _, n := range resource.Status.NodeStatuses {
		fmt.Fprintf(out, "%s: current %d, target %d, last failed %d %s\n", n.NodeName, n.CurrentRevision,
			n.TargetRevision, n.LastFailedRevision, n.LastFailedReason)
	}
	return nil
}

func (s *suite) describePods(ctx context.Context, out io.Writer) error {
	for _, namespace := range []string{operatorNamespace, targetNamespace} {
		pods, err := s.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodSucceeded {
				continue
			}
			fmt.Fprintf(out, "pod %s %s ready=%t\n", pod.Name, pod.Status.Phase, isReady(&pod))
			for _, c := range pod.Status.ContainerStatuses {
				if !c.Ready {
					fmt.Fprintf(out, "  %s: %+v, before %+v\n", c.Name, c.State, c.LastTerminationState)
				}
			}
		}
	}
	return nil
}

func (s *suite) describeNodes(ctx context.Context, out io.Writer) error {
	list, err := s.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		fmt.Fprintf(out, "node %s %q taints %v\n", n.Name, n.Spec.ProviderID, n.Spec.Taints)
	}
	return nil
}

func (s *suite) describeEvents(ctx context.Context, out io.Writer) error {
	const last = 15
	for _, namespace := range []string{operatorNamespace, targetNamespace} {
		list, err := s.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		events := list.Items
		slices.SortFunc(events, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
		for _, e := range events[max(0, len(events)-last):] {
			fmt.Fprintf(out, "event %s %s %s: %s\n", e.LastTimestamp.Format(time.TimeOnly), e.InvolvedObject.Name,
				e.Reason, e.Message)
		}
	}
	return nil
}

// resource reads the operator resource.
func (s *suite) resource(ctx context.Context) (*ccmv1.CloudControllerManager, error) {
	object, err := s.dynamic.Resource(ccmv1.Resource).Get(ctx, ccmv1.InstanceName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	resource := &ccmv1.CloudControllerManager{}
	return resource, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, resource)
}

func (s *suite) revision(t *testing.T) int32 {
	t.Helper()
	resource, err := s.resource(t.Context())
	require.NoError(t, err)
	return resource.Status.LatestAvailableRevision
}

// settled returns nil when every node runs Ready pods of the latest revision, which is at least the given one, and
// the ClusterOperator is healthy.
func (s *suite) settled(ctx context.Context, atLeast int32) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	latest := resource.Status.LatestAvailableRevision
	if latest < atLeast {
		return fmt.Errorf("the latest revision is %d", latest)
	}
	if len(resource.Status.NodeStatuses) != s.size {
		return fmt.Errorf("%d nodes have a status", len(resource.Status.NodeStatuses))
	}
	for _, status := range resource.Status.NodeStatuses {
		if status.CurrentRevision != latest {
			return fmt.Errorf("%s is at revision %d of %d", status.NodeName, status.CurrentRevision, latest)
		}
	}
	if err := s.operands.allReady(latest, s.size); err != nil {
		return err
	}
	return s.clean(ctx)
}

// clean returns nil when the ClusterOperator is Available and neither Progressing nor Degraded.
func (s *suite) clean(ctx context.Context) error {
	want := map[configv1.ClusterStatusConditionType]configv1.ConditionStatus{
		configv1.OperatorAvailable:   configv1.ConditionTrue,
		configv1.OperatorProgressing: configv1.ConditionFalse,
		configv1.OperatorDegraded:    configv1.ConditionFalse,
	}
	reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range reported.Status.Conditions {
		if status, counts := want[c.Type]; counts && c.Status != status {
			return fmt.Errorf("the ClusterOperator has %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		delete(want, c.Type)
	}
	if len(want) > 0 {
		return fmt.Errorf("the ClusterOperator lacks %v", want)
	}
	return nil
}

// awaitSettled waits for settled and returns the revision.
func (s *suite) awaitSettled(t *testing.T, atLeast int32, limit time.Duration) int32 {
	t.Helper()
	what := fmt.Sprintf("%d nodes at the latest revision, at least %d, and a clean ClusterOperator", s.size, atLeast)
	s.await(t, what, limit, func(ctx context.Context) error { return s.settled(ctx, atLeast) })
	return s.revision(t)
}

// awaitDegraded waits until the ClusterOperator is Degraded with the texts in its message.
func (s *suite) awaitDegraded(t *testing.T, limit time.Duration, texts ...string) {
	t.Helper()
	s.await(t, fmt.Sprintf("Degraded=True with %q", texts), limit,
		func(ctx context.Context) error { return s.degradedWith(ctx, texts...) })
}

// degradedWith returns nil if the ClusterOperator is Degraded with the texts in its message.
func (s *suite) degradedWith(ctx context.Context, texts ...string) error {
	reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range reported.Status.Conditions {
		if c.Type == configv1.OperatorDegraded {
			return contains(string(c.Status)+": "+c.Message, append(texts, "True: ")...)
		}
	}
	return errors.New("there is no such condition")
}

func contains(text string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q is not in %q", part, text)
		}
	}
	return nil
}

// leader returns the node of the holder of the operand's lease.
func (s *suite) leader(ctx context.Context) (node string, lease *coordinationv1.Lease, err error) {
	lease, err = s.kube.CoordinationV1().Leases(targetNamespace).Get(ctx, operand, metav1.GetOptions{})
	if err != nil {
		return "", nil, err
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") == "" || lease.Spec.RenewTime == nil { // a released lease has ""
		return "", nil, errors.New("the lease has no holder")
	}
	node, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	return node, lease, nil
}

// cloudConfig returns the user's cloud configuration.
func (s *suite) cloudConfig(t *testing.T) string {
	t.Helper()
	configMap, err := s.kube.CoreV1().ConfigMaps(configNamespace).Get(t.Context(), "cloud-provider-config",
		metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, configMap.Data["config"])
	return configMap.Data["config"]
}

// setCloudConfig writes the user's cloud configuration and returns when it did.
func (s *suite) setCloudConfig(t *testing.T, text string) time.Time {
	t.Helper()
	return s.setCloudConfigKey(t, "config", text)
}

// setCloudConfigKey writes a key of the ConfigMap with the cloud configuration and returns when it did.
func (s *suite) setCloudConfigKey(t *testing.T, key, text string) time.Time {
	t.Helper()
	return s.setConfigKey(t, "cloud-provider-config", key, text)
}

// setConfigKey changes a key of a ConfigMap of the cluster's configuration, and returns when.
func (s *suite) setConfigKey(t *testing.T, name, key, text string) time.Time {
	t.Helper()
	client := s.kube.CoreV1().ConfigMaps(configNamespace)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		configMap.Data[key] = text
		_, err = client.Update(t.Context(), configMap, metav1.UpdateOptions{})
		return err
	}))
	return time.Now()
}

// patchDeployment applies a patch to the operator's Deployment.
func (s *suite) patchDeployment(t *testing.T, kind types.PatchType, patch string) {
	t.Helper()
	_, err := s.kube.AppsV1().Deployments(operatorNamespace).Patch(t.Context(), operatorName, kind, []byte(patch),
		metav1.PatchOptions{})
	require.NoError(t, err)
}
