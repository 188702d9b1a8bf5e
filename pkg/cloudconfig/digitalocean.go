package cloudconfig

import (
	"bytes"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// digitalOceanToken is the key of the Secret that has to be there.
const digitalOceanToken = "access-token"

// digitalOceanKeys are the keys of the Secret that the provider has an environment variable for: DO_ACCESS_TOKEN, REGION
// (else it asks the metadata service), DO_CLUSTER_ID and DO_CLUSTER_VPC_ID, as cloud-controller-manager/do/cloud.go and
// metadata.go of digitalocean-cloud-controller-manager read them. No Go module proxy has a release of it to compare with.
var digitalOceanKeys = []string{digitalOceanToken, "region", "cluster-id", "cluster-vpc-id"}

// DigitalOcean checks the access token.
//
// The provider has no configuration file: it reads environment variables. Each of them comes from a key of the credentials
// Secret, so what is delivered are the values alone. Each has to be one line of text that a file of environment variables
// can hold.
func DigitalOcean(src Source) Result {
	var fs findings
	if len(bytes.TrimSpace(src.Config)) > 0 {
		fs.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Rewritten,
			Message: "DigitalOcean's cloud-controller-manager has no configuration file and ignores this one: remove it; what can be set are the keys " +
				strings.Join(digitalOceanKeys, ", ") + " of the credentials Secret"})
	}
	if src.CredentialsUnknown {
		return finish(fs, Result{Config: []byte{}})
	}
	values := secretTexts(src.Credentials, &fs, digitalOceanKeys...)
	delivered := map[string][]byte{}
	for _, key := range digitalOceanKeys {
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
			Message: "there is no credentials Secret: create it with the key " + digitalOceanToken + ", an access token of DigitalOcean's API"})
	case values[digitalOceanToken] == "":
		fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: digitalOceanToken, Kind: diagnostic.Invalid, Message: "it is missing or empty: write an access token of DigitalOcean's API"})
	}
	return finish(fs, Result{Config: []byte{}, Credentials: delivered})
}
