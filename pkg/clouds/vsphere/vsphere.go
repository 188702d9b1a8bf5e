// Package vsphere rewrites configurations for cloud-provider-vsphere.
package vsphere

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// rewriter is one run of the vSphere functions.
type rewriter struct {
	*confdoc.Document // in the YAML form, whatever the form of the source is
	src               clouds.Source
	isINI             bool
	unread            bool // something of the source could not be read, so what is missing may be there
	noVCenters        bool // which vCenters are used is not known, as what names them is wrong
	findings          diagnostic.List
}

// Rewrite checks and rewrites a vSphere configuration, in the YAML form or in the legacy INI form, and checks the credentials
// that it is used with.
//
// The text is what k8s.io/cloud-provider-vsphere v1.36.0 reads. The outcome is always YAML, as the provider is about to
// forget the INI form. It reads its credentials from a folder, finds the vCenters, node networks and failure domains of
// Infrastructure and the IP families of Network, and does without what only the in-tree provider knew. Where there is no
// configuration, Infrastructure says enough. Comments are not kept; what is unknown is kept in the YAML form only.
//
// Of the credentials it delivers those of the vCenters that are used, under the names of the Secret's keys: the provider
// looks for files of the same names.
func Rewrite(src clouds.Source) clouds.Result {
	v := newVSphere(src)
	v.useSecretsDirectory()
	v.useCABundle()
	v.rewrite()
	return clouds.Finish(v.findings, clouds.Result{Config: v.Encode(), Credentials: v.credentials()})
}

// RewriteManaged is what the other components of a cluster read in openshift-config-managed/kube-cloud-config while the
// feature gate VSphereMultiVCenterDay2 is on: the configuration of VSphere, but with the Secret that they read their
// credentials from, as the folder of the cloud-controller-manager means nothing to them. It looks at no credentials.
func RewriteManaged(src clouds.Source) clouds.Result {
	v := newVSphere(src)
	v.useSecret()
	v.rewrite()
	return clouds.Finish(v.findings, clouds.Result{Config: v.Encode()})
}

// newVSphere reads the configuration; what cannot be read is reported and missing.
func newVSphere(src clouds.Source) *rewriter {
	v := &rewriter{src: src}
	v.Document = v.read()
	return v
}

// rewrite does what does not depend on where the credentials are.
func (v *rewriter) rewrite() {
	v.useVCenters()
	v.useLabels()
	v.useIPFamilies()
	v.useNodeNetworks()
	v.order()
}

// order writes known settings in one order, so that the same settings are the same bytes. What is unknown comes last.
func (v *rewriter) order() {
	sortEntries(v.Root, tree.Fields)
	for _, g := range groups {
		value := v.Value(g.yaml)
		if g.yaml != "vcenter" {
			sortEntries(value, yamlFields(g.settings))
		} else if value != nil {
			for _, e := range value.Entries {
				sortEntries(e.Value, yamlFields(g.settings))
			}
		}
	}
}

func sortEntries(n *confdoc.Node, fields []confdoc.Field) {
	if n == nil {
		return
	}
	place := func(e *confdoc.Entry) int {
		if i := slices.IndexFunc(fields, func(f confdoc.Field) bool { return f.Name == e.Name }); i >= 0 {
			return i
		}
		return len(fields)
	}
	slices.SortStableFunc(n.Entries, func(a, b *confdoc.Entry) int { return cmp.Compare(place(a), place(b)) })
}

// adapted reports a change that every configuration needs.
func (v *rewriter) adapted(message string) {
	v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted, Message: message})
}

// scopes are the settings of the whole configuration, and those of each vCenter.
func (v *rewriter) scopes() [][]string {
	scopes := [][]string{{"global"}}
	if vcenters := v.Value("vcenter"); vcenters != nil {
		for _, e := range vcenters.Entries {
			scopes = append(scopes, []string{"vcenter", e.Name})
		}
	}
	return scopes
}

// shown is a setting as a message names it: in the user's own form.
func (v *rewriter) shown(scope []string, name string) string {
	if !v.isINI {
		return confdoc.Cut(strings.Join(append(slices.Clone(scope), name), "."))
	}
	g := groups[slices.IndexFunc(groups, func(g group) bool { return g.yaml == scope[0] })]
	section := "[" + g.ini + "]"
	if len(scope) > 1 {
		section = fmt.Sprintf("[%s %s]", g.ini, confdoc.Quoted(scope[1]))
	}
	for _, s := range g.settings {
		if s.Name == name {
			name = s.ini
		}
	}
	return name + " in " + section
}

// put gives a setting of the whole configuration its value and says why, in the user's own form.
func (v *rewriter) put(value string, kind diagnostic.Kind, reason string, path ...string) {
	was := v.Value(path...)
	shown := confdoc.Inside(path[0], path[1])
	if was != nil {
		shown = v.shown(path[:1], path[1])
	} else {
		kind = diagnostic.Adapted
	}
	if was == nil || was.Text != value {
		v.ReportAt(was, kind, fmt.Sprintf("%s is set to %q: %s", shown, value, reason))
	}
	v.Set(confdoc.NewText(value), path...)
}

// dropSetting removes a setting with the reason.
func (v *rewriter) dropSetting(scope []string, name string, kind diagnostic.Kind, reason string) {
	if e := v.Drop(append(slices.Clone(scope), name)...); e != nil {
		v.ReportAt(e, kind, v.shown(scope, name)+" is dropped: "+reason)
	}
}

// useSecretsDirectory makes the provider read its credentials from files. It would exit if a Secret were named too.
func (v *rewriter) useSecretsDirectory() {
	const reason = "the cloud-controller-manager reads its credentials from the files of its own credentials Secret"
	v.dropLogin(reason)
	v.put(v.src.Paths.Credentials, diagnostic.Rewritten, reason, "global", "secretsDirectory")
}

// The Secret that an OpenShift installation on vSphere keeps the credentials of all components in.
const (
	secretName      = "vsphere-creds"
	secretNamespace = "kube-system"
)

// useSecret names the Secret that every component of the cluster knows.
func (v *rewriter) useSecret() {
	const reason = "the cluster's components read their credentials from secret/" + secretName + " in " + secretNamespace
	v.put(secretName, diagnostic.Rewritten, reason, "global", "secretName")
	v.put(secretNamespace, diagnostic.Rewritten, reason, "global", "secretNamespace")
	v.Drop("global", "secretName")
	v.Drop("global", "secretNamespace")
	v.dropLogin(reason)
	v.dropSetting([]string{"global"}, "secretsDirectory", diagnostic.Rewritten, reason)
	v.Set(confdoc.NewText(secretName), "global", "secretName")
	v.Set(confdoc.NewText(secretNamespace), "global", "secretNamespace")
}

// dropLogin removes every other way to log in.
func (v *rewriter) dropLogin(reason string) {
	defaults := map[string]string{"secretName": secretName, "secretNamespace": secretNamespace}
	for _, scope := range v.scopes() {
		for _, name := range []string{"secretName", "secretNamespace"} {
			kind := diagnostic.Rewritten
			if v.Text(append(slices.Clone(scope), name)...) == defaults[name] {
				kind = diagnostic.Adapted
			}
			v.dropSetting(scope, name, kind, reason)
		}
		for _, name := range []string{"user", "password"} {
			v.dropSetting(scope, name, diagnostic.Rewritten, reason)
		}
	}
}

// useCABundle makes every caFile name a file that will exist. Without one the trust store counts, which has the CA bundle
// beside the configuration in it.
func (v *rewriter) useCABundle() {
	for _, scope := range v.scopes() {
		named := v.Value(append(slices.Clone(scope), "caFile")...)
		ours := v.src.Paths.CABundle
		hasBundle := strings.TrimSpace(string(v.src.CABundle)) != ""
		switch {
		case named == nil:
			continue
		case strings.HasPrefix(path.Clean(named.Text), "/etc/pki/") || strings.HasPrefix(path.Clean(named.Text), "/etc/ssl/"):
			continue // the image's own, of which nothing is known here
		case !hasBundle:
			v.ReportAt(named, diagnostic.Invalid, fmt.Sprintf("%s is %s, which will not exist for the cloud-controller-manager: "+
				"put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line",
				v.shown(scope, "caFile"), confdoc.Quoted(named.Text)))
			continue
		case named.Text != ours:
			v.ReportAt(named, diagnostic.Rewritten, fmt.Sprintf("%s is set to %q, where the ca-bundle.pem of the cloud configuration is delivered",
				v.shown(scope, "caFile"), ours))
		}
		named.Text = ours
		if len(v.findings) == 0 || !slices.ContainsFunc(v.findings, func(f diagnostic.Diagnostic) bool { return f.Key == diagnostic.CABundleKey }) {
			clouds.CheckCABundle(v.src.CABundle, &v.findings)
		}
	}
}
