package monitoring

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The labels that Prometheus' discovery in Kubernetes gives a target, as far as a ServiceMonitor needs them.
const (
	namespace = "__meta_kubernetes_namespace"
	service   = "__meta_kubernetes_service_name"
	pod       = "__meta_kubernetes_pod_name"
	portName  = "__meta_kubernetes_endpointslice_port_name"
)

var notInLabels = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// serviceLabel returns the name of the label that has a label of the Service.
func serviceLabel(key string) string {
	return "__meta_kubernetes_service_label_" + notInLabels.ReplaceAllString(key, "_")
}

// targetGroup is an entry of static_configs.
type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// discover returns every address in the EndpointSlices of the namespaces. Debian's Prometheus lacks the discovery in
// Kubernetes, so this reads what that would, with the rights of kube, but once.
func discover(ctx context.Context, kube kubernetes.Interface, namespaces []string) ([]targetGroup, error) {
	var found []targetGroup
	for _, name := range namespaces {
		services, err := kube.CoreV1().Services(name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("service discovery: %w", err)
		}
		labels := map[string]map[string]string{}
		for i := range services.Items {
			labels[services.Items[i].Name] = labelsOf(&services.Items[i])
		}
		slices, err := kube.DiscoveryV1().EndpointSlices(name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("service discovery: %w", err)
		}
		for i := range slices.Items {
			found = append(found, targetsOf(&slices.Items[i], labels[slices.Items[i].Labels[discoveryv1.LabelServiceName]])...)
		}
	}
	return found, nil
}

func labelsOf(s *corev1.Service) map[string]string {
	labels := map[string]string{namespace: s.Namespace, service: s.Name}
	for key, value := range s.Labels {
		labels[serviceLabel(key)] = value
	}
	return labels
}

// targetsOf returns the addresses in a slice with the labels of its Service.
func targetsOf(slice *discoveryv1.EndpointSlice, ofService map[string]string) []targetGroup {
	var found []targetGroup
	for _, endpoint := range slice.Endpoints {
		for _, port := range slice.Ports {
			labels := map[string]string{portName: *port.Name}
			for key, value := range ofService {
				labels[key] = value
			}
			if endpoint.TargetRef != nil {
				labels[pod] = endpoint.TargetRef.Name
			}
			address := net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port)))
			found = append(found, targetGroup{Targets: []string{address}, Labels: labels})
		}
	}
	return found
}
