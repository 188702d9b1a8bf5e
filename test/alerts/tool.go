// Package alerts has promtool's unit tests of the payload's alerts, and provides Prometheus to other tests.
package alerts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// unpacking is held by the one of several parallel tests that unpacks the package.
var unpacking sync.Mutex

// Tool returns the path of prometheus or promtool. If it is not installed, Tool downloads Debian's package and unpacks
// it into dir, without installing it.
func Tool(ctx context.Context, dir, name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path, err := filepath.Abs(filepath.Join(dir, "usr/bin", name))
	if err != nil {
		return "", err
	}
	unpacking.Lock()
	defer unpacking.Unlock()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	archives, err := os.MkdirTemp("", "prometheus")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(archives)
	const script = `
		apt-get download --quiet prometheus || { apt-get update --quiet && apt-get download --quiet prometheus; }
		dpkg-deb --extract prometheus_*.deb "$1"`
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "sh", "-ec", script, "sh", target)
	command.Dir = archives
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpacking Debian's package prometheus: %w\n%s", err, out)
	}
	return path, nil
}
