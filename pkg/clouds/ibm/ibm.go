// Package ibm rewrites configurations for the cloud-controller-managers of IBM Cloud and Power VS.
package ibm

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// keyFile is the key of the Secret, and the name of the delivered file, with the API key.
	keyFile = "ibmcloud_api_key"
	// installersKeyFile and installersKubeconfig are the values that the installer writes for every cluster.
	installersKeyFile    = "/etc/vpc/ibmcloud_api_key"
	installersKubeconfig = ""
)

// rewriter is the state of one run of Rewrite or RewritePowerVS.
type rewriter struct {
	src         clouds.Source
	config      *confdoc.Document
	diagnostics diagnostic.List
	endpoints   []ibmEndpoint
	// field is the path of the cloud's facts in Infrastructure, with a trailing dot.
	field string
	// known means that Infrastructure has a status of this cloud. overrides are its endpoints, by service.
	known     bool
	overrides map[string]string
}

// Rewrite checks and rewrites the cloud.conf of IBM Cloud, and checks the API key of the credentials Secret.
//
// The text is what openshift/cloud-provider-ibm reads. The provider creates a Kubernetes client of its own, so Rewrite
// sets its kubeconfig to the one on the node: without a kubeconfig the provider looks for a ServiceAccount token that a
// static pod does not have, and exits. Rewrite also points g2Credentials to the delivered API key and adds missing
// endpoints from Infrastructure. Unknown keys are kept because a newer provider may know them. Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	i := &rewriter{src: src, endpoints: ibmEndpoints, field: "status.platformStatus.ibmcloud.",
		overrides: map[string]string{}}
	i.read(ibmSchema)
	if status := src.Cluster.Status.IBMCloud; status != nil {
		i.known = true
		i.contradicts("region", "location", status.Location)
		i.contradicts("g2ResourceGroupName", "resourceGroupName", status.ResourceGroupName)
		for _, endpoint := range status.ServiceEndpoints {
			i.overrides[string(endpoint.Name)] = endpoint.URL
		}
	}
	return i.result()
}

// RewritePowerVS checks and rewrites the cloud.conf of Power Systems Virtual Servers as Rewrite does for IBM Cloud.
//
// The text is what openshift/cloud-provider-powervs reads.
func RewritePowerVS(src clouds.Source) clouds.Result {
	i := &rewriter{src: src, endpoints: powerVSEndpoints, field: "status.platformStatus.powervs.",
		overrides: map[string]string{}}
	i.read(powerVSSchema)
	i.checkPowerVS()
	if status := src.Cluster.Status.PowerVS; status != nil {
		i.known = true
		i.contradicts("powerVSRegion", "region", status.Region)
		i.contradicts("powerVSZone", "zone", status.Zone)
		for _, endpoint := range status.ServiceEndpoints {
			i.overrides[endpoint.Name] = endpoint.URL
		}
	}
	return i.result()
}

func (i *rewriter) result() clouds.Result {
	i.useKubeconfig()
	i.useKeyFile()
	for _, endpoint := range i.endpoints {
		i.useEndpoint(endpoint)
	}
	return clouds.Finish(i.diagnostics, clouds.Result{Config: i.config.Encode(), Credentials: i.credentials()})
}

func (i *rewriter) read(schema []confdoc.Field) {
	reader := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig,
		Empty: "write the sections [global] and [provider]"}
	i.config = reader.Read(i.src.Config, &i.diagnostics)
}

// contradicts compares a key of [provider] with a field of Infrastructure.
func (i *rewriter) contradicts(key, field, fact string) {
	i.config.Contradicts(key, i.config.Value("provider", key), i.field+field, fact)
}

// checkPowerVS reports a configuration without an instance.
func (i *rewriter) checkPowerVS() {
	id := i.config.Text("provider", "powerVSCloudInstanceID")
	name := i.config.Text("provider", "powerVSCloudInstanceName")
	if i.config.Readable && id == "" && name == "" {
		i.config.ReportAt(i.config.Value("provider"), diagnostic.Invalid,
			"[provider] has neither powerVSCloudInstanceID nor powerVSCloudInstanceName: "+noPowerVS)
	}
}

// useKubeconfig makes the provider's own Kubernetes client use the cloud-controller-manager's kubeconfig. It keeps the
// first of several lines.
func (i *rewriter) useKubeconfig() {
	section := i.config.Section("kubernetes")
	at := section.Get("config-file")
	for _, e := range section.Entries {
		if e.Name == "config-file" && e.Value.Text != i.src.Paths.Kubeconfig && e.Value.Text != installersKubeconfig {
			at = e.Value
		}
	}
	if first := section.Entry("config-file"); first != nil {
		first.Value = at
		section.Entries = slices.DeleteFunc(section.Entries,
			func(e *confdoc.Entry) bool { return e.Name == "config-file" && e != first })
	}
	i.config.Put(confdoc.NewText(i.src.Paths.Kubeconfig), diagnostic.Rewritten,
		"the provider's own Kubernetes client has no other file in a static pod", "kubernetes", "config-file")
}

// useKeyFile points g2Credentials to the delivered API key.
func (i *rewriter) useKeyFile() {
	kind := diagnostic.Rewritten
	if i.config.Text("provider", "g2Credentials") == installersKeyFile {
		kind = diagnostic.Adapted
	}
	i.config.Put(confdoc.NewText(path.Join(i.src.Paths.Credentials, keyFile)), kind,
		"the API key of the credentials Secret is delivered there", "provider", "g2Credentials")
}

var versionSuffix = regexp.MustCompile(`(/v\d+)+/?$`)

// useEndpoint compares an endpoint with Infrastructure, or sets it from there.
func (i *rewriter) useEndpoint(endpoint ibmEndpoint) {
	fact := i.overrides[endpoint.service]
	named := i.config.Text("provider", endpoint.key)
	if named != "" && !clouds.IsEndpoint(named) {
		return // reported
	}
	if endpoint.service == vpcEndpoint {
		fact = versionSuffix.ReplaceAllString(fact, "")
		if without := versionSuffix.ReplaceAllString(named, ""); without != named {
			i.config.Put(confdoc.NewText(without), diagnostic.Rewritten, "the cloud-controller-manager adds /v1 itself",
				"provider", endpoint.key)
			named = without
		}
	}
	at := i.config.Value("provider", endpoint.key)
	switch {
	case fact == "" && i.isForeign(named):
		i.config.ReportAt(at, diagnostic.Redirected,
			fmt.Sprintf("%s is %s, which is neither IBM Cloud's nor in %sserviceEndpoints of %s: "+
				"the cloud-controller-manager would send its API key or a token to it; "+
				"remove the line, or add it to Infrastructure",
				endpoint.key, confdoc.Quoted(named), i.field, clouds.Infrastructure))
	case fact != "" && named == "":
		i.config.Put(confdoc.NewText(fact), diagnostic.Adapted,
			fmt.Sprintf("%sserviceEndpoints has this endpoint for %s", i.field, endpoint.service),
			"provider", endpoint.key)
	case fact != "" && !clouds.SameEndpoint(named, fact):
		i.contradicts(endpoint.key, "serviceEndpoints", fact)
	}
}

// isForeign reports whether an endpoint that is not in Infrastructure is not an endpoint of IBM Cloud either.
func (i *rewriter) isForeign(endpoint string) bool {
	return i.known && endpoint != "" && !(clouds.IsTLS(endpoint) && clouds.IsUnder(clouds.HostOf(endpoint), domains...))
}

// credentials returns the file with the API key, from which the provider reads its credentials.
func (i *rewriter) credentials() map[string][]byte {
	text, ok := clouds.SecretKey(i.src, keyFile, &i.diagnostics)
	if !ok {
		return nil
	}
	if bytes.ContainsAny(bytes.TrimSpace(text), " \t\r\n\x00") {
		clouds.ReportCredentials(&i.diagnostics, keyFile, diagnostic.Invalid,
			"it contains whitespace, and the cloud-controller-manager would write it to its log: "+
				"write only the API key")
		return nil
	}
	return map[string][]byte{keyFile: slices.Clone(text)}
}
