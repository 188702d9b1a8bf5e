package cloudconfig

import "slices"

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
	vSphereFlag
	vSphereNumber
	vSphereList
)

// iniKind is the type of the setting in the INI form.
func (f vSphereField) iniKind() iniType {
	switch {
	case f.kind == vSphereFlag:
		return boolValue
	case f.kind == vSphereNumber && f.yaml != "port":
		return uintValue
	default:
		return textValue
	}
}

// What may stand where, in the order in which it is written.
var (
	vSphereGlobalFields = slices.Concat(
		vSphereConnectionFields,
		[]vSphereField{{yaml: "secretsDirectory", ini: "secrets-directory"}},
	)
	vSphereConnectionFields = []vSphereField{
		{yaml: "server", ini: "server"},
		{yaml: "port", ini: "port", kind: vSphereNumber},
		{yaml: "datacenters", ini: "datacenters", kind: vSphereList},
		{yaml: "insecureFlag", ini: "insecure-flag", kind: vSphereFlag},
		{yaml: "caFile", ini: "ca-file"},
		{yaml: "thumbprint", ini: "thumbprint"},
		{yaml: "soapRoundtripCount", ini: "soap-roundtrip-count", kind: vSphereNumber},
		{yaml: "ipFamily", ini: "ip-family", kind: vSphereList},
		{yaml: "user", ini: "user"},
		{yaml: "password", ini: "password"},
		{yaml: "secretName", ini: "secret-name"},
		{yaml: "secretNamespace", ini: "secret-namespace"},
	}
	vSphereLabelFields = []vSphereField{
		{yaml: "region", ini: "region"},
		{yaml: "zone", ini: "zone"},
	}
	vSphereNodeFields = []vSphereField{
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

// vSphereSchema is the INI form: what the external provider reads and what the in-tree provider, which ended with Kubernetes
// v1.27, reads beyond that.
var vSphereSchema = iniSchema{
	{name: "Global", keys: slices.Concat(vSphereINIKeys(vSphereGlobalFields), []iniKey{
		{name: "datacenter", legacy: "the external provider reads datacenters only"},
		{name: "datastore", legacy: legacyVSphereVolumes},
		{name: "working-dir", legacy: legacyVSphereVM},
		{name: "vm-uuid", legacy: legacyVSphereVM},
		{name: "vm-name", legacy: legacyVSphereVM},
		{name: "api-disable", legacy: legacyVSphereAPI},
		{name: "api-binding", legacy: legacyVSphereAPI},
	})},
	{name: "VirtualCenter", named: true, keys: vSphereINIKeys(vSphereConnectionFields)},
	{name: "Labels", keys: vSphereINIKeys(vSphereLabelFields)},
	{name: "Nodes", keys: vSphereINIKeys(vSphereNodeFields)},
	{name: "Workspace", legacy: legacyVSphereVolumes},
	{name: "Disk", legacy: legacyVSphereVolumes},
	{name: "Network", legacy: legacyVSphereNetwork},
	{name: "LoadBalancer", legacy: legacyVSphereNSXT},
	{name: "LoadBalancerClass", named: true, legacy: legacyVSphereNSXT},
	{name: "NSXT", legacy: legacyVSphereNSXT},
	{name: "Route", legacy: legacyVSphereNSXT},
}

func vSphereINIKeys(fields []vSphereField) []iniKey {
	keys := make([]iniKey, len(fields))
	for i, f := range fields {
		keys[i] = iniKey{name: f.ini, kind: f.iniKind()}
	}
	return keys
}
