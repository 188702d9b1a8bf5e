// Package diagnostic has the one type for everything that is said about an input, from a cloud's own check to a condition
// and to a terminal.
package diagnostic

import (
	"fmt"
	"strings"
)

// Cause groups diagnostics by what the administrator has to look at. There is one condition per cause.
type Cause string

// The causes, in the order in which diagnostics are sorted.
const (
	CloudConfig   Cause = "CloudConfig"
	Credentials   Cause = "Credentials"
	TrustedCA     Cause = "TrustedCA"
	Image         Cause = "Image"
	Configuration Cause = "Configuration"
)

// Severity says whether a diagnostic rejects the input.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	// Change needs no action: it says what the cloud-controller-manager gets instead of the user's text.
	Change Severity = "change"
)

// Kind is the reason of a diagnostic. Its severity follows from the kind and the Policy.
type Kind string

const (
	// Invalid is a value that the cloud-controller-manager would reject.
	Invalid Kind = "Invalid"
	// Ambiguous is a key with several values, of which the cloud-controller-manager uses one.
	Ambiguous Kind = "Ambiguous"
	// Typo is an unknown name close to a known one.
	Typo Kind = "Typo"
	// Redirected is an endpoint that would receive the credentials, but that neither they nor Infrastructure name.
	Redirected Kind = "Redirected"
	// Insecure weakens the protection of the credentials; the user may want it.
	Insecure Kind = "Insecure"
	// Unknown is any other unknown name; a newer installer may know it.
	Unknown Kind = "Unknown"
	// Legacy is known to the in-tree provider only and is dropped.
	Legacy Kind = "Legacy"
	// Rewritten is a value of the user that the cloud-controller-manager does not get; the message has the reason.
	Rewritten Kind = "Rewritten"
	// Adapted is what every configuration needs for the external provider: a path, a default, another format. It needs no
	// attention, so it is no warning; convert shows it.
	Adapted Kind = "Adapted"
)

// Policy decides whether a likely mistake rejects the input.
type Policy int

const (
	// Lenient accepts likely mistakes: the policy of a first install and of render.
	Lenient Policy = iota
	// Strict rejects them: the policy of a change while a good revision runs, and of offline validation.
	Strict
)

// Severity returns how severe a diagnostic of this kind is.
func (k Kind) Severity(p Policy) Severity {
	switch k {
	case Invalid:
		return Error
	case Ambiguous, Typo, Redirected:
		if p == Strict {
			return Error
		}
	case Adapted:
		return Change
	case Insecure, Unknown, Legacy, Rewritten:
	}
	return Warning
}

// IsChange reports whether the cloud-controller-manager gets something else than what the user wrote.
func (k Kind) IsChange() bool { return k == Rewritten || k == Legacy || k == Adapted }

// Diagnostic is one thing that is said about one place of one input.
type Diagnostic struct {
	// File is the file that has the input; empty where the input is an object of the cluster.
	File string `json:"file"`
	// Line and Column are 1-based, in File or else in the value of Key; 0 when the diagnostic has no place. Columns count
	// characters, not bytes.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Severity is set where the policy is known.
	Severity Severity `json:"severity"`
	// Object is the object that the user edits. A cloud does not know its inputs' names and leaves it to the caller.
	Object string `json:"object"`
	// Key is the key in Object; empty when the diagnostic is about the whole. For a cloud it is also empty when it is
	// about the cloud configuration itself.
	Key string `json:"key"`
	// Message says what is wrong and what to do. It has neither a position nor secret bytes.
	Message string `json:"message"`

	Cause Cause `json:"-"`
	Kind  Kind  `json:"-"`
	// SeeLine is another line of the same value that explains the message, such as the first of two duplicate keys; 0 when
	// there is none. It is not part of Message, because an offline check translates it to a line of the file.
	SeeLine int `json:"-"`
}

// Place returns file:line:column.
func (d Diagnostic) Place() string { return fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Column) }

// String returns the diagnostic as one line: as compilers write theirs where the file is known, otherwise with object, key
// and position.
func (d Diagnostic) String() string {
	if d.File != "" {
		return fmt.Sprintf("%s: %s: %s", d.Place(), d.Severity, d.Message)
	}
	var b strings.Builder
	b.WriteString(d.Object)
	if d.Key != "" {
		fmt.Fprintf(&b, ", key %s", d.Key)
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, ", line %d:%d", d.Line, d.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(d.Text())
	return b.String()
}

// Text returns the message with the other line that explains it, counted as Line is.
func (d Diagnostic) Text() string {
	if d.SeeLine == 0 {
		return d.Message
	}
	return fmt.Sprintf("%s (see line %d)", d.Message, d.SeeLine)
}
