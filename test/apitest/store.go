package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is the content of an object. Nobody changes one that is stored.
type Object = map[string]any

// stored is one version of an object, also as JSON.
type stored struct {
	object  Object
	raw     []byte
	version int
}

// Change is one change of an object. Before is nil for a creation, After for a deletion.
type Change struct {
	// User wrote it, with this verb.
	User, Verb string
	Resource   schema.GroupVersionResource
	// Key is the namespace and the name, as in "openshift-config/a" or "/cluster".
	Key           string
	Before, After Object
}

// event is a Change with the version of its collection.
type event struct {
	version       int
	before, after *stored
}

// maxHistory limits the events from which a watch can continue, and the memory for them.
const maxHistory = 300

// collection has the objects of a resource by their keys.
type collection struct {
	objects map[string]*stored
	// keys are those of objects, sorted; nil after one came or went.
	keys    []string
	history []event
	// dropped is the version of the last event that the history has lost.
	dropped int
}

func (s *Server) of(resource schema.GroupVersionResource) *collection {
	c := s.collections[resource]
	if c == nil {
		c = &collection{objects: map[string]*stored{}}
		s.collections[resource] = c
	}
	return c
}

// sorted returns the keys. The caller must not change them.
func (c *collection) sorted() []string {
	if c.keys == nil {
		c.keys = slices.Sorted(maps.Keys(c.objects))
	}
	return c.keys
}

// Key returns the key of an object.
func Key(o Object) string {
	u := unstructured.Unstructured{Object: o}
	return u.GetNamespace() + "/" + u.GetName()
}

// Meta returns the metadata of an object. The caller may change those of an object of its own.
func Meta(o Object) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	if m == nil {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// commit stores a version and tells the watches. after is nil for a deletion. It requires the lock.
func (s *Server) commit(user, verb string, resource schema.GroupVersionResource, key string, after Object) *stored {
	c := s.of(resource)
	before := c.objects[key]
	s.version++
	var next *stored
	if after != nil {
		next = s.encode(after)
		c.objects[key] = next
		if before == nil {
			c.keys = nil
		}
	} else {
		delete(c.objects, key)
		c.keys = nil
		// The event of a deletion has the version of the deletion.
		before = s.encode(runtime.DeepCopyJSON(before.object))
	}
	e := event{s.version, before, next}
	c.history = append(c.history, e)
	if len(c.history) > maxHistory {
		c.dropped = c.history[maxHistory/3-1].version
		c.history = slices.Clone(c.history[maxHistory/3:])
	}
	for _, see := range s.observers {
		see(Change{user, verb, resource, key, contentOf(before), contentOf(next)})
	}
	for _, w := range s.watches {
		if w.resource == resource {
			w.send(e)
		}
	}
	if after == nil {
		s.collect(Meta(before.object)["uid"])
	}
	return next
}

func contentOf(v *stored) Object {
	if v == nil {
		return nil
	}
	return v.object
}

// encode gives the object the current version. It requires the lock.
func (s *Server) encode(o Object) *stored {
	Meta(o)["resourceVersion"] = strconv.Itoa(s.version)
	raw, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Errorf("encoding %s: %w", Key(o), err))
	}
	return &stored{o, raw, s.version}
}

// collected are the resources that the garbage collector looks at.
var collected = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"},
}

// collect deletes what a deleted object owned. It requires the lock.
func (s *Server) collect(uid any) {
	for _, resource := range collected {
		for _, key := range s.of(resource).sorted() {
			owned := s.of(resource).objects[key]
			owners, _ := Meta(owned.object)["ownerReferences"].([]any)
			if len(owners) == 1 && owners[0].(map[string]any)["uid"] == uid { //nolint:forcetypeassert // The API's type.
				s.remove("garbage-collector", resource, key, -1)
			}
		}
	}
}

// remove deletes an object. A pod that runs on a node gets a time to end: grace in seconds, or its own if that is
// negative. It requires the lock.
func (s *Server) remove(user string, resource schema.GroupVersionResource, key string, grace int64) *stored {
	current := s.of(resource).objects[key]
	if resource.Resource != "pods" || grace == 0 || !runsOnNode(current.object) {
		s.commit(user, "delete", resource, key, nil)
		return current
	}
	if Meta(current.object)["deletionTimestamp"] != nil {
		return current
	}
	o := runtime.DeepCopyJSON(current.object)
	if grace < 0 {
		grace = 30
		if own, found, _ := unstructured.NestedInt64(o, "spec", "terminationGracePeriodSeconds"); found {
			grace = own
		}
	}
	end := time.Now().Add(time.Duration(grace) * time.Second)
	Meta(o)["deletionTimestamp"] = end.UTC().Format(time.RFC3339)
	Meta(o)["deletionGracePeriodSeconds"] = grace
	return s.commit(user, "delete", resource, key, o)
}

// runsOnNode reports whether a kubelet has to end the pod before it goes.
func runsOnNode(pod Object) bool {
	node, _, _ := unstructured.NestedString(pod, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(pod, "status", "phase")
	mirror, _, _ := unstructured.NestedString(pod, "metadata", "annotations", "kubernetes.io/config.mirror")
	return node != "" && mirror == "" && phase != "Succeeded" && phase != "Failed"
}

// birth sets what the API server sets. It requires the lock.
func (s *Server) birth(o Object) {
	s.born++
	m := Meta(o)
	if m["uid"] == nil || m["uid"] == "" {
		m["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.born)
	}
	m["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	m["generation"] = int64(1)
}

// Accepts reports whether a token was issued and has not expired.
func (s *Server) Accepts(token string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return time.Now().Before(s.tokens[token])
}

// Observe calls a function with each change. It must not call the server.
func (s *Server) Observe(see func(Change)) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.observers = append(s.observers, see)
}

// Get returns an object, nil if there is none. The caller must not change it.
func (s *Server) Get(resource schema.GroupVersionResource, key string) Object {
	s.lock.Lock()
	defer s.lock.Unlock()
	return contentOf(s.of(resource).objects[key])
}

// List returns the objects of a resource, sorted by their keys. The caller must not change them.
func (s *Server) List(resource schema.GroupVersionResource) []Object {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := s.of(resource)
	all := make([]Object, 0, len(c.objects))
	for _, key := range c.sorted() {
		all = append(all, c.objects[key].object)
	}
	return all
}

// Put creates or replaces an object without any check.
func (s *Server) Put(user string, o Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.put(user, o)
}

// put requires the lock.
func (s *Server) put(user string, o Object) {
	u := unstructured.Unstructured{Object: o}
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	key := Key(o)
	before := s.of(resource).objects[key]
	if before == nil {
		created := Meta(o)["creationTimestamp"]
		s.birth(o)
		if created != nil {
			Meta(o)["creationTimestamp"] = created
		}
		s.commit(user, "put", resource, key, o)
		return
	}
	keepIdentity(o, before.object)
	Meta(o)["resourceVersion"] = Meta(before.object)["resourceVersion"]
	if !before.isLike(o) {
		s.commit(user, "put", resource, key, o)
	}
}

// keepIdentity gives a version the fields of the former one that nobody may change.
func keepIdentity(after, before Object) {
	for _, field := range []string{"uid", "creationTimestamp", "generation", "managedFields", "deletionTimestamp"} {
		if value := Meta(before)[field]; value != nil {
			Meta(after)[field] = value
		} else {
			delete(Meta(after), field)
		}
	}
}

// Edit changes an object, if it exists and change returns true. It reports whether it did.
func (s *Server) Edit(
	user string, resource schema.GroupVersionResource, key string, change func(o Object) bool,
) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	current := s.of(resource).objects[key]
	if current == nil {
		return false
	}
	o := runtime.DeepCopyJSON(current.object)
	if !change(o) {
		return false
	}
	if !reflect.DeepEqual(current.object["spec"], o["spec"]) {
		grow(o)
	}
	s.commit(user, "edit", resource, key, o)
	return true
}

// grow counts a change of the spec.
func grow(o Object) {
	generation, _ := Meta(o)["generation"].(int64)
	Meta(o)["generation"] = generation + 1
}

// Remove deletes an object at once, as a deletion with no grace period does. It reports whether it existed.
func (s *Server) Remove(user string, resource schema.GroupVersionResource, key string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of(resource).objects[key] == nil {
		return false
	}
	s.commit(user, "delete", resource, key, nil)
	return true
}

// Forget drops objects without an event, as etcd drops those whose lease has expired.
func (s *Server) Forget(resource schema.GroupVersionResource, is func(Object) bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := s.of(resource)
	c.keys = nil
	maps.DeleteFunc(c.objects, func(_ string, o *stored) bool { return is(o.object) })
}

// isLike reports whether an object is equal to the version for the API, which knows no difference between a missing and
// an empty field of a type.
func (v *stored) isLike(o Object) bool {
	raw, _ := json.Marshal(o)
	return bytes.Equal(v.raw, raw)
}

// normalize makes whole numbers int64, as k8s.io/apimachinery does.
func normalize(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = normalize(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = normalize(inner)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

// Decode decodes YAML or JSON that was decoded into an object, so that its numbers are those of the API.
func Decode(o Object) Object {
	normalize(o)
	return o
}

// Encode encodes an object of a known type.
func (s *Server) Encode(object runtime.Object) Object {
	kinds, _, err := s.types.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetGroupVersionKind(kinds[0])
	if created, found := Meta(o)["creationTimestamp"]; found && created == nil {
		delete(Meta(o), "creationTimestamp")
	}
	return o
}

// Load decodes an object into one of a type, nil if there is none.
func Load[T any](o Object) *T {
	if o == nil {
		return nil
	}
	t := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, t); err != nil {
		panic(fmt.Errorf("decoding %s: %w", Key(o), err))
	}
	return t
}

// failure is an answer that is an error.
func failure(code int32, reason metav1.StatusReason, t target, message string) answer {
	body, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: code, Reason: reason, Message: strings.TrimSpace(message),
		Details: &metav1.StatusDetails{Name: t.name, Group: t.resource.Group, Kind: t.resource.Resource},
	})
	return answer{code: int(code), body: body}
}
