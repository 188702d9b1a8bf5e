package operatorclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// changing serves a resource that other clients change: each update of any version but the last is a conflict. The
// watch then delivers the next version.
func changing(t *testing.T, versions ...string) *rest.Config {
	t.Helper()
	next := make(chan string, len(versions))
	last := "7"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPut {
			body, err := io.ReadAll(r.Body)
			object := &unstructured.Unstructured{}
			if err != nil || json.Unmarshal(body, &object.Object) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if len(versions) == 0 && object.GetResourceVersion() == last {
				_, _ = w.Write(body)
				return
			}
			if len(versions) > 0 {
				last = object.GetResourceVersion() + "0"
				next <- fmt.Sprintf(versions[0], last)
				versions = versions[1:]
			}
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(
				w,
				`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", `+
					`"code": 409, "message": "modified"}`,
			)
			return
		}
		_, _ = io.WriteString(w, initial)
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case object := <-next:
				_, _ = io.WriteString(w, `{"type": "MODIFIED", "object": `+object+`}`)
				w.(http.Flusher).Flush()
			}
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestAnUpdateOfTheSpecOutlastsOtherWrites(t *testing.T) {
	const (
		otherStatus = `{"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
			"metadata": {"name": "cluster", "resourceVersion": %q},
			"spec": {"managementState": "Managed"}, "status": {"readyReplicas": 1}}`
		otherSpec = `{"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
			"metadata": {"name": "cluster", "resourceVersion": %q},
			"spec": {"managementState": "Managed", "logLevel": "Debug"}}`
	)
	for name, tc := range map[string]struct {
		versions    []string
		wantVersion string
		wantErr     string
	}{
		"none":              {wantVersion: "7"},
		"one of the status": {versions: []string{otherStatus}, wantVersion: "70"},
		"several of the status": {
			versions:    []string{otherStatus, otherStatus, otherStatus, otherStatus, otherStatus, otherStatus},
			wantVersion: "7000000",
		},
		"but not one of the spec":    {versions: []string{otherSpec}, wantErr: "modified"},
		"nor one of the spec, later": {versions: []string{otherStatus, otherSpec}, wantErr: "modified"},
	} {
		t.Run(name, func(t *testing.T) {
			client, informers, err := operatorclient.New(clock.RealClock{}, changing(t, tc.versions...))
			require.NoError(t, err)
			client.Informer()
			informers.Start(t.Context().Done())
			informers.WaitForCacheSync(t.Context().Done())
			_, version, err := client.UpdateOperatorSpec(
				t.Context(), "7", &operatorv1.OperatorSpec{ManagementState: operatorv1.Force},
			)
			if tc.wantErr != "" {
				require.EqualError(t, err, tc.wantErr)
				require.True(t, apierrors.IsConflict(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.wantVersion, version)
		})
	}
}

// library-go's client would write what is in the cache with a version that is not.
func TestASpecIsOnlyUpdatedAtTheVersionThatTheCacheHas(t *testing.T) {
	updates := make(chan map[string]any, 1)
	client, informers, err := operatorclient.New(clock.RealClock{}, api(t, updates))
	require.NoError(t, err)
	client.Informer()
	informers.Start(t.Context().Done())
	informers.WaitForCacheSync(t.Context().Done())
	_, _, err = client.UpdateOperatorSpec(t.Context(), "8", &operatorv1.OperatorSpec{LogLevel: operatorv1.Debug})
	require.EqualError(t, err, `Operation cannot be fulfilled on cloudcontrollermanagers.operator.openshift.io "cluster": `+
		"the cache has version 7 and not 8")
	require.True(t, apierrors.IsConflict(err))
	require.Empty(t, updates)
}

func TestAResourceIsNeverToldThatItDoesNotExist(t *testing.T) {
	const missing = "applying the conditions of cloudcontrollermanager/cluster: " +
		`cloudcontrollermanagers.operator.openshift.io "cluster" not found`
	for name, tc := range map[string]struct {
		status      operatorv1.ConditionStatus
		message     string
		wantRequest bool
	}{
		"an error of the resource that was gone": {status: operatorv1.ConditionTrue, message: missing},
		"an error of another object": {
			status: operatorv1.ConditionTrue, message: `secrets "cluster" not found`, wantRequest: true,
		},
		"no error": {status: operatorv1.ConditionFalse, wantRequest: true},
	} {
		t.Run(name, func(t *testing.T) {
			var methods []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				methods = append(methods, r.Method)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.Copy(w, r.Body)
			}))
			defer server.Close()
			client, _, err := operatorclient.New(clock.RealClock{}, &rest.Config{Host: server.URL})
			require.NoError(t, err)
			condition := func() *applyoperatorv1.OperatorConditionApplyConfiguration {
				return applyoperatorv1.OperatorCondition().WithType("AnyDegraded").WithStatus(tc.status).WithMessage(tc.message)
			}
			require.NoError(
				t, client.ApplyOperatorStatus(t.Context(), "any", applyoperatorv1.OperatorStatus().WithConditions(condition())),
			)
			require.NoError(
				t,
				client.ApplyStaticPodOperatorStatus(
					t.Context(), "any", applyoperatorv1.StaticPodOperatorStatus().WithConditions(condition()),
				),
			)
			if tc.wantRequest {
				require.Equal(t, []string{http.MethodPatch, http.MethodPatch}, methods)
				return
			}
			require.Empty(t, methods)
		})
	}
}

// The API server repeats an apply that loses a race against another one.
func TestOneStatusIsAppliedAtATime(t *testing.T) {
	var running, most atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), now))
		<-time.After(10 * time.Millisecond) // another one would overlap
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	client, _, err := operatorclient.New(clock.RealClock{}, &rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	var group sync.WaitGroup
	for i := range 3 {
		manager := fmt.Sprint(i)
		condition := applyoperatorv1.OperatorCondition().WithType(manager).WithStatus(operatorv1.ConditionFalse)
		group.Go(func() {
			assert.NoError(
				t, client.ApplyOperatorStatus(t.Context(), manager, applyoperatorv1.OperatorStatus().WithConditions(condition)),
			)
		})
		group.Go(func() {
			assert.NoError(
				t,
				client.ApplyStaticPodOperatorStatus(
					t.Context(), manager, applyoperatorv1.StaticPodOperatorStatus().WithConditions(condition),
				),
			)
		})
	}
	group.Wait()
	require.EqualValues(t, 1, most.Load())
}

func TestARequestThatHangsHoldsUpNoOtherStatus(t *testing.T) {
	hangs := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("fieldManager") == "hangs" {
			_, _ = io.ReadAll(r.Body) // The server notices that the client left only once it has read the request.
			hangs <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	client, _, err := operatorclient.New(clock.RealClock{}, &rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	apply := func(manager string) error {
		condition := applyoperatorv1.OperatorCondition().WithType("Any").WithStatus(operatorv1.ConditionFalse)
		return client.ApplyOperatorStatus(t.Context(), manager,
			applyoperatorv1.OperatorStatus().WithConditions(condition))
	}
	result := make(chan error)
	go func() { result <- apply("hangs") }()
	<-hangs
	start := time.Now()
	require.NoError(t, apply("other"))
	require.Less(t, time.Since(start), 10*time.Second)
	require.EqualError(t, <-result, "the API server has not answered for 15s")
	require.Less(t, time.Since(start), 30*time.Second)
}

// library-go's client applies with force. The version makes the API server reject what is based on another one.
func TestAnApplyAssertsAVersion(t *testing.T) {
	for version, want := range map[string]string{"": "", "7": "7"} {
		var got unstructured.Unstructured
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.NoError(t, json.Unmarshal(body, &got.Object))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}))
		client, _, err := operatorclient.New(clock.RealClock{}, &rest.Config{Host: server.URL})
		require.NoError(t, err)
		require.NoError(t, client.ApplyStaticPodOperatorStatus(operatorclient.AtVersion(t.Context(), version), "any",
			applyoperatorv1.StaticPodOperatorStatus().WithLatestAvailableRevision(3)))
		server.Close()
		require.Equal(t, want, got.GetResourceVersion())
		revision, _, err := unstructured.NestedFieldNoCopy(got.Object, "status", "latestAvailableRevision")
		require.NoError(t, err)
		require.EqualValues(t, 3, revision)
	}
}
