package nodedeletion

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The CPU of one look at a large cluster. While deletions wait, the controller looks once a second or two.
func BenchmarkALook(b *testing.B) {
	for _, size := range []struct {
		nodes, silent, announced int
		unknown                  bool
	}{
		{nodes: 5_000, silent: 2_400, announced: 2_400, unknown: true},
		{nodes: 5_000, silent: 2_400, announced: 2_400},
		{nodes: 10_000, silent: 1_000, announced: 1_000, unknown: true},
		{nodes: 10_000},
	} {
		name := fmt.Sprintf("%d nodes, %d silent, %d announced, gone %t", size.nodes, size.silent, size.announced, size.unknown)
		b.Run(name, func(b *testing.B) {
			names := make([]string, size.nodes)
			for i := range names {
				names[i] = "node-" + strconv.Itoa(i)
			}
			c := newCluster(b, "openstack", names...)
			c.controlPlaneOf("node-0", "node-1", "node-2")
			for _, name := range names[size.nodes-size.silent:] {
				c.report(name, corev1.ConditionUnknown)
			}
			for _, name := range names[size.nodes-size.announced:] {
				c.announce(c.node(name))
			}
			look := func() {
				require.NoError(b, c.controller.sync(b.Context(), c.timer))
				c.clock.SetTime(c.clock.Now().Add(time.Second))
			}
			for range 30 { // The kubelets have been silent for long enough, and a probe has ended.
				look()
			}
			b.ResetTimer()
			before := cpuTime(b)
			for b.Loop() {
				look()
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// cpuTime returns the CPU time of this process. Other processes delay it, and do not change that.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
