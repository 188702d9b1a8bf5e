package apitest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// latency is that of each request. Without one, controllers that answer each other's writes would stop the time.
const latency = 2 * time.Millisecond

// Network is the network between a client and the server.
type Network interface {
	// Pass returns what happens to a request.
	Pass(user string, r Request) Passage
	// Delay returns how long an event takes to a watch.
	Delay(user string, resource schema.GroupVersionResource) time.Duration
}

// Passage is what happens to a request.
type Passage struct {
	// Before and After are how long the request and the answer take.
	Before, After time.Duration
	// Error ends the request before the server gets it, Lost after the server has served it.
	Error, Lost error
	// Code is an answer by somebody else than the server, 0 for none.
	Code int
}

// Link is the connection of one process, until it is cut.
type Link struct {
	// server is nil once it is cut: clients that nobody ends must not keep it.
	server  *Server
	user    string
	network Network

	lock sync.Mutex
	mine []*watcher
}

// Connect returns a connection for a user. network is nil for one without faults.
func (s *Server) Connect(user string, network Network) *Link {
	return &Link{server: s, user: user, network: network}
}

// Config returns the configuration of a client.
func (l *Link) Config() *rest.Config {
	return &rest.Config{Host: "http://apiserver", QPS: -1, Transport: l,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
}

// Cut ends the connection for good, as the end of the process does: nothing that it still does reaches the server.
func (l *Link) Cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, w := range l.mine {
		w.stop()
	}
	l.server, l.network, l.mine = nil, nil, nil
}

// ends returns what the link connects, nil once it is cut.
func (l *Link) ends() (*Server, Network) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.server, l.network
}

func (l *Link) cut() bool {
	server, _ := l.ends()
	return server == nil
}

var errCut = errors.New("the process has ended")

// RoundTrip implements http.RoundTripper.
func (l *Link) RoundTrip(r *http.Request) (*http.Response, error) {
	server, network := l.ends()
	if server == nil {
		return nil, errCut
	}
	passage := Passage{Before: latency}
	due := time.Now
	if network != nil {
		t, _ := server.parse(r.URL.Path)
		passage = network.Pass(l.user, requestOf(r, t))
		due = func() time.Time { return time.Now().Add(network.Delay(l.user, t.resource)) }
	}
	if err := pause(r.Context(), passage.Before); err != nil {
		return nil, err
	}
	switch {
	case l.cut():
		return nil, errCut
	case passage.Error != nil:
		return nil, passage.Error
	case passage.Code != 0:
		return l.respond(r, refusal(passage.Code)), nil
	}
	a := server.serve(l.user, r, due)
	if err := pause(r.Context(), passage.After); err != nil {
		return nil, err
	}
	if l.cut() {
		return nil, errCut
	}
	if passage.Lost != nil && a.watch == nil {
		return nil, passage.Lost
	}
	return l.respond(r, a), nil
}

func (l *Link) respond(r *http.Request, a answer) *http.Response {
	response := &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {a.contentType()}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
	if a.code == http.StatusTooManyRequests {
		response.Header.Set("Retry-After", "1")
	}
	if a.watch != nil {
		response.Body, response.ContentLength = a.watch, -1
		l.lock.Lock()
		l.mine = append(slices.DeleteFunc(l.mine, (*watcher).isStopped), a.watch)
		l.lock.Unlock()
	}
	return response
}

func (w *watcher) isStopped() bool {
	select {
	case <-w.closed:
		return true
	default:
		return false
	}
}

// pause waits, and returns an error if the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
