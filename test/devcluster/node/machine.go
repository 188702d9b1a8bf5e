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

// machine says where the things are that nodes change for everybody on the machine.
type machine struct {
	// record is the file with the machineState, and the lock that says whether a network is the only one.
	record string
	// sysctls is the folder of the kernel's settings.
	sysctls string
	// folders are those that nodes mount theirs over.
	folders []string
}

// thisMachine is the one that the process runs on.
var thisMachine = machine{record: "/run/devcluster.json", sysctls: "/proc/sys/", folders: nodeFolders}

// inotifyInstances is how many times one user may ask to be told of changed files. Kubelets, containerds and pods do so, and
// three nodes take most of the kernel's 128; a kubelet that gets none ends.
const (
	inotifyInstances       = "fs/inotify/max_user_instances"
	neededInotifyInstances = 1024
)

// changedSysctls are settings of the whole machine that a network changes, and those that the kubelet does (its container
// manager's setupKernelTunables).
var changedSysctls = []string{
	inotifyInstances,
	"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
	"vm/overcommit_memory", "vm/panic_on_oom",
}

// machineState is what nodes change on the machine. All networks of a machine share one: the last to close undoes it,
// after a crash the last of a later run.
type machineState struct {
	// Sysctls are the values before the first kubelet, by path below machine.sysctls.
	Sysctls map[string]string `json:"sysctls"`
	// Folders were created to be mounted over, parents first.
	Folders []string `json:"folders"`

	machine machine
	file    *os.File
}

// acquire records what nodes are going to change and creates the missing folders.
func (m machine) acquire() (*machineState, error) {
	file, err := openLocked(m.record, syscall.LOCK_EX)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		// Another network exists and has done all this.
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
	// A crash before the record is written leaves empty folders and nothing else.
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

// load reads the record of another network or of a crashed run, whose values are the original ones, or else the
// machine.
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

// raiseInotifyInstances leaves a machine alone that has enough, or whose value a crashed run did not record.
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

// makeFolder creates a folder and its parents, open to all as on a real node, where pods without root read them.
func makeFolder(path string) error {
	return os.MkdirAll(path, 0o755)
}

// restore undoes what was recorded. A folder that somebody has put something in stays.
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

// holdBridge makes this process the only one that runs the network with the bridge.
func holdBridge(bridge string) (*os.File, error) {
	path := "/run/devcluster-" + bridge + ".pid"
	file, err := openLocked(path, syscall.LOCK_EX)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, readErr := os.ReadFile(path)
		if readErr != nil {
			return nil, errors.Join(err, readErr)
		}
		return nil, fmt.Errorf("process %s runs a cluster on it: stop that one first", strings.TrimSpace(string(holder)))
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

// openLocked opens a file, creating it, and locks it at once or fails with EWOULDBLOCK. Whoever removes such a file
// holds its lock, so a lock on a file that is no longer there is given up and taken anew.
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
