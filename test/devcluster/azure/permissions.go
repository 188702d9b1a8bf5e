package azure

// NeedsNoPermission reports whether a request is for the logins, what they are found by, the metadata service, or the
// locations of providers, which docs/azure-permissions.md tells about.
func NeedsNoPermission(endpoint string) bool {
	switch endpoint {
	case GetToken, GetLogin, GetInstances, GetCloud, GetProvider, GetInstance, GetLoadBalancer:
		return true
	}
	return false
}
