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
	*confdoc.Tree // in the YAML form, whatever the form of the source is
	src           clouds.Source
	isINI         bool
	unread        bool // something of the source could not be read, so what is missing may be there
	noVCenters    bool // which vCenters are used is not known, as what names them is wrong
	findings      diagnostic.List
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
	return clouds.Finish(v.findings, clouds.Result{Config: v.FormatYAML(), Credentials: v.credentials()})
}

// RewriteManaged is what the other components of a cluster read in openshift-config-managed/kube-cloud-config while the
// feature gate VSphereMultiVCenterDay2 is on: the configuration of VSphere, but with the Secret that they read their
// credentials from, as the folder of the cloud-controller-manager means nothing to them. It looks at no credentials.
func RewriteManaged(src clouds.Source) clouds.Result {
	v := newVSphere(src)
	v.useSecret()
	v.rewrite()
	return clouds.Finish(v.findings, clouds.Result{Config: v.FormatYAML()})
}

// newVSphere reads the configuration; what cannot be read is reported and missing.
func newVSphere(src clouds.Source) *rewriter {
	v := &rewriter{src: src}
	v.Tree = v.read()
	return v
}

// rewrite does what does not depend on where the credentials are.
func (v *rewriter) rewrite() {
	v.useVCenters()
	v.useLabels()
	v.useIPFamilies()
	v.useNodeNetworks()
	v.CheckPlaceholders()
	v.order()
}

// order writes known settings in one order, so that the same settings are the same bytes. What is unknown comes last.
func (v *rewriter) order() {
	sortEntries(v.Root, []string{"global", "vcenter", "labels", "nodes"})
	sortEntries(v.Value("global"), yamlNames(globalFields))
	sortEntries(v.Value("labels"), yamlNames(labelFields))
	sortEntries(v.Value("nodes"), yamlNames(nodeFields))
	if vcenters := v.Value("vcenter"); vcenters != nil {
		for _, e := range vcenters.Entries {
			sortEntries(e.Value, yamlNames(connectionFields))
		}
	}
}

func yamlNames(fields []vSphereField) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.yaml
	}
	return names
}

func sortEntries(n *confdoc.Node, names []string) {
	if n == nil {
		return
	}
	place := func(e *confdoc.Entry) int {
		if i := slices.Index(names, e.Name); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(n.Entries, func(a, b *confdoc.Entry) int { return cmp.Compare(place(a), place(b)) })
}

// adapted reports a change that every configuration needs.
func (v *rewriter) adapted(message string) { v.Report(0, 0, diagnostic.Adapted, message) }

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
	section := map[string]string{"global": "[Global]", "labels": "[Labels]", "nodes": "[Nodes]"}[scope[0]]
	if scope[0] == "vcenter" {
		section = "[VirtualCenter " + confdoc.Quoted(strings.Join(scope[1:], ".")) + "]"
	}
	for _, f := range slices.Concat(globalFields, labelFields, nodeFields) {
		if f.yaml == name {
			return f.ini + " in " + section
		}
	}
	return name + " in " + section
}

// dropSetting removes a setting with the reason.
func (v *rewriter) dropSetting(scope []string, name string, kind diagnostic.Kind, reason string) {
	if e := v.Drop(append(slices.Clone(scope), name)...); e != nil {
		v.Report(e.Line, e.Column, kind, v.shown(scope, name)+" is dropped: "+reason)
	}
}

// useSecretsDirectory makes the provider read its credentials from files. It would exit if a Secret were named too.
func (v *rewriter) useSecretsDirectory() {
	const reason = "the cloud-controller-manager reads its credentials from the files of its own credentials Secret"
	v.dropLogin(reason)
	folder := v.src.Paths.Credentials
	switch was := v.Value("global", "secretsDirectory"); {
	case was == nil:
		v.adapted(fmt.Sprintf("global.secretsDirectory is set to %q: %s", folder, reason))
	case was.Text != folder:
		v.ReportAt(was, diagnostic.Rewritten, fmt.Sprintf("%s is set to %q: %s", v.shown([]string{"global"}, "secretsDirectory"), folder, reason))
	}
	v.Set(confdoc.NewText(folder), "global", "secretsDirectory")
}

// The Secret that an OpenShift installation on vSphere keeps the credentials of all components in.
const (
	secretName      = "vsphere-creds"
	secretNamespace = "kube-system"
)

// useSecret names the Secret that every component of the cluster knows.
func (v *rewriter) useSecret() {
	const reason = "the cluster's components read their credentials from secret/" + secretName + " in " + secretNamespace
	for _, ours := range []struct{ name, value string }{{"secretName", secretName}, {"secretNamespace", secretNamespace}} {
		switch was := v.Value("global", ours.name); {
		case was == nil:
			v.adapted(fmt.Sprintf("global.%s is set to %q: %s", ours.name, ours.value, reason))
		case was.Text != ours.value:
			v.ReportAt(was, diagnostic.Rewritten, fmt.Sprintf("%s is set to %q: %s", v.shown([]string{"global"}, ours.name), ours.value, reason))
		}
	}
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
