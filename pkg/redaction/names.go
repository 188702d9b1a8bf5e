package redaction

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

var (
	// secretNames are the ends of normalized names of secret values in any cloud.
	secretNames = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "credential", "token", "bearer", "cookie",
		"apikey", "privatekey", "accesskey", "secretkey", "tlskey", "sslkey", "sshkey", "clientkey", "serverkey",
		"rsakey", "ecdsakey", "saskey", "storagekey", "accountkey", "sharedkey", "masterkey", "signingkey", "authkey",
		"encryptionkey", "subscriptionkey", "hmackey", "deploykey", "licensekey", "connectionstring", "signature",
		"authorization", "dockerconfigjson", "kubeconfig", "sasurl", "sasuri",
	}

	// secretWords are last words of such names that are too short to be searched within a word.
	secretWords = []string{"pass", "pwd", "pw", "pin", "otp", "psk", "sas", "sig", "jwt", "cred", "totp", "passwort"}

	// contents are ends of names that describe the form of the value, not the value.
	contents = []string{
		"data", "value", "text", "content", "body", "base64", "b64", "pem", "string", "raw", "plain", "encoded",
		"plaintext", "json", "yaml", "old", "new",
	}

	// switchWords are the first words of booleans whose names end like that of a secret.
	switchWords = []string{"use", "enable", "disable"}

	// switchValues are the values of booleans in any format.
	switchValues = []string{"true", "false", "yes", "no", "on", "off", "null", "~", "0", "1"}

	// plainKeys are the ends of keys in a credentials Secret whose values are not secret.
	plainKeys = []string{
		"region", "resourcegroup", "resourceprefix", "tenantid", "subscriptionid", "clientid", "tokenfile",
	}

	// plainNames are the ends of such keys whose values convert replaces but messages quote.
	plainNames = []string{
		"user", "username", "userid", "name", "server", "host", "url", "endpoint", "address", "project",
	}
)

// words splits a name into words in lower case. A word starts after a character that is neither a letter nor a digit,
// and with an upper-case letter after a lower-case one. Digits are dropped.
func words(name string) []string {
	var split strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			split.WriteByte(' ')
		}
		before = r
		if !unicode.IsLetter(r) {
			r = ' '
		}
		split.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(split.String())
}

func normalize(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(normalize(name), end) })
}

// IsSecretName reports whether a name is that of a secret, in the singular or plural, and followed by any description
// of the value's form: apiKeys, client-key-data, password2.
func IsSecretName(name string) bool {
	all := words(name)
	for len(all) > 0 {
		last := all[len(all)-1]
		whole := strings.Join(all, "")
		for _, spelling := range []string{whole, strings.TrimSuffix(whole, "s"), strings.TrimSuffix(whole, "es")} {
			if endsIn(spelling, secretNames) {
				return true
			}
		}
		if slices.Contains(secretWords, last) || slices.Contains(secretWords, strings.TrimSuffix(last, "s")) {
			return true
		}
		end := slices.IndexFunc(contents, func(end string) bool { return strings.HasSuffix(last, end) })
		if end < 0 {
			return false
		}
		if last = strings.TrimSuffix(last, contents[end]); last == "" {
			all = all[:len(all)-1]
		} else {
			all[len(all)-1] = last
		}
	}
	return false
}

// IsPlainName reports whether a key of a credentials Secret names a user, a place or an address. A message without that
// value would not say who cannot log in where.
func IsPlainName(key string) bool {
	return !IsSecretName(key) && (endsIn(key, plainKeys) || endsIn(key, plainNames))
}

// isSwitch reports whether a value is a boolean whose name only ends like a secret's, for example use-token.
func isSwitch(name, text string) bool {
	if !slices.Contains(switchValues, strings.ToLower(strings.TrimSpace(text))) {
		return false
	}
	all := words(name)
	return len(all) > 0 && slices.ContainsFunc(switchWords, func(word string) bool {
		rest, isSwitch := strings.CutPrefix(all[0], word)
		return isSwitch && (rest == "" || slices.Contains(secretNames, rest))
	})
}

// redacted replaces a secret without a name.
const redacted = "<redacted>"

// forms match secrets in any text, by a name before them or by their form. The first two groups of a match stay.
var forms = sync.OnceValue(func() []*regexp.Regexp {
	const (
		space, base64 = `(?:\s|\\+[nr])*`, `[A-Za-z0-9+/=]`
		blank         = `[ \t\r\f]*`
		key           = `[\w.-]*(?:password|passwd|passphrase|secret|token|credentials?|signature|` +
			`api[-_]?key|access[-_]?key|private[-_]?key)[\w-]*`
		value = `(?:\\?"(?:[^"\\\n]|\\[^"\n])*\\?"|'[^'\n]*'|[^\s,;&"'\\)\]}]+)`
	)
	return []*regexp.Regexp{
		// A private key has several lines, and may be cut.
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:` + space + base64 + `{20,})*(?:` + space + base64 +
			`*` + space + `-----END [A-Z ]*PRIVATE KEY-----)?`),
		// The user information of a URL, up to the last @ before its path.
		regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/"'\\]*(@)`),
		regexp.MustCompile(`((?i:` + key + `)\\?["']?` + blank + `=` + blank + `)` + value),
		// With a colon, only a quoted key or a password marks a secret: "getting the secret: not found" contains none.
		regexp.MustCompile(`((?i:\\?["']` + key + `\\?["']|passw(?:or)?d|passphrase)` + blank + `:` + blank + `)` + value),
		regexp.MustCompile(`((?i:\b(?:bearer|basic)) +)[A-Za-z0-9._~+/=-]{8,}`),
		regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_.-]+`),
		// HTTP headers, also as Go prints them: X-Auth-Token:[value]. Then fields of the SDKs' structs, and short names.
		regexp.MustCompile(`((?i:\bx-[a-z-]*token|authorization|\bcookie|vmware-api-session-id)\\?["']?` + blank + `:` +
			blank + `\[?(?i:(?:bearer|basic|digest|negotiate|token) +)?)` + value),
		regexp.MustCompile(`((?:Secret(?:AccessKey|Key)?|(?:Session|Security|Access|Refresh|Auth)Token|ClientSecret|` +
			`AccessKeySecret|A[Pp][Ii]Key|TokenID):)` + value),
		regexp.MustCompile(`((?i:\b(?:pwd|sig|vmware_soap_session))=)` + value),
		// Tokens by their form: Keystone, Google Cloud, DigitalOcean, AWS.
		regexp.MustCompile(`()\b(?:gAAAAA[A-Za-z0-9_=-]{20,}|ya29\.[A-Za-z0-9_-]{10,}|do[opr]_v1_[0-9a-f]{16,}|` +
			`(?:IQoJ|FwoG)[A-Za-z0-9+/=]{20,})`),
	}
})

// Text returns a text without the secrets that their form or their name reveals: those of a proxy, of a session, or of
// a configuration that the operator does not have.
func Text(text string) string {
	for _, form := range forms() {
		text = form.ReplaceAllString(text, "${1}"+redacted+"${2}")
	}
	return text
}

var (
	// userinfo is everything between the scheme of a URL and the last @ in its string. It may match more than a user name
	// and a password, but never less: the text between them need not be valid. A quoted string, by %q or as JSON, ends at
	// a quote without a backslash; any other string ends with its line.
	userinfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://(?:[^"\\\n]|\\.)*@`) })

	// login is the same without a scheme, as a proxy may be written: from the start of a string or word, with a colon
	// before the @. The digest of an image looks similar.
	login = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"(?:[^"\\\n:]|\\.)+:(?:[^"\\\n]|\\.)*@(?:sha256:)?|[^\s"@:]+:[^\s"]+@(?:sha256:)?`)
	})
)

// Logins returns a text without user names and passwords before a host, for a log and for library-go's messages about a
// configuration. Unlike Text, it does not keep a URL's path that contains an @.
func Logins(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	text = userinfo().ReplaceAllString(text, "://"+redacted+"@")
	return login().ReplaceAllStringFunc(text, func(found string) string {
		switch {
		case strings.HasSuffix(found, "://"+redacted+"@"), strings.HasSuffix(found, "sha256:"):
			return found
		case found[0] == '"':
			return `"` + redacted + "@"
		}
		return redacted + "@"
	})
}

// valueForms match what is secret as a value of a file but may be harmless in a sentence: HTTP credentials, a login,
// the parameters of a URL, a part of a private key.
var valueForms = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)PRIVATE KEY`),
		regexp.MustCompile(`(?i)\b(?:bearer|basic|digest|negotiate|apikey|token)[ \t]+[^\s,;]{6,}`),
		regexp.MustCompile(`[^\s/@:]*:[^\s/@]+@[\w.-]+`),           // user:password@host
		regexp.MustCompile(`://[^\s/@:"'<]+@`),                     // https://token@host
		regexp.MustCompile(`[a-zA-Z]://[^\s"']*[?#;][^\s"'=]+=\S`), // https://host?sig=signature
		regexp.MustCompile(`[?&](?i:sig|signature|code|key|[\w.-]*(?:token|secret|password))=.`),
	}
})

var pair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["']?([\w.-]+)["']?[ \t]*[:=][ \t]*[^\s=]`)
})

// LooksSecret reports whether a text has a secret form: it contains a login, a key, or a secret's name with a value.
func LooksSecret(text string) bool {
	if len(text) < 4 {
		return false
	}
	hasForm := func(form *regexp.Regexp) bool { return form.MatchString(text) }
	if Text(text) != text || slices.ContainsFunc(valueForms(), hasForm) {
		return true
	}
	return slices.ContainsFunc(pair().FindAllStringSubmatchIndex(text, -1), func(found []int) bool {
		return IsSecretName(text[found[2]:found[3]]) && !strings.HasPrefix(text[found[1]-1:], "<")
	})
}

// documentIn returns the values of a document in a value: JSON, or YAML or INI of several lines. ok is false otherwise.
func documentIn(text string) (values []value, ok bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.ContainsAny(trimmed, "\n") && !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	values, _, ok = valuesOf([]byte(text))
	return values, ok
}
