package e2e

import (
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// redirecting is a cloud with endpoints that an administrator may give the cluster instead of the cloud's own.
type redirecting interface {
	Redirect(status *configv1.PlatformStatus)
	// AskedOwn and AskedCustom count the requests to the cloud's own endpoints and to the others.
	AskedOwn() int
	AskedCustom() int
}

// testEndpoints gives the cluster other endpoints, as where no public network is reached. From the end of the rollout
// on, nothing asks the cloud's own.
func (s *cloudStory) testEndpoints(t *testing.T) {
	cloud := s.cloud.(redirecting)
	require.Zero(t, cloud.AskedCustom())
	before := s.revision(t)
	infrastructures := s.config.ConfigV1().Infrastructures()
	infrastructure, err := infrastructures.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	cloud.Redirect(infrastructure.Status.PlatformStatus)
	s.expectRollout("Infrastructure has other endpoints")
	_, err = infrastructures.UpdateStatus(t.Context(), infrastructure, metav1.UpdateOptions{})
	require.NoError(t, err)
	began := time.Now()
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.figure("other endpoints in Infrastructure to %d nodes at the new revision: %s", nodes, rounded(began))

	own, custom := cloud.AskedOwn(), cloud.AskedCustom()
	s.reinitialize(t, "through the other endpoints")
	require.Equal(t, own, cloud.AskedOwn(), "the cloud's own endpoints are asked no more")
	require.Greater(t, cloud.AskedCustom(), custom)
}
