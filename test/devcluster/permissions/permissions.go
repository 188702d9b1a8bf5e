// Package permissions compares the calls that a cloud-controller-manager makes with the permissions that it requests.
// A document has them in a table: permission, the calls that need it, their caller, and what it is for.
package permissions

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// row is a row of the table. A permission whose calls are in no story has a dash instead of them.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ((?:`[^|]+`)|–) \\| [^|]+ \\| [^|]+ \\|$")

// Read returns the calls that each permission of a document is for, without a call those that no story needs.
func Read(document []byte) map[string][]string {
	found := map[string][]string{}
	for _, match := range row.FindAllStringSubmatch(string(document), -1) {
		found[match[1]] = []string{}
		for call := range strings.SplitSeq(match[2], ", ") {
			if call != "–" {
				found[match[1]] = append(found[match[1]], strings.Trim(call, "`"))
			}
		}
	}
	return found
}

// Comparison is what calls and permissions have in common, and what not. Each list is sorted.
type Comparison struct {
	// Calls are those that were made and need a permission. Needed are the permissions that they need, and Untold those
	// whose calls are in no story.
	Calls, Needed, Untold []string
	// Unlisted are the calls that the document has no permission for.
	Unlisted []string
	// Unneeded are the permissions that the document has calls for, none of which was made.
	Unneeded []string
}

// Compare compares calls with the permissions of a document. free reports whether a call, such as a login, needs no
// permission.
func Compare(document []byte, calls []standin.Call, free func(endpoint string) bool) Comparison {
	made, unlisted := map[string]bool{}, map[string]bool{}
	for _, call := range calls {
		if !free(call.Endpoint) {
			made[call.Endpoint], unlisted[call.Endpoint] = true, true
		}
	}
	var c Comparison
	for permission, wanted := range Read(document) {
		needed := false
		for _, call := range wanted {
			needed = needed || made[call]
			delete(unlisted, call)
		}
		switch {
		case len(wanted) == 0:
			c.Untold = append(c.Untold, permission)
		case needed:
			c.Needed = append(c.Needed, permission)
		default:
			c.Unneeded = append(c.Unneeded, permission)
		}
	}
	for call := range unlisted {
		delete(made, call)
	}
	c.Calls, c.Unlisted = slices.Sorted(maps.Keys(made)), slices.Sorted(maps.Keys(unlisted))
	for _, list := range []*[]string{&c.Needed, &c.Untold, &c.Unneeded} {
		slices.Sort(*list)
	}
	return c
}
