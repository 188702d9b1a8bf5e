package integration_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// attempts are those of a cluster administrator to delete a Node, one after the other, as dry runs.
type attempts struct {
	admitted atomic.Int64
	refused  atomic.Pointer[error]
}

// deleteOn attempts deletions until the context ends. What the API server does not answer while it is down counts for
// nothing, an answer with a code of 4xx is a refusal.
func (a *attempts) deleteOn(ctx context.Context, kube kubernetes.Interface, name string) {
	for ctx.Err() == nil {
		err := kube.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		var status apierrors.APIStatus
		switch status, _ = err.(apierrors.APIStatus); {
		case err == nil:
			a.admitted.Add(1)
		case status != nil && status.Status().Code >= 400 && status.Status().Code < 500:
			a.refused.CompareAndSwap(nil, &err)
		}
	}
}

// The Machine API and a disaster recovery delete Nodes just then. The test acts as a cluster administrator while the
// API server starts, and while a custom resource that the policies once needed is away.
func TestNobodyElsesDeletionIsRefusedWhileTheAPIServerStarts(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.createInitialized(t, "worker-0")
	during := func(t *testing.T, do func()) {
		t.Helper()
		var d attempts
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); d.deleteOn(ctx, c.kube, "worker-0") }()
		do()
		before := d.admitted.Load()
		await(t, "a hundred more deletions", func(context.Context) error {
			if refused := d.refused.Load(); refused == nil && d.admitted.Load() < before+100 {
				return fmt.Errorf("%d are admitted", d.admitted.Load()-before)
			}
			return nil
		})
		stop()
		<-done
		t.Logf("%d deletions are admitted", d.admitted.Load())
		if refused := d.refused.Load(); refused != nil {
			require.NoError(t, *refused)
		}
	}
	for i := range 3 {
		t.Run(fmt.Sprintf("start %d", i), func(t *testing.T) {
			during(t, func() {
				require.NoError(t, c.StopAPIServer(t.Context()))
				require.NoError(t, c.StartAPIServer(t.Context()))
			})
		})
	}
	t.Run("without the resource ClusterOperator", func(t *testing.T) {
		definitions := c.dynamic.Resource(schema.GroupVersionResource{
			Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
		})
		during(t, func() { takeAwayAndRestore(t, definitions, "clusteroperators.config.openshift.io") })
	})
}

// takeAwayAndRestore deletes an object, waits until it is gone, and creates it again.
func takeAwayAndRestore(t *testing.T, client dynamic.ResourceInterface, name string) {
	t.Helper()
	object, err := client.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), name, metav1.DeleteOptions{}))
	await(t, "the end of "+name, func(ctx context.Context) error {
		_, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%s is there: %w", name, err)
	})
	object.SetResourceVersion("")
	object.SetUID("")
	_, err = client.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
}
