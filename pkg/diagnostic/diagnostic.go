// Package diagnostic defines the type of every statement about an input. The clouds' checks create diagnostics;
// conditions and commands show them.
package diagnostic

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/codes"
)

// Cause groups diagnostics by the input that the administrator must check. Each cause has one condition.
type Cause string

// The causes, in the order in which diagnostics are sorted.
const (
	CloudConfig   Cause = "CloudConfig"
	Credentials   Cause = "Credentials"
	TrustedCA     Cause = "TrustedCA"
	Image         Cause = "Image"
	Configuration Cause = "Configuration"
)

// Severity is how a diagnostic affects the input.
type Severity string

// The severities. Only an Error rejects the input.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	// Change needs no action: it explains a difference between the user's configuration and the
	// cloud-controller-manager's.
	Change Severity = "change"
)

// Kind is the reason of a diagnostic. Kind and Policy determine the severity.
type Kind string

const (
	// Invalid is a value that the cloud-controller-manager rejects.
	Invalid Kind = "Invalid"
	// Ambiguous means that a key has several values, or that a value contradicts another source and either may be meant.
	// The cloud-controller-manager uses one of them.
	Ambiguous Kind = "Ambiguous"
	// Typo is a likely mistake: an unknown name that resembles a known one, or a value that the cloud will reject.
	Typo Kind = "Typo"
	// Redirected is an endpoint that would receive the credentials, but that neither they nor Infrastructure name.
	Redirected Kind = "Redirected"
	// Contradictory is a value that differs from Infrastructure's. It may be intended, and have worked for years.
	Contradictory Kind = "Contradictory"
	// Insecure is a setting that weakens the protection of the credentials, possibly on purpose.
	Insecure Kind = "Insecure"
	// Doubtful is a value that the cloud-controller-manager and its cloud accept, but that hardly has the intended effect.
	Doubtful Kind = "Doubtful"
	// Unknown is a name that resembles no known one. A newer installer may know it.
	Unknown Kind = "Unknown"
	// Legacy is a key that only the in-tree provider reads. It is dropped.
	Legacy Kind = "Legacy"
	// Rewritten is a user's value that the cloud-controller-manager does not get. The message states the reason.
	Rewritten Kind = "Rewritten"
	// Adapted is a change that every configuration needs for the cloud-controller-manager: a path, a default or another
	// format. It is no warning. The convert command shows it.
	Adapted Kind = "Adapted"
)

// Policy defines whether a likely mistake rejects the input.
type Policy int

const (
	// Lenient accepts likely mistakes. It applies to a first install and to render.
	Lenient Policy = iota
	// Strict rejects likely mistakes. It applies to a change while a good revision runs, and to validate.
	Strict
)

// Severity returns the severity of a diagnostic of this kind.
func (k Kind) Severity(p Policy) Severity {
	switch k {
	case Invalid:
		return Error
	case Ambiguous, Typo, Redirected, Contradictory:
		if p == Strict {
			return Error
		}
	case Adapted:
		return Change
	case Insecure, Doubtful, Unknown, Legacy, Rewritten:
	}
	return Warning
}

// IsChange reports whether the cloud-controller-manager gets something other than the user's input.
func (k Kind) IsChange() bool { return k == Rewritten || k == Legacy || k == Adapted }

// Diagnostic is a statement about one place in one input.
type Diagnostic struct {
	// File is the file with the input, empty if the input is an object of the cluster.
	File string `json:"file"`
	// Line and Column are 1-based positions in File, or in the value of Key if File is empty; 0 means no position. Columns
	// count characters, not bytes.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Severity is set by the caller that knows the policy.
	Severity Severity `json:"severity"`
	// Object is the object that the user edits. Clouds set it only for Infrastructure, because they do not know the names
	// of their inputs; the caller sets it for all others.
	Object string `json:"object"`
	// Key is the key in Object, empty if the diagnostic is about the whole object. In a cloud's diagnostics an empty Key
	// also means the cloud configuration itself.
	Key string `json:"key"`
	// Message states the cause and the action. It contains neither a position nor secrets.
	Message string `json:"message"`

	Cause Cause `json:"-"`
	Kind  Kind  `json:"-"`
	// SeeLine is another line of the same value that the message refers to, for example the first of two duplicate keys; 0
	// if none. It is not part of Message, because offline checks translate it to a line of the file.
	SeeLine int `json:"-"`
}

// Place returns file:line:column.
func (d Diagnostic) Place() string { return fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Column) }

// Code returns the stable code of the kind or, for a diagnostic about a whole object, which has none, of the cause.
func (d Diagnostic) Code() string { return codes.OfFinding(cmp.Or(string(d.Kind), string(d.Cause))) }

// Coded appends the code to a text about the diagnostic, as linters do.
func (d Diagnostic) Coded(text string) string {
	if code := d.Code(); code != "" {
		return fmt.Sprintf("%s [%s]", text, code)
	}
	return text
}

// String returns the diagnostic as one line: in a compiler's format if File is set, otherwise with the object, key and
// position. Conditions show the latter, which has no code, because their reason has one.
func (d Diagnostic) String() string {
	if d.File != "" {
		return d.Coded(fmt.Sprintf("%s: %s: %s", d.Place(), d.Severity, d.Message))
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

// Text returns the message and, if set, SeeLine.
func (d Diagnostic) Text() string {
	if d.SeeLine == 0 {
		return d.Message
	}
	return fmt.Sprintf("%s (see line %d)", d.Message, d.SeeLine)
}
