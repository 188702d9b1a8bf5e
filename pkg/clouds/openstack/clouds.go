package openstack

import (
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// cloudsReader reads a clouds.yaml with the types of gophercloud's clientconfig. The provider exits if a value has
// another type. It ignores unknown keys.
var cloudsReader = confdoc.Reader{
	Format: confdoc.YAML3, Input: diagnostic.Credentials, DataKey: cloudsKey, IgnoresUnknown: true,
	Empty: "write a mapping with the key clouds and the entry openstack",
	Fields: []confdoc.Field{{Name: "clouds", Is: confdoc.Map,
		Of: &confdoc.Field{Is: confdoc.Object, Fields: slices.Concat(
			confdoc.FieldsOf(confdoc.Text, "cacert", "cert", "key"),
			confdoc.Secrets("cloud", "profile", "auth_type", "region_name", "volume_api_version"),
			[]confdoc.Field{
				{Name: "endpoint_type", Values: endpointTypes, Secret: true},
				{Name: "interface", Values: endpointTypes, Secret: true},
				{Name: "identity_api_version", Values: []string{"3", "2", "2.0"}, Secret: true},
				{Name: "regions", Is: confdoc.List, Of: &confdoc.Field{Is: confdoc.Any}, Secret: true},
				{Name: "verify", Is: confdoc.Bool, Pointer: true, Secret: true},
				{Name: "auth", Is: confdoc.Object, Secret: true, Fields: append(authFields,
					confdoc.Field{Name: "allow_reauth", Is: confdoc.Bool, Secret: true},
					confdoc.Field{Name: "auth_url", Schemes: []string{"https", "http"}, Secret: true},
				)},
			},
		), Secret: true}, Secret: true}},
}

var authFields = confdoc.Secrets("token", "username", "user_id", "password", "application_credential_id",
	"application_credential_name", "application_credential_secret", "system_scope", "project_name", "project_id",
	"user_domain_name", "user_domain_id", "project_domain_name", "project_domain_id", "domain_name", "domain_id",
	"default_domain")

var endpointTypes = []string{"public", "internal", "admin"}

// cloudsFile is a clouds.yaml with the entry that the provider uses. The entry is nil if no entry can be used.
type cloudsFile struct {
	*confdoc.Document
	entry *confdoc.Node
}

// readClouds reads the clouds.yaml of the credentials Secret and reports every mistake that keeps the provider from
// logging in. Messages contain no values of the file, except file paths.
func readClouds(run clouds.Run) cloudsFile {
	text := run.SecretKey(cloudsKey)
	if text == nil {
		return cloudsFile{}
	}
	before := len(*run.Findings)
	c := cloudsFile{Document: cloudsReader.Read(text, run.Findings)}
	if !c.Readable || len(*run.Findings) > before {
		return cloudsFile{}
	}
	all := c.Value("clouds")
	if len(all.Members()) == 0 {
		c.Rejectf(all, "it has no clouds: write the key clouds with the entry openstack")
		return cloudsFile{}
	}
	if c.entry = all.Get(openStackCloud); c.entry == nil {
		var names []string
		for _, e := range all.Entries {
			names = append(names, confdoc.Quoted(e.Name))
		}
		c.Rejectf(all, "there is no cloud named openstack, only %s: rename the entry to openstack",
			strings.Join(names, ", "))
		return cloudsFile{}
	}
	for _, key := range []string{"profile", "cloud"} {
		if c.entry.String(key) != "" {
			c.Rejectf(c.entry.Get(key), "%s names an entry of a clouds-public.yaml, which the cloud-controller-manager "+
				"does not have: write its values here instead", key)
		}
	}
	c.checkAuth()
	return c
}

// checkAuth reports a missing login and a missing address of Keystone.
func (c cloudsFile) checkAuth() {
	if c.entry.Get("auth") == nil {
		c.Rejectf(c.entry, "the cloud openstack has no auth: "+
			"write a mapping with auth_url and an application credential or a user and password")
	} else if c.entry.String("auth", "auth_url") == "" {
		c.Rejectf(c.entry.Get("auth"),
			"auth has no auth_url: write the address of Keystone, such as https://keystone.example.com:5000/v3")
	}
}
