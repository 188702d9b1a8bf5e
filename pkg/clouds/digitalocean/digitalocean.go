// Package digitalocean makes the environment of digitalocean-cloud-controller-manager.
package digitalocean

import (
	"bytes"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// token is the key of the Secret that has to be there.
const token = "access-token"

// keys are the keys of the Secret that the provider has an environment variable for: DO_ACCESS_TOKEN, REGION
// (else it asks the metadata service), DO_CLUSTER_ID and DO_CLUSTER_VPC_ID, as cloud-controller-manager/do/cloud.go and
// metadata.go of digitalocean-cloud-controller-manager read them. No Go module proxy has a release of it to compare with.
var keys = []string{token, "region", "cluster-id", "cluster-vpc-id"}

// Rewrite checks the access token.
//
// The provider has no configuration file: it reads environment variables. Each of them comes from a key of the credentials
// Secret, so what is delivered are the values alone. Each has to be one line of text that a file of environment variables
// can hold.
func Rewrite(src clouds.Source) clouds.Result {
	var fs diagnostic.List
	if len(bytes.TrimSpace(src.Config)) > 0 {
		fs.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Rewritten,
			Message: "DigitalOcean's cloud-controller-manager has no configuration file and ignores this one: remove it; what can be set are the keys " +
				strings.Join(keys, ", ") + " of the credentials Secret"})
	}
	if src.CredentialsUnknown {
		return clouds.Finish(fs, clouds.Result{Config: []byte{}})
	}
	values := clouds.SecretTexts(src.Credentials, &fs, keys...)
	delivered := map[string][]byte{}
	for _, key := range keys {
		value := values[key]
		if value == "" {
			continue
		}
		if strings.ContainsAny(value, " '") {
			fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: diagnostic.Invalid, Message: "the value has a blank or a single quote in it, which it cannot have: write it again"})
		}
		delivered[key] = []byte(value)
	}
	switch {
	case src.Credentials == nil:
		fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Kind: diagnostic.Invalid,
			Message: "there is no credentials Secret: create it with the key " + token + ", an access token of DigitalOcean's API"})
	case values[token] == "":
		fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: token, Kind: diagnostic.Invalid, Message: "it is missing or empty: write an access token of DigitalOcean's API"})
	}
	return clouds.Finish(fs, clouds.Result{Config: []byte{}, Credentials: delivered})
}
