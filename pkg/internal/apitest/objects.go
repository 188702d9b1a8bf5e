package apitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// watcher is one watch. Its events are dropped once its buffer is full, which no test reaches.
type watcher struct {
	path    string
	selects selector
	events  chan map[string]any
}

func (w *watcher) send(event string, object *unstructured.Unstructured) {
	select {
	case w.events <- map[string]any{"type": event, "object": object.DeepCopy().Object}:
	default:
	}
}

// watch requires the lock and releases it.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target, matching selector) {
	watch := &watcher{t.path, matching, make(chan map[string]any, 10000)}
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for _, object := range s.all(t.path) {
		if version, _ := strconv.Atoi(object.GetResourceVersion()); version > since && matching(object) {
			watch.send("ADDED", object)
		}
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		end := &unstructured.Unstructured{}
		end.SetGroupVersionKind(t.kind)
		end.SetResourceVersion(strconv.Itoa(s.version))
		end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		watch.send("BOOKMARK", end)
	}
	s.watches[watch] = true
	s.lock.Unlock()
	defer func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		delete(s.watches, watch)
	}()
	for {
		w.(http.Flusher).Flush() //nolint:forcetypeassert // Each of net/http's is one.
		select {
		case <-r.Context().Done():
			return
		case event := <-watch.events:
			_ = json.NewEncoder(w).Encode(event)
		}
	}
}

// serveObject serves a request about one object. It requires the lock.
func (s *Server) serveObject(w http.ResponseWriter, r *http.Request, t target) {
	existing := s.objects[t.path][t.name]
	if t.name != "" && existing == nil {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	if r.Header.Get("Content-Type") == string(types.JSONPatchType) {
		s.jsonPatch(w, r, t, existing)
		return
	}
	body := &unstructured.Unstructured{}
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&body.Object); err != nil {
			fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		s.create(w, t, body)
		return
	case http.MethodPut:
		existing = body
		s.store(t.path, existing)
	case http.MethodPatch:
		existing = existing.DeepCopy()
		merge(existing.Object, body.Object)
		s.store(t.path, existing)
	case http.MethodDelete:
		delete(s.objects[t.path], t.name)
		s.notify("DELETED", t.path, existing)
	}
	_ = json.NewEncoder(w).Encode(existing.Object)
}

// jsonPatch serves a JSON patch. It requires the lock.
func (s *Server) jsonPatch(w http.ResponseWriter, r *http.Request, t target, existing *unstructured.Unstructured) {
	var patch jsonpatch.Patch
	before, err := existing.MarshalJSON()
	if err == nil {
		err = json.NewDecoder(r.Body).Decode(&patch)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	patched := &unstructured.Unstructured{}
	after, err := patch.Apply(before)
	if err == nil {
		err = patched.UnmarshalJSON(after)
	}
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		return
	}
	s.store(t.path, patched)
	_ = json.NewEncoder(w).Encode(patched.Object)
}

func (s *Server) create(w http.ResponseWriter, t target, body *unstructured.Unstructured) {
	switch {
	case t.subresource == "token":
		_ = unstructured.SetNestedField(body.Object, "token", "status", "token")
		expiry := clock.RealClock{}.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		_ = unstructured.SetNestedField(body.Object, expiry, "status", "expirationTimestamp")
	case s.objects[t.path][body.GetName()] != nil:
		fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	default:
		body.SetCreationTimestamp(metav1.NewTime(clock.RealClock{}.Now().Truncate(time.Second)))
		s.store(t.path, body)
	}
	_ = json.NewEncoder(w).Encode(body.Object)
}

// listKeys are the fields that identify the elements of lists.
var listKeys = map[string]string{"conditions": "type", "nodeStatuses": "nodeName"}

// merge merges changes like a server-side apply: the lists of listKeys by their keys, maps by key.
func merge(into, changes map[string]any) {
	for name, change := range changes {
		switch change := change.(type) {
		case map[string]any:
			if inner, ok := into[name].(map[string]any); ok {
				merge(inner, change)
				continue
			}
		case []any:
			if before, ok := into[name].([]any); ok && listKeys[name] != "" {
				into[name] = mergeList(before, change, listKeys[name])
				continue
			}
		}
		into[name] = change
	}
}

// mergeList keeps the order of the elements, because another one would be a change. It keeps the time of a condition
// whose status stays: clients read it from managed fields, which there are none of.
func mergeList(before, changes []any, key string) []any {
	for _, element := range changes {
		change, _ := element.(map[string]any)
		at := slices.IndexFunc(before, func(e any) bool {
			former, _ := e.(map[string]any)
			return former[key] == change[key]
		})
		if at < 0 {
			before = append(before, change)
			continue
		}
		former, _ := before[at].(map[string]any)
		if former["status"] == change["status"] && former["lastTransitionTime"] != nil {
			change["lastTransitionTime"] = former["lastTransitionTime"]
		}
		merge(former, change)
	}
	return before
}
