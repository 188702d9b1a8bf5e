package staticpod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// noEvents are the Events that library-go's installer-state controller reads while an installer pod waits: it lists all
// of the namespace, where the cloud-controller-manager may write large ones, to find a pod without a network. The
// installer pods are on the host's network.
type noEvents struct{ corev1client.EventInterface }

// Events implements corev1client.EventsGetter.
func (noEvents) Events(string) corev1client.EventInterface { return noEvents{} }

// List implements corev1client.EventInterface.
func (noEvents) List(context.Context, metav1.ListOptions) (*corev1.EventList, error) {
	return &corev1.EventList{}, nil
}
