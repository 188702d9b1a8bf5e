package redaction

import (
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
