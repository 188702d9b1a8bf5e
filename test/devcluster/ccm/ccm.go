// Package ccm opens a cloud-controller-manager that is not built here, such as that of a release, and compares it with
// the pod that the operator renders.
package ccm

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The environment variables that name a program, or an image that has it.
const (
	BinaryVariable = "CCM"
	ImageVariable  = "CCM_IMAGE"
	// NodeManagerVariable names the cloud-node-manager of the same release, on platforms that have one.
	NodeManagerVariable = "CCM_NODE_MANAGER"
)

// What a Program may be.
const (
	controllerManager = "cloud-controller-manager"
	nodeManager       = "cloud-node-manager"
)

// Given is a cloud-controller-manager as the user gives it: Binary is the path of the program, Image that of an OCI
// archive or layout that has it. Only one of them is set. NodeManager is the path of the cloud-node-manager beside it,
// empty if the built one is to run.
type Given struct{ Binary, Image, NodeManager string }

// Empty reports whether the user gives none.
func (g Given) Empty() bool { return g == Given{} }

// Environment returns what the environment variables name.
func Environment() Given {
	//nolint:forbidigo // Tests have no flags of their own.
	return Given{Binary: os.Getenv(BinaryVariable), Image: os.Getenv(ImageVariable),
		NodeManager: os.Getenv(NodeManagerVariable)}
}

// Program is a cloud-controller-manager, or a cloud-node-manager, with the files that it needs.
type Program struct {
	// Source is the variable with its value, as the user wrote it.
	Source string
	// Path is the program's path on this machine.
	Path string
	// Libraries are the shared libraries and their loader, by path in an image. It is empty for a static program.
	Libraries map[string]string
	// Module and Version are those of its main module, empty if it has no build information of Go.
	Module, Version string
	// Commit is that of its sources, empty if the program does not know it.
	Commit string
	// SHA256 is the digest of the program in hexadecimal.
	SHA256 string

	// kind is what the program has to be.
	kind string
	// root is the directory of the files of its image: / for a program of this machine.
	root string
	// loader is the dynamic loader in root, empty for a static program.
	loader string
	// imports are the modules that it is built of.
	imports []string
}

// Open opens what the user gives. command is the path of the program in its image, as the pod has it; unpacked is the
// directory for the files of images.
func Open(ctx context.Context, given Given, command, unpacked string) (*Program, error) {
	p := &Program{Source: BinaryVariable + "=" + given.Binary, kind: controllerManager, root: "/"}
	if given.Image != "" {
		p.Source = ImageVariable + "=" + given.Image
	}
	switch {
	case given.Binary != "" && given.Image != "":
		return nil, fmt.Errorf("%s=%s and %s: set one of them", BinaryVariable, given.Binary, p.Source)
	case given.Binary == "" && given.Image == "":
		return nil, fmt.Errorf("%s=%s: set %s to the cloud-controller-manager of the same release", NodeManagerVariable,
			given.NodeManager, BinaryVariable)
	}
	if err := p.open(ctx, given, command, unpacked); err != nil {
		return nil, fmt.Errorf("%s %w", p.Source, err)
	}
	return p, nil
}

// OpenNodeManager opens the cloud-node-manager that the user gives.
func OpenNodeManager(ctx context.Context, given Given) (*Program, error) {
	p := &Program{Source: NodeManagerVariable + "=" + given.NodeManager, kind: nodeManager, root: "/"}
	if err := p.open(ctx, Given{Binary: given.NodeManager}, "", ""); err != nil {
		return nil, fmt.Errorf("%s %w", p.Source, err)
	}
	return p, nil
}

func (p *Program) open(ctx context.Context, given Given, command, unpacked string) (err error) {
	if given.Image == "" {
		if p.Path, err = filepath.Abs(given.Binary); err != nil {
			return err
		}
	} else if p.root, p.Path, err = unpack(given.Image, command, unpacked); err != nil {
		return err
	}
	if err := p.isProgram(); err != nil {
		return err
	}
	if err := p.identify(); err != nil {
		return err
	}
	return p.link(ctx)
}

// isProgram returns nil if the file is a program for this machine.
func (p *Program) isProgram() error {
	info, err := os.Stat(p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("does not exist: write the path of the %s's binary", p.kind)
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	case info.IsDir():
		return errors.New("is a directory: write the path of the binary in it")
	case !info.Mode().IsRegular():
		return fmt.Errorf("is not a file: write the path of the %s's binary", p.kind)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("is not executable: run chmod +x %s", p.Path)
	}
	file, err := elf.Open(p.Path)
	if err != nil {
		return fmt.Errorf("is not a Linux binary: extract the %s's own program, no script or archive", p.kind)
	}
	defer file.Close()
	if wanted := machines[runtime.GOARCH]; wanted != 0 && file.Machine != wanted {
		return fmt.Errorf("is built for another architecture, %s: take the image for linux/%s", file.Machine,
			runtime.GOARCH)
	}
	return nil
}

// machines are the architectures of ELF by their name in Go.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390,
}

// identify reads what the program is made of.
func (p *Program) identify() error {
	file, err := os.Open(p.Path)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	p.SHA256 = hex.EncodeToString(digest.Sum(nil))
	info, err := buildinfo.Read(file)
	if err != nil {
		return nil // A program need not be one of Go's.
	}
	p.Module, p.Version = info.Main.Path, info.Main.Version
	p.imports = []string{info.Path, info.Main.Path}
	for _, dependency := range info.Deps {
		p.imports = append(p.imports, dependency.Path)
		// A build of files, not of a package, has no main module.
		if p.Module == "" && isProvider(dependency.Path) {
			p.Module, p.Version = dependency.Path, dependency.Version
		}
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			p.Commit = setting.Value
		}
	}
	return nil
}

// providers are the element of a module's path by which the cloud-controller-manager of a platform is known. The names
// are those of the operator's registry.
var providers = map[string]string{
	"alibabacloud": "cloud-provider-alibaba-cloud",
	"aws":          "cloud-provider-aws",
	"azure":        "cloud-provider-azure",
	"azurestack":   "cloud-provider-azure",
	"digitalocean": "digitalocean-cloud-controller-manager",
	"gcp":          "cloud-provider-gcp",
	"ibmcloud":     "cloud-provider-ibm",
	"nutanix":      "cloud-provider-nutanix",
	"openstack":    "cloud-provider-openstack",
	"powervs":      "cloud-provider-ibm",
	"vsphere":      "cloud-provider-vsphere",
}

// belongs returns an error if the program is known to be another platform's.
func (p *Program) belongs(platform string) error {
	own, known := providers[platform]
	if !known || p.imported(own) {
		return nil
	}
	for _, other := range providers {
		if p.imported(other) {
			return fmt.Errorf("is the %s of another cloud (%s), not of platform %s", p.kind, other, platform)
		}
	}
	return nil
}

func (p *Program) imported(provider string) bool {
	return slices.ContainsFunc(p.imports, func(module string) bool {
		return slices.Contains(strings.Split(module, "/"), provider)
	})
}

func isProvider(module string) bool {
	return slices.ContainsFunc(strings.Split(module, "/"), func(element string) bool {
		return slices.Contains(slices.Collect(maps.Values(providers)), element)
	})
}

// String returns what the program is, for a record: module, version and commit if it knows them, and its digest.
func (p *Program) String() string {
	var parts []string
	for _, part := range []string{p.Module, p.Version, p.Commit, "sha256:" + p.SHA256} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// Files returns the program as path in an image, and its libraries.
func (p *Program) Files(path string) map[string]string {
	files := map[string]string{path: p.Path}
	for name, file := range p.Libraries {
		files[name] = file
	}
	return files
}
