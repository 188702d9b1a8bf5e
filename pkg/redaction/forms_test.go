package redaction

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoginsAreReplacedInEveryString(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"no URL":                          {"mail me@example.com", "mail me@example.com"},
		"a URL without a user":            {"http://proxy:3128/a", "http://proxy:3128/a"},
		"a password with an at sign":      {"http://u:p@q@proxy", "http://<redacted>@proxy"},
		"a password that is no valid URL": {`"http://u:p/ \"q\"@proxy"`, `"http://<redacted>@proxy"`},
		"a password that JSON escapes":    {`"http://u:\u0026p@proxy"`, `"http://<redacted>@proxy"`},
		"every string by itself":          {`"http://u:p@a" "b@c" "http://d"`, `"http://<redacted>@a" "b@c" "http://d"`},
		"every line by itself":            {"- http://u:p@a\n+ http://u:q@b", "- http://<redacted>@a\n+ http://<redacted>@b"},
		"a password without a scheme":     {`"HTTP_PROXY":"u:p@q@proxy:3128"`, `"HTTP_PROXY":"<redacted>@proxy:3128"`},
		"one in plain text":               {"changed to u:p@proxy:3128 now", "changed to <redacted>@proxy:3128 now"},
		"one that JSON escapes":           {`"u:\u0026 \"p@proxy"`, `"<redacted>@proxy"`},
		"the digest of an image":          {`"quay.io/a:b@sha256:12"`, `"quay.io/a:b@sha256:12"`},
		"rather too much than too little": {"http://a then u:p@b", "http://<redacted>@b"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, Logins(tc.message)) })
	}
}

func TestATextOfSeveralLinesHasNoSecretInAnyOfThem(t *testing.T) {
	r := ForText([]Named{{"password", []byte("correct-horse")}, {"cert", []byte("first line\nsecond line")}})
	for text, want := range map[string]string{
		"says correct-horse\nrect-horse, again":    "says <password>\n<password>, again",
		"a: first line\nsecond line: b":            "a: <cert>: b",
		"password=other\nAuthorization: Bearer a":  "password=<redacted>\nAuthorization: Bearer <redacted>",
		"password:\n  getting the secret: refused": "password:\n  getting the secret: refused",
	} {
		require.Equal(t, want, r.Text(text))
	}
	require.Equal(t, "correct-horse", ForText(nil).Text("correct-horse"))
}
