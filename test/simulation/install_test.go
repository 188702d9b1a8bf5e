package simulation

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cpu returns the CPU time of this process.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestTheOperatorInstallsThreeNodesRestsAndRollsOut(t *testing.T) {
	simulate(t, 1, func(w *world) {
		before := cpu()
		w.installed()
		t.Logf("installed after %s, %s CPU", w.now(), cpu()-before)
		before = cpu()
		w.rest(54 * time.Minute)
		t.Logf("an hour at rest: %s CPU", cpu()-before)

		before, begun, was := cpu(), w.now(), w.state().latest
		w.configure(1)
		require.True(w, w.pass(10*time.Minute, func() bool { return w.state().latest > was && w.healthy() }), "%+v", w.state())
		t.Logf("rolled out in %s, %s CPU, longest without a leader %s", w.now()-begun, cpu()-before, w.rules.longest)
		w.rest(3 * time.Minute)
	})
}

// installed starts the operator and waits until everything runs.
func (w *world) installed() {
	w.operator.start()
	if !w.pass(5*time.Minute, w.healthy) {
		w.violate("the installation does not end", "%+v", w.state())
	}
	w.isBound.Store(true)
}
