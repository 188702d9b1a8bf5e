package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/nodekeeper"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

const (
	// rush is the timeout until all Nodes of a rush are initialized.
	rush = 4 * time.Minute
	// rushLimit is the number of requests that a throttling cloud answers in a second.
	rushLimit = 10
	// singles is how many Nodes register one after the other in the rows of one Node.
	singles = 20
	// rushLabel selects the Nodes of a rush.
	rushLabel = "bench-rush"
)

// pace is how a cloud answers.
type pace struct {
	delay time.Duration
	limit int
}

var paces = []pace{{}, {delay: 300 * time.Millisecond}, {delay: 2 * time.Second}, {limit: rushLimit}}

func (p pace) String() string {
	if p.limit > 0 {
		return fmt.Sprintf("429 beyond %d requests a second", p.limit)
	}
	return fmt.Sprintf("%s an answer", p.delay)
}

// measureMany measures how long Nodes that register at once wait until they are initialized, with the real
// cloud-controller-manager in its static pod. The Nodes exist in the API and in the cloud only.
func measureMany(ctx context.Context, o options) (err error) {
	c, err := startClusterOf(ctx, o, devcluster.Options{Name: "bench-many", Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))) }()
	if err := c.awaitRevision(ctx, 1); err != nil {
		return err
	}
	if o.overrides != "" {
		patch := []byte(`{"spec":{"unsupportedConfigOverrides":` + o.overrides + `}}`)
		if _, err := c.dynamic.Resource(operatorResource).Patch(ctx, "cluster", types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := c.awaitRevision(ctx, 2); err != nil {
			return err
		}
	}
	resume, err := stopLifecycle(c.Cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resume()) }()
	for _, p := range paces {
		if err := c.measureSingles(ctx, p); err != nil {
			return fmt.Errorf("one Node, %s: %w", p, err)
		}
	}
	for _, n := range o.rushes {
		for _, p := range paces {
			if err := c.measureRush(ctx, n, p); err != nil {
				return fmt.Errorf("%d Nodes, %s: %w", n, p, err)
			}
		}
	}
	return c.measureRest(ctx)
}

// stopLifecycle stops kube-controller-manager, which would mark Nodes without a kubelet as unreachable. The CCM then
// asks the cloud for them. resume continues it.
func stopLifecycle(c *devcluster.Cluster) (resume func() error, err error) {
	manager := c.Processes()["kube-controller-manager"]
	if err := syscall.Kill(manager, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stopping kube-controller-manager: %w", err)
	}
	return func() error { return syscall.Kill(manager, syscall.SIGCONT) }, nil
}

// measureSingles registers Nodes one after the other and prints how long each waited.
func (c *cluster) measureSingles(ctx context.Context, p pace) error {
	if err := c.answer(p); err != nil {
		return err
	}
	before := len(c.Cloud().Calls())
	began := time.Now()
	var times []time.Duration
	for range singles {
		waited, err := c.register(ctx, 1)
		if err != nil {
			return err
		}
		times = append(times, waited...)
		if err := c.leaveRush(ctx); err != nil {
			return err
		}
	}
	slices.Sort(times)
	c.options.row(fmt.Sprintf("one new Node, %d times, %s", singles, p), "%s; %s",
		distribution(times, singles, time.Since(began)), describeCalls(c.Cloud().Calls()[before:], singles))
	return c.answer(pace{})
}

// answer makes the cloud answer at a pace.
func (c *cluster) answer(p pace) error {
	c.Cloud().Limit(p.limit)
	return c.Cloud().Delay(openstack.AllEndpoints, p.delay)
}

// measureRush registers n Nodes at once and prints how long they waited.
func (c *cluster) measureRush(ctx context.Context, n int, p pace) error {
	cloud := c.Cloud()
	if err := c.answer(p); err != nil {
		return err
	}
	before := len(cloud.Calls())
	began := time.Now()
	times, err := c.register(ctx, n)
	if err != nil {
		return err
	}
	ended := time.Now()
	calls := cloud.Calls()[before:]
	if err := c.answer(pace{}); err != nil {
		return err
	}
	c.options.row(fmt.Sprintf("%d new Nodes, %s", n, p), "%s; %s", distribution(times, n, ended.Sub(began)),
		describeCalls(calls, n))
	return c.leaveRush(ctx)
}

// measureRest counts the calls of the cloud while nothing happens, with as many initialized Nodes as in the last rush
// of the options.
func (c *cluster) measureRest(ctx context.Context) error {
	n := slices.Max(c.options.rushes)
	if _, err := c.register(ctx, n); err != nil {
		return err
	}
	// The CCM asks for the addresses of all Nodes every five minutes.
	before := len(c.Cloud().Calls())
	if err := pause(ctx, c.options.idle); err != nil {
		return err
	}
	calls := float64(len(c.Cloud().Calls())-before) / c.options.idle.Minutes()
	c.options.row(fmt.Sprintf("calls of the cloud with %d Nodes at rest", n), "%.0f a minute, in %s", calls,
		c.options.idle)
	return c.leaveRush(ctx)
}

// register registers n Nodes and returns the sorted times until each was initialized. It waits for all of them, but not
// longer than rush.
func (c *cluster) register(ctx context.Context, n int) ([]time.Duration, error) {
	if err := c.rushInto(ctx, n); err != nil {
		return nil, err
	}
	seen := &waits{registered: map[string]time.Time{}, initialized: map[string]time.Time{}}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := seen.watch(watching, c.kube); err != nil {
		return nil, err
	}
	if err := repeat(ctx, n, func(ctx context.Context, i int) error {
		node := newNode(i)
		seen.registers(node.Name)
		_, err := c.kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, rush, true,
		func(context.Context) (bool, error) { return len(seen.durations()) == n, nil })
	if ctx.Err() != nil {
		return nil, err
	}
	return seen.durations(), nil
}

// rushInto makes the cloud have n servers besides those of the cluster's own nodes.
func (c *cluster) rushInto(ctx context.Context, n int) error {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var servers []openstack.Instance
	for _, node := range nodes.Items {
		server := openstack.Instance{Name: node.Name}
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP {
				server.Addresses = append(server.Addresses, address.Address)
			}
		}
		servers = append(servers, server)
	}
	for i := range n {
		servers = append(servers, openstack.Instance{Name: newNode(i).Name,
			Addresses: []string{fmt.Sprintf("10.199.%d.%d", i/250, 1+i%250)}})
	}
	c.Cloud().SetServers(servers)
	return nil
}

// leaveRush deletes the Nodes of a rush and waits until they are gone.
func (c *cluster) leaveRush(ctx context.Context) error {
	nodes := c.kube.CoreV1().Nodes()
	selected := metav1.ListOptions{LabelSelector: rushLabel}
	present, err := nodes.List(ctx, selected)
	if err != nil {
		return err
	}
	if err := repeat(ctx, len(present.Items), func(ctx context.Context, i int) error {
		return nodes.Delete(ctx, present.Items[i].Name, metav1.DeleteOptions{})
	}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, timeout, true,
		func(ctx context.Context) (bool, error) {
			left, err := nodes.List(ctx, selected)
			return err == nil && len(left.Items) == 0, err
		})
}

// newNode is a Node as a kubelet registers it, Ready so that nobody asks the cloud whether its machine exists.
func newNode(i int) *corev1.Node {
	name := fmt.Sprintf("bench-rush-%d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{rushLabel: "", "kubernetes.io/hostname": name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: nodekeeper.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		},
	}
}

// waits are the times from the registration of each Node of a rush until it is initialized.
type waits struct {
	mutex       sync.Mutex
	registered  map[string]time.Time
	initialized map[string]time.Time
}

func (w *waits) registers(name string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.registered[name] = time.Now()
}

// watch records the Nodes that lose the taint until ctx is done. An informer, because the API server ends the watch of
// a client that a busy machine makes slow.
func (w *waits) watch(ctx context.Context, kube kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = rushLabel }))
	nodes := factory.Core().V1().Nodes().Informer()
	record := func(object any) {
		if node, is := object.(*corev1.Node); is && isInitialized(node) {
			w.initializes(node.Name)
		}
	}
	_, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    record,
		UpdateFunc: func(_, object any) { record(object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func (w *waits) initializes(name string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if _, seen := w.initialized[name]; !seen {
		w.initialized[name] = time.Now()
	}
}

func isInitialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return taint.Key == nodekeeper.UninitializedTaint })
}

// durations returns the times of those that are initialized, sorted.
func (w *waits) durations() []time.Duration {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var all []time.Duration
	for name, at := range w.initialized {
		if registered, known := w.registered[name]; known {
			all = append(all, at.Sub(registered))
		}
	}
	slices.Sort(all)
	return all
}

// distribution returns the percentiles of the sorted times, and how many of n are missing.
func distribution(times []time.Duration, n int, took time.Duration) string {
	if len(times) == 0 {
		return fmt.Sprintf("0 of %d after %.0f s", n, took.Seconds())
	}
	at := func(percent int) float64 { return times[(len(times)*percent+99)/100-1].Seconds() }
	text := fmt.Sprintf("p50 %.1f s, p90 %.1f s, p99 %.1f s, max %.1f s", at(50), at(90), at(99), at(100))
	if len(times) < n {
		text = fmt.Sprintf("%d of %d after %.0f s: ", len(times), n, took.Seconds()) + text
	}
	return text
}

// describeCalls returns the number of calls for each Node, and how many of all calls were refused.
func describeCalls(calls []devcluster.Call, n int) string {
	refused := 0
	for _, call := range calls {
		if call.Status >= 400 {
			refused++
		}
	}
	text := fmt.Sprintf("%.1f calls a Node", float64(len(calls))/float64(n))
	if refused > 0 {
		text += fmt.Sprintf(", %d of %d refused", refused, len(calls))
	}
	return text
}

// numbers parses a list of numbers.
func numbers(text string) ([]int, error) {
	var all []int
	for _, field := range strings.Fields(text) {
		var number int
		if _, err := fmt.Sscanf(field, "%d", &number); err != nil || number < 1 {
			return nil, fmt.Errorf("%q is no number of Nodes", field)
		}
		all = append(all, number)
	}
	if len(all) == 0 {
		return nil, errors.New("no number of Nodes")
	}
	return all, nil
}
