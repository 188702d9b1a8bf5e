package redaction

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// known are the names whose values are shown unless something else makes them secret.
var known = []string{"a", "b", "c", "d", "k", "x", "y", "url", "location", "region", "secretName", "secret-namespace",
	"token-url", "use-token", "secretsDirectory", "password", "passwd", "server", "data", "labels.*"}

func TestSecretsAreHidden(t *testing.T) {
	credentials := map[string][]byte{
		"azure_client_secret": []byte("correct-horse\n"),
		"azure_region":        []byte("westeurope"),
		"password":            []byte("abc"),
		"quoted":              []byte(`battery "staple`),
		"empty":               nil,
		"longer":              []byte("correct-horse-battery"),
		"clouds.yaml":         []byte("clouds: {openstack: {auth: {password: from-clouds-yaml, username: u}}}"),
	}
	for name, test := range map[string]struct{ text, want string }{
		"in JSON": {
			`{"aadClientSecret": "correct-horse", "location": "westeurope"}`,
			`{"aadClientSecret": "<azure_client_secret>", "location": "westeurope"}`,
		},
		"in base64": {
			"accessKeySecret: Y29ycmVjdC1ob3JzZQ==\n", "accessKeySecret: <azure_client_secret>\n",
		},
		"in JSON on several lines": {
			"{\n  \"aadClientSecret\": \"correct-horse\"\n}", "{\n  \"aadClientSecret\": \"<azure_client_secret>\"\n}",
		},
		"in JSON, escaped":             {`{"x": "battery \"staple"}`, `{"x": "<quoted>"}`},
		"in JSON, with another escape": {`{"x": "see correct\u002dhorse"}`, `{"x": "<azure_client_secret>"}`},
		"in JSON under an escaped key": {`{"pass\u0077ord": "s3cr3t", "a": 1}`, `{"pass\u0077ord": "<password>", "a": 1}`},
		"in JSON, a number":            {`{"password": 12345}`, `{"password": "<password>"}`},
		"in JSON, a list and a mapping": {
			`{"password": ["a", {"b": "c"}], "d": "e"}`, `{"password": ["<password>", {"b": "<password>"}], "d": "e"}`,
		},
		"in JSON on one line": {
			`{"a":"abc","b":"abcd","password":"other"}`, `{"a":"<password>","b":"abcd","password":"<password>"}`,
		},
		"in JSON with a byte order mark": {"\ufeff{\"password\": \"a\"}", "{\"password\": \"<password>\"}\n"},
		"in INI": {
			"[Global]\nsecret-name = abcd\npassword = \"user's own\"\n",
			"[Global]\nsecret-name = abcd\npassword = \"<password>\"\n",
		},
		"in INI without blanks":        {"[a]\ntrustee-password=a b\n", "[a]\ntrustee-password=<trustee-password>\n"},
		"in INI behind a bracket":      {"[a]\npassword = [x\nregion = b\n", "[a]\npassword = <password>\nregion = b\n"},
		"in INI behind a brace":        {"[a]\npassword = {x} y\n", "[a]\npassword = <password>\n"},
		"in INI behind a greater sign": {"[a]\npassword = >x\n", "[a]\npassword = <password>\n"},
		"in INI behind a bar":          {"[a]\npassword = |x\n", "[a]\npassword = <password>\n"},
		"in INI before a comment":      {"[a]\npassword = x ; y\n", "[a]\npassword = <password> ; <comment>\n"},
		"in INI, continued": {
			"[a]\npassword = one\\\n two\nregion = b\n", "[a]\npassword = <password>\nregion = b\n",
		},
		"in INI, broken off": {
			"[a]\npassword = one\ntwo\nregion = b\n", "[a]\npassword = <password>\n<password>\nregion = b\n",
		},
		"in INI, broken off and indented": {"[a]\npassword = one\n  two = x\n  three\nregion = b\n[b]\n  c = d\n",
			"[a]\npassword = <password>\n  <password>\n  <password>\nregion = b\n[b]\n  c = d\n"},
		"in a comment of INI": {"# password = old\n[a]\n;api-key = old\n", "# <comment>\n[a]\n; <comment>\n"},
		"in YAML": {
			"vcenter:\n  - password: 'it''s'\n    secretName: abcd\n",
			"vcenter:\n  - password: '<password>'\n    secretName: abcd\n",
		},
		"in a literal block of YAML": {
			"a:\n  password: |\n    one\n\n    two\n  b: c\n", "a:\n  password: <password>\n  b: c\n",
		},
		"in a folded block of YAML": {
			"password: >-  # ours\n  one\n  two\nb: c\n", "password: <password> # <comment>\nb: c\n",
		},
		"in a block with its indent": {"password: |2\n    one\n  two\nb: c\n", "password: <password>\nb: c\n"},
		"in a block at the end":      {"b: c\npassword: |+\n  one\n\n", "b: c\npassword: <password>\n"},
		"in YAML on several lines":   {"password: one\n  two\nb: \"c\n  d\"\n", "password: <password>\nb: \"c d\"\n"},
		"in quotes on several lines": {"password: \"one\n  two\\\n  three\"\nb: c\n", "password: \"<password>\"\nb: c\n"},
		"in a flow of YAML": {
			"{a: {password: [x, 'y'], b: c}}\n", "{a: {password: [<password>, '<password>'], b: c}}\n",
		},
		"under an escaped key of YAML": {"\"pass\\x77ord\": x\n", "\"password\": <password>\n"},
		"under a key on another line": {
			"? password\n: x\n? - a\n  - b\n: c\n", "password: <password>\n? - <value>\n  - <value>\n: <value>\n",
		},
		"behind an anchor": {"x: &p hidden\npassword: *p\n", "x: &a1 <password>\npassword: *a1\n"},
		"behind a merge": {
			"x: &p\n  password: hidden\ny:\n  <<: *p\n", "x: &a1\n  password: <password>\ny:\n  <<: *a1\n",
		},
		"behind a tag": {"password: !!str 5\n", "password: !!str <password>\n"},
		"in a comment of YAML": {
			"# password: |\n#   old\na: 'b # c' # password: old\nd: e#f\n",
			"# <comment>\n# <comment>\na: 'b # c' # <comment>\nd: e#f\n",
		},
		"behind several anchors": {
			"x: &p hidden\ny: [*p, *p]\npasswords: {password: *p}\n",
			"x: &a1 <passwords>\ny: [*a1, *a1]\npasswords: {password: *a1}\n",
		},
		"beside other kinds of values": {
			"a: 5\nb: '5'\nc: \"true\"\nd: |\n  e\npassword: 5\n",
			"a: 5\nb: '5'\nc: \"true\"\nd: |\n  e\npassword: <password>\n",
		},
		"in a literal block in part": {"a: |\n  b\n  correct-horse c\n", "a: |\n  b\n  <azure_client_secret> c\n"},
		"in YAML, escaped":           {"x: \"see correct\\x2dhorse\"\n", "x: \"see <azure_client_secret>\"\n"},
		"in a deeper layout of YAML": {
			"a:\n    - b:   c\n      password: x\n", "a:\n  - b: c\n    password: <password>\n",
		},
		"under an alias":       {"x: &p password\n*p : y\n", "x: &a1 password\n*a1: <password>\n"},
		"in a second document": {"a: b\n---\npassword: x\n", "a: b\n---\npassword: <password>\n"},
		"in a file from Windows": {
			"[a]\r\npassword = x\r\nregion = one\r\n", "[a]\r\npassword = <password>\r\nregion = one\r\n",
		},
		"a short one in another text": {"[a]\nregion = abcdef\n", "[a]\nregion = abcdef\n"},
		"a long one in another text": {
			"[a]\nurl = https://u:correct-horse@example.com\n", "[a]\nurl = https://u:<azure_client_secret>@example.com\n",
		},
		"an unknown one in a URL": {
			"[a]\nurl = https://u:s3cr3t@example.com, http://v:p@w@b.com/x\n",
			"[a]\nurl = https://u:<password>@example.com, http://v:<password>@b.com/x\n",
		},
		"one that begins with another":  {"[a]\nurl = correct-horse-battery\n", "[a]\nurl = <longer>\n"},
		"one in a file of the Secret":   {"[a]\nregion = from-clouds-yaml\n", "[a]\nregion = <password>\n"},
		"one as a name":                 {"[correct-horse]\na = b\n", "[<azure_client_secret>]\na = b\n"},
		"an empty value is none":        {"[a]\npassword =\nregion = one\n", "[a]\npassword =\nregion = one\n"},
		"null is none":                  {"password:\npasswd: null\n", "password:\npasswd: <passwd>\n"},
		"a word that could be a switch": {"[a]\npassword = true\n", "[a]\npassword = <password>\n"},
		"a name that is none": {
			"[a]\nsecret-namespace = kube-system\ntoken-url = nil\nuse-token = yes\nsecretsDirectory = /etc\n",
			"[a]\nsecret-namespace = kube-system\ntoken-url = nil\nuse-token = yes\nsecretsDirectory = /etc\n",
		},
		"an unknown format":  {"password = s3cr3t\n", "<18 bytes that are neither INI, JSON nor YAML>\n"},
		"plain text":         {"s3cr3t and more\n", "<16 bytes that are neither INI, JSON nor YAML>\n"},
		"an alias of itself": {"a: &a [*a]\n", "<11 bytes that are neither INI, JSON nor YAML>\n"},
		"nothing":            {" \n", " \n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, New(known, credentials).File([]byte(test.text)))
		})
	}
}
