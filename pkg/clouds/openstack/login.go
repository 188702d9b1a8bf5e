package openstack

import (
	"slices"
	"strings"
)

const noSecret = "auth has neither an application_credential_secret, nor a password, nor a token"

// loginProblem says why the provider would exit before it asks Keystone anything, and the key of auth that it is about;
// empty when it would ask. The rules are those of gophercloud (clientconfig.AuthOptions of utils v2, ToTokenV3ScopeMap and
// ToTokenV3CreateMap of v2.12.0) for Keystone's API v3; those for v2 are not repeated.
func (e cloudEntry) loginProblem() (key, problem string) {
	if e.asksKeystoneV2() {
		return "", ""
	}
	auth := *e.Auth
	if auth.hasApplicationCredential() || auth.hasProject() {
		auth.fillDomains()
	}
	if strings.Contains(e.AuthType, "token") || auth.Token != "" {
		auth.Username, auth.UserID, auth.Password, auth.UserDomainID, auth.UserDomainName = "", "", "", "", ""
	}
	if key, problem = auth.scopeProblem(); problem != "" {
		return key, problem
	}
	switch {
	case auth.Password != "":
		return auth.userProblem()
	case auth.Token != "":
		return "", ""
	case strings.Contains(e.AuthType, "token") && !auth.hasApplicationCredential():
		return "", "auth_type says that auth has a token, but it has none: add the token or remove auth_type"
	}
	return auth.applicationCredentialProblem()
}

// asksKeystoneV2 tells which API gophercloud chooses.
func (e cloudEntry) asksKeystoneV2() bool {
	switch {
	case e.IdentityAPIVersion != "":
		return e.IdentityAPIVersion != "3"
	case strings.Contains(e.Auth.AuthURL, "v3"):
		return false
	case strings.Contains(e.Auth.AuthURL, "v2.0"):
		return true
	}
	return slices.Contains([]string{"v2password", "v2token"}, e.AuthType)
}

func (a *cloudAuth) hasApplicationCredential() bool {
	return a.ApplicationCredentialID != "" || a.ApplicationCredentialName != "" || a.ApplicationCredentialSecret != ""
}

// hasSecret tells whether there is anything to log in with.
func (a *cloudAuth) hasSecret() bool {
	return a.Password != "" || a.ApplicationCredentialSecret != "" || a.Token != ""
}

func (a *cloudAuth) hasProject() bool {
	return a.ProjectID != "" || a.ProjectName != ""
}

// fillDomains lets domain_id, domain_name and default_domain stand in for the domains of the user and the project.
func (a *cloudAuth) fillDomains() {
	for _, fallback := range []struct {
		to   *string
		from string
	}{
		{&a.UserDomainID, a.DomainID},
		{&a.ProjectDomainID, a.DomainID},
		{&a.UserDomainName, a.DomainName},
		{&a.ProjectDomainName, a.DomainName},
	} {
		if *fallback.to == "" {
			*fallback.to = fallback.from
		}
	}
	a.DomainID, a.DomainName = "", ""
	if a.userDomains() == 0 {
		a.UserDomainID = a.DefaultDomain
	}
	if a.ProjectDomainID == "" && a.ProjectDomainName == "" {
		a.ProjectDomainID = a.DefaultDomain
	}
}

// userDomains counts how often the domain of the user is given.
func (a *cloudAuth) userDomains() int {
	count := 0
	for _, domain := range []string{a.UserDomainID, a.UserDomainName} {
		if domain != "" {
			count++
		}
	}
	return count
}

func (a *cloudAuth) scopeProblem() (key, problem string) {
	switch {
	case a.hasApplicationCredential():
		if a.Token != "" {
			return "token", "auth has a token beside an application credential: remove the token"
		}
	case a.hasProject():
		if a.ProjectID == "" && a.ProjectDomainID == "" && a.ProjectDomainName == "" {
			return "project_name", "project_name needs its domain: add project_domain_name"
		}
	case a.Token != "" && a.DomainID == "" && a.DomainName == "" && a.SystemScope == "":
		return "token", "a token needs a project: add project_id"
	}
	return "", ""
}

// userProblem is about a login with a password.
func (a *cloudAuth) userProblem() (key, problem string) {
	domains := a.userDomains()
	switch {
	case a.Username == "" && a.UserID == "":
		return "password", "auth has a password but no user: add username"
	case a.Username != "" && a.UserID != "":
		return "user_id", "auth has both username and user_id: remove one of them"
	case a.UserID != "" && domains > 0:
		return "user_id", "user_id needs no domain, and the cloud-controller-manager refuses one: remove the domain of the user, or use username"
	case a.Username != "" && domains > 1:
		return "username", "the domain of the user is given by id and by name: remove one of them"
	case a.Username != "" && domains == 0:
		return "username", "username needs its domain: add user_domain_name"
	}
	return "", ""
}

// applicationCredentialProblem is about a login without a password or token.
func (a *cloudAuth) applicationCredentialProblem() (key, problem string) {
	switch {
	case a.ApplicationCredentialID == "" && a.ApplicationCredentialName == "":
		if a.ApplicationCredentialSecret != "" {
			return "application_credential_secret", "application_credential_secret needs application_credential_id: add it"
		}
		return "", noSecret
	case a.ApplicationCredentialSecret == "":
		return "", "auth has an application credential without application_credential_secret: add it"
	case a.ApplicationCredentialID != "" || a.UserID != "":
		return "", ""
	case a.Username == "":
		return "application_credential_name", "application_credential_name needs the user: add user_id, or use application_credential_id"
	case a.userDomains() == 0:
		return "username", "username needs its domain: add user_domain_name"
	}
	return "", ""
}
