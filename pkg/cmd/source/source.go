// Package source has what the commands for a person share: where they read from, their exit codes and their errors.
package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// The exit codes.
const (
	// Well means that nothing is wrong.
	Well = 0
	// Unwell means that something is wrong.
	Unwell = 1
	// Unusable means that nothing is known: the flags are invalid, or the cluster cannot be read.
	Unusable = 2
)

// Source is a cluster, or a directory that dump or must-gather has written.
type Source struct{ kubeconfig, context, from string }

// AddFlags adds the flags that select the cluster.
func (s *Source) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.kubeconfig, "kubeconfig", "",
		"File with the cluster's address and credentials. Default: $KUBECONFIG, ~/.kube/config, or the pod's account.")
	cmd.Flags().StringVar(&s.context, "context", "", "Context of the kubeconfig. Default: the current one.")
	// The flag was added above.
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", cobra.NoFileCompletions)
}

// AddFrom adds the flag that selects a directory instead.
func (s *Source) AddFrom(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.from, "from", "",
		"Directory that dump or oc adm must-gather has written, instead of a cluster.")
	// The flag was added above.
	_ = cmd.MarkFlagDirname("from")
	cmd.MarkFlagsMutuallyExclusive("from", "kubeconfig")
}

// IsDirectory reports whether the source is a directory, which does not change.
func (s *Source) IsDirectory() bool { return s.from != "" }

// Read reads what status needs, and more.
func (s *Source) Read(ctx context.Context, more ...snapshot.Query) (*snapshot.Snapshot, error) {
	if s.IsDirectory() {
		return snapshot.ReadDirectory(s.from, nil, more...)
	}
	client, config, err := s.client()
	if err != nil {
		return nil, err
	}
	read, err := client.Read(ctx, more...)
	return read, Reached(config, err)
}

// ReadWithLog is Read with the end of the log of the pod that choose returns, if any.
func (s *Source) ReadWithLog(
	ctx context.Context, choose func(*snapshot.Snapshot) string, more ...snapshot.Query,
) (*snapshot.Snapshot, error) {
	if s.IsDirectory() {
		return snapshot.ReadDirectory(s.from, choose, more...)
	}
	client, config, err := s.client()
	if err != nil {
		return nil, err
	}
	read, err := client.Read(ctx, more...)
	if err != nil {
		return nil, Reached(config, err)
	}
	if pod := choose(read); pod != "" {
		client.ReadLog(ctx, read, pod)
	}
	return read, nil
}

func (s *Source) client() (*snapshot.Client, *rest.Config, error) {
	config, err := s.Config()
	if err != nil {
		return nil, nil, err
	}
	client, err := snapshot.NewClient(config)
	return client, config, err
}

// Run makes the command exit with the code that run returns, or with Unusable after an error, which is one line on
// stderr. cobra would print the usage with each error.
func Run(cmd *cobra.Command, run func(ctx context.Context, args []string) (code int, err error)) {
	fail := func(err error) {
		fmt.Fprint(cmd.ErrOrStderr(), usage.LastLine(cmd.Name(), err))
		os.Exit(Unusable)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		fail(usage.FlagError(err))
		return nil
	})
	check := cmd.Args
	cmd.Args = nil
	cmd.Run = func(cmd *cobra.Command, args []string) {
		if check != nil {
			if err := check(cmd, args); err != nil {
				fail(fmt.Errorf("wrong arguments: write %s", cmd.UseLine()))
			}
		}
		code, err := run(cmd.Context(), args)
		if err != nil {
			fail(err)
		}
		os.Exit(code)
	}
}

// Formats are the values of --output.
var Formats = []string{"text", "json"}

// AddFormat adds --output.
func AddFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", Formats[0], "Format of the output: text or json.")
	// The flag exists, so there is no error.
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(Formats, cobra.ShellCompDirectiveNoFileComp))
}

// CheckFormat returns an error for an unknown format.
func CheckFormat(format string) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("--output is %q: specify text or json", format)
	}
	return nil
}

// WriteJSON writes a report for programs.
func WriteJSON(out io.Writer, report any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	_, err := io.WriteString(out, printable.JSON(text.String()))
	return err //nolint:wrapcheck // The caller says what could not be written.
}
