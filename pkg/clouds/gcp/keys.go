package gcp

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// schema is what openshift/cloud-provider-gcp reads (ConfigGlobal in providers/gce/gce.go, at commit 0811987e7530): the keys
// of kubernetes/cloud-provider-gcp (at commit 0315e7beef45) and two of its own, external-instance-groups-prefix and
// firewall-rules-management. None of them is for the in-tree provider only.
var schema = confdoc.INISchema{{Name: "global", Keys: slices.Concat(
	confdoc.INIKeys(confdoc.TextValue, "token-url", "token-body", "project-id", "network-project-id", "network-name", "subnetwork-name",
		"stack-type", "secondary-range-name", "node-instance-prefix", "api-endpoint", "container-api-endpoint", "local-zone",
		"external-instance-groups-prefix", "firewall-rules-management"),
	confdoc.INIKeys(confdoc.BoolValue, "regional", "multizone"),
	confdoc.INIKeys(confdoc.ListValue, "node-tags", "alpha-features"),
)}}
