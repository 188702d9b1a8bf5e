package redaction

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "user-password": true, "userPassword": true, "user_token": true, "userpassword": true,
		"USER_PASSWORD": true, "passwords": true, "tokens": true, "apiKeys": true, "api-keys": true, "pass": true,
		"db_pass": true, "dbPass": true, "tls.key": true, "client-key-data": true, "clientKeyData": true,
		"clientkeydata": true, "password2": true, "passwordOld": true, "secretData": true, "tokenbody": true,
		"private_key_pem": true, "credentials": true, "sharedAccessKeys": true, "AccountKey": true, "authToken": true,
		"X-Auth-Token": true, ".dockerconfigjson": true, "application-credential-secret": true, "passwort": true,
		"aws_secret_access_key": true, "use-token": true, "signatures": true, "sas": true, "secrets": true,

		"secretName": false, "secret-namespace": false, "secretsDirectory": false, "token-url": false,
		"azure_federated_token_file": false, "region": false, "user": false, "bypass": false, "compass": false,
		"key": false, "key-file": false, "keyVersion": false, "address": false, "data": false, "": false, "s": false,
		"password-file": false, "spin": false, "design": false, "accessKeyID": false,
	} {
		require.Equal(t, want, IsSecretName(name), name)
	}
	for _, switchName := range []string{"use-token", "useToken", "usetoken", "enable_password", "disablePasswords"} {
		require.True(t, isSwitch(switchName, "yes"), switchName)
		require.False(t, isSwitch(switchName, "hunter2"), switchName)
	}
	for _, name := range []string{"user-password", "userPassword", "user_token", "userpassword", "used-tokens"} {
		require.False(t, isSwitch(name, "true"), name)
	}
}

func TestOnlyTheValuesOfKnownNamesAreShown(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"an unknown name in INI": {
			"[a]\nregion = one\nfrobnicate = hunter2\n", "[a]\nregion = one\nfrobnicate = <frobnicate>\n",
		},
		"an unknown name in JSON": {
			`{"region": "one", "frob": {"nicate": ["hunter2", 7]}}`,
			`{"region": "one", "frob": {"nicate": ["<nicate>", "<nicate>"]}}`,
		},
		"an unknown name in YAML": {"region: one\nfrob: hunter2\n", "region: one\nfrob: <frob>\n"},
		"a known name below one that the user chooses": {
			"vcenter:\n  mine:\n    server: one\n", "vcenter:\n  mine:\n    server: one\n",
		},
		"names that the user chooses": {
			"labels:\n  mine: one\n  password: two\n", "labels:\n  mine: one\n  password: <password>\n",
		},
		"a known name in another spelling": {"[a]\nSecretName = one\n", "[a]\nSecretName = one\n"},
		"a switch":                         {"[a]\nuse-token = yes\n", "[a]\nuse-token = yes\n"},
		"no switch": {
			"[a]\nuse-token = hunter2\nuser-token = no\n", "[a]\nuse-token = <use-token>\nuser-token = <user-token>\n",
		},
		"a line without an equals sign": {"[a]\nhunter2\nregion = one\n", "[a]\n<value>\nregion = one\n"},
		"one after an unknown name": {
			"[a]\nfrob = hunter2\n  region = hunter3\n", "[a]\nfrob = <frob>\n  <frob>\n",
		},
		"a word that is read as an anchor": {"region: &hunter2\n", "region: &a1\n"},
		"a word that is read as a tag":     {"region: !hunter2 one\n", "region: one\n"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, New(known, nil).File([]byte(test.text))) })
	}
}

// Each value is under a known name.
func TestValuesThatAreSecretByTheirForm(t *testing.T) {
	for name, value := range map[string]string{
		"a private key":             `-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----`,
		"a bearer token":            `Bearer hunter2hunter2`,
		"basic authentication":      `Authorization: basic aHVudGVyMg==hunter2`,
		"a token in a URL":          `https://hunter2@example.com/a`,
		"a password without scheme": `ccm:hunter2@example.com`,
		"a signature in a URL":      `https://example.com/a?sig=hunter2`,
		"a signature in a path":     `/a?se=1&sig=hunter2`,
		"a token in a fragment":     `https://example.com/a#access_token=hunter2`,
		"a web token":               `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjY20ifQ.hunter2`,
		"a connection string":       `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hunter2==`,
		"JSON":                      `{\"frob\": \"hunter2\"}`,
		"JSON in JSON":              `[{\"a\": \"{\\\"password\\\": \\\"hunter2\\\"}\"}]`,
		"a list in JSON":            `[\"{\\\"frob\\\": \\\"hunter2\\\"}\"]`,
		"YAML":                      `region: one\nfrob: hunter2`,
		"INI":                       `[a]\nfrob = hunter2`,
		"a pair":                    `user=ccm,password=hunter2`,
		"a token of Keystone":       `gAAAAABhunter2hunter2hunter2hunter2`,
		"a token of Google Cloud":   `ya29.hunter2hunter2hunter2`,
		"a session of AWS":          `IQoJhunter2hunter2hunter2hunter2`,
		"a header as Go prints it":  `map[X-Auth-Token:[hunter2]]`,
		"a field as Go prints it":   `{SecretAccessKey:hunter2}`,
	} {
		for format, text := range map[string]string{
			"JSON": `{"region": "` + value + `", "b": "kept"}`,
			"YAML": "region: \"" + value + "\"\nb: kept\n",
			"INI":  "[a]\nregion = \"" + value + "\"\nb = kept\n",
		} {
			t.Run(name+" in "+format, func(t *testing.T) {
				redacted := New(known, nil).File([]byte(text))
				require.NotContains(t, redacted, "hunter2")
				require.Contains(t, redacted, "kept")
				require.Contains(t, redacted, "<region>")
			})
		}
	}
}

func TestOrdinaryValuesAreShown(t *testing.T) {
	const certificate = "-----BEGIN CERTIFICATE-----\nMIIBxPW==\nAbCdPin=\n-----END CERTIFICATE-----\n"
	for _, value := range []string{
		"https://keystone.example.com:5000/v3", "10.0.0.0/16", "fd00::1", "a=b,c=d", "role notin (master)",
		"arn:aws:iam::1:role/x", "https://a.example.com/b?", "/etc/x.pem", "a b", "x", "true", "5s", `["a", "b"]`,
		"projects/p/zones/z", "subscriptions/1/resourceGroups/r", "a@b.example.com", certificate,
	} {
		r := New(known, nil)
		require.False(t, r.looksSecret(value, 0), value)
	}
}
