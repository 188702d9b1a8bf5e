package aws

// NeedsNoPermission reports whether an endpoint is an action that everybody may call, or no action: the login and the
// metadata service.
func NeedsNoPermission(endpoint string) bool {
	switch endpoint {
	case AssumeRoleWithWebIdentity, CreateToken, GetIdentity:
		return true
	}
	return false
}
