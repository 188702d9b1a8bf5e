package cloudconfig

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// treeFields is a made-up schema with every type.
var treeFields = []treeField{
	{name: "name", required: "write the name of the cluster"},
	{name: "color", values: []string{"red", "green"}},
	{name: "password", secret: true},
	{name: "secretNumber", is: intTree, secret: true},
	{name: "enabled", is: boolTree},
	{name: "count", is: intTree},
	{name: "port", is: intTree, bits: 16, unsigned: true},
	{name: "ratio", is: floatTree},
	{name: "networks", is: listTree, of: &treeField{}},
	{name: "labels", is: mapTree, of: &treeField{}},
	{name: "server", is: objectTree, fields: []treeField{{name: "address", required: "write its address"}, {name: "verify", is: boolTree}}},
	{name: "zones", is: mapTree, of: &treeField{is: objectTree, fields: []treeField{{name: "region"}}}},
	{name: "anything", is: anyTree},
	{name: "volumes", is: boolTree, legacy: "volumes are the matter of another driver"},
}

func readTree(format treeFormat, text string) (*treeDocument, []string) {
	var fs findings
	d := treeReader{format: format, fields: treeFields, input: diagnostic.CloudConfig, empty: "write at least a name"}.read([]byte(text), &fs)
	var out []string
	for _, f := range finish(fs, Result{}).Diagnostics {
		out = append(out, fmt.Sprintf("%s %d:%d %s", f.Kind, f.Line, f.Column, f.Text()))
	}
	return d, out
}

func TestTreeFindings(t *testing.T) {
	for name, c := range map[string]struct {
		format treeFormat
		text   string
		want   []string
	}{
		"nothing":           {jsonTree, "", []string{"Invalid 0:0 there is no cloud configuration: it is empty; write at least a name"}},
		"nothing but space": {yamlTree, " \n", []string{"Invalid 0:0 there is no cloud configuration: it is empty; write at least a name"}},
		"a comment only":    {yamlTree, "# a\n", []string{"Invalid 0:0 there is no cloud configuration: it is empty; write at least a name"}},
		"null":              {jsonTree, "null", []string{"Invalid 0:0 there is no cloud configuration: it is empty; write at least a name"}},
		"a list":            {yamlTree, "- a\n", []string{"Invalid 1:1 this is no mapping of keys to values: write YAML with lines of key: value"}},
		"a word":            {yamlTree, "hello\n", []string{"Invalid 1:1 this is no mapping of keys to values: write YAML with lines of key: value"}},
		"INI for YAML":      {yamlTree, "; a\n[Global]\nregion = x\n", []string{"Invalid 1:1 this looks like INI, but here belongs YAML with lines of key: value"}},
		"INI for JSON":      {jsonTree, "[Global]\nregion = x\n", []string{"Invalid 1:2 this looks like INI, but here belongs JSON of the form {\"key\": \"value\"}"}},
		"YAML for JSON":     {jsonTree, "name:\n  a: b\n", []string{"Invalid 1:2 this looks like YAML, but here belongs JSON of the form {\"key\": \"value\"}"}},
		"everything wrong at once": {yamlTree, "nmae: x\nserver: {adress: a, verify: ja}\nenabled: 1\nlabels: []\nother: 1\n", []string{
			"Invalid 0:0 there is no name: write the name of the cluster",
			`Typo 1:1 unknown key "nmae"; did you mean "name"?`,
			"Invalid 2:9 server has no address: write its address",
			`Typo 2:10 unknown key "adress" in server; did you mean "address"?`,
			`Invalid 2:29 server.verify is "ja", but wants true or false`,
			"Invalid 3:10 enabled is the bare 1, but wants true or false",
			"Invalid 4:9 labels is a list, but wants a mapping of keys to values",
			`Unknown 5:1 unknown key "other": the cloud-controller-manager ignores it; remove it or correct its name`}},
		"a name at the wrong place": {yamlTree, "name: a\naddress: b\nserver: {address: a, color: red}\nzones: {a: {address: b}}\nregion: b\n", []string{
			`Typo 2:1 unknown key "address"; it belongs in server`,
			`Typo 3:22 unknown key "color" in server; it belongs at the top`,
			`Typo 4:13 unknown key "address" in zones.a; it belongs in server`,
			`Typo 5:1 unknown key "region"; it belongs in zones`}},
		"an empty required text":       {jsonTree, `{"name": " "}`, []string{"Invalid 1:10 name is empty: write the name of the cluster"}},
		"null is the same as missing":  {jsonTree, `{"name": null}`, []string{"Invalid 0:0 there is no name: write the name of the cluster"}},
		"a value that is not listed":   {yamlTree, "name: a\ncolor: blue\n", []string{`Invalid 2:8 color is "blue", but wants red or green`}},
		"a legacy name":                {yamlTree, "name: a\nvolumes: [x]\n", []string{"Legacy 2:1 volumes is dropped: volumes are the matter of another driver"}},
		"quotes around a boolean":      {yamlTree, "name: a\nenabled: \"true\"\n", []string{`Invalid 2:10 enabled is "true", but wants true or false: remove the quotes`}},
		"quotes around a number":       {jsonTree, `{"name":"a","count":"1"}`, []string{`Invalid 1:21 count is "1", but wants a whole number: remove the quotes`}},
		"a fraction":                   {jsonTree, `{"name":"a","count":1.5}`, []string{`Invalid 1:21 count is the bare 1.5, but wants a whole number`}},
		"an exponent in JSON":          {jsonTree, `{"name":"a","count":1e3}`, []string{`Invalid 1:21 count is the bare 1e3, but wants a whole number`}},
		"a number too large":           {yamlTree, "name: a\nport: 40000\n", []string{"Invalid 2:7 port is the bare 40000, but wants a whole number that is not negative of at most 16 bits"}},
		"a negative number":            {yamlTree, "name: a\nport: -1\n", []string{"Invalid 2:7 port is the bare -1, but wants a whole number that is not negative"}},
		"a text for a list":            {yamlTree, "name: a\nnetworks: net1\n", []string{`Invalid 2:11 networks is "net1", but wants a list`}},
		"a mapping in a list":          {yamlTree, "name: a\nnetworks:\n- x\n- {a: b}\n", []string{`Invalid 4:3 networks[1] is a mapping, but wants a text`}},
		"an empty text for a boolean":  {yamlTree, "name: a\nenabled: ''\n", []string{`Invalid 2:10 enabled is empty, but wants true or false`}},
		"a secret of the wrong type":   {yamlTree, "name: a\npassword: {s3cr3t: s3cr3t}\nsecretNumber: s3cr3t\n", []string{"Invalid 2:11 password is a mapping, but wants a text", "Invalid 3:15 secretNumber is a text, but wants a whole number"}},
		"a bare number for a text":     {jsonTree, `{"name": 1}`, []string{"Invalid 1:10 name is the bare 1, but wants a text"}},
		"a bare octal for a text":      {yamlAsJSONTree, "name: 010\npassword: 0x10\n", []string{`Typo 1:7 name has no quotes, so the cloud-controller-manager reads it as "8": put it in quotes`, "Typo 2:11 password has no quotes, so the cloud-controller-manager reads it as another text: put it in quotes"}},
		"the same text twice":          {jsonTree, "{\"name\": \"a\",\n\"Name\": \"b\"}", []string{"Rewritten 1:2 this name is dropped: duplicate key, and the last value counts (see line 2)"}},
		"the same text in two cases":   {yamlAsJSONTree, "name: a\nName: b\n", []string{"Rewritten 2:1 this name is dropped: duplicate key, and the other value counts (see line 1)"}},
		"another case where it counts": {yamlTree, "name: a\nName: b\n", []string{`Typo 2:1 unknown key "Name"; did you mean "name"?`}},
		"the same mapping twice":       {yamlTree, "name: a\nlabels: {a: b}\nlabels: {c: d}\n", []string{"Invalid 3:1 duplicate key labels: keep one (see line 2)"}},
		"the same label twice":         {yamlTree, "name: a\nlabels:\n  a: b\n  a: c\n", []string{"Rewritten 3:3 this labels.a is dropped: duplicate key, and the last value counts (see line 4)"}},
		"a tab in front":               {yamlTree, "name: a\nlabels:\n\ta: b\n", []string{"Invalid 3:2 this is not YAML: a tab is in front of the text; use blanks"}},
		"wrong indentation":            {yamlTree, "name: a\nlabels:\n   a: b\n  c: d\n", []string{"Invalid 4:3 this is not YAML: did not find expected key"}},
		"open quotes":                  {yamlTree, "name: \"a\npassword: s3cr3t\n", []string{"Invalid 1:1 this is not YAML: found unexpected end of stream"}},
		"a colon in a value":           {yamlTree, "name: a: b\n", []string{"Invalid 1:1 this is not YAML: mapping values are not allowed in this context"}},
		"NUL":                          {yamlTree, "name: a\nü\x00: b\n", []string{"Invalid 2:2 there is a NUL character here: remove it"}},
		"a control character":          {yamlTree, "name: \x1b[1m\n", []string{"Invalid 1:7 there is a control character here (U+001B): remove it"}},
		"Latin-1":                      {yamlTree, "name: M\xfcnchen\n", []string{"Invalid 1:8 there is a byte here that is not UTF-8: save the text as UTF-8"}},
		"a second document":            {yamlTree, "name: a\n---\nname: b\n", []string{"Typo 3:1 the cloud-controller-manager ignores everything from here on, as the document ends before: look for a bracket too many or a line ---"}},
		"a bracket too many":           {yamlAsJSONTree, "{\"name\": \"a\"}\n}\n", []string{"Typo 2:1 the cloud-controller-manager ignores everything from here on, as the document ends before: look for a bracket too many or a line ---"}},
		"an anchor that is not there":  {yamlTree, "name: *s3cr3t\n", []string{`Invalid 1:7 this is not YAML: a value starts with "*" or "&", which makes it an alias or an anchor: put it in quotes`}},
		"a tag that does not fit":      {yamlTree, "name: a\ncount: !!int x\nlabels: !foo {}\n", []string{`Invalid 2:8 the value does not fit the tag "!!int" before it: remove the tag or put the value in quotes`, `Invalid 3:9 the tag "!foo" is not one that fits here: remove it`}},
		"a number without an end":      {yamlAsJSONTree, "name: a\nother: .inf\n", []string{"Invalid 2:8 this is not a number that can be calculated with: write another one"}},
		"a key that is a list":         {yamlTree, "name: a\n[a]: b\n", []string{"Invalid 2:1 a key has to be one word or text, not a mapping or a list"}},
		"a key without quotes":         {yamlAsJSONTree, "name: a\nlabels: {yes: a, 010: b, 1: c, ~: d}\n", []string{`Typo 2:10 this key has no quotes, so the cloud-controller-manager reads it as "true": put it in quotes`, `Typo 2:18 this key has no quotes, so the cloud-controller-manager reads it as "8": put it in quotes`, "Invalid 2:32 a key is missing before the colon: write one, or put it in quotes"}},
		"a merge over a name before":   {yamlTree, "name: a\nx: &x {color: red}\ncolor: green\n<<: *x\n", []string{`Unknown 2:1 unknown key "x": the cloud-controller-manager ignores it; remove it or correct its name`, `Rewritten 3:1 this "color" is dropped: a merge key (<<) sets it too, and the last value counts (see line 4)`}},
		"null beside a mapping":        {jsonTree, "{\"name\": \"a\",\n\"labels\": {\"a\": \"b\"},\n\"labels\": null}", []string{"Invalid 3:1 duplicate key labels: keep one (see line 2)"}},
		"a mapping beside null":        {yamlAsJSONTree, "name: a\nlabels:\nLabels: {a: b}\n", []string{"Invalid 3:1 duplicate key labels: keep one (see line 2)"}},
		"null over a value":            {yamlAsJSONTree, "name: a\ncolor: red\ncolor: null\n", []string{"Rewritten 2:1 this color is dropped: it is set to null again, and the last value counts (see line 3)"}},
		"a merge of a text":            {yamlTree, "name: a\n<<: b\n", []string{"Invalid 2:5 << takes mappings only: write an alias of a mapping"}},
		"a byte order mark in JSON":    {jsonTree, "\ufeff{\"name\": \"a\"}", []string{"Invalid 1:1 there is a byte order mark at the start, which JSON does not allow: save the text as UTF-8 without it"}},
		"a comment in JSON":            {jsonTree, "{\"name\": \"a\" // no\n}", []string{"Invalid 1:14 this is not JSON: it has no comments: remove this one"}},
		"a comma too many":             {jsonTree, "{\n\"name\": \"a\",\n}", []string{"Invalid 3:1 this is not JSON: the comma before this bracket is one too many: remove it"}},
		"a comma missing":              {jsonTree, "{\n\"name\": \"a\"\n\"color\": \"red\"}", []string{"Invalid 3:1 this is not JSON: a comma is missing before this"}},
		"a comma missing in a list":    {jsonTree, `{"networks": ["a" "b"]}`, []string{"Invalid 1:19 this is not JSON: a comma is missing before this"}},
		"a colon missing":              {jsonTree, `{"name" "a"}`, []string{"Invalid 1:9 this is not JSON: a colon is missing before this"}},
		"single quotes":                {jsonTree, "{'name': 'a'}", []string{`Invalid 1:2 this is not JSON: names and texts stand in double quotes ("), not in single ones`}},
		"no quotes":                    {jsonTree, "{\"name\": s3cr3t}", []string{"Invalid 1:10 this is not JSON: names and texts stand in double quotes, and the only bare words are true, false and null"}},
		"a quote missing":              {jsonTree, "{\"name\": \"a,\n\"color\": \"red\"}", []string{`Invalid 1:13 this is not JSON: a text may not have a line break, a tab or another control character in it: a quote may be missing, or write \n`}},
		"a wrong escape":               {jsonTree, `{"name": "C:\x"}`, []string{`Invalid 1:14 this is not JSON: there is no such escape: write \\ for one backslash`}},
		"a bracket missing":            {jsonTree, "{\"name\": \"a\"\n", []string{"Invalid 2:1 this is not JSON: it ends in the middle: a quote or a bracket is not closed"}},
		"JSON with more behind":        {jsonTree, "{\"name\": \"a\"}\n}", []string{"Invalid 2:1 this is not JSON: there is more text after the end of the document: remove it"}},
		"NUL in JSON":                  {jsonTree, "{\"name\": \"a\"\x00}", []string{"Invalid 1:13 this is not JSON: a comma is missing before this"}},
		"broken JSON as YAML":          {yamlAsJSONTree, "{\n  \"name\": \"a\"\n  \"color\": \"red\"\n}\n", []string{"Invalid 3:3 this is not JSON: a comma is missing before this"}},
		"columns count characters":     {jsonTree, "{\"labels\": {\"ü\": \"ö\", \"ä\": 1}, \"name\": \"é\"}", []string{"Invalid 1:28 labels.ä is the bare 1, but wants a text"}},
		"CRLF":                         {yamlTree, "name: a\r\nenabled: x\r\n", []string{`Invalid 2:10 enabled is "x", but wants true or false`}},
		"a key without an end":         {jsonTree, `{"` + strings.Repeat("a", 1001) + `": 1}`, []string{"Invalid 1:2 this key is longer than 1000 characters: a quote may be missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := readTree(c.format, c.text)
			require.Equal(t, c.want, got)
			require.NotContains(t, strings.Join(got, "\n"), "s3cr3t")
		})
	}
}

func TestTreeTakesWhatTheProvidersTake(t *testing.T) {
	for name, c := range map[string]struct {
		format treeFormat
		text   string
		want   string
	}{
		"every type":                       {yamlTree, "name: a\nenabled: Yes\ncount: 0x10\nport: 010\nratio: 1.50\nnetworks: [a, '']\nlabels: {k: ~}\nanything: [1, {b: c}]\n", `{"name":"a","enabled":true,"count":16,"port":8,"ratio":1.5,"networks":["a",""],"labels":{"k":null},"anything":[1,{"b":"c"}]}`},
		"a whole number as a fraction":     {yamlTree, "name: a\ncount: 1e3\n", `{"name":"a","count":1000}`},
		"bare numbers for texts":           {yamlTree, "name: 0123\nnetworks: [1, 2.0, no]\n", `{"name":"0123","networks":["1","2.0","no"]}`},
		"a long fraction for a text":       {yamlAsJSONTree, "name: 1.23456789\n", `{"name":"1.2345679"}`},
		"bare keys":                        {yamlTree, "name: a\nlabels: {yes: a, 010: b}\n", `{"name":"a","labels":{"yes":"a","010":"b"}}`},
		"bare booleans for texts":          {yamlAsJSONTree, "name: true\nnetworks: [-1]\n", `{"name":"true","networks":["-1"]}`},
		"a date is a text":                 {yamlAsJSONTree, "name: 2001-01-01\n", `{"name":"2001-01-01"}`},
		"anchors, aliases and merges":      {yamlTree, "name: &n a\npassword: *n\nlabels: &l {a: b, c: d}\nanything:\n  <<: *l\n  c: e\n", `{"name":"a","password":"a","labels":{"a":"b","c":"d"},"anything":{"a":"b","c":"e"}}`},
		"a name behind a merge":            {yamlTree, "name: a\nlabels: &l {a: b, c: d}\nanything: 1\nserver:\n  <<: {address: x, verify: no}\n  address: y\n", `{"name":"a","labels":{"a":"b","c":"d"},"anything":1,"server":{"address":"y","verify":false}}`},
		"null over a value in JSON":        {jsonTree, `{"name": "a", "name": null}`, `{"name":"a"}`},
		"a merge of several":               {yamlTree, "name: a\nlabels:\n  <<: [{a: b}, {a: x, c: d}]\n", `{"name":"a","labels":{"a":"b","c":"d"}}`},
		"names in any case":                {jsonTree, `{"NAME": "a", "Server": {"ADDRESS": "b"}}`, `{"name":"a","server":{"address":"b"}}`},
		"a byte order mark in YAML":        {yamlTree, "\ufeffname: a\n", `{"name":"a"}`},
		"UTF-16 in YAML":                   {yamlTree, "\xff\xfen\x00a\x00m\x00e\x00:\x00 \x00a\x00", `{"name":"a"}`},
		"CRLF in JSON":                     {jsonTree, "{\r\n\"name\": \"a\"\r\n}\r\n", `{"name":"a"}`},
		"CRLF in YAML":                     {yamlTree, "name: a\r\ncolor: red\r\n", `{"name":"a","color":"red"}`},
		"quotes and # in values":           {yamlTree, "name: 'it''s #1' # comment\npassword: \"a\\tb \\\" #\"\n", `{"name":"it's #1","password":"a\tb \" #"}`},
		"a block text":                     {yamlTree, "name: |\n  a\n  b\n", `{"name":"a\nb\n"}`},
		"a tagged text":                    {yamlTree, "name: !!str 1\n", `{"name":"1"}`},
		"JSON as YAML with a comma more":   {yamlAsJSONTree, "{\"name\": \"a\", # comment\n}", `{"name":"a"}`},
		"tabs in JSON as YAML":             {yamlAsJSONTree, "{\n\t\"name\": \"a\",\n\t\"enabled\": false\n}", `{"name":"a","enabled":false}`},
		"null values of known names":       {jsonTree, `{"name": "a", "enabled": null, "server": null}`, `{"name":"a"}`},
		"characters that only JSON allows": {jsonTree, "{\"name\": \"a\x7f\u2028\ufeff\\u0000\"}", `{"name":"a\u007f\u2028\ufeff\u0000"}`},
		"the last of two":                  {jsonTree, `{"name": "a", "name": "b"}`, `{"name":"b"}`},
		"unknown names are kept":           {jsonTree, `{"name": "a", "new": {"x": [null, 1.5, "y"]}}`, `{"name":"a","new":{"x":[null,1.5,"y"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			d, got := readTree(c.format, c.text)
			for _, finding := range got {
				require.NotContains(t, finding, "Invalid")
			}
			require.JSONEq(t, c.want, string(d.formatJSON()))
			requireSameMeaning(t, d)
		})
	}
}

// requireSameMeaning proves that every reader takes what we write the same way, and that reading it again changes nothing.
func requireSameMeaning(t *testing.T, d *treeDocument) {
	t.Helper()
	var asJSON, asJSONByYAML, asYAML any
	require.NoError(t, json.Unmarshal(d.formatJSON(), &asJSON))
	require.NoError(t, sigsyaml.Unmarshal(d.formatJSON(), &asJSONByYAML))
	require.NoError(t, sigsyaml.Unmarshal(d.formatYAML(), &asYAML))
	require.Equal(t, asJSON, asJSONByYAML)
	require.Equal(t, asJSON, asYAML)
	for _, text := range [][]byte{d.formatJSON(), d.formatYAML()} {
		again, _ := readTree(yamlTree, string(text))
		require.Equal(t, string(d.formatJSON()), string(again.formatJSON()))
	}
}

func TestTreeIsSafeFromSmallTextsThatCostMuch(t *testing.T) {
	bomb := "name: a\nx0: &x0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 10), ","))
	}
	for name, c := range map[string]struct {
		format treeFormat
		text   string
		want   string
	}{
		"aliases of aliases":         {yamlTree, bomb, "Invalid 2:22 aliases make more than 10000 values here: write the values themselves"},
		"an alias of itself":         {yamlTree, "name: a\nx: &x [*x]\n", "Invalid 2:8 there are more than 100 mappings and lists in each other here: remove some of them"},
		"lists in lists":             {yamlTree, "x: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "Invalid 1:103 there are more than 100 mappings and lists in each other here: remove some of them"},
		"lists in lists in JSON":     {jsonTree, `{"x": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "Invalid 1:106 there are more than 100 mappings and lists in each other here: remove some of them"},
		"very many of them":          {jsonTree, `{"x": ` + strings.Repeat("[", 500_000), "Invalid 1:10006 this is not JSON: there are too many mappings and lists in each other here"},
		"very many of them in YAML":  {yamlTree, "x: " + strings.Repeat("[", 100_000), "Invalid 1:1 this is not YAML: exceeded max depth of 10000"},
		"a mebibyte of bad lines":    {yamlTree, "name: a\n" + strings.Repeat("\"\n", 1<<19), "Invalid 2:1 this is not YAML: could not find expected ':'"},
		"a mebibyte without a break": {jsonTree, `{"name": "` + strings.Repeat("a", 1<<20), "Invalid 1:1048587 this is not JSON: it ends in the middle: a quote or a bracket is not closed"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, got := readTree(c.format, c.text)
			require.Equal(t, []string{c.want}, got)
			require.Less(t, time.Since(start), 20*time.Second) // a fraction of a second; anything quadratic would take minutes
		})
	}
}

func TestAMebibyteOfValuesIsRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\"name\": \"a\"")
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, ",\n\"key%d\": %d", i, i)
	}
	b.WriteString("}")
	for _, format := range []treeFormat{jsonTree, yamlTree, yamlAsJSONTree} {
		_, got := readTree(format, b.String())
		require.Len(t, got, 100)
		require.Equal(t, `Unknown 2:1 unknown key "key0": the cloud-controller-manager ignores it; remove it or correct its name`, got[0])
	}
}

func TestTreeValuesAreSetAndDropped(t *testing.T) {
	d, got := readTree(yamlTree, "name: a\nserver: {address: b}\nlabels: {a: b}\n")
	require.Empty(t, got)
	d.set(newText("c"), "server", "address")
	d.set(newBool(true), "server", "verify")
	d.set(newInt(3), "zones", "z", "number")
	d.set(newList(newText("yes"), newText("a b")), "networks")
	d.set(newMap(), "anything")
	require.Equal(t, "labels", d.drop("labels").name)
	require.Nil(t, d.drop("labels"))
	require.Nil(t, d.drop("labels", "a"))
	require.Equal(t, "c", d.text("server", "address"))
	require.True(t, d.isTrue("server", "verify"))
	require.False(t, d.isTrue("server", "address"))
	require.Empty(t, d.text("server", "address", "nothing"))
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
`, string(d.formatYAML()))
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
`, "\n"), string(d.formatJSON()))
	requireSameMeaning(t, d)
}

func TestTreeReportsPlaceholders(t *testing.T) {
	var fs findings
	d := treeReader{format: yamlTree, fields: treeFields, input: diagnostic.Credentials, dataKey: "x"}.read(
		[]byte("name: aREVISION\nlabels: {NODE_NAME: [NODE_ENVVAR_NAME]}\nother: [x, REVISION]\n"), &fs)
	fs = nil
	d.checkPlaceholders()
	var places []string
	for _, f := range fs {
		places = append(places, fmt.Sprintf("%s %s %d:%d %s", f.Cause, f.Key, f.Line, f.Column, f.Message))
	}
	const message = " in it, which the installation on a node replaces in every file: write another value"
	require.Equal(t, []string{
		"Credentials x 1:7 this has the text REVISION" + message,
		"Credentials x 2:10 this has the text NODE_NAME" + message,
		"Credentials x 2:22 this has the text NODE_ENVVAR_NAME" + message,
		"Credentials x 3:12 this has the text REVISION" + message,
	}, places)
}

// TestPlainWordsMeanTheSameToTheProviders compares with the library that sigs.k8s.io/yaml reads YAML 1.1 with.
func TestPlainWordsMeanTheSameToTheProviders(t *testing.T) {
	for _, word := range []string{"a", "y", "Y", "yes", "Yes", "YES", "yEs", "on", "Off", "n", "NO", "true", "TRUE", "tRUE", "null", "Null", "~", "NULL",
		"0", "1", "-1", "+1", "010", "0o10", "08", "0x1f", "-0x1f", "0b11", "-0b11", "1_000", "1.5", ".5", "1.", "1e3", "+1.5e-3", "1_0.5", "1e", "+", ".", "..",
		"0x", "12:30:45", "2001-01-01", "1.2.3", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "9223372036854775808", "_1", "1__0", "0_7", "-.5", "+.5", "1e400"} {
		t.Run(word, func(t *testing.T) {
			var want map[string]any
			err := sigsyaml.Unmarshal([]byte("a: "+word+"\n"), &want, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d })
			require.NoError(t, err)
			kind, text := resolvePlain(word)
			switch value := want["a"].(type) {
			case nil:
				require.Equal(t, nullNode, kind)
			case string:
				require.Equal(t, []any{textNode, value}, []any{kind, text})
			case bool:
				require.Equal(t, []any{boolNode, fmt.Sprint(value)}, []any{kind, text})
			case json.Number:
				require.Contains(t, []treeKind{intNode, floatNode}, kind)
				ours, err := json.Number(text).Float64()
				require.NoError(t, err)
				theirs, err := value.Float64()
				require.NoError(t, err)
				require.InDelta(t, theirs, ours, 0)
			}
		})
	}
}
