package simulation

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// work starts what a leader does. Each part waits for its own answers: one worker each, cloud-provider's default.
func (p *process) work() {
	if !p.isDeaf {
		go p.each(time.Second, 5*time.Minute, p.round)
	}
	if !p.isDeaf && !p.isPreflight {
		go p.each(time.Second, time.Second, p.initialize)
	}
	if !p.isPreflight {
		go p.each(5*time.Second, 5*time.Second, p.monitor)
	}
}

// each calls f until the process ends, once it can.
func (p *process) each(first, period time.Duration, f func()) {
	for wait := first; pause(p.ctx, wait); {
		if wait = time.Second; !p.frozen() && !p.m.isAlone() {
			f()
			wait = period
		}
	}
}

// list returns the Nodes.
func (p *process) list() []*corev1.Node {
	var all []*corev1.Node
	for _, o := range p.api.List(nodes) {
		all = append(all, apitest.Load[corev1.Node](o))
	}
	return all
}

// finds asks the cloud for the machine of a Node, and returns why it finds none.
func (p *process) finds(name string) error {
	p.cloud.wait(p.ctx)
	p.mutex.Lock()
	m := p.machines[name]
	p.mutex.Unlock()
	return p.cloud.finds(p.inputs.password, m)
}

// round looks up every initialized Node.
func (p *process) round() {
	all := p.list()
	for _, node := range all {
		if controlplane.IsUninitialized(node) {
			p.say("I", "node_controller.go", "This node %s is still tainted. Will not process.", node.Name)
			continue
		}
		if err := p.finds(node.Name); err != nil {
			p.say("E", "node_controller.go", "Error getting instance metadata for node addresses: %v", err)
		}
	}
	p.say("I", "node_controller.go", "Update %d nodes status took 12ms.", len(all))
}

// waits reports whether an object is a Node that waits for its initialization.
func waits(node object) bool {
	spec, _ := node["spec"].(map[string]any)
	taints, _ := spec["taints"].([]any)
	return slices.ContainsFunc(taints, func(t any) bool {
		taint, _ := t.(map[string]any)
		return taint["key"] == controlplane.UninitializedTaint
	})
}

// initialize initializes the Nodes whose turn it is.
func (p *process) initialize() {
	var waiting []string
	for _, o := range p.api.List(nodes) {
		if waits(o) {
			waiting = append(waiting, strings.TrimPrefix(apitest.Key(o), "/"))
		}
	}
	for name := range p.tries {
		if !slices.Contains(waiting, name) {
			delete(p.tries, name)
			delete(p.next, name)
		}
	}
	for _, name := range waiting {
		if time.Now().Before(p.next[name]) {
			continue
		}
		if err := p.finds(name); err != nil {
			p.tries[name] = min(1000*time.Second, max(time.Second, 2*p.tries[name]))
			p.next[name] = time.Now().Add(p.tries[name])
			p.say("E", "node_controller.go",
				"error syncing '%s': failed to get instance metadata for node %s: %v, requeuing", name, name, err)
			continue
		}
		p.api.Edit(ccmUser, nodes, "/"+name, func(o object) bool {
			node := apitest.Load[corev1.Node](o)
			if node.Spec.ProviderID == "" {
				node.Spec.ProviderID = "openstack:///uuid-" + name
			}
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
				return t.Key == controlplane.UninitializedTaint
			})
			o["spec"] = p.api.Encode(node)["spec"]
			return true
		})
		p.say("I", "node_controller.go", "Successfully initialized node %s with cloud provider", name)
	}
}

// monitor deletes the Nodes whose machines the cloud does not know: cloud-node-lifecycle-controller.
func (p *process) monitor() {
	for _, node := range p.list() {
		ready := controlplane.ReadyConditions(node)
		if len(ready) > 0 && ready[0].Status == corev1.ConditionTrue {
			continue
		}
		if !errors.Is(p.finds(node.Name), errNoInstance) {
			continue
		}
		p.api.Put(ccmUser, p.api.Encode(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: node.Name + ".deleting"},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node.Name, UID: node.UID},
			Source:         corev1.EventSource{Component: "cloud-node-lifecycle-controller"},
			Reason:         "DeletingNode", Type: "Normal", LastTimestamp: seconds(time.Now()),
			Message: fmt.Sprintf("Deleting node %s because it does not exist in the cloud provider", node.Name),
		}))
		deletion := apitest.Request{Verb: "delete", Resource: nodes, Name: node.Name}
		if err := p.policies.admit(ccmUser, deletion, p.api.Get(nodes, "/"+node.Name), nil); err != nil {
			p.say("E", "node_lifecycle_controller.go", "unable to delete node %q: %v", node.Name, err)
			continue
		}
		p.api.Remove(ccmUser, nodes, "/"+node.Name)
		p.mutex.Lock()
		m := p.machines[node.Name]
		exists := m != nil && m.exists
		p.mutex.Unlock()
		if exists {
			p.violate("the Node of a living machine is deleted", "%s", node.Name)
		}
	}
}

var errNoHost = errors.New("dial tcp: i/o timeout")

// dial is the network of the operator's pods.
func (w *world) dial(_ context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, m := range w.machines {
		if m.ip == host {
			return m.connect()
		}
	}
	return nil, errNoHost
}

// dialOwn is the network of a pod on the machine's network.
func (m *machine) dialOwn(context.Context, string, string) (net.Conn, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.connect()
}

// connect connects to the static pod's port. It requires the mutex.
func (m *machine) connect() (net.Conn, error) {
	switch {
	case m.isOff, m.isCut:
		return nil, errNoHost
	case m.static == nil || m.static.ccm.exited || !m.static.ccm.isHealthy:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	client, server := net.Pipe()
	container := containerOf(m.static.pod, "cloud-controller-manager")
	directory, _ := m.hostPath(m.static.pod, container, "/etc/kubernetes/static-pod-certs/secrets/serving-cert")
	go m.static.ccm.serveHealth(server, directory)
	return client, nil
}

// serveHealth serves /healthz?verbose once, as app/controllermanager.go of k8s.io/cloud-provider registers it.
func (p *process) serveHealth(connection net.Conn, certificate string) {
	defer func() { _ = connection.Close() }()
	stop := context.AfterFunc(p.ctx, func() { _ = connection.Close() })
	defer stop()
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificate, "tls.crt"), filepath.Join(certificate, "tls.key"))
	if err != nil {
		return
	}
	server := tls.Server(connection, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	_ = server.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
		return
	}
	if p.frozen() {
		pause(p.ctx, 30*time.Second)
		return
	}
	checks := []string{"leaderElection", "ping"}
	p.mutex.Lock()
	if p.hasStarted {
		checks = append(checks, "cloud-node-lifecycle-controller", "service-lb-controller")
		if !p.isDeaf {
			checks = append(checks, "cloud-node-controller")
		}
	}
	p.mutex.Unlock()
	body := ""
	for _, check := range checks {
		body += "[+]" + check + " ok\n"
	}
	_, _ = fmt.Fprintf(server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}
