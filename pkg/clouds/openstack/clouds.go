package openstack

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// cloudsDocument is a clouds.yaml with the types that gophercloud's clientconfig gives to its values: a value of another
// type makes the provider exit.
type cloudsDocument struct {
	Clouds map[string]cloudEntry `yaml:"clouds"`
}

type cloudEntry struct {
	Cloud              string        `yaml:"cloud"`
	Profile            string        `yaml:"profile"`
	Auth               *cloudAuth    `yaml:"auth"`
	AuthType           string        `yaml:"auth_type"`
	RegionName         string        `yaml:"region_name"`
	Regions            []cloudRegion `yaml:"regions"`
	EndpointType       string        `yaml:"endpoint_type"`
	Interface          string        `yaml:"interface"`
	IdentityAPIVersion string        `yaml:"identity_api_version"`
	VolumeAPIVersion   string        `yaml:"volume_api_version"`
	Verify             *bool         `yaml:"verify"`
	CACert             string        `yaml:"cacert"`
	Cert               string        `yaml:"cert"`
	Key                string        `yaml:"key"`
}

type cloudAuth struct {
	AuthURL                     string `yaml:"auth_url"`
	Token                       string `yaml:"token"`
	Username                    string `yaml:"username"`
	UserID                      string `yaml:"user_id"`
	Password                    string `yaml:"password"`
	ApplicationCredentialID     string `yaml:"application_credential_id"`
	ApplicationCredentialName   string `yaml:"application_credential_name"`
	ApplicationCredentialSecret string `yaml:"application_credential_secret"`
	SystemScope                 string `yaml:"system_scope"`
	ProjectName                 string `yaml:"project_name"`
	ProjectID                   string `yaml:"project_id"`
	UserDomainName              string `yaml:"user_domain_name"`
	UserDomainID                string `yaml:"user_domain_id"`
	ProjectDomainName           string `yaml:"project_domain_name"`
	ProjectDomainID             string `yaml:"project_domain_id"`
	DomainName                  string `yaml:"domain_name"`
	DomainID                    string `yaml:"domain_id"`
	DefaultDomain               string `yaml:"default_domain"`
	AllowReauth                 bool   `yaml:"allow_reauth"`
}

// cloudRegion is a name or a mapping.
type cloudRegion struct {
	Name   string     `yaml:"name"`
	Values cloudEntry `yaml:"values"`
}

// UnmarshalYAML reads either form.
func (r *cloudRegion) UnmarshalYAML(node *yaml.Node) error {
	if node.Decode(&r.Name) == nil {
		return nil
	}
	type mapping cloudRegion
	return node.Decode((*mapping)(r))
}

// cloudValue is a text of clouds.yaml with its place.
type cloudValue struct {
	Value        string
	path         string
	line, column int
}

// cloudsFile is the entry of clouds.yaml that the provider will use; empty when there is none that can be used.
type cloudsFile struct {
	root  *yaml.Node
	entry cloudEntry
}

// cloudFiles are the files that the entry names.
type cloudFiles struct {
	CACert, Certificate, Key cloudValue
}

func (c cloudsFile) cloud() cloudFiles {
	return cloudFiles{
		CACert:      c.value(c.entry.CACert, "cacert"),
		Certificate: c.value(c.entry.Cert, "cert"),
		Key:         c.value(c.entry.Key, "key"),
	}
}

// endpointType is what the provider takes for os-endpoint-type when cloud.conf does not set it.
func (c cloudsFile) endpointType() cloudValue {
	if c.entry.EndpointType != "" {
		return c.value(c.entry.EndpointType, "endpoint_type")
	}
	return c.value(c.entry.Interface, "interface")
}

// value is a text of the used entry; keys lead to it from there.
func (c cloudsFile) value(text string, keys ...string) cloudValue {
	v := cloudValue{Value: text, path: strings.Join(keys, ".")}
	if c.root == nil {
		return v
	}
	node := c.root
	for _, key := range slices.Concat([]string{"clouds", openStackCloud}, keys) {
		if node = child(node, key); node == nil {
			break // the place of the nearest mapping around it will do
		}
		v.line, v.column = node.Line, node.Column
	}
	return v
}

// child is the value of a key of a mapping; nil when there is none.
func child(node *yaml.Node, key string) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func (c cloudsFile) report(fs *diagnostic.List, at cloudValue, message string) {
	fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: cloudsKey, Line: at.line, Column: at.column, Kind: diagnostic.Invalid, Message: message})
}

// readClouds reads the clouds.yaml of the credentials Secret and reports what keeps the provider from logging in with it.
// No value of it gets into a message, except paths of files.
func readClouds(credentials map[string][]byte, fs *diagnostic.List) cloudsFile {
	text, ok := credentials[cloudsKey]
	whole := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: cloudsKey, Kind: diagnostic.Invalid}
	switch {
	case credentials == nil:
		whole.Key = ""
		whole.Message = "there is no credentials Secret: see whether the cloud-credential-operator makes it, or create it where credentials are managed by hand"
	case !ok && len(credentials) == 0:
		whole.Message = "the credentials Secret is empty: it needs the key clouds.yaml"
	case !ok:
		whole.Message = "the credentials Secret has no such key, only " + strings.Join(slices.Sorted(maps.Keys(credentials)), ", ")
	case len(bytes.TrimSpace(text)) == 0:
		whole.Message = "it is empty: write a mapping with the key clouds"
	}
	if whole.Message != "" {
		fs.Add(whole)
		return cloudsFile{}
	}
	if line, column, name, found := confdoc.Placeholders(text); found {
		whole.Line, whole.Column = line, column
		whole.Message = confdoc.PlaceholderMessage(name) + ": rotate the credential or change the value"
		fs.Add(whole)
	}
	root, document, found := parseClouds(text)
	for _, f := range found {
		fs.Add(f)
	}
	if len(found) > 0 {
		return cloudsFile{}
	}
	return chooseCloud(root, document, fs)
}

// parseClouds reads the text as the provider does. The library's own messages are not passed on as they are: some hold values.
func parseClouds(text []byte) (*yaml.Node, cloudsDocument, []diagnostic.Diagnostic) {
	var document cloudsDocument
	finding := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: cloudsKey, Kind: diagnostic.Invalid}
	var parsed yaml.Node
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		finding.Line, finding.Column = confdoc.YAMLErrorPlace(text, err)
		finding.Message = "this is not YAML: " + confdoc.YAMLProblem(err)
		if confdoc.TabIndents(text, finding.Line) {
			finding.Message = "this is not YAML: a tab is in front of the text; use blanks"
		}
		return nil, document, []diagnostic.Diagnostic{finding}
	}
	if parsed.Kind != yaml.DocumentNode || parsed.Content[0].Kind != yaml.MappingNode {
		finding.Message = "it is not a mapping: write the key clouds with one entry per cloud"
		return nil, document, []diagnostic.Diagnostic{finding}
	}
	root := parsed.Content[0]
	err := parsed.Decode(&document)
	var typeErrors *yaml.TypeError
	switch {
	case err == nil:
		return root, document, nil
	case !errors.As(err, &typeErrors):
		finding.Message = "this is not YAML that can be read: " + confdoc.YAMLProblem(err)
		return nil, document, []diagnostic.Diagnostic{finding}
	}
	var found []diagnostic.Diagnostic
	for _, e := range typeErrors.Errors {
		finding.Line = confdoc.YAMLErrorLine(e)
		finding.Column = max(1, confdoc.FirstColumn(text, finding.Line))
		finding.Message = confdoc.YAMLTypeProblem(e)
		found = append(found, finding)
	}
	return nil, document, found
}

// chooseCloud checks the entry that the provider will use.
func chooseCloud(root *yaml.Node, document cloudsDocument, fs *diagnostic.List) cloudsFile {
	c := cloudsFile{root: root}
	entry, ok := document.Clouds[openStackCloud]
	switch {
	case len(document.Clouds) == 0:
		c.report(fs, cloudValue{}, "it has no clouds: write the key clouds with the entry openstack")
		return cloudsFile{}
	case !ok:
		c.report(fs, c.value(""), fmt.Sprintf("there is no cloud named openstack, only %s: rename the entry to openstack",
			strings.Join(confdoc.QuotedAll(slices.Sorted(maps.Keys(document.Clouds))), ", ")))
		return cloudsFile{}
	}
	c.entry = entry
	for _, name := range []cloudValue{c.value(entry.Profile, "profile"), c.value(entry.Cloud, "cloud")} {
		if name.Value != "" {
			c.report(fs, name, fmt.Sprintf("%s names an entry of a clouds-public.yaml, which the cloud-controller-manager does not have: write its values here instead", name.path))
			break // the other one is not looked at
		}
	}
	if version := entry.IdentityAPIVersion; !slices.Contains([]string{"", "2", "2.0", "3"}, version) {
		c.report(fs, c.value(version, "identity_api_version"), `identity_api_version is not one that the cloud-controller-manager knows: write "3"`)
	}
	c.checkAuth(fs)
	return c
}

func (c cloudsFile) checkAuth(fs *diagnostic.List) {
	auth := c.entry.Auth
	if auth == nil {
		c.report(fs, c.value(""), "the cloud openstack has no auth: write a mapping with auth_url and an application credential or a user and password")
		return
	}
	if at := c.value(auth.AuthURL, "auth", "auth_url"); auth.AuthURL == "" {
		c.report(fs, at, "auth has no auth_url: write the address of Keystone, such as https://keystone.example.com:5000/v3")
	} else if u, err := url.Parse(auth.AuthURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		c.report(fs, at, "auth.auth_url is not a URL of the form https://keystone.example.com:5000/v3")
	}
}
