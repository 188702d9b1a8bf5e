package nodepod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Address returns the loopback address of the node's static pod. Without it, the end of the process cannot be proven.
func (p *Pod) Address(ctx context.Context, port int32) (string, error) {
	var errs []error
	for _, host := range []string{"127.0.0.1", "::1"} {
		address := net.JoinHostPort(host, strconv.Itoa(int(port)))
		err := p.dial(ctx, address)
		if err == nil {
			return address, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("the cloud-controller-manager does not listen on its port: %w", errors.Join(errs...))
}

func (p *Pod) dial(ctx context.Context, address string) error {
	connection, err := p.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// HasEnded reports whether the static pod that listened on the address has ended. Its port must be free, which even a
// frozen process keeps until it ends, and the kubelet must have reported the end of its container or deleted the mirror
// pod. One of them is not enough: a restarted kubelet deletes the mirror pod of a static pod that it does not know
// before it ends the containers, and a process may close its port before it ends.
func (p *Pod) HasEnded(ctx context.Context, address string) bool {
	pod, err := p.Client.CoreV1().Pods(operand.Namespace).Get(ctx, p.staticPod(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false
	}
	ended := err != nil || controlplane.ContainerStatus(pod).State.Terminated != nil
	return ended && errors.Is(p.dial(ctx, address), syscall.ECONNREFUSED)
}

// ReadLease returns the lease of the cloud-controller-managers.
func (p *Pod) ReadLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := p.Client.CoordinationV1().Leases(operand.Namespace).Get(ctx, operand.Lease, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	return lease, nil
}

// Release frees the lease of a process that has ended, unless the lease has changed since it was read.
func (p *Pod) Release(ctx context.Context, lease *coordinationv1.Lease) {
	if err := leaseholder.Release(ctx, p.Client.CoordinationV1(), lease); err != nil {
		klog.ErrorS(err, "Failed to release the lease") // The next attempt, or the operator, may succeed.
		return
	}
	klog.InfoS("Released the lease", "holder", leaseholder.Identity(lease))
}
