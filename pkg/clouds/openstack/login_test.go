package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestOpenStackReportsIncompleteLogins(t *testing.T) {
	const noSecret = "auth has neither an application_credential_secret, nor a password, nor a token"
	for name, c := range map[string]struct {
		auth    string
		problem string // with its column; every auth is on line 4 and starts in column 7
	}{
		"an application credential by ID": {
			"application_credential_id: a, application_credential_secret: b", ""},
		"an application credential by name with the user's ID": {
			"application_credential_name: a, application_credential_secret: b, user_id: c", ""},
		"an application credential by name with the user's name and domain": {
			"application_credential_name: a, application_credential_secret: b, username: c, domain_name: d", ""},
		"an application credential by name with the default domain": {
			"application_credential_name: a, application_credential_secret: b, username: c, default_domain: d", ""},
		"an application credential by name without the user": {
			"application_credential_name: a, application_credential_secret: b",
			"60: application_credential_name needs the user: add user_id, or use application_credential_id"},
		"an application credential by name with a user without a domain": {
			"application_credential_name: a, application_credential_secret: b, username: c",
			"107: username needs its domain: add user_domain_name"},
		"an application credential without its secret": {"application_credential_id: a",
			"7: auth has an application credential without application_credential_secret: add it"},
		"only the secret of an application credential": {"application_credential_secret: b",
			"62: application_credential_secret needs application_credential_id: add it"},
		"an application credential and a token": {
			"application_credential_id: a, application_credential_secret: b, token: c",
			"102: auth has both a token and an application credential: remove the token"},
		"a token for a project":       {"token: a, project_id: b", ""},
		"a token for a domain":        {"token: a, domain_name: b", ""},
		"a token without a scope":     {"token: a", "38: a token needs a project: add project_id"},
		"a token with an unused user": {"token: a, project_id: b, username: c", ""},
		"a password": {
			"password: a, project_id: b, username: c, user_domain_name: d", ""},
		"a password of a user by ID": {"password: a, project_id: b, user_id: c", ""},
		"a project by name with the domain for both": {"password: a, project_name: b, username: c, domain_id: d",
			""},
		"no project":     {"password: a, username: c, user_domain_name: d", ""},
		"only a project": {"project_id: b", "7: " + noSecret},
		"a password without a user": {"password: a, project_id: b",
			"41: auth has a password but no user: add username"},
		"a user by name and ID": {"password: a, project_id: b, username: c, user_id: d",
			"81: auth has both username and user_id: remove one of them"},
		"a user without a domain": {"password: a, project_id: b, username: c",
			"69: username needs its domain: add user_domain_name"},
		"a user with two domains": {
			"password: a, project_id: b, username: c, user_domain_name: d, domain_id: e",
			"69: the domain of the user is set by ID and by name: remove one of them"},
		"a user by ID with a domain": {"password: a, project_id: b, user_id: c, domain_name: d",
			"68: user_id needs no domain, and the cloud-controller-manager rejects one: " +
				"remove the domain of the user, or use username"},
		"a project by name without a domain": {
			"password: a, project_name: b, username: c, user_domain_name: d",
			"58: project_name needs its domain: add project_domain_name"},
		"a domain that does not apply to the user": {"password: a, username: c, domain_name: d",
			"54: username needs its domain: add user_domain_name"},
	} {
		t.Run(name, func(t *testing.T) {
			src := source("[Global]\n")
			src.Credentials = cloudsYAML("clouds:\n  openstack:\n    auth:\n      {auth_url: 'https://k', " + c.auth +
				"}\n")
			want := []string(nil)
			if c.problem != "" {
				want = []string{"credentials clouds.yaml:4:" + c.problem}
			}
			require.Equal(t, want, cloudtest.Messages(openstack.Rewrite(src), diagnostic.Invalid))
		})
	}
}

func TestOpenStackChecksTheTypeOfALogin(t *testing.T) {
	const auth = "    auth: {auth_url: 'https://k', username: a, password: b, project_id: c}\n"
	for name, c := range map[string]struct {
		entry  string
		errors []string
	}{
		"a missing token": {"    auth_type: v3token\n" + auth, []string{
			"credentials clouds.yaml:4:11: auth_type says that auth has a token, but it has none: " +
				"add the token or remove auth_type"}},
		"a user without a domain for Keystone's API v3": {"    identity_api_version: 3\n" + auth, []string{
			"credentials clouds.yaml:4:45: username needs its domain: add user_domain_name"}},
		"a user without a domain for Keystone's API v2": {"    identity_api_version: 2\n" + auth, nil},
		"the API v2 by its type":                        {"    auth_type: v2password\n" + auth, nil},
	} {
		t.Run(name, func(t *testing.T) {
			src := source("[Global]\n")
			src.Credentials = cloudsYAML("clouds:\n  openstack:\n" + c.entry)
			require.Equal(t, c.errors, cloudtest.Messages(openstack.Rewrite(src), diagnostic.Invalid))
		})
	}
}
