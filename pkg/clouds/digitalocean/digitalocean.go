// Package digitalocean creates the environment variables of digitalocean-cloud-controller-manager.
package digitalocean

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// token is the one required key of the Secret. The values of the other keys below are checked.
const (
	token        = "access-token"
	region       = "region"
	vpc          = "cluster-vpc-id"
	rateLimit    = "api-rate-limit-qps"
	balancerType = "default-lb-type"
	firewallName = "public-access-firewall-name"
	firewallTags = "public-access-firewall-tags"
)

// keys are the keys of the Secret for which the provider has an environment variable: DO_ACCESS_TOKEN, REGION (by
// default the provider asks the metadata service), DO_CLUSTER_ID, DO_CLUSTER_VPC_ID, DO_API_RATE_LIMIT_QPS,
// DEFAULT_LB_TYPE, PUBLIC_ACCESS_FIREWALL_NAME and PUBLIC_ACCESS_FIREWALL_TAGS (cloud-controller-manager/do/cloud.go
// and metadata.go of digitalocean-cloud-controller-manager at commit 70d527e38456). No Go module proxy has a release of
// the provider to compare with.
var keys = []string{token, region, "cluster-id", vpc, rateLimit, balancerType, firewallName,
	firewallTags}

// balancerTypes are the load balancer types that the provider knows, its default first.
var balancerTypes = []string{"REGIONAL_NETWORK", "REGIONAL"}

// Rewrite checks the keys of the credentials Secret, and returns those that have a value as Credentials.
//
// The provider has no configuration file: it reads environment variables, each from a key of the credentials Secret. A
// value must be a single line that a file of environment variables can contain.
func Rewrite(src clouds.Source) clouds.Result {
	run := clouds.Run{Source: src, Document: &confdoc.Document{Findings: &diagnostic.List{}}}
	run.Input = diagnostic.CloudConfig
	if len(bytes.TrimSpace(src.Config)) > 0 {
		run.Reportf(nil, diagnostic.Rewritten, "DigitalOcean's cloud-controller-manager has no configuration file and "+
			"ignores this one: remove it; you can set the keys %s of the credentials Secret", strings.Join(keys, ", "))
	}
	if src.CredentialsUnknown {
		return run.Finish(clouds.Result{Config: []byte{}})
	}
	values, delivered := run.SecretTexts(keys...), map[string][]byte{}
	run.ReportUnread(keys...)
	checkSettings(run, values)
	for key, value := range values {
		if strings.ContainsAny(value, " '") {
			run.RejectCredentials(key,
				"the value contains a space or a single quote, which is not allowed: write it again without")
		}
		if value != "" {
			delivered[key] = []byte(value)
		}
	}
	switch {
	case src.Credentials == nil:
		run.RejectCredentials("",
			"there is no credentials Secret: create it with the key %s, an access token of DigitalOcean's API", token)
	case values[token] == "":
		run.RejectCredentials(token, "it is missing or empty: write an access token of DigitalOcean's API")
	}
	return run.Finish(clouds.Result{Config: []byte{}, Credentials: delivered})
}

// checkSettings rejects values with which the provider exits (newCloud in cloud-controller-manager/do/cloud.go), and
// reports those that it ignores.
func checkSettings(run clouds.Run, values map[string]string) {
	// With 0 or less the provider's client makes one request, and then none.
	if limit, err := strconv.ParseFloat(values[rateLimit], 64); values[rateLimit] != "" && (err != nil || !(limit > 0)) {
		run.RejectCredentials(rateLimit, "the value is not a number above 0: write the requests per second")
	}
	if strings.ToLower(values[region]) != values[region] {
		run.ReportCredentials(region, diagnostic.Typo, "the value has capitals, but no region of DigitalOcean does: write "+
			"it in lower case, such as nyc3")
	}
	if values[vpc] != "" && !confdoc.IsUUID(values[vpc]) {
		run.ReportCredentials(vpc, diagnostic.Typo, "the value is no UUID, so DigitalOcean rejects every load balancer: "+
			"write the ID of the VPC, not its name or address")
	}
	if text := values[balancerType]; text != "" && !slices.Contains(balancerTypes, text) {
		run.ReportCredentials(balancerType, diagnostic.Doubtful, "the cloud-controller-manager ignores the value and "+
			"uses %s: write one of %s", balancerTypes[0], strings.Join(balancerTypes, ", "))
	}
	for key, other := range map[string]string{firewallName: firewallTags, firewallTags: firewallName} {
		if values[key] != "" && values[other] == "" {
			run.RejectCredentials(key, "%s is missing: set both, or neither", other)
		}
	}
}
