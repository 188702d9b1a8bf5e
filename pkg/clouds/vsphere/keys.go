package vsphere

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// vSphereField is a setting that k8s.io/cloud-provider-vsphere v1.36.0 reads (pkg/common/config and
// pkg/cloudprovider/vsphere/config), under its names in both formats. In the INI form a list is one text with commas, and a
// port is a text.
type vSphereField struct {
	yaml, ini string
	kind      vSphereKind
}

// vSphereKind is the type of a setting in the YAML form.
type vSphereKind int

const (
	vSphereText vSphereKind = iota
	flag
	vSphereNumber
	vSphereList
)

// iniKind is the type of the setting in the INI form.
func (f vSphereField) iniKind() confdoc.INIType {
	switch {
	case f.kind == flag:
		return confdoc.BoolValue
	case f.kind == vSphereNumber && f.yaml != "port":
		return confdoc.UintValue
	default:
		return confdoc.TextValue
	}
}

// What may stand where, in the order in which it is written.
var (
	globalFields = slices.Concat(
		connectionFields,
		[]vSphereField{{yaml: "secretsDirectory", ini: "secrets-directory"}},
	)
	connectionFields = []vSphereField{
		{yaml: "server", ini: "server"},
		{yaml: "port", ini: "port", kind: vSphereNumber},
		{yaml: "datacenters", ini: "datacenters", kind: vSphereList},
		{yaml: "insecureFlag", ini: "insecure-flag", kind: flag},
		{yaml: "caFile", ini: "ca-file"},
		{yaml: "thumbprint", ini: "thumbprint"},
		{yaml: "soapRoundtripCount", ini: "soap-roundtrip-count", kind: vSphereNumber},
		{yaml: "ipFamily", ini: "ip-family", kind: vSphereList},
		{yaml: "user", ini: "user"},
		{yaml: "password", ini: "password"},
		{yaml: "secretName", ini: "secret-name"},
		{yaml: "secretNamespace", ini: "secret-namespace"},
	}
	labelFields = []vSphereField{
		{yaml: "region", ini: "region"},
		{yaml: "zone", ini: "zone"},
	}
	nodeFields = []vSphereField{
		{yaml: "internalNetworkSubnetCidr", ini: "internal-network-subnet-cidr"},
		{yaml: "externalNetworkSubnetCidr", ini: "external-network-subnet-cidr"},
		{yaml: "internalVmNetworkName", ini: "internal-vm-network-name"},
		{yaml: "externalVmNetworkName", ini: "external-vm-network-name"},
		{yaml: "excludeInternalNetworkSubnetCidr", ini: "exclude-internal-network-subnet-cidr"},
		{yaml: "excludeExternalNetworkSubnetCidr", ini: "exclude-external-network-subnet-cidr"},
	}
)

// Why something that vSphere's configurations may have is dropped.
const (
	legacyVSphereVolumes = "volumes are the matter of the vSphere CSI driver, which has its own configuration"
	legacyVSphereVM      = "the external provider finds the virtual machines by the UUIDs of the nodes"
	legacyVSphereNetwork = "the external provider takes the networks from nodeNetworking of Infrastructure"
	legacyVSphereAPI     = "the external provider no longer has an API of its own"
	legacyVSphereNSXT    = "OpenShift runs the vSphere provider without load balancers and routes of NSX-T"
)

// schema is the INI form: what the external provider reads and what the in-tree provider, which ended with Kubernetes
// v1.27, reads beyond that.
var schema = confdoc.INISchema{
	{Name: "Global", Keys: slices.Concat(iniKeys(globalFields), []confdoc.INIKey{
		{Name: "datacenter", Legacy: "the external provider reads datacenters only"},
		{Name: "datastore", Legacy: legacyVSphereVolumes},
		{Name: "working-dir", Legacy: legacyVSphereVM},
		{Name: "vm-uuid", Legacy: legacyVSphereVM},
		{Name: "vm-name", Legacy: legacyVSphereVM},
		{Name: "api-disable", Legacy: legacyVSphereAPI},
		{Name: "api-binding", Legacy: legacyVSphereAPI},
	})},
	{Name: "VirtualCenter", Named: true, Keys: iniKeys(connectionFields)},
	{Name: "Labels", Keys: iniKeys(labelFields)},
	{Name: "Nodes", Keys: iniKeys(nodeFields)},
	{Name: "Workspace", Legacy: legacyVSphereVolumes},
	{Name: "Disk", Legacy: legacyVSphereVolumes},
	{Name: "Network", Legacy: legacyVSphereNetwork},
	{Name: "LoadBalancer", Legacy: legacyVSphereNSXT},
	{Name: "LoadBalancerClass", Named: true, Legacy: legacyVSphereNSXT},
	{Name: "NSXT", Legacy: legacyVSphereNSXT},
	{Name: "Route", Legacy: legacyVSphereNSXT},
}

func iniKeys(fields []vSphereField) []confdoc.INIKey {
	keys := make([]confdoc.INIKey, len(fields))
	for i, f := range fields {
		keys[i] = confdoc.INIKey{Name: f.ini, Kind: f.iniKind()}
	}
	return keys
}
