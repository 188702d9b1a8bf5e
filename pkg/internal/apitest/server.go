// Package apitest is an API server in memory for tests of what lies above client-go: informers, listers and clients
// work as in a cluster. Lists and watches obey selectors. It validates nothing.
package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	configscheme "github.com/openshift/client-go/config/clientset/versioned/scheme"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Server is an API server.
type Server struct {
	Config *rest.Config

	types *runtime.Scheme
	kinds map[schema.GroupVersionResource]schema.GroupVersionKind

	lock    sync.Mutex
	version int
	// objects has the objects by the path of their collection and their name.
	objects map[string]map[string]*unstructured.Unstructured
	watches map[*watcher]bool
	// requests has the lists and watches.
	requests []Request
	// logs are those of pods, by name.
	logs map[string]string
}

// Request is a list or a watch.
type Request struct {
	// Path is that of the collection, such as /api/v1/namespaces/x/pods.
	Path string
	// Labels and Fields are the selectors.
	Labels, Fields string
	Watch          bool
	// TimeoutSeconds is the requested duration of a watch.
	TimeoutSeconds int64
	// Limit is that of a list. The server does not obey it.
	Limit int64
}

// Start starts a server without objects that stops after the test. addToScheme adds types beyond those of Kubernetes
// and config.openshift.io.
func Start(tb testing.TB, addToScheme ...func(*runtime.Scheme) error) *Server {
	tb.Helper()
	s := newServer(tb, addToScheme...)
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.Config = configOf(server.URL)
	return s
}

func newServer(tb testing.TB, addToScheme ...func(*runtime.Scheme) error) *Server {
	tb.Helper()
	s := &Server{
		types:   runtime.NewScheme(),
		kinds:   map[schema.GroupVersionResource]schema.GroupVersionKind{},
		objects: map[string]map[string]*unstructured.Unstructured{},
		watches: map[*watcher]bool{},
		logs:    map[string]string{},
	}
	for _, add := range append(addToScheme, scheme.AddToScheme, configscheme.AddToScheme) {
		require.NoError(tb, add(s.types))
	}
	for kind := range s.types.AllKnownTypes() {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		s.kinds[resource] = kind
	}
	return s
}

// Requests returns the lists and watches since the start.
func (s *Server) Requests() []Request {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.requests)
}

// SetLog sets the log of the containers of each pod with the name.
func (s *Server) SetLog(pod, log string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.logs[pod] = log
}

// Set creates or replaces objects.
func (s *Server) Set(tb testing.TB, objects ...runtime.Object) {
	tb.Helper()
	for _, object := range objects {
		kinds, _, err := s.types.ObjectKinds(object)
		require.NoError(tb, err)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		require.NoError(tb, err)
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kinds[0])
		resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
		s.lock.Lock()
		s.store(collection(resource, u.GetNamespace()), u)
		s.lock.Unlock()
	}
}

// store requires the lock.
func (s *Server) store(path string, object *unstructured.Unstructured) {
	if s.objects[path] == nil {
		s.objects[path] = map[string]*unstructured.Unstructured{}
	}
	event, before := "MODIFIED", s.objects[path][object.GetName()]
	if before == nil {
		event = "ADDED"
		if object.GetUID() == "" {
			object.SetUID(types.UID("uid-of-" + object.GetName()))
		}
	}
	if before != nil {
		object.SetResourceVersion(before.GetResourceVersion())
		if equality.Semantic.DeepEqual(before.Object, object.Object) {
			return // A write that changes nothing is no event.
		}
	}
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[path][object.GetName()] = object
	s.notify(event, path, object)
}

// notify requires the lock.
func (s *Server) notify(event, path string, object *unstructured.Unstructured) {
	for w := range s.watches {
		if covers(w.path, path) && w.selects(object) {
			w.send(event, object)
		}
	}
}

func collection(resource schema.GroupVersionResource, namespace string) string {
	path := "/apis/" + resource.Group + "/" + resource.Version
	if resource.Group == "" {
		path = "/api/" + resource.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + resource.Resource
}

// target is what a request is about. Path is that of the collection.
type target struct {
	path, name, subresource string
	kind                    schema.GroupVersionKind
}

func (s *Server) parse(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	resource := schema.GroupVersionResource{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		resource.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		resource.Group, resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return target{}, false
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	resource.Resource = parts[0]
	kind, known := s.kinds[resource]
	return target{collection(resource, namespace), parts[1], parts[2], kind}, known
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	t, known := s.parse(r.URL.Path)
	if !known {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	if r.Method == http.MethodGet && t.name == "" {
		s.read(w, r, t)
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if t.subresource == "log" {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, s.logs[t.name]) //nolint:gosec // A test's own text, to a test.
		return
	}
	s.serveObject(w, r, t)
}

// read serves a list or a watch.
func (s *Server) read(w http.ResponseWriter, r *http.Request, t target) {
	query := r.URL.Query()
	timeout, _ := strconv.ParseInt(query.Get("timeoutSeconds"), 10, 64)
	limit, _ := strconv.ParseInt(query.Get("limit"), 10, 64)
	request := Request{
		t.path, query.Get("labelSelector"), query.Get("fieldSelector"), query.Get("watch") != "", timeout, limit,
	}
	matching, err := request.selector()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.lock.Lock()
	s.requests = append(s.requests, request)
	if request.Watch {
		s.watch(w, r, t, matching)
		return
	}
	defer s.lock.Unlock()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(t.kind.GroupVersion().String())
	list.SetKind(t.kind.Kind + "List")
	list.SetResourceVersion(strconv.Itoa(s.version))
	for _, object := range s.all(t.path) {
		if matching(object) {
			list.Items = append(list.Items, *object)
		}
	}
	_ = json.NewEncoder(w).Encode(list.UnstructuredContent())
}

// all returns the objects of a collection, or of the collections of all namespaces. It requires the lock.
func (s *Server) all(path string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, stored := range slices.Sorted(maps.Keys(s.objects)) {
		if covers(path, stored) {
			for _, name := range slices.Sorted(maps.Keys(s.objects[stored])) {
				found = append(found, s.objects[stored][name])
			}
		}
	}
	return found
}

var ofNamespace = regexp.MustCompile(`/namespaces/[^/]+/`)

// covers reports whether a collection is, or includes, the stored one.
func covers(path, stored string) bool {
	return path == stored || path == ofNamespace.ReplaceAllString(stored, "/")
}

type selector func(*unstructured.Unstructured) bool

func (r Request) selector() (selector, error) {
	byLabels, err := labels.Parse(r.Labels)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	byFields, err := fields.ParseSelector(r.Fields)
	if err != nil {
		return nil, fmt.Errorf("fields: %w", err)
	}
	return func(o *unstructured.Unstructured) bool {
		return byLabels.Matches(labels.Set(o.GetLabels())) && !slices.ContainsFunc(byFields.Requirements(),
			func(r fields.Requirement) bool { return differs(o, r) })
	}, nil
}

// differs reports whether a text in the object differs from that of the selector.
func differs(o *unstructured.Unstructured, r fields.Requirement) bool {
	field := r.Field
	if field == "source" {
		field = "source.component" // the API's name for it
	}
	text, found, err := unstructured.NestedString(o.Object, strings.Split(field, ".")...)
	return found && err == nil && text != r.Value
}

func fail(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason),
	})
}

// AwaitWatches waits until the given number of watches is open.
func (s *Server) AwaitWatches(tb testing.TB, count int) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return len(s.watches) == count
	}, time.Minute, 10*time.Millisecond)
}
