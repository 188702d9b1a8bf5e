package cloudconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

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

func (c cloudsFile) report(fs *findings, at cloudValue, message string) {
	fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: cloudsKey, Line: at.line, Column: at.column, Kind: diagnostic.Invalid, Message: message})
}

// readClouds reads the clouds.yaml of the credentials Secret and reports what keeps the provider from logging in with it.
// No value of it gets into a message, except paths of files.
func readClouds(credentials map[string][]byte, fs *findings) cloudsFile {
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
	if line, column, name, found := Placeholders(text); found {
		whole.Line, whole.Column = line, column
		whole.Message = placeholderMessage(name) + ": rotate the credential or change the value"
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
		finding.Line, finding.Column = yamlErrorPlace(text, err)
		finding.Message = "this is not YAML: " + yamlProblem(err)
		if tabIndents(text, finding.Line) {
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
		finding.Message = "this is not YAML that can be read: " + yamlProblem(err)
		return nil, document, []diagnostic.Diagnostic{finding}
	}
	var found []diagnostic.Diagnostic
	for _, e := range typeErrors.Errors {
		finding.Line = yamlErrorLine(e)
		finding.Column = max(1, firstColumn(text, finding.Line))
		finding.Message = yamlTypeProblem(e)
		found = append(found, finding)
	}
	return nil, document, found
}

// chooseCloud checks the entry that the provider will use.
func chooseCloud(root *yaml.Node, document cloudsDocument, fs *findings) cloudsFile {
	c := cloudsFile{root: root}
	entry, ok := document.Clouds[openStackCloud]
	switch {
	case len(document.Clouds) == 0:
		c.report(fs, cloudValue{}, "it has no clouds: write the key clouds with the entry openstack")
		return cloudsFile{}
	case !ok:
		c.report(fs, c.value(""), fmt.Sprintf("there is no cloud named openstack, only %s: rename the entry to openstack",
			strings.Join(quotedAll(slices.Sorted(maps.Keys(document.Clouds))), ", ")))
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

func (c cloudsFile) checkAuth(fs *findings) {
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

func quotedAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quoted(n)
	}
	return out
}

var yamlLine = regexp.MustCompile(`(?:^|: )line (\d+): `)

// yamlErrorLine is the line that a message of the library names; 0 when there is none.
func yamlErrorLine(message string) int {
	m := yamlLine.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return line
}

// yamlProblem is what the library says without its place and without parts of the text.
func yamlProblem(err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if yamlErrorLine(message) > 0 {
		_, message, _ = strings.Cut(message, ": ")
	}
	switch {
	case strings.Contains(message, "anchor"):
		return `a value starts with "*" or "&", which makes it an alias or an anchor: put it in quotes`
	case strings.ContainsAny(message, "`\"") || strings.Contains(message, "invalid map key"):
		return `a key or value does not fit the tag ("!!…") before it: remove the tag or put the value in quotes`
	}
	return message
}

// yamlTypeProblem is what a type error of the library says, without the value that it quotes.
func yamlTypeProblem(message string) string {
	if strings.Contains(message, "already defined at line") {
		return "the key stands twice in the same mapping: remove one of them"
	}
	switch target := message[strings.LastIndexByte(message, ' ')+1:]; {
	case target == "string":
		return "there has to be a text here, not a mapping or a list"
	case target == "bool":
		return "there has to be true or false here"
	case strings.HasPrefix(target, "[]"):
		return "there has to be a list here"
	}
	return "there has to be a mapping here"
}

// mostLines is up to how many lines yamlErrorPlace reads one beginning after the other.
const mostLines = 300

// yamlErrorPlace finds where a text stops being YAML. The library names the start of the block around the error, or
// nothing; the first line behind the longest beginning that can be read is nearer.
func yamlErrorPlace(text []byte, err error) (line, column int) {
	if _, after, ok := strings.Cut(err.Error(), "unknown anchor '"); ok {
		name, _, _ := strings.Cut(after, "'")
		return position(text, max(0, bytes.Index(text, []byte("*"+name))))
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > mostLines {
		line = max(1, yamlErrorLine(err.Error()))
		return line, max(1, firstColumn(text, line))
	}
	readable := len(lines) - 1
	for ; readable > 0; readable-- {
		var ignored yaml.Node
		if yaml.Unmarshal(bytes.Join(lines[:readable], nil), &ignored) == nil {
			break
		}
	}
	for line = readable + 1; line < len(lines) && firstColumn(text, line) == 0; {
		line++
	}
	return line, max(1, firstColumn(text, line))
}

func tabIndents(text []byte, line int) bool {
	return bytes.ContainsRune(lineOf(text, line)[:max(0, firstColumn(text, line)-1)], '\t')
}

// lineOf is a line of the text, which starts with line 1; nil when there is no such line.
func lineOf(text []byte, line int) []byte {
	lines := bytes.SplitN(text, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return nil
	}
	return lines[line-1]
}

// firstColumn is the column of the first character of the line that is not blank; 0 when there is none or it starts a comment.
func firstColumn(text []byte, line int) int {
	whole := lineOf(text, line)
	trimmed := bytes.TrimLeft(whole, " \t\r")
	if len(trimmed) == 0 || trimmed[0] == '#' {
		return 0
	}
	return len(whole) - len(trimmed) + 1
}
