package redaction

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeysValuesAndCommentsAreListed(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []value
	}{
		"INI": {"[a]\nk = \"v w\" ; c\n", []value{
			{names: []string{"k"}, text: "v w", start: 8, end: 13, quote: `"`},
			{names: []string{""}, isComment: true, start: 14, end: 17},
		}},
		"JSON": {`{"k": [1, "v"]}`, []value{
			{text: "k", isKey: true, start: 1, end: 4, quote: `"`},
			{names: []string{"k"}, text: "1", start: 7, end: 8, quote: `"`},
			{names: []string{"k"}, text: "v", start: 10, end: 13, quote: `"`},
		}},
		"YAML": {"k:  # c\n- &v v\n- |\n  w\nü: *v\n", []value{
			{text: "k", isKey: true},
			{names: []string{"k"}, text: "v"}, {names: []string{"k"}, text: "w\n"},
			{text: "ü", isKey: true}, {names: []string{"ü"}, text: "v"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			values, _, ok := valuesOf([]byte(test.text))
			require.True(t, ok)
			for i := range values {
				require.Equal(t, name == "YAML", values[i].node != nil)
				values[i].node = nil
			}
			require.Equal(t, test.want, values)
		})
	}
}

// FuzzRedact proves that each YAML value under a secret's name is redacted, and that the values of INI and JSON follow
// each other, so that each can be replaced.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		"[a]\npassword = c ; d\n  e\n", `{"a": {"token": ["c", 1, null]}}`, "a: &x |\n  b\n # c\npassword: *x\n",
		"{token: 'b', \"password\": \"d\\\n e\"}", "- a\n- ? password\n  : c\n", "password: >2-\n   b\n\n\n#c\nd: !!str " +
			"e f\n   g\n",
		"\ufeffa: b\r\ntoken: d\r\n", "a:\npassword: ''\n...\n---\ntoken: d # e\n", "? |\n  token\n: >\n  b\n",
		"a: &a {password: x}\nb:\n  <<: *a\n  token: [*a, 5]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, documents, ok := valuesOf(text)
		if !ok {
			return
		}
		before := value{}
		for _, v := range values {
			require.True(t, v.start >= before.end && v.start <= v.end && v.end <= len(text), "%v follows %v", v, before)
			before = v
		}
		if documents == nil {
			return
		}
		redacted := New(known, nil, text).File(text)
		values, documents, ok = valuesOf([]byte(redacted))
		if !ok || documents == nil {
			return
		}
		for _, v := range values {
			if slices.ContainsFunc(v.names, IsSecretName) && !v.isKey {
				require.True(t, strings.TrimSpace(v.text) == "" || strings.HasPrefix(v.text, "<"), "%q", redacted)
			}
		}
	})
}
