package nodedeletion

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// forged is an Event with the source of the CCM, and text wherever an Event may have some.
func forged(name, uid, text string) *corev1.Event {
	reference := corev1.ObjectReference{Kind: "Node", Name: text, UID: types.UID(uid), FieldPath: text}
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: EventNamespace, Name: name, Labels: map[string]string{"a": text}, Annotations: map[string]string{"a": text},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: text}}, Finalizers: []string{text},
		},
		InvolvedObject: reference, Related: &reference, Source: corev1.EventSource{Component: EventSource, Host: text},
		Reason: eventReason, Message: text, Action: text, ReportingInstance: text, Type: corev1.EventTypeNormal,
		FirstTimestamp: metav1.NewTime(start), LastTimestamp: metav1.NewTime(start.Add(time.Minute)),
	}
}

func TestTheAnnouncementsOfTheCCMAreFollowed(t *testing.T) {
	server := apitest.Start(t)
	genuine, later := forged("a", "uid-a", "x"), forged("b", "uid-b", "x")
	other, failed := forged("c", "uid-c", "x"), forged("d", "uid-a", "x")
	other.Source.Component, failed.Reason = "kubelet", "DeletingNodeFailed"
	server.Set(t, genuine, other, failed)
	kube, err := kubernetes.NewForConfig(server.Config)
	require.NoError(t, err)
	a := NewAnnouncements(kube.CoreV1())
	require.False(t, a.HasSynced())
	changed := make(chan struct{}, 10)
	a.onChange(func() { changed <- struct{}{} })
	a.Start(t.Context().Done())
	a.Start(t.Context().Done())
	<-changed
	require.True(t, a.HasSynced())
	of := func(uid types.UID) announced {
		return announced{uid, metav1.NewTime(start.Local()), metav1.NewTime(start.Add(time.Minute).Local())}
	}
	require.Equal(t, map[string]announced{"a": of("uid-a")}, a.snapshot())
	server.AwaitWatches(t, 1)
	server.Set(t, later)
	<-changed
	require.Equal(t, map[string]announced{"a": of("uid-a"), "b": of("uid-b")}, a.snapshot())
	require.NoError(t, kube.CoreV1().Events(EventNamespace).Delete(t.Context(), "a", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return len(a.snapshot()) == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, changed, "the end of an Event decides nothing")
}

// Whoever has the CCM's identity can write any number of Events of up to 1.5 MiB.
func TestForgedAnnouncementsTakeLittleMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		count  int
		uid    func(int) string
		text   string
		want   int
		growth uint64
	}{
		"large ones": {
			count: 300, uid: func(i int) string { return fmt.Sprintf("%036d", i) }, text: strings.Repeat("x", 64<<10), want: 300, growth: 1 << 20,
		},
		"a UID that is none": {
			count: 300, uid: func(int) string { return strings.Repeat("x", 64<<10) }, text: "x", want: 0, growth: 1 << 20,
		},
		"many": {
			count: 50000, uid: func(i int) string { return fmt.Sprintf("%036d", i) }, text: "x", want: maxAnnouncements, growth: 8 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, m := NewAnnouncements(nil), newMemory()
			before := liveHeap()
			for i := range tc.count {
				// As the watch decodes it.
				content, err := forged(fmt.Sprintf("%0253d", i), tc.uid(i), tc.text).Marshal()
				require.NoError(t, err)
				event := &corev1.Event{}
				require.NoError(t, event.Unmarshal(content))
				if isAnnouncement(event) {
					require.NoError(t, a.Add(stripEvent(event)))
				}
			}
			m.readEvents(start, a.snapshot())
			require.Less(t, liveHeap(), before+tc.growth)
			require.Len(t, m.events, tc.want)
			runtime.KeepAlive(a)
		})
	}
}

// bodies are the answers to requests, one after the other.
type bodies chan io.Reader

// RoundTrip implements http.RoundTripper.
func (b bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	body, more := <-b
	if !more {
		return nil, errors.New("no more answers")
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r,
	}, nil
}

// What was decoded and dropped stays in memory until it is collected, which took 28 MiB.
func TestForgedAnnouncementsAreNotEvenDecoded(t *testing.T) {
	const count, size = 300, 1_200_000
	text := strings.Repeat("x", size)
	var parts []io.Reader
	for i := range count {
		parts = append(parts, strings.NewReader(fmt.Sprintf(
			`{"type":"ADDED","object":{"kind":"Event","apiVersion":"v1","metadata":{"name":"e%d","resourceVersion":"%d"},"message":"`, i, i+1)),
			strings.NewReader(text), strings.NewReader("\"}}\n"))
	}
	parts = append(parts, strings.NewReader(`{"type":"ADDED","object":{"kind":"Event","apiVersion":"v1",`+
		`"metadata":{"name":"genuine","resourceVersion":"500"},"involvedObject":{"uid":"uid-a"}}}`+"\n"+
		`{"type":"BOOKMARK","object":{"kind":"Event","apiVersion":"v1","metadata":{"resourceVersion":"501",`+
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n"))
	answers := make(bodies, 1)
	answers <- io.MultiReader(parts...)
	close(answers)
	client, err := corev1client.NewForConfigAndClient(&rest.Config{Host: "http://apiserver"}, &http.Client{Transport: answers})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := NewAnnouncements(client)
	a.Start(t.Context().Done())
	require.Eventually(t, a.HasSynced, time.Minute, time.Millisecond)
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(10), "MiB were allocated")
	require.Len(t, a.snapshot(), 1)
	require.Contains(t, a.snapshot(), "genuine")
}

func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestAnAnnouncementBeyondTheLimitCountsOnceAnotherHasExpired(t *testing.T) {
	a := NewAnnouncements(nil)
	var first []any
	for i := range maxAnnouncements {
		first = append(first, stripEvent(forged(fmt.Sprint(i), fmt.Sprint(i), "x")))
	}
	require.NoError(t, a.Replace(first, "1"))
	late := stripEvent(forged("late", "uid-late", "x"))
	require.NoError(t, a.Add(late))
	require.NotContains(t, a.snapshot(), "late")
	require.NoError(t, a.Update(stripEvent(forged("7", "uid-7", "x"))))
	require.Equal(t, types.UID("uid-7"), a.snapshot()["7"].node, "those that are known are followed")
	require.NoError(t, a.Delete(first[0]))
	require.NoError(t, a.Update(late))
	require.Contains(t, a.snapshot(), "late")
	require.Len(t, a.snapshot(), maxAnnouncements)
}
