// Package digitalocean creates the environment variables of digitalocean-cloud-controller-manager.
package digitalocean

import (
	"bytes"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// token is the required key of the Secret.
const token = "access-token"

// keys are the keys of the Secret for which the provider has an environment variable: DO_ACCESS_TOKEN, REGION (by
// default it asks the metadata service), DO_CLUSTER_ID and DO_CLUSTER_VPC_ID, as cloud-controller-manager/do/cloud.go
// and metadata.go of digitalocean-cloud-controller-manager read them. No Go module proxy has a release of the provider
// to compare with.
var keys = []string{token, "region", "cluster-id", "cluster-vpc-id"}

// Rewrite checks the access token.
//
// The provider has no configuration file: it reads environment variables. Each of them comes from a key of the
// credentials Secret, so only the values are delivered. Each value must be a single line that a file of environment
// variables can contain.
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
