package apitest

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// StartInBubble is Start without a socket, so that its clients work in a bubble of testing/synctest.
func StartInBubble(tb testing.TB, addToScheme ...func(*runtime.Scheme) error) *Server {
	tb.Helper()
	s := newServer(tb, addToScheme...)
	s.Config = configOf("http://apiserver")
	s.Config.Transport = transport{s}
	return s
}

func configOf(host string) *rest.Config {
	return &rest.Config{Host: host, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
}

// latency is that of each request. Without one, controllers that answer each other's writes would stop the time.
const latency = 2 * time.Millisecond

// transport passes requests to a handler of the same process.
type transport struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	r = r.WithContext(ctx)
	if r.Body == nil {
		r.Body = http.NoBody
	}
	<-time.After(latency)
	reader, writer := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: writer, begun: make(chan int, 1)}
	go func() {
		t.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		_ = writer.Close()
	}()
	select {
	case code := <-w.begun:
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: w.header, Body: body{reader, writer, cancel}, ContentLength: -1, Request: r,
		}, nil
	case <-ctx.Done():
		cancel()
		_ = reader.Close()
		return nil, context.Cause(ctx)
	}
}

// body is that of a response. Closing it ends the request, such as a watch.
type body struct {
	*io.PipeReader
	writer *io.PipeWriter
	cancel context.CancelFunc
}

// Close implements io.Closer. It is the end of the body for a Read that waits: client-go's watch would pass on another
// error, which k8s.io/apimachinery's watch.Filter cannot once nobody listens.
func (b body) Close() error {
	b.cancel()
	return b.writer.Close()
}

// responseWriter writes to a pipe. begun gets the code of the response once.
type responseWriter struct {
	header  http.Header
	body    *io.PipeWriter
	begun   chan int
	written bool
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	if !w.written {
		w.written = true
		w.begun <- code
	}
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }
