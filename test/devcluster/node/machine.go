package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// kubeletSysctls are settings of the whole machine that the kubelet changes (its container manager's
// setupKernelTunables).
var kubeletSysctls = []string{
	"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
	"vm/overcommit_memory", "vm/panic_on_oom",
}

// machineState is what a run changes on the machine, so that this run or, after a crash, the next one undoes it.
type machineState struct {
	// PID is the process that holds the network.
	PID int `json:"pid"`
	// Sysctls are the values before the first kubelet, by path below /proc/sys.
	Sysctls map[string]string `json:"sysctls"`
	// Folders were created to be mounted over, parents first.
	Folders []string `json:"folders"`
}

// stateFile is the machineState on disk, locked while a network exists.
type stateFile struct{ file *os.File }

// lockState opens and locks the state of the network with the given bridge. What a crashed run recorded is returned,
// and nil when the last run ended properly.
func lockState(bridge string) (*stateFile, *machineState, error) {
	path := filepath.Join("/run", "devcluster-"+bridge+".json")
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, nil, err
		}
		crashed, err := lockOpenState(file)
		if err != nil {
			file.Close()
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		// The last holder removes the file before it lets go of the lock: then this lock is on no file.
		held, err := file.Stat()
		if err == nil {
			var onDisk os.FileInfo
			if onDisk, err = os.Stat(path); err == nil && os.SameFile(held, onDisk) {
				return &stateFile{file: file}, crashed, nil
			}
		}
		file.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
}

func lockOpenState(file *os.File) (*machineState, error) {
	lockErr := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	state := machineState{}
	if len(content) > 0 {
		if err := json.Unmarshal(content, &state); err != nil {
			return nil, err
		}
	}
	if errors.Is(lockErr, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("process %d runs a cluster on this network: stop it first", state.PID)
	}
	if lockErr != nil || len(content) == 0 {
		return nil, lockErr
	}
	return &state, nil
}

func (f *stateFile) write(state *machineState) error {
	content, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if err := f.file.Truncate(0); err != nil {
		return err
	}
	_, err = f.file.WriteAt(content, 0)
	return err
}

// remove deletes the file and then lets go of the lock.
func (f *stateFile) remove() error {
	return errors.Join(os.Remove(f.file.Name()), f.file.Close())
}

// readMachine records the machine's settings before a run changes them.
func readMachine() (*machineState, error) {
	state := &machineState{PID: os.Getpid(), Sysctls: map[string]string{}}
	for _, name := range kubeletSysctls {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			return nil, err
		}
		state.Sysctls[name] = strings.TrimSpace(string(value))
	}
	return state, nil
}

// createFolders makes the folders that nodes mount theirs over and records those that were missing.
func (s *machineState) createFolders(folders []string) error {
	for _, folder := range folders {
		var missing []string
		for path := folder; ; path = filepath.Dir(path) {
			_, err := os.Stat(path)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			missing = append(missing, path)
		}
		for i := len(missing) - 1; i >= 0; i-- {
			if err := os.Mkdir(missing[i], 0o755); err != nil {
				return err
			}
			s.Folders = append(s.Folders, missing[i])
		}
	}
	return nil
}

// restore undoes what was recorded. A folder that somebody has put something in stays.
func (s *machineState) restore() error {
	var errs []error
	for _, name := range kubeletSysctls {
		value, ok := s.Sysctls[name]
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0); err != nil {
			errs = append(errs, err)
		}
	}
	for i := len(s.Folders) - 1; i >= 0; i-- {
		err := os.Remove(s.Folders[i])
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
