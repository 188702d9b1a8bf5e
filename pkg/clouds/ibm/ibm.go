// Package ibm rewrites configurations for the cloud-controller-managers of IBM Cloud and Power VS.
package ibm

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// keyFile is the Secret's key with the API key, and the name of the delivered file.
const keyFile = "ibmcloud_api_key"

type rewriter struct {
	clouds.Run
	// field is the path of the cloud's facts in Infrastructure, with a trailing dot.
	field string
	// overrides are the endpoints of Infrastructure by service, nil if Infrastructure has no status of this cloud.
	overrides map[string]string
}

// Rewrite checks and rewrites the cloud.conf of IBM Cloud, and checks the API key of the credentials Secret.
//
// The text is what openshift/cloud-provider-ibm reads. The provider creates a Kubernetes client of its own, so Rewrite
// sets its kubeconfig to the one on the node: without one, the provider looks for a ServiceAccount token, which a
// static pod does not have, and exits. Rewrite also points g2Credentials to the delivered API key and adds missing
// endpoints from Infrastructure. Unknown keys are kept because a newer provider may know them. Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	i := newRewriter(src, ibmSchema, "status.platformStatus.ibmcloud.")
	i.checkWorkers()
	if status := src.Cluster.Status.IBMCloud; status != nil {
		i.contradicts("region", "location", i.RegionOf(i.field+"location", status.Location, vpcZone))
		i.contradicts("g2ResourceGroupName", "resourceGroupName", status.ResourceGroupName)
		i.overrides = map[string]string{}
		for _, endpoint := range status.ServiceEndpoints {
			i.override(string(endpoint.Name), endpoint.URL)
		}
	}
	return i.finish(ibmEndpoints)
}

// RewritePowerVS does for Power Systems Virtual Servers what Rewrite does for IBM Cloud. The text is what
// openshift/cloud-provider-powervs reads.
func RewritePowerVS(src clouds.Source) clouds.Result {
	i := newRewriter(src, powerVSSchema, "status.platformStatus.powervs.")
	provider := i.Value("provider")
	if i.Readable && provider.String("powerVSCloudInstanceID")+provider.String("powerVSCloudInstanceName") == "" {
		i.Rejectf(provider, "[provider] has neither powerVSCloudInstanceID nor powerVSCloudInstanceName: "+noPowerVS)
	}
	i.checkWorkspace(provider.Get("powerVSCloudInstanceID"))
	if name := provider.Get("powerVSCloudInstanceName"); confdoc.IsUUID(name.String()) ||
		strings.HasPrefix(name.String(), "crn:") {
		i.Reportf(name, diagnostic.Doubtful, "powerVSCloudInstanceName is %s, which looks like an ID: write the name of the "+
			"workspace, or its GUID in powerVSCloudInstanceID", confdoc.Quoted(name.Text))
	}
	if status := src.Cluster.Status.PowerVS; status != nil {
		i.contradicts("powerVSRegion", "region", i.RegionOf(i.field+"region", status.Region, powerVSZone))
		i.contradicts("powerVSZone", "zone", status.Zone)
		i.overrides = map[string]string{}
		for _, endpoint := range status.ServiceEndpoints {
			i.override(endpoint.Name, endpoint.URL)
		}
	}
	return i.finish(powerVSEndpoints)
}

// override stores an endpoint of Infrastructure. It reports one that the API server rejects (IBMCloudServiceEndpoint
// and PowerVSServiceEndpoint in openshift/api).
func (i *rewriter) override(service, url string) {
	for _, endpoint := range powerVSEndpoints {
		if strings.EqualFold(endpoint.service, service) && endpoint.service != service {
			i.ReportInfrastructure(i.field+"serviceEndpoints", diagnostic.Typo, "the API server rejects the name %s: write %s",
				confdoc.Quoted(service), endpoint.service)
		}
	}
	if !clouds.IsEndpoint(url) {
		i.ReportInfrastructure(i.field+"serviceEndpoints", diagnostic.Typo, "the API server rejects the URL %s of %s: write "+
			"one that starts with https://", confdoc.Quoted(url), service)
		return
	}
	i.overrides[service] = url
}

// checkWorkspace reports a workspace that is not given by its GUID, which the provider puts into paths and into a CRN
// (github.com/IBM-Cloud/power-go-client, ibmpisession).
func (i *rewriter) checkWorkspace(id *confdoc.Node) {
	if id.String() == "" || confdoc.IsUUID(id.Text) {
		return
	}
	guid := "its GUID"
	if parts := strings.Split(id.Text, ":"); len(parts) > crnInstance && confdoc.IsUUID(parts[crnInstance]) {
		guid = "the GUID " + parts[crnInstance] + " of the CRN"
	}
	i.Reportf(id, diagnostic.Typo, "powerVSCloudInstanceID is %s, which is not the GUID of a workspace: write %s, or the "+
		"name in powerVSCloudInstanceName", confdoc.Quoted(id.Text), guid)
}

// crnInstance is the index of the CRN's segment with the GUID of a service instance
// (https://cloud.ibm.com/docs/account?topic=account-crn).
const crnInstance = 7

func newRewriter(src clouds.Source, schema []confdoc.Field, field string) *rewriter {
	return &rewriter{field: field, Run: clouds.NewRun(src, confdoc.Reader{
		Format: confdoc.INI, Fields: schema, Empty: "write the sections [global] and [provider]",
	})}
}

// accountID matches the ID of an account (https://cloud.ibm.com/docs/account?topic=account-accountfaqs).
var accountID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// checkAccount reports a name in place of the ID. The provider only requires that there is a value.
func (i *rewriter) checkAccount() {
	if id := i.Value("provider", "accountID"); id.String() != "" && !accountID.MatchString(id.Text) {
		i.Reportf(id, diagnostic.Doubtful, "accountID is %s, which is not the ID of an account, such as "+
			"0123456789abcdef0123456789abcdef: write the ID", confdoc.Quoted(id.Text))
	}
}

// checkWorkers reports nodes of another account, which the provider does not look up (newVpcSdkClient in
// ibm/ibm_vpc_client.go). That of Power VS looks them up elsewhere.
func (i *rewriter) checkWorkers() {
	provider := i.Value("provider")
	id := provider.String("accountID")
	if workers := provider.Get("g2workerServiceAccountID"); id != "" && workers.String() != id {
		i.Reportf(cmp.Or(workers, provider), diagnostic.Typo, "g2workerServiceAccountID is not the value of accountID, "+
			"%s: the cloud-controller-manager initializes no node; write the ID of the account in both", confdoc.Quoted(id))
	}
}

// vpcRegion matches the regions of VPCs, also those for tests, but neither zones nor most regions of Power VS
// (https://cloud.ibm.com/docs/vpc?topic=vpc-creating-a-vpc-in-a-different-region).
var vpcRegion = regexp.MustCompile(`^[a-z]{2}-[a-z]+\d?(-stage\w*)?$`)

// The zones of a VPC, and most of those of Power VS. A zone without a number has the name of its region.
var (
	vpcZone     = regexp.MustCompile(`^([a-z]{2}-[a-z]+\d?)-\d$`)
	powerVSZone = regexp.MustCompile(`^([a-z]{3}|[a-z]{2}-[a-z]+)-?\d+$`)
)

// checkRegion reports a region with which the provider finds no endpoint of the VPC's API, and an endpoint of another
// region.
func (i *rewriter) checkRegion() {
	if region := i.Value("provider", "region"); region.String() != "" && !vpcRegion.MatchString(region.Text) {
		i.Reportf(region, diagnostic.Doubtful, "region is %s, which is no region of a VPC, such as eu-gb: write that of the "+
			"cluster's VPC", confdoc.Quoted(region.Text))
	} else if host := clouds.HostOf(i.Text("provider", "g2EndpointOverride")); region.String() != "" &&
		clouds.IsUnder(host, "iaas.cloud.ibm.com") && vpcRegion.MatchString(strings.Split(host, ".")[0]) &&
		!strings.HasPrefix(host, region.Text+".") {
		i.Reportf(i.Value("provider", "g2EndpointOverride"), diagnostic.Doubtful, "g2EndpointOverride is not an endpoint of "+
			"the region %s: write that of the cluster's VPC", confdoc.Quoted(region.Text))
	}
}

// checkCluster reports the ID of another cluster: load balancers have it in their names (GenerateLoadBalancerName in
// pkg/vpcctl/vpc_provider.go of both providers).
func (i *rewriter) checkCluster() {
	id := i.Value("provider", "clusterID")
	if id.String() == "" || i.Cluster.Name == "" || id.Text == i.Cluster.Name {
		return
	}
	i.Reportf(id, diagnostic.Doubtful, "clusterID is %s, but status.infrastructureName of %s is %s: the load balancers "+
		"of the cluster are named kube-<clusterID>-…, and those with another ID are not found; write the infrastructure "+
		"name, unless they have this ID", confdoc.Quoted(id.Text), clouds.Infrastructure, confdoc.Quoted(i.Cluster.Name))
}

// resourceID matches the CRN of a VPC or subnet, and its ID, which has the region or zone before a UUID.
var resourceID = regexp.MustCompile(`^(crn:.*|[0-9a-z]{4}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// checkNames reports IDs: the provider compares the values with names only (filterSubnetsByName and
// filterSubnetsByVpcName in pkg/vpcctl/vpc_config.go of both providers).
func (i *rewriter) checkNames() {
	for _, key := range []string{"g2VpcName", "g2VpcSubnetNames"} {
		value := i.Value("provider", key)
		names := strings.FieldsFunc(value.String(), func(r rune) bool { return strings.ContainsRune(",; ", r) })
		if at := slices.IndexFunc(names, resourceID.MatchString); at >= 0 {
			i.Reportf(value, diagnostic.Doubtful, "%s has %s, which looks like an ID: the cloud-controller-manager compares "+
				"it with names only; write the name", key, confdoc.Quoted(names[at]))
		}
	}
}

func (i *rewriter) finish(endpoints []ibmEndpoint) clouds.Result {
	i.checkAccount()
	i.checkRegion()
	i.checkCluster()
	i.checkNames()
	i.useKubeconfig()
	i.useKeyFile()
	for _, endpoint := range endpoints {
		i.useEndpoint(endpoint)
	}
	return i.Finish(clouds.Result{Config: i.Encode(), Credentials: i.credentials()})
}

func (i *rewriter) contradicts(key, field, fact string) {
	i.Contradicts(key, i.Value("provider", key), i.field+field, fact)
}

// formerKubeconfig is the value of early installers, for a pod that mounted this file.
const formerKubeconfig = "/mnt/etc/kubernetes/controller-manager-kubeconfig"

// useKubeconfig makes the provider's own Kubernetes client use the cloud-controller-manager's kubeconfig. Of several
// lines only the first stays. The installer writes an empty value for every cluster.
func (i *rewriter) useKubeconfig() {
	section := i.Root.Section("kubernetes")
	at := section.Get("config-file")
	for _, e := range section.Entries {
		if e.Name == "config-file" && e.Value.Text != i.Paths.Kubeconfig && e.Value.Text != "" {
			at = e.Value
		}
	}
	if first := section.Entry("config-file"); first != nil {
		first.Value = at
		section.Entries = slices.DeleteFunc(section.Entries,
			func(e *confdoc.Entry) bool { return e.Name == "config-file" && e != first })
	}
	kind := diagnostic.Rewritten
	if i.Text("kubernetes", "config-file") == formerKubeconfig {
		kind = diagnostic.Adapted
	}
	i.Put(confdoc.NewText(i.Paths.Kubeconfig), kind,
		"the provider's own Kubernetes client has no other file in a static pod", "kubernetes", "config-file")
}

func (i *rewriter) useKeyFile() {
	kind := diagnostic.Rewritten
	if i.Text("provider", "g2Credentials") == "/etc/vpc/ibmcloud_api_key" {
		kind = diagnostic.Adapted // the installer writes this path for every cluster
	}
	i.Put(confdoc.NewText(path.Join(i.Paths.Credentials, keyFile)), kind,
		"the API key of the credentials Secret is delivered there", "provider", "g2Credentials")
}

// keyCharacters matches the characters of API keys. A line of a script has an equals sign, and a token has dots.
var keyCharacters = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// useEndpoint checks an endpoint against Infrastructure, or defaults it from there if it is unset.
func (i *rewriter) useEndpoint(endpoint ibmEndpoint) {
	fact := i.overrides[endpoint.service]
	named := i.Text("provider", endpoint.key)
	if endpoint.adds == "" {
		named = withScheme(named)
	}
	if named != "" && !clouds.IsEndpoint(named) {
		return // reported
	}
	named, fact = i.omitPath(endpoint, named, fact)
	switch {
	case fact == "" && named != "" && i.overrides != nil && !clouds.IsSecureUnder(named, domains...):
		i.Reportf(i.Value("provider", endpoint.key), diagnostic.Redirected,
			"%s is %s, which is neither IBM Cloud's nor in %sserviceEndpoints of %s: the cloud-controller-manager "+
				"would send its API key or a token to it; remove the line, or add it to Infrastructure",
			endpoint.key, confdoc.Quoted(named), i.field, clouds.Infrastructure)
	case fact != "" && named == "":
		i.Put(confdoc.NewText(fact), diagnostic.Adapted,
			i.field+"serviceEndpoints has this endpoint for "+endpoint.service, "provider", endpoint.key)
	case fact != "" && !clouds.SameEndpoint(named, fact):
		i.contradicts(endpoint.key, "serviceEndpoints", fact)
	}
}

// omitPath removes what the provider appends itself from an endpoint of the cloud configuration, which it also
// rewrites, and from Infrastructure's, and returns both. Other paths may belong to a gateway.
func (i *rewriter) omitPath(endpoint ibmEndpoint, named, fact string) (withoutNamed, withoutFact string) {
	all, reason := pathSuffix, "the cloud-controller-manager adds "+endpoint.adds+" itself"
	if endpoint.adds == "" {
		all, reason = slashSuffix, "the cloud-controller-manager takes the slash at the end for a part of the host"
	}
	ends := endpoint.always
	if clouds.SameEndpoint(named, fact) || clouds.IsSecureUnder(named, domains...) {
		ends = all
	}
	if ends != nil && ends.MatchString(named) {
		named = ends.ReplaceAllString(named, "")
		i.Put(confdoc.NewText(named), diagnostic.Rewritten, reason, "provider", endpoint.key)
	}
	return named, all.ReplaceAllString(fact, "")
}

func (i *rewriter) credentials() map[string][]byte {
	text := i.SecretKey(keyFile)
	if text == nil {
		return nil
	}
	key := string(bytes.TrimSpace(text))
	i.CheckTyped(keyFile, key)
	if !utf8.Valid(text) {
		i.RejectCredentials(keyFile, "%s", clouds.NoText)
	} else if strings.ContainsAny(key, " \t\r\n\x00") {
		i.RejectCredentials(keyFile, "it contains whitespace, and the cloud-controller-manager would write it to its log: "+
			"write only the API key")
	}
	if bytes.HasPrefix(text, []byte("ApiKey-")) {
		i.ReportCredentials(keyFile, diagnostic.Typo, "it is the ID of an API key: write the key itself, which IBM Cloud "+
			"shows only when it creates it")
	}
	if !keyCharacters.MatchString(key) {
		i.ReportCredentials(keyFile, diagnostic.Typo, "it has characters that no API key has: write only the API key, not a "+
			"token or a line of a script")
	}
	return map[string][]byte{keyFile: text}
}
