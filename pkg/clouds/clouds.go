// Package clouds is the contract between the operator and the clouds, and what several clouds need.
//
// Each cloud has a package below this one. It reads the cloud's configuration strictly and rewrites it for the external
// cloud-controller-manager. It is pure: bytes in, bytes and diagnostics out; no clients, clock, environment or disk. Every
// mistake is reported at once, with its place. A diagnostic never has the bytes of a value that may be secret.
package clouds

import (
	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Source is what a platform's configuration is made from.
type Source struct {
	// Config is the user's configuration; nil when there is none.
	Config []byte
	// Keys is what stands beside Config in its ConfigMap under other keys, but for the CA bundle.
	Keys map[string][]byte
	// Credentials is the data of the credentials Secret; nil when there is none.
	Credentials map[string][]byte
	// CredentialsUnknown tells that nobody knows whether there are credentials: neither their absence nor what would be
	// made from them is an error then. Offline checks have no Secrets.
	CredentialsUnknown bool
	// CABundle is the ca-bundle.pem beside the configuration; nil when there is none.
	CABundle []byte
	// Cluster is what the cluster says about its cloud.
	Cluster Cluster
	// Paths tells where the files will be for the cloud-controller-manager.
	Paths Paths
	// First tells that nothing has been accepted in this cluster yet.
	First bool
	// Kept is Result.Kept of what was accepted last.
	Kept map[string]string
}

// Cluster is what Infrastructure, Network and FeatureGate say about the cloud. All of it may be empty: a check that needs
// a fact does nothing without it.
type Cluster struct {
	// Name is status.infrastructureName of Infrastructure.
	Name string `json:"-"`
	// Spec and Status are spec.platformSpec and status.platformStatus of Infrastructure.
	Spec   configv1.PlatformSpec   `json:"spec,omitzero"`
	Status configv1.PlatformStatus `json:"status,omitzero"`
	// ServiceNetworks are the CIDRs of Network's serviceNetwork.
	ServiceNetworks []string `json:"serviceNetworks,omitempty"`
	// FeatureGates are the enabled ones that matter to a cloud's configuration or cloud-controller-manager, sorted.
	FeatureGates []string `json:"featureGates,omitempty"`
}

// Paths are where the files will be inside the cloud-controller-manager's container.
type Paths struct {
	// Config is the folder that holds one file per key of Result.Files.
	Config string
	// Credentials is the folder that holds one file per key of Result.Credentials.
	Credentials string
	// Tokens is the folder that holds one file per Result.Tokens.
	Tokens string
	// CABundle is the file that holds Source.CABundle.
	CABundle string
	// Kubeconfig is the cloud-controller-manager's own.
	Kubeconfig string
}

// Result is what a Rewrite makes of a Source. When any diagnostic is Invalid there are diagnostics and nothing else.
type Result struct {
	// Config is the cloud.conf for the cloud-controller-manager. It may hold secrets.
	Config []byte
	// Files are further files beside cloud.conf, by name.
	Files map[string][]byte
	// Credentials are the files that the cloud-controller-manager reads its credentials from, by name.
	Credentials map[string][]byte
	// NodeManager are the files that the platform's cloud-node-manager reads, by name; nil where it reads none. They may hold
	// secrets.
	NodeManager map[string][]byte
	// Tokens are the federated tokens of the cloud-controller-manager's ServiceAccount that the cloud's login needs.
	Tokens []Token
	// Kept are the user's values that do not count yet, by key: the predecessor ignored them, and an upgrade changes nothing
	// that the user did not change. Another value counts.
	Kept map[string]string
	// Diagnostics are sorted by input, key, line and column.
	Diagnostics []diagnostic.Diagnostic
}

// Token is a token of the cloud-controller-manager's ServiceAccount that is kept fresh in a file.
type Token struct {
	// Key is the file's name.
	Key string `json:"key"`
	// Audience is whom the token is for.
	Audience string `json:"audience"`
}

// Rewrite is the one function that a platform with a configuration brings. It is pure and deterministic.
type Rewrite func(Source) Result

// Errors returns the diagnostics that reject the candidate under the policy.
func (r Result) Errors(p diagnostic.Policy) []diagnostic.Diagnostic { return r.of(diagnostic.Error, p) }

// Warnings returns the diagnostics that are reported but reject nothing under the policy.
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

// Finish makes the Result of a run. An invalid input has diagnostics and nothing else.
func Finish(all diagnostic.List, r Result) Result {
	sorted := all.Sorted()
	if sorted.Has(diagnostic.Invalid) {
		return Result{Diagnostics: sorted}
	}
	r.Diagnostics = sorted
	return r
}
