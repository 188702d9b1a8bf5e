package gcp

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// schema are the keys that openshift/cloud-provider-gcp reads (ConfigGlobal in providers/gce/gce.go, at commit
// 0811987e7530): the keys of kubernetes/cloud-provider-gcp (at commit 0315e7beef45) and two of its own,
// external-instance-groups-prefix and firewall-rules-management. None of them is only for the in-tree provider.
var schema = []confdoc.Field{{Name: "global", Is: confdoc.Object, Fields: slices.Concat(
	confdoc.FieldsOf(confdoc.Text, "token-url", "token-body", "project-id", "network-project-id", "network-name",
		"subnetwork-name", "secondary-range-name", "node-instance-prefix"),
	[]confdoc.Field{
		{Name: "local-zone", Valid: func(zone string) bool { return region(zone) != "" }, Hint: "a zone, such as us-central1-a"},
		{Name: "external-instance-groups-prefix"},
		{Name: "stack-type", Values: []string{"IPV4", "IPV6", "IPV4_IPV6"}, Fallback: "IPV4"},
		{Name: "firewall-rules-management", Values: []string{"Enabled", "Disabled"}, Fallback: "Enabled"},
		{Name: "api-endpoint", Schemes: []string{"https", "http"}},
		{Name: "container-api-endpoint", Schemes: []string{"https", "http"}},
	},
	confdoc.FieldsOf(confdoc.Bool, "regional", "multizone"),
	confdoc.FieldsOf(confdoc.List, "node-tags", "alpha-features"),
)}}
