package ccm

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// libraryDirs are the directories in which a loader looks without its cache.
var libraryDirs = []string{"lib64", "usr/lib64", "lib", "usr/lib", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu",
	"lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"}

func (p *Program) libraryPath() string {
	dirs := make([]string, 0, len(libraryDirs))
	for _, dir := range libraryDirs {
		dirs = append(dirs, filepath.Join(p.root, dir))
	}
	return strings.Join(dirs, ":")
}

// link finds the shared libraries of the program: those of its image, or of this machine. The images of the development
// cluster have nothing but programs.
func (p *Program) link(ctx context.Context) error {
	interpreter, err := interpreterOf(p.Path)
	if err != nil || interpreter == "" {
		return err
	}
	p.loader = filepath.Join(p.root, interpreter)
	if _, err := os.Stat(p.loader); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("needs the loader %s, which is not here: set %s to the whole image", interpreter, ImageVariable)
	}
	args := []string{"--list", p.Path}
	if p.root != "/" {
		args = append([]string{"--library-path", p.libraryPath()}, args...)
	}
	command := exec.CommandContext(ctx, p.loader, args...)
	command.Env = []string{}
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot be linked: %s", strings.TrimSpace(string(output)))
	}
	p.Libraries = map[string]string{interpreter: p.loader}
	for line := range strings.Lines(string(output)) {
		name, rest, found := strings.Cut(strings.TrimSpace(line), " => ")
		if !found {
			continue // the loader itself, and what the kernel provides
		}
		file, _, _ := strings.Cut(rest, " (")
		inside, err := filepath.Rel(p.root, file)
		if err != nil || !filepath.IsLocal(inside) {
			return fmt.Errorf("needs the library %s, which is not here: set %s to the whole image", name, ImageVariable)
		}
		p.Libraries[path.Join("/", inside)] = file
	}
	return nil
}

// interpreterOf returns the loader that a program names, empty for a static program.
func interpreterOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("is not a Linux binary: %w", err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, part.Filesz)
		if _, err := part.ReadAt(name, 0); err != nil {
			return "", fmt.Errorf("is not a Linux binary: %w", err)
		}
		return path.Clean(strings.TrimRight(string(name), "\x00")), nil
	}
	return "", nil
}
