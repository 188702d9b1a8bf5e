package redaction

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const canary = "c4n4ry"

// FuzzNoValueIsShown proves that a file shows its keys, and no value whose name is not known.
func FuzzNoValueIsShown(f *testing.F) {
	for _, seed := range []string{
		"[a]\nfoo = c4n4ry ; c4n4ry\n  bar\n", `{"a": {"foo": ["c4n4ry", 1, null]}}`, "a: &c4n4ry |\n  c4n4ry\nb: *c4n4ry\n",
		"a: !c4n4ry b\n--- \n- [c4n4ry, {? c : c4n4ry}]\n", "[a]\nc4n4ry\n", "a: \"c\\x34n4ry\" # c4n4ry\n", "{a: c4n4ry}",
		"[a \"b\"]\nfoo = \"c4n4ry\\n\"\\\nc4n4ry\n", "%TAG !c4n4ry! tag:c4n4ry,2000:\n---\na: b\n", "# c4n4ry\n[a]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, documents, ok := valuesOf(text)
		rest := string(text)
		if !ok {
			rest = ""
		}
		for i := len(values) - 1; i >= 0 && documents == nil && ok; i-- {
			if v := values[i]; !v.isKey {
				rest = rest[:v.start] + rest[v.end:]
			}
		}
		if documents != nil {
			rest = ""
			for _, v := range values {
				if v.isKey {
					rest += v.text
				}
			}
		}
		for key := range strings.SplitSeq(rest, "\n") {
			if strings.Contains(key, canary) {
				return // a key is shown
			}
		}
		require.NotContains(t, New(nil, nil, text).File(text), canary)
	})
}

// FuzzASecretIsShownNowhere proves that a secret that is known by its name or as a credential is not in the output,
// wherever else it is and however it is written.
func FuzzASecretIsShownNowhere(f *testing.F) {
	f.Add("password", "c4n4ry-of-a-coal-mine", "region", "see ", " there")
	f.Add("client-key-data", "c4n4ry \"quoted\"\\", "url", "https://", "@example.com/a")
	f.Add("tokens", "&c4n4ry*<>%2F", "a", "{\"a\": \"", "\"}")
	f.Add("apiKey", "c4n4ry\n\ttwo lines", "b", "|\n  ", "\n")
	f.Fuzz(func(t *testing.T, name, secret, other, before, after string) {
		secret = strings.TrimSpace(secret)
		// JSON and YAML replace what is not UTF-8.
		if !utf8.ValidString(strings.Join([]string{secret, name, other, before, after}, " ")) || !IsSecretName(name) ||
			len(secret) < minEmbedded ||
			!strings.Contains(secret, canary) ||
			strings.Contains(name+other, canary) {
			return
		}
		content := map[string]any{name: secret, other: before + secret + after, "list": []string{before + secret, secret}}
		asJSON, err := json.Marshal(content)
		require.NoError(t, err)
		asYAML, err := yaml.Marshal(content)
		require.NoError(t, err)
		for _, text := range [][]byte{asJSON, asYAML} {
			r := New([]string{other, "list", name}, nil, text)
			redacted := r.File(text)
			for _, spelling := range spellings(secret) {
				require.NotContains(t, redacted, spelling)
			}
			// The YAML library cannot read everything that it writes.
			if _, _, ok := valuesOf(text); ok {
				require.NotContains(t, r.Line(before+secret+after), secret)
			}
		}
		r := New([]string{other, "list"}, map[string][]byte{name: []byte(secret)})
		for _, spelling := range spellings(secret) {
			require.NotContains(t, r.Line(before+spelling+after), spelling)
		}
	})
}
