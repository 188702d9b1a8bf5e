// Package build compiles the pinned servers of the development cluster into one directory and skips what is up to date.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/runlock"
)

// progressInterval is the interval of progress messages of a running build.
const progressInterval = 15 * time.Second

// Versions of what the build modules pin; a test compares them with their go.mod files.
const (
	EtcdVersion       = "v3.6.16"
	KubernetesVersion = "v1.36.3"
	OpenStackVersion  = "v1.36.0"
	AWSVersion        = "v1.36.2"
	AzureVersion      = "v1.36.5"
	VSphereVersion    = "v1.36.0"
)

// Target is one command to build.
type Target struct {
	// Name is the binary's name.
	Name string
	// Module is the directory of the build module, relative to the repository.
	Module string
	// Package is the import path, or ./path relative to the module.
	Package string
	// Tags are the build tags.
	Tags []string
	// Race adds the race detector, which needs a C compiler, and the C library where the program runs.
	Race bool
	// Variables are the string variables that the linker sets, as package.name=value.
	Variables []string
	// Path is the program's path in the product's image of the same name, empty if no image has it.
	Path string
	// Usual is the usual duration of a build with cold caches, for the progress line.
	Usual string
}

const (
	kubernetesModule = "test/devcluster/build/kubernetes"
	etcdutlModule    = "test/devcluster/build/etcdutl"
	openstackModule  = "test/devcluster/build/openstack"
	cloudsModule     = "test/devcluster/build/clouds"
)

// ControlPlane returns the servers that every development cluster needs, and kubectl.
func ControlPlane() []Target {
	return []Target{
		{Name: "etcd", Module: kubernetesModule, Package: "go.etcd.io/etcd/server/v3", Usual: "15 seconds"},
		kubernetes("kube-apiserver", "3 minutes"),
		kubernetes("kube-controller-manager", "50 seconds"),
		kubernetes("kubectl", "20 seconds"),
	}
}

// Nodes returns the servers that a cluster with nodes needs besides ControlPlane.
func Nodes() []Target {
	return []Target{
		kubernetes("kube-scheduler", "10 seconds"),
		kubernetes("kubelet", "20 seconds"),
	}
}

// Etcdutl returns the program that restores a snapshot of etcd.
func Etcdutl() Target {
	return Target{Name: "etcdutl", Module: etcdutlModule, Package: "go.etcd.io/etcd/etcdutl/v3", Usual: "15 seconds"}
}

// OpenStack returns the OpenStack cloud-controller-manager.
func OpenStack() Target {
	return Target{
		Name:    "openstack-cloud-controller-manager",
		Module:  openstackModule,
		Package: "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager",
		Path:    "/usr/bin/openstack-cloud-controller-manager",
		Variables: []string{
			"k8s.io/cloud-provider-openstack/pkg/version.Version=" + OpenStackVersion,
			"k8s.io/component-base/version.gitVersion=" + OpenStackVersion,
		},
		Usual: "100 seconds",
	}
}

// Operands returns the programs of the payload's images that can be built from public modules, by tag.
func Operands() map[string]Target {
	return map[string]Target{
		"openstack-cloud-controller-manager": OpenStack(),
		"aws-cloud-controller-manager": provider("aws-cloud-controller-manager",
			"k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager", AWSVersion, "4 minutes"),
		"azure-cloud-controller-manager": provider("azure-cloud-controller-manager",
			"sigs.k8s.io/cloud-provider-azure/cmd/cloud-controller-manager", AzureVersion, "1 minute"),
		"azure-cloud-node-manager": provider("azure-cloud-node-manager",
			"sigs.k8s.io/cloud-provider-azure/cmd/cloud-node-manager", AzureVersion, "10 seconds"),
		"vsphere-cloud-controller-manager": provider("vsphere-cloud-controller-manager",
			"k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager", VSphereVersion, "1 minute"),
	}
}

// provider is a program of the module that the clouds without a stand-in share.
func provider(name, pkg, version, usual string) Target {
	return Target{
		Name:      name,
		Module:    cloudsModule,
		Package:   pkg,
		Path:      "/bin/" + name,
		Variables: []string{"k8s.io/component-base/version.gitVersion=" + version},
		Usual:     usual,
	}
}

// kubernetes stamps the version, because kubectl cannot parse the one of a plain build.
func kubernetes(name, usual string) Target {
	var variables []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		variables = append(variables, pkg+".gitVersion="+KubernetesVersion, pkg+".gitMajor=1", pkg+".gitMinor=36")
	}
	return Target{Name: name, Module: kubernetesModule, Package: "k8s.io/kubernetes/cmd/" + name, Variables: variables,
		Usual: usual}
}

// Builder builds targets of one repository.
type Builder struct {
	// Repository is the directory of the root module.
	Repository string
	// BinDir receives the binaries and, as .<name>.stamp, what each was made from.
	BinDir string
	// Progress receives a line per build that is needed.
	Progress io.Writer
}

// Pinned builds the targets whose stamp does not match their module's go.mod and go.sum, the Go version and the build
// flags. Only one process builds at a time in a BinDir; others wait.
func (b Builder) Pinned(ctx context.Context, targets ...Target) error {
	goVersion, err := b.output(ctx, b.Repository, "env", "GOVERSION")
	if err != nil {
		return fmt.Errorf("go version: %w", err)
	}
	stale, err := b.stale(targets, goVersion)
	if err != nil || len(stale) == 0 {
		return err
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	// Another process may have built some targets meanwhile.
	if stale, err = b.stale(targets, goVersion); err != nil {
		return err
	}
	for i, target := range stale {
		fmt.Fprintf(b.Progress, "building %s (%d/%d), usually %s with cold caches\n", target.Name, i+1, len(stale),
			target.Usual)
		if err := b.build(ctx, target); err != nil {
			return err
		}
		stamp, err := b.stamp(target, goVersion)
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.stampPath(target), []byte(stamp), 0o644); err != nil {
			return fmt.Errorf("stamp of %s: %w", target.Name, err)
		}
	}
	return nil
}

// Local builds targets whose sources are in the repository. The Go command compiles and links only what has changed.
// Only one process builds at a time in a BinDir.
func (b Builder) Local(ctx context.Context, targets ...Target) error {
	lock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	for _, target := range targets {
		fmt.Fprintf(b.Progress, "building %s, usually %s with cold caches\n", target.Name, target.Usual)
		if err := b.build(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

func (b Builder) lock(ctx context.Context) (*runlock.Lock, error) {
	if err := os.MkdirAll(b.BinDir, 0o755); err != nil {
		return nil, fmt.Errorf("directory of binaries: %w", err)
	}
	return runlock.Wait(ctx, filepath.Join(b.BinDir, ".lock"), b.Progress)
}

// build builds one target and puts the result in place in one step.
func (b Builder) build(ctx context.Context, target Target) error {
	started := time.Now()
	temporary := filepath.Join(b.BinDir, "."+target.Name+".new")
	// The Go command links a program again unless the file that it is to write has it already.
	if err := copyFile(filepath.Join(b.BinDir, target.Name), temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("build %s: %w", target.Name, err)
	}
	stop := b.reportTime(target.Name, started)
	_, err := b.output(ctx, filepath.Join(b.Repository, target.Module),
		append([]string{"build", "-o", temporary}, buildArgs(target)...)...)
	stop()
	if err != nil {
		return fmt.Errorf("build %s: %w", target.Name, err)
	}
	if err := os.Rename(temporary, filepath.Join(b.BinDir, target.Name)); err != nil {
		return fmt.Errorf("build %s: %w", target.Name, err)
	}
	if took := time.Since(started); took > time.Second {
		fmt.Fprintf(b.Progress, "built %s in %d s\n", target.Name, int(took.Seconds()))
	}
	return nil
}

// copyFile copies a program.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	//nolint:gosec // a program that every user may run
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// reportTime prints how long the build has run until the returned function is called.
func (b Builder) reportTime(name string, started time.Time) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(b.Progress, "  still building %s, %d s\n", name, int(time.Since(started).Seconds()))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func buildArgs(target Target) []string {
	flags := []string{"-s", "-w"}
	for _, variable := range target.Variables {
		flags = append(flags, "-X", variable)
	}
	args := []string{"-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " ")}
	if len(target.Tags) > 0 {
		args = append(args, "-tags", strings.Join(target.Tags, ","))
	}
	if target.Race {
		args = append(args, "-race")
	}
	return append(args, target.Package)
}

// output runs the go command without cgo: the binaries go into images that hold nothing else. Only the race detector
// needs it.
func (b Builder) output(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if slices.Contains(args, "-race") {
		command.Env = append(command.Env, "CGO_ENABLED=1")
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func (b Builder) stale(targets []Target, goVersion string) ([]Target, error) {
	var stale []Target
	for _, target := range targets {
		want, err := b.stamp(target, goVersion)
		if err != nil {
			return nil, err
		}
		have, err := os.ReadFile(b.stampPath(target))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("stamp of %s: %w", target.Name, err)
		}
		if _, err := os.Stat(filepath.Join(b.BinDir, target.Name)); err != nil || string(have) != want {
			stale = append(stale, target)
		}
	}
	return stale, nil
}

func (b Builder) stampPath(target Target) string {
	return filepath.Join(b.BinDir, "."+target.Name+".stamp")
}

// stamp returns the digest of a pinned binary's inputs.
func (b Builder) stamp(target Target, goVersion string) (string, error) {
	digest := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(b.Repository, target.Module, name))
		if err != nil {
			return "", fmt.Errorf("build module of %s: %w", target.Name, err)
		}
		fmt.Fprintf(digest, "%s %d\n", name, len(content))
		digest.Write(content)
	}
	fmt.Fprintf(digest, "%s %q", goVersion, buildArgs(target))
	return hex.EncodeToString(digest.Sum(nil)) + "\n", nil
}
