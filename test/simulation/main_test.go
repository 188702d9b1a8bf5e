package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// A world has little that lives and writes much that does not: with Go's default of 100, a sixth of the time is the
// garbage collector's.
const garbage = 800

func TestMain(m *testing.M) {
	debug.SetGCPercent(garbage)
	os.Exit(m.Run())
}
