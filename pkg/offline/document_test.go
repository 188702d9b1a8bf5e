package offline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func newDocument(text string) Manifest {
	return Manifest{document: &document{line: 1, data: []byte(text)}}
}

func TestEachCharacterOfALiteralBlockHasItsPosition(t *testing.T) {
	const block = "    [Global]\n    region = one\n\n      # ünïcode \U0001f600\n    end = it's\n"
	for name, source := range map[string]string{
		"before another key":         "data:\n  config: |\n" + block + "kind: ConfigMap\n",
		"at the end":                 "kind: ConfigMap\ndata:\n  config: |\n" + block,
		"without its last line feed": "data:\n  config: |-\n" + strings.TrimSuffix(block, "\n"),
		"with all empty lines":       "data:\n  config: |+\n" + block + "\n\nkind: a\n",
		"with its indentation":       "data:\n  config: |2 # two\n" + block,
		"with empty lines first":     "data:\n  config: |\n\n  \n" + block,
		"with blanks in empty lines": "data:\n  config: |\n" + strings.ReplaceAll(block, "\n\n", "\n  \n"),
		"deeper than its key":        "data:\n  config: |\n" + strings.ReplaceAll(block, "    ", "         "),
		"with a tag":                 "data:\n  config: !!str |\n" + block,
		"under an alias":             "data:\n  other: &a |\n" + block + "  config: *a\n",
		"in a file from Windows":     strings.ReplaceAll("kind: a\ndata:\n  config: |\n"+block, "\n", "\r\n"),
		"after a byte order mark":    "\ufeffdata:\n  config: |\n" + block,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDocument(source)
			value, _, found := d.find("data", "config")
			require.True(t, found)
			lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
			line, column := 1, 1
			for _, character := range value.Text {
				at, known := d.document.inBlock([]string{"data", "config"}, line, column)
				require.True(t, known)
				written := []rune(lines[at.Line-1] + "\n")
				if character != '\n' || column > 1 { // an empty line may have blanks
					require.Equal(t, string(character), string(written[at.Column-1]), "%d:%d is at %v", line, column, at)
				}
				column++
				if character == '\n' {
					line, column = line+1, 1
				}
			}
		})
	}
}

func TestAPositionAfterTheStringIsItsEnd(t *testing.T) {
	d := newDocument("data:\n  config: |\n    [Global]\n    a = ü\nkind: ConfigMap\n")
	for _, line := range []int{3, 4, 99} {
		at, known := d.document.inBlock([]string{"data", "config"}, line, 1)
		require.True(t, known)
		require.Equal(t, position{Line: 4, Column: 10}, at)
	}
}

func TestNoOtherStyleHasPositionsInTheValue(t *testing.T) {
	for name, source := range map[string]string{
		"folded":                         "config: >\n  a\n\n  b\n",
		"plain":                          "config: a\n\n  b\n",
		"in single quotes":               "config: 'a\n\n  b'\n",
		"in double quotes":               "config: \"a\\nb\"\n",
		"in a flow":                      "{config: \"a\\nb\"}\n",
		"JSON":                           "{\"config\": \"a\\nb\"}\n",
		"a number":                       "config: 1\n",
		"a list":                         "config: [a]\n",
		"missing":                        "other: |\n  a\n  b\n",
		"only line feeds":                "config: |+\n\n\n",
		"under an anchor's line":         "config: &a\n  |\n  a\n  b\n",
		"with a line separator":          "config: |\n  a\u2028  b\n  c\n",
		"after another kind of line end": "a: b\rconfig: |\r  a\r  b\r",
		"not valid":                      "config: |\n  a\n b\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, known := newDocument(source).document.inBlock([]string{"config"}, 2, 1)
			require.False(t, known)
		})
	}
}

func TestAValueHasThePositionOfItsKeyOrTheNearestOneAbove(t *testing.T) {
	for source, line := range map[string]int{
		"kind: ConfigMap\ndata:\n  number: 1\n  list: [a]\n":                1,
		"\ufeffkind: ConfigMap\ndata:\n  number: 1\n  list: [a]\n":          1,
		"# a comment\nkind: &a b\ndata:\n  number: 1\n  list: [a, *a]\n":    2,
		"\r\nkind: ConfigMap\r\ndata:\r\n  number: 1\r\n  list: [a]\r\n":    2,
		"kind: a\ndata:\n  number: 1 # a number, and a list\n  list: [a]\n": 1,
	} {
		d := newDocument(source)
		require.Equal(t, position{Line: line, Column: 1}, d.place("missing", "missing"))
		require.Equal(t, position{Line: line + 1, Column: 1}, d.place("data", "missing"))
		require.Equal(t, position{Line: line + 2, Column: 3}, d.place("data", "number"))
		require.Equal(t, position{Line: line + 3, Column: 3}, d.place("data", "list", "deeper"))
		require.Equal(t, position{Line: line + 3, Column: 10}, d.place("data", "list", "0"))
		require.True(t, d.has("data", "list"))
		require.False(t, d.has("data", "missing"))
	}
}

func TestJSONIsReadWithTabs(t *testing.T) {
	d := newDocument("{\n\t\"kind\": \"ConfigMap\", \"data\": {\n\t\t\"a\": [1, {\"b\": null}],\n" +
		"\t\t\"c\": \"ü\"\n\t}\n}\n")
	require.Equal(t, position{Line: 2, Column: 23}, d.place("data"))
	require.Equal(t, position{Line: 3, Column: 13}, d.place("data", "a", "1", "b"))
	require.Equal(t, position{Line: 4, Column: 3}, d.place("data", "c"))
}

func TestAnItemOfAListIsFoundByIndexAndName(t *testing.T) {
	for _, test := range []struct {
		source       string
		first, named position
	}{
		{"spec:\n  secrets:\n  - name: a.b\n  -\n    delivery: x\n    name: c\n", position{Line: 3, Column: 5}, position{Line: 5, Column: 5}},
		{
			`{"spec": {"secrets": [{"name": "a.b"}, {"name": "c", "delivery": "x"}, 7, [8]]}}`,
			position{Line: 1, Column: 23}, position{Line: 1, Column: 40},
		},
	} {
		d := newDocument(test.source)
		require.Equal(t, test.first, d.place("spec", "secrets", "0"))
		require.Equal(t, test.first, d.place("spec", "secrets", "a.b", "missing"))
		require.Equal(t, test.named, d.place("spec", "secrets", "c"))
		require.Equal(t, test.named, d.place("spec", "secrets", "1"))
		require.True(t, d.has("spec", "secrets", "c", "delivery"))
		require.False(t, d.has("spec", "secrets", "d"))
	}
}

func TestADocumentThatCannotBeParsedHasAStart(t *testing.T) {
	for _, source := range []string{
		"", "# nothing\n", "a: b: c\n", "\x00", "- a\n", "{", "just text",
		"a: 1\n---\nb: 2\n", "\t{}", `{"a": "\/"}`, "a: &a [*a]\n",
	} {
		d := newDocument(source)
		require.Equal(t, position{Line: 1, Column: 1}, d.place("data", "config"), source)
		require.False(t, d.has("a", "name", "name"), source)
	}
}

func TestALargeBlockIsReadAtOnce(t *testing.T) {
	d := newDocument("config: |\n" + strings.Repeat("  key = value\n", 100_000))
	for line := 99_901; line <= 100_000; line++ {
		at, known := d.document.inBlock([]string{"config"}, line, 5)
		require.True(t, known)
		require.Equal(t, position{Line: line + 1, Column: 7}, at)
	}
}

func TestADocumentOfCommentsAfterAByteOrderMarkIsEmpty(t *testing.T) {
	documents := splitDocuments([]byte("\ufeff# of an editor\n---\nkind: a\n"))
	require.Len(t, documents, 1)
	require.Equal(t, 2, documents[0].line)
}
