// Package vsphere rewrites configurations for cloud-provider-vsphere.
package vsphere

import (
	"cmp"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

type rewriter struct {
	clouds.Run      // in the YAML form, even if the source is INI
	isINI           bool
	unread          bool // a part of the source could not be read, so a missing setting may exist
	unknownVCenters bool // the vCenters' names are wrong or missing, so credentials cannot be checked
}

// Rewrite checks and rewrites a vSphere configuration, in YAML or in the legacy INI form, and checks the credentials
// that it is used with.
//
// It accepts what k8s.io/cloud-provider-vsphere v1.36.0 reads. The result is always YAML, because the provider is going
// to drop the INI form. It reads the credentials from a directory, and contains the vCenters, node networks and failure
// domains of Infrastructure and the IP families of Network. Settings that only the in-tree provider read are dropped.
// Without a configuration the result is made from Infrastructure alone. Comments are dropped. Unknown keys are kept in
// the YAML form only.
//
// The credentials are those of the vCenters in use, under the Secret's keys: the provider looks for files of these
// names.
func Rewrite(src clouds.Source) clouds.Result {
	v := newRewriter(src)
	v.useLogin("the cloud-controller-manager reads its credentials from the files of its own credentials Secret",
		map[string]string{secretsDirectory: src.Paths.Credentials})
	v.useCABundle()
	v.useCluster()
	credentials := v.credentials()
	return v.Finish(clouds.Result{Config: v.Encode(), Credentials: credentials})
}

// RewriteManaged returns the configuration that other components of the cluster read in
// openshift-config-managed/kube-cloud-config while the feature gate VSphereMultiVCenterDay2 is on. It differs from
// Rewrite's only in the login: these components read the credentials from a Secret, because they do not have the
// cloud-controller-manager's directory. RewriteManaged does not check credentials.
func RewriteManaged(src clouds.Source) clouds.Result {
	v := newRewriter(src)
	v.useLogin("the cluster's components read their credentials from secret/"+defaultSecret[secretName]+
		" in "+defaultSecret[secretNamespace], defaultSecret)
	v.useCluster()
	return v.Finish(clouds.Result{Config: v.Encode()})
}

func newRewriter(src clouds.Source) *rewriter {
	v := &rewriter{Run: clouds.Run{Source: src, Document: empty(&diagnostic.List{})}}
	v.read()
	return v
}

func (v *rewriter) useCluster() {
	v.allowUnusedThumbprints()
	v.useVCenters()
	v.checkPlaceholders()
	v.useLabels()
	v.useIPFamilies()
	v.useNodeNetworks()
	v.checkNodeNetworks()
	sortEntries(v.Root, confdoc.Field{Fields: tree.Fields})
}

// allowUnusedThumbprints makes a mistake in a thumbprint only doubtful where insecureFlag is true: govmomi looks at the
// thumbprint only after it has not trusted the certificate (dialTLSContext in vim25/soap/client.go of v0.53.0).
func (v *rewriter) allowUnusedThumbprints() {
	for _, path := range v.everywhere("thumbprint") {
		at, owner := v.Value(path...).Position, v.Value(path[:len(path)-1]...)
		isInsecure := v.IsTrue("global", "insecureFlag") || owner.String("insecureFlag") == "true"
		for i, d := range *v.Findings {
			if isInsecure && d.Kind == diagnostic.Typo && d.Line == at.Line && d.Column == at.Column {
				(*v.Findings)[i].Kind = diagnostic.Doubtful
			}
		}
	}
}

// sortEntries sorts the entries of an object in the order of its fields, so that equal settings yield equal bytes.
// Unknown entries come last.
func sortEntries(n *confdoc.Node, object confdoc.Field) {
	order := map[string]int{} // negative, because an unknown entry has 0
	for i, f := range object.Fields {
		order[f.Name] = i - len(object.Fields)
		if value := n.Get(f.Name); value != nil {
			sortEntries(value, f)
		}
	}
	slices.SortStableFunc(n.Entries, func(a, b *confdoc.Entry) int { return cmp.Compare(order[a.Name], order[b.Name]) })
	if object.Of != nil {
		for _, e := range n.Entries {
			sortEntries(e.Value, *object.Of)
		}
	}
}

func (v *rewriter) vCenters() []*confdoc.Entry { return v.Value("vcenter").Members() }

// everywhere returns the paths at which a setting has a value: the global one and those of the vCenters.
func (v *rewriter) everywhere(name string) [][]string {
	paths := [][]string{{"global", name}}
	for _, e := range v.vCenters() {
		paths = append(paths, []string{"vcenter", e.Name, name})
	}
	return slices.DeleteFunc(paths, func(path []string) bool { return v.Value(path...) == nil })
}

func (v *rewriter) drop(kind diagnostic.Kind, reason string, path ...string) {
	if n := v.Value(path...); n != nil {
		v.Reportf(n, kind, "%s is dropped: %s", v.Shown(path...), reason)
		v.Drop(path...)
	}
}

const (
	secretName       = "secretName"
	secretNamespace  = "secretNamespace"
	secretsDirectory = "secretsDirectory"
)

// defaultSecret is the Secret with the credentials of all components of an OpenShift cluster on vSphere.
var defaultSecret = map[string]string{secretName: "vsphere-creds", secretNamespace: "kube-system"}

// useLogin writes the global settings of a login, and drops all others: the provider exits if it finds two logins.
func (v *rewriter) useLogin(reason string, login map[string]string) {
	for _, name := range []string{secretName, secretNamespace, secretsDirectory, "user", "password"} {
		for _, path := range v.everywhere(name) {
			kind := diagnostic.Rewritten
			if usual := defaultSecret[name]; usual != "" && v.Text(path...) == usual {
				kind = diagnostic.Adapted
			}
			if path[0] != "global" || login[name] == "" {
				v.drop(kind, reason, path...)
			}
		}
	}
	for name, value := range login {
		v.Put(confdoc.NewText(value), diagnostic.Rewritten, reason, "global", name)
	}
}

// useCABundle makes every caFile name a file that will exist. Without a caFile the provider uses the trust store, which
// includes the CA bundle beside the configuration.
func (v *rewriter) useCABundle() {
	usesBundle := false
	for _, setting := range v.everywhere("caFile") {
		file := v.Text(setting...)
		switch {
		case clouds.IsTrustStore(file):
		case !v.HasCABundle():
			v.Rejectf(v.Value(setting...), "%s is %s, which will not exist for the cloud-controller-manager: "+
				"put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line",
				v.Shown(setting...), confdoc.Quoted(file))
		default:
			v.Put(confdoc.NewText(v.Paths.CABundle), diagnostic.Rewritten,
				"the ca-bundle.pem of the cloud configuration is delivered there", setting...)
			usesBundle = true
		}
	}
	if usesBundle {
		v.CheckCABundle()
	}
}
