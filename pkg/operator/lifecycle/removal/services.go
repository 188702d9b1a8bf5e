package removal

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// servicesPage is how many Services are read at once.
const servicesPage = 10

// listBalancers returns the Services that only a cloud-controller-manager can delete, as namespace/name. While a
// Deployment of the predecessor exists, there are none: its cloud-controller-manager takes over. It reads live
// metadata, in pages, and only before a removal starts.
func (c *controller) listBalancers(ctx context.Context) ([]string, error) {
	deployments, err := predecessor.Deployments(c.Target.Apps().V1().Deployments().Lister())
	if err != nil || len(deployments) > 0 {
		return nil, err
	}
	var balancers []string
	services := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("services"))
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return services.List(ctx, options)
	})
	// Every tenant can add annotations of 256 KiB to a Service, and many Services.
	list.PageSize, list.PageBufferSize = servicesPage, 0
	err = list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		service, ok := object.(*metav1.PartialObjectMetadata)
		if ok && loadbalancer.NeedsCleanup(service) {
			balancers = append(balancers, service.Namespace+"/"+service.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing services: %w", err)
	}
	slices.Sort(balancers)
	return balancers, nil
}
