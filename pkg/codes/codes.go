// Package codes assigns each kind of finding about an input, and each reason of a condition, a code that never changes:
// users search for it, and scripts filter by it. The texts describe its meaning and the action.
package codes

import "strings"

// Code describes a kind of finding, or a reason of conditions.
type Code struct {
	ID string `json:"code"`
	// Finding is the kind or the cause of a finding (package diagnostic); empty for a reason.
	Finding string `json:"finding,omitempty"`
	// Reason is the reason, and Conditions the conditions that have it; empty for a finding.
	Reason     string `json:"reason,omitempty"`
	Conditions string `json:"conditions,omitempty"`
	// Means describes the state, and Do the action.
	Means string `json:"means"`
	Do    string `json:"do"`
}

// All returns the codes of the findings, then those of the reasons, in the order of their tables.
func All() []Code {
	all := make([]Code, 0, len(findings)+len(reasons))
	for i := range findings {
		f := &findings[i]
		all = append(all, Code{ID: f.id, Finding: f.kind, Means: f.means, Do: f.do})
	}
	for i := range reasons {
		r := &reasons[i]
		all = append(all, Code{ID: r.id, Reason: r.reason, Conditions: r.conditions, Means: r.means, Do: r.do})
	}
	return all
}

// OfFinding returns the code of a kind or cause of findings, or an empty string.
func OfFinding(kind string) string {
	for i := range findings {
		if findings[i].kind == kind {
			return findings[i].id
		}
	}
	return ""
}

// OfReason returns the code of a condition's reason, or an empty string: library-go's reasons have no code.
func OfReason(reason string) string {
	for i := range reasons {
		if reasons[i].reason == reason {
			return reasons[i].id
		}
	}
	return ""
}

// Find returns the entry of a code, or of a reason, also with the condition that oc get clusteroperator prints.
func Find(name string) (Code, bool) {
	_, reason, found := strings.Cut(name, "_")
	if !found {
		reason = name
	}
	for _, code := range All() {
		if strings.EqualFold(code.ID, name) || code.Reason != "" && code.Reason == reason {
			return code, true
		}
	}
	return Code{}, false
}

// Retired returns the former meaning of a code that is no longer in use.
func Retired(id string) (was string, found bool) {
	was, found = retired[strings.ToUpper(id)]
	return was, found
}
