package convert

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lazily compiles a pattern when it is needed first: every subcommand would wait for it otherwise.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	// secretKey is the name of a value of a cloud configuration that nobody may see, in the spelling of any of the clouds.
	secretKey = lazily(`(?i)(password|passwd|passphrase|secret|secret[-_]?key|api[-_]?key|private[-_]?key|access[-_]?key|token|access[-_]?key[-_]?secret)$`)

	// plainKey is the name of a key of a credentials Secret whose value tells where the cloud is and not how to enter it.
	plainKey = lazily(`(?i)(region|resource_?group|resource_prefix|tenant_id|subscription_id|client_id|token_file)$`)

	// jsonMember and line are a key with its value: several on a line of JSON, one on a line of INI or YAML.
	jsonMember = lazily(`("(?:[^"\\]|\\.)*"\s*:\s*)("(?:[^"\\]|\\.)*")`)
	line       = lazily(`(?m)^([ \t#;-]*["']?[\w.-]+["']?[ \t]*[=:][ \t]*)([^\s{\[|>][^\r\n]*)`)
)

// hidden is what stands in the place of a secret.
var hidden = lazily(`^<[\w.-]+>$`)

// switches are values that say nothing, under whatever key.
var switches = []string{"true", "false", "yes", "no", "on", "off", "null", "nil"}

// shortestHidden is how long a value has to be to be hidden wherever it stands: a shorter one may be part of any word.
const shortestHidden = 8

// redactor returns a function that makes a text without secrets. A secret is a value of the credentials Secret, or one under
// a key that is called like one.
func redactor(credentials map[string][]byte) func([]byte) string {
	names := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		if value := string(bytes.TrimSpace(credentials[key])); value != "" && !plainKey().MatchString(key) {
			names[value] = cmp.Or(names[value], key)
			// Some providers want it so.
			names[base64.StdEncoding.EncodeToString([]byte(value))] = names[value]
		}
	}
	return func(data []byte) string {
		text := replaceValues(jsonMember(), string(data), names)
		text = replaceValues(line(), text, names)
		// The longest first: one secret may be part of another.
		values := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
		})
		for _, value := range values {
			if len(value) >= shortestHidden {
				text = strings.ReplaceAll(text, value, "<"+names[value]+">")
				text = strings.ReplaceAll(text, inJSON(value), "<"+names[value]+">")
			}
		}
		return text
	}
}

// replaceValues replaces the values that pattern finds behind their keys.
func replaceValues(pattern *regexp.Regexp, text string, names map[string]string) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		parts := pattern.FindStringSubmatch(found)
		key := strings.Trim(parts[1], " \t\r\n=:\"'-#;")
		value, quote, rest := unquoted(parts[2])
		if hidden().MatchString(value) {
			return found
		}
		name := names[value]
		if name == "" && value != "" && secretKey().MatchString(key) && !slices.Contains(switches, strings.ToLower(value)) {
			name = key
		}
		if name == "" {
			return found
		}
		return parts[1] + quote + "<" + name + ">" + quote + rest
	})
}

// unquoted is a value without its quotes, its quote, and what follows it.
func unquoted(value string) (text, quote, rest string) {
	trimmed := strings.TrimRight(value, " \t,")
	rest = value[len(trimmed):]
	for _, quote := range []string{`"`, `'`} {
		if len(trimmed) > 1 && strings.HasPrefix(trimmed, quote) && strings.HasSuffix(trimmed, quote) {
			inner := trimmed[1 : len(trimmed)-1]
			if decoded := ""; quote == `"` && json.Unmarshal([]byte(trimmed), &decoded) == nil {
				inner = decoded
			}
			return inner, quote, rest
		}
	}
	return trimmed, "", rest
}

// inJSON is a value as JSON writes it between its quotes.
func inJSON(value string) string {
	quoted, err := json.Marshal(value)
	if err != nil {
		return value
	}
	return string(quoted[1 : len(quoted)-1])
}
