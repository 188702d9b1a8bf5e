// Package apitest is an API server in memory for tests of what lies above client-go: informers, listers and clients
// work as in a cluster. It has versions and conflicts, generations, status subresources, selectors, watches that
// continue from a version, graceful deletion of pods, the garbage collector and, for the operator's resource, the
// server-side apply and the rules of its definition. It validates nothing else.
package apitest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configscheme "github.com/openshift/client-go/config/clientset/versioned/scheme"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Server is an API server.
type Server struct {
	Config *rest.Config
	// Admit may refuse a write: before is nil for a creation, after for a deletion. Authorize may refuse any request.
	// Both must be set before the first request, and must not call the server.
	Admit     func(user string, r Request, before, after Object) error
	Authorize func(user string, r Request) error
	// Log returns the log of a container, nil for what SetLog has set.
	Log func(pod string, r Request) (string, bool)

	types      *runtime.Scheme
	kinds      map[schema.GroupVersionResource]schema.GroupVersionKind
	definition *definition

	lock    sync.Mutex
	version int
	born    int
	// tokens are the expiries of the tokens that were issued.
	tokens      map[string]time.Time
	collections map[schema.GroupVersionResource]*collection
	watches     []*watcher
	observers   []func(Change)
	// requests has the lists and watches.
	requests []Request
	// logs are those of pods, by name.
	logs map[string]string
}

// Start starts a server without objects, and without a socket: its clients work in a bubble of testing/synctest too.
// addToScheme adds types beyond those of Kubernetes and config.openshift.io.
func Start(tb testing.TB, addToScheme ...func(*runtime.Scheme) error) *Server {
	tb.Helper()
	s := &Server{
		types:       runtime.NewScheme(),
		kinds:       map[schema.GroupVersionResource]schema.GroupVersionKind{},
		collections: map[schema.GroupVersionResource]*collection{}, tokens: map[string]time.Time{},
		logs: map[string]string{},
	}
	for _, add := range append(addToScheme, scheme.AddToScheme, configscheme.AddToScheme) {
		require.NoError(tb, add(s.types))
	}
	for kind := range s.types.AllKnownTypes() {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		s.kinds[resource] = kind
	}
	var err error
	s.definition, err = operatorDefinition()
	require.NoError(tb, err)
	s.kinds[s.definition.resource] = s.definition.kind
	s.Config = s.Connect("test", nil).Config()
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
		o := normalize(runtime.DeepCopyJSON(s.Encode(object)))
		content, isObject := o.(Object)
		require.True(tb, isObject)
		s.lock.Lock()
		if m := Meta(content); m["uid"] == nil || m["uid"] == "" {
			name, _ := m["name"].(string)
			m["uid"] = "uid-of-" + name
		}
		s.put("test", content)
		s.lock.Unlock()
	}
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

// parse returns what the path of a request is about.
func (s *Server) parse(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	t := target{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		t.resource.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return t, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	t.resource.Resource, t.name, t.subresource = parts[0], parts[1], parts[2]
	kind, known := s.kinds[t.resource]
	t.kind = kind
	return t, known
}

// target is what a request is about.
type target struct {
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
	kind                         schema.GroupVersionKind
}

func (t target) key() string { return t.namespace + "/" + t.name }

// path returns the path of the collection.
func (t target) path() string {
	path := "/apis/" + t.resource.Group + "/" + t.resource.Version
	if t.resource.Group == "" {
		path = "/api/" + t.resource.Version
	}
	if t.namespace != "" {
		path += "/namespaces/" + t.namespace
	}
	return path + "/" + t.resource.Resource
}
