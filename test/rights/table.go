package rights

import (
	"fmt"
	"slices"
	"strings"
)

const introduction = `# Rights

<!-- Generated from manifests/ and bindata/ by "make update-golden"; a test fails while they differ. -->

Every right of the operator, the operand and their helpers, by ServiceAccount. A change of this file
is a change of what they may do: read it as such. The last column is the comment on the rule; a rule
without a use is removed.
`

// Table returns docs/rights.md: a table for each identity with one line for each right, and one for the roles that an
// administrator may bind.
func Table(rights, offered []Right) []byte {
	var b strings.Builder
	b.WriteString(introduction)
	for _, identity := range identities(rights) {
		fmt.Fprintf(&b, "\n## %s\n\n", strings.TrimPrefix(identity, "system:serviceaccount:"))
		b.WriteString("| namespace | API group | resource | names | verbs | platforms | role | why |\n")
		b.WriteString("|---|---|---|---|---|---|---|---|\n")
		for _, r := range rights {
			if r.Identity == identity {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", or(r.Namespace, "**all**"), or(r.Group, "core"),
					r.Resource,
					or(strings.Join(r.Names, ", "), "all"), strings.Join(r.Verbs, ", "), or(strings.Join(r.Platforms, ", "),
						"all"), r.Role, r.Reason)
			}
		}
	}
	b.WriteString("\n## Roles for support\n\nNobody has these roles until an administrator binds them: " +
		"see [commands.md](commands.md#rights).\n\n")
	b.WriteString("| role | API group | resource | names | verbs | why |\n|---|---|---|---|---|---|\n")
	for _, r := range offered {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Role, or(r.Group, "core"), r.Resource,
			or(strings.Join(r.Names, ", "), "all"), strings.Join(r.Verbs, ", "), r.Reason)
	}
	return []byte(b.String())
}

// identities returns each identity once, in the order of the rights.
func identities(rights []Right) []string {
	var found []string
	for _, r := range rights {
		if !slices.Contains(found, r.Identity) {
			found = append(found, r.Identity)
		}
	}
	return found
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
