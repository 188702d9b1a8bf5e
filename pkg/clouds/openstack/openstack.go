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
	// openStackCloud is the entry of clouds.yaml that the credentials of an OpenShift cluster stand under.
	openStackCloud = "openstack"
	cloudsKey      = "clouds.yaml"
)

// rewriter is one run of the OpenStack function.
type rewriter struct {
	src      clouds.Source
	config   *confdoc.Document
	clouds   cloudsFile
	findings diagnostic.List
}

// Rewrite checks and rewrites an OpenStack cloud.conf, and checks the clouds.yaml and the CA bundle that it is used with.
//
// The text is what k8s.io/cloud-provider-openstack v1.36.0 reads: nothing passes that it would refuse. The rewriting makes
// it log in with clouds.yaml, drops what only the in-tree provider knew, sets the load balancer defaults of OpenShift
// (max-shared-lb = 1, manage-security-groups = true) where the user set nothing, and points ca-file at the CA bundle that
// is delivered. Without any text the defaults alone are the configuration. What is unknown is kept: a newer provider may know it. Comments are not kept.
func Rewrite(src clouds.Source) clouds.Result {
	o := &rewriter{src: src}
	reader := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig}
	o.config = reader.Read(o.text(), &o.findings)
	o.clouds = readClouds(src, &o.findings)
	o.checkValues()
	o.checkLogin()
	o.checkKeystone()
	o.checkClientCertificate()
	o.useClouds()
	o.useCABundle()
	o.setDefaults()
	return clouds.Finish(o.findings, clouds.Result{Config: o.config.Encode(), Credentials: src.Credentials})
}

// text is the user's configuration, or one with defaults only. Clusters that were installed without one have clouds.yaml,
// which is enough. In a running cluster a configuration that becomes empty is more likely a mistake.
func (o *rewriter) text() []byte {
	if len(bytes.TrimSpace(o.src.Config)) > 0 {
		return o.src.Config
	}
	state := "empty"
	if o.src.Config == nil {
		state = "missing"
	}
	o.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Typo, Message: "there is no cloud configuration: it is " + state +
		"; write at least the line [Global] to have OpenShift's defaults, which a first installation gets without it"})
	return []byte("[Global]\n")
}

// checkValues finds values that can be read, but with which the provider exits or does nothing.
func (o *rewriter) checkValues() {
	if order := o.config.Value("Metadata", "search-order"); order != nil && order.Text != "" && !isSearchOrder(order.Text) {
		o.config.ReportAt(order, diagnostic.Invalid, fmt.Sprintf("search-order is %s, but wants configDrive, metadataService or both, with a comma",
			confdoc.Quoted(order.Text)))
	}
	balancer := o.config.Value("LoadBalancer")
	if version := balancer.String("lb-version"); version != "" && version != "v2" && balancer.String("enabled") != "false" {
		o.config.ReportAt(balancer.Get("lb-version"), diagnostic.Invalid,
			fmt.Sprintf("lb-version is %s, but the only one left is v2: remove the line", confdoc.Quoted(version)))
	}
}

// checkKeystone finds an auth-url that would send the login of clouds.yaml elsewhere: the provider takes the address from
// cloud.conf and the secret from clouds.yaml. Values of clouds.yaml stay out of the messages.
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
	difference := ""
	switch {
	case clouds.HostOf(named) != clouds.HostOf(secret):
		difference = "names another host"
	case clouds.IsTLS(secret) && !clouds.IsTLS(named):
		difference = "has TLS"
	default:
		return
	}
	o.config.ReportAt(global.Get("auth-url"), diagnostic.Redirected, fmt.Sprintf(
		"auth-url is %s, but auth.auth_url of clouds.yaml in the credentials Secret %s: "+
			"the cloud-controller-manager would send its credentials there; remove the line", confdoc.Quoted(named), difference))
}

// checkLogin finds credentials with which no login is possible. The login reads them from clouds.yaml even where cloud.conf
// has some, except for those of a trustee.
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

// checkClientCertificate finds a client certificate that the provider would look for in vain. It ignores a certificate without
// a key, and the other way round.
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
				"%s will not exist for the cloud-controller-manager: only the keys of the credentials Secret are delivered, in %s",
				confdoc.Quoted(f.Node.Text), o.src.Paths.Credentials))
		}
	}
}

// delivered reports whether the file will exist for the provider, or belongs to the trust store of its image, of which nothing
// is known here.
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

// hasCABundle is false for an empty bundle too: an empty file would make the provider exit.
func (o *rewriter) hasCABundle() bool {
	return len(bytes.TrimSpace(o.src.CABundle)) > 0
}

// useClouds makes the provider log in with the delivered clouds.yaml. Its keys stand last in [Global], in this order.
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

// useCABundle makes ca-file name a file that exists. What cloud.conf says wins over the cacert of clouds.yaml.
func (o *rewriter) useCABundle() {
	const action = "put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line"
	named, ours := o.config.Value("Global", "ca-file"), o.src.Paths.CABundle
	isNamed := named != nil && named.Text != ""
	missing := func(d *confdoc.Document, key string, file *confdoc.Node) {
		d.ReportAt(file, diagnostic.Invalid, fmt.Sprintf("%s is %s, which will not exist for the cloud-controller-manager: %s",
			key, confdoc.Quoted(file.Text), action))
	}
	switch {
	case isNamed && named.Text != ours && o.delivered(named.Text):
		return
	case o.hasCABundle():
		file := confdoc.NewText(ours)
		o.config.Put(file, diagnostic.Rewritten, "the ca-bundle.pem of the cloud configuration is delivered there", "Global", "ca-file")
		global := o.config.Value("Global")
		global.Drop("ca-file")
		global.Set("ca-file", file)
		clouds.CheckCABundle(o.src.CABundle, &o.findings)
	case isNamed:
		missing(o.config, "ca-file", named)
	default:
		if cacert := o.clouds.entry.Get("cacert"); cacert != nil && cacert.Text != "" && !o.delivered(cacert.Text) {
			missing(o.clouds.Document, "cacert", cacert)
		}
	}
}

// setDefaults adds OpenShift's defaults where the user says nothing: no load balancer shared by Services, and security
// groups that let the load balancers reach the nodes.
func (o *rewriter) setDefaults() {
	const openShift = "by OpenShift's default "
	balancer := o.config.Section("LoadBalancer")
	if balancer.Get("max-shared-lb") == nil {
		o.config.Put(confdoc.NewInt(1), diagnostic.Adapted, openShift+"no two Services share a load balancer", "LoadBalancer", "max-shared-lb")
	}
	if balancer.Get("manage-security-groups") == nil {
		o.config.Put(confdoc.NewBool(true), diagnostic.Adapted, openShift+"the load balancers may reach the nodes",
			"LoadBalancer", "manage-security-groups")
	}
}
