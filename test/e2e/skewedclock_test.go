package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// A time namespace moves the monotonic clock only, and a static binary loads no libfaketime. A process reads the wall
// clock without a system call, by a function that the kernel maps into it (vdso(7)). Each process has its own copy of
// that page once it is written to, so the clock of one process can be moved: Chaos Mesh does so for its TimeChaos.

// skew moves the wall clock of a node's processes.
type skew struct {
	offset time.Duration
	// patched has the original code of each process.
	patched map[int][]byte
}

// skewedCode is clock_gettime for x86-64: the system call, and for the wall clock an addition of seconds.
func skewedCode(offset time.Duration) []byte {
	code := []byte{
		0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228: clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: 0 is CLOCK_REALTIME
		0x75, 0x0d, // jnz over the addition
		0x49, 0xb8, // mov r8, the seconds
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(offset/time.Second))
	return append(code, 0x4c, 0x01, 0x06, // add [rsi], r8
		0xc3) // ret
}

// moveClocks moves the clocks of all processes that run on a node, and of those that start, until the returned
// function is called.
func (s *suite) moveClocks(t *testing.T, n *node.Node, offset time.Duration) (restore func()) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the clock of a process can be moved on amd64 only")
	}
	k := &skew{offset: offset, patched: map[int][]byte{}}
	require.NoError(t, k.apply(s.everyProcess(n)))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(askInterval):
				// A process that ends meanwhile is none.
				_ = k.apply(s.everyProcess(n))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		k.undo()
	}
}

// everyProcess returns the processes of a node except for the first one, which starts the others.
func (s *suite) everyProcess(n *node.Node) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && pid != n.PID() && s.nodeOf(pid) == n {
			pids = append(pids, pid)
		}
	}
	return pids
}

// apply moves the clocks of those processes that are not moved yet. A process that executes another program has its
// former number and a clean page.
func (k *skew) apply(pids []int) error {
	var errs []error
	code := skewedCode(k.offset)
	for _, pid := range pids {
		address, original, err := clockCode(pid, len(code))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if bytes.Equal(original, code) {
			continue
		}
		if err := overwrite(pid, address, code); err != nil {
			errs = append(errs, err)
			continue
		}
		k.patched[pid] = original
	}
	return errors.Join(errs...)
}

func (k *skew) undo() {
	for pid, original := range k.patched {
		address, now, err := clockCode(pid, len(original))
		if err == nil && bytes.Equal(now, skewedCode(k.offset)) {
			_ = overwrite(pid, address, original) // It may have ended.
		}
	}
}

// clockCode returns the address and the first bytes of a process's clock_gettime.
func clockCode(pid, length int) (address int64, code []byte, err error) {
	begin, end, err := mapping(pid, "[vdso]")
	if err != nil {
		return 0, nil, err
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, nil, err
	}
	defer memory.Close()
	image := make([]byte, end-begin)
	if _, err := memory.ReadAt(image, begin); err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, fmt.Errorf("process %d: %w", pid, err)
	}
	library, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, nil, fmt.Errorf("process %d: %w", pid, err)
	}
	symbols, err := library.DynamicSymbols()
	if err != nil {
		return 0, nil, fmt.Errorf("process %d: %w", pid, err)
	}
	for _, symbol := range symbols {
		if symbol.Name == "__vdso_clock_gettime" {
			at := int64(symbol.Value)
			return begin + at, image[at : at+int64(length)], nil
		}
	}
	return 0, nil, fmt.Errorf("process %d: it has no clock", pid)
}

func mapping(pid int, name string) (begin, end int64, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); fields[len(fields)-1] == name {
			_, err := fmt.Sscanf(fields[0], "%x-%x", &begin, &end)
			return begin, end, err
		}
	}
	return 0, 0, fmt.Errorf("process %d: it has no %s", pid, name)
}

// overwrite replaces code while no thread of the process executes it.
func overwrite(pid int, address int64, code []byte) (err error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)) }()
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	for range 100 {
		if stoppedOutside(pid, address, address+int64(len(code))) {
			_, err = memory.WriteAt(code, address)
			return err
		}
		// A thread is in the code, or does not stand yet: it goes on for a moment.
		if err := errors.Join(syscall.Kill(pid, syscall.SIGCONT), syscall.Kill(pid, syscall.SIGSTOP)); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d: a thread is always reading the clock", pid)
}

// stoppedOutside reports whether every thread stands, and none between the addresses.
func stoppedOutside(pid int, begin, end int64) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil || len(tasks) == 0 {
		return false
	}
	for _, task := range tasks {
		content, err := os.ReadFile(task)
		if err != nil {
			continue // The thread has ended.
		}
		fields := strings.Fields(string(content))
		if fields[0] == "running" {
			return false
		}
		at, err := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil || at >= begin && at < end {
			return false
		}
	}
	return true
}

// TestTheClockOfAProcessIsMovedAndRestored moves the clock of a program that prints the time.
func TestTheClockOfAProcessIsMovedAndRestored(t *testing.T) {
	if runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
		t.Skip("this needs root on amd64")
	}
	if os.Getenv(clockChild) != "" {
		for {
			fmt.Println("now", time.Now().UnixMilli())
			<-time.After(10 * time.Millisecond)
		}
	}
	child := startClock(t)
	k := &skew{offset: -time.Hour, patched: map[int][]byte{}}
	require.InDelta(t, 0, child.behind(t).Seconds(), 60)
	require.NoError(t, k.apply([]int{child.pid}))
	require.NoError(t, k.apply([]int{child.pid}), "a second time changes nothing")
	require.Len(t, k.patched, 1)
	child.await(t, time.Hour)
	k.undo()
	child.await(t, 0)
}
