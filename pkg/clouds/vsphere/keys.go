package vsphere

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// setting is one that k8s.io/cloud-provider-vsphere v1.36.0 reads (pkg/common/config and pkg/cloudprovider/vsphere/config): its
// field in the YAML form and its key in the INI form, where a list is one string with commas.
type setting struct {
	confdoc.Field
	ini string
}

func text(name, ini string) setting { return setting{confdoc.Field{Name: name}, ini} }

func secret(name string) setting { return setting{confdoc.Field{Name: name, Secret: true}, name} }

func list(name, ini string) setting {
	return setting{confdoc.Field{Name: name, Is: confdoc.List, Of: &confdoc.Field{}}, ini}
}

// What may stand where, in the order in which it is written.
var (
	globalFields     = slices.Concat(connectionFields, []setting{text("secretsDirectory", "secrets-directory")})
	connectionFields = []setting{
		text("server", "server"),
		{confdoc.Field{Name: "port", Is: confdoc.Int, Unsigned: true}, "port"},
		list("datacenters", "datacenters"),
		{confdoc.Field{Name: "insecureFlag", Is: confdoc.Bool}, "insecure-flag"},
		text("caFile", "ca-file"),
		text("thumbprint", "thumbprint"),
		{confdoc.Field{Name: "soapRoundtripCount", Is: confdoc.Int, Unsigned: true}, "soap-roundtrip-count"},
		list("ipFamily", "ip-family"),
		secret("user"),
		secret("password"),
		text("secretName", "secret-name"),
		text("secretNamespace", "secret-namespace"),
	}
	labelFields = []setting{text("region", "region"), text("zone", "zone")}
	nodeFields  = []setting{
		text("internalNetworkSubnetCidr", "internal-network-subnet-cidr"),
		text("externalNetworkSubnetCidr", "external-network-subnet-cidr"),
		text("internalVmNetworkName", "internal-vm-network-name"),
		text("externalVmNetworkName", "external-vm-network-name"),
		text("excludeInternalNetworkSubnetCidr", "exclude-internal-network-subnet-cidr"),
		text("excludeExternalNetworkSubnetCidr", "exclude-external-network-subnet-cidr"),
	}
)

// group is a section of the INI form and its place in the YAML form.
type group struct {
	ini, yaml string
	settings  []setting
}

var groups = []group{
	{"Global", "global", globalFields}, {"VirtualCenter", "vcenter", connectionFields},
	{"Labels", "labels", labelFields}, {"Nodes", "nodes", nodeFields},
}

// Why something that vSphere's configurations may have is dropped.
const (
	legacyVSphereVolumes = "volumes are the matter of the vSphere CSI driver, which has its own configuration"
	legacyVSphereVM      = "the cloud-controller-manager finds the virtual machines by the UUIDs of the nodes"
	legacyVSphereNetwork = "the cloud-controller-manager takes the networks from nodeNetworking of Infrastructure"
	legacyVSphereAPI     = "the cloud-controller-manager no longer has an API of its own"
	legacyVSphereNSXT    = "OpenShift runs the vSphere provider without load balancers and routes of NSX-T"
)

// schema is the INI form: what the cloud-controller-manager reads and what the in-tree provider, which ended with Kubernetes
// v1.27, reads beyond that.
var schema = []confdoc.Field{
	{Name: "Global", Is: confdoc.Object, Fields: slices.Concat(iniFields(globalFields), []confdoc.Field{
		{Name: "datacenter", Legacy: "the cloud-controller-manager reads datacenters only"},
		{Name: "datastore", Legacy: legacyVSphereVolumes},
		{Name: "working-dir", Legacy: legacyVSphereVM},
		{Name: "vm-uuid", Legacy: legacyVSphereVM},
		{Name: "vm-name", Legacy: legacyVSphereVM},
		{Name: "api-disable", Legacy: legacyVSphereAPI},
		{Name: "api-binding", Legacy: legacyVSphereAPI},
	})},
	{Name: "VirtualCenter", Is: confdoc.Object, Named: true, Fields: iniFields(connectionFields)},
	{Name: "Labels", Is: confdoc.Object, Fields: iniFields(labelFields)},
	{Name: "Nodes", Is: confdoc.Object, Fields: iniFields(nodeFields)},
	{Name: "Workspace", Legacy: legacyVSphereVolumes},
	{Name: "Disk", Legacy: legacyVSphereVolumes},
	{Name: "Network", Legacy: legacyVSphereNetwork},
	{Name: "LoadBalancer", Legacy: legacyVSphereNSXT},
	{Name: "LoadBalancerClass", Named: true, Legacy: legacyVSphereNSXT},
	{Name: "NSXT", Legacy: legacyVSphereNSXT},
	{Name: "Route", Legacy: legacyVSphereNSXT},
}

func iniFields(settings []setting) []confdoc.Field {
	fields := make([]confdoc.Field, len(settings))
	for i, s := range settings {
		fields[i] = s.Field
		if fields[i].Name = s.ini; s.Is == confdoc.List {
			fields[i].Is = confdoc.Text
		}
	}
	return fields
}

func yamlFields(settings []setting, more ...confdoc.Field) []confdoc.Field {
	var fields []confdoc.Field
	for _, s := range settings {
		fields = append(fields, s.Field)
	}
	return append(fields, more...)
}

// tree reads the YAML form.
var tree = confdoc.Reader{
	Format: confdoc.YAML,
	Input:  diagnostic.CloudConfig,
	Empty:  "write a mapping with the keys global and vcenter",
	Fields: []confdoc.Field{
		{Name: "global", Is: confdoc.Object, Fields: yamlFields(globalFields,
			confdoc.Field{Name: "apiDisable", Is: confdoc.Any, Legacy: legacyVSphereAPI},
			confdoc.Field{Name: "apiBinding", Is: confdoc.Any, Legacy: legacyVSphereAPI})},
		{Name: "vcenter", Is: confdoc.Map, Of: &confdoc.Field{Is: confdoc.Object, Fields: yamlFields(connectionFields,
			confdoc.Field{Name: "tenantref", Is: confdoc.Any, Legacy: "the provider uses the name of the entry"},
			confdoc.Field{Name: "secretref", Is: confdoc.Any, Legacy: "the provider sets it itself"})}},
		{Name: "labels", Is: confdoc.Object, Fields: yamlFields(labelFields)},
		{Name: "nodes", Is: confdoc.Object, Fields: yamlFields(nodeFields)},
		{Name: "loadBalancer", Is: confdoc.Any, Legacy: legacyVSphereNSXT},
		{Name: "loadBalancerClass", Is: confdoc.Any, Legacy: legacyVSphereNSXT},
		{Name: "nsxt", Is: confdoc.Any, Legacy: legacyVSphereNSXT},
		{Name: "route", Is: confdoc.Any, Legacy: legacyVSphereNSXT},
	},
}
