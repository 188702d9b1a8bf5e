package nodeinitialization

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// The watch sees every Node: 15,000 that are as they should be may cost nothing, and as many without an address, each of
// which is reported and may flap, seven megabytes.
func TestANodeThatDoesNotWaitCostsLittleMemory(t *testing.T) {
	const count = 15000
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		limit  int
	}{
		"it is as it should be": {func(*corev1.Node) {}, 16},
		"it lost its address":   {func(n *corev1.Node) { n.Status.Addresses = nil }, 500},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{clock: clocktesting.NewFakePassiveClock(time.Now()), waiting: map[string]wait{}, wrong: map[string]drift{},
				changed: func() {}}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range count {
				node := running(fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i>>8, i&255),
					fmt.Sprintf("aws:///eu-central-1%c/i-%017x", 'a'+i%3, i))
				tc.change(node)
				if s.isRelevant(node) {
					require.NoError(t, s.Update(stripped(node)))
				}
			}
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			bytes := (int(after.HeapAlloc) - int(before.HeapAlloc)) / count
			t.Logf("%d bytes a Node", bytes)
			require.Less(t, bytes, tc.limit)
			runtime.KeepAlive(s)
		})
	}
}
