package convert

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsAreHidden(t *testing.T) {
	credentials := map[string][]byte{
		"azure_client_secret": []byte("correct-horse\n"),
		"azure_region":        []byte("westeurope"),
		"password":            []byte("abc"),
		"quoted":              []byte(`battery "staple`),
		"empty":               nil,
		"longer":              []byte("correct-horse-battery"),
	}
	for name, test := range map[string]struct{ text, want string }{
		"in JSON":                            {`{"aadClientSecret": "correct-horse", "location": "westeurope"}`, `{"aadClientSecret": "<azure_client_secret>", "location": "westeurope"}`},
		"in base64":                          {"accessKeySecret: Y29ycmVjdC1ob3JzZQ==\n", "accessKeySecret: <azure_client_secret>\n"},
		"in JSON on several lines":           {"{\n  \"aadClientSecret\": \"correct-horse\",\n}", "{\n  \"aadClientSecret\": \"<azure_client_secret>\",\n}"},
		"in JSON, escaped":                   {`{"x": "battery \"staple"}`, `{"x": "<quoted>"}`},
		"in JSON on one line":                {`{"a":"abc","b":"abcd","password":"other"}`, `{"a":"<password>","b":"abcd","password":"<password>"}`},
		"in INI":                             {"[Global]\nsecret-name = abcd\npassword = \"user's own\"\n", "[Global]\nsecret-name = abcd\npassword = \"<password>\"\n"},
		"in INI without blanks":              {"trustee-password=a b\n", "trustee-password=<trustee-password>\n"},
		"in a comment of INI":                {"# password = old\n;api-key = old\n", "# password = <password>\n;api-key = <api-key>\n"},
		"in YAML":                            {"vcenter:\n  - password: 'it'\n    secretName: abcd\n", "vcenter:\n  - password: '<password>'\n    secretName: abcd\n"},
		"in a file from Windows":             {"password = x\r\nregion = one\r\n", "password = <password>\r\nregion = one\r\n"},
		"a short one within other text":      {"region = abcdef\n", "region = abcdef\n"},
		"a long one within other text":       {"url = https://u:correct-horse@example.com\n", "url = https://u:<azure_client_secret>@example.com\n"},
		"one that begins with another":       {"url = correct-horse-battery\n", "url = <longer>\n"},
		"an empty value is none":             {"password =\nregion = one\n", "password =\nregion = one\n"},
		"a name that only looks like secret": {"secret-namespace = kube-system\ntoken-url = nil\nuse-token = yes\nsecretsDirectory: /etc\n", "secret-namespace = kube-system\ntoken-url = nil\nuse-token = yes\nsecretsDirectory: /etc\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, redactor(credentials)([]byte(test.text)))
		})
	}
}
