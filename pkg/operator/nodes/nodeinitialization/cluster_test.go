package nodeinitialization

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// cluster is a control plane whose API server answers requests for logs.
type cluster struct {
	*controlplanetest.Cluster
	clock      *clocktesting.FakeClock
	operator   v1helpers.OperatorClient
	controller *controller
	// events is the API for Events about nodes.
	events  *fake.Clientset
	factory informers.SharedInformerFactory
	// reported is the last report.
	reported []nodecause.Waiting

	mu sync.Mutex
	// log is what the leader logged, status that of an answer without it.
	log    string
	status int
	// started are the controllers that the leader says that it has started.
	started []string
	// reads are the requests that were answered.
	reads []string
}

// logsAndEvents is an API whose Events, and Nodes if they are set, are in memory.
type logsAndEvents struct {
	kubernetes.Interface
	events kubernetes.Interface
	nodes  corev1client.NodeInterface
}

func (k logsAndEvents) CoreV1() corev1client.CoreV1Interface {
	return core{CoreV1Interface: k.Interface.CoreV1(), events: k.events.CoreV1(), nodes: k.nodes}
}

type core struct {
	corev1client.CoreV1Interface
	events corev1client.EventsGetter
	nodes  corev1client.NodeInterface
}

func (c core) Events(namespace string) corev1client.EventInterface { return c.events.Events(namespace) }

func (c core) Nodes() corev1client.NodeInterface { return cmp.Or(c.nodes, c.CoreV1Interface.Nodes()) }

// start returns the control plane, on which m0 leads, at now.
func start(t *testing.T, observed string) *cluster {
	t.Helper()
	c := &cluster{Cluster: controlplanetest.New("m0", "m1", "m2"), clock: clocktesting.NewFakeClock(now), events: fake.NewClientset()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reads = append(c.reads, r.URL.String())
		if c.status != 0 {
			w.WriteHeader(c.status)
			return
		}
		lines := strings.SplitAfter(c.log, "\n")
		if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil {
			lines = lines[max(0, len(lines)-1-tail):]
		}
		text := strings.Join(lines, "")
		if limit, err := strconv.Atoi(r.URL.Query().Get("limitBytes")); err == nil { // A kubelet writes no more.
			text = text[:min(len(text), limit)]
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)

	infrastructures := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1().Infrastructures()
	require.NoError(t, infrastructures.Informer().GetStore().Add(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: configv1.HighlyAvailableTopologyMode},
	}))
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	lease, err := controlplane.NewLease(factory.Coordination().V1().Leases(), c.clock)
	require.NoError(t, err)
	c.operator = v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
	}, &operatorv1.OperatorStatus{}, nil)
	c.controller = New(controllertest.Complete(t, dependencies.Deps{
		Operator: controllertest.StaticPods(c.operator), Kube: logsAndEvents{Interface: api, events: c.events}, Lease: lease,
		Target: factory, Infrastructures: infrastructures, Clock: c.clock,
	}), Options{
		Mask:           func(text string) (string, error) { return text, nil },
		Started:        func(context.Context, *corev1.Pod) ([]string, error) { return c.started, nil },
		NodeController: &controlplane.NodeController{},
		Report:         func(waiting []nodecause.Waiting) { c.reported = waiting },
	}).(*controller)
	c.factory = factory
	c.settle(t)
	return c
}

// settle updates the caches.
func (c *cluster) settle(t *testing.T) {
	t.Helper()
	pods := c.controller.Target.Core().V1().Pods().Informer().GetStore()
	require.NoError(t, pods.Replace(nil, ""))
	for _, pod := range c.Pods {
		require.NoError(t, pods.Add(pod))
	}
	for _, pod := range c.Predecessors {
		require.NoError(t, pods.Add(pod))
	}
	c.controller.Lease.See(c.Lease.DeepCopy(), c.clock.Now())
}

// pass lets time pass, in which the leader renews its lease.
func (c *cluster) pass(t *testing.T, d time.Duration) {
	t.Helper()
	c.clock.Step(d)
	c.Renew(int(c.clock.Now().Sub(now) / time.Second))
	c.settle(t)
}

// logs replaces the leader's log.
func (c *cluster) logs(log string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = log
}

// sync calls the controller.
func (c *cluster) sync(t *testing.T) {
	t.Helper()
	recorder := events.NewInMemoryRecorder("test", c.clock)
	require.NoError(t, c.controller.sync(t.Context(), factory.NewSyncContext("test", recorder)))
}

// notice returns the message of the condition about nodes that wait.
func (c *cluster) notice(t *testing.T) string {
	t.Helper()
	c.sync(t)
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	return v1helpers.FindOperatorCondition(status.Conditions, NoticesCondition).Message
}

// wait makes nodes wait since a minute ago.
func (c *cluster) wait(nodes ...string) {
	c.controller.store.synced = true
	for _, node := range nodes {
		c.controller.store.waiting[node] = wait{
			since: now.Add(-time.Minute), machine: nodecause.Machine{Node: node, SystemUUID: "uuid-" + node, NodeIP: "192.0.2.7"},
		}
	}
}
