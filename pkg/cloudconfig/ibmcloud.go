package cloudconfig

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// ibmKeyFile is the key of the Secret, and the file, that holds the API key.
	ibmKeyFile = "ibmcloud_api_key"
	// ibmInstallersKeyFile and ibmInstallersKubeconfig are what the installer writes for every cluster.
	ibmInstallersKeyFile    = "/etc/vpc/ibmcloud_api_key"
	ibmInstallersKubeconfig = ""
)

// ibm is one run of the IBMCloud or PowerVS function.
type ibm struct {
	src       Source
	config    *iniDocument
	findings  findings
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

// IBMCloud checks and rewrites the cloud.conf of IBM Cloud, and checks the API key that it is used with.
//
// The text is what openshift/cloud-provider-ibm reads. The rewriting gives the provider, which makes a Kubernetes client of
// its own, the kubeconfig on the node: without one it looks for a ServiceAccount that no static pod has, and exits. It points
// g2Credentials at the API key that is delivered, and adds the endpoints of Infrastructure that are missing. What is unknown
// is kept: a newer provider may know it. Comments are not kept.
func IBMCloud(src Source) Result {
	i := &ibm{src: src, endpoints: ibmEndpoints, field: "status.platformStatus.ibmcloud.", overrides: map[string]string{}}
	i.read(ibmSchema)
	if status := src.Cluster.Status.IBMCloud; status != nil {
		i.known = true
		i.config.contradicts(i.config.value("provider", "region"), i.field+"location", status.Location)
		i.config.contradicts(i.config.value("provider", "g2ResourceGroupName"), i.field+"resourceGroupName", status.ResourceGroupName)
		for _, endpoint := range status.ServiceEndpoints {
			i.overrides[string(endpoint.Name)] = endpoint.URL
		}
	}
	return i.result()
}

// PowerVS checks and rewrites the cloud.conf of Power Systems Virtual Servers as IBMCloud does for its own.
//
// The text is what openshift/cloud-provider-powervs reads.
func PowerVS(src Source) Result {
	i := &ibm{src: src, endpoints: powerVSEndpoints, field: "status.platformStatus.powervs.", overrides: map[string]string{}}
	i.read(powerVSSchema)
	i.checkPowerVS()
	if status := src.Cluster.Status.PowerVS; status != nil {
		i.known = true
		i.config.contradicts(i.config.value("provider", "powerVSRegion"), i.field+"region", status.Region)
		i.config.contradicts(i.config.value("provider", "powerVSZone"), i.field+"zone", status.Zone)
		for _, endpoint := range status.ServiceEndpoints {
			i.overrides[endpoint.Name] = endpoint.URL
		}
	}
	return i.result()
}

func (i *ibm) result() Result {
	i.checkVersion()
	i.checkProvider()
	i.useKubeconfig()
	i.useKeyFile()
	for _, endpoint := range i.endpoints {
		i.useEndpoint(endpoint)
	}
	i.config.checkPlaceholders()
	return finish(i.findings, Result{Config: i.config.format(), Credentials: i.credentials()})
}

// read reads the text.
func (i *ibm) read(schema iniSchema) {
	i.config = readINI(i.src.Config, schema, &i.findings)
	i.unreadable = len(i.config.sections) == 0 && len(i.findings) > 0
}

// missing reports a key that is not there at the section where it belongs, if there is one.
func (i *ibm) missing(section string, e gcfg.Entry, message string) {
	if e.Blank {
		return // reported
	}
	pos := e.ValuePos
	if g := i.config.group(section); g != nil && e.Name == "" {
		pos = g.Pos
	}
	i.config.report(pos, diagnostic.Invalid, message)
}

func (i *ibm) checkVersion() {
	e := i.config.value("global", "version")
	switch {
	case i.unreadable || e.Value == "1.0.0" || e.Value == "1.1.0":
	case e.Value == "":
		i.missing("global", e, "version is missing in [global], and the cloud-controller-manager would exit: write version = 1.1.0")
	default:
		i.config.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("version is %s, but wants 1.0.0 or 1.1.0", quoted(e.Value)))
	}
}

// checkProvider finds what is missing in [provider].
func (i *ibm) checkProvider() {
	if i.unreadable {
		return
	}
	for _, key := range ibmRequired {
		e := i.config.value("provider", key)
		switch {
		case e.Value == "":
			i.missing("provider", e, fmt.Sprintf("%s is missing in [provider], and the cloud-controller-manager could look up neither nodes nor load balancers: add it", key))
		case key == "cluster-default-provider" && e.Value != ibmVPC:
			i.config.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but OpenShift runs on VPC infrastructure only: write %s", key, quoted(e.Value), ibmVPC))
		}
	}
	if cni := i.config.value("kubernetes", "cniProvider"); cni.Value != "" && cni.Value != "Calico" && cni.Value != "OVNKubernetes" {
		i.config.report(cni.ValuePos, diagnostic.Typo, fmt.Sprintf("cniProvider is %s, but the cloud-controller-manager knows Calico and OVNKubernetes", quoted(cni.Value)))
	}
}

// checkPowerVS finds keys without which the provider takes the nodes for instances of VPC infrastructure.
func (i *ibm) checkPowerVS() {
	if i.unreadable {
		return
	}
	const reason = " in [provider], and the cloud-controller-manager would look for the nodes in VPC infrastructure: add "
	for _, key := range []string{"powerVSRegion", "powerVSZone"} {
		if e := i.config.value("provider", key); e.Value == "" {
			i.missing("provider", e, key+" is missing"+reason+"it")
		}
	}
	id, name := i.config.value("provider", "powerVSCloudInstanceID"), i.config.value("provider", "powerVSCloudInstanceName")
	if id.Value == "" && name.Value == "" && !name.Blank {
		i.missing("provider", id, "neither powerVSCloudInstanceID nor powerVSCloudInstanceName is set"+reason+"one of them")
	}
}

// useKubeconfig makes the provider's own Kubernetes client use the kubeconfig of the cloud-controller-manager.
func (i *ibm) useKubeconfig() {
	ours := i.src.Paths.Kubeconfig
	was := i.config.section("kubernetes").setList("config-file", ours)
	message := fmt.Sprintf("config-file is set to %q, the kubeconfig of the cloud-controller-manager: ", ours)
	if len(was) == 0 {
		i.config.report(gcfg.Position{}, diagnostic.Adapted, message+"without it the provider exits in a static pod")
		return
	}
	for _, e := range was {
		switch e.Value {
		case ours:
		case ibmInstallersKubeconfig:
			i.config.report(e.Pos, diagnostic.Adapted, message+"without it the provider exits in a static pod")
		default:
			i.config.report(e.Pos, diagnostic.Rewritten, message+"no other file exists for it")
		}
	}
}

// useKeyFile points g2Credentials at the API key that is delivered.
func (i *ibm) useKeyFile() {
	ours := path.Join(i.src.Paths.Credentials, ibmKeyFile)
	was := i.config.value("provider", "g2Credentials")
	if was.Value == ours || was.Blank {
		return
	}
	i.config.section("provider").set("g2Credentials", ours)
	kind := diagnostic.Rewritten
	if was.Value == "" || was.Value == ibmInstallersKeyFile {
		kind = diagnostic.Adapted
	}
	i.config.report(was.Pos, kind, fmt.Sprintf("g2Credentials is set to %q, where the API key of the credentials Secret is delivered", ours))
}

var ibmVersionSuffix = regexp.MustCompile(`(/v\d+)+/?$`)

// useEndpoint compares one endpoint with Infrastructure, or takes it from there.
func (i *ibm) useEndpoint(endpoint ibmEndpoint) {
	fact := i.overrides[endpoint.service]
	e := i.config.value("provider", endpoint.key)
	if e.Value != "" && !isEndpoint(e.Value) {
		i.config.report(e.ValuePos, diagnostic.Invalid, endpoint.key+" is not of the form https://host or https://host/path")
		return
	}
	if endpoint.service == ibmVPCEndpoint {
		fact = ibmVersionSuffix.ReplaceAllString(fact, "")
		if without := ibmVersionSuffix.ReplaceAllString(e.Value, ""); without != e.Value {
			i.config.section("provider").set(endpoint.key, without)
			i.config.report(e.Pos, diagnostic.Rewritten, fmt.Sprintf("%s loses its version: the cloud-controller-manager adds /v1 itself", endpoint.key))
			e.Value = without
		}
	}
	switch {
	case fact == "" && i.isForeign(e.Value):
		i.config.report(e.ValuePos, diagnostic.Redirected, fmt.Sprintf("%s is %s, which is neither IBM Cloud's nor in %sserviceEndpoints of %s: "+
			"the cloud-controller-manager would send its API key or a token to it; remove the line, or add it to Infrastructure",
			endpoint.key, shownEndpoint(e.Value), i.field, infrastructure))
	case fact == "" || e.Blank:
	case e.Value == "":
		i.config.section("provider").set(endpoint.key, fact)
		i.config.report(e.Pos, diagnostic.Adapted, fmt.Sprintf("%s is set to %s: %sserviceEndpoints has this endpoint for %s",
			endpoint.key, shownEndpoint(fact), i.field, endpoint.service))
	case !sameEndpoint(e.Value, fact):
		i.config.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but %sserviceEndpoints of infrastructure.config.openshift.io/cluster has %s for %s: write the same URL, or remove the line",
			endpoint.key, shownEndpoint(e.Value), i.field, shownEndpoint(fact), endpoint.service))
	}
}

// isForeign reports whether an endpoint that Infrastructure does not have is not IBM Cloud's either.
func (i *ibm) isForeign(endpoint string) bool {
	return i.known && endpoint != "" && !(isTLS(endpoint) && isUnder(hostOf(endpoint), ibmDomains...))
}

// credentials are the files that the provider gets: the API key.
func (i *ibm) credentials() map[string][]byte {
	text, ok := secretKey(i.src, ibmKeyFile, &i.findings)
	if !ok {
		return nil
	}
	if bytes.ContainsAny(bytes.TrimSpace(text), " \t\r\n\x00") {
		i.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: ibmKeyFile, Kind: diagnostic.Invalid,
			Message: "it has a blank or a line break in it, and the cloud-controller-manager would write it into its log: write the API key alone"})
		return nil
	}
	return map[string][]byte{ibmKeyFile: slices.Clone(text)}
}
