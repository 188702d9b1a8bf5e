package confdoc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	yamlv2 "go.yaml.in/yaml/v2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// treeFields is a made-up schema with every type.
var treeFields = []Field{
	{Name: "name", Required: "write the name of the cluster"},
	{Name: "color", Values: []string{"red", "green"}},
	{Name: "password", Secret: true},
	{Name: "secretNumber", Is: Int, Secret: true},
	{Name: "enabled", Is: Bool},
	{Name: "count", Is: Int},
	{Name: "port", Is: Int, Bits: 16, Unsigned: true},
	{Name: "ratio", Is: Float},
	{Name: "networks", Is: List, Of: &Field{}},
	{Name: "labels", Is: Map, Of: &Field{}},
	{Name: "server", Is: Object, Fields: []Field{{Name: "address", Required: "write its address"},
		{Name: "verify", Is: Bool}}},
	{Name: "zones", Is: Map, Of: &Field{Is: Object, Fields: []Field{{Name: "region"}}}},
	{Name: "anything", Is: Any},
	{Name: "volumes", Is: Bool, Legacy: "another driver manages volumes"},
	{Name: "hosts", Mistaken: true, Legacy: "write server"},
}

func readTree(format Format, text string) (*Document, []string) {
	var list diagnostic.List
	reader := Reader{Format: format, Fields: treeFields, Input: diagnostic.CloudConfig, Empty: "write at least a name"}
	d := reader.Read([]byte(text), &list)
	var out []string
	for _, f := range list.Sorted() {
		out = append(out, fmt.Sprintf("%s %d:%d %s", f.Kind, f.Line, f.Column, f.Text()))
	}
	return d, out
}

func TestReadReportsMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		text   string
		want   []string
	}{
		"an empty text":   {JSON, "", []string{"Invalid 0:0 it is empty: write at least a name"}},
		"only whitespace": {YAML, " \n", []string{"Invalid 0:0 it is empty: write at least a name"}},
		"only a comment":  {YAML, "# a\n", []string{"Invalid 0:0 it is empty: write at least a name"}},
		"null":            {JSON, "null", []string{"Invalid 0:0 it is empty: write at least a name"}},
		"a list": {YAML, "- a\n",
			[]string{"Invalid 1:1 this has no keys with values: write at least a name"}},
		"a word": {YAML, "hello\n",
			[]string{"Invalid 1:1 this has no keys with values: write at least a name"}},
		"INI instead of YAML": {YAML, "; a\n[Global]\nregion = x\n",
			[]string{"Invalid 1:1 this looks like INI, but must be YAML"}},
		"INI instead of JSON": {JSON, "[Global]\nregion = x\n",
			[]string{"Invalid 1:2 this looks like INI, but must be JSON"}},
		"YAML instead of JSON": {JSON, "name:\n  a: b\n",
			[]string{"Invalid 1:2 this looks like YAML, but must be JSON"}},
		"a YAML list instead of JSON": {JSON, "- name: a\n",
			[]string{"Invalid 1:2 this looks like YAML, but must be JSON"}},
		"a placeholder for a secret": {YAML, "name: a\npassword: <s3cr3t>\n",
			[]string{"Doubtful 2:11 password: the value looks like a placeholder: replace it"}},
		"everything wrong at once": {YAML,
			"nmae: x\nserver: {adress: a, verify: ja}\nenabled: 1\nlabels: []\nother: 1\n", []string{

				"Invalid 1:1 unknown key \"nmae\"; did you mean \"name\"?",
				"Invalid 2:10 unknown key \"adress\" in server; did you mean \"address\"?",
				"Invalid 2:29 server.verify is \"ja\", but must be true or false",
				"Invalid 3:10 enabled is 1, but must be true or false",
				"Invalid 4:9 labels is a list, but must be a mapping of keys to values",
				"Unknown 5:1 unknown key \"other\": the cloud-controller-manager ignores it; " +
					"remove it or correct its name"}},
		"a name in the wrong place": {YAML,
			"name: a\naddress: b\nserver: {address: a, color: red}\nzones: {a: {address: b}}\nregion: b\n", []string{
				`Typo 2:1 unknown key "address"; it belongs in server`,
				`Typo 3:22 unknown key "color" in server; it belongs at the top level`,
				`Typo 4:13 unknown key "address" in zones.a; it belongs in server`,
				`Typo 5:1 unknown key "region"; it belongs in zones`}},
		"a name in the wrong place and spelling": {YAML, "name: a\nserver: {address: a, secret_number: 1}\n",
			[]string{`Typo 2:22 unknown key "secret_number" in server; it belongs at the top level as "secretNumber"`}},
		"a name that was never read": {YAML, "name: a\nhosts: b\n", []string{"Typo 2:1 hosts is dropped: write server"}},
		"an empty required string": {JSON, `{"name": " "}`,
			[]string{"Invalid 1:10 name is empty: write the name of the cluster"}},
		"null is the same as missing": {JSON, `{"name": null}`,
			[]string{"Invalid 0:0 there is no name: write the name of the cluster"}},
		"a value that is not allowed": {YAML, "name: a\ncolor: blue\n",
			[]string{`Invalid 2:8 color is "blue", but must be red or green`}},
		"a legacy name": {YAML, "name: a\nvolumes: [x]\n",
			[]string{"Legacy 2:1 volumes is dropped: another driver manages volumes"}},
		"quotes around a boolean": {YAML, "name: a\nenabled: \"true\"\n",
			[]string{`Invalid 2:10 enabled is "true", but must be true or false: remove the quotes`}},
		"quotes around a number": {JSON, `{"name":"a","count":"1"}`,
			[]string{`Invalid 1:21 count is "1", but must be a whole number: remove the quotes`}},
		"a fraction": {JSON, `{"name":"a","count":1.5}`,
			[]string{"Invalid 1:21 count is 1.5, but must be a whole number"}},
		"an exponent in JSON": {JSON, `{"name":"a","count":1e3}`,
			[]string{"Invalid 1:21 count is 1e3, but must be a whole number"}},
		"a number too large": {YAML, "name: a\nport: 65536\n",
			[]string{"Invalid 2:7 port is 65536, but must be a whole number that is not negative of at most 16 bits"}},
		"a negative number": {YAML, "name: a\nport: -1\n",
			[]string{"Invalid 2:7 port is -1, but must be a whole number that is not negative of at most 16 bits"}},
		"a string instead of a list": {YAML, "name: a\nnetworks: net1\n",
			[]string{`Invalid 2:11 networks is "net1", but must be a list`}},
		"a mapping in a list": {YAML, "name: a\nnetworks:\n- x\n- {a: b}\n",
			[]string{"Invalid 4:3 networks[1] is a mapping, but must be a string"}},
		"an empty string instead of a boolean": {YAML, "name: a\nenabled: ''\n",
			[]string{`Invalid 2:10 enabled is empty, but must be true or false`}},
		"a secret of the wrong type": {YAML,
			"name: a\npassword: {s3cr3t: s3cr3t}\nsecretNumber: s3cr3t\n", []string{
				"Invalid 2:11 password is a mapping, but must be a string",
				"Invalid 3:15 secretNumber is a hidden value, but must be a whole number"}},
		"a number instead of a string": {JSON, `{"name": 1}`,
			[]string{"Invalid 1:10 name is 1, but must be a string"}},
		"an unquoted octal number instead of a string": {YAMLAsJSON, "name: 010\npassword: 0x10\n",
			[]string{"Typo 1:7 name has no quotes, so the cloud-controller-manager reads it as \"8\": put it in quotes",
				"Typo 2:11 password has no quotes, so the cloud-controller-manager reads it as another " +
					"string: put it in quotes"}},
		"the same key twice": {JSON, "{\"name\": \"a\",\n\"Name\": \"b\"}",
			[]string{"Ambiguous 2:1 duplicate key \"name\": keep one (see line 1)"}},
		"the same key in two cases": {YAMLAsJSON, "name: a\nName: b\n",
			[]string{"Ambiguous 2:1 duplicate key \"name\": keep one (see line 1)"}},
		"another case if case matters": {YAML, "name: a\nName: b\n",
			[]string{`Typo 2:1 unknown key "Name"; did you mean "name"?`}},
		"the same mapping twice": {YAML, "name: a\nlabels: {a: b}\nlabels: {c: d}\n",
			[]string{"Ambiguous 3:1 duplicate key \"labels\": keep one (see line 2)"}},
		"the same label twice": {YAML, "name: a\nlabels:\n  a: b\n  a: c\n",
			[]string{"Ambiguous 4:3 duplicate key \"a\" in labels: keep one (see line 3)"}},
		"a tab in the indentation": {YAML, "name: a\nlabels:\n\ta: b\n",
			[]string{"Invalid 3:1 invalid YAML: a tab in the indentation: indent with spaces"}},
		"wrong indentation": {YAML, "name: a\nlabels:\n   a: b\n  c: d\n",
			[]string{"Invalid 4:3 invalid YAML: a key is expected here: check the indentation and the colons"}},
		"an unclosed quote": {YAML, "name: \"a\npassword: s3cr3t\n",
			[]string{"Invalid 1:1 invalid YAML: the text ends inside quotes: close them"}},
		"a colon in a value": {YAML, "name: a: b\n",
			[]string{"Invalid 1:1 invalid YAML: there is a second colon, or the indentation is wrong: put the value in quotes or correct the indentation"}},
		"settings of an item without its name": {YAML, "name: a\nzones:\n  region: b\n  c: {region: d}\n",
			[]string{"Invalid 3:3 region is directly below zones, which has named entries: write a line with a name above it, and indent the settings below the name"}},
		"no colon after the first key of a mapping": {YAML, "labels:\n  a b\n  c: d\n",
			[]string{"Invalid 2:3 invalid YAML: there is no colon and space after the key, or a colon too many in the next line: write key: value, or put the value in quotes"}},
		"a colon in the second line of a value": {YAML, "name: a\n  b: c\n",
			[]string{"Invalid 2:3 invalid YAML: there is a second colon, or the indentation is wrong: put the value in quotes or correct the indentation"}},
		"a NUL character": {YAML, "name: a\nü\x00: b\n",
			[]string{"Invalid 2:2 invalid character U+0000: remove it, or save the text as UTF-8"}},
		"a control character": {YAML, "name: \x1b[1m\n",
			[]string{"Invalid 1:7 invalid character U+001B: remove it, or save the text as UTF-8"}},
		"Latin-1": {YAML, "name: M\xfcnchen\n",
			[]string{"Invalid 1:8 invalid character U+FFFD: remove it, or save the text as UTF-8"}},
		"a second document": {YAML, "name: a\n---\nname: b\n",
			[]string{"Typo 2:1 the document ends before this line, and the cloud-controller-manager ignores the " +
				"rest: look for an extra bracket or a line ---"}},
		"an extra bracket": {YAMLAsJSON, "{\"name\": \"a\"}\n}\n",
			[]string{"Typo 2:1 the document ends before this line, and the cloud-controller-manager ignores the " +
				"rest: look for an extra bracket or a line ---"}},
		"an unknown anchor": {YAML, "name: *s3cr3t\n",
			[]string{"Invalid 1:1 invalid YAML: an alias has no anchor: put a value that starts with * in quotes"}},
		"tags": {YAML, "name: a\ncount: !!int x\ncolor: !!binary cmVk\nlabels: !foo {}\n",
			[]string{"Invalid 2:8 YAML tags are not supported: remove the tag",
				"Invalid 3:8 YAML tags are not supported: remove the tag",
				"Invalid 4:9 YAML tags are not supported: remove the tag"}},
		"an infinite number": {YAMLAsJSON, "name: a\nother: .inf\n",
			[]string{"Invalid 1:1 invalid YAML: a number cannot be infinite: put the value in quotes"}},
		"a key that is a list": {YAML, "name: a\n[a]: b\n",
			[]string{"Invalid 2:1 a key must be a string of at most 1000 characters: " +
				"a quote or a colon may be missing"}},
		"an unquoted key that is not a string": {YAMLAsJSON, "name: a\nlabels: {yes: a, 010: b, 1: c, ~: d}\n",
			[]string{"Invalid 2:10 this key is read as \"true\": put it in quotes",
				"Invalid 2:18 this key is read as \"8\": put it in quotes",
				"Invalid 2:32 a key must be a string of at most 1000 characters: a quote or a colon may be missing"}},
		"a merge key after a name": {YAML, "name: a\nx: &x {color: red}\ncolor: green\n<<: *x\n",
			[]string{"Unknown 2:1 unknown key \"x\": the cloud-controller-manager ignores it; " +
				"remove it or correct its name",
				"Ambiguous 2:8 duplicate key \"color\": keep one (see line 3)"}},
		"null after a mapping": {JSON,
			"{\"name\": \"a\",\n\"labels\": {\"a\": \"b\"},\n\"labels\": null}", []string{
				"Ambiguous 3:1 duplicate key \"labels\": keep one (see line 2)"}},
		"a mapping after null": {YAMLAsJSON, "name: a\nlabels:\nLabels: {a: b}\n",
			[]string{"Ambiguous 3:1 duplicate key \"labels\": keep one (see line 2)"}},
		"null after a value": {YAMLAsJSON, "name: a\ncolor: red\ncolor: null\n",
			[]string{"Ambiguous 3:1 duplicate key \"color\": keep one (see line 2)"}},
		"a byte order mark in JSON": {JSON, "\ufeff{\"name\": \"a\"}",
			[]string{"Invalid 1:1 invalid character U+FEFF: remove it, or save the text as UTF-8"}},
		"a comment in JSON": {JSON, "{\"name\": \"a\" // no\n}",
			[]string{"Invalid 1:14 invalid JSON: a comma or } is missing before this"}},
		"an extra comma": {JSON, "{\n\"name\": \"a\",\n}",
			[]string{"Invalid 3:1 invalid JSON: a key in quotes is expected; JSON has no comments, and no comma after the last key"}},
		"a missing comma": {JSON, "{\n\"name\": \"a\"\n\"color\": \"red\"}",
			[]string{"Invalid 3:1 invalid JSON: a comma or } is missing before this"}},
		"a missing comma in a list": {JSON, `{"networks": ["a" "b"]}`,
			[]string{"Invalid 1:19 invalid JSON: a comma or ] is missing before this"}},
		"a missing colon": {JSON, `{"name" "a"}`,
			[]string{"Invalid 1:9 invalid JSON: a colon is missing after the key"}},
		"single quotes": {JSON, "{'name': 'a'}",
			[]string{"Invalid 1:2 invalid JSON: a key in quotes is expected; JSON has no comments, and no comma after the last key"}},
		"a value without quotes": {JSON, "{\"name\": s3cr3t}",
			[]string{"Invalid 1:10 invalid JSON: a value is expected: a string in quotes, a number, true, false, null, { or ["}},
		"a missing quote": {JSON, "{\"name\": \"a,\n\"color\": \"red\"}",
			[]string{"Invalid 1:13 invalid JSON: a string has a line break or a control character: write \\n, or close the quotes"}},
		"an unknown escape": {JSON, `{"name": "C:\x"}`,
			[]string{"Invalid 1:14 invalid JSON: a backslash starts an unknown escape: write \\\\"}},
		"a missing bracket": {JSON, "{\"name\": \"a\"\n",
			[]string{"Invalid 2:1 invalid JSON: the text ends too early: a closing bracket or quote is missing"}},
		"JSON followed by more text": {JSON, "{\"name\": \"a\"}\n}",
			[]string{"Invalid 2:1 invalid JSON: the JSON ends before this: remove the rest, or look for an extra bracket"}},
		"NUL in JSON": {JSON, "{\"name\": \"a\"\x00}",
			[]string{"Invalid 1:13 invalid character U+0000: remove it, or save the text as UTF-8"}},
		"an unknown key that is named like a token": {YAML, "name: a\napi-token: s3cr3t\n",
			[]string{`Unknown 2:1 unknown key "api-token": the cloud-controller-manager ignores it; remove it, as everyone who ` +
				"may read the ConfigMap can read this secret"}},
		"broken JSON as YAML": {YAMLAsJSON, "{\n  \"name\": \"a\"\n  \"color\": \"red\"\n}\n",
			[]string{"Invalid 3:3 invalid JSON: a comma or } is missing before this"}},
		"columns count characters": {JSON,
			"{\"labels\": {\"ü\": \"ö\", \"ä\": 1}, \"name\": \"é\"}", []string{
				"Invalid 1:28 labels.ä is 1, but must be a string"}},
		"CRLF": {YAML, "name: a\r\nenabled: x\r\n",
			[]string{`Invalid 2:10 enabled is "x", but must be true or false`}},
		"a key that is too long": {JSON, `{"` + strings.Repeat("a", 1001) + `": 1}`,
			[]string{"Invalid 1:2 a key must be a string of at most 1000 characters: " +
				"a quote or a colon may be missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := readTree(c.format, c.text)
			require.Equal(t, c.want, got)
			require.NotContains(t, strings.Join(got, "\n"), "s3cr3t")
		})
	}
}

func TestReadAcceptsWhatTheProvidersAccept(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		text   string
		want   string
	}{
		"every type": {YAML,
			"name: a\nenabled: Yes\ncount: 0x10\nport: 010\nratio: 1.50\nnetworks: [a, '']\nlabels: {k: ~}\n" +
				"anything: [1, {b: c}]\n",
			`{"name":"a","enabled":true,"count":16,"port":8,"ratio":1.5,"networks":["a",""],"labels":{"k":null},` +
				`"anything":[1,{"b":"c"}]}`},
		"a whole number as a fraction": {YAML, "name: a\ncount: 1e3\n", `{"name":"a","count":1000}`},
		"unquoted numbers as strings": {YAML, "name: 0123\nnetworks: [1, 2.0, no]\n",
			`{"name":"0123","networks":["1","2.0","no"]}`},
		"tags of the same types": {YAML,
			"name: !!str 0123\nenabled: !!bool yes\ncount: !!int 1\nratio: !!float 1.5\nnetworks: !!seq [a]\nlabels: !!map {!!str a: b}\n",
			`{"name":"0123","enabled":true,"count":1,"ratio":1.5,"networks":["a"],"labels":{"a":"b"}}`},
		"unquoted keys": {YAML, "name: a\nlabels: {yes: a, 010: b}\n",
			`{"name":"a","labels":{"yes":"a","010":"b"}}`},
		"unquoted booleans as strings": {YAMLAsJSON, "name: true\nnetworks: [-1]\n",
			`{"name":"true","networks":["-1"]}`},
		"an unquoted date as a string": {YAMLAsJSON, "name: 2001-01-01\n", `{"name":"2001-01-01"}`},
		"anchors, aliases and merges": {YAML,
			"name: &n a\npassword: *n\nlabels: &l {a: b, c: d}\nanything:\n  <<: *l\n  c: e\n",
			`{"name":"a","password":"a","labels":{"a":"b","c":"d"},"anything":{"a":"b","c":"e"}}`},
		"a name after a merge key": {YAML,
			"name: a\nlabels: &l {a: b, c: d}\nanything: 1\nserver:\n  <<: {address: x, verify: no}\n  address: y\n",
			`{"name":"a","labels":{"a":"b","c":"d"},"anything":1,"server":{"address":"y","verify":false}}`},
		"null after a value in JSON": {JSON, `{"name": "a", "name": null}`, `{"name":"a"}`},
		"a merge key with several mappings": {YAML, "name: a\nlabels:\n  <<: [{a: b}, {a: x, c: d}]\n",
			`{"name":"a","labels":{"a":"b","c":"d"}}`},
		"names in any case": {JSON, `{"NAME": "a", "Server": {"ADDRESS": "b"}}`,
			`{"name":"a","server":{"address":"b"}}`},
		"a byte order mark in YAML": {YAML, "\ufeffname: a\n", `{"name":"a"}`},
		"CRLF in JSON":              {JSON, "{\r\n\"name\": \"a\"\r\n}\r\n", `{"name":"a"}`},
		"CRLF in YAML":              {YAML, "name: a\r\ncolor: red\r\n", `{"name":"a","color":"red"}`},
		"quotes and # in values": {YAML, "name: 'it''s #1' # comment\npassword: \"a\\tb \\\" #\"\n",
			`{"name":"it's #1","password":"a\tb \" #"}`},
		"a block string":                   {YAML, "name: |\n  a\n  b\n", `{"name":"a\nb\n"}`},
		"JSON as YAML with an extra comma": {YAMLAsJSON, "{\"name\": \"a\", # comment\n}", `{"name":"a"}`},
		"tabs in JSON as YAML": {YAMLAsJSON, "{\n\t\"name\": \"a\",\n\t\"enabled\": false\n}",
			`{"name":"a","enabled":false}`},
		"null values of known names": {JSON, `{"name": "a", "enabled": null, "server": null}`, `{"name":"a"}`},
		"the last of two values":     {JSON, `{"name": "a", "name": "b"}`, `{"name":"b"}`},
		"unknown names": {JSON, `{"name": "a", "new": {"x": [null, 1.5, "y"]}}`,
			`{"name":"a","new":{"x":[null,1.5,"y"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			d, got := readTree(c.format, c.text)
			for _, line := range got {
				require.NotContains(t, line, "Invalid")
			}
			require.JSONEq(t, c.want, string(EncodeJSON(d.Root)))
			requireSameMeaning(t, d)
		})
	}
}

// requireSameMeaning checks that every reader interprets the written text in the same way, and that reading it again
// changes nothing.
func requireSameMeaning(t *testing.T, d *Document) {
	t.Helper()
	var asJSON, asJSONByYAML, asYAML any
	require.NoError(t, json.Unmarshal(EncodeJSON(d.Root), &asJSON))
	require.NoError(t, sigsyaml.Unmarshal(EncodeJSON(d.Root), &asJSONByYAML))
	require.NoError(t, sigsyaml.Unmarshal(EncodeYAML(d.Root), &asYAML))
	require.Equal(t, asJSON, asJSONByYAML)
	require.Equal(t, asJSON, asYAML)
	for _, text := range [][]byte{EncodeJSON(d.Root), EncodeYAML(d.Root)} {
		again, _ := readTree(YAML, string(text))
		require.Equal(t, string(EncodeJSON(d.Root)), string(EncodeJSON(again.Root)))
	}
}

func TestReadLimitsTheCostOfHostileTexts(t *testing.T) {
	bomb := "name: a\nx0: &x0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 10),
			","))
	}
	for name, c := range map[string]struct {
		format Format
		text   string
		want   string
	}{
		"aliases of aliases": {YAML, bomb,
			"Invalid 1:1 invalid YAML: the aliases repeat too much: write the values themselves"},
		"an alias of itself": {YAML, "name: a\nx: &x [*x]\n",
			"Invalid 2:8 invalid YAML: the value of an anchor contains itself: put a value that starts with * in quotes"},
		"deep nesting in JSON": {JSON, `{"x": ` + strings.Repeat("[", 500_000),
			"Invalid 1:10006 invalid JSON: too many brackets are open"},
		"deep nesting in YAML": {YAML, "x: " + strings.Repeat("[", 100_000),
			"Invalid 1:1 invalid YAML: the values are nested too deeply"},
		"a mebibyte of bad lines": {YAML, "name: a\n" + strings.Repeat("\"\n", 1<<19),
			"Invalid 2:1 invalid YAML: there is no colon after the key: write key: value"},
		"a mebibyte without a line break": {JSON, `{"name": "` + strings.Repeat("a", 1<<20),
			"Invalid 1:1048587 invalid JSON: the text ends too early: a closing bracket or quote is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, got := readTree(c.format, c.text)
			require.Equal(t, []string{c.want}, got)
			require.Less(t, time.Since(start),
				20*time.Second) // takes a fraction of a second; a quadratic algorithm would take minutes
		})
	}
}

func TestReadHandlesAMebibyteOfValues(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\"name\": \"a\"")
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, ",\n\"key%d\": %d", i, i)
	}
	b.WriteString("}")
	for _, format := range []Format{JSON, YAML, YAMLAsJSON} {
		_, got := readTree(format, b.String())
		require.Len(t, got, 100)
		require.Equal(t, `Unknown 2:1 unknown key "key0": the cloud-controller-manager ignores it; `+
			`remove it or correct its name`,
			got[0])
	}
}

func TestValuesAreSetAndDropped(t *testing.T) {
	d, got := readTree(YAML, "name: a\nserver: {address: b}\nlabels: {a: b}\n")
	require.Empty(t, got)
	d.Set(NewText("c"), "server", "address")
	d.Set(NewBool(true), "server", "verify")
	d.Set(NewInt(3), "zones", "z", "number")
	d.Set(NewTexts([]string{"yes", "a b"}), "networks")
	d.Set(NewMap(), "anything")
	d.Drop("labels")
	require.Nil(t, d.Value("labels"))
	d.Drop("labels", "a")
	require.Equal(t, "c", d.Text("server", "address"))
	require.True(t, d.IsTrue("server", "verify"))
	require.False(t, d.IsTrue("server", "address"))
	require.Empty(t, d.Text("server", "address", "nothing"))
	require.Equal(t, `name: a
server:
  address: c
  verify: true
zones:
  z:
    number: 3
networks:
  - "yes"
  - "a b"
anything: {}
`, string(EncodeYAML(d.Root)))
	require.Equal(t, strings.TrimPrefix(`
{
  "name": "a",
  "server": {
    "address": "c",
    "verify": true
  },
  "zones": {
    "z": {
      "number": 3
    }
  },
  "networks": [
    "yes",
    "a b"
  ],
  "anything": {}
}
`, "\n"), string(EncodeJSON(d.Root)))
	requireSameMeaning(t, d)
}

// TestUnquotedWordsHaveTheSameTypeForTheProviders compares with the library with which sigs.k8s.io/yaml reads YAML 1.1.
func TestUnquotedWordsHaveTheSameTypeForTheProviders(t *testing.T) {
	for _, word := range []string{"a", "y", "Y", "yes", "Yes", "YES", "yEs", "on", "Off", "n", "NO", "true", "TRUE",
		"tRUE", "null", "Null", "~", "NULL",
		"0", "1", "-1", "+1", "010", "0o10", "08", "0x1f", "-0x1f", "0b11", "-0b11", "1_000", "1.5", ".5", "1.", "1e3",
		"+1.5e-3", "1_0.5", "1e", "+", ".", "..",
		"0x", "12:30:45", "2001-01-01", "1.2.3", "18446744073709551615", "18446744073709551616",
		"-9223372036854775809", "9223372036854775808", "_1", "1__0", "0_7", "-.5", "+.5", "1e400"} {
		t.Run(word, func(t *testing.T) {
			var want map[string]any
			err := sigsyaml.Unmarshal([]byte("a: "+word+"\n"), &want,
				func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d })
			require.NoError(t, err)
			kind, text := plainKind(word)
			switch value := want["a"].(type) {
			case nil:
				require.Equal(t, NullNode, kind)
			case string:
				require.Equal(t, []any{TextNode, value}, []any{kind, text})
			case bool:
				require.Equal(t, []any{BoolNode, fmt.Sprint(value)}, []any{kind, text})
			case json.Number:
				require.Contains(t, []NodeKind{IntNode, FloatNode}, kind)
				ours, err := json.Number(text).Float64()
				require.NoError(t, err)
				theirs, err := value.Float64()
				require.NoError(t, err)
				require.InDelta(t, theirs, ours, 0)
			}
		})
	}
}

func TestAnAmbiguousKeyHasTheValueThatTheLibraryDecodes(t *testing.T) {
	type config struct {
		Name     string            `json:"name" yaml:"name"`
		Color    string            `json:"color" yaml:"color"`
		Enabled  bool              `json:"enabled" yaml:"enabled"`
		Count    int               `json:"count" yaml:"count"`
		Networks []string          `json:"networks" yaml:"networks"`
		Labels   map[string]string `json:"labels" yaml:"labels"`
		Server   struct {
			Address string `json:"address" yaml:"address"`
			Verify  bool   `json:"verify" yaml:"verify"`
		} `json:"server" yaml:"server"`
		Zones map[string]struct {
			Region string `json:"region" yaml:"region"`
		} `json:"zones" yaml:"zones"`
	}
	decode := map[Format]func([]byte, any) error{
		JSON: json.Unmarshal, YAML: yamlv2.Unmarshal,
		YAMLAsJSON: func(text []byte, into any) error { return sigsyaml.Unmarshal(text, into) },
	}
	for name, c := range map[string]struct {
		format Format
		text   string
	}{
		"a string twice":                         {JSON, `{"name": "a", "name": "b"}`},
		"a string in two cases":                  {JSON, `{"Name": "b", "name": "a"}`},
		"a string in two cases, as YAML":         {YAMLAsJSON, "name: a\nName: b\n"},
		"a string in two cases in reverse order": {YAMLAsJSON, "Name: b\nname: a\n"},
		"null after a string in JSON":            {JSON, `{"name": "a", "color": "red", "color": null}`},
		"null after a string in YAML":            {YAML, "name: a\ncolor: red\ncolor: null\n"},
		"null after a mapping in JSON":           {JSON, `{"name": "a", "labels": {"a": "b"}, "labels": null}`},
		"null before a mapping in JSON":          {JSON, `{"name": "a", "labels": null, "Labels": {"a": "b"}}`},
		"null after a mapping as JSON":           {YAMLAsJSON, "name: a\nlabels: {a: b}\nLabels:\n"},
		"two mappings in JSON": {JSON,
			`{"name": "a", "server": {"address": "x"}, "Server": {"verify": true}}`},
		"two mappings in YAML": {YAML,
			"name: a\nserver: {address: x, verify: true}\nserver: {address: y}\n"},
		"two lists in JSON":  {JSON, `{"name": "a", "networks": ["x", "y"], "networks": ["z"]}`},
		"two lists in YAML":  {YAML, "name: a\nnetworks: [x, y]\nnetworks: [z]\n"},
		"a label twice":      {YAML, "name: a\nlabels: {b: c, b: d}\n"},
		"null after a label": {JSON, `{"name": "a", "labels": {"b": "c", "b": null}}`},
		"a mapping of a chosen name twice": {JSON,
			`{"name": "a", "zones": {"b": {"region": "c"}}, "zones": {"b": {}, "d": {"region": "e"}}}`},
		"two cases of a mapping and of its keys": {YAMLAsJSON,
			"name: a\nServer: {Verify: true, address: b}\nserver: {Address: c}\n"},
		"a name before a merge key": {YAML,
			"x: &x {color: red, count: 1}\nname: a\ncolor: green\n<<: *x\n"},
		"numbers and booleans": {YAMLAsJSON,
			"name: a\ncount: 1\ncount: 010\nenabled: no\nenabled: yes\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d, got := readTree(c.format, c.text)
			require.True(t, slices.ContainsFunc(got,
				func(line string) bool { return strings.HasPrefix(line, "Ambiguous ") }), "%s", got)
			require.NotContains(t, strings.Join(got, "\n"), "Invalid")
			var theirs, ours config
			require.NoError(t, decode[c.format]([]byte(c.text), &theirs))
			require.NoError(t, json.Unmarshal(EncodeJSON(d.Root), &ours))
			require.Equal(t, theirs, ours)
		})
	}
}

func TestAnAmbiguousZeroValueIsKeptIfTheProviderHasAPointer(t *testing.T) {
	fields := []Field{{Name: "exclude", Is: Bool, Pointer: true}}
	for text, want := range map[string]string{
		`{"exclude": true, "exclude": false}`: `{"exclude":false}`,
		`{"Exclude": false, "exclude": true}`: `{"exclude":true}`,
		`{"exclude": true, "exclude": null}`:  `{}`,
	} {
		for _, format := range []Format{JSON, YAMLAsJSON} {
			var list diagnostic.List
			d := Reader{Format: format, Fields: fields, Input: diagnostic.CloudConfig}.Read([]byte(text), &list)
			require.True(t, list.Has(diagnostic.Ambiguous))
			require.JSONEq(t, want, string(d.Encode()))
		}
	}
}

// A value that a later one replaces counts too where the provider's library fails at it.
func TestEveryValueOfADuplicateKeyIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		text   string
		want   []string
	}{
		"JSON": {JSON, `{"name":"a","count":"x","count":1}`, []string{
			`Invalid 1:21 count is "x", but must be a whole number`, `Ambiguous 1:25 duplicate key "count": keep one (see line 1)`}},
		"YAML": {YAML, "name: a\ncount: x\ncount: 1\n", []string{
			`Invalid 2:8 count is "x", but must be a whole number`, `Ambiguous 3:1 duplicate key "count": keep one (see line 2)`}},
		"YAML that becomes JSON first": {YAMLAsJSON, "name: a\ncount: x\ncount: 1\n", []string{`Ambiguous 3:1 duplicate key "count": keep one (see line 2)`}},
		"a mapping that null replaces": {JSON, `{"name":"a","labels":{"b":[1]},"labels":null}`, []string{
			"Invalid 1:27 labels.b is a list, but must be a string", `Ambiguous 1:32 duplicate key "labels": keep one (see line 1)`}},
		"values that all fit": {JSON, `{"name":"a","count":2,"count":1}`, []string{`Ambiguous 1:23 duplicate key "count": keep one (see line 1)`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings := readTree(c.format, c.text)
			require.Equal(t, c.want, findings)
		})
	}
}

// The provider's library sets numbers and words with fmt.Sscanf.
func TestAnINIValueIsWhatTheProvidersLibraryScans(t *testing.T) {
	fields := []Field{{Name: "Global", Is: Object, Fields: []Field{
		{Name: "int", Is: Int},
		{Name: "short", Is: Int, Bits: 32},
		{Name: "uint", Is: Int, Unsigned: true},
		{Name: "word", Is: Word},
	}}}
	for line, want := range map[string]string{
		"int = -0x1_0":       "-16",
		"int = 0x1F":         "31",
		"int = +1":           "1",
		"int = 010":          "10",
		"int = 1_0":          "Invalid 2:7 int is \"1_0\", but must be a whole number",
		"int = 1.0":          "Invalid 2:7 int is \"1.0\", but must be a whole number",
		"short = 2147483647": "2147483647",
		"short = 2147483648": "Invalid 2:9 short is \"2147483648\", but must be a whole number of at most 32 bits",
		"uint = 1":           "1",
		"uint = +1":          "Invalid 2:8 uint is \"+1\", but must be a whole number that is not negative",
		"uint = -1":          "Invalid 2:8 uint is \"-1\", but must be a whole number that is not negative",
		"word = \" one\"":    "one",
		"word = \"one two\"": "Invalid 2:8 word is \"one two\", but must be one word",
		"word = \"one\\n\"":  "Invalid 2:8 word is a hidden value, but must be one word",
	} {
		t.Run(line, func(t *testing.T) {
			var list diagnostic.List
			d := Reader{Format: INI, Fields: fields, Input: diagnostic.CloudConfig}.Read([]byte("[Global]\n"+line+"\n"),
				&list)
			if sorted := list.Sorted(); len(sorted) > 0 {
				f := sorted[0]
				require.Equal(t, want, fmt.Sprintf("%s %d:%d %s", f.Kind, f.Line, f.Column, f.Text()))
				return
			}
			key, _, _ := strings.Cut(line, " ")
			require.Equal(t, want, d.Root.Entry("Global").Value.Entry(key).Value.Text)
		})
	}
}
