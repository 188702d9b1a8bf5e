package simulation

import (
	"flag"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	_ "github.com/openshift/cluster-cloud-controller-manager-operator/test/simulation/unmetered"
)

// A world has little that lives and writes much that does not: with Go's default of 100, a sixth of the time is the
// garbage collector's.
const garbage = 800

func TestMain(m *testing.M) {
	debug.SetGCPercent(garbage)
	// What klog would write is not in the timeline, and costs a tenth of the time.
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func TestNoQueueMeasuresItself(t *testing.T) {
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "x"})
	defer queue.ShutDown()
	stacks := make([]byte, 1<<20)
	require.NotContains(t, string(stacks[:runtime.Stack(stacks, true)]), "updateUnfinishedWorkLoop")
}
