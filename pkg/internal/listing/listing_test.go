package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// server answers with the bodies, one for each request.
type server struct {
	code   int
	bodies []io.Reader
	// queries are those of the requests.
	queries []url.Values
	accept  string
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.queries, s.accept = append(s.queries, r.URL.Query()), r.Header.Get("Accept")
	body := s.bodies[0]
	s.bodies = s.bodies[1:]
	return &http.Response{
		StatusCode: s.code, Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(body), Request: r,
	}, nil
}

func (s *server) client(t *testing.T) rest.Interface {
	t.Helper()
	config := &rest.Config{
		Host:          "http://apiserver",
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
	}
	client, err := corev1client.NewForConfigAndClient(config, &http.Client{Transport: s})
	require.NoError(t, err)
	return client.RESTClient()
}

func names(t *testing.T, s *server, limit int) ([]string, error) {
	t.Helper()
	var found []string
	err := Each(t.Context(), s.client(t), "/api/v1/events", metav1.ListOptions{FieldSelector: "type=Warning", ResourceVersion: "0", Limit: 10},
		func(raw []byte) (bool, error) {
			var object metav1.PartialObjectMetadata
			require.NoError(t, json.Unmarshal(raw, &object))
			if object.Name == "bad" {
				return true, errors.New("no")
			}
			found = append(found, object.Name)
			return len(found) < limit, nil
		})
	return found, err
}

func TestAListIsReadObjectByObject(t *testing.T) {
	const (
		first  = `{"kind":"EventList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c1"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
		second = `{"items":[{"metadata":{"name":"c"}}],"metadata":{"resourceVersion":"7"}}`
	)
	for name, tc := range map[string]struct {
		bodies   []string
		limit    int
		code     int
		want     []string
		err      string
		requests int
	}{
		"the pages follow each other":     {bodies: []string{first, second}, want: []string{"a", "b", "c"}, requests: 2},
		"a list without items":            {bodies: []string{`{"kind":"EventList","metadata":{},"items":null}`}, requests: 1},
		"the caller has enough":           {bodies: []string{first}, limit: 1, want: []string{"a"}, requests: 1},
		"the caller has enough of a page": {bodies: []string{first}, limit: 2, want: []string{"a", "b"}, requests: 1},
		"the caller fails": {
			bodies: []string{`{"items":[{"metadata":{"name":"bad"}},{}]}`}, err: "no", requests: 1,
		},
		"a connection that ends": {
			bodies: []string{first[:len(first)-10]}, want: []string{"a"}, err: "decoding a list: unexpected EOF", requests: 1,
		},
		"a connection that ends after an object": {
			bodies: []string{first[:len(first)-2]}, want: []string{"a", "b"}, err: "decoding a list: unexpected EOF", requests: 1,
		},
		"an answer that is no list": {bodies: []string{`[]`}, err: "decoding a list: [ instead of {", requests: 1},
		"an error of the API server": {
			bodies: []string{`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not you"}`},
			code:   http.StatusForbidden, err: "not you", requests: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{code: http.StatusOK}
			if tc.code != 0 {
				s.code = tc.code
			}
			for _, body := range tc.bodies {
				s.bodies = append(s.bodies, strings.NewReader(body))
			}
			if tc.limit == 0 {
				tc.limit = 1000
			}
			found, err := names(t, s, tc.limit)
			require.Equal(t, tc.want, found)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.err)
			}
			require.Equal(t, tc.code == http.StatusForbidden, apierrors.IsForbidden(err))
			require.Len(t, s.queries, tc.requests)
			require.Equal(t, "application/json", s.accept)
			for i, query := range s.queries {
				require.Equal(t, "10", query.Get("limit"))
				require.Equal(t, "type=Warning", query.Get("fieldSelector"))
				require.False(t, query.Has("resourceVersion"), "a limit is ignored at version 0")
				require.Equal(t, i > 0, query.Get("continue") == "c1")
			}
		})
	}
}

// flood is the body of a list of large objects that is made while it is read.
type flood struct {
	io.Reader
	read int
}

// Read implements io.Reader.
func (f *flood) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	f.read += n
	return n, err
}

func TestAnObjectIsPassedOnBeforeTheNextOneIsRead(t *testing.T) {
	const size, count = 1 << 20, 20
	parts := []io.Reader{strings.NewReader(`{"items":[`)}
	for i := range count {
		comma := ","
		if i == 0 {
			comma = ""
		}
		parts = append(parts, strings.NewReader(fmt.Sprintf(`%s{"metadata":{"name":"e%d"},"message":%q}`, comma, i, strings.Repeat("x", size))))
	}
	body := &flood{Reader: io.MultiReader(append(parts, strings.NewReader(`]}`))...)}
	s := &server{code: http.StatusOK, bodies: []io.Reader{body}}
	seen := 0
	require.NoError(t, Each(t.Context(), s.client(t), "/api/v1/events", metav1.ListOptions{}, func([]byte) (bool, error) {
		seen++
		require.Less(t, body.read, (seen+2)*size, "at most one more object is in memory")
		return true, nil
	}))
	require.Equal(t, count, seen)
}
