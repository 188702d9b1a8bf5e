package integration_test

import (
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// must-gather silently ignores a reference to a missing object.
func TestEveryRelatedObjectOfTheClusterOperatorExists(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)

	var related []configv1.ObjectReference
	request := configv1.ObjectReference{
		Group: "cloudcredential.openshift.io", Resource: "credentialsrequests",
		Namespace: "openshift-cloud-credential-operator", Name: "openshift-openstack-cloud-controller-manager",
	}
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		operator, err := c.config.ConfigV1().ClusterOperators().Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
		require.NoError(collect, err)
		related = operator.Status.RelatedObjects
		require.Contains(collect, related, request)
		require.Contains(collect, related, configv1.ObjectReference{
			Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "system:openshift:cloud-controller-manager:openstack",
		})
	}, time.Minute, time.Second)

	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.kube.Discovery()))
	for _, object := range related {
		resource, err := mapper.ResourceFor(schema.GroupVersionResource{Group: object.Group, Resource: object.Resource})
		require.NoError(t, err, object)
		if object.Name == "" {
			_, err = c.dynamic.Resource(resource).Namespace(object.Namespace).List(t.Context(), metav1.ListOptions{Limit: 1})
		} else {
			_, err = c.dynamic.Resource(resource).Namespace(object.Namespace).Get(t.Context(), object.Name, metav1.GetOptions{})
		}
		require.NoError(t, err, object)
	}
}
