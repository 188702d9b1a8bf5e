package openstack

import (
	"cmp"
	"regexp"
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
			confdoc.Secrets("cloud", "profile", "auth_type", "region_name", "volume_api_version", "endpoint_type",
				"interface"),
			[]confdoc.Field{
				{Name: "identity_api_version", Values: []string{"3", "2", "2.0"}, Secret: true},
				{Name: "regions", Is: confdoc.List, Of: &confdoc.Field{Is: confdoc.Any}, Secret: true},
				{Name: "verify", Is: confdoc.Bool, Pointer: true, Secret: true},
				{Name: "auth", Is: confdoc.Object, Secret: true, Fields: authFields},
			},
		), Secret: true}, Secret: true}},
}

var authFields = append(confdoc.Secrets("token", "username", "user_id", "password", "application_credential_id",
	"application_credential_name", "application_credential_secret", "system_scope", "project_name", "project_id",
	"user_domain_name", "user_domain_id", "project_domain_name", "project_domain_id", "domain_name", "domain_id",
	"default_domain"),
	confdoc.Field{Name: "allow_reauth", Is: confdoc.Bool, Secret: true},
	confdoc.Field{Name: "auth_url", Schemes: []string{"https", "http"}, Secret: true})

var endpointTypes = []string{"public", "internal", "admin"}

// cloudsFile is a clouds.yaml with the entry that the provider uses, nil if no entry can be used.
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
	if mistakes := (*run.Findings)[before:]; !c.Readable || mistakes.Has(diagnostic.Invalid) {
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
		c.Rejectf(all, "there is no cloud named openstack, only %s: rename the entry to openstack", strings.Join(names, ", "))
		return cloudsFile{}
	}
	for _, key := range []string{"profile", "cloud"} {
		if c.entry.String(key) != "" {
			c.Rejectf(c.entry.Get(key), "%s names an entry of a clouds-public.yaml, which the cloud-controller-manager "+
				"does not have: write its values here instead", key)
		}
	}
	c.checkAuth()
	c.checkUnread(run.HasCABundle())
	c.checkAuthValues(text)
	return c
}

// ownAuthTypes matches the login methods that gophercloud's clientconfig knows. It takes any other for a password.
var ownAuthTypes = regexp.MustCompile(`^(none|(v[23])?password|v3applicationcredential)$|token`)

// checkUnread reports settings that OpenStack's own tools read, but the provider does not.
func (c cloudsFile) checkUnread(hasCABundle bool) {
	if c.entry.String("region") != "" && c.entry.String("region_name") == "" {
		c.ignores(c.entry.Entry("region"), "write region_name")
	}
	if !hasCABundle {
		c.checkVerification()
	}
	if method := c.entry.String("auth_type"); method != "" && !ownAuthTypes.MatchString(method) {
		c.ignores(c.entry.Entry("auth_type"), "it logs in by password, or with an application credential")
	}
	c.checkLevel()
	for _, e := range c.entry.Members() {
		meant := confdoc.Nearest(e.Name, readSettings)
		switch {
		case strings.HasSuffix(e.Name, "_endpoint_override"):
			c.ignores(e, "it uses the endpoint in Keystone's catalog")
		case meant != "" && c.entry.Get(meant) == nil:
			c.ignores(e, "write "+meant)
		}
	}
}

// checkLevel reports settings below auth that belong beside it.
func (c cloudsFile) checkLevel() {
	for _, e := range c.entry.Get("auth").Members() {
		if slices.Contains(readSettings, e.Name) && c.entry.Get(e.Name) == nil {
			c.ignores(e, "write it beside auth")
		}
	}
}

func (c cloudsFile) ignores(e *confdoc.Entry, action string) {
	c.ReportAt(e.Position, diagnostic.Doubtful, "the cloud-controller-manager does not read this %s: %s", e.Name, action)
}

// checkVerification reports the first setting that would accept any certificate.
func (c cloudsFile) checkVerification() {
	const verifies = "it verifies certificates; put those of the CA under the key ca-bundle.pem beside the cloud " +
		"configuration"
	for _, setting := range []struct {
		in          *confdoc.Node
		name, value string
	}{{c.entry, "verify", "false"}, {c.entry.Get("auth"), "verify", "false"}, {c.entry, "insecure", "true"}} {
		if setting.in.String(setting.name) == setting.value {
			c.ignores(setting.in.Entry(setting.name), verifies)
			return
		}
	}
}

// readSettings are the keys beside auth that the provider reads and that matter for a login.
var readSettings = []string{"cacert", "auth_type", "region_name", "endpoint_type", "interface", "identity_api_version"}

// checkAuthValues reports values of auth that are probably not the intended ones.
func (c cloudsFile) checkAuthValues(text []byte) {
	lines := strings.Split(string(text), "\n")
	for _, e := range c.entry.Get("auth").Members() {
		n := e.Value
		isPlain := n.Kind == confdoc.TextNode && n.Style == 0 && n.Line > 0
		switch {
		case e.Name == "project_id" && isName.MatchString(n.Text):
			c.Reportf(n, diagnostic.Doubtful, "it looks like the name of a project, but must be the ID: write the ID, or "+
				"project_name and project_domain_name")
		case strings.HasSuffix(e.Name, "domain_id") && n.Text == "Default":
			c.Reportf(n, diagnostic.Doubtful, "it is the name of Keystone's first domain, whose ID is default: write it in "+
				"lower case, or write %s", strings.Replace(e.Name, "_id", "_name", 1))
		case isPlain && isSecretName(e.Name) && comment.MatchString(lines[n.Line-1]):
			c.Reportf(n, diagnostic.Doubtful, "%s ends before the number sign, which starts a comment here: if it belongs to "+
				"the value, put the value in quotes", e.Name)
		}
	}
}

// isName matches a text without digits. Keystone's IDs of projects are hexadecimal.
var isName = regexp.MustCompile(`^[^0-9<>${}]{3,}$`)

func isSecretName(name string) bool {
	return name == "password" || name == "application_credential_secret"
}

// comment matches a number sign that starts a comment in YAML, and that looks like a part of the value before it.
var comment = regexp.MustCompile(`\S[ \t]#[^ \t#]`)

func (c cloudsFile) checkAuth() {
	isMeant := func(e *confdoc.Entry) bool { return readName(e.Name) == "auth_url" }
	if c.entry.Get("auth") == nil {
		c.Rejectf(c.entry, "the cloud openstack has no auth: "+
			"write a mapping with auth_url and an application credential or a user and password")
	} else if c.entry.String("auth", "auth_url") == "" && !slices.ContainsFunc(c.settings(), isMeant) {
		c.Rejectf(c.entry.Get("auth"),
			"auth has no auth_url: write the address of Keystone, such as https://keystone.example.com:5000/v3")
	}
	c.checkKeystoneV2()
}

// noKeystoneV2 is the message about a Keystone API that OpenStack removed in its release Queens.
const noKeystoneV2 = " asks for version 2 of Keystone's API, which OpenStack removed in 2018"

// isKeystoneV2 reports whether gophercloud logs in with API v2 at the address, regardless of the other settings
// (ChooseVersion in openstack/utils/choose_version.go).
func isKeystoneV2(address string) bool {
	return strings.HasSuffix(strings.TrimSuffix(address, "/"), "/v2.0")
}

// checkKeystoneV2 reports settings that ask for API v2. They have no effect if others ask for v3.
func (c cloudsFile) checkKeystoneV2() {
	kind := diagnostic.Doubtful
	if c.asksKeystoneV2() {
		kind = diagnostic.Typo
	}
	auth, version, method := c.entry.Get("auth"), c.entry.Get("identity_api_version"), c.entry.Get("auth_type")
	switch address := auth.String("auth_url"); {
	case isKeystoneV2(address):
		c.Reportf(auth.Get("auth_url"), diagnostic.Typo, "auth_url%s: write .../v3", noKeystoneV2)
	case version.String() != "" && version.Text != "3":
		c.Reportf(version, kind, "identity_api_version%s: write 3, and an auth_url that ends in .../v3", noKeystoneV2)
	case strings.HasPrefix(method.String(), "v2"):
		c.Reportf(method, kind, "auth_type%s: remove the line, and write an auth_url that ends in .../v3", noKeystoneV2)
	}
}

const noSecret = "auth has neither an application_credential_secret, nor a password, nor a token"

type auth map[string]string

func (c cloudsFile) auth() auth {
	a := auth{}
	for _, e := range c.entry.Get("auth").Members() {
		a[e.Name] = e.Value.Text
	}
	return a
}

// loginProblem returns the reason why the provider would exit before it sends a request to Keystone, and the key of
// auth that causes it. Both are empty if the provider would send a request. The rules are gophercloud's for Keystone's
// API v3 (clientconfig.AuthOptions of utils v2, ToTokenV3ScopeMap and ToTokenV3CreateMap of v2.12.0). It does not check
// v2.
func (c cloudsFile) loginProblem(a auth) (key, problem string) {
	kind := c.entry.String("auth_type")
	if c.asksKeystoneV2() {
		return "", ""
	}
	if a.hasApplicationCredential() || a.hasAny("project_id", "project_name") {
		a.fillDomains()
	}
	if strings.Contains(kind, "token") || a["token"] != "" {
		for _, key := range []string{"username", "user_id", "password", "user_domain_id", "user_domain_name"} {
			delete(a, key)
		}
	}
	if key, problem = a.scopeProblem(); problem != "" {
		return key, problem
	}
	switch {
	case a["password"] != "":
		return a.userProblem()
	case a["token"] != "":
		return "", ""
	case strings.Contains(kind, "token") && !a.hasApplicationCredential():
		return "", "auth_type says that auth has a token, but it has none: add the token or remove auth_type"
	}
	return a.applicationCredentialProblem()
}

// readName maps a name that gophercloud does not read to the key of auth that the user probably meant: a former name
// that OpenStack's own tools still read, an environment variable, or a setting of cloud.conf. It returns an empty
// string for any other name.
func readName(name string) string {
	name, _ = strings.CutPrefix(strings.ToLower(name), "os_")
	name = strings.Replace(name, "tenant", "project", 1)
	i := slices.IndexFunc(authFields, func(field confdoc.Field) bool { return confdoc.SameName(field.Name, name) })
	if i < 0 {
		return ""
	}
	return authFields[i].Name
}

// settings returns the keys of auth, and those beside it, where OpenStack's own tools read the keys of auth too.
func (c cloudsFile) settings() []*confdoc.Entry {
	return slices.Concat(c.entry.Get("auth").Members(), c.entry.Members())
}

// checkUnreadNames reports keys of auth that only readName knows, and those beside auth: without a project, the login
// has no catalog unless the user has a default project. If the provider would exit because of such a key, it returns
// auth as the user meant it, so that the mistake is not reported twice.
func (c cloudsFile) checkUnreadNames() auth {
	read, meant, kind := c.auth(), c.auth(), diagnostic.Typo
	if _, problem := c.loginProblem(c.auth()); problem != "" {
		kind = diagnostic.Invalid
	} else if read.hasApplicationCredential() {
		kind = diagnostic.Doubtful // it has its own project
	}
	for _, e := range c.settings() {
		name := readName(e.Name)
		if name == "" || e.Value.Text == "" || read[name] != "" {
			continue
		}
		meant[name] = e.Value.Text
		if name == "auth_url" {
			kind = diagnostic.Invalid
		}
		format := "the cloud-controller-manager does not read %s: write %s"
		if c.entry.Entry(e.Name) == e {
			format = "the cloud-controller-manager does not read %s here: write %s below auth"
		}
		c.Reportf(e.Value, kind, format, e.Name, name)
	}
	if kind == diagnostic.Invalid {
		return meant
	}
	return read
}

func (c cloudsFile) asksKeystoneV2() bool {
	version, address := c.entry.String("identity_api_version"), c.entry.String("auth", "auth_url")
	switch {
	case version != "":
		return version != "3"
	case strings.Contains(address, "v3"):
		return false
	case strings.Contains(address, "v2.0"):
		return true
	}
	return slices.Contains([]string{"v2password", "v2token"}, c.entry.String("auth_type"))
}

func (a auth) hasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return a[key] != "" })
}

func (a auth) hasApplicationCredential() bool {
	return a.hasAny("application_credential_id", "application_credential_name", "application_credential_secret")
}

// fillDomains sets missing domains of the user and the project from domain_id, domain_name and default_domain.
func (a auth) fillDomains() {
	for _, owner := range []string{"user", "project"} {
		id, name := owner+"_domain_id", owner+"_domain_name"
		a[id], a[name] = cmp.Or(a[id], a["domain_id"]), cmp.Or(a[name], a["domain_name"])
		if !a.hasAny(id, name) {
			a[id] = a["default_domain"]
		}
	}
	delete(a, "domain_id")
	delete(a, "domain_name")
}

func (a auth) scopeProblem() (key, problem string) {
	switch {
	case a.hasApplicationCredential():
		if a["token"] != "" {
			return "token", "auth has both a token and an application credential: remove the token"
		}
	case a.hasAny("project_id", "project_name"):
		if a["project_id"] == "" && a["project_domain_id"] == "" && a["project_domain_name"] == "" {
			return "project_name", "project_name needs its domain: add project_domain_name"
		}
	case a["token"] != "" && a["domain_id"] == "" && a["domain_name"] == "" && a["system_scope"] == "":
		return "token", "a token needs a project: add project_id"
	}
	return "", ""
}

func (a auth) userProblem() (key, problem string) {
	switch {
	case a["username"] == "" && a["user_id"] == "":
		return "password", "auth has a password but no user: add username"
	case a["username"] != "" && a["user_id"] != "":
		return "user_id", "auth has both username and user_id: remove one of them"
	case a["user_id"] != "" && a.hasAny("user_domain_id", "user_domain_name"):
		return "user_id", "user_id needs no domain, and the cloud-controller-manager rejects one: " +
			"remove the domain of the user, or use username"
	case a["username"] != "" && a["user_domain_id"] != "" && a["user_domain_name"] != "":
		return "username", "the domain of the user is set by ID and by name: remove one of them"
	case a["username"] != "" && !a.hasAny("user_domain_id", "user_domain_name"):
		return "username", "username needs its domain: add user_domain_name"
	}
	return "", ""
}

func (a auth) applicationCredentialProblem() (key, problem string) {
	switch {
	case a["application_credential_id"] == "" && a["application_credential_name"] == "":
		if a["application_credential_secret"] != "" {
			return "application_credential_secret", "application_credential_secret needs application_credential_id: add it"
		}
		return "", noSecret
	case a["application_credential_secret"] == "":
		return "", "auth has an application credential without application_credential_secret: add it"
	case a["application_credential_id"] != "" || a["user_id"] != "":
		return "", ""
	case a["username"] == "":
		return "application_credential_name", "application_credential_name needs the user: " +
			"add user_id, or use application_credential_id"
	case !a.hasAny("user_domain_id", "user_domain_name"):
		return "username", "username needs its domain: add user_domain_name"
	}
	return "", ""
}
