// Package openstack rewrites configurations for cloud-provider-openstack.
package openstack

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// openStackCloud is the entry of clouds.yaml that contains the credentials of an OpenShift cluster.
	openStackCloud = "openstack"
	cloudsKey      = "clouds.yaml"
)

// rewriter is the state of one run of Rewrite.
type rewriter struct {
	src         clouds.Source
	config      *confdoc.Document
	clouds      cloudsFile
	diagnostics diagnostic.List
}

// Rewrite checks and rewrites an OpenStack cloud.conf, and checks the clouds.yaml and the CA bundle that belong to it.
//
// The text is what k8s.io/cloud-provider-openstack v1.36.0 reads. Rewrite reports everything that the provider would
// reject. It makes the provider log in with clouds.yaml, drops keys that only the in-tree provider read, sets
// OpenShift's defaults for load balancers (max-shared-lb = 1, manage-security-groups = true) if they are unset, and
// points ca-file to the delivered CA bundle. An empty configuration consists of the defaults alone. Unknown keys are
// kept because a newer provider may know them. Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	o := &rewriter{src: src}
	reader := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig}
	o.config = reader.Read(o.text(), &o.diagnostics)
	o.clouds = readClouds(src, &o.diagnostics)
	o.checkValues()
	o.checkLogin()
	o.checkKeystone()
	o.checkClientCertificate()
	o.useClouds()
	o.useCABundle()
	o.setDefaults()
	return clouds.Finish(o.diagnostics, clouds.Result{Config: o.config.Encode(), Credentials: src.Credentials})
}

// text returns the user's configuration, or one with defaults only. A cluster that was installed without a
// configuration has clouds.yaml, which is sufficient. In a running cluster a configuration that becomes empty is more
// likely a mistake, so it is reported.
func (o *rewriter) text() []byte {
	if len(bytes.TrimSpace(o.src.Config)) > 0 {
		return o.src.Config
	}
	state := "empty"
	if o.src.Config == nil {
		state = "missing"
	}
	o.diagnostics.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Typo,
		Message: "there is no cloud configuration: it is " + state +
			"; write at least the line [Global] to have OpenShift's defaults, " +
			"which a first installation gets without it"})
	return []byte("[Global]\n")
}

// checkValues reports values that can be read, but for which the provider exits or does nothing.
func (o *rewriter) checkValues() {
	if order := o.config.Value("Metadata", "search-order"); order != nil && order.Text != "" &&
		!isSearchOrder(order.Text) {
		o.config.ReportAt(order, diagnostic.Invalid,
			fmt.Sprintf("search-order is %s, but must be configDrive, metadataService or both, separated by a comma",
				confdoc.Quoted(order.Text)))
	}
	balancer := o.config.Value("LoadBalancer")
	if version := balancer.String("lb-version"); version != "" && version != "v2" &&
		balancer.String("enabled") != "false" {
		o.config.ReportAt(balancer.Get("lb-version"), diagnostic.Invalid,
			fmt.Sprintf("lb-version is %s, but only v2 is supported: remove the line", confdoc.Quoted(version)))
	}
}

// checkKeystone reports an auth-url that would send the login of clouds.yaml to another server: the provider reads the
// address from cloud.conf and the secret from clouds.yaml. Messages do not contain values of clouds.yaml.
func (o *rewriter) checkKeystone() {
	global := o.config.Value("Global")
	if global.String("tls-insecure") == "true" {
		o.config.ReportAt(global.Get("tls-insecure"), diagnostic.Insecure, "tls-insecure is true: "+
			"anyone between the nodes and Keystone can read the credentials; "+
			"put the CA certificates under the key ca-bundle.pem beside the cloud configuration instead")
	}
	named, secret := global.String("auth-url"), o.clouds.entry.String("auth", "auth_url")
	if named == "" || clouds.HostOf(secret) == "" {
		return
	}
	var difference string
	switch {
	case clouds.HostOf(named) != clouds.HostOf(secret):
		difference = "names another host"
	case clouds.IsTLS(secret) && !clouds.IsTLS(named):
		difference = "uses TLS"
	default:
		return
	}
	o.config.ReportAt(global.Get("auth-url"), diagnostic.Redirected, fmt.Sprintf(
		"auth-url is %s, but auth.auth_url of clouds.yaml in the credentials Secret %s: "+
			"the cloud-controller-manager would send its credentials there; remove the line",
		confdoc.Quoted(
			named), difference))
}

// checkLogin reports credentials that cannot be used to log in. The provider reads the credentials from clouds.yaml
// even if cloud.conf has some, except for those of a trustee.
func (o *rewriter) checkLogin() {
	auth := o.clouds.entry.Get("auth")
	if auth == nil {
		return // reported
	}
	key, problem := o.clouds.loginProblem()
	if o.config.Text("Global", "trust-id") != "" {
		key, problem = "", ""
		hasSecret := o.clouds.auth().hasAny("password", "application_credential_secret", "token")
		if !hasSecret && o.config.Text("Global", "trustee-password") == "" {
			problem = noSecret
		}
	}
	if problem == "" {
		return
	}
	if at := auth.Get(key); at != nil {
		auth = at
	}
	o.clouds.ReportAt(auth, diagnostic.Invalid, problem)
}

func isSearchOrder(order string) bool {
	elements := strings.Split(order, ",")
	for _, e := range elements {
		if e = strings.TrimSpace(e); e != "configDrive" && e != "metadataService" {
			return false
		}
	}
	return len(elements) <= 2
}

// checkClientCertificate reports a client certificate whose files will not exist. The provider ignores a certificate
// without a key, and a key without a certificate.
func (o *rewriter) checkClientCertificate() {
	type file struct {
		*confdoc.Document
		*confdoc.Node
	}
	var files []file
	for _, name := range [][2]string{{"cert-file", "cert"}, {"key-file", "key"}} {
		if n := o.config.Value("Global", name[0]); n != nil && n.Text != "" {
			files = append(files, file{o.config, n})
		} else if n := o.clouds.entry.Get(name[1]); n != nil && n.Text != "" {
			files = append(files, file{o.clouds.Document, n})
		}
	}
	for _, f := range files {
		if len(files) == 2 && !o.delivered(f.Node.Text) {
			f.ReportAt(f.Node, diagnostic.Invalid, fmt.Sprintf(
				"%s will not exist for the cloud-controller-manager: "+
					"only the keys of the credentials Secret are delivered, in %s",
				confdoc.Quoted(f.Node.Text), o.src.Paths.Credentials))
		}
	}
}

// delivered reports whether the file will exist for the provider. A file in the trust store of the provider's image
// cannot be checked here and is assumed to exist.
func (o *rewriter) delivered(file string) bool {
	if file == o.src.Paths.CABundle {
		return o.hasCABundle()
	}
	if path.Dir(file) == o.src.Paths.Credentials {
		_, ok := o.src.Credentials[path.Base(file)]
		return ok || o.src.CredentialsUnknown
	}
	return strings.HasPrefix(file, "/etc/pki/") || strings.HasPrefix(file, "/etc/ssl/")
}

// hasCABundle reports whether the CA bundle is not empty. An empty file would make the provider exit.
func (o *rewriter) hasCABundle() bool {
	return len(bytes.TrimSpace(o.src.CABundle)) > 0
}

// useClouds makes the provider log in with the delivered clouds.yaml. It writes its keys at the end of [Global], in
// this order.
func (o *rewriter) useClouds() {
	const reason = "the cloud-controller-manager logs in with the clouds.yaml of its own credentials Secret"
	global := o.config.First("Global")
	for _, ours := range []struct {
		key   string
		value *confdoc.Node
	}{
		{"use-clouds", confdoc.NewBool(true)},
		{"clouds-file", confdoc.NewText(path.Join(o.src.Paths.Credentials, cloudsKey))},
		{"cloud", confdoc.NewText(openStackCloud)},
	} {
		o.config.Put(ours.value, diagnostic.Rewritten, reason, "Global", ours.key)
		global.Drop(ours.key)
		global.Set(ours.key, ours.value)
	}
}

// useCABundle sets ca-file to a file that exists. The ca-file of cloud.conf takes precedence over the cacert of
// clouds.yaml.
func (o *rewriter) useCABundle() {
	const action = "put the CA certificates under the key ca-bundle.pem beside the cloud configuration, " +
		"or remove the line"
	named, ours := o.config.Value("Global", "ca-file"), o.src.Paths.CABundle
	isNamed := named != nil && named.Text != ""
	missing := func(d *confdoc.Document, key string, file *confdoc.Node) {
		d.ReportAt(file, diagnostic.Invalid,
			fmt.Sprintf("%s is %s, which will not exist for the cloud-controller-manager: %s",
				key, confdoc.Quoted(file.Text), action))
	}
	switch {
	case isNamed && named.Text != ours && o.delivered(named.Text):
		return
	case o.hasCABundle():
		file := confdoc.NewText(ours)
		o.config.Put(file, diagnostic.Rewritten, "the ca-bundle.pem of the cloud configuration is delivered there",
			"Global", "ca-file")
		global := o.config.Value("Global")
		global.Drop("ca-file")
		global.Set("ca-file", file)
		clouds.CheckCABundle(o.src.CABundle, &o.diagnostics)
	case isNamed:
		missing(o.config, "ca-file", named)
	default:
		if cacert := o.clouds.entry.Get("cacert"); cacert != nil && cacert.Text != "" && !o.delivered(cacert.Text) {
			missing(o.clouds.Document, "cacert", cacert)
		}
	}
}

// setDefaults sets OpenShift's defaults for unset keys: Services do not share load balancers, and the load balancers
// manage security groups so that they can reach the nodes.
func (o *rewriter) setDefaults() {
	const openShift = "by OpenShift's default "
	balancer := o.config.Section("LoadBalancer")
	if balancer.Get("max-shared-lb") == nil {
		o.config.Put(confdoc.NewInt(1), diagnostic.Adapted, openShift+"no two Services share a load balancer",
			"LoadBalancer", "max-shared-lb")
	}
	if balancer.Get("manage-security-groups") == nil {
		o.config.Put(confdoc.NewBool(true), diagnostic.Adapted, openShift+"the load balancers may reach the nodes",
			"LoadBalancer", "manage-security-groups")
	}
}
