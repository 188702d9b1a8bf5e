package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// packages maps a file that nodes need to the Debian package that has it.
var packages = []struct{ file, name string }{
	{"/usr/bin/containerd", "containerd"},
	{"/usr/sbin/runc", "runc"},
	{"/usr/lib/cni/ptp", "containernetworking-plugins"},
	{"/usr/sbin/ip", "iproute2"},
}

// installPackages installs the Debian packages that nodes need and that are missing.
func installPackages(ctx context.Context, progress io.Writer) error {
	var missing []string
	for _, p := range packages {
		if _, err := os.Stat(p.file); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, p.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("nodes need %s, and there is no apt-get to install them: %w", strings.Join(missing, ", "),
			err)
	}
	fmt.Fprintf(progress, "installing the Debian packages %s\n", strings.Join(missing, ", "))
	for _, args := range [][]string{
		{"update", "--quiet"},
		append([]string{"install", "--yes", "--quiet", "--no-install-recommends"}, missing...),
	} {
		command := exec.CommandContext(ctx, "apt-get", args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
