// Package codes gives each kind of finding about an input, and each reason of a condition, a code that never changes:
// people search for it, and scripts filter by it. The texts say what it means and what to do.
package codes

import "strings"

// Code is what a code stands for: a kind of finding, or a reason of conditions.
type Code struct {
	// ID is the code, such as CCM0042.
	ID string `json:"code"`
	// Finding is the kind or the cause of a finding (package diagnostic), empty for a reason.
	Finding string `json:"finding,omitempty"`
	// Reason is the reason, empty for a finding, and Conditions are those that have it.
	Reason     string `json:"reason,omitempty"`
	Conditions string `json:"conditions,omitempty"`
	// Means says what is the case, and Do what to do about it.
	Means string `json:"means"`
	Do    string `json:"do"`
}

// All returns the codes of the findings, and then those of the reasons in their order.
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

// OfFinding returns the code of a kind or cause of findings, empty if it has none.
func OfFinding(kind string) string {
	for i := range findings {
		if findings[i].kind == kind {
			return findings[i].id
		}
	}
	return ""
}

// OfReason returns the code of a condition's reason, empty if it has none: library-go's controllers have reasons of
// their own.
func OfReason(reason string) string {
	for i := range reasons {
		if reasons[i].reason == reason {
			return reasons[i].id
		}
	}
	return ""
}

// Find returns what a code or a reason stands for. The reason may be as oc get clusteroperator prints it, with the
// condition before it.
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

// Retired returns what a code stood for that is no longer in use.
func Retired(id string) (was string, found bool) {
	was, found = retired[strings.ToUpper(id)]
	return was, found
}
