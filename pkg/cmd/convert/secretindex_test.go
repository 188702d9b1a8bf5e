package convert

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsInsideATextAreReplaced(t *testing.T) {
	index := newSecretIndex(map[string]string{
		"correct-horse": "a", "correct-horse-battery": "b", "battery-staple": "c", "with \"quotes\"": "d", "short": "e",
	})
	for text, want := range map[string]string{
		"":                                    "",
		"nothing to see":                      "nothing to see",
		"correct-horse":                       "<a>",
		"x correct-horse y correct-horse z":   "x <a> y <a> z",
		"correct-horse-battery":               "<b>", // the longest of those with one start
		"correct-horse-battery-staple":        "<b>", // no part of an overlapping one is left
		"correct-horse battery-staple":        "<a> <c>",
		`with \"quotes\" and with "quotes" `:  "<d> and <d> ",
		"a short one may be part of any word": "a short one may be part of any word",
		"correct-hors":                        "correct-hors",
	} {
		require.Equal(t, want, index.replace(text), text)
	}
}

// Time that grows with the square of the number of sections or secrets would let this test run for minutes.
func TestAConfigurationOfTheLargestSizeIsShown(t *testing.T) {
	var before strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&before, "[LoadBalancerClass \"c%d\"]\npassword =  secret-number-%d\n", i, i)
	}
	redacted := newRedactor(nil, []byte(before.String())).redact([]byte(before.String()))
	require.NotContains(t, redacted, "secret-number")
	var out bytes.Buffer
	file{before: redacted, after: strings.ReplaceAll(redacted, "=  ", "= ")}.writeDiff(&out)
	require.Equal(t, 20_000, strings.Count(out.String(), "\n-password =  <password>\n+password = <password>\n"))
}
