package gcp

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// permissionRow is a row of the table in docs/gcp-permissions.md: a permission and the methods that need it.
var permissionRow = regexp.MustCompile("(?m)^\\| `(compute\\.[^`]+)` \\| ([^|]+) \\|")

// Permissions returns the permissions that each method of the API needs, as docs/gcp-permissions.md lists them.
func Permissions(document []byte) map[string][]string {
	found := map[string][]string{}
	for _, row := range permissionRow.FindAllStringSubmatch(string(document), -1) {
		for method := range strings.SplitSeq(row[2], ", ") {
			method = strings.Trim(method, "`")
			found[method] = append(found[method], row[1])
		}
	}
	return found
}

// Comparison is what calls and permissions have in common, and what not.
type Comparison struct {
	// Methods are the methods that were called, and Permissions all that the document lists.
	Methods, Permissions []string
	// Unlisted are the called endpoints that the document has no permission for, such as Unserved.
	Unlisted []string
	// Unneeded are the permissions that no call needed.
	Unneeded []string
}

// Compare compares calls with the permissions in docs/gcp-permissions.md. Each list is sorted.
func Compare(document []byte, calls []standin.Call) Comparison {
	listed, all := Permissions(document), map[string]bool{}
	for _, permissions := range listed {
		for _, permission := range permissions {
			all[permission] = false
		}
	}
	methods, unlisted := map[string]bool{}, map[string]bool{}
	for _, call := range calls {
		switch permissions := listed[call.Endpoint]; {
		case !needsPermission(call.Endpoint):
		case len(permissions) == 0:
			unlisted[call.Endpoint] = true
		default:
			methods[call.Endpoint] = true
			for _, permission := range permissions {
				all[permission] = true
			}
		}
	}
	c := Comparison{Methods: slices.Sorted(maps.Keys(methods)), Permissions: slices.Sorted(maps.Keys(all)),
		Unlisted: slices.Sorted(maps.Keys(unlisted))}
	c.Unneeded = slices.DeleteFunc(slices.Clone(c.Permissions), func(permission string) bool { return all[permission] })
	return c
}

// needsPermission reports whether an endpoint is a method of the API: the logins and the metadata server need none.
func needsPermission(endpoint string) bool {
	switch endpoint {
	case GetToken, ExchangeToken, Impersonate:
		return false
	}
	return metadataOf[strings.TrimPrefix(endpoint, "GET ")] == nil
}
