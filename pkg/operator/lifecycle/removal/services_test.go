package removal

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
)

func service(namespace, name string, finalizers ...string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers},
	}
}

func TestServicesThatOnlyACloudControllerManagerCanDeleteBlockARemoval(t *testing.T) {
	const begun = "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes"
	const cause = "only a cloud-controller-manager can delete the load balancers of these Services, and the Services with them: %s; delete " +
		"them, or, if another cloud-controller-manager takes over, set spec.removalPolicy to Force"
	blocked := func(names string) string {
		return "Blocked: spec.managementState is Removed, but " + fmt.Sprintf(cause, names)
	}
	var many []runtime.Object
	for i := range 1200 {
		many = append(many, service("shop", fmt.Sprintf("s-%04d", i), loadbalancer.Finalizer))
	}
	for name, tc := range map[string]struct {
		services []runtime.Object
		change   func(*world)
		want     string
	}{
		"no Service has a load balancer": {services: []runtime.Object{service("shop", "web"), service("shop", "db", "example.com/other")}},
		"some have": {
			services: []runtime.Object{service("shop", "web", loadbalancer.Finalizer), service("shop", "db"), service("blog", "web", "example.com/other", loadbalancer.Finalizer)},
			want:     blocked("blog/web, shop/web"),
		},
		"very many have": {services: many, want: blocked("shop/s-0000, shop/s-0001, shop/s-0002, shop/s-0003, shop/s-0004 and 1195 more")},
		"a node waits too": {
			services: []runtime.Object{service("shop", "web", loadbalancer.Finalizer)},
			change: func(w *world) {
				require.NoError(w.t, w.kube.Tracker().Add(master("new", "True", controlplane.UninitializedTaint)))
			},
			want: "Blocked: spec.managementState is Removed, but these nodes wait for the cloud-controller-manager to initialize them: node/new; " +
				"wait until they are initialized, delete them, or set spec.removalPolicy to Force; and " + fmt.Sprintf(cause, "shop/web"),
		},
		"they are left deliberately": {
			services: []runtime.Object{service("shop", "web", loadbalancer.Finalizer)},
			change:   func(w *world) { w.policy = ccmv1.CloudControllerManagerRemovalPolicyForce },
		},
		"the predecessor takes over": {
			services: []runtime.Object{service("shop", "web", loadbalancer.Finalizer)},
			change: func(w *world) {
				require.NoError(w.t, w.kube.Tracker().Add(&appsv1.Deployment{ObjectMeta: meta("openstack-cloud-controller-manager")}))
			},
		},
		"the predecessor is being stopped": {
			services: []runtime.Object{service("shop", "web", loadbalancer.Finalizer)},
			change: func(w *world) {
				stopped := &appsv1.Deployment{ObjectMeta: meta("openstack-cloud-controller-manager")}
				stopped.DeletionTimestamp, stopped.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion"}
				require.NoError(w.t, w.kube.Tracker().Add(stopped))
			},
			want: blocked("shop/web"),
		},
		"another Deployment takes over nothing": {
			services: []runtime.Object{service("shop", "web", loadbalancer.Finalizer)},
			change: func(w *world) {
				require.NoError(w.t, w.kube.Tracker().Add(&appsv1.Deployment{ObjectMeta: meta("of-others")}))
			},
			want: blocked("shop/web"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, master("master-0", "True"))
			w.services = tc.services
			if tc.change != nil {
				tc.change(w)
			}
			w.syncs(t, 1)
			if tc.want == "" {
				require.Equal(t, begun, w.condition("Removing"))
				return
			}
			require.Equal(t, "False "+tc.want, w.condition("Removing"))
			require.Equal(t, "True "+tc.want, w.condition("RemovalDegraded"))
			require.Empty(t, w.writes())
		})
	}
}

func TestServicesAreReadAFewAtATime(t *testing.T) {
	w := newWorld(t, master("master-0", "True"))
	c, stop := w.process(t)
	defer stop()
	services := &pagedServices{pages: 3}
	c.Metadata = services
	balancers, err := c.listBalancers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"shop/s-0", "shop/s-1", "shop/s-2"}, balancers)
	require.Equal(t, []int64{10, 10, 10}, services.limits)
}

// pagedServices has one Service in each page.
type pagedServices struct {
	metadata.Getter
	pages  int
	limits []int64
}

func (p *pagedServices) Resource(schema.GroupVersionResource) metadata.Getter { return p }

func (p *pagedServices) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	page := len(p.limits)
	p.limits = append(p.limits, options.Limit)
	list := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: fmt.Sprintf("s-%d", page), Finalizers: []string{loadbalancer.Finalizer},
	}}}}
	if page+1 < p.pages {
		list.Continue = "next"
	}
	return list, nil
}
