// Command image-puller makes the kubelet pull an image: an init container that runs it in that image succeeds once the
// image is on the node. With an argument it copies itself to that path, for init containers with other images. Without
// arguments it does nothing. The other images need neither a shell nor a program of their own.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch len(args) {
	case 0:
		return nil
	case 1:
		return copyTo(args[0])
	}
	return fmt.Errorf("expected at most one argument, the path of the copy; got %q", args)
}

func copyTo(path string) (err error) {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	source, err := os.Open(program)
	if err != nil {
		return err
	}
	defer source.Close()
	// A device, such as /dev/null, would get another mode.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	// The copy may exist: a node that restarts runs its init containers again.
	target, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Chmod(0o755)
}
