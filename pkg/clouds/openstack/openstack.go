// Package openstack rewrites configurations for cloud-provider-openstack.
package openstack

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
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
	config   *confdoc.INIDocument
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
	o.config = confdoc.ReadINI(o.text(), schema, &o.findings)
	if !src.CredentialsUnknown {
		o.clouds = readClouds(src.Credentials, &o.findings)
	}
	o.checkValues()
	o.checkLogin()
	o.checkKeystone()
	o.checkClientCertificate()
	o.useClouds()
	o.useCABundle()
	o.setDefaults()
	o.config.CheckPlaceholders()
	return clouds.Finish(o.findings, clouds.Result{Config: o.config.Format(), Credentials: src.Credentials})
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
	if e := o.config.Value("Global", "os-endpoint-type"); e.Name != "" {
		if word := strings.Fields(e.Value); len(word) == 1 && !isEndpointType(word[0]) {
			o.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("os-endpoint-type is %s, but wants public, internal or admin", confdoc.Quoted(e.Value)))
		}
	} else if endpointType := o.clouds.endpointType(); endpointType.Value != "" && !isEndpointType(endpointType.Value) {
		o.clouds.report(&o.findings, endpointType, fmt.Sprintf("%s is not one that the cloud-controller-manager knows: write public, internal or admin", endpointType.path))
	}
	if e := o.config.Value("Metadata", "search-order"); e.Value != "" && !isSearchOrder(e.Value) {
		o.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("search-order is %s, but wants configDrive, metadataService or both, with a comma", confdoc.Quoted(e.Value)))
	}
	if e := o.config.Value("LoadBalancer", "lb-version"); e.Value != "" && e.Value != "v2" && !o.loadBalancersOff() {
		o.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("lb-version is %s, but the only one left is v2: remove the line", confdoc.Quoted(e.Value)))
	}
}

func (o *rewriter) loadBalancersOff() bool {
	return slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(o.config.Value("LoadBalancer", "enabled").Value))
}

// checkKeystone finds an auth-url that would send the login of clouds.yaml elsewhere: the provider takes the address from
// cloud.conf and the secret from clouds.yaml. Values of clouds.yaml stay out of the messages.
func (o *rewriter) checkKeystone() {
	if insecure := o.config.Value("Global", "tls-insecure"); insecure.Value == "true" {
		o.config.Report(insecure.ValuePos, diagnostic.Insecure, "tls-insecure is true: "+
			"anyone between the nodes and Keystone can read the credentials; put the CA certificates under the key ca-bundle.pem beside the cloud configuration instead")
	}
	e, auth := o.config.Value("Global", "auth-url"), o.clouds.entry.Auth
	if e.Value == "" || auth == nil || clouds.HostOf(auth.AuthURL) == "" {
		return
	}
	const action = "the cloud-controller-manager would send its credentials there; remove the line"
	switch {
	case clouds.HostOf(e.Value) != clouds.HostOf(auth.AuthURL):
		o.config.Report(e.ValuePos, diagnostic.Redirected, fmt.Sprintf("auth-url is %s, but auth.auth_url of clouds.yaml "+
			"in the credentials Secret names another host: %s", clouds.ShownEndpoint(e.Value), action))
	case clouds.IsTLS(auth.AuthURL) && !clouds.IsTLS(e.Value):
		o.config.Report(e.ValuePos, diagnostic.Redirected, fmt.Sprintf("auth-url is %s, without TLS, but auth.auth_url of clouds.yaml "+
			"in the credentials Secret has it: %s", clouds.ShownEndpoint(e.Value), action))
	}
}

// checkLogin finds credentials with which no login is possible. The login reads them from clouds.yaml even where cloud.conf
// has some, except for those of a trustee.
func (o *rewriter) checkLogin() {
	auth := o.clouds.entry.Auth
	if auth == nil {
		return // reported
	}
	key, problem := o.clouds.entry.loginProblem()
	if o.config.Value("Global", "trust-id").Value != "" {
		key, problem = "", ""
		if !auth.hasSecret() && o.config.Value("Global", "trustee-password").Value == "" {
			problem = noSecret
		}
	}
	if problem == "" {
		return
	}
	keys := []string{"auth"}
	if key != "" {
		keys = append(keys, key)
	}
	o.clouds.report(&o.findings, o.clouds.value("", keys...), problem)
}

func isEndpointType(word string) bool {
	return word == "public" || word == "internal" || word == "admin"
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

// checkClientCertificate finds a client certificate that the provider would look for in vain. A certificate without a key,
// or the other way round, is ignored by it.
func (o *rewriter) checkClientCertificate() {
	certificate, key := o.config.Value("Global", "cert-file"), o.config.Value("Global", "key-file")
	cloud := o.clouds.cloud()
	if either(certificate.Value, cloud.Certificate.Value) == "" || either(key.Value, cloud.Key.Value) == "" {
		return
	}
	for _, file := range []struct {
		entry gcfg.Entry
		value cloudValue
	}{{certificate, cloud.Certificate}, {key, cloud.Key}} {
		name := either(file.entry.Value, file.value.Value)
		if o.delivered(name) {
			continue
		}
		message := fmt.Sprintf("%s will not exist for the cloud-controller-manager: only the keys of the credentials Secret are delivered, in %s",
			confdoc.Quoted(name), o.src.Paths.Credentials)
		if file.entry.Value != "" {
			o.config.Report(file.entry.ValuePos, diagnostic.Invalid, message)
			continue
		}
		o.clouds.report(&o.findings, file.value, message)
	}
}

func either(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// delivered tells whether the file will exist for the provider, or belongs to the trust store of its image, of which nothing
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
	file := path.Join(o.src.Paths.Credentials, cloudsKey)
	if o.config.Group("Global") == nil {
		o.config.AddFirst("Global")
	}
	for _, ours := range []struct {
		key, value string
		same       []string // other spellings of the value
	}{
		{key: "use-clouds", value: "true", same: []string{"yes", "on", "1", ""}}, // alone it is true
		{key: "clouds-file", value: file},
		{key: "cloud", value: openStackCloud},
	} {
		was := o.config.Drop("Global", ours.key)
		o.config.Add("Global", ours.key, ours.value)
		switch message := fmt.Sprintf("%s is set to %q: %s", ours.key, ours.value, reason); {
		case was.Name == "":
			o.config.Report(was.Pos, diagnostic.Adapted, message)
		case was.Value != ours.value && !slices.Contains(ours.same, strings.ToLower(was.Value)):
			o.config.Report(was.Pos, diagnostic.Rewritten, message)
		}
	}
}

// useCABundle makes ca-file name a file that exists. What cloud.conf says wins over the cacert of clouds.yaml.
func (o *rewriter) useCABundle() {
	named := o.config.Value("Global", "ca-file")
	ours := o.src.Paths.CABundle
	switch {
	case named.Value != "" && named.Value != ours && o.delivered(named.Value):
		return
	case o.hasCABundle():
		o.config.Drop("Global", "ca-file")
		o.config.Add("Global", "ca-file", ours)
		switch message := fmt.Sprintf("ca-file is set to %q, where the ca-bundle.pem of the cloud configuration is delivered", ours); {
		case named.Value == "":
			o.config.Report(named.Pos, diagnostic.Adapted, message)
		case named.Value != ours:
			o.config.Report(named.Pos, diagnostic.Rewritten, message)
		}
		clouds.CheckCABundle(o.src.CABundle, &o.findings)
	case named.Value != "":
		o.config.Report(named.ValuePos, diagnostic.Invalid, fmt.Sprintf("ca-file is %s, which will not exist for the cloud-controller-manager: "+
			"put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line", confdoc.Quoted(named.Value)))
	default:
		if cacert := o.clouds.cloud().CACert; cacert.Value != "" && !o.delivered(cacert.Value) {
			o.clouds.report(&o.findings, cacert, fmt.Sprintf("cacert is %s, which will not exist for the cloud-controller-manager: "+
				"put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line", confdoc.Quoted(cacert.Value)))
		}
	}
}

// setDefaults adds OpenShift's defaults where the user says nothing: no load balancer shared by Services, and security
// groups that let the load balancers reach the nodes.
func (o *rewriter) setDefaults() {
	for _, d := range []struct{ key, value, reason string }{
		{"max-shared-lb", "1", "no two Services share a load balancer"},
		{"manage-security-groups", "true", "the load balancers have to reach the nodes"},
	} {
		if o.config.Value("LoadBalancer", d.key).Name == "" {
			o.config.Add("LoadBalancer", d.key, d.value)
			o.config.Report(gcfg.Position{}, diagnostic.Adapted, fmt.Sprintf("%s is set to %q, as OpenShift has it: %s", d.key, d.value, d.reason))
		}
	}
}
