package explain

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/codes"
)

// document is the generated list of codes.
const document = "https://github.com/openshift/cluster-cloud-controller-manager-operator/blob/main/docs/reasons.md"

// explainCode makes the command explain the code in its argument. Without an argument it prints its help.
func explainCode(cmd *cobra.Command) {
	var format usage.Format
	usage.AddFormat(cmd, &format)
	cmd.ValidArgsFunction = completeCodes
	defer func() { cmd.Args = cobra.ArbitraryArgs }() // otherwise cobra takes a code for an unknown subcommand
	usage.Run(cmd, func(_ context.Context, args []string) (int, error) {
		if len(args) == 0 {
			return usage.OK, cmd.Help()
		}
		if len(args) > 1 || len(cmd.SuggestionsFor(args[0])) > 0 { // probably a subcommand, not a code
			return 0, unknown(cmd, args[0])
		}
		code, err := find(args[0])
		if err != nil {
			return 0, err
		}
		return usage.OK, usage.Write(cmd.OutOrStdout(), format, code, func(out io.Writer, _ bool) error {
			return writeCode(out, code)
		})
	})
}

func unknown(cmd *cobra.Command, word string) error {
	meant := ""
	for _, name := range cmd.SuggestionsFor(word) {
		meant = fmt.Sprintf(" did you mean %s?", name)
	}
	return fmt.Errorf("%q is nothing to explain:%s specify node NAME, service NAMESPACE/NAME, deletion NODE, rollout, or "+
		"one code of %s", word, meant, document)
}

func find(name string) (codes.Code, error) {
	code, found := codes.Find(name)
	if found {
		return code, nil
	}
	if was, isRetired := codes.Retired(name); isRetired {
		return codes.Code{}, fmt.Errorf("%s is no longer in use: it was %s", strings.ToUpper(name), was)
	}
	return codes.Code{}, fmt.Errorf("%q is no code and no reason of a condition: specify node NAME, service "+
		"NAMESPACE/NAME, deletion NODE, rollout, or a code of %s", name, document)
}

func writeCode(out io.Writer, code codes.Code) error {
	what := "finding " + code.Finding
	if code.Reason != "" {
		what = "reason " + code.Reason + " of " + code.Conditions
	}
	_, err := fmt.Fprintf(out, "%s, %s\n\nmeans:  %s\naction: %s\n\n%s#%s\n",
		code.ID, what, code.Means, code.Do, document, strings.ToLower(code.ID))
	return err //nolint:wrapcheck // The caller says what could not be written.
}

// completeCodes completes codes, each with its finding or reason as description.
func completeCodes(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var completions []cobra.Completion
	for _, code := range codes.All() {
		if strings.HasPrefix(code.ID, strings.ToUpper(begun)) {
			completions = append(completions, cobra.CompletionWithDesc(code.ID, code.Finding+code.Reason))
		}
	}
	return completions, cobra.ShellCompDirectiveNoFileComp
}
