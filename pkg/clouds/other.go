package clouds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// settings are names that only one cloud's configuration has: a section alone, or keys of a section or, without one, of
// the whole document.
type settings struct {
	cloud, section string
	keys           []string
}

var settingsOfClouds = []settings{
	{"AWS", "ServiceOverride", nil},
	{"AWS", "Global", []string{"Zone", "VPC", "SubnetID", "RouteTableID", "RoleARN", "KubernetesClusterTag",
		"KubernetesClusterID", "ElbSecurityGroup", "DisableSecurityGroupIngress"}},
	{"Google Cloud", "global", []string{"project-id", "network-project-id", "subnetwork-name", "node-tags", "local-zone",
		"node-instance-prefix", "multizone", "token-url"}},
	{"vSphere", "VirtualCenter", nil},
	{"vSphere", "Workspace", nil},
	{"OpenStack", "Global", []string{"auth-url", "tenant-id", "tenant-name", "user-domain-name", "trust-id",
		"application-credential-id", "use-clouds", "clouds-file"}},
	{"OpenStack", "Networking", nil},
	{"OpenStack", "BlockStorage", nil},
	{"IBM Cloud or Power VS", "provider", []string{"accountID", "cluster-default-provider", "g2VpcName"}},
	{"Azure", "", []string{"subscriptionId", "aadClientId", "resourceGroup", "vnetName", "securityGroupName", "vmType"}},
	{"Nutanix", "", []string{"prismCentral"}},
	{"vSphere", "", []string{"vcenter"}},
}

// checkOtherCloud replaces the diagnostics about unknown names by one if the configuration is another cloud's: if it
// has at least two settings that only that cloud has, or a section of it, and fewer settings of the document's cloud.
func checkOtherCloud(d *confdoc.Document) {
	found, first := map[string]int{}, map[string]*confdoc.Entry{}
	for _, s := range settingsOfClouds {
		for _, e := range s.in(d) {
			found[s.cloud]++
			if first[s.cloud] == nil || e.Line < first[s.cloud].Line {
				first[s.cloud] = e
			}
			if s.keys == nil || len(s.keys) == 1 {
				found[s.cloud]++
			}
		}
	}
	for _, s := range settingsOfClouds {
		if found[s.cloud] < 2 || found[s.cloud] <= ownSettings(d) {
			continue
		}
		*d.Findings = slices.DeleteFunc(*d.Findings, func(f diagnostic.Diagnostic) bool {
			return f.Kind == diagnostic.Unknown || f.Kind == diagnostic.Typo && strings.HasPrefix(f.Message, "unknown ")
		})
		d.ReportAt(first[s.cloud].Position, diagnostic.Typo, "%s",
			fmt.Sprintf("this is a configuration of %s, which is not the cluster's platform: replace it", s.cloud))
		return
	}
}

// ownSettings returns the number of settings of a document that its own cloud knows.
func ownSettings(d *confdoc.Document) int {
	count := 0
	for _, e := range d.Root.Members() {
		field, known := d.Format.Find(d.Fields, e.Name)
		if known && d.Format != confdoc.INI {
			count++
		}
		for _, inner := range e.Value.Members() {
			if _, isKey := d.Format.Find(field.Fields, inner.Name); known && isKey && d.Format == confdoc.INI {
				count++
			}
		}
	}
	return count
}

// in returns the entries of a document that are these settings and that the document's own cloud does not know.
func (s settings) in(d *confdoc.Document) []*confdoc.Entry {
	var entries []*confdoc.Entry
	fields, known := d.Fields, true
	if s.section != "" {
		var section confdoc.Field
		section, known = d.Format.Find(d.Fields, s.section)
		fields = section.Fields
	}
	for _, e := range d.Root.Members() {
		switch {
		case s.section == "" && d.Format != confdoc.INI:
			entries = append(entries, s.unknown(d, fields, e)...)
		case s.section == "" || !strings.EqualFold(e.Name, s.section):
		case s.keys == nil && !known:
			entries = append(entries, e)
		case s.keys != nil:
			for _, inner := range e.Value.Members() {
				entries = append(entries, s.unknown(d, fields, inner)...)
			}
		}
	}
	return entries
}

// unknown returns the entry if it is one of the settings, and not one of the fields.
func (s settings) unknown(d *confdoc.Document, fields []confdoc.Field, e *confdoc.Entry) []*confdoc.Entry {
	_, isKnown := d.Format.Find(fields, e.Name)
	isOne := slices.ContainsFunc(s.keys, func(key string) bool { return strings.EqualFold(key, e.Name) })
	if isKnown || !isOne {
		return nil
	}
	return []*confdoc.Entry{e}
}
