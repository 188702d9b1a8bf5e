// Package gcp rewrites configurations for cloud-provider-gcp.
package gcp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	projectField = "status.platformStatus.gcp.projectID"
	regionField  = "status.platformStatus.gcp.region"
)

// rewriter is the state of one run of Rewrite.
type rewriter struct {
	src         clouds.Source
	config      *confdoc.Document
	diagnostics diagnostic.List
	// universe is the domain of the APIs that the credentials are for. It is empty if it is not known.
	universe string
}

// Rewrite checks and rewrites a Google cloud.conf, and checks the key or the federation of the credentials Secret.
//
// The text is what openshift/cloud-provider-gcp reads. Rewrite makes the provider log in with service_account.json:
// without token-url = nil the provider requests tokens from the instance's metadata server, even if the file exists.
// The provider exits if GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist, so the Secret is required. An
// api-endpoint without a trailing slash gets one. Unknown keys are kept because a newer provider may know them.
// Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	g := &rewriter{src: src}
	reader := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig,
		Empty: "write at least the line [global]"}
	g.config = reader.Read(src.Config, &g.diagnostics)
	g.config.First("global") // the written file must not be empty
	g.checkValues()
	g.checkCluster()
	credentials, tokens := g.credentials()
	g.checkEndpoints()
	g.useCredentials()
	g.endEndpoint()
	return clouds.Finish(g.diagnostics, clouds.Result{Config: g.config.Encode(), Credentials: credentials,
		Tokens: tokens})
}

// checkValues reports values that can be read, but for which the provider exits.
func (g *rewriter) checkValues() {
	if zone := g.config.Value("global", "local-zone"); zone != nil && zone.Text != "" && region(zone.Text) == "" {
		g.config.ReportAt(zone, diagnostic.Invalid,
			fmt.Sprintf("local-zone is %s, but must be a zone, such as us-central1-a", confdoc.Quoted(zone.Text)))
	}
	if address := g.config.Text("global", "token-url"); address != "" && address != "nil" &&
		!clouds.IsEndpoint(address) {
		g.config.ReportAt(g.config.Value("global", "token-url"), diagnostic.Invalid,
			"token-url is neither nil nor of the form https://host/path")
	}
}

// region returns the region of a zone, as the provider derives it. It is empty if the text cannot be a zone.
func region(zone string) string {
	return zone[:max(0, strings.LastIndex(zone, "-"))]
}

// checkCluster reports contradictions to Infrastructure. A project that is given by its number cannot be compared.
func (g *rewriter) checkCluster() {
	status := g.src.Cluster.Status.GCP
	if status == nil {
		return
	}
	project := g.config.Value("global", "project-id")
	if _, err := strconv.ParseUint(g.config.Text("global", "project-id"), 10, 64); err != nil {
		g.config.Contradicts("project-id", project, projectField, status.ProjectID)
	}
	g.checkRegion("local-zone", region(g.config.Text("global", "local-zone")))
	if _, after, ok := strings.Cut("/"+g.config.Text("global", "subnetwork-name"), "/regions/"); ok {
		named, _, _ := strings.Cut(after, "/")
		g.checkRegion("subnetwork-name", named)
	}
}

// checkRegion compares the region in the value of a key with Infrastructure.
func (g *rewriter) checkRegion(key, named string) {
	if at := g.config.Value("global", key); at != nil {
		value := *at
		value.Text = named
		g.config.Contradicts("the region of "+key, &value, regionField, g.src.Cluster.Status.GCP.Region)
	}
}

// checkEndpoints reports an API that is not in the universe that the credentials are for: it would receive their
// tokens.
func (g *rewriter) checkEndpoints() {
	if g.universe == "" {
		return
	}
	for _, key := range []string{"api-endpoint", "container-api-endpoint"} {
		address := g.config.Text("global", key)
		if !clouds.IsEndpoint(address) || clouds.IsTLS(address) && clouds.IsUnder(clouds.HostOf(address), g.universe) {
			continue
		}
		g.config.ReportAt(g.config.Value("global", key), diagnostic.Redirected, fmt.Sprintf(
			"%s is %s, which is not an API endpoint for the %s of the credentials Secret: "+
				"the cloud-controller-manager would send its tokens there; remove the line",
			key, confdoc.Quoted(
				address), credentialsFile))
	}
}

// useCredentials makes the provider log in with the delivered file, which the cloud-credential-operator creates for
// every cluster.
func (g *rewriter) useCredentials() {
	g.config.Put(confdoc.NewText("nil"), diagnostic.Rewritten,
		"the cloud-controller-manager logs in with the service_account.json "+
			"of its own credentials Secret, and would ask the metadata server otherwise",
		"global", "token-url")
}

// endEndpoint appends the slash that the provider omits when it builds the URLs of networks from the endpoint.
func (g *rewriter) endEndpoint() {
	if address := g.config.Text("global", "api-endpoint"); address != "" && !strings.HasSuffix(address, "/") {
		g.config.Put(confdoc.NewText(address+"/"), diagnostic.Rewritten,
			"the cloud-controller-manager appends the names of networks to it", "global", "api-endpoint")
	}
}
