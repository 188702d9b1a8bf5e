package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watcher is one watch, and the body of its response.
type watcher struct {
	server    *Server
	resource  schema.GroupVersionResource
	namespace string
	selects   selector
	// due returns when an event that happens now arrives.
	due    func() time.Time
	ctx    context.Context //nolint:containedctx // That of the request, which Read obeys.
	end    <-chan time.Time
	wake   chan struct{}
	closed chan struct{}
	once   sync.Once

	lock  sync.Mutex
	queue []sent
	rest  []byte
}

// sent is an event on its way.
type sent struct {
	content []byte
	at      time.Time
}

// watch requires the server's lock.
func (s *Server) watch(
	ctx context.Context, t target, request Request, selects selector, due func() time.Time,
) answer {
	w := &watcher{server: s, resource: t.resource, namespace: t.namespace, selects: selects, due: due, ctx: ctx,
		wake: make(chan struct{}, 1), closed: make(chan struct{})}
	if request.TimeoutSeconds > 0 {
		w.end = time.After(time.Duration(request.TimeoutSeconds) * time.Second)
	}
	since, _ := strconv.Atoi(request.Query.Get("resourceVersion"))
	initial := request.Query.Get("sendInitialEvents") == "true"
	c := s.of(t.resource)
	switch {
	case initial || since == 0:
		for _, key := range c.sorted() {
			w.send(event{s.version, nil, c.objects[key]})
		}
	case since < c.dropped:
		return failure(http.StatusGone, metav1.StatusReasonExpired, t, "too old resource version")
	default:
		for _, e := range c.history {
			if e.version > since {
				w.send(e)
			}
		}
	}
	if initial {
		w.push("BOOKMARK", fmt.Appendf(nil,
			`{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d","annotations":{%q:"true"}}}`,
			t.kind.GroupVersion().String(), t.kind.Kind, s.version, metav1.InitialEventsAnnotationKey))
	}
	s.watches = append(s.watches, w)
	return answer{code: http.StatusOK, watch: w}
}

func (w *watcher) push(kind string, raw []byte) {
	content := fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", kind, raw)
	w.lock.Lock()
	at := w.due()
	if n := len(w.queue); n > 0 && at.Before(w.queue[n-1].at) {
		at = w.queue[n-1].at
	}
	w.queue = append(w.queue, sent{content, at})
	w.lock.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// send passes an event on, as what it is for the selectors.
func (w *watcher) send(e event) {
	selected := func(v *stored) bool { return v != nil && covers(w.namespace, Key(v.object)) && w.selects(v.object) }
	was, is := selected(e.before), selected(e.after)
	switch {
	case is && !was:
		w.push("ADDED", e.after.raw)
	case is:
		w.push("MODIFIED", e.after.raw)
	case was && e.after != nil:
		o := runtime.DeepCopyJSON(e.before.object)
		Meta(o)["resourceVersion"] = strconv.Itoa(e.version)
		if raw, err := json.Marshal(o); err == nil {
			w.push("DELETED", raw)
		}
	case was:
		w.push("DELETED", e.before.raw)
	}
}

// Read implements io.Reader. Each end is io.EOF: client-go's watch would pass on another error, which
// k8s.io/apimachinery's watch.Filter cannot once nobody listens.
func (w *watcher) Read(p []byte) (int, error) {
	for len(w.rest) == 0 {
		wait, arrived := w.next()
		if arrived {
			break
		}
		select {
		case <-w.wake:
		case <-wait:
		case <-w.end:
			return 0, io.EOF
		case <-w.closed:
			return 0, io.EOF
		case <-w.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// next takes the next event if it has arrived, and returns when it does otherwise.
func (w *watcher) next() (wait <-chan time.Time, arrived bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.queue) == 0 {
		return nil, false
	}
	if left := time.Until(w.queue[0].at); left > 0 {
		return time.After(left), false
	}
	w.rest = w.queue[0].content
	w.queue = w.queue[1:]
	return nil, true
}

func (w *watcher) stop() { w.once.Do(func() { close(w.closed) }) }

// Close implements io.Closer.
func (w *watcher) Close() error {
	w.stop()
	w.server.lock.Lock()
	defer w.server.lock.Unlock()
	w.server.watches = slices.DeleteFunc(w.server.watches, func(other *watcher) bool { return other == w })
	return nil
}

// CloseWatches ends the watches that match, as an API server does that restarts. It returns how many.
func (s *Server) CloseWatches(is func(resource schema.GroupVersionResource) bool) (closed int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, w := range s.watches {
		if is(w.resource) {
			w.stop()
			closed++
		}
	}
	return closed
}
