// Package gcp rewrites configurations for cloud-provider-gcp.
package gcp

import (
	"fmt"
	"slices"
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

// rewriter is one run of the GCP function.
type rewriter struct {
	src      clouds.Source
	config   *confdoc.INIDocument
	findings diagnostic.List
	// universe is the domain of the APIs that the credentials are for; empty where it is not known.
	universe string
}

// Rewrite checks and rewrites a Google cloud.conf, and checks the key or the federation that it is used with.
//
// The text is what openshift/cloud-provider-gcp reads. The rewriting makes the provider log in with service_account.json:
// without token-url = nil it takes its tokens from the metadata server of the instance, whatever file there is. It exits when
// GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist, so the Secret is required. An api-endpoint gets the slash that
// it needs. What is unknown is kept: a newer provider may know it. Comments are not kept.
func Rewrite(src clouds.Source) clouds.Result {
	g := &rewriter{src: src}
	g.config = confdoc.ReadINI(src.Config, schema, &g.findings)
	if g.config.Group("global") == nil {
		g.config.AddFirst("global") // what is written is never empty
	}
	g.checkValues()
	g.checkCluster()
	credentials, tokens := g.credentials()
	g.checkEndpoints()
	g.useCredentials()
	g.endEndpoint()
	g.config.CheckPlaceholders()
	return clouds.Finish(g.findings, clouds.Result{Config: g.config.Format(), Credentials: credentials, Tokens: tokens})
}

// checkValues finds values that can be read, but with which the provider exits, or for which it silently takes another.
func (g *rewriter) checkValues() {
	g.checkWord("stack-type", "IPV4", "IPV4", "IPV6", "IPV4_IPV6")
	g.checkWord("firewall-rules-management", "Enabled", "Enabled", "Disabled")
	for _, key := range []string{"api-endpoint", "container-api-endpoint"} {
		if e := g.config.Value("global", key); e.Value != "" && !clouds.IsEndpoint(e.Value) {
			g.config.Report(e.ValuePos, diagnostic.Invalid, key+" is not of the form https://compute.googleapis.com/compute/v1/")
		}
	}
	if e := g.config.Value("global", "local-zone"); e.Value != "" && region(e.Value) == "" {
		g.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("local-zone is %s, but wants a zone, such as us-central1-a", confdoc.Quoted(e.Value)))
	}
	if e := g.config.Value("global", "token-url"); e.Value != "" && e.Value != "nil" && !clouds.IsEndpoint(e.Value) {
		g.config.Report(e.ValuePos, diagnostic.Invalid, "token-url is neither nil nor of the form https://host/path")
	}
}

func (g *rewriter) checkWord(key, fallback string, known ...string) {
	e := g.config.Value("global", key)
	if e.Value == "" || slices.Contains(known, e.Value) {
		return
	}
	g.config.Report(e.ValuePos, diagnostic.Typo, fmt.Sprintf("%s is %s, which the cloud-controller-manager takes for %s: it knows %s",
		key, confdoc.Quoted(e.Value), fallback, strings.Join(known, ", ")))
}

// region is the region of a zone, as the provider finds it; empty when the text cannot be a zone.
func region(zone string) string {
	return zone[:max(0, strings.LastIndex(zone, "-"))]
}

// checkCluster compares with Infrastructure what can be compared: a project may be given by its number too.
func (g *rewriter) checkCluster() {
	status := g.src.Cluster.Status.GCP
	if status == nil {
		return
	}
	project := g.config.Value("global", "project-id")
	if _, err := strconv.ParseUint(project.Value, 10, 64); err != nil {
		g.config.Contradicts(project, projectField, status.ProjectID)
	}
	zone := g.config.Value("global", "local-zone")
	zone.Name, zone.Value = "the region of local-zone", region(zone.Value)
	g.config.Contradicts(zone, regionField, status.Region)
	subnetwork := g.config.Value("global", "subnetwork-name")
	if _, after, ok := strings.Cut("/"+subnetwork.Value, "/regions/"); ok {
		subnetwork.Name = "the region of subnetwork-name"
		subnetwork.Value, _, _ = strings.Cut(after, "/")
		g.config.Contradicts(subnetwork, regionField, status.Region)
	}
}

// checkEndpoints finds an API that is not of the universe that the credentials are for: it would get their tokens.
func (g *rewriter) checkEndpoints() {
	if g.universe == "" {
		return
	}
	for _, key := range []string{"api-endpoint", "container-api-endpoint"} {
		e := g.config.Value("global", key)
		if !clouds.IsEndpoint(e.Value) || clouds.IsTLS(e.Value) && clouds.IsUnder(clouds.HostOf(e.Value), g.universe) {
			continue
		}
		g.config.Report(e.ValuePos, diagnostic.Redirected, fmt.Sprintf("%s is %s, which is not of the API that the %s of the credentials Secret is for: "+
			"the cloud-controller-manager would send its tokens there; remove the line", key, clouds.ShownEndpoint(e.Value), credentialsFile))
	}
}

// useCredentials makes the provider log in with the delivered file, which the cloud-credential-operator makes for every cluster.
func (g *rewriter) useCredentials() {
	was := g.config.Value("global", "token-url")
	if was.Value == "nil" {
		return
	}
	g.config.Group("global").Set("token-url", "nil")
	const reason = `token-url is set to "nil": the cloud-controller-manager logs in with the service_account.json of its own credentials Secret`
	if was.Value == "" {
		g.config.Report(was.Pos, diagnostic.Adapted, reason+", and would ask the metadata server otherwise")
		return
	}
	g.config.Report(was.Pos, diagnostic.Rewritten, reason)
}

// endEndpoint adds the slash that the provider does not add when it makes the addresses of networks out of the endpoint.
func (g *rewriter) endEndpoint() {
	e := g.config.Value("global", "api-endpoint")
	if e.Value == "" || strings.HasSuffix(e.Value, "/") {
		return
	}
	g.config.Group("global").Set("api-endpoint", e.Value+"/")
	g.config.Report(e.Pos, diagnostic.Rewritten, "api-endpoint gets a slash at its end: the cloud-controller-manager puts the names of networks right behind it")
}
