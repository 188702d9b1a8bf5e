package operatorclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/genericoperatorclient"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

type applied = applyoperatorv1.StaticPodOperatorStatusApplyConfiguration

// original returns library-go's client as it is, with an informer that has the resource.
func original(
	t *testing.T, config *rest.Config, extract func(*unstructured.Unstructured, string) (*applied, error),
) v1helpers.StaticPodOperatorClient {
	t.Helper()
	client, informers, err := genericoperatorclient.NewStaticPodOperatorClient(
		clock.RealClock{}, config, ccmv1.Resource, ccmv1.Kind, nil, extract)
	require.NoError(t, err)
	client.Informer()
	informers.Start(t.Context().Done())
	informers.WaitForCacheSync(t.Context().Done())
	return client
}

// These are the reasons for decoded, asserting and retryingClient.
func TestWhatTheClientOfTheResourceDoesByItself(t *testing.T) {
	t.Run("it asks in each apply for what the manager applied", func(t *testing.T) {
		var asked int
		client := original(t, api(t, nil), func(*unstructured.Unstructured, string) (*applied, error) {
			asked++
			return applyoperatorv1.StaticPodOperatorStatus().WithLatestAvailableRevision(3), nil
		})
		for range 3 {
			require.NoError(t, client.ApplyStaticPodOperatorStatus(t.Context(), "any",
				applyoperatorv1.StaticPodOperatorStatus().WithLatestAvailableRevision(3)))
		}
		require.Equal(t, 3, asked)
	})
	t.Run("it applies with force, and asserts no version", func(t *testing.T) {
		var got unstructured.Unstructured
		var force string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.NoError(t, json.Unmarshal(body, &got.Object))
			force = r.URL.Query().Get("force")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}))
		t.Cleanup(server.Close)
		client, _, err := genericoperatorclient.NewStaticPodOperatorClient(
			clock.RealClock{}, &rest.Config{Host: server.URL}, ccmv1.Resource, ccmv1.Kind, nil, nil)
		require.NoError(t, err)
		require.NoError(t, client.ApplyStaticPodOperatorStatus(t.Context(), "any",
			applyoperatorv1.StaticPodOperatorStatus().WithLatestAvailableRevision(3)))
		require.Equal(t, "true", force)
		require.Empty(t, got.GetResourceVersion())
	})
	t.Run("an update of the spec gives up after a third of a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			client := &conflicting{OperatorClient: v1helpers.NewFakeOperatorClient(
				&operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, nil)}
			_, _, err := v1helpers.UpdateSpec(t.Context(), client, func(spec *operatorv1.OperatorSpec) error {
				spec.LogLevel = operatorv1.Debug
				return nil
			})
			require.True(t, apierrors.IsConflict(err), "%v", err)
			require.Equal(t, 4, client.updates)
			require.InDelta(t, 310, time.Since(start).Milliseconds(), 32) // 10, 50 and 250 ms, each up to a tenth longer
		})
	})
	t.Run("an update at a version that the cache lacks replaces what the cache lacks too", func(t *testing.T) {
		updates := make(chan map[string]any, 1)
		client := original(t, api(t, updates), nil)
		_, _, err := client.UpdateOperatorSpec(t.Context(), "8", &operatorv1.OperatorSpec{LogLevel: operatorv1.Debug})
		require.NoError(t, err)
		updated := unstructured.Unstructured{Object: <-updates}
		require.Equal(t, "8", updated.GetResourceVersion())
		policy, _, err := unstructured.NestedString(updated.Object, "spec", "removalPolicy")
		require.NoError(t, err)
		require.Equal(t, "Force", policy, "that of version 7")
	})
}

// conflicting is a resource that changes before each update.
type conflicting struct {
	v1helpers.OperatorClient
	updates int
}

func (c *conflicting) UpdateOperatorSpec(
	context.Context, string, *operatorv1.OperatorSpec,
) (*operatorv1.OperatorSpec, string, error) {
	c.updates++
	return nil, "", apierrors.NewConflict(ccmv1.Resource.GroupResource(), "cluster", errors.New("modified"))
}
