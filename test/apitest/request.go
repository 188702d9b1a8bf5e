package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is a request.
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

	// Verb is that of the authorization: get, list, watch, create, update, patch, delete.
	Verb                         string
	Resource                     schema.GroupVersionResource
	Namespace, Name, Subresource string
	Query                        url.Values
}

// answer is a response: a body, or a watch.
type answer struct {
	code  int
	body  []byte
	watch *watcher
	text  bool
}

func (a answer) contentType() string {
	if a.text {
		return "text/plain"
	}
	return "application/json"
}

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

func requestOf(r *http.Request, t target) Request {
	query := r.URL.Query()
	timeout, _ := strconv.ParseInt(query.Get("timeoutSeconds"), 10, 64)
	limit, _ := strconv.ParseInt(query.Get("limit"), 10, 64)
	out := Request{
		Path: t.path(), Labels: query.Get("labelSelector"), Fields: query.Get("fieldSelector"),
		Watch: query.Get("watch") != "" && t.name == "", TimeoutSeconds: timeout, Limit: limit, Verb: verbs[r.Method],
		Resource: t.resource, Namespace: t.namespace, Name: t.name, Subresource: t.subresource, Query: query,
	}
	if r.Method == http.MethodGet {
		switch {
		case out.Watch:
			out.Verb = "watch"
		case t.name == "":
			out.Verb = "list"
		default:
			out.Verb = "get"
		}
	}
	return out
}

// serve serves a request of a user. due returns when an event that happens now reaches a watch.
func (s *Server) serve(user string, r *http.Request, due func() time.Time) answer {
	t, known := s.parse(r.URL.Path)
	if !known {
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, t,
			"the server could not find the requested resource")
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, t, err.Error())
		}
	}
	request := requestOf(r, t)
	if s.Authorize != nil {
		if err := s.Authorize(user, request); err != nil {
			return failure(http.StatusForbidden, metav1.StatusReasonForbidden, t, err.Error())
		}
	}
	if t.subresource == "log" {
		return s.serveLog(t, request)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if request.Verb == "list" || request.Verb == "watch" {
		return s.read(r, t, request, due)
	}
	w := &write{s, user, t, request, s.of(t.resource).objects[t.key()], body, r.Header.Get("Content-Type")}
	return w.serve()
}

func (s *Server) serveLog(t target, r Request) answer {
	if s.Log != nil {
		text, found := s.Log(t.name, r)
		if !found {
			return failure(http.StatusNotFound, metav1.StatusReasonNotFound, t, "there is no log")
		}
		return answer{code: http.StatusOK, body: []byte(text), text: true}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return answer{code: http.StatusOK, body: []byte(s.logs[t.name]), text: true}
}

// read serves a list or a watch. It requires the lock.
func (s *Server) read(r *http.Request, t target, request Request, due func() time.Time) answer {
	selects, err := request.selector()
	if err != nil {
		return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, t, err.Error())
	}
	s.requests = append(s.requests, Request{Path: request.Path, Labels: request.Labels, Fields: request.Fields,
		Watch: request.Watch, TimeoutSeconds: request.TimeoutSeconds, Limit: request.Limit})
	if request.Watch {
		return s.watch(r.Context(), t, request, selects, due)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"},"items":[`,
		t.kind.GroupVersion().String(), t.kind.Kind+"List", s.version)
	first := true
	for _, key := range s.of(t.resource).sorted() {
		o := s.of(t.resource).objects[key]
		if !covers(t.namespace, key) || !selects(o.object) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(o.raw)
	}
	b.WriteString("]}")
	return answer{code: http.StatusOK, body: b.Bytes()}
}

// covers reports whether an object's key is of the namespace, "" for all.
func covers(namespace, key string) bool {
	return namespace == "" || strings.HasPrefix(key, namespace+"/")
}

type selector func(Object) bool

func (r Request) selector() (selector, error) {
	byLabels, err := labels.Parse(r.Labels)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	byFields, err := fields.ParseSelector(r.Fields)
	if err != nil {
		return nil, fmt.Errorf("fields: %w", err)
	}
	return func(o Object) bool {
		return byLabels.Matches(labels.Set((&unstructured.Unstructured{Object: o}).GetLabels())) &&
			!slices.ContainsFunc(byFields.Requirements(), func(r fields.Requirement) bool { return differs(o, r) })
	}, nil
}

// differs reports whether a text in the object differs from that of the selector.
func differs(o Object, r fields.Requirement) bool {
	field := r.Field
	if field == "source" { // Of Events.
		field = "source.component"
	}
	text, _, _ := unstructured.NestedString(o, strings.Split(field, ".")...)
	isEqual := text == r.Value
	return isEqual == (r.Operator == "!=")
}

func decode(body []byte) (Object, error) {
	o := Object{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	normalize(o)
	return o, nil
}

// refusal is the answer of somebody between the client and the server.
func refusal(code int) answer {
	reasons := map[int]metav1.StatusReason{
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
	}
	return failure(int32(code), reasons[code], target{}, http.StatusText(code)) //nolint:gosec // An HTTP status.
}
