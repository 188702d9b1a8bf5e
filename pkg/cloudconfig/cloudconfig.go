// Package cloudconfig reads each cloud's configuration strictly and rewrites it for the external
// cloud-controller-manager.
//
// It is pure: bytes in, bytes and findings out; no clients, clock, environment or disk. Every problem is reported at
// once, with its place. A finding never carries the bytes of a value that may be secret.
package cloudconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
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

// Input names the input that a finding is about.
type Input string

// The inputs, in the order in which findings are sorted.
const (
	ConfigInput      Input = "cloud config"
	CredentialsInput Input = "credentials"
	CABundleInput    Input = "CA bundle"
)

// Kind tells what a finding means. How severe it is follows from the kind and the Policy.
type Kind string

const (
	// Invalid is what the cloud-controller-manager would refuse.
	Invalid Kind = "Invalid"
	// Typo is an unknown name close to a known one.
	Typo Kind = "Typo"
	// Redirected is an endpoint that would receive the credentials, and that neither they nor Infrastructure name.
	Redirected Kind = "Redirected"
	// Insecure is what weakens the protection of the credentials; the user may want it.
	Insecure Kind = "Insecure"
	// Unknown is another unknown name; a newer installer may know it.
	Unknown Kind = "Unknown"
	// Legacy is known to the in-tree provider only and was dropped.
	Legacy Kind = "Legacy"
	// Rewritten is what the user wrote and does not get; the message has the reason.
	Rewritten Kind = "Rewritten"
	// Adapted is what every configuration needs to be one for the external provider: a path, a default, another format. It
	// needs nobody's attention, so it is no warning; convert shows it, with the reason in the message.
	Adapted Kind = "Adapted"
)

// Finding is one remark about one place of one input.
type Finding struct {
	// Input is the input that the finding is about.
	Input Input
	// DataKey is the key in the credentials Secret, such as clouds.yaml, or that of another text beside the cloud
	// configuration; empty for the configuration itself and the CA bundle.
	DataKey string
	// Line and Column are 1-based; both are 0 when the finding concerns the input as a whole. Columns count
	// characters, not bytes.
	Line, Column int
	// Kind tells what the finding means.
	Kind Kind
	// Message says what is wrong and what to do. It holds neither a position nor secret bytes.
	Message string
	// SeeLine is another line of the same input that explains the message, such as the first of two duplicate keys; 0 when there
	// is none. It is not part of Message because an offline check translates it to a line of the file.
	SeeLine int
}

// String is the finding as one line: input, key, position and message.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(string(f.Input))
	if f.DataKey != "" {
		fmt.Fprintf(&b, " %s", f.DataKey)
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	fmt.Fprintf(&b, ": %s", f.Text())
	return b.String()
}

// Text is the message with the other line that explains it, which counts as Line does.
func (f Finding) Text() string {
	if f.SeeLine == 0 {
		return f.Message
	}
	return fmt.Sprintf("%s (see line %d)", f.Message, f.SeeLine)
}

// Result is what a Rewrite makes of a Source. When any finding is Invalid there are findings and nothing else.
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
	// Findings are sorted by input, key, line and column.
	Findings []Finding
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

// Policy tells what a likely typo and a redirected endpoint mean.
type Policy int

const (
	// Lenient reports a likely typo and a redirected endpoint: the policy of a first install and of render.
	Lenient Policy = iota
	// Strict refuses both: the policy of a change while a good revision runs, and of offline validation.
	Strict
)

// Errors are the findings that refuse the candidate under the policy p.
func (r Result) Errors(p Policy) []Finding {
	return r.filter(p, true)
}

// Warnings are the findings that are reported but refuse nothing under the policy p; what was merely adapted is not among
// them.
func (r Result) Warnings(p Policy) []Finding {
	return r.filter(p, false)
}

func (r Result) filter(p Policy, refused bool) []Finding {
	var out []Finding
	for _, f := range r.Findings {
		strict := f.Kind == Typo || f.Kind == Redirected
		if f.Kind != Adapted && (f.Kind == Invalid || strict && p == Strict) == refused {
			out = append(out, f)
		}
	}
	return out
}

// mostFindings is how many findings a Result has at most: more help nobody, and a status has to hold them.
const mostFindings = 100

// findings collects remarks; finish makes the Result out of them.
type findings []Finding

func (fs *findings) add(f Finding) { *fs = append(*fs, f) }

// finish sorts the findings, leaves out the least severe and last where there are too many, and drops everything else when
// one is Invalid.
func (fs *findings) finish(r Result) Result {
	all := *fs
	refused := slices.ContainsFunc(all, func(f Finding) bool { return f.Kind == Invalid })
	if refused || len(all) > mostFindings {
		// What was or would have been adapted is of no interest then.
		all = slices.DeleteFunc(all, func(f Finding) bool { return f.Kind == Adapted })
	}
	inputs := map[Input]int{ConfigInput: 0, CredentialsInput: 1, CABundleInput: 2}
	byPlace := func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(inputs[a.Input], inputs[b.Input]),
			cmp.Compare(a.DataKey, b.DataKey),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.SeeLine, b.SeeLine),
		)
	}
	slices.SortStableFunc(all, byPlace)
	if len(all) > mostFindings {
		kinds := map[Kind]int{Invalid: 0, Redirected: 1, Typo: 2, Insecure: 3, Unknown: 4, Rewritten: 5, Legacy: 6}
		slices.SortStableFunc(all, func(a, b Finding) int {
			return cmp.Compare(kinds[a.Kind], kinds[b.Kind])
		})
		rest := all[mostFindings-1:]
		last := Finding{Input: rest[0].Input, DataKey: rest[0].DataKey, Line: rest[0].Line, Column: rest[0].Column, Kind: rest[0].Kind,
			Message: fmt.Sprintf("%d more findings from here on are not listed: correct the others first", len(rest))}
		all = append(all[:mostFindings-1:mostFindings-1], last)
		slices.SortStableFunc(all, byPlace)
	}
	if refused {
		return Result{Findings: all}
	}
	r.Findings = all
	return r
}
