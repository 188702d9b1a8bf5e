package confdoc

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// A suspicious value contains something unintended: quotes that the format does not know, an invisible character, or a
// placeholder from documentation.

// quotes are pairs of characters that look like quotes. The value is true if only INI takes them literally.
var quotes = map[[2]rune]bool{
	{'“', '”'}: false, {'”', '”'}: false, {'„', '“'}: false, {'‘', '’'}: false, {'’', '’'}: false, {'«', '»'}: false,
	{'\'', '\''}: true, {'`', '`'}: true,
}

var placeholder = regexp.MustCompile(`^(<[A-Za-z][^<>]*>|\$[A-Za-z_]\w*|\$\{[^{}]*\}|\{\{[^{}]*\}\})$`)

var callout = regexp.MustCompile(`<\d{1,2}>$`)

// IsPlaceholder reports whether a text is a placeholder from documentation or a template.
func IsPlaceholder(text string) bool { return placeholder.MatchString(text) }

// minEncoded is the minimum number of decoded bytes that are not readable by chance.
const minEncoded = 16

// IsBase64 reports whether a text is the base64 encoding of readable text.
func IsBase64(text []byte) bool {
	decoded, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	return err == nil && len(decoded) >= minEncoded && unprintable(decoded, true) == nil
}

// TooMuchBase64 is the message about a text that IsBase64 recognizes.
const TooMuchBase64 = "it is in base64 once too often: write the text itself"

func (d *Document) isSuspicious(field Field, path string, n *Node) bool {
	first, _ := utf8.DecodeRuneInString(n.Text)
	last, size := utf8.DecodeLastRuneInString(n.Text)
	onlyINI, isPair := quotes[[2]rune{first, last}]
	var message string
	switch {
	case isPair && len(n.Text) > size && (d.Format == INI || !onlyINI):
		message = fmt.Sprintf("the quotes %c and %c are part of the value: write \" or no quotes", first, last)
	case isInvisible(first):
		message = fmt.Sprintf("the value starts with the invisible character %U: remove it", first)
	case isInvisible(last):
		message = fmt.Sprintf("the value ends with the invisible character %U: remove it", last)
	case field.Secret:
		message = d.suspiciousSecret(n.Text)
	case IsPlaceholder(n.Text):
		message = "the value is a placeholder, " + Quoted(n.Text) + ": replace it"
	case callout.MatchString(n.Text):
		message = "the value ends with " + callout.FindString(n.Text) + ", which refers to a note of a document: remove it"
	}
	if message != "" {
		d.Reportf(n, diagnostic.Typo, "%s: %s", path, message)
	}
	return message != ""
}

// suspiciousSecret returns why a secret of the credentials is not what its author means, or an empty string.
func (d *Document) suspiciousSecret(text string) string {
	switch {
	case d.Input != diagnostic.Credentials:
		return ""
	case IsBase64([]byte(text)):
		return TooMuchBase64
	case strings.ContainsAny(text, "\r\n") && !strings.Contains(text, "-----BEGIN "):
		return "the line break is part of the value: write it without"
	}
	return ""
}

// IsGarbled reports whether a text is not UTF-8, or starts or ends with a character that editors do not show.
func IsGarbled(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	return isInvisible(first) || isInvisible(last) || !utf8.ValidString(text) || strings.Contains(text, "\x00")
}

// isInvisible reports whether editors do not show the character. They show whitespace of ASCII.
func isInvisible(r rune) bool {
	return r > unicode.MaxASCII && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)

// IsUUID reports whether the text is a UUID, with or without hyphens.
func IsUUID(text string) bool { return uuid.MatchString(strings.TrimSpace(text)) }

// UUIDs returns a field for each name whose value the provider passes to a cloud that expects a UUID.
func UUIDs(names ...string) []Field {
	return Field{Valid: IsUUID, Passed: true, Hint: "an ID such as 01234567-89ab-cdef-0123-456789abcdef, not a name"}.
		For(names...)
}
