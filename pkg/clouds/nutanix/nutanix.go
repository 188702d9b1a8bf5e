// Package nutanix rewrites configurations for cloud-provider-nutanix.
package nutanix

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// operandNamespace is the namespace from which the cloud-controller-manager reads objects through the API.
	operandNamespace = "openshift-cloud-controller-manager"
	// nutanixSecret is the name of the Secret in Nutanix's CredentialsRequest.
	nutanixSecret = "nutanix-credentials"
	secretKey     = "credentials"
)

// nutanixFields are the keys that cloud-provider-nutanix reads with encoding/json: Config in
// pkg/provider/config/config.go, and NutanixPrismEndpoint with its references in environment/credentials/types.go of
// prism-go-client. No Go module proxy has a release of the provider to compare with.
var nutanixFields = []confdoc.Field{
	{Name: "prismCentral", Is: confdoc.Object,
		Required: "write the address, the port and the credentials of Prism Central", Fields: []confdoc.Field{
			{Name: "address", Required: "write the name or address of Prism Central", Valid: isHost,
				Hint: "only a name or address, such as prism.example.com"},
			{Name: "port", Is: confdoc.Int, Bits: 32, Max: confdoc.MaxPort,
				Required: "write the port of Prism Central, which usually is 9440"},
			{Name: "insecure", Is: confdoc.Bool},
			{Name: "additionalTrustBundle", Is: confdoc.Object, Fields: []confdoc.Field{
				{Name: "kind", Required: "write String, with data, or ConfigMap, with name"},
				{Name: "data"}, {Name: "name"}, {Name: "namespace"},
			}},
			{Name: "credentialRef", Is: confdoc.Object, Fields: confdoc.FieldsOf(confdoc.Text, "kind", "name", "namespace")},
		}},
	{Name: "topologyDiscovery", Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "type", Values: []string{"Prism", "Categories"}},
		{Name: "topologyCategories", Is: confdoc.Object,
			Fields: confdoc.FieldsOf(confdoc.Text, "zoneCategory", "regionCategory")},
	}},
	{Name: "enableCustomLabeling", Is: confdoc.Bool},
	{Name: "ignoredNodeIPs", Is: confdoc.List, Of: &confdoc.Field{}},
}

// nutanixLogin reads the key credentials as ParseCredentials in environment/credentials/parsecreds.go of
// prism-go-client does. The provider does not use the Prism Elements.
var nutanixLogin = confdoc.Reader{
	Format: confdoc.JSON, List: true, Input: diagnostic.Credentials, DataKey: secretKey,
	Empty: "write a JSON list with the type basic_auth and the user and password of Prism Central",
	Fields: []confdoc.Field{
		{Name: "type"},
		{Name: "data", Is: confdoc.Object, Fields: []confdoc.Field{
			{Name: "prismCentral", Is: confdoc.Object, Fields: confdoc.Secrets("username", "password")},
			{Name: "prismElements", Is: confdoc.Any},
		}},
	},
}

// Rewrite checks the configuration of cloud-provider-nutanix and the Secret with which it logs in.
//
// The provider reads its Secret through the API, under the name in the configuration. That name must be the Secret that
// its ServiceAccount may read: nutanix-credentials in its own namespace. Therefore the Secret is checked but not
// delivered as a file. A configuration without the reference gets it; Rewrite changes nothing else.
func Rewrite(src clouds.Source) clouds.Result {
	n := rewriter{clouds.NewRun(src, confdoc.Reader{
		Format: confdoc.JSON, Fields: nutanixFields,
		Empty: "write the JSON object that the installer makes, with at least prismCentral",
	})}
	if n.Readable {
		n.checkPrismCentral()
		n.checkReference()
		n.checkTrustBundle()
		n.checkTopology()
		n.checkIgnoredIPs()
	}
	n.checkSecret()
	return n.Finish(clouds.Result{Config: n.Encode()})
}

type rewriter struct{ clouds.Run }

// unchecked is the end of messages about an unverified certificate of Prism Central: the effect, and the action.
const unchecked = "anyone between the nodes and Prism Central can read the credentials; put the CA certificates in " +
	diagnostic.CABundleKey + " beside the cloud configuration, or in the trustedCA of proxy/cluster, and "

func isHost(text string) bool {
	return !strings.ContainsAny(text, "/ ") && strings.Count(text, ":") != 1 // an IPv6 address has more colons
}

// checkPrismCentral reports disabled certificate verification, and an endpoint that differs from Infrastructure's.
func (n rewriter) checkPrismCentral() {
	if n.IsTrue("prismCentral", "insecure") {
		n.Reportf(n.Value("prismCentral", "insecure"), diagnostic.Insecure,
			"prismCentral.insecure is true: "+unchecked+"remove it")
	}
	spec := n.Cluster.Spec.Nutanix
	if spec == nil {
		return
	}
	const field = "spec.platformSpec.nutanix.prismCentral."
	address, fact := n.Value("prismCentral", "address"), spec.PrismCentral
	isSame := strings.EqualFold(strings.Trim(address.String(), "[]"), strings.Trim(fact.Address, "[]"))
	if !isSame && isHost(address.String()) {
		n.Contradicts("prismCentral.address", address, field+"address", fact.Address)
	}
	if fact.Port != 0 {
		n.Contradicts("prismCentral.port", n.Value("prismCentral", "port"), field+"port", fmt.Sprint(fact.Port))
	}
}

func (n rewriter) checkReference() {
	prism := n.Value("prismCentral")
	if prism == nil || prism.Kind != confdoc.MapNode {
		return // reported
	}
	readable := [][2]string{{"kind", "Secret"}, {"name", nutanixSecret}, {"namespace", operandNamespace}}
	reference := prism.Get("credentialRef")
	if reference == nil {
		for _, wanted := range readable {
			n.Set(confdoc.NewText(wanted[1]), "prismCentral", "credentialRef", wanted[0])
		}
		n.Reportf(nil, diagnostic.Adapted, "prismCentral.credentialRef is set: "+
			"the cloud-controller-manager reads its credentials from Secret %s in %s", nutanixSecret, operandNamespace)
		return
	}
	for _, wanted := range readable[1:] { // prism-go-client does not read the kind
		key, named := wanted[0], reference.String(wanted[0])
		if named == wanted[1] || named == "" && key != "name" {
			continue
		}
		n.Rejectf(cmp.Or(reference.Get(key), reference), "prismCentral.credentialRef.%s is %s, "+
			"but the cloud-controller-manager may read only Secret %s in %s: write %q",
			key, confdoc.Quoted(named), nutanixSecret, operandNamespace, wanted[1])
	}
}

// checkTrustBundle reports CA certificates that the provider does not find.
//
// With a bundle, prism-go-client does not verify the certificate of Prism Central at all, because the clients of API v4
// take no bundle (v4/cache.go, also in OpenShift's fork). Therefore nothing parses the bundle. What the operator
// delivers as SSL_CERT_FILE is verified.
func (n rewriter) checkTrustBundle() {
	bundle := n.Value("prismCentral", "additionalTrustBundle")
	if bundle != nil && bundle.Kind == confdoc.MapNode {
		n.Reportf(bundle, diagnostic.Insecure, "prismCentral.additionalTrustBundle is set, and with it the "+
			"cloud-controller-manager does not check the certificate of Prism Central: "+unchecked+"remove it")
	}
	if kind := bundle.Get("kind"); kind.String() != "" && kind.Text != "String" {
		if !strings.EqualFold(kind.Text, "ConfigMap") {
			n.Reportf(kind, diagnostic.Typo, "prismCentral.additionalTrustBundle.kind is %s, and the "+
				"cloud-controller-manager uses ConfigMap instead: write String or ConfigMap", confdoc.Quoted(kind.Text))
		}
		if bundle.String("name") == "" {
			n.Rejectf(bundle, "prismCentral.additionalTrustBundle has neither the kind String nor a name: "+
				"write the name of the ConfigMap in "+operandNamespace)
		}
		if namespace := bundle.String("namespace"); namespace != "" && namespace != operandNamespace {
			n.Rejectf(bundle.Get("namespace"), "prismCentral.additionalTrustBundle.namespace is %s, but the "+
				"cloud-controller-manager reads only %s: copy the ConfigMap there", confdoc.Quoted(namespace), operandNamespace)
		}
	}
}

func (n rewriter) checkTopology() {
	topology := n.Value("topologyDiscovery")
	categories := topology.Get("topologyCategories")
	if topology.String("type") != "Categories" {
		return
	}
	if categories == nil {
		n.Rejectf(topology, "topologyDiscovery has the type Categories, but no topologyCategories: "+
			"write zoneCategory and regionCategory in it, or the type Prism")
		return
	}
	for _, key := range []string{"zoneCategory", "regionCategory"} {
		if categories.Kind == confdoc.MapNode && categories.String(key) == "" {
			n.Reportf(categories, diagnostic.Typo, "topologyDiscovery.topologyCategories has no %s: "+
				"the nodes would not get it; write the key of the category", key)
		}
	}
}

func (n rewriter) checkIgnoredIPs() {
	for _, item := range n.Items("ignoredNodeIPs") {
		if item.Kind == confdoc.NullNode || item.Kind == confdoc.TextNode && !isIPs(item.Text) {
			n.Rejectf(item, "%s in ignoredNodeIPs is not an address such as 10.0.0.5, "+
				"a network such as 10.0.0.0/28 or a range such as 10.0.0.5-10.0.0.9", confdoc.Quoted(item.Text))
		}
	}
}

// isIPs reports whether the provider interprets a text as an address, a network or a range.
func isIPs(text string) bool {
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, errFrom := netip.ParseAddr(first)
	to, errTo := netip.ParseAddr(last)
	return errFrom == nil && errTo == nil && from.Zone() == "" && to.Zone() == "" && from.BitLen() == to.BitLen() &&
		!to.Less(from)
}

// checkSecret reports credentials with which the provider cannot log in. The provider uses only the first entry.
func (n rewriter) checkSecret() {
	text := n.SecretKey(secretKey)
	if text == nil {
		return
	}
	login := nutanixLogin.Read(text, n.Findings)
	list := login.Value("")
	switch {
	case !login.Readable:
		return
	case len(list.Items) == 0:
		login.Rejectf(list,
			"the list is empty: write an entry with the type basic_auth and the user and password of Prism Central")
		return
	}
	for _, entry := range list.Items[1:] {
		login.Reportf(entry, diagnostic.Unknown, "the cloud-controller-manager uses only the first entry: remove this one")
	}
	checkLogin(login, list.Items[0])
}

func checkLogin(login *confdoc.Document, entry *confdoc.Node) {
	switch kind := entry.String("type"); kind {
	case "basic_auth":
	case "":
		login.Rejectf(entry, "the entry has no type: write basic_auth")
		return
	case "api_key": // later versions of prism-go-client know it
		login.Reportf(entry.Get("type"), diagnostic.Typo,
			"the type is %s, which not every cloud-controller-manager knows: write basic_auth", confdoc.Quoted(kind))
		return
	default:
		login.Rejectf(entry.Get("type"), "the type is %s, but must be basic_auth", confdoc.Quoted(kind))
		return
	}
	for _, key := range []string{"username", "password"} {
		if entry.Get("data", "prismCentral", key).IsEmpty() {
			login.Rejectf(entry,
				"data.prismCentral.%s is missing or empty: write the user and password of Prism Central", key)
		}
	}
}
