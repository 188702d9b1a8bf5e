package vsphere

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The fields are those that k8s.io/cloud-provider-vsphere v1.36.0 reads from YAML (pkg/common/config and
// pkg/cloudprovider/vsphere/config), in the order in which they are written.
var (
	connectionFields = []confdoc.Field{
		{Name: "server"},
		{Name: "port", Is: confdoc.Int, Unsigned: true, Valid: isPort, Hint: "a port, which is at most 65535"},
		{Name: "datacenters", Is: confdoc.List, Of: &confdoc.Field{}},
		{Name: "insecureFlag", Is: confdoc.Bool},
		{Name: "caFile"}, {Name: "thumbprint", Valid: thumbprint.MatchString, Passed: true,
			Hint: "the certificate's SHA-1 or SHA-256 in capital letters with colons, such as B1:C4:D5:…"},
		{Name: "soapRoundtripCount", Is: confdoc.Int, Unsigned: true},
		{Name: "ipFamily", Is: confdoc.List, Of: &confdoc.Field{}},
		{Name: "user", Secret: true}, {Name: "password", Secret: true},
		{Name: "secretName"}, {Name: "secretNamespace"},
	}
	globalFields = slices.Concat(connectionFields, confdoc.FieldsOf(confdoc.Text, "secretsDirectory"))
	labelFields  = confdoc.FieldsOf(confdoc.Text, "region", "zone")
	nodeFields   = confdoc.FieldsOf(confdoc.Text, "internalNetworkSubnetCidr", "externalNetworkSubnetCidr",
		"internalVmNetworkName", "externalVmNetworkName", "excludeInternalNetworkSubnetCidr",
		"excludeExternalNetworkSubnetCidr")
)

// thumbprint matches the form that github.com/vmware/govmomi v0.53.0 compares (thumbprintMatches in
// vim25/soap/client.go).
var thumbprint = regexp.MustCompile(`^[0-9A-F]{2}((:[0-9A-F]{2}){19}|(:[0-9A-F]{2}){31})$`)

const virtualCenter = "VirtualCenter"

// section maps a section of the INI form to its key in the YAML form. Each vCenter has its own section.
type section struct {
	ini, yaml string
	fields    []confdoc.Field
}

var sections = []section{
	{"Global", "global", globalFields}, {virtualCenter, "vcenter", connectionFields},
	{"Labels", "labels", labelFields}, {"Nodes", "nodes", nodeFields},
}

var upperCase = regexp.MustCompile(`[A-Z]`)

// iniName returns the INI key of a field, for example secret-name for secretName.
func iniName(name string) string {
	return upperCase.ReplaceAllStringFunc(name, func(letter string) string { return "-" + strings.ToLower(letter) })
}

// iniFields returns the fields of the INI form, where a list is one string with commas.
func iniFields(fields []confdoc.Field) []confdoc.Field {
	fields = slices.Clone(fields)
	for i, f := range fields {
		if fields[i].Name = iniName(f.Name); f.Is == confdoc.List {
			fields[i].Is = confdoc.Text
		}
	}
	return fields
}

const (
	legacyVolumes = "volumes are configured in the vSphere CSI driver"
	legacyAPI     = "the cloud-controller-manager no longer has an API of its own"
	legacyNSXT    = "OpenShift runs the vSphere provider without load balancers and routes of NSX-T"
)

// schema is the INI form: what the cloud-controller-manager reads, and what only the in-tree provider read, which ended
// with Kubernetes v1.27.
var schema = slices.Concat([]confdoc.Field{
	{Name: "Global", Is: confdoc.Object, Fields: slices.Concat(iniFields(globalFields),
		confdoc.Dropped("the cloud-controller-manager reads datacenters only", "datacenter"),
		confdoc.Dropped(legacyVolumes, "datastore"),
		confdoc.Dropped("the cloud-controller-manager finds the virtual machines by the UUIDs of the nodes",
			"working-dir", "vm-uuid", "vm-name"),
		confdoc.Dropped(legacyAPI, "api-disable", "api-binding"))},
	{Name: virtualCenter, Is: confdoc.Object, Named: true, Fields: iniFields(connectionFields)},
	{Name: "Labels", Is: confdoc.Object, Fields: iniFields(labelFields)},
	{Name: "Nodes", Is: confdoc.Object, Fields: iniFields(nodeFields)},
	{Name: "LoadBalancerClass", Named: true, Legacy: legacyNSXT},
},
	[]confdoc.Field{{Name: "Workspace", Legacy: legacyVolumes, Installed: true}, {Name: "Disk", Legacy: legacyVolumes}},
	confdoc.Dropped("the cloud-controller-manager takes the networks from nodeNetworking of Infrastructure", "Network"),
	confdoc.Dropped(legacyNSXT, "LoadBalancer", "NSXT", "Route"))

var tree = confdoc.Reader{
	Format: confdoc.YAML, Input: diagnostic.CloudConfig, Empty: "write a mapping with the keys global and vcenter",
	Fields: slices.Concat([]confdoc.Field{
		{Name: "global", Is: confdoc.Object, Fields: slices.Concat(globalFields,
			[]confdoc.Field{{Name: "apiDisable", Legacy: legacyAPI, Harmless: []string{"false"}}},
			confdoc.Dropped(legacyAPI, "apiBinding"))},
		{Name: "vcenter", Is: confdoc.Map, Of: &confdoc.Field{Is: confdoc.Object, Fields: slices.Concat(connectionFields,
			confdoc.Dropped("the provider uses the name of the entry", "tenantref"),
			confdoc.Dropped("the provider sets it itself", "secretref"))}},
		{Name: "labels", Is: confdoc.Object, Fields: labelFields},
		{Name: "nodes", Is: confdoc.Object, Fields: nodeFields},
	}, confdoc.Field{Is: confdoc.Any, Legacy: "its name in YAML is vcenter: correct it", Mistaken: true}.
		For(virtualCenter, "virtualCenter"),
		confdoc.Dropped(legacyNSXT, "loadBalancer", "loadBalancerClass", "nsxt", "route")),
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}
