// Package openstack rewrites configurations for cloud-provider-openstack.
package openstack

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// openStackCloud is the entry of clouds.yaml with the credentials of an OpenShift cluster.
	openStackCloud = "openstack"
	cloudsKey      = "clouds.yaml"
)

type rewriter struct {
	clouds.Run
	login cloudsFile
}

// Rewrite checks and rewrites an OpenStack cloud.conf, and checks the clouds.yaml and the CA bundle that belong to it.
//
// The text is what k8s.io/cloud-provider-openstack v1.36.0 reads. Rewrite reports everything that the provider would
// reject. It makes the provider log in with clouds.yaml, drops keys that only the in-tree provider read, sets
// OpenShift's defaults for load balancers (max-shared-lb = 1, manage-security-groups = true) if they are unset, and
// points ca-file to the delivered CA bundle. An empty configuration consists of the defaults alone. Unknown keys are
// kept because a newer provider may know them. Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	isMissing, state := len(bytes.TrimSpace(src.Config)) == 0, "empty"
	if src.Config == nil {
		state = "missing"
	}
	if isMissing {
		src.Config = []byte("[Global]\n")
	}
	rewritten := useGcfgSyntax(&src)
	o := rewriter{Run: clouds.NewRun(src, confdoc.Reader{Format: confdoc.INI, Fields: schema})}
	for _, at := range rewritten {
		o.ReportAt(at, diagnostic.Rewritten, "the cloud-controller-manager gets this line as key = \"value\", because it "+
			"does not know a colon and single quotes: write it so")
	}
	if isMissing {
		// At a first installation, clouds.yaml is sufficient. In a running cluster, a configuration that becomes empty is
		// probably a mistake.
		o.Reportf(nil, diagnostic.Typo, "there is no cloud configuration: it is %s; write at least the line [Global] "+
			"to have OpenShift's defaults, which a first installation gets without it", state)
	}
	o.login = readClouds(o.Run)
	o.checkValues()
	o.checkLoadBalancers()
	o.checkNetworks()
	o.checkLogin()
	o.checkKeystone()
	o.checkRegion()
	o.checkIdentity()
	o.dropUnusedSecrets()
	o.checkClientCertificate()
	o.useClouds()
	o.useCABundle()
	const openShift = "by OpenShift's default "
	o.Default(confdoc.NewInt(1), openShift+"no two Services share a load balancer", "LoadBalancer", "max-shared-lb")
	o.Default(confdoc.NewBool(true), openShift+"the load balancers may reach the nodes",
		"LoadBalancer", "manage-security-groups")
	return o.Finish(clouds.Result{Config: o.Encode(), Credentials: src.Credentials})
}

// goINISetting matches a setting, its separator and a value in single quotes.
var goINISetting = regexp.MustCompile(
	`(?m)^[ \t]*[A-Za-z][A-Za-z0-9-]*[ \t]*(=|:[ \t])[ \t]*(?:('[^'"\\#;\r\n]*')[ \t\r]*(?:[#;].*)?$)?`)

// useGcfgSyntax replaces what go-ini reads and gcfg does not: a byte-order mark, colons and single quotes. The
// predecessor read the configuration with go-ini and gave the provider the result, so clusters work with them. It
// returns the positions of the changed lines.
func useGcfgSyntax(src *clouds.Source) []confdoc.Position {
	if !confdoc.LooksLikeINI(src.Config) {
		return nil
	}
	src.Config = bytes.Clone(bytes.TrimPrefix(src.Config, []byte("\ufeff")))
	var changed []confdoc.Position
	line, counted := 1, 0
	for _, at := range goINISetting.FindAllSubmatchIndex(src.Config, -1) {
		separator, first, last := at[2], at[4], at[5]-1
		isContinued := bytes.HasSuffix(src.Config[:at[0]], []byte("\\\n"))
		if isContinued || src.Config[separator] == '=' && first < 0 {
			continue
		}
		src.Config[separator] = '='
		if first >= 0 {
			src.Config[first], src.Config[last] = '"', '"'
		}
		line, counted = line+bytes.Count(src.Config[counted:separator], []byte("\n")), separator
		changed = append(changed, confdoc.Position{Line: line, Column: separator - at[0] + 1})
	}
	return changed
}

// checkValues reports values that can be read, but with which the provider exits or has no effect.
func (o rewriter) checkValues() {
	balancer := o.Value("LoadBalancer")
	version := balancer.String("lb-version")
	if version != "" && version != "v2" && balancer.String("enabled") != "false" {
		o.Rejectf(balancer.Get("lb-version"), "lb-version is %s, but only v2 is supported: remove the line",
			confdoc.Quoted(version))
	}
	// The timeout applies to all requests (NewOpenStack in pkg/openstack/openstack.go).
	timeout := o.Value("Metadata", "request-timeout")
	if named, err := time.ParseDuration(timeout.String()); err == nil && named > 0 && named < time.Second {
		o.Reportf(timeout, diagnostic.Doubtful, "request-timeout is %s, within which few requests to OpenStack end: "+
			"write 1s or more", named)
	}
	switch insecure := o.Text("Global", "tls-insecure"); {
	case insecure == "true":
		o.Reportf(o.Value("Global", "tls-insecure"), diagnostic.Insecure, "tls-insecure is true: "+
			"anyone between the nodes and Keystone can read the credentials; "+
			"put the CA certificates under the key ca-bundle.pem beside the cloud configuration instead")
	case slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(insecure)):
		o.Reportf(o.Value("Global", "tls-insecure"), diagnostic.Doubtful, "tls-insecure is %s, which the "+
			"cloud-controller-manager takes for false, as every value except true: remove the line", confdoc.Quoted(insecure))
	}
}

// keystonePorts are Keystone's own, its former one for administrators, the one that TripleO's proxy serves with TLS,
// and those of a web server, where Keystone usually has a path.
var keystonePorts = []string{"5000", "35357", "13000", "443", "80"}

// checkKeystone reports an auth-url that would send the login of clouds.yaml to another server: the provider reads the
// address from cloud.conf and the secret from clouds.yaml. Messages contain no values of clouds.yaml.
func (o rewriter) checkKeystone() {
	named, secret := o.Text("Global", "auth-url"), o.login.entry.String("auth", "auth_url")
	if isKeystoneV2(named) {
		o.Reportf(o.Value("Global", "auth-url"), diagnostic.Typo, "auth-url%s: write .../v3", noKeystoneV2)
	}
	const would = "would send its credentials there; remove the line"
	var kind diagnostic.Kind
	var difference, effect string
	switch {
	case named == "" || clouds.HostOf(secret) == "":
		return
	case clouds.HostOf(named) != clouds.HostOf(secret):
		kind, difference, effect = diagnostic.Redirected, "names another host", would
	case clouds.IsTLS(secret) && !clouds.IsTLS(named):
		kind, difference, effect = diagnostic.Redirected, "uses TLS", would
	case clouds.PortOf(named) != clouds.PortOf(secret) && !slices.Contains(keystonePorts, clouds.PortOf(named)):
		kind, difference = diagnostic.Doubtful, "names another port"
		effect = "sends its credentials there; remove the line, unless both are Keystone's"
	default:
		return
	}
	o.Reportf(o.Value("Global", "auth-url"), kind,
		"auth-url is %s, but auth.auth_url of clouds.yaml in the credentials Secret %s: the cloud-controller-manager %s",
		confdoc.Quoted(named), difference, effect)
}

// checkRegion reports a region that contradicts the credentials. The provider uses the region of cloud.conf. If the
// project of clouds.yaml has no endpoints there, it exits once it leads. Messages contain no values of clouds.yaml.
func (o rewriter) checkRegion() {
	named, secret := o.Text("Global", "region"), o.login.entry.String("region_name")
	if regions := o.login.entry.Get("regions"); named+secret == "" && regions != nil && len(regions.Items) > 0 {
		o.login.Reportf(regions, diagnostic.Doubtful, "the cloud-controller-manager does not read this list, and without a "+
			"region it uses the first endpoint of any: write region_name")
	}
	if named == "" || secret == "" || named == secret {
		return
	}
	o.Reportf(o.Value("Global", "region"), diagnostic.Ambiguous,
		"region is %s, but region_name of clouds.yaml in the credentials Secret is another one: write the same region in "+
			"both, or remove one of them", confdoc.Quoted(named))
}

// identity maps the keys of [Global] for the user, the project and the domains to the keys of auth for the same.
var identity = []struct {
	global string
	auth   []string
}{
	{"username", []string{"username"}}, {"user-id", []string{"user_id"}},
	{"tenant-name", []string{"project_name"}}, {"tenant-id", []string{"project_id"}},
	{"tenant-domain-name", []string{"project_domain_name"}}, {"tenant-domain-id", []string{"project_domain_id"}},
	{"user-domain-name", []string{"user_domain_name"}}, {"user-domain-id", []string{"user_domain_id"}},
	{"domain-name", []string{"domain_name", "user_domain_name", "project_domain_name"}},
	{"domain-id", []string{"domain_id", "user_domain_id", "project_domain_id", "default_domain"}},
	{"application-credential-name", []string{"application_credential_name"}},
	{"application-credential-id", []string{"application_credential_id"}},
}

// checkIdentity reports a user, a project or a domain that contradicts the credentials. The provider logs in with those
// of clouds.yaml: ToAuthOptions in pkg/client/client.go names the entry, for which gophercloud reads the file again.
// Keystone compares names without case. Messages contain no values of clouds.yaml.
func (o rewriter) checkIdentity() {
	secret := o.login.auth()
	for _, key := range identity {
		named := o.Text("Global", key.global)
		other := slices.IndexFunc(key.auth, func(name string) bool { return secret[name] != "" })
		isSame := func(name string) bool { return strings.EqualFold(secret[name], named) }
		if named == "" || other < 0 || slices.ContainsFunc(key.auth, isSame) {
			continue
		}
		o.Reportf(o.Value("Global", key.global), diagnostic.Ambiguous,
			"%s is %s, but %s of clouds.yaml in the credentials Secret, with which the cloud-controller-manager logs in, is "+
				"another one: remove the line", key.global, confdoc.Quoted(named), key.auth[other])
	}
}

// dropUnusedSecrets drops the secrets of [Global], which would otherwise be copied to every node: the provider logs in
// with clouds.yaml, except for a trustee.
func (o rewriter) dropUnusedSecrets() {
	if o.Text("Global", "trust-id") != "" {
		return
	}
	for _, key := range []string{"password", "trustee-password", "token", "application-credential-secret"} {
		if n := o.Value("Global", key); n.String() != "" {
			o.Reportf(n, diagnostic.Rewritten, "%s in [Global] is dropped, because the cloud-controller-manager logs in with "+
				"the clouds.yaml of the credentials Secret: remove it, as everyone who may read the ConfigMap can read this secret",
				key)
			*o.Findings = slices.DeleteFunc(*o.Findings, func(d diagnostic.Diagnostic) bool {
				return d.Line == n.Line && d.Kind == diagnostic.Typo // for example where a comment cuts the secret
			})
			for _, rest := range o.wrapped(key) {
				o.Drop("Global", rest)
			}
			o.Drop("Global", key)
		}
	}
}

// wrapped returns the keys without a value that follow a key of [Global]: probably the rest of a wrapped value.
func (o rewriter) wrapped(key string) []string {
	entries := o.Value("Global").Members()
	var rest []string
	for _, e := range entries[1+slices.IndexFunc(entries, func(e *confdoc.Entry) bool { return e.Name == key }):] {
		if !e.Value.Blank {
			break
		}
		rest = append(rest, e.Name)
	}
	return rest
}

// checkLogin reports credentials that cannot log in. The provider reads the credentials from clouds.yaml even if
// cloud.conf has some, except for those of a trustee.
func (o rewriter) checkLogin() {
	auth := o.login.entry.Get("auth")
	if auth == nil {
		return // reported
	}
	o.checkEndpointType()
	o.checkScope()
	key, problem := o.login.loginProblem(o.login.checkUnreadNames())
	if o.Text("Global", "trust-id") != "" {
		key, problem = "", ""
		hasSecret := o.login.auth().hasAny("password", "application_credential_secret", "token")
		if !hasSecret && o.Text("Global", "trustee-password") == "" {
			problem = noSecret
		}
	}
	if problem != "" {
		o.login.Rejectf(cmp.Or(auth.Get(key), auth), "%s", problem)
	}
}

// checkEndpointType reports the endpoint type of clouds.yaml if it is the one that counts: cloud.conf precedes it
// (ReadClouds in pkg/client/client.go), and endpoint_type precedes interface (GetCloudFromYAML in clientconfig).
func (o rewriter) checkEndpointType() {
	entry := o.login.entry
	for _, key := range []string{"endpoint_type", "interface"} {
		switch value := entry.String(key); {
		case o.Text("Global", "os-endpoint-type") != "" || slices.Contains(endpointTypes, value):
			return
		case value != "":
			o.login.Rejectf(entry.Get(key), "clouds.openstack.%s is a hidden value, but must be public, internal or admin", key)
			return
		}
	}
}

// checkScope reports a user without a project. Such a login gets no catalog of services unless the user has a default
// project, and then the provider exits once it leads. With auth in clouds.yaml, gophercloud ignores the project of
// cloud.conf (AuthOptions in clientconfig). A password precedes an application credential, but has no scope beside one.
func (o rewriter) checkScope() {
	auth := o.login.entry.Get("auth")
	namesProject := slices.ContainsFunc(o.login.settings(), func(e *confdoc.Entry) bool {
		return e.Value.Text != "" && slices.Contains([]string{"project_id", "project_name"}, readName(e.Name))
	})
	const finds = "unless the user has a default project, the login finds no services, and the cloud-controller-manager " +
		"exits once it leads; "
	ofConf := cmp.Or(o.Value("Global", "tenant-id"), o.Value("Global", "tenant-name"))
	switch {
	case o.Text("Global", "trust-id") != "", o.login.asksKeystoneV2():
	case auth.String("token") != "":
		o.login.Reportf(auth.Get("token"), diagnostic.Doubtful, "the token expires, and the cloud-controller-manager cannot "+
			"renew it: use an application credential instead")
	case auth.String("password") == "":
	case o.login.auth().hasApplicationCredential():
		o.login.Reportf(auth.Get("password"), diagnostic.Doubtful, "auth has both a password and an application "+
			"credential, and the cloud-controller-manager uses the password without a project: "+finds+"remove password and "+
			"username")
	case namesProject:
	case ofConf.String() != "":
		o.login.Reportf(auth, diagnostic.Doubtful, "auth names no project, and the cloud-controller-manager ignores that of "+
			"[Global]: "+finds+"move it to auth as project_id or project_name")
	default:
		o.login.Reportf(auth, diagnostic.Doubtful, "auth names no project: "+finds+"add project_id")
	}
}

// file is a key of cloud.conf or clouds.yaml that names a file. The path is nil if the key is not set.
type file struct {
	*confdoc.Document
	key  string
	path *confdoc.Node
}

// fileOf returns the file that cloud.conf names, by default the one that clouds.yaml names.
func (o rewriter) fileOf(globalKey, cloudsKey string) file {
	if n := o.Value("Global", globalKey); n.String() != "" {
		return file{o.Document, globalKey, n}
	}
	return file{o.login.Document, cloudsKey, o.login.entry.Get(cloudsKey)}
}

// checkClientCertificate reports a client certificate whose files will not exist. The provider ignores a certificate
// without a key, and a key without a certificate.
func (o rewriter) checkClientCertificate() {
	cert, key := o.fileOf("cert-file", "cert"), o.fileOf("key-file", "key")
	if cert.path.String() == "" || key.path.String() == "" {
		return
	}
	for _, f := range []file{cert, key} {
		if !o.delivered(f.path.Text) {
			f.Rejectf(f.path, "%s will not exist for the cloud-controller-manager: only the keys of the credentials Secret "+
				"are delivered, in %s", confdoc.Quoted(f.path.Text), o.Paths.Credentials)
		}
	}
}

func (o rewriter) delivered(file string) bool {
	switch {
	case file == o.Paths.CABundle:
		return o.HasCABundle()
	case path.Dir(file) == o.Paths.Credentials:
		_, ok := o.Credentials[path.Base(file)]
		return ok || o.CredentialsUnknown
	}
	return clouds.IsTrustStore(file)
}

func (o rewriter) useClouds() {
	const reason = "the cloud-controller-manager logs in with the clouds.yaml of its own credentials Secret"
	o.AddSection("Global")
	o.putLast("use-clouds", confdoc.NewBool(true), reason)
	if o.Text("Global", "clouds-file") == "/etc/openstack/secret/clouds.yaml" {
		o.Drop("Global", "clouds-file") // the path in OpenShift's documentation, where the predecessor mounts the Secret
	}
	o.putLast("clouds-file", confdoc.NewText(path.Join(o.Paths.Credentials, cloudsKey)), reason)
	o.putLast("cloud", confdoc.NewText(openStackCloud), reason)
}

func (o rewriter) putLast(key string, value *confdoc.Node, reason string) {
	o.Put(value, diagnostic.Rewritten, reason, "Global", key)
	o.Drop("Global", key)
	o.Set(value, "Global", key)
}

// useCABundle sets ca-file to the delivered CA bundle, unless it names another file that exists. The ca-file of
// cloud.conf takes precedence over the cacert of clouds.yaml.
func (o rewriter) useCABundle() {
	named, file := o.Text("Global", "ca-file"), o.fileOf("ca-file", "cacert")
	switch {
	case named != "" && named != o.Paths.CABundle && o.delivered(named):
	case o.HasCABundle():
		o.putLast("ca-file", confdoc.NewText(o.Paths.CABundle),
			"the ca-bundle.pem of the cloud configuration is delivered there")
		o.CheckCABundle()
	case file.path.String() != "" && !o.delivered(file.path.Text):
		file.Rejectf(file.path, "%s is %s, which will not exist for the cloud-controller-manager: put the CA certificates "+
			"under the key ca-bundle.pem beside the cloud configuration, or remove the line",
			file.key, confdoc.Quoted(file.path.Text))
	}
}
