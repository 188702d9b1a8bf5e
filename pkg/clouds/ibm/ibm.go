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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// keyFile is the key of the Secret, and the file, that holds the API key.
	keyFile = "ibmcloud_api_key"
	// installersKeyFile and ibmInstallersKubeconfig are what the installer writes for every cluster.
	installersKeyFile    = "/etc/vpc/ibmcloud_api_key"
	installersKubeconfig = ""
)

// rewriter is one run of the IBMCloud or PowerVS function.
type rewriter struct {
	src       clouds.Source
	config    *confdoc.INIDocument
	findings  diagnostic.List
	endpoints []ibmEndpoint
	// unreadable tells that nothing of the text could be read and this is reported, so that it would be wrong to miss
	// anything in it.
	unreadable bool
	// field is where Infrastructure has the facts about the cloud.
	field string
	// known tells whether Infrastructure tells of its endpoints; overrides are those that it has, by service.
	known     bool
	overrides map[string]string
}

// Rewrite checks and rewrites the cloud.conf of IBM Cloud, and checks the API key that it is used with.
//
// The text is what openshift/cloud-provider-ibm reads. The rewriting gives the provider, which makes a Kubernetes client of
// its own, the kubeconfig on the node: without one it looks for a ServiceAccount that no static pod has, and exits. It points
// g2Credentials at the API key that is delivered, and adds the endpoints of Infrastructure that are missing. What is unknown
// is kept: a newer provider may know it. Comments are not kept.
func Rewrite(src clouds.Source) clouds.Result {
	i := &rewriter{src: src, endpoints: ibmEndpoints, field: "status.platformStatus.ibmcloud.", overrides: map[string]string{}}
	i.read(ibmSchema)
	if status := src.Cluster.Status.IBMCloud; status != nil {
		i.known = true
		i.config.Contradicts(i.config.Value("provider", "region"), i.field+"location", status.Location)
		i.config.Contradicts(i.config.Value("provider", "g2ResourceGroupName"), i.field+"resourceGroupName", status.ResourceGroupName)
		for _, endpoint := range status.ServiceEndpoints {
			i.overrides[string(endpoint.Name)] = endpoint.URL
		}
	}
	return i.result()
}

// RewritePowerVS checks and rewrites the cloud.conf of Power Systems Virtual Servers as IBMCloud does for its own.
//
// The text is what openshift/cloud-provider-powervs reads.
func RewritePowerVS(src clouds.Source) clouds.Result {
	i := &rewriter{src: src, endpoints: powerVSEndpoints, field: "status.platformStatus.powervs.", overrides: map[string]string{}}
	i.read(powerVSSchema)
	i.checkPowerVS()
	if status := src.Cluster.Status.PowerVS; status != nil {
		i.known = true
		i.config.Contradicts(i.config.Value("provider", "powerVSRegion"), i.field+"region", status.Region)
		i.config.Contradicts(i.config.Value("provider", "powerVSZone"), i.field+"zone", status.Zone)
		for _, endpoint := range status.ServiceEndpoints {
			i.overrides[endpoint.Name] = endpoint.URL
		}
	}
	return i.result()
}

func (i *rewriter) result() clouds.Result {
	i.checkVersion()
	i.checkProvider()
	i.useKubeconfig()
	i.useKeyFile()
	for _, endpoint := range i.endpoints {
		i.useEndpoint(endpoint)
	}
	i.config.CheckPlaceholders()
	return clouds.Finish(i.findings, clouds.Result{Config: i.config.Format(), Credentials: i.credentials()})
}

// read reads the text.
func (i *rewriter) read(schema confdoc.INISchema) {
	i.config = confdoc.ReadINI(i.src.Config, schema, &i.findings)
	i.unreadable = len(i.config.Sections) == 0 && len(i.findings) > 0
}

// missing reports a key that is not there at the section where it belongs, if there is one.
func (i *rewriter) missing(section string, e gcfg.Entry, message string) {
	if e.Blank {
		return // reported
	}
	pos := e.ValuePos
	if g := i.config.Group(section); g != nil && e.Name == "" {
		pos = g.Pos
	}
	i.config.Report(pos, diagnostic.Invalid, message)
}

func (i *rewriter) checkVersion() {
	e := i.config.Value("global", "version")
	switch {
	case i.unreadable || e.Value == "1.0.0" || e.Value == "1.1.0":
	case e.Value == "":
		i.missing("global", e, "version is missing in [global], and the cloud-controller-manager would exit: write version = 1.1.0")
	default:
		i.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("version is %s, but wants 1.0.0 or 1.1.0", confdoc.Quoted(e.Value)))
	}
}

// checkProvider finds what is missing in [provider].
func (i *rewriter) checkProvider() {
	if i.unreadable {
		return
	}
	for _, key := range required {
		e := i.config.Value("provider", key)
		switch {
		case e.Value == "":
			i.missing("provider", e, fmt.Sprintf("%s is missing in [provider], and the cloud-controller-manager could look up neither nodes nor load balancers: add it", key))
		case key == "cluster-default-provider" && e.Value != vpc:
			i.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but OpenShift runs on VPC infrastructure only: write %s", key, confdoc.Quoted(e.Value), vpc))
		}
	}
	if cni := i.config.Value("kubernetes", "cniProvider"); cni.Value != "" && cni.Value != "Calico" && cni.Value != "OVNKubernetes" {
		i.config.Report(cni.ValuePos, diagnostic.Typo, fmt.Sprintf("cniProvider is %s, but the cloud-controller-manager knows Calico and OVNKubernetes", confdoc.Quoted(cni.Value)))
	}
}

// checkPowerVS finds keys without which the provider takes the nodes for instances of VPC infrastructure.
func (i *rewriter) checkPowerVS() {
	if i.unreadable {
		return
	}
	const reason = " in [provider], and the cloud-controller-manager would look for the nodes in VPC infrastructure: add "
	for _, key := range []string{"powerVSRegion", "powerVSZone"} {
		if e := i.config.Value("provider", key); e.Value == "" {
			i.missing("provider", e, key+" is missing"+reason+"it")
		}
	}
	id, name := i.config.Value("provider", "powerVSCloudInstanceID"), i.config.Value("provider", "powerVSCloudInstanceName")
	if id.Value == "" && name.Value == "" && !name.Blank {
		i.missing("provider", id, "neither powerVSCloudInstanceID nor powerVSCloudInstanceName is set"+reason+"one of them")
	}
}

// useKubeconfig makes the provider's own Kubernetes client use the kubeconfig of the cloud-controller-manager.
func (i *rewriter) useKubeconfig() {
	ours := i.src.Paths.Kubeconfig
	was := i.config.Section("kubernetes").SetList("config-file", ours)
	message := fmt.Sprintf("config-file is set to %q, the kubeconfig of the cloud-controller-manager: ", ours)
	if len(was) == 0 {
		i.config.Report(gcfg.Position{}, diagnostic.Adapted, message+"without it the provider exits in a static pod")
		return
	}
	for _, e := range was {
		switch e.Value {
		case ours:
		case installersKubeconfig:
			i.config.Report(e.Pos, diagnostic.Adapted, message+"without it the provider exits in a static pod")
		default:
			i.config.Report(e.Pos, diagnostic.Rewritten, message+"no other file exists for it")
		}
	}
}

// useKeyFile points g2Credentials at the API key that is delivered.
func (i *rewriter) useKeyFile() {
	ours := path.Join(i.src.Paths.Credentials, keyFile)
	was := i.config.Value("provider", "g2Credentials")
	if was.Value == ours || was.Blank {
		return
	}
	i.config.Section("provider").Set("g2Credentials", ours)
	kind := diagnostic.Rewritten
	if was.Value == "" || was.Value == installersKeyFile {
		kind = diagnostic.Adapted
	}
	i.config.Report(was.Pos, kind, fmt.Sprintf("g2Credentials is set to %q, where the API key of the credentials Secret is delivered", ours))
}

var versionSuffix = regexp.MustCompile(`(/v\d+)+/?$`)

// useEndpoint compares one endpoint with Infrastructure, or takes it from there.
func (i *rewriter) useEndpoint(endpoint ibmEndpoint) {
	fact := i.overrides[endpoint.service]
	e := i.config.Value("provider", endpoint.key)
	if e.Value != "" && !clouds.IsEndpoint(e.Value) {
		i.config.Report(e.ValuePos, diagnostic.Invalid, endpoint.key+" is not of the form https://host or https://host/path")
		return
	}
	if endpoint.service == vpcEndpoint {
		fact = versionSuffix.ReplaceAllString(fact, "")
		if without := versionSuffix.ReplaceAllString(e.Value, ""); without != e.Value {
			i.config.Section("provider").Set(endpoint.key, without)
			i.config.Report(e.Pos, diagnostic.Rewritten, fmt.Sprintf("%s loses its version: the cloud-controller-manager adds /v1 itself", endpoint.key))
			e.Value = without
		}
	}
	switch {
	case fact == "" && i.isForeign(e.Value):
		i.config.Report(e.ValuePos, diagnostic.Redirected, fmt.Sprintf("%s is %s, which is neither IBM Cloud's nor in %sserviceEndpoints of %s: "+
			"the cloud-controller-manager would send its API key or a token to it; remove the line, or add it to Infrastructure",
			endpoint.key, clouds.ShownEndpoint(e.Value), i.field, clouds.Infrastructure))
	case fact == "" || e.Blank:
	case e.Value == "":
		i.config.Section("provider").Set(endpoint.key, fact)
		i.config.Report(e.Pos, diagnostic.Adapted, fmt.Sprintf("%s is set to %s: %sserviceEndpoints has this endpoint for %s",
			endpoint.key, clouds.ShownEndpoint(fact), i.field, endpoint.service))
	case !clouds.SameEndpoint(e.Value, fact):
		i.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but %sserviceEndpoints of infrastructure.config.openshift.io/cluster has %s for %s: write the same URL, or remove the line",
			endpoint.key, clouds.ShownEndpoint(e.Value), i.field, clouds.ShownEndpoint(fact), endpoint.service))
	}
}

// isForeign reports whether an endpoint that Infrastructure does not have is not IBM Cloud's either.
func (i *rewriter) isForeign(endpoint string) bool {
	return i.known && endpoint != "" && !(clouds.IsTLS(endpoint) && clouds.IsUnder(clouds.HostOf(endpoint), domains...))
}

// credentials are the files that the provider gets: the API key.
func (i *rewriter) credentials() map[string][]byte {
	text, ok := clouds.SecretKey(i.src, keyFile, &i.findings)
	if !ok {
		return nil
	}
	if bytes.ContainsAny(bytes.TrimSpace(text), " \t\r\n\x00") {
		i.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: keyFile, Kind: diagnostic.Invalid,
			Message: "it has a blank or a line break in it, and the cloud-controller-manager would write it into its log: write the API key alone"})
		return nil
	}
	return map[string][]byte{keyFile: slices.Clone(text)}
}
