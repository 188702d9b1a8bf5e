package standin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// Requests counts, by endpoint, the requests that were received so far.
func (s *Server) Requests() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.requests)
}

// Calls returns the answered requests in the order of their answers.
func (s *Server) Calls() []Call {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.calls)
}

// Fail makes an endpoint, or with AllEndpoints every one, answer each request with the given HTTP status, whatever the
// request. A status of 0 ends it. A name that is no endpoint is an error.
func (s *Server) Fail(endpoint string, status int) error {
	return set(s, s.failures, endpoint, status)
}

// Throttle makes every endpoint answer with 429 and, unless it is 0, ask for patience in Retry-After. Fail with
// AllEndpoints and 0 ends it.
func (s *Server) Throttle(patience time.Duration) error {
	s.mutex.Lock()
	s.patience = patience
	s.mutex.Unlock()
	return s.Fail(AllEndpoints, http.StatusTooManyRequests)
}

// Limit makes every endpoint answer with 429 beyond a number of requests a second. 0 ends it.
func (s *Server) Limit(perSecond int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.limit = nil
	if perSecond > 0 {
		s.limit = flowcontrol.NewTokenBucketPassiveRateLimiter(float32(perSecond), perSecond)
	}
}

// OnlyWriter refuses, with 403, each call from another address than the writer's of an endpoint that isRead does not
// name. A nil isRead ends it.
func (s *Server) OnlyWriter(address string, isRead func(endpoint string) bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.writer, s.isRead = address, isRead
}

// RefusedWrites returns the calls that OnlyWriter has refused.
func (s *Server) RefusedWrites() []Call {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.refused)
}

// refusesWrite reports whether a call is that of another writer, and counts it then.
func (s *Server) refusesWrite(call *Call) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.isRead == nil || call.Source == s.writer || s.isRead(call.Endpoint) {
		return false
	}
	s.refused = append(s.refused, *call)
	return true
}

// Delay makes an endpoint, or with AllEndpoints every one, wait before it answers. A duration of 0 ends it. A name that
// is no endpoint is an error.
func (s *Server) Delay(endpoint string, duration time.Duration) error {
	return set(s, s.delays, endpoint, duration)
}

// set sets a switch; the zero value removes it.
func set[T comparable](s *Server, switches map[string]T, endpoint string, value T) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var none T
	switch {
	case endpoint != AllEndpoints && !s.endpoints[endpoint]:
		return s.errorf("no endpoint %q", endpoint)
	case value == none:
		delete(switches, endpoint)
	default:
		switches[endpoint] = value
	}
	return nil
}

// Declare adds names of endpoints, so that Fail and Delay take them. Endpoint declares its own.
func (s *Server) Declare(endpoints ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, endpoint := range endpoints {
		s.endpoints[endpoint] = true
	}
}

// Endpoint returns a handler that records each request of an endpoint, and fails or delays it if it should be. refuse
// answers with a status in the cloud's own form.
func (s *Server) Endpoint(name string, refuse Refusal, handle http.HandlerFunc) http.HandlerFunc {
	s.Declare(name)
	return func(w http.ResponseWriter, r *http.Request) { s.Observe(name, refuse, handle, w, r) }
}

// NotServed returns the handler of requests for anything that is not served. Clients, and the operator's diagnoses,
// conclude something about the cloud from every other status.
func (s *Server) NotServed(refuse Refusal) http.HandlerFunc {
	return s.Endpoint(Unserved, refuse, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotImplemented)
	})
}

// Refusal answers a request with a status in the form of a cloud.
type Refusal func(w http.ResponseWriter, status int)

// Observe handles one request as Endpoint does, for clouds that do not tell their endpoints apart by URL.
func (s *Server) Observe(name string, refuse Refusal, handle http.HandlerFunc, w http.ResponseWriter,
	r *http.Request) {
	status, delay, patience := s.begin(name)
	call := &Call{Endpoint: name}
	call.Source, _, _ = net.SplitHostPort(r.RemoteAddr) // a connection's address has both
	if s.refusesWrite(call) {
		status = http.StatusForbidden
	}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, call))
	recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
	}
	if status == http.StatusTooManyRequests && patience > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(patience.Seconds())))
	}
	if status != 0 {
		refuse(recorder, status)
	} else {
		handle(recorder, r)
	}
	call.Status = recorder.status
	s.end(call, r)
}

// begin counts a request and returns its switches.
func (s *Server) begin(endpoint string) (status int, delay, patience time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests[endpoint]++
	if status = s.failures[endpoint]; status == 0 {
		status = s.failures[AllEndpoints]
	}
	if status == 0 && s.limit != nil && !s.limit.TryAccept() {
		status = http.StatusTooManyRequests
	}
	return status, max(s.delays[endpoint], s.delays[AllEndpoints]), s.patience
}

func (s *Server) end(call *Call, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	call.Time = time.Now()
	s.calls = append(s.calls, *call)
	fmt.Fprintf(s.log, "%s %s %s %s %d %s\n", call.Time.UTC().Format(time.RFC3339Nano), r.RemoteAddr, call.Endpoint,
		r.URL.RequestURI(), call.Status, cmp.Or(call.Credential, "-"))
}

type callKey struct{}

// Identify records the credential that made a request, by a name that is no secret. It is called by handlers.
func Identify(r *http.Request, credential string) {
	if call, observed := r.Context().Value(callKey{}).(*Call); observed {
		call.Credential = credential
	}
}

// statusRecorder records the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
