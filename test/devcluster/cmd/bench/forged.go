package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

const (
	// forgedTime is how long the operator has for forged objects. It reads the Events of a Service every 30 seconds.
	forgedTime = 65 * time.Second

	// forgedGrowth is the most that an attack may add to the memory at rest, in MiB. The record has up to 5.
	forgedGrowth = 10

	// forgedBytes is close to the limit of the API server's requests, 1.5 MiB.
	forgedBytes = 1_200_000

	operandNamespace = "openshift-cloud-controller-manager"
)

// attack is what somebody writes so that the operator keeps it in memory.
type attack struct {
	what  string
	count int
	write func(ctx context.Context, i int) error
}

// measureForged measures the operator at rest, and with what a tenant and the identity of the CCM can write.
func (s *starter) measureForged(ctx context.Context, o options, pid int) error {
	attacks, err := s.attacks(ctx)
	if err != nil {
		return err
	}
	var atRest usage
	for _, a := range attacks {
		// Makes the kernel forget the peak.
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
			return fmt.Errorf("the process: %w", err)
		}
		if err := repeat(ctx, a.count, a.write); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
		if err := pause(ctx, forgedTime); err != nil {
			return err
		}
		after, err := usageOf(pid)
		if err != nil {
			return err
		}
		if a.count == 0 {
			atRest = after
		}
		o.row("operator "+a.what, "%s (%+.0f); peak %.0f MiB (%+.0f)", after, after.resident-atRest.resident, after.peak,
			after.peak-atRest.peak)
		if after.resident > atRest.resident+forgedGrowth {
			return fmt.Errorf("%s: the operator takes more than %d MiB over rest", a.what, forgedGrowth)
		}
	}
	return s.measureDump(ctx, o)
}

// measureDump measures the command dump beside large Services of a tenant.
func (s *starter) measureDump(ctx context.Context, o options) error {
	const count = 600
	err := repeat(ctx, count, func(ctx context.Context, i int) error {
		_, err := s.kube.CoreV1().Services(foreignNamespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("large-%d", i), Annotations: map[string]string{"a": strings.Repeat("x", 250<<10)},
			},
			Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("making Services: %w", err)
	}
	command := exec.CommandContext(ctx, s.binary, "dump", "--kubeconfig="+s.Kubeconfig(), filepath.Join(s.Dir(), "dump"))
	began := time.Now()
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("dump: %w\n%s", err, output)
	}
	used, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("the kernel does not tell the memory of dump")
	}
	o.row(fmt.Sprintf("dump beside %d Services of 250 KiB and these Events", count), "peak %.0f MiB, %.1f s",
		float64(used.Maxrss)/1024, time.Since(began).Seconds())
	return nil
}

func (s *starter) attacks(ctx context.Context) ([]attack, error) {
	config := s.RESTConfig()
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operandNamespace + ":cloud-controller-manager",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + operandNamespace, "system:authenticated"},
	}
	ccm, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	service, err := s.waitingService(ctx)
	if err != nil {
		return nil, err
	}
	text := strings.Repeat("x", forgedBytes)
	return []attack{
		{what: "at rest"},
		{what: "with 600 Leases of 250 KiB of the CCM's identity", count: 600, write: func(ctx context.Context, i int) error {
			_, err := ccm.CoordinationV1().Leases(operandNamespace).Create(ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("forged-%d", i), Annotations: map[string]string{"a": text[:250<<10]},
				},
			}, metav1.CreateOptions{})
			return err
		}},
		{what: "with 300 Events of 1.2 MB about Nodes of the CCM's identity", count: 300, write: func(
			ctx context.Context, i int,
		) error {
			event := forgedEvent(i, corev1.ObjectReference{Kind: "Node", UID: types.UID(fmt.Sprint(i))}, text)
			event.Source.Component = "cloud-node-lifecycle-controller"
			_, err := ccm.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, event, metav1.CreateOptions{})
			return err
		}},
		{what: "with 180 Events of 1.2 MB about a Service that waits", count: 180, write: func(
			ctx context.Context, i int,
		) error {
			event := forgedEvent(i, corev1.ObjectReference{
				Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID,
			}, text)
			_, err := s.kube.CoreV1().Events(service.Namespace).Create(ctx, event, metav1.CreateOptions{})
			return err
		}},
	}, nil
}

func forgedEvent(i int, about corev1.ObjectReference, text string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("forged-%d", i)}, InvolvedObject: about, Message: text,
		Source: corev1.EventSource{Component: "service-controller"}, Type: corev1.EventTypeWarning,
		Reason: "SyncLoadBalancerFailed", FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
	}
}

// waitingService creates a Service that nothing serves. It waits at rest too, so that only the Events differ.
func (s *starter) waitingService(ctx context.Context) (*corev1.Service, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreignNamespace}}
	if _, err := s.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return s.kube.CoreV1().Services(foreignNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
			AllocateLoadBalancerNodePorts: ptr.To(false),
		},
	}, metav1.CreateOptions{})
}
