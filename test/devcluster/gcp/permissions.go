package gcp

import "strings"

// NeedsNoPermission reports whether an endpoint is no method of the API: the logins and the metadata server.
func NeedsNoPermission(endpoint string) bool {
	switch endpoint {
	case GetToken, ExchangeToken, Impersonate:
		return true
	}
	return metadataOf[strings.TrimPrefix(endpoint, "GET ")] != nil
}
