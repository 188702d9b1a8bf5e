package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// balancing is a cloud with load balancers.
type balancing interface {
	LoadBalancers() []devcluster.LoadBalancer
}

// balancerAnnotations are those of a Service of the first step about load balancers. On AWS it has a network load
// balancer, as OpenShift's own Services have.
var balancerAnnotations = map[configv1.PlatformType]map[string]string{
	configv1.AWSPlatformType: {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"},
}

// otherBalancers are the steps about another kind of load balancer, and the annotations of its Service.
var otherBalancers = map[configv1.PlatformType]struct {
	step        string
	annotations map[string]string
}{
	// It is the cloud-controller-manager's default.
	configv1.AWSPlatformType: {"a classic load balancer follows the nodes", nil},
	configv1.GCPPlatformType: {"an internal load balancer follows the nodes",
		map[string]string{"networking.gke.io/load-balancer-type": "Internal"}},
}

func (s *cloudStory) testLoadBalancer(t *testing.T) { s.balance(t, balancerAnnotations[s.platform]) }

func (s *cloudStory) testOtherLoadBalancer(t *testing.T) {
	s.balance(t, otherBalancers[s.platform].annotations)
}

// balance creates a Service, and while it exists a node whose instance is deleted again.
func (s *cloudStory) balance(t *testing.T, annotations map[string]string) {
	t.Helper()
	cloud := s.cloud.(balancing)
	service := s.createBalanced(t, annotations)
	began := time.Now()
	worker, err := s.AddWorker(t.Context())
	require.NoError(t, err)
	s.await(t, "the load balancer to have the new node", briefly, func(context.Context) error {
		return s.isBalanced(cloud, service)
	})
	s.figure("machine started to member of the load balancer: %s", rounded(began))
	// A cloud-controller-manager deletes no Node that is not initialized, which may take longer than the load balancer.
	s.awaitInitialized(t, worker)

	s.monitor.Expect(monitor.NodeDeleted(worker.Name(), "its instance is deleted"))
	require.NoError(t, s.RemoveNode(t.Context(), worker.Name()))
	if s.asksOnce {
		s.deleteNode(t, worker.Name())
	}
	began = time.Now()
	s.await(t, "the deleted instance to be neither a Node nor a member", briefly, func(ctx context.Context) error {
		if err := gone(s.exists(ctx, worker.Name())); err != nil {
			return fmt.Errorf("node/%s: %w", worker.Name(), err)
		}
		return s.isBalanced(cloud, service)
	})
	s.figure("instance deleted to no member of the load balancer: %s", rounded(began))

	s.deleteBalanced(t)
}

// balanced is the name of the Service with a load balancer.
const balanced = "web"

// createBalanced creates a Service, and returns it with the address of its load balancer, which has all nodes.
func (s *cloudStory) createBalanced(t *testing.T, annotations map[string]string) *corev1.Service {
	t.Helper()
	services := s.kube.CoreV1().Services(metav1.NamespaceDefault)
	began := time.Now()
	service, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: balanced, Annotations: annotations},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.await(t, "the Service to have the load balancer's address", briefly, func(ctx context.Context) error {
		if service, err = services.Get(ctx, balanced, metav1.GetOptions{}); err != nil {
			return err
		}
		return s.isBalanced(s.cloud.(balancing), service)
	})
	s.figure("Service created to its address: %s", rounded(began))
	return service
}

// deleteBalanced deletes the Service of createBalanced.
func (s *cloudStory) deleteBalanced(t *testing.T) {
	t.Helper()
	services := s.kube.CoreV1().Services(metav1.NamespaceDefault)
	began := time.Now()
	require.NoError(t, services.Delete(t.Context(), balanced, metav1.DeleteOptions{}))
	s.await(t, "the Service and the load balancer to be gone", briefly, func(ctx context.Context) error {
		_, err := services.Get(ctx, balanced, metav1.GetOptions{})
		if err := gone(err); err != nil {
			return fmt.Errorf("the Service: %w", err)
		}
		if left := s.cloud.(balancing).LoadBalancers(); len(left) > 0 {
			return fmt.Errorf("the cloud has %v", left)
		}
		return nil
	})
	s.figure("Service deleted to load balancer gone: %s", rounded(began))
}

// isBalanced returns nil when the cloud has one load balancer, with the Service's address and all nodes.
func (s *cloudStory) isBalanced(cloud balancing, service *corev1.Service) error {
	found := cloud.LoadBalancers()
	if len(found) != 1 {
		return fmt.Errorf("the cloud has the load balancers %v", found)
	}
	ingress := service.Status.LoadBalancer.Ingress
	if len(ingress) != 1 || found[0].Address == "" || cmp.Or(ingress[0].IP, ingress[0].Hostname) != found[0].Address {
		return fmt.Errorf("the Service has %v, and the cloud %v", ingress, found)
	}
	var nodes []string
	for _, n := range s.Nodes() {
		nodes = append(nodes, n.IP())
	}
	slices.Sort(nodes)
	members := slices.Sorted(slices.Values(found[0].Members))
	if !slices.Equal(nodes, members) {
		return fmt.Errorf("the members are %v, and the nodes %v", members, nodes)
	}
	return nil
}
