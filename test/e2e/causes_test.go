package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// causes is a cluster with a worker that waits, and why.
type causes struct {
	*suite
	causePlatform
	cloud  causeCloud
	worker *node.Node
	// table has a row for each cause.
	table []string
}

// causeCloud is a cloud that causes what keeps a node waiting.
type causeCloud interface {
	ProviderID(name string) string
	Fail(endpoint string, status int) error
	Delay(endpoint string, duration time.Duration) error
	ExpireCertificate(expired bool)
	Disconnect()
	Duplicate(name string, twice bool) error
}

// causePlatform is a platform on which nodes are kept waiting.
type causePlatform struct {
	platform configv1.PlatformType
	api      func(*suite) causeCloud
	// machine is the endpoint that describes a node's machine, and foreign the provider ID of one that does not exist.
	machine, foreign string
	// host is the name of the cloud, if its configuration can have one.
	host string
}

var causePlatforms = []causePlatform{
	{
		platform: configv1.OpenStackPlatformType, api: func(s *suite) causeCloud { return s.Cloud() },
		machine: openstack.ComputeServer, foreign: "openstack:///" + openstack.InstanceID("foreign"),
		host: "openstack.example.com",
	},
	{
		platform: configv1.AWSPlatformType, api: func(s *suite) causeCloud { return s.AWS() },
		machine: aws.DescribeInstances, foreign: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718",
	},
	{
		platform: configv1.VSpherePlatformType, api: func(s *suite) causeCloud { return s.VSphere() },
		machine: vsphere.FindByUUID, foreign: "vsphere://4237a1b2-0000-4000-8000-000000000001",
	},
}

// aCause is a reason why a node is not initialized, or has drifted.
type aCause struct {
	name string
	// inject causes it, and returns what ends it.
	inject func(c *causes, t *testing.T) (end func())
	// again injects it again where it may come late, nil elsewhere.
	again func(c *causes, t *testing.T)
	// says is what NodeInitializationNotices must say about the worker, or about the object of a drift.
	// counts is after how long the cause counts, zero for the half minute that namedLimit includes.
	says   string
	counts time.Duration
	// never are the platforms on which it cannot be caused, and why.
	never map[configv1.PlatformType]string
}

// TestEachCauseIsNamed causes what keeps a node waiting, or makes one drift, one after the other, and requires that the
// operator names it. A deaf leader has a test of its own.
func TestEachCauseIsNamed(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes half an hour")
	}
	for _, p := range causePlatforms {
		t.Run(string(p.platform), func(t *testing.T) { testCauses(t, p) })
	}
}

func testCauses(t *testing.T, p causePlatform) {
	c := &causes{causePlatform: p, suite: startSuite(t, devcluster.Options{
		Name: "e2e-causes", Platform: p.platform, Nodes: nodes, QuickRestarts: true, CloudHost: p.host, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	c.cloud = p.api(c.suite)
	c.awaitSettled(t, 1, rolloutLimit)
	c.requireOneLeader(t)
	var err error
	c.worker, err = c.AddWorker(t.Context())
	require.NoError(t, err)
	c.await(t, "the worker to be initialized", briefly, c.workerInitialized)
	t.Cleanup(func() { fmt.Fprintf(os.Stderr, "causes:\n%s\n", strings.Join(c.table, "\n")) })
	for _, cause := range slices.Concat(causesOfTheCloud(), causesOfTheCluster()) {
		if why, never := cause.never[p.platform]; never {
			c.row("| %s | %s | – | %s |", p.platform, cause.name, why)
			continue
		}
		t.Run(cause.name, func(t *testing.T) { c.run(t, &cause) })
	}
}

// row adds a row to the table.
func (c *causes) row(format string, args ...any) {
	c.table = append(c.table, fmt.Sprintf(format, args...))
	fmt.Fprintln(os.Stderr, "  row:", c.table[len(c.table)-1])
}

// workerInitialized returns nil if the worker has the provider ID of its machine, and no taint.
func (c *causes) workerInitialized(ctx context.Context) error {
	object, err := c.kube.CoreV1().Nodes().Get(ctx, c.worker.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if want := c.cloud.ProviderID(c.worker.Name()); object.Spec.ProviderID != want || len(object.Spec.Taints) > 0 {
		return fmt.Errorf("it has the providerID %q, not %q, and the taints %v", object.Spec.ProviderID, want,
			object.Spec.Taints)
	}
	return nil
}

func (c *causes) run(t *testing.T, cause *aCause) {
	const often = 50
	c.monitor.Begin(cause.name)
	c.monitor.Expect(
		monitor.Uninitialized("", cause.name).Times(often), monitor.NewLeader(cause.name).Times(often),
		monitor.Degraded("", cause.name).Times(often), monitor.Unavailable("", cause.name).Times(often),
		monitor.NodeDeleted("", cause.name).Times(often),
	)
	began := time.Now()
	end := sync.OnceFunc(cause.inject(c, t))
	t.Cleanup(end)
	message := c.awaitNamed(t, cause)
	seconds := time.Since(began).Seconds()
	fmt.Fprintln(os.Stderr, "  message:", message)
	c.row("| %s | %s | %s | %.0f s |", c.platform, cause.name, cause.says, seconds)
	end()
	c.await(t, "the notice to end", leaderLimit, func(ctx context.Context) error {
		notice, err := c.notice(ctx)
		if err == nil && notice.Status != operatorv1.ConditionFalse {
			err = errors.New(notice.Message)
		}
		return err
	})
}

// awaitNamed waits until the notice names the cause, and injects it again if the worker was initialized in spite of it.
func (c *causes) awaitNamed(t *testing.T, cause *aCause) (message string) {
	t.Helper()
	c.await(t, cause.says, namedLimit+cause.counts, func(ctx context.Context) error {
		if cause.again != nil && c.workerInitialized(ctx) == nil {
			cause.again(c, t)
		}
		notice, err := c.notice(ctx)
		if err != nil {
			return err
		}
		message = notice.Message
		return contains(message, cause.says)
	})
	return message
}

func (c *causes) notice(ctx context.Context) (operatorv1.OperatorCondition, error) {
	resource, err := c.resource(ctx)
	if err != nil {
		return operatorv1.OperatorCondition{}, err
	}
	for _, condition := range resource.Status.Conditions {
		if condition.Type == "NodeInitializationNotices" {
			return condition, nil
		}
	}
	return operatorv1.OperatorCondition{}, errors.New("there is no such condition")
}

// refuses makes the whole cloud answer with a status.
func refuses(status int) func(*causes, *testing.T) func() {
	return func(c *causes, t *testing.T) func() { return c.refuse(t, devcluster.AllEndpoints, status) }
}

// refuse makes an endpoint answer with a status, and the worker wait.
func (c *causes) refuse(t *testing.T, endpoint string, status int) (end func()) {
	t.Helper()
	require.NoError(t, c.cloud.Fail(endpoint, status))
	c.taintUninitialized(t, c.worker)
	return func() { require.NoError(t, c.cloud.Fail(endpoint, 0)) }
}

// registersAgain makes the worker register again without a provider ID, after its machine has changed.
func registersAgain(change, restore func(c *causes) error) func(*causes, *testing.T) func() {
	return func(c *causes, t *testing.T) func() {
		require.NoError(t, change(c))
		err := c.kube.CoreV1().Nodes().Delete(t.Context(), c.worker.Name(), metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) { // the cloud-controller-manager may have deleted it
			require.NoError(t, err)
		}
		require.NoError(t, c.worker.RestartKubelet(t.Context()))
		return func() { require.NoError(t, restore(c)) }
	}
}

// resolve makes the processes that run resolve the name of the cloud or not. They have no connections to it then.
func (c *causes) resolve(t *testing.T, name bool) {
	t.Helper()
	for _, n := range c.Nodes() {
		require.NoError(t, n.ResolveInPods(name))
	}
	c.cloud.Disconnect()
}

func causesOfTheCloud() []aCause {
	return []aCause{
		{
			name: "the cloud answers with 503", inject: refuses(http.StatusServiceUnavailable),
			says: "the cloud's API answers with a server error",
		},
		{
			name: "the cloud answers with 429", inject: refuses(http.StatusTooManyRequests),
			says: "the cloud throttles requests",
		},
		{
			name: "the cloud answers with 401", inject: refuses(http.StatusUnauthorized),
			says: "the cloud rejects the credentials",
		},
		{
			name:   "the cloud answers with 403",
			inject: func(c *causes, t *testing.T) func() { return c.refuse(t, c.machine, http.StatusForbidden) },
			says:   "the credentials lack a permission",
		},
		{
			name: "the cloud does not answer",
			inject: func(c *causes, t *testing.T) func() {
				require.NoError(t, c.cloud.Delay(c.machine, time.Hour))
				c.taintUninitialized(t, c.worker)
				return func() { require.NoError(t, c.cloud.Delay(c.machine, 0)); c.killLeader(t) }
			},
			says: "the cloud has not answered the cloud-controller-manager yet",
		},
		{
			name: "the cloud's certificate has expired",
			inject: func(c *causes, t *testing.T) func() {
				c.cloud.ExpireCertificate(true)
				c.taintUninitialized(t, c.worker)
				return func() { c.cloud.ExpireCertificate(false) }
			},
			says: "the certificate of the cloud's API is not trusted",
		},
		{
			name: "the cloud's name does not resolve",
			inject: func(c *causes, t *testing.T) func() {
				c.resolve(t, false)
				c.taintUninitialized(t, c.worker)
				return func() { c.resolve(t, true) }
			},
			// Go remembers the file of hosts for five seconds (cacheMaxAge in net/hosts.go).
			again: func(c *causes, t *testing.T) { c.cloud.Disconnect(); c.taintUninitialized(t, c.worker) },
			says:  "the cloud's API cannot be reached from the control plane",
			never: map[configv1.PlatformType]string{
				configv1.AWSPlatformType:     "the stand-in has no name",
				configv1.VSpherePlatformType: "the stand-in has no name",
			},
		},
		{
			name: "the cloud has no machine of that name",
			inject: registersAgain(
				func(c *causes) error { return c.SetInstance(c.worker.Name(), false) },
				func(c *causes) error { return c.SetInstance(c.worker.Name(), true) },
			),
			says: "the cloud does not know the machine",
		},
		{
			name: "the cloud has two machines of that name",
			inject: registersAgain(
				func(c *causes) error { return c.cloud.Duplicate(c.worker.Name(), true) },
				func(c *causes) error { return c.cloud.Duplicate(c.worker.Name(), false) },
			),
			says: "the cloud has several instances that match the node",
			never: map[configv1.PlatformType]string{
				configv1.VSpherePlatformType: "the machine is found by the UUID of its firmware",
			},
		},
		{
			name: "the machine has another address",
			inject: func(c *causes, t *testing.T) func() {
				end := registersAgain(
					func(c *causes) error { return c.SetAddress(c.worker.Name(), "192.0.2.77") },
					func(c *causes) error { return c.SetAddress(c.worker.Name(), "") },
				)(c, t)
				return func() { end(); c.killLeader(t) } // vSphere's provider remembers the machine that is gone
			},
			says:  "the node's IP is not among the addresses that the cloud has for the machine",
			never: map[configv1.PlatformType]string{configv1.AWSPlatformType: "a kubelet there is started without an address"},
		},
	}
}

func causesOfTheCluster() []aCause {
	return []aCause{
		{
			name: "the leader hangs",
			inject: func(c *causes, t *testing.T) func() {
				pid := c.operandOn(t, c.requireOneLeader(t))
				require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
				c.taintUninitialized(t, c.worker)
				return func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // its kubelet may have ended it
			},
			says: "no cloud-controller-manager of this operator leads",
		},
		{
			name: "a kubelet was started for no cloud", inject: foreignNode(func(*corev1.Node, *causes) {}),
			says: "node/foreign: no providerID, and no taint",
		},
		{
			name: "a node has lost its address",
			inject: foreignNode(func(n *corev1.Node, c *causes) {
				n.Spec.ProviderID = c.foreign
				n.Status.Addresses = nil
			}),
			says: "node/foreign: initialized, but without an address of type InternalIP",
		},
		{
			name: "a machine is another one than the provider ID's",
			inject: foreignNode(func(n *corev1.Node, c *causes) {
				n.Spec.ProviderID = c.foreign
				n.Status.NodeInfo.SystemUUID = "4237a1b2-0000-4000-8000-000000000002"
			}),
			says: "is that of another machine than the systemUUID",
			never: map[configv1.PlatformType]string{
				configv1.OpenStackPlatformType: "a machine on bare metal has another UUID than its server",
				configv1.AWSPlatformType:       "a provider ID there has no UUID",
			},
		},
		{
			name: "another component's taint stays",
			inject: func(c *causes, t *testing.T) func() {
				const taint = "node.cilium.io/agent-not-ready"
				c.setTaints(t, corev1.Taint{Key: taint, Effect: corev1.TaintEffectNoSchedule})
				return func() { c.setTaints(t) }
			},
			counts: 5 * time.Minute,
			says:   `initialized, but the taint "node.cilium.io/agent-not-ready" of another component keeps pods away`,
		},
	}
}

// foreignNode creates a Ready Node without a kubelet. It stays Ready for the grace period of its kubelet's reports.
func foreignNode(change func(*corev1.Node, *causes)) func(*causes, *testing.T) func() {
	return func(c *causes, t *testing.T) func() {
		foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.78"}},
		}}
		change(foreign, c)
		nodes := c.kube.CoreV1().Nodes()
		_, err := nodes.Create(t.Context(), foreign, metav1.CreateOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		reports := make(chan struct{})
		go func() {
			defer close(reports)
			for {
				now := metav1.Now()
				if current, err := nodes.Get(ctx, foreign.Name, metav1.GetOptions{}); err == nil {
					current.Status = *foreign.Status.DeepCopy()
					current.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
						Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}}
					_, _ = nodes.UpdateStatus(ctx, current, metav1.UpdateOptions{}) // the next report follows
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(5 * time.Second):
				}
			}
		}()
		return func() {
			cancel()
			<-reports
			_ = nodes.Delete(context.WithoutCancel(ctx), foreign.Name, metav1.DeleteOptions{})
		}
	}
}

// setTaints replaces the worker's taints.
func (c *causes) setTaints(t *testing.T, taints ...corev1.Taint) {
	t.Helper()
	c.await(t, "the worker's taints", briefly, func(ctx context.Context) error {
		object, err := c.kube.CoreV1().Nodes().Get(ctx, c.worker.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Spec.Taints = taints
		_, err = c.kube.CoreV1().Nodes().Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}
