// Command parity reads the facts about the predecessor from a checkout of it and writes test/parity/predecessor.yaml.
// make update-golden then writes docs/parity.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/parity"
)

func main() {
	dir := flag.String("checkout", "", "directory of a git checkout of the predecessor")
	out := flag.String("out", "test/parity/predecessor.yaml", "file to write")
	flag.Parse()
	if err := run(*dir, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, out string) error {
	if dir == "" {
		return errors.New("--checkout is required")
	}
	changed, err := git(dir, "status", "--porcelain", "--", "manifests", "pkg")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("%s differs from its commit:\n%s", dir, changed)
	}
	commit, err := git(dir, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	facts, err := parity.ReadCheckout(dir)
	if err != nil {
		return fmt.Errorf("reading %s: %w", dir, err)
	}
	if err := (parity.Predecessor{Commit: commit, Facts: facts}).Write(out); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	return nil
}

func git(dir string, arguments ...string) (string, error) {
	output, err := exec.Command("git", append([]string{"-C", dir}, arguments...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
