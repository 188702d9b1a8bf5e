package listing

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const limit = 4 << 10

func TestAWatchPassesOnWhatIsSmall(t *testing.T) {
	line := func(kind, name string, size int) string {
		return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q},"message":%q}}`+"\n", kind, name, strings.Repeat("x", size))
	}
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"one after the other":        {line("ADDED", "a", 1) + line("MODIFIED", "b", 1) + line("DELETED", "c", 1), []string{"ADDED a", "MODIFIED b", "DELETED c"}},
		"a large one among them":     {line("ADDED", "a", 1) + line("ADDED", "b", 3*limit) + line("ADDED", "c", 1), []string{"ADDED a", "ADDED c"}},
		"the first one is large":     {line("ADDED", "a", 7*limit) + line("BOOKMARK", "b", 1), []string{"BOOKMARK b"}},
		"only large ones":            {line("ADDED", "a", limit) + line("ADDED", "b", limit), nil},
		"one that has no end":        {line("ADDED", "a", 1) + line("ADDED", "b", 1)[:20], []string{"ADDED a"}},
		"an error of the API server": {`{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410}}` + "\n", []string{"ERROR Expired"}},
		"what is no event":           {"[]\n", []string{"ERROR InternalError"}},
		"what is no object":          {`{"type":"ADDED","object":[]}` + "\n", []string{"ERROR InternalError"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{code: http.StatusOK, bodies: []io.Reader{strings.NewReader(tc.body)}}
			events, err := Watch(t.Context(), s.client(t), "/api/v1/events",
				metav1.ListOptions{FieldSelector: "source=a", ResourceVersion: "7"}, limit, &corev1.Event{})
			require.NoError(t, err)
			var seen []string
			for event := range events.ResultChan() {
				switch object := event.Object.(type) {
				case *corev1.Event:
					seen = append(seen, string(event.Type)+" "+object.Name)
				case *metav1.Status:
					seen = append(seen, string(event.Type)+" "+string(object.Reason))
				}
			}
			require.Equal(t, tc.want, seen)
			require.Equal(t, "true", s.queries[0].Get("watch"))
			require.Equal(t, "source=a", s.queries[0].Get("fieldSelector"))
			require.Equal(t, "7", s.queries[0].Get("resourceVersion"))
			require.Equal(t, "application/json", s.accept)
		})
	}
}

func TestAWatchThatIsRefusedReturnsTheError(t *testing.T) {
	s := &server{code: http.StatusForbidden, bodies: []io.Reader{strings.NewReader(
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not you"}`)}}
	_, err := Watch(t.Context(), s.client(t), "/api/v1/events", metav1.ListOptions{}, limit, &corev1.Event{})
	require.True(t, apierrors.IsForbidden(err), err)
}
