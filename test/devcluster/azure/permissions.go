package azure

// NeedsNoPermission reports whether everybody with a role in the subscription may make a request: the logins, what they
// are found by, the metadata service, and the list of the providers' locations.
func NeedsNoPermission(endpoint string) bool {
	switch endpoint {
	case GetToken, GetLogin, GetInstances, GetCloud, GetProvider, GetInstance, GetLoadBalancer:
		return true
	}
	return false
}
