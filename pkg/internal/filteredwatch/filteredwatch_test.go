package filteredwatch

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const waits = "waits"

// node returns a node with labels that Strip removes.
func node(taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"kubernetes.io/os": "linux"}}}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key})
	}
	return n
}

var ofWaiting = Source[*corev1.Node, *corev1.NodeList]{
	Name:       "test",
	IsRelevant: func(n *corev1.Node) bool { return len(n.Spec.Taints) > 0 },
	Strip: func(n *corev1.Node) *corev1.Node {
		n = n.DeepCopy()
		n.Labels = nil
		return n
	},
}

func TestOfAListOnlyWhatMattersIsKept(t *testing.T) {
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Node{*node(), *node(waits)}}
	require.NoError(t, ofWaiting.reduce(list))
	want := node(waits)
	want.Labels = nil
	require.Equal(t, &corev1.NodeList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Node{*want}}, list)
}

func TestOfAStreamOnlyWhatMattersIsKept(t *testing.T) {
	bookmark := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9", Annotations: map[string]string{"k8s.io/initial-events-end": "true"}}}
	status := &metav1.Status{Message: "too old"}
	bare := func(n *corev1.Node) *corev1.Node { n.Labels = nil; return n }

	for name, tc := range map[string]struct {
		in       watch.Event
		want     watch.Event
		wantKeep bool
	}{
		"an object that does not matter is dropped while all are streamed": {
			in: watch.Event{Type: watch.Added, Object: node()}, want: watch.Event{Type: watch.Added, Object: node()},
		},
		"one that matters is kept, stripped": {
			in:   watch.Event{Type: watch.Added, Object: node(waits)},
			want: watch.Event{Type: watch.Added, Object: bare(node(waits))}, wantKeep: true,
		},
		"a change is kept: it may be the end of its relevance": {
			in:   watch.Event{Type: watch.Modified, Object: node()},
			want: watch.Event{Type: watch.Modified, Object: bare(node())}, wantKeep: true,
		},
		"a bookmark is kept whole": {
			in: watch.Event{Type: watch.Bookmark, Object: bookmark}, want: watch.Event{Type: watch.Bookmark, Object: bookmark}, wantKeep: true,
		},
		"an error is kept": {
			in: watch.Event{Type: watch.Error, Object: status}, want: watch.Event{Type: watch.Error, Object: status}, wantKeep: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, keep := ofWaiting.dropIrrelevant(tc.in)
			require.Equal(t, tc.wantKeep, keep)
			require.Equal(t, tc.want, got)
		})
	}
}
