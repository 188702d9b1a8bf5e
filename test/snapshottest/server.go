// Package snapshottest serves the objects of a cluster to tests as an API server does: by path, as JSON, with its time.
package snapshottest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// Cluster is what a server serves. Fields may change between requests of one goroutine.
type Cluster struct {
	Now     time.Time
	Objects []any
	// Forbidden are the resources, such as secrets, that the client may not read.
	Forbidden []string
	// Logs are the logs of pods by the pod's name.
	Logs map[string]string
	// Before is called before each request with its path.
	Before func(path string)
	// Requests are the requests so far.
	Requests []string
}

// Serve starts a server that stops after the test.
func (c *Cluster) Serve(tb testing.TB) *rest.Config {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(tb, w, r) }))
	tb.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// Kubeconfig is Serve for a command: it writes a kubeconfig.
func (c *Cluster) Kubeconfig(tb testing.TB, path string) {
	tb.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Serve(tb).Host}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	require.NoError(tb, clientcmd.WriteToFile(*config, path))
}

func (c *Cluster) serve(tb testing.TB, w http.ResponseWriter, r *http.Request) {
	if c.Before != nil {
		c.Before(r.URL.Path)
	}
	c.Requests = append(c.Requests, r.Method+" "+r.URL.Path)
	w.Header().Set("Date", c.Now.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int32, reason metav1.StatusReason) {
		w.WriteHeader(int(code))
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason),
		})
	}
	if r.Method != http.MethodGet {
		fail(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
		return
	}
	parts := strings.Split(r.URL.Path, "/")
	if slices.ContainsFunc(c.Forbidden, func(resource string) bool { return slices.Contains(parts, resource) }) {
		fail(http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	if pod, is := strings.CutSuffix(r.URL.Path, "/log"); is {
		_, _ = w.Write([]byte(c.Logs[pod[strings.LastIndex(pod, "/")+1:]]))
		return
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range c.Objects {
		path, content := encode(tb, object)
		if path+"/"+content.GetName() == r.URL.Path {
			_ = json.NewEncoder(w).Encode(content.Object)
			return
		}
		inNamespace := strings.Replace(r.URL.Path, "/v1/", "/v1/namespaces/"+content.GetNamespace()+"/", 1)
		if path == r.URL.Path || path == inNamespace {
			list.Items = append(list.Items, *content)
		}
	}
	if last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; !slices.Contains(collections, last) {
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(list)
}

// collections are the resources that are listed.
var collections = []string{"nodes", "pods", "secrets", "events", "services"}

var types = sync.OnceValue(func() *runtime.Scheme {
	all := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(all))
	utilruntime.Must(configv1.Install(all))
	return all
})

// encode returns an object and the path of its collection.
func encode(tb testing.TB, object any) (path string, content *unstructured.Unstructured) {
	kind := ccmv1.Kind
	if typed, is := object.(runtime.Object); is {
		kinds, _, err := types().ObjectKinds(typed)
		require.NoError(tb, err)
		kind = kinds[0]
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(tb, err)
	content = &unstructured.Unstructured{Object: fields}
	content.SetGroupVersionKind(kind)
	return collection(kind, content.GetNamespace()), content
}

func collection(kind schema.GroupVersionKind, namespace string) string {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	path := "/apis/" + kind.Group + "/" + kind.Version
	if kind.Group == "" {
		path = "/api/" + kind.Version
	}
	if namespace != "" {
		path += fmt.Sprintf("/namespaces/%s", namespace)
	}
	return path + "/" + resource.Resource
}
