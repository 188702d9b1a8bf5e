package nodedeletion

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// nodeLimit is what a Node may cost: 15,000 of them are 4 MiB of live heap, and 6 MiB of the process.
const nodeLimit = 300

// wire returns a Node of a large cluster as the API server sends it.
func wire(tb testing.TB, i int) []byte {
	tb.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i>>8, i&255), ResourceVersion: fmt.Sprint(90_000_000 + i),
			UID:         types.UID(fmt.Sprintf("0b5fd3c4-2f5b-4c5e-8a51-%012d", i)),
			Labels:      map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("eu-central-1%c", 'a'+i%3), "kubernetes.io/os": "linux"},
			Annotations: map[string]string{"machineconfiguration.openshift.io/currentConfig": strings.Repeat("x", 4000)},
		},
		Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///eu-central-1%c/i-%017x", 'a'+i%3, i)},
	}
	for _, condition := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: "KubeletIsFine", Message: "kubelet is posting ready status",
			LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
		})
	}
	for j := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{
			fmt.Sprintf("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:%064x", j),
		}})
	}
	content, err := node.Marshal()
	require.NoError(tb, err)
	return content
}

// fill returns the cache of as many Nodes, and the live heap of it.
func fill(tb testing.TB, count int) (store cache.Indexer, heap int) {
	tb.Helper()
	store = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range count {
		node := &corev1.Node{}
		require.NoError(tb, node.Unmarshal(wire(tb, i)))
		kept, err := StripNode(node)
		require.NoError(tb, err)
		require.NoError(tb, store.Add(kept))
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return store, int(after.HeapAlloc) - int(before.HeapAlloc)
}

func TestANodeCostsLittleMemory(t *testing.T) {
	const count = 6000
	store, heap := fill(t, count)
	t.Logf("%d bytes a Node", heap/count)
	require.Less(t, heap/count, nodeLimit)
	runtime.KeepAlive(store)
}

// The CPU of a change of a Node, of which a large cluster has 50 a second.
func BenchmarkAChangeOfANode(b *testing.B) {
	content := wire(b, 1)
	b.ReportAllocs()
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		node := &corev1.Node{}
		require.NoError(b, node.Unmarshal(content))
		_, err := StripNode(node)
		require.NoError(b, err)
	}
}
