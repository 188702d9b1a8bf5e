package usage

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestAnErrorIsOneLineThatATerminalShows(t *testing.T) {
	require.Equal(t, "render: a; b\\x1b\n", lastLine("render", errors.Join(errors.New("a"), errors.New("b\x1b"))))
}

func TestAWrongFlagIsToldWhatItTakes(t *testing.T) {
	for name, test := range map[string]struct{ arg, want string }{
		"neither true nor false":        {"--wait=maybe", `--wait is "maybe": specify true or false`},
		"no unit of time":               {"--timeout=5", `--timeout is "5": specify a duration such as 5m`},
		"no number":                     {"--revision=new", `--revision is "new": specify a number`},
		"a type with its own error":     {"--when=never", `--when is "never": specify now`},
		"a flag that does not exist":    {"--nope", "unknown flag: --nope"},
		"a flag that is without a text": {"--timeout", "flag needs an argument: --timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.Bool("wait", false, "")
			flags.Duration("timeout", time.Minute, "")
			flags.Int32("revision", 0, "")
			flags.Var(moment{}, "when", "")
			require.EqualError(t, FlagError(flags.Parse([]string{test.arg})), test.want)
		})
	}
}

// moment is a flag that takes no value.
type moment struct{}

func (moment) String() string   { return "" }
func (moment) Set(string) error { return errors.New("specify now") }
func (moment) Type() string     { return "string" }
