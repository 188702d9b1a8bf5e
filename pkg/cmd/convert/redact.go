package convert

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline/document"
)

// secretNames are the ends of the names of values that nobody may see, in the spelling of any of the clouds, without dashes,
// underscores and dots.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "secretkey", "secretaccesskey", "apikey", "privatekey", "accesskey", "token",
	"tokenbody", "accesskeysecret", "secretdata", "saskey", "storagekey", "certpassword",
}

// switchNames are the beginnings of names that end like a secret's and say whether one is used.
var switchNames = []string{"use", "enable", "disable"}

// plainKeys are the ends of the names of keys of a credentials Secret whose values say where the cloud is and not how to log in.
var plainKeys = []string{"region", "resourcegroup", "resourceprefix", "tenantid", "subscriptionid", "clientid", "tokenfile"}

// shortestHidden is how long a value has to be to be hidden inside another one: a shorter one may be part of any word.
const shortestHidden = 8

// bare is a name in one spelling.
func bare(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(bare(name), end) })
}

// isSecret reports whether a name is called like that of a secret.
func isSecret(name string) bool {
	isSwitch := slices.ContainsFunc(switchNames, func(start string) bool { return strings.HasPrefix(bare(name), start) })
	return endsIn(name, secretNames) && !isSwitch
}

// redactor makes texts without secrets. A secret is a value of the credentials Secret, or one under a name that is called like a
// secret's, wherever its parser finds it.
type redactor struct {
	// names are the names of the known secrets by their value.
	names map[string]string
	// longest are the known secrets that are hidden inside other values too, the longest first: one may be part of another.
	longest []string
}

// newRedactor learns the secrets of the credentials Secret and of the configurations: what an alias or the conversion brings to
// another place is one there too.
func newRedactor(credentials map[string][]byte, configs ...[]byte) *redactor {
	r := &redactor{names: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		if endsIn(key, plainKeys) {
			continue
		}
		r.know(string(credentials[key]), key)
		r.learn(credentials[key])
	}
	for _, config := range configs {
		r.learn(config)
	}
	r.longest = slices.SortedFunc(maps.Keys(r.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	r.longest = slices.DeleteFunc(r.longest, func(secret string) bool { return len(secret) < shortestHidden })
	return r
}

// learn adds the secrets of a text. A word that says yes or no is a secret only under its own name.
func (r *redactor) learn(text []byte) {
	values, ok := document.Values(text)
	for _, v := range values {
		i := slices.IndexFunc(v.Names, isSecret)
		isSwitch := slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "~", "0", "1"}, strings.ToLower(v.Text))
		if ok && i >= 0 && !v.Key && !v.Comment && !isSwitch {
			r.know(v.Text, v.Names[i])
		}
	}
}

// know adds a secret, as it is and in base64, in which some providers want it.
func (r *redactor) know(secret, name string) {
	if secret = strings.TrimSpace(secret); secret != "" {
		r.names[secret] = cmp.Or(r.names[secret], name)
		r.names[base64.StdEncoding.EncodeToString([]byte(secret))] = r.names[secret]
	}
}

// hide returns the text without secrets and comments. A text that no parser can read is not shown at all.
func (r *redactor) hide(data []byte) string {
	if len(bytes.TrimSpace(data)) == 0 {
		return string(data)
	}
	values, ok := document.Values(data)
	if !ok {
		return fmt.Sprintf("<%d bytes that are not INI, JSON or YAML>\n", len(data))
	}
	var out strings.Builder
	at := 0
	for len(values) > 0 {
		// Aliases of YAML deliver one value to several places, each of which may make it a secret.
		same := 1
		for same < len(values) && values[same].Start == values[0].Start && values[same].End == values[0].End {
			same++
		}
		out.Write(data[at:values[0].Start])
		out.WriteString(r.shown(data, values[:same]))
		at = values[0].End
		values = values[same:]
	}
	out.Write(data[at:])
	return r.hideKnown(out.String())
}

// shown is what to show in the place of a value, which is listed once for each of its places.
func (r *redactor) shown(data []byte, places []document.Value) string {
	v := places[0]
	raw := string(data[v.Start:v.End])
	if v.Comment {
		return raw[:1] + " <comment>"
	}
	if name := r.nameOf(places); name != "" {
		return replacement(v, name)
	}
	text, masked := v.Text, raw
	for _, secret := range append(passwordsInURLs(v.Text), r.longest...) {
		if !strings.Contains(text, secret) {
			continue
		}
		name := cmp.Or(r.names[secret], "password")
		if !strings.Contains(masked, secret) {
			return replacement(v, name) // it is escaped: no part of the value can be shown
		}
		text = strings.ReplaceAll(text, secret, marker(name))
		masked = strings.ReplaceAll(masked, secret, marker(name))
	}
	return masked
}

// nameOf is the name of the secret that a value is; empty for any other value.
func (r *redactor) nameOf(places []document.Value) string {
	text := strings.TrimSpace(places[0].Text)
	if name := r.names[text]; name != "" || text == "" {
		return name
	}
	for _, v := range places {
		if i := slices.IndexFunc(v.Names, isSecret); i >= 0 && !v.Key {
			return v.Names[i]
		}
	}
	return ""
}

// replacement is the marker in the way in which the value is written.
func replacement(v document.Value, name string) string {
	if v.Break {
		return marker(name) + "\n"
	}
	return v.Quote + marker(name) + v.Quote
}

// marker is what stands in the place of a secret.
func marker(name string) string {
	return "<" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name) + ">"
}

// hideKnown hides the known secrets outside values too, such as in names.
func (r *redactor) hideKnown(text string) string {
	for _, secret := range r.longest {
		text = strings.ReplaceAll(text, secret, marker(r.names[secret]))
		if quoted, err := json.Marshal(secret); err == nil {
			text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), marker(r.names[secret]))
		}
	}
	return text
}

// passwordsInURLs are the passwords of the URLs in a value, of which there may be several.
func passwordsInURLs(text string) []string {
	var passwords []string
	for {
		_, rest, found := strings.Cut(text, "://")
		if !found {
			return passwords
		}
		text = rest
		if stop := strings.IndexAny(rest, " \t\r\n,\"'"); stop >= 0 {
			rest = rest[:stop]
		}
		at := strings.LastIndexByte(rest, '@')
		if at < 0 {
			continue
		}
		if _, password, hasPassword := strings.Cut(rest[:at], ":"); hasPassword && password != "" {
			passwords = append(passwords, password)
		}
	}
}
