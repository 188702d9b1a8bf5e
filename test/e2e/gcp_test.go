package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aging is a cloud whose health checks can become those of a former provider.
type aging interface {
	AgeHealthChecks()
	AgedHealthChecks() []string
}

// testChangedService changes a Service with each kind of load balancer. What the cloud has of it is changed too, or
// replaced, with the same address. The health checks are those of a former provider, as after an upgrade.
func (s *cloudStory) testChangedService(t *testing.T) {
	cloud, checks := s.cloud.(balancing), s.cloud.(aging)
	services := s.kube.CoreV1().Services(metav1.NamespaceDefault)
	const changed = `{"spec":{"sessionAffinity":"ClientIP","ports":[{"name":"http","port":80},{"name":"https","port":443}]}}`
	for _, annotations := range []map[string]string{nil, otherBalancers[s.platform].annotations} {
		before := s.createBalanced(t, annotations)
		checks.AgeHealthChecks()
		require.NotEmpty(t, checks.AgedHealthChecks())
		_, err := services.Patch(t.Context(), balanced, types.MergePatchType, []byte(changed), metav1.PatchOptions{})
		require.NoError(t, err)
		began := time.Now()
		s.await(t, "the load balancer to follow the Service", briefly, func(context.Context) error {
			if left := checks.AgedHealthChecks(); len(left) > 0 {
				return fmt.Errorf("the cloud has the former health checks %v", left)
			}
			return s.isBalanced(cloud, before)
		})
		s.figure("Service changed to its load balancer changed: %s", rounded(began))
		s.deleteBalanced(t)
	}
}
