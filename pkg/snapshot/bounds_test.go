package snapshot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

// lists records the queries of lists.
type lists struct {
	http.RoundTripper
	queries []url.Values
}

func (l *lists) RoundTrip(r *http.Request) (*http.Response, error) {
	if regexp.MustCompile("/(nodes|pods|secrets|services|events)$").MatchString(r.URL.Path) {
		l.queries = append(l.queries, r.URL.Query())
	}
	return l.RoundTripper.RoundTrip(r)
}

func largeService(i int) any {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant", Name: fmt.Sprintf("s%d", i), Annotations: map[string]string{"a": strings.Repeat("x", 250<<10)},
	}}
}

func largeEvent(i int) any {
	text := strings.Repeat("hunter2 ", 32<<10)
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprintf("e%d", i), Annotations: map[string]string{"a": text}},
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: "s1", UID: types.UID(text), FieldPath: text},
		Reason:         text, Message: text, Source: corev1.EventSource{Component: "service-controller", Host: text}, Type: "Warning",
	}
}

func TestOfWhatATenantWritesLittleIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		object func(int) any
		limit  int
		// want is how many objects are kept, each of which may have so many bytes.
		want, each int
		unread     []Unread
	}{
		"Services":                {object: largeService, limit: maxKept, want: 60, each: 256},
		"Events":                  {object: largeEvent, limit: maxKept, want: 60, each: 512},
		"more than may be kept":   {object: largeService, limit: 1 << 10, want: 10, each: 256, unread: []Unread{{"services", "only the first 1 KiB were read"}}},
		"more Events than may be": {object: largeEvent, limit: 1 << 10, want: 3, each: 512, unread: []Unread{{"events about services", "only the first 1 KiB were read"}}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &snapshottest.Cluster{}
			for i := range 60 {
				cluster.Objects = append(cluster.Objects, tc.object(i))
			}
			requests := &lists{}
			config := cluster.Serve(t)
			config.Timeout = time.Hour // The Events have 78 MB, for which a busy machine takes long.
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				requests.RoundTripper = next
				return requests
			})
			client, err := NewClient(config)
			require.NoError(t, err)
			client.maxKept = tc.limit
			s, err := client.Read(t.Context(), nil, Everything()...)
			require.NoError(t, err)
			content, err := json.Marshal(s.objects)
			require.NoError(t, err)
			require.Less(t, len(content), tc.want*tc.each)
			require.Equal(t, tc.unread, s.Unread)
			require.Len(t, s.objects, tc.want)
			require.Len(t, requests.queries, 6)
			for _, query := range requests.queries {
				require.Equal(t, "100", query.Get("limit"))
				require.False(t, query.Has("resourceVersion"), "the API server ignores a limit at version 0")
			}
		})
	}
}

// A tenant may write such an Event.
func TestANameThatNoFileCanHaveIsWrittenAndReadBack(t *testing.T) {
	name := strings.Repeat("e", 253)
	cluster := &snapshottest.Cluster{Objects: []any{&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "tenant", Name: name},
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: "s", Namespace: "tenant"},
		Source:         corev1.EventSource{Component: "service-controller"}, Type: "Warning", Message: "m",
	}}}
	client, err := NewClient(cluster.Serve(t))
	require.NoError(t, err)
	s, err := client.Read(t.Context(), nil, Everything()...)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "dump")
	_, err = s.Write(dir, "v1")
	require.NoError(t, err)
	read, err := ReadDirectory(dir, nil)
	require.NoError(t, err)
	require.Equal(t, name, List[corev1.Event](read, "tenant")[0].Name)
}

func TestALongTextIsOmittedAndAShortOneIsMasked(t *testing.T) {
	cluster := &snapshottest.Cluster{Objects: []any{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "cloud-credentials"}, Data: map[string][]byte{"password": []byte("hunter2-hunter2")}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "short"}, Message: "refused hunter2-hunter2"},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "long"}, Message: strings.Repeat("hunter2-hunter2 ", 4<<10)},
	}}
	client, err := NewClient(cluster.Serve(t))
	require.NoError(t, err)
	s, err := client.Read(t.Context(), nil, Everything()...)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, event := range List[corev1.Event](s, "tenant") {
		texts[event.Name] = event.Message
	}
	require.Equal(t, map[string]string{"short": "refused <password>", "long": "<65536 bytes omitted>"}, texts)
}
