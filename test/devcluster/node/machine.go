package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// machine has the paths that nodes change for the whole machine.
type machine struct {
	// record is the file with the machineState, and the lock that shows whether a network is the only one.
	record string
	// sysctls is the directory of the kernel's settings.
	sysctls string
	// directories are the directories that nodes mount theirs over.
	folders []string
}

// thisMachine is the machine that the process runs on.
var thisMachine = machine{record: "/run/devcluster.json", sysctls: "/proc/sys/", folders: nodeFolders}

// inotifyInstances is the limit of inotify instances per user. Kubelets, containerds and pods use them, and three
// nodes need most of the kernel's 128. A kubelet without one exits.
const (
	inotifyInstances       = "fs/inotify/max_user_instances"
	neededInotifyInstances = 1024
)

// changedSysctls are machine-wide settings that a network or the kubelet changes (its container manager's
// setupKernelTunables).
var changedSysctls = []string{
	inotifyInstances,
	"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
	"vm/overcommit_memory", "vm/panic_on_oom",
}

// machineState is the record of the nodes' changes on the machine. All networks of a machine share it: the last one
// to close restores the machine, after a crash the last of a later run.
type machineState struct {
	// Sysctls are the values before the first kubelet, by path below machine.sysctls.
	Sysctls map[string]string `json:"sysctls"`
	// Folders were created to be mounted over, parents first.
	Folders []string `json:"folders"`

	machine machine
	file    *os.File
}

// acquire records the original state and creates missing directories.
func (m machine) acquire() (*machineState, error) {
	file, err := openLocked(m.record, syscall.LOCK_EX)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		// Another network has already done this.
		if file, err = openLocked(m.record, syscall.LOCK_SH); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	state := &machineState{machine: m, file: file}
	if err := state.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", m.record, err), file.Close())
	}
	// A crash before the record is written leaves only empty directories.
	if err := errors.Join(state.createFolders(), state.save()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := state.raiseInotifyInstances(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", m.record, err), file.Close())
	}
	return state, nil
}

// release restores the machine unless another network still needs it as it is.
func (s *machineState) release() error {
	err := syscall.Flock(int(s.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return s.file.Close()
	}
	if err == nil {
		err = s.restore()
	}
	if err == nil {
		err = os.Remove(s.machine.record)
	}
	return errors.Join(err, s.file.Close())
}

// load reads the record of another network or of a crashed run, which has the original values, or else the machine's.
func (s *machineState) load() error {
	content, err := io.ReadAll(s.file)
	if err != nil {
		return err
	}
	if len(content) > 0 {
		return json.Unmarshal(content, s)
	}
	s.Sysctls = map[string]string{}
	for _, name := range changedSysctls {
		value, err := os.ReadFile(s.machine.sysctls + name)
		if err != nil {
			return err
		}
		s.Sysctls[name] = strings.TrimSpace(string(value))
	}
	return nil
}

func (s *machineState) save() error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := s.file.Truncate(0); err != nil {
		return err
	}
	_, err = s.file.WriteAt(content, 0)
	return err
}

// raiseInotifyInstances raises the limit unless it is high enough or the original value is unknown.
func (s *machineState) raiseInotifyInstances() error {
	recorded, ok := s.Sysctls[inotifyInstances]
	if !ok {
		return nil
	}
	has, err := strconv.Atoi(recorded)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.machine.record, inotifyInstances, err)
	}
	if has >= neededInotifyInstances {
		return nil
	}
	return os.WriteFile(s.machine.sysctls+inotifyInstances, []byte(strconv.Itoa(neededInotifyInstances)), 0)
}

func (s *machineState) createFolders() error {
	for _, folder := range s.machine.folders {
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
			if err := makeFolder(missing[i]); err != nil {
				return err
			}
			s.Folders = append(s.Folders, missing[i])
		}
	}
	return nil
}

// makeFolder creates a directory and its parents with read access for all users, as on a real node, where pods
// without root read them.
func makeFolder(path string) error {
	return os.MkdirAll(path, 0o755)
}

// restore restores the recorded state. It keeps directories that are no longer empty.
func (s *machineState) restore() error {
	var errs []error
	for _, name := range changedSysctls {
		value, ok := s.Sysctls[name]
		if !ok {
			continue
		}
		if err := os.WriteFile(s.machine.sysctls+name, []byte(value), 0); err != nil {
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

// holdBridge locks the bridge for this process.
func holdBridge(bridge string) (*os.File, error) {
	path := "/run/devcluster-" + bridge + ".pid"
	file, err := openLocked(path, syscall.LOCK_EX)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, readErr := os.ReadFile(path)
		if readErr != nil {
			return nil, errors.Join(err, readErr)
		}
		return nil, fmt.Errorf("process %s runs a cluster on it: stop that one first",
			strings.TrimSpace(string(holder)))
	}
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// openLocked opens or creates a file and locks it immediately, or fails with EWOULDBLOCK. A process removes such a
// file only while it holds the lock, so openLocked retries if the locked file no longer exists.
func openLocked(path string, how int) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
			return nil, errors.Join(&fs.PathError{Op: "lock", Path: path, Err: err}, file.Close())
		}
		locked, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		onDisk, err := os.Stat(path)
		if err == nil && os.SameFile(locked, onDisk) {
			return file, nil
		}
		if closeErr := file.Close(); closeErr != nil || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
			return nil, errors.Join(err, closeErr)
		}
	}
}
