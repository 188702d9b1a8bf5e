package extension

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewCommand returns the command of a binary with this extension.
func NewCommand(e *Extension) *cobra.Command {
	e.APIVersion = apiVersion
	c := &command{extension: e}
	root := &cobra.Command{
		Use:          e.Component.Name + "-tests-ext",
		Short:        "Tests of " + e.Component.Name + " for openshift-tests",
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.PersistentFlags().StringVar(&c.component, "component", "default", "the component; this binary has one")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return c.checkComponent() }
	root.AddCommand(c.info(), c.list(), c.runTest(), c.runSuite(), c.images())
	return root
}

type command struct {
	extension *Extension
	component string
}

func (c *command) checkComponent() error {
	own := c.extension.Component
	if name := own.Product + ":" + own.Kind + ":" + own.Name; c.component != "default" && c.component != name {
		return fmt.Errorf("there is no component %q, only %s", c.component, name)
	}
	return nil
}

func (c *command) info() *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Print what this binary is and offers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return writeJSON(cmd.OutOrStdout(), c.extension) },
	}
}

func (c *command) images() *cobra.Command {
	return &cobra.Command{
		Use: "images", Short: "List the images that the tests pull", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(c.extension.Images)
		},
	}
}

// list lists tests if it has no subcommand, as openshift-tests calls it.
func (c *command) list() *cobra.Command {
	var suite, format string
	in := &environment{}
	tests := func(cmd *cobra.Command, _ []string) error {
		found, err := c.extension.selected(suite, in)
		if err != nil {
			return err
		}
		return writeList(cmd.OutOrStdout(), format, found, func(t Test) string { return t.Name })
	}
	list := &cobra.Command{Use: "list", Short: "List the tests", Args: cobra.NoArgs, RunE: tests}
	bindOutput(list.PersistentFlags(), &format, "json, jsonl or names")
	list.PersistentFlags().StringVar(&suite, "suite", "", "only the tests of this suite")
	in.bind(list.PersistentFlags())
	list.AddCommand(
		&cobra.Command{Use: "tests", Short: "List the tests", Args: cobra.NoArgs, RunE: tests},
		&cobra.Command{
			Use: "suites", Short: "List the suites", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return writeList(cmd.OutOrStdout(), format, c.extension.Suites, func(s Suite) string { return s.Name })
			},
		},
		&cobra.Command{
			Use: "components", Short: "List the components", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return writeList(cmd.OutOrStdout(), format, []Component{c.extension.Component},
					func(o Component) string { return o.Name })
			},
		},
	)
	return list
}

func writeList[T any](out io.Writer, format string, list []T, name func(T) string) error {
	switch format {
	case "json":
		return writeJSON(out, list)
	case "jsonl":
		for _, item := range list {
			if err := json.NewEncoder(out).Encode(item); err != nil {
				return fmt.Errorf("%s: %w", name(item), err)
			}
		}
		return nil
	case "names":
		for _, item := range list {
			fmt.Fprintln(out, name(item))
		}
		return nil
	}
	return fmt.Errorf("output %q: it is json, jsonl or names", format)
}

func (c *command) runTest() *cobra.Command {
	var names []string
	var format string
	var most int
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "run-test [NAME]", Short: "Run tests by their names, also those on the standard input",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			piped, err := pipedNames(cmd.InOrStdin())
			if err != nil {
				return err
			}
			tests, err := c.named(slices.Concat(names, args, piped))
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			return runAll(ctx, tests, most, format, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringArrayVarP(&names, "names", "n", nil, "the name of a test")
	cmd.Flags().DurationVar(&limit, "timeout", 0, "the most time for all tests, 0 for no limit")
	bindOutput(cmd.Flags(), &format, "json or jsonl")
	bindConcurrency(cmd.Flags(), &most)
	return cmd
}

// pipedNames reads the names on the standard input, unless that is a terminal.
func pipedNames(in io.Reader) ([]string, error) {
	if file, ok := in.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		if info.Mode()&os.ModeCharDevice != 0 {
			return nil, nil
		}
	}
	var names []string
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		if scanner.Text() != "" {
			names = append(names, scanner.Text())
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return names, nil
}

func (c *command) named(names []string) ([]Test, error) {
	if len(names) == 0 {
		return nil, errors.New("name at least one test; `list --output=names` has the names")
	}
	var tests []Test
	for _, name := range names {
		i := slices.IndexFunc(c.extension.Tests, func(t Test) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no test %q; `list --output=names` has the names", name)
		}
		tests = append(tests, c.extension.Tests[i])
	}
	return tests, nil
}

func (c *command) runSuite() *cobra.Command {
	var format string
	var most int
	cmd := &cobra.Command{
		Use: "run-suite NAME", Short: "Run the tests of a suite, without the scheduling of openshift-tests",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tests, err := c.extension.selected(args[0], &environment{})
			if err != nil {
				return err
			}
			i := slices.IndexFunc(c.extension.Suites, func(s Suite) bool { return s.Name == args[0] })
			if parallel := c.extension.Suites[i].Parallelism; parallel > 0 {
				most = min(most, parallel)
			}
			return runAll(cmd.Context(), tests, most, format, cmd.OutOrStdout())
		},
	}
	bindOutput(cmd.Flags(), &format, "json or jsonl")
	bindConcurrency(cmd.Flags(), &most)
	return cmd
}

func bindOutput(flags *pflag.FlagSet, format *string, values string) {
	flags.StringVarP(format, "output", "o", "json", "the format: "+values)
}

func bindConcurrency(flags *pflag.FlagSet, most *int) {
	flags.IntVarP(most, "max-concurrency", "c", 10, "the most tests that run at once")
}
