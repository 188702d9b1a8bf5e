package gcp

import (
	"regexp"
	"strings"
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

// NeedsPermission reports whether an endpoint is a method of the API: the logins and the metadata server need none.
func NeedsPermission(endpoint string) bool {
	switch endpoint {
	case GetToken, ExchangeToken, Impersonate:
		return false
	}
	return metadataOf[strings.TrimPrefix(endpoint, "GET ")] == nil
}
