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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// namedLimit is how long a cause may stay unnamed: half a minute until a node counts, half a minute until the log is
// read again, a minute until a silent leader counts, and five until another component's taint does.
const namedLimit = 6 * time.Minute

// causes is a cluster with a worker that waits, and why.
type causes struct {
	*suite
	worker *node.Node
	// table has a row for each cause.
	table []string
}

// aCause is a reason why a node is not initialized, or has drifted.
type aCause struct {
	name string
	// inject causes it, and returns what ends it.
	inject func(c *causes, t *testing.T) (end func())
	// says is what NodeInitializationNotices must say about the worker, or about the object of a drift.
	says string
}

// TestEachCauseIsNamed causes what keeps a node waiting, or makes one drift, one after the other, and requires that the
// operator names it. A deaf leader has a test of its own.
func TestEachCauseIsNamed(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes a quarter of an hour")
	}
	c := &causes{suite: startSuite(t, devcluster.Options{
		Name: "e2e-causes", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	c.awaitSettled(t, 1, rolloutLimit)
	c.requireOneLeader(t)
	var err error
	c.worker, err = c.AddWorker(t.Context())
	require.NoError(t, err)
	c.await(t, "the worker to be initialized", briefly, func(ctx context.Context) error { return c.initialized(ctx, c.worker) })
	t.Cleanup(func() { fmt.Fprintf(os.Stderr, "causes:\n%s\n", strings.Join(c.table, "\n")) })
	for _, cause := range slices.Concat(causesOfTheCloud(), causesOfTheCluster()) {
		t.Run(cause.name, func(t *testing.T) { c.run(t, &cause) })
	}
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
	message := c.awaitNamed(t, cause.says)
	seconds := time.Since(began).Seconds()
	fmt.Fprintln(os.Stderr, "  message:", message)
	c.table = append(c.table, fmt.Sprintf("| %s | %s | %.0f s |", cause.name, cause.says, seconds))
	fmt.Fprintln(os.Stderr, "  row:", c.table[len(c.table)-1])
	end()
	c.await(t, "the notice to end", leaderLimit, func(ctx context.Context) error {
		notice, err := c.notice(ctx)
		if err == nil && notice.Status != operatorv1.ConditionFalse {
			err = errors.New(notice.Message)
		}
		return err
	})
}

// awaitNamed waits until the notice has the text.
func (c *causes) awaitNamed(t *testing.T, text string) (message string) {
	t.Helper()
	c.await(t, text, namedLimit, func(ctx context.Context) error {
		notice, err := c.notice(ctx)
		if err != nil {
			return err
		}
		message = notice.Message
		return contains(message, text)
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

// refuses makes the cloud answer requests for one endpoint with a status.
func refuses(endpoint string, status int) func(*causes, *testing.T) func() {
	return func(c *causes, t *testing.T) func() {
		require.NoError(t, c.Cloud().Fail(endpoint, status))
		c.taintUninitialized(t, c.worker)
		return func() { require.NoError(t, c.Cloud().Fail(endpoint, 0)) }
	}
}

// hasServers gives the cloud other servers for the worker, which registers again without a provider ID.
func hasServers(others ...openstack.Instance) func(*causes, *testing.T) func() {
	return func(c *causes, t *testing.T) func() {
		c.Cloud().SetServers(append(slices.DeleteFunc(c.servers(), func(i openstack.Instance) bool {
			return i.Name == c.worker.Name()
		}), named(others, c.worker)...))
		require.NoError(t, c.kube.CoreV1().Nodes().Delete(t.Context(), c.worker.Name(), metav1.DeleteOptions{}))
		require.NoError(t, c.worker.RestartKubelet(t.Context()))
		return func() { c.Cloud().SetServers(c.servers()) }
	}
}

// named returns the servers with the worker's name, and its address unless they have one.
func named(servers []openstack.Instance, worker *node.Node) []openstack.Instance {
	for i := range servers {
		servers[i].Name = worker.Name()
		if servers[i].Addresses == nil {
			servers[i].Addresses = []string{worker.IP()}
		}
	}
	return servers
}

func causesOfTheCloud() []aCause {
	const id = "9c1a6b52-55f8-4c5e-8d6a-4f0f6a0e2c0"
	return []aCause{
		{"the cloud answers with 503", refuses(openstack.AllEndpoints, http.StatusServiceUnavailable),
			"the cloud's API answers with a server error"},
		{"the cloud answers with 429", refuses(openstack.AllEndpoints, http.StatusTooManyRequests),
			"the cloud throttles requests"},
		{"the cloud answers with 401", refuses(openstack.AllEndpoints, http.StatusUnauthorized),
			"the cloud rejects the credentials"},
		{"the cloud answers with 403", refuses(openstack.ComputeServer, http.StatusForbidden),
			"the credentials lack a permission"},
		{"the cloud does not answer", func(c *causes, t *testing.T) func() {
			require.NoError(t, c.Cloud().Delay(openstack.ComputeServer, time.Hour))
			c.taintUninitialized(t, c.worker)
			return func() { require.NoError(t, c.Cloud().Delay(openstack.ComputeServer, 0)); c.killLeader(t) }
		}, "the cloud has not answered the cloud-controller-manager yet"},
		{"the cloud's certificate has expired", func(c *causes, t *testing.T) func() {
			c.Cloud().ExpireCertificate(true)
			c.taintUninitialized(t, c.worker)
			return func() { c.Cloud().ExpireCertificate(false) }
		}, "the certificate of the cloud's API is not trusted"},
		{"the cloud has no server of that name", hasServers(), "the cloud does not know the machine"},
		{"the cloud has two servers of that name", hasServers(openstack.Instance{ID: id + "1"}, openstack.Instance{ID: id + "2"}),
			"the cloud has several instances that match the node"},
		{"the server has another address", hasServers(openstack.Instance{Addresses: []string{"192.0.2.77"}}),
			"the node's IP is not among the addresses that the cloud has for the machine"},
	}
}

func causesOfTheCluster() []aCause {
	return []aCause{
		{"the leader hangs", func(c *causes, t *testing.T) func() {
			leader := c.requireOneLeader(t)
			pids := c.processesOn(t, leader, operandBinary, "")
			require.Len(t, pids, 1)
			require.NoError(t, syscall.Kill(pids[0], syscall.SIGSTOP))
			c.taintUninitialized(t, c.worker)
			return func() { _ = syscall.Kill(pids[0], syscall.SIGCONT) } // its kubelet may have ended it
		}, "no cloud-controller-manager of this operator leads"},
		{"a kubelet was started for no cloud", foreignNode(func(*corev1.Node, *causes) {}),
			"node/foreign: no providerID, and its kubelet registered it without the taint"},
		{"a node has lost its address", foreignNode(func(n *corev1.Node, _ *causes) {
			n.Spec.ProviderID = "openstack:///" + openstack.InstanceID("foreign")
			n.Status.Addresses = nil
		}), "node/foreign: initialized, but without an address of type InternalIP"},
		{"a machine on vSphere is another one", foreignNode(func(n *corev1.Node, _ *causes) {
			n.Spec.ProviderID = "vsphere://4237a1b2-0000-4000-8000-000000000001"
			n.Status.NodeInfo.SystemUUID = "4237a1b2-0000-4000-8000-000000000002"
		}), "is that of another machine than the systemUUID"},
		{"two Nodes are of one machine", foreignNode(func(n *corev1.Node, c *causes) {
			n.Spec.ProviderID = "openstack:///" + openstack.InstanceID(c.worker.Name())
		}), "they have the same providerID"},
		{"another component's taint stays", func(c *causes, t *testing.T) func() {
			const taint = "node.cilium.io/agent-not-ready"
			c.setTaints(t, corev1.Taint{Key: taint, Effect: corev1.TaintEffectNoSchedule})
			return func() { c.setTaints(t) }
		}, `initialized, but the taint "node.cilium.io/agent-not-ready" of another component keeps pods away`},
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
