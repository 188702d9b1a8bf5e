package ccm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// helpLimit is how long a program may take to print its help.
	helpLimit = 30 * time.Second
	// outputLimit is how much a program may print.
	outputLimit = 1 << 20

	gatesFlag = "--feature-gates"
)

var (
	flagLine = regexp.MustCompile(`(?m)^\s*(?:-\w, )?--?([A-Za-z0-9][A-Za-z0-9_.-]*)`)
	gateLine = regexp.MustCompile(`([A-Z][A-Za-z0-9]+)=true\|false`)
)

// Check compares the program with the arguments that the operator passes on a platform. It asks the program alone, by
// its --help.
func (p *Program) Check(ctx context.Context, platform string, args []string) error {
	if err := p.check(ctx, platform, args); err != nil {
		return fmt.Errorf("%s %w", p.Source, err)
	}
	return nil
}

func (p *Program) check(ctx context.Context, platform string, args []string) error {
	if err := p.belongs(platform); err != nil {
		return err
	}
	help, err := p.run(ctx, "--help")
	if err != nil {
		return err
	}
	known := names(flagLine, help)
	flags := flagsOf(args)
	missing := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		return slices.Contains(known, strings.TrimLeft(flag, "-"))
	})
	if 2*len(missing) > len(flags) {
		return fmt.Errorf("is not a %s: its --help has %d of the %d flags that the operator passes", p.kind,
			len(flags)-len(missing), len(flags))
	}
	unknown, err := p.rejected(ctx, missing)
	if err != nil {
		return err
	}
	for _, gate := range p.unknownGates(help, args) {
		unknown = append(unknown, "the feature gate "+gate)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("does not know %s, which the operator passes on platform %s: "+
			"take the %s of the operator's own release", strings.Join(unknown, ", "), platform, p.kind)
	}
	return nil
}

// flagsOf returns the flags of the arguments, each once.
func flagsOf(args []string) []string {
	var flags []string
	for _, arg := range args {
		flag, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(flag, "-") && !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	return flags
}

// rejected returns the flags that the program rejects. --help omits deprecated flags, so the program is asked again
// with each flag that is not in it.
func (p *Program) rejected(ctx context.Context, missing []string) ([]string, error) {
	var unknown []string
	for _, flag := range missing {
		answer, err := p.run(ctx, flag+"=", "--help")
		if err != nil {
			return nil, err
		}
		if strings.Contains(answer, "unknown flag: "+flag) ||
			strings.Contains(answer, "flag provided but not defined: -"+strings.TrimLeft(flag, "-")) {
			unknown = append(unknown, flag)
		}
	}
	return unknown, nil
}

// unknownGates returns the feature gates of the arguments that the help does not have.
func (p *Program) unknownGates(help string, args []string) []string {
	var unknown []string
	known := names(gateLine, help)
	for _, arg := range args {
		value, found := strings.CutPrefix(arg, gatesFlag+"=")
		for _, gate := range strings.Split(value, ",") {
			name, _, _ := strings.Cut(gate, "=")
			if found && name != "" && !slices.Contains(known, name) {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown
}

// names returns the first group of every match.
func names(pattern *regexp.Regexp, text string) []string {
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// run returns what the program prints, whatever its exit code is. It has no environment and no input.
func (p *Program) run(ctx context.Context, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "ccm-help-")
	if err != nil {
		return "", fmt.Errorf("cannot be started: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, helpLimit)
	defer cancel()
	command := p.command(ctx, args...)
	command.Dir, command.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	command.WaitDelay = time.Second
	var output limited
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	if output.exceeded {
		return "", fmt.Errorf("is not a %s: it prints more than %d KiB with %s", p.kind, outputLimit>>10,
			strings.Join(args, " "))
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("is not a %s: it does not print its flags and end with %s", p.kind,
			strings.Join(args, " "))
	}
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return "", fmt.Errorf("cannot be started: %w", err)
	}
	return output.buffer.String(), nil
}

// command returns the program with arguments. That of an image is started by the loader of the image.
func (p *Program) command(ctx context.Context, args ...string) *exec.Cmd {
	if p.loader == "" || p.root == "/" {
		return exec.CommandContext(ctx, p.Path, args...)
	}
	return exec.CommandContext(ctx, p.loader, append([]string{"--library-path", p.libraryPath(), p.Path}, args...)...)
}

// limited collects output up to a limit. The buffer is not embedded: io.Copy would take its ReadFrom, which has none.
type limited struct {
	buffer   bytes.Buffer
	exceeded bool
}

func (l *limited) Write(data []byte) (int, error) {
	if l.buffer.Len()+len(data) > outputLimit {
		l.exceeded = true
		return 0, errors.New("too much output")
	}
	return l.buffer.Write(data)
}
