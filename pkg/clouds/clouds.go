// Package clouds defines the contract between the operator and the clouds, and helpers that several clouds share.
//
// Each cloud has a subpackage. It reads the cloud's configuration strictly and rewrites it for the external
// cloud-controller-manager. It is pure: bytes in, bytes and diagnostics out; no clients, clock, environment or file
// system. It reports all mistakes at once, with their positions. A diagnostic never contains a value that may be
// secret.
package clouds

import (
	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Source is the input of a Rewrite.
type Source struct {
	// Config is the user's configuration, nil if there is none.
	Config []byte
	// Keys are the other keys of the ConfigMap that contains Config, except for the CA bundle.
	Keys map[string][]byte
	// Credentials is the data of the credentials Secret, nil if there is no Secret.
	Credentials map[string][]byte
	// CredentialsUnknown means that the caller cannot read the Secret, as in offline checks. Missing credentials are then
	// no error, and Rewrite derives nothing from credentials.
	CredentialsUnknown bool
	// CABundle is the value of ca-bundle.pem in the ConfigMap that contains Config, nil if there is none.
	CABundle []byte
	Cluster  Cluster
	Paths    Paths
	// First means that no configuration has been accepted in this cluster yet.
	First bool
	// Kept is Result.Kept of the last accepted configuration.
	Kept map[string]string
}

// Cluster contains the facts about the cloud in Infrastructure, Network and FeatureGate. Any field may be empty: a
// check that needs a missing fact is skipped.
type Cluster struct {
	// Name is status.infrastructureName of Infrastructure.
	Name string `json:"-"`
	// Spec and Status are spec.platformSpec and status.platformStatus of Infrastructure.
	Spec   configv1.PlatformSpec   `json:"spec,omitzero"`
	Status configv1.PlatformStatus `json:"status,omitzero"`
	// ServiceNetworks are the CIDRs of serviceNetwork in Network.
	ServiceNetworks []string `json:"serviceNetworks,omitempty"`
	// FeatureGates are the enabled feature gates that affect the configuration or the cloud-controller-manager, sorted.
	FeatureGates []string `json:"featureGates,omitempty"`
}

// Paths are the paths of the delivered files in the cloud-controller-manager's container.
type Paths struct {
	// Config is the directory that contains one file for each key of Result.Files.
	Config string
	// Credentials is the directory that contains one file for each key of Result.Credentials.
	Credentials string
	// Tokens is the directory that contains one file for each of Result.Tokens.
	Tokens string
	// CABundle is the file that contains Source.CABundle.
	CABundle string
	// Kubeconfig is the cloud-controller-manager's own kubeconfig.
	Kubeconfig string
}

// Result is the output of a Rewrite. If any diagnostic is Invalid, all other fields are empty.
type Result struct {
	// Config is the content of cloud.conf. It may contain secrets.
	Config []byte
	// Files are further files in the directory of cloud.conf, by name.
	Files map[string][]byte
	// Credentials are the files from which the cloud-controller-manager reads its credentials, by name.
	Credentials map[string][]byte
	// NodeManager are the files that the cloud-node-manager reads, by name, or nil. They may contain secrets.
	NodeManager map[string][]byte
	// Tokens are the federated tokens with which the cloud-controller-manager logs in to the cloud.
	Tokens []Token
	// Kept are the user's values that have no effect yet, by key: the predecessor ignored them, and an upgrade must not
	// change behavior. A value takes effect once the user changes it.
	Kept map[string]string
	// Untried is why no preflight can try the configuration; empty if a preflight can.
	Untried string
	// Public are the names whose values are not secret, as confdoc.PublicNames returns them: those of Config, before and
	// after the rewriting, and those of Files. The value of any other name may be a secret.
	Public []string
	// Diagnostics are sorted by input, key, line and column.
	Diagnostics []diagnostic.Diagnostic
}

// Token is a token of the cloud-controller-manager's ServiceAccount that the operator keeps up to date in a file.
type Token struct {
	// Key is the name of the file.
	Key      string `json:"key"`
	Audience string `json:"audience"`
}

// Rewrite is what a platform with a cloud configuration provides. It is pure and deterministic.
type Rewrite func(Source) Result

// Errors returns the diagnostics that reject the candidate under the policy.
func (r Result) Errors(p diagnostic.Policy) []diagnostic.Diagnostic { return r.of(diagnostic.Error, p) }

// Warnings returns the diagnostics that are reported under the policy but do not reject the candidate.
func (r Result) Warnings(p diagnostic.Policy) []diagnostic.Diagnostic {
	return r.of(diagnostic.Warning, p)
}

func (r Result) of(severity diagnostic.Severity, p diagnostic.Policy) []diagnostic.Diagnostic {
	var out []diagnostic.Diagnostic
	for _, d := range r.Diagnostics {
		if d.Severity = d.Kind.Severity(p); d.Severity == severity {
			out = append(out, d)
		}
	}
	return out
}
