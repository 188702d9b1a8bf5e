// Package start starts the real cloud-controller-managers with exactly the command line, the environment and the files that
// operand.Render made, against a real kube-apiserver and a cloud of which only the front door exists. It has tests only.
package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
)

// insideKey is set for the process that runs the tests in namespaces of its own.
const insideKey = "CONFORMANCE_START_INSIDE"

// cluster has a control plane and the payload, but no nodes and no operator.
var cluster *devcluster.Cluster

// cloud is the front door of every cloud.
var cloud *front

// given is the cloud-controller-manager that CCM or CCM_IMAGE names, nil if all are the built ones. PLATFORM names the
// platform of which it is.
var given *ccm.Program

// TestMain runs the tests in a network namespace, so that nothing reaches a network, and in a mount namespace, so that no
// mount outlives them.
func TestMain(m *testing.M) {
	run := func() (int, error) { return inside(m) }
	if os.Getenv(insideKey) == "" {
		run = outside
	}
	code, err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting the cloud-controller-managers: %v\n", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// outside builds what is needed while there is a network, and runs this program again.
func outside() (int, error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("this needs root, for namespaces and mounts: run the tests as root")
	}
	if err := devcluster.Build(context.Background(), devcluster.Options{Progress: os.Stderr}); err != nil {
		return 0, err
	}
	// The child dies with the thread that started it.
	runtime.LockOSThread()
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), insideKey+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	err := command.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode(), nil
	}
	return 0, err
}

// inside starts what all tests share and runs them.
func inside(m *testing.M) (code int, err error) {
	if err := isolate(); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "conformance-start-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if given, err = openCCM(ctx); err != nil {
		return 0, err
	}
	cluster, err = devcluster.Start(ctx, devcluster.Options{Dir: filepath.Join(dir, "cluster"), Platform: configv1.NonePlatformType})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cluster.Stop(context.Background())) }()
	if cloud, err = openFront(); err != nil {
		return 0, err
	}
	if err := prepare(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// openCCM opens what the environment names, with PLATFORM as make run has it.
func openCCM(ctx context.Context) (*ccm.Program, error) {
	named := ccm.Environment()
	if !named.Empty() && os.Getenv("PLATFORM") == "" {
		return nil, errors.New("CCM is set, so PLATFORM must name its platform")
	}
	return devcluster.OpenCCM(ctx, devcluster.Options{Platform: configv1.PlatformType(os.Getenv("PLATFORM")), CCM: named})
}

// isolate keeps mounts to this namespace and gives its loopback interface the addresses of a node and of every cloud's
// metadata service, which knows the node by its address.
func isolate() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", nodeAddress + "/32", "dev", "lo"},
		{"address", "add", metadataAddress + "/32", "dev", "lo"},
		{"route", "replace", "local", metadataAddress, "dev", "lo", "table", "local", "src", nodeAddress},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	return nil
}
