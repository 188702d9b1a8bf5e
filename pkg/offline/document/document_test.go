package document_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline/document"
)

// at is the character of a document at a place; a line feed where a line ends.
func at(t *testing.T, source string, place document.Place) rune {
	t.Helper()
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(source, "\r\n", "\n"), "\ufeff"), "\n")
	require.GreaterOrEqual(t, place.Line, 1)
	require.LessOrEqual(t, place.Line, len(lines))
	line := []rune(lines[place.Line-1] + "\n")
	require.LessOrEqual(t, place.Column, len(line), "line %d", place.Line)
	return line[place.Column-1]
}

// requirePlaces checks of every character of the string at the path that the document has it at its place, or there has what
// stands for it.
func requirePlaces(t *testing.T, source, want string, path ...string) {
	t.Helper()
	text, known := document.Parse([]byte(source)).Text(path...)
	require.True(t, known, "the places are not known in %q", source)
	line, column := 1, 1
	for _, character := range want {
		place := text.Place(line, column)
		found := at(t, source, place)
		standsForIt := found == character || found == '\\' || character == ' ' && found == '\n'
		require.True(t, standsForIt, "%d:%d is %q, at %v the document has %q", line, column, character, place, found)
		column++
		if character == '\n' {
			line, column = line+1, 1
		}
	}
}

const config = "[Global]\nregion = one\n\n  # ünïcode \U0001f600\n[LoadBalancer]\n\tenabled = \"true\" # it's\n"

func TestEveryCharacterOfATextHasItsPlace(t *testing.T) {
	indented := func(by string) string {
		return by + strings.ReplaceAll(strings.TrimSuffix(config, "\n"), "\n", "\n"+by) + "\n"
	}
	asJSON, err := json.Marshal(config)
	require.NoError(t, err)
	for name, test := range map[string]struct{ source, want string }{
		"a literal block":                       {"data:\n  config: |\n" + indented("    ") + "kind: ConfigMap\n", config},
		"a literal block at the end":            {"kind: ConfigMap\ndata:\n  config: |\n" + indented("   "), config},
		"a literal block without its last line": {"data:\n  config: |-\n" + indented("    "), strings.TrimSuffix(config, "\n")},
		"a literal block with all empty lines":  {"data:\n  config: |+\n" + indented("    ") + "\n\nkind: a\n", config + "\n\n"},
		"a literal block with its indentation":  {"data:\n  config: |2 # two\n" + indented("    "), config},
		"an indented first line":                {"data:\n  config: |2-\n      [Global]\n    a = b\n", "  [Global]\na = b"},
		"empty lines first":                     {"data:\n  config: |\n\n  \n    [Global]\n    a = b\n", "\n\n[Global]\na = b\n"},
		"a literal block in another indent":     {"data:\n        config: |\n" + indented("          "), config},
		"a literal block with a tag":            {"data:\n  config: !!str |\n" + indented("    "), config},
		"a literal block behind an anchor":      {"data:\n  other: &a |\n" + indented("    ") + "  config: *a\n", config},
		"a file from Windows":                   {strings.ReplaceAll("kind: a\ndata:\n  config: |\n"+indented("    "), "\n", "\r\n"), config},
		"a file with a byte order mark":         {"\ufeffdata:\n  config: |\n" + indented("    "), config},
		"a folded block":                        {"data:\n  config: >\n    one\n    two\n\n    three\n      four\n    five\n", "one two\nthree\n  four\nfive\n"},
		"a folded block with two empty lines":   {"data:\n  config: >-\n    one\n\n\n    two\n", "one\n\ntwo"},
		"a plain text":                          {"data:\n  config: a b  c\n", "a b  c"},
		"a plain text on several lines":         {"data:\n  config: a b\n    c\n\n    d\n  other: e\n", "a b c\nd"},
		"a plain text in a flow":                {"data: {other: a, config: b c, more: d}\n", "b c"},
		"a text in double quotes":               {"data:\n  config: \"a\\n\\tb \\u00fc\\x41\\\n    c\n    d\\\"\\U0001F600\"\n", "a\n\tb üAc d\"\U0001f600"},
		"a text in single quotes":               {"data:\n  config: 'it''s\n    a\n\n    b'\n", "it's a\nb"},
		"JSON":                                  {"{\n\t\"kind\": \"ConfigMap\", \"data\": {\"a\": [1, {\"b\": null}], \"config\": " + string(asJSON) + "}}\n", config},
		"JSON that escapes every letter":        {`{"data":{"config":"a\u000a\ud83d\ude00\/b\ud800c"}}`, "a\n\U0001f600/b\ufffdc"},
		"JSON from Windows":                     {"{\r\n \"data\": {\r\n  \"config\": \"a\\r\\nb\"\r\n }\r\n}\r\n", "a\r\nb"},
		"JSON with a member twice":              {`{"data": {"config": "a", "config": "b"}}`, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			decode := yaml.Unmarshal
			if strings.HasPrefix(name, "JSON") {
				decode = json.Unmarshal
			}
			var object struct{ Data map[string]any }
			require.NoError(t, decode([]byte(test.source), &object))
			require.Equal(t, test.want, object.Data["config"])
			requirePlaces(t, test.source, test.want, "data", "config")
		})
	}
}

func TestPlacesAreExact(t *testing.T) {
	source := "apiVersion: v1\ndata:\n  config: |\n    [Global]\n    regoin = a\n  other: \"x\\ny: 1\"\n"
	d := document.Parse([]byte(source))
	text, known := d.Text("data", "config")
	require.True(t, known)
	require.Equal(t, document.Place{Line: 5, Column: 14}, text.Place(2, 10))
	require.Equal(t, document.Place{Line: 5, Column: 15}, text.Place(2, 99), "past the end of the line")
	require.Equal(t, document.Place{Line: 5, Column: 16}, text.Place(99, 1), "past the end of the text")
	text, known = d.Text("data", "other")
	require.True(t, known)
	require.Equal(t, document.Place{Line: 6, Column: 17}, text.Place(2, 4))
}

func TestWhatIsNoTextHasThePlaceOfItsKey(t *testing.T) {
	d := document.Parse([]byte("kind: ConfigMap\ndata:\n  number: 1\n  empty: ''\n  list: [a]\n"))
	require.Equal(t, document.Place{Line: 3, Column: 3}, d.Place("data", "number"))
	require.Equal(t, document.Place{Line: 2, Column: 1}, d.Place("data", "missing"))
	require.Equal(t, document.Place{Line: 1, Column: 1}, d.Place("stringData", "missing"))
	require.Equal(t, document.Place{Line: 5, Column: 3}, d.Place("data", "list", "deeper"))
	require.Equal(t, document.Place{Line: 5, Column: 10}, d.Place("data", "list", "0"))
	require.True(t, d.Has("data", "list"))
	require.False(t, d.Has("data", "missing"))
	_, known := d.Text("data", "list")
	require.False(t, known)
	_, known = d.Text("data", "missing")
	require.False(t, known)
	text, known := d.Text("data", "empty")
	require.True(t, known)
	require.Equal(t, document.Place{}, text.Place(1, 1), "there is no character")
}

func TestAnItemOfAListIsFoundByIndexAndName(t *testing.T) {
	for _, test := range []struct {
		source       string
		first, named document.Place
	}{
		{"spec:\n  secrets:\n  - name: a.b\n  -\n    delivery: x\n    name: c\n", document.Place{Line: 3, Column: 5}, document.Place{Line: 5, Column: 5}},
		{`{"spec": {"secrets": [{"name": "a.b"}, {"name": "c", "delivery": "x"}, 7, [8]]}}`, document.Place{Line: 1, Column: 23}, document.Place{Line: 1, Column: 54}},
	} {
		d := document.Parse([]byte(test.source))
		require.Equal(t, test.first, d.Place("spec", "secrets", "0"))
		require.Equal(t, test.first, d.Place("spec", "secrets", "a.b", "delivery"))
		require.Equal(t, test.named, d.Place("spec", "secrets", "c", "delivery"))
		require.Equal(t, test.named, d.Place("spec", "secrets", "1", "delivery"))
		require.False(t, d.Has("spec", "secrets", "d"))
	}
}

func TestWhatCannotBeReadHasAStart(t *testing.T) {
	for _, source := range []string{"", "# nothing\n", "a: b: c\n", "\x00", "- a\n", "{", "just text", "a: 1\n---\nb: 2\n"} {
		d := document.Parse([]byte(source))
		require.Equal(t, document.Place{Line: 1, Column: 1}, d.Place("data", "config"), source)
	}
}

func TestWhateverStyleTheLibraryWritesIsRead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // The same texts on every run.
	pieces := []string{"a", "bc", " ", "  ", "\n", "\n\n", "\t", ":", ": ", "#", " #", "'", "\"", "\\", "{", "ü", "\U0001f600", "[x]", "= ", "-", "\r\n", "\u0085"}
	styles := []yaml.Style{0, yaml.LiteralStyle, yaml.FoldedStyle, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle}
	for i := range 4000 {
		var text strings.Builder
		for range random.IntN(12) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		node := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text.String(), Style: styles[i%len(styles)]}
		source, err := yaml.Marshal(map[string]any{"a": 1, "data": map[string]any{"config": &node, "more": "x"}})
		require.NoError(t, err)
		var back struct{ Data map[string]string }
		if err := yaml.Unmarshal(source, &back); err != nil {
			continue // Some texts are beyond the library in some styles.
		}
		found, known := document.Parse(source).Text("data", "config")
		require.True(t, known, "%q", source)
		if back.Data["config"] != "" {
			require.NotZero(t, found.Place(1, 1), "%q", source)
		}
	}
}

func TestALargeTextIsReadAtOnce(t *testing.T) {
	for name, source := range map[string]string{
		"as a block": "data:\n  config: |\n" + strings.Repeat("    key = value\n", 100_000),
		"as a line":  fmt.Sprintf("data:\n  config: %q\n", strings.Repeat("key = value\n", 100_000)),
	} {
		t.Run(name, func(t *testing.T) {
			text, known := document.Parse([]byte(source)).Text("data", "config")
			require.True(t, known)
			require.NotZero(t, text.Place(100_000, 5))
		})
	}
}
