package confdoc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAValueThatIsSecretByItsFormIsNotQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                               `"plain"`,
		"https://user:hunter2@example.com/a":  `"https://user:xxxxx@example.com/a"`,
		"https://example.com:5000/v3":         `"https://example.com:5000/v3"`,
		"https://hunter2@example.com/a":       hiddenValue,
		"https://a:b@example.com/?sig=hunter": hiddenValue,
		"https://example.com/a?sig=hunter2":   hiddenValue,
		"user:hunter2@example.com":            hiddenValue,
		"Bearer hunter2hunter2":               hiddenValue,
		"-----BEGIN PRIVATE KEY-----hunter2":  hiddenValue,
		"a=b,password=hunter2":                hiddenValue,
		"https://%zz@hunter2":                 "not a URL",
	} {
		require.Equal(t, want, Quoted(text), text)
	}
}
