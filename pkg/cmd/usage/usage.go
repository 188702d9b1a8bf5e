// Package usage contains what all commands share: exit codes, error output, flags with a choice, and output formats.
package usage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// The exit codes of the commands that answer a question.
const (
	// OK means that nothing is wrong; there may be warnings.
	OK    = 0
	Wrong = 1
	// Unusable means that the command failed: the flags are invalid, or an input or the cluster cannot be read.
	Unusable = 2
)

// Run makes the command exit with the code that run returns, or with Unusable after an error. The error is the last
// line on stderr, without the usage that cobra would print.
func Run(cmd *cobra.Command, run func(ctx context.Context, args []string) (code int, err error)) {
	cmd.SetFlagErrorFunc(FailOnFlag)
	check := cmd.Args
	cmd.Args = nil
	cmd.Run = func(cmd *cobra.Command, args []string) {
		if check != nil {
			if err := check(cmd, args); err != nil {
				Fail(cmd, Unusable, fmt.Errorf("wrong arguments: write %s", cmd.UseLine()))
			}
		}
		code, err := run(cmd.Context(), args)
		if err != nil {
			Fail(cmd, Unusable, err)
		}
		os.Exit(code)
	}
}

// Fail ends the process. The error is the last line on stderr.
func Fail(cmd *cobra.Command, code int, err error) {
	fmt.Fprint(cmd.ErrOrStderr(), lastLine(cmd.Name(), err))
	os.Exit(code)
}

// FailOnFlag ends the process because of an invalid flag. It is a flag error function of cobra.
func FailOnFlag(cmd *cobra.Command, err error) error {
	Fail(cmd, Unusable, FlagError(err))
	return nil
}

// lastLine returns the error and the command's name as one line: scripts and bootkube show only the end of stderr.
func lastLine(command string, err error) string {
	return command + ": " + printable.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")) + "\n"
}

// takes describes the values of the flags of a type. The errors of other types contain that already.
var takes = map[string]string{
	"bool":     "true or false",
	"duration": "a duration such as 5m",
	"int":      "a number",
	"int32":    "a number",
	"Level":    "a number", // the verbosity of klog
}

// FlagError describes the values of an invalid flag instead of quoting the library's parse error.
func FlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	name, value := invalid.GetFlag().Name, invalid.GetValue()
	if wants, known := takes[invalid.GetFlag().Value.Type()]; known {
		return fmt.Errorf("--%s is %q: specify %s", name, value, wants)
	}
	return fmt.Errorf("--%s is %q: %w", name, value, invalid.Unwrap())
}

type choice[T ~string] struct {
	value *T
	names []string
}

func (c choice[T]) String() string {
	if c.value == nil {
		return "" // pflag asks a zero value for the default
	}
	return string(*c.value)
}

func (c choice[T]) Set(text string) error {
	if end := len(c.names) - 1; !slices.Contains(c.names, text) {
		return fmt.Errorf("specify %s or %s", strings.Join(c.names[:end], ", "), c.names[end])
	}
	*c.value = T(text)
	return nil
}

func (c choice[T]) Type() string { return "string" }

// AddChoice adds a flag that takes one of the choices, the first by default. The flag rejects any other value, so
// commands need no check. The shorthand may be empty.
func AddChoice[T ~string](cmd *cobra.Command, value *T, name, shorthand, help string, choices ...T) {
	*value = choices[0]
	flag := choice[T]{value: value}
	for _, name := range choices {
		flag.names = append(flag.names, string(name))
	}
	cmd.Flags().VarP(flag, name, shorthand, help)
	// The flag exists, so there is no error.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(flag.names, cobra.ShellCompDirectiveNoFileComp))
}
