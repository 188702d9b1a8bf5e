package clouds

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// settings are names that only one cloud's configuration has: a section, keys of a section, or top-level keys.
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

// has reports whether a key is one of these settings. An empty key stands for the section itself.
func (s settings) has(section, key string) bool {
	isKey := func(name string) bool { return strings.EqualFold(name, key) }
	return strings.EqualFold(s.section, section) && (key == "" && s.keys == nil || slices.ContainsFunc(s.keys, isKey))
}

// unknownSettings calls count for each key and section that the document's own cloud does not know, and returns the
// number of keys that it knows.
func unknownSettings(d *confdoc.Document, count func(e *confdoc.Entry, section, key string)) (known int) {
	for _, e := range d.Root.Members() {
		field, isKnown := d.Format.Find(d.Fields, e.Name)
		keys, section := e.Value.Members(), e.Name
		switch {
		case d.Format != confdoc.INI:
			keys, section, field.Fields = []*confdoc.Entry{e}, "", d.Fields
		case !isKnown:
			count(e, section, "")
		}
		for _, key := range keys {
			if _, isKnown := d.Format.Find(field.Fields, key.Name); isKnown {
				known++
			} else {
				count(key, section, key.Name)
			}
		}
	}
	return known
}

// checkOtherCloud replaces the diagnostics about unknown names by a single one if the configuration is another cloud's:
// it has at least two settings that only that cloud has, or one that suffices, and fewer settings of its own cloud.
func checkOtherCloud(d *confdoc.Document) {
	found, first := map[string]int{}, map[string]*confdoc.Entry{}
	own := unknownSettings(d, func(e *confdoc.Entry, section, key string) {
		for _, s := range settingsOfClouds {
			if s.has(section, key) {
				first[s.cloud] = cmp.Or(first[s.cloud], e)
				found[s.cloud]++
				if len(s.keys) <= 1 {
					found[s.cloud]++ // one is enough
				}
			}
		}
	})
	for _, s := range settingsOfClouds {
		if found[s.cloud] >= 2 && found[s.cloud] > own {
			*d.Findings = slices.DeleteFunc(*d.Findings, func(f diagnostic.Diagnostic) bool {
				return f.Kind == diagnostic.Unknown || f.Kind == diagnostic.Typo && strings.HasPrefix(f.Message, "unknown ")
			})
			d.ReportAt(first[s.cloud].Position, diagnostic.Typo,
				"this is a configuration of %s, which is not the cluster's platform: replace it", s.cloud)
			return
		}
	}
}
