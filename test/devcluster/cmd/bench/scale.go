package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

const (
	// updatesPerSecond is how often Nodes change: 15,000 kubelets write a status every five minutes.
	updatesPerSecond = 50
	// updateTime is how long they do.
	updateTime = 3 * time.Minute

	foreignNamespace = "bench-foreign"
)

// scale has numbers of objects.
type scale struct{ nodes, configMaps, services, events int }

func (s scale) String() string {
	return fmt.Sprintf("%d Nodes, %d foreign ConfigMaps, %d Services with a load balancer and %d foreign Events", s.nodes,
		s.configMaps, s.services, s.events)
}

// measureBeside starts a control plane without kubelets, and the operator beside it, and calls measure once it is at
// rest. Nothing marks the Nodes as unreachable, and no cloud-controller-manager asks for them.
func measureBeside(ctx context.Context, o options, measure func(s *starter, pid int) error) (err error) {
	binary, err := devcluster.BuildOperator(ctx, devcluster.Options{Progress: o.progress})
	if err != nil {
		return err
	}
	started, err := devcluster.Start(ctx, devcluster.Options{Name: "bench-scale",
		Platform: configv1.OpenStackPlatformType, Progress: o.progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, started.Stop(context.WithoutCancel(ctx))) }()
	resume, err := stopLifecycle(started)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resume()) }()
	s, err := newStarter(ctx, started, binary)
	if err != nil {
		return err
	}
	pid, stop, err := s.start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := pause(ctx, settle); err != nil {
		return err
	}
	return measure(s, pid)
}

// measureScale measures the operator at rest, at rest beside many objects, and while Nodes change.
func (s *starter) measureScale(ctx context.Context, o options, pid int) error {
	if err := s.measureLoad(ctx, o, pid, "without them", nil); err != nil {
		return err
	}
	fmt.Fprintln(o.progress, "making", o.scale)
	if err := s.fill(ctx, o.scale); err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	if err := s.measureLoad(ctx, o, pid, "with "+o.scale.String(), nil); err != nil {
		return err
	}
	return s.measureLoad(ctx, o, pid, fmt.Sprintf("while Nodes change %d times a second", updatesPerSecond),
		func(ctx context.Context) error { return s.changeNodes(ctx, o.scale.nodes) })
}

// measureLoad prints the operator's memory, and its CPU time and requests while do runs for updateTime; nil does
// nothing.
func (s *starter) measureLoad(
	ctx context.Context, o options, pid int, when string, do func(context.Context) error,
) error {
	before, err := usageOf(pid)
	if err != nil {
		return err
	}
	from := time.Now()
	if do == nil {
		do = func(ctx context.Context) error { return pause(ctx, updateTime) }
	}
	if err := do(ctx); err != nil {
		return err
	}
	to := time.Now()
	after, err := usageOf(pid)
	if err != nil {
		return err
	}
	requests, err := readAudit(s.AuditLog(), from, to)
	if err != nil {
		return err
	}
	o.row("operator "+when, "%s; peak %.0f MiB; %.2f %% of a CPU; %d requests in %.0f s: %s", after, after.peak,
		100*(after.cpu-before.cpu)/to.Sub(from).Seconds(), len(requests), to.Sub(from).Seconds(),
		strings.Join(countKinds(requests), ", "))
	return nil
}

// fill makes the objects.
func (s *starter) fill(ctx context.Context, n scale) error {
	core := s.kube.CoreV1()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreignNamespace}}
	if _, err := core.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := repeat(ctx, n.nodes, func(ctx context.Context, i int) error {
		_, err := core.Nodes().Create(ctx, worker(i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	data := map[string]string{"data": strings.Repeat("x", 1000)}
	if err := repeat(ctx, n.configMaps, func(ctx context.Context, i int) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("foreign-%d", i)}, Data: data}
		_, err := core.ConfigMaps(foreignNamespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	if err := repeat(ctx, n.services, s.createService); err != nil {
		return err
	}
	return repeat(ctx, n.events, func(ctx context.Context, i int) error {
		// The CCM writes those about Nodes in this namespace.
		_, err := core.Events(metav1.NamespaceDefault).Create(ctx, foreignEvent(i), metav1.CreateOptions{})
		return err
	})
}

// createService creates a Service whose load balancer works.
func (s *starter) createService(ctx context.Context, i int) error {
	services := s.kube.CoreV1().Services(foreignNamespace)
	service, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("foreign-%d", i)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
			// 10,000 of them need more node ports than there are.
			AllocateLoadBalancerNodePorts: ptr.To(false),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{
		{IP: fmt.Sprintf("10.200.%d.%d", i/250, 1+i%250)},
	}
	_, err = services.UpdateStatus(ctx, service, metav1.UpdateOptions{})
	return err
}

// foreignEvent is one of a kubelet's about a Node.
func foreignEvent(i int) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("foreign-%d", i), Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{
			Kind: "Node", Name: fmt.Sprintf("bench-worker-%d", i), UID: types.UID(fmt.Sprintf("bench-%d", i)),
		},
		Reason: "NodeHasSufficientMemory", Message: strings.Repeat("x", 200), Type: corev1.EventTypeNormal,
		Source: corev1.EventSource{Component: "kubelet"}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
	}
}

// changeNodes writes statuses of Nodes for updateTime.
func (s *starter) changeNodes(ctx context.Context, nodes int) error {
	ticker := time.NewTicker(time.Second / updatesPerSecond)
	defer ticker.Stop()
	for i := range int(updateTime.Seconds()) * updatesPerSecond {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		heartbeat := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]}}`,
			time.Now().UTC().Format(time.RFC3339))
		_, err := s.kube.CoreV1().Nodes().Patch(ctx, worker(i%nodes).Name, types.StrategicMergePatchType, heartbeat,
			metav1.PatchOptions{}, "status")
		if err != nil {
			return err
		}
	}
	return nil
}

// worker is a Node that exists in the API only, initialized, Ready and of the usual size.
func worker(i int) *corev1.Node {
	name := fmt.Sprintf("bench-worker-%d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{"node-role.kubernetes.io/worker": "", "kubernetes.io/hostname": name},
			Annotations: map[string]string{"bench": strings.Repeat("x", 8000)},
		},
		Spec: corev1.NodeSpec{ProviderID: "openstack:///" + name},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			// Without one, the operator would report that the Node has lost it.
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.201.%d.%d", i/250, 1+i%250)},
			},
		},
	}
}
