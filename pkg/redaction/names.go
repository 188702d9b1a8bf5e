package redaction

import (
	"slices"
	"strings"
	"unicode"
)

var (
	// secretNames are the ends of the names of secret values in any cloud, in normalized form.
	secretNames = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "credential", "token", "bearer", "cookie",
		"apikey", "privatekey", "accesskey", "secretkey", "tlskey", "sslkey", "sshkey", "clientkey", "serverkey",
		"rsakey", "ecdsakey", "saskey", "storagekey", "accountkey", "sharedkey", "masterkey", "signingkey", "authkey",
		"encryptionkey", "subscriptionkey", "hmackey", "deploykey", "licensekey", "connectionstring", "signature",
		"authorization", "dockerconfigjson", "kubeconfig", "sasurl", "sasuri",
	}

	// secretWords are last words of such names that are too short to look for them inside a word.
	secretWords = []string{"pass", "pwd", "pw", "pin", "otp", "psk", "sas", "sig", "jwt", "cred", "totp", "passwort"}

	// contents are ends of names that say in which form the value is, not what it is.
	contents = []string{
		"data", "value", "text", "content", "body", "base64", "b64", "pem", "string", "raw", "plain", "encoded",
		"plaintext", "json", "yaml", "old", "new",
	}

	// switchWords are the first words of names that end like a secret's but are booleans.
	switchWords = []string{"use", "enable", "disable"}

	// switchValues are the values of switches in any format.
	switchValues = []string{"true", "false", "yes", "no", "on", "off", "null", "~", "0", "1"}

	// plainKeys are the ends of keys in a credentials Secret whose values are not secret.
	plainKeys = []string{
		"region",
		"resourcegroup",
		"resourceprefix",
		"tenantid",
		"subscriptionid",
		"clientid",
		"tokenfile",
	}

	// plainNames are the ends of such keys that convert replaces and messages quote.
	plainNames = []string{
		"user", "username", "userid", "name", "server", "host", "url", "endpoint", "address", "project",
	}
)

// words returns the words of a name in lower case. A word starts after a character that is neither a letter nor a
// digit, and with an upper-case letter after a lower-case one. Digits belong to no word.
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

// IsSecretName reports whether a name is the name of a secret, in the singular or plural and with whatever says in
// which form the value is: apiKeys, client-key-data, password2.
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

// IsPlainName reports whether a key of a credentials Secret is the name of a user, a place or an address. A message in
// which it is replaced would not say who cannot log in where.
func IsPlainName(key string) bool {
	return !IsSecretName(key) && (endsIn(key, plainKeys) || endsIn(key, plainNames))
}

// isSwitch reports whether a value is a boolean whose name only ends like a secret's: use-token.
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
