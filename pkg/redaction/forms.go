package redaction

import (
	"regexp"
	"strings"
	"sync"
)

// forms match values that are secret by their form, whatever their name: the user information and the parameters of a
// URL, HTTP's credentials, a JSON web token, a private key.
var forms = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)PRIVATE KEY`),
		regexp.MustCompile(`(?i)\b(?:bearer|basic|digest|negotiate|apikey|token)[ \t]+[^\s,;]{6,}`),
		regexp.MustCompile(`eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_.-]+`),
		regexp.MustCompile(`[^\s/@:]*:[^\s/@]+@[\w.-]+`),           // user:password@host
		regexp.MustCompile(`://[^\s/@:"'<]+@`),                     // https://token@host
		regexp.MustCompile(`[a-zA-Z]://[^\s"']*[?#;][^\s"'=]+=\S`), // https://host?sig=signature
		regexp.MustCompile(`[?&](?i:sig|signature|code|key|[\w.-]*(?:token|secret|password))=.`),
	}
})

// pair matches NAME=VALUE and NAME: VALUE inside a value.
var pair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["']?([\w.-]+)["']?[ \t]*[:=][ \t]*[^\s=]`)
})

// LooksSecret reports whether a text is secret by its form: it contains a login, a key, or a name with a secret.
func LooksSecret(text string) bool {
	if len(text) < 4 {
		return false
	}
	for _, form := range forms() {
		if form.MatchString(text) {
			return true
		}
	}
	for _, found := range pair().FindAllStringSubmatchIndex(text, -1) {
		if rest := text[found[1]-1:]; IsSecretName(text[found[2]:found[3]]) && !strings.HasPrefix(rest, "<") {
			return true
		}
	}
	return false
}

// documentIn returns the values of a document inside a value: JSON, or YAML or INI on more than one line. ok is false
// for any other value.
func documentIn(text string) (values []value, ok bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.ContainsAny(trimmed, "\n") && !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	values, _, ok = valuesOf([]byte(text))
	return values, ok
}
