package document

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesListsKeysValuesAndComments(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []Value
	}{
		"INI": {"[a]\nk = \"v w\" ; c\n", []Value{
			{Names: []string{"k"}, Text: "v w", Start: 8, End: 13, Quote: `"`}, {Names: []string{""}, Start: 14, End: 17, Comment: true},
		}},
		"JSON": {`{"k": [1, "v"]}`, []Value{
			{Text: "k", Start: 1, End: 4, Quote: `"`, Key: true},
			{Names: []string{"k"}, Text: "1", Start: 7, End: 8, Quote: `"`}, {Names: []string{"k"}, Text: "v", Start: 10, End: 13, Quote: `"`},
		}},
		"YAML": {"k:  # c\n- v\n- |\n  w\nü: ''\n", []Value{
			{Text: "k", Start: 0, End: 1, Key: true}, {Start: 4, End: 7, Comment: true},
			{Names: []string{"k"}, Text: "v", Start: 10, End: 11}, {Names: []string{"k"}, Text: "w\n", Start: 14, End: 20, Break: true},
			{Text: "ü", Start: 20, End: 22, Key: true}, {Names: []string{"ü"}, Start: 24, End: 26, Quote: `'`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			values, ok := Values([]byte(test.text))
			require.True(t, ok)
			require.Equal(t, test.want, values)
		})
	}
}

// FuzzValues proves that values follow each other inside the text, so that each can be replaced.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"[a]\nb = c ; d\n  e\n", `{"a": {"b": ["c", 1, null]}}`, "a: &x |\n  b\n # c\nd: *x\n", "{a: 'b', \"c\": \"d\\\n e\"}", "- a\n- ? b\n  : c\n",
		"a: >2-\n   b\n\n\n#c\nd: !!str e f\n   g\n", "\ufeffa: b\r\nc: d\r\n", "a:\nb: ''\n...\n---\nc: d # e\n", "? |\n  a\n: >\n  b\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, ok := Values(text)
		if !ok {
			require.Empty(t, values)
			return
		}
		before := Value{}
		for _, v := range values {
			isAlias := v.Start == before.Start && v.End == before.End
			require.True(t, isAlias || v.Start >= before.End, "%v follows %v", v, before)
			require.True(t, v.Start <= v.End && v.End <= len(text))
			before = v
		}
	})
}
