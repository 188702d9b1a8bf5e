package usage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

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
