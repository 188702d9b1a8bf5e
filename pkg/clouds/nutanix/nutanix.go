// Package nutanix rewrites configurations for cloud-provider-nutanix.
package nutanix

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

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
			{Name: "address", Required: "write the name or address of Prism Central"},
			{Name: "port", Is: confdoc.Int, Bits: 32, Port: true,
				Required: "write the port of Prism Central, which usually is 9440"},
			{Name: "insecure", Is: confdoc.Bool},
			{Name: "additionalTrustBundle", Is: confdoc.Object, Fields: []confdoc.Field{
				{Name: "kind", Values: []string{"String", "ConfigMap"},
					Required: "write String, with data, or ConfigMap, with name"},
				{Name: "data"}, {Name: "name"}, {Name: "namespace"},
			}},
			{Name: "credentialRef", Is: confdoc.Object,
				Fields: confdoc.FieldsOf(confdoc.Text, "kind", "name", "namespace")},
		}},
	{Name: "topologyDiscovery", Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "type", Values: []string{"Prism", "Categories"}},
		{Name: "topologyCategories", Is: confdoc.Object,
			Fields: confdoc.FieldsOf(confdoc.Text, "zoneCategory", "regionCategory")},
	}},
	{Name: "enableCustomLabeling", Is: confdoc.Bool},
	{Name: "ignoredNodeIPs", Is: confdoc.List, Of: &confdoc.Field{}},
}

// nutanixLogin are the fields of an entry of the key credentials, as ParseCredentials in
// environment/credentials/parsecreds.go of prism-go-client reads it. The provider does not use the Prism Elements.
var nutanixLogin = []confdoc.Field{
	{Name: "type"},
	{Name: "data", Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "prismCentral", Is: confdoc.Object,
			Fields: []confdoc.Field{{Name: "username", Secret: true}, {Name: "password", Secret: true}}},
		{Name: "prismElements", Is: confdoc.Any},
	}},
}

// rewriter is the state of one run of Rewrite.
type rewriter struct {
	src         clouds.Source
	config      *confdoc.Document
	diagnostics diagnostic.List
}

// Rewrite checks the configuration of cloud-provider-nutanix and the Secret with which it logs in.
//
// The provider reads its Secret through the API, under the name in the configuration. That name must be the Secret that
// its ServiceAccount may read: nutanix-credentials in its own namespace. Therefore the Secret is checked, but no file
// is made from it. A configuration without the reference gets it; nothing else is changed.
func Rewrite(src clouds.Source) clouds.Result {
	n := &rewriter{src: src}
	reader := confdoc.Reader{Format: confdoc.JSON, Fields: nutanixFields, Input: diagnostic.CloudConfig,
		Empty: "write the JSON object that the installer makes, with at least prismCentral"}
	n.config = reader.Read(src.Config, &n.diagnostics)
	if n.config.Readable {
		n.checkPrismCentral()
		n.checkReference()
		n.checkTrustBundle()
		n.checkTopology()
		n.checkIgnoredIPs()
	}
	n.checkSecret()
	return clouds.Finish(n.diagnostics, clouds.Result{Config: n.config.Encode()})
}

// checkPrismCentral reports an endpoint that is malformed or differs from Infrastructure.
func (n *rewriter) checkPrismCentral() {
	var fact configv1.NutanixPrismEndpoint
	if spec := n.src.Cluster.Spec.Nutanix; spec != nil {
		fact = spec.PrismCentral
	}
	const field = "spec.platformSpec.nutanix.prismCentral."
	if address := n.config.Value("prismCentral", "address"); address != nil {
		if strings.ContainsAny(address.Text, "/ ") {
			n.config.ReportAt(address, diagnostic.Invalid, fmt.Sprintf(
				"prismCentral.address is %s, but must be only a name or address, "+
					"such as prism.example.com", confdoc.Quoted(address.Text)))
		}
		if !strings.EqualFold(strings.Trim(address.Text, "[]"), strings.Trim(fact.Address, "[]")) {
			n.config.Contradicts("prismCentral.address", address, field+"address", fact.Address)
		}
	}
	if fact.Port != 0 {
		n.config.Contradicts("prismCentral.port", n.config.Value("prismCentral", "port"), field+"port",
			fmt.Sprint(fact.Port))
	}
}

// checkReference reports a reference to a Secret that the provider may not read.
func (n *rewriter) checkReference() {
	if n.config.Value("prismCentral") == nil || n.config.Value("prismCentral").Kind != confdoc.MapNode {
		return // reported
	}
	if n.config.Value("prismCentral", "credentialRef") == nil {
		reference := confdoc.NewMap()
		reference.Set("kind", confdoc.NewText("Secret"))
		reference.Set("name", confdoc.NewText(nutanixSecret))
		reference.Set("namespace", confdoc.NewText(operandNamespace))
		n.config.Put(reference, diagnostic.Adapted, "the cloud-controller-manager reads its credentials from Secret "+
			nutanixSecret+" in "+operandNamespace, "prismCentral", "credentialRef")
		return
	}
	for _, wanted := range []struct {
		key, value string
		optional   bool
	}{{"kind", "Secret", true}, {"name", nutanixSecret, false}, {"namespace", operandNamespace, true}} {
		named := n.config.Text("prismCentral", "credentialRef", wanted.key)
		if named == wanted.value || named == "" && wanted.optional {
			continue
		}
		at := n.config.Value("prismCentral", "credentialRef", wanted.key)
		if at == nil {
			at = n.config.Value("prismCentral", "credentialRef")
		}
		n.config.ReportAt(at, diagnostic.Invalid,
			fmt.Sprintf("prismCentral.credentialRef.%s is %s, but the cloud-controller-manager may read only Secret "+
				"%s in %s: write %q", wanted.key, confdoc.Quoted(named), nutanixSecret, operandNamespace, wanted.value))
	}
}

// checkTrustBundle reports CA certificates that the provider would not find or not accept.
func (n *rewriter) checkTrustBundle() {
	path := []string{"prismCentral", "additionalTrustBundle"}
	bundle := n.config.Value(path...)
	switch n.config.Text(append(path, "kind")...) {
	case "String":
		data := bundle.Get("data")
		if data == nil {
			data = bundle
		}
		certificates, broken := countCertificates([]byte(data.Text))
		if certificates == 0 {
			n.config.ReportAt(data, diagnostic.Invalid,
				`prismCentral.additionalTrustBundle.data contains no PEM certificate: `+
					`write the CA certificates in PEM format, with \n for each line break`)
		} else if broken > 0 {
			n.config.ReportAt(data, diagnostic.Typo,
				fmt.Sprintf("%d of the certificates in prismCentral.additionalTrustBundle.data cannot be parsed: "+
					"replace or remove them", broken))
		}
	case "ConfigMap":
		if n.config.Text(append(path, "name")...) == "" {
			n.config.ReportAt(bundle, diagnostic.Invalid,
				"prismCentral.additionalTrustBundle has the kind ConfigMap, but no name: "+
					"write the name of the ConfigMap in "+operandNamespace)
		}
		if namespace := bundle.Get("namespace"); namespace != nil && namespace.Text != "" &&
			namespace.Text != operandNamespace {
			n.config.ReportAt(namespace, diagnostic.Invalid,
				fmt.Sprintf("prismCentral.additionalTrustBundle.namespace is %s, but the cloud-controller-manager "+
					"reads only %s: copy the ConfigMap there", confdoc.Quoted(namespace.Text), operandNamespace))
		}
	}
}

// countCertificates returns the number of PEM certificates that can be parsed and of those that cannot.
func countCertificates(bundle []byte) (good, broken int) {
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return good, broken
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			broken++
			continue
		}
		good++
	}
}

// checkTopology reports missing categories of a topology discovery by categories.
func (n *rewriter) checkTopology() {
	if n.config.Text("topologyDiscovery", "type") != "Categories" {
		return
	}
	categories := n.config.Value("topologyDiscovery", "topologyCategories")
	if categories == nil {
		n.config.ReportAt(n.config.Value("topologyDiscovery"), diagnostic.Invalid,
			"topologyDiscovery has the type Categories, but no topologyCategories: "+
				"write zoneCategory and regionCategory in it, or the type Prism")
		return
	}
	for _, key := range []string{"zoneCategory", "regionCategory"} {
		if categories.Kind == confdoc.MapNode && n.config.Text("topologyDiscovery", "topologyCategories", key) == "" {
			n.config.ReportAt(categories, diagnostic.Typo,
				fmt.Sprintf("topologyDiscovery.topologyCategories has no %s: the nodes would not get it; "+
					"write the key of the category", key))
		}
	}
}

// checkIgnoredIPs reports items that are not an address, a range or a network.
func (n *rewriter) checkIgnoredIPs() {
	list := n.config.Value("ignoredNodeIPs")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		if item.Kind == confdoc.NullNode || item.Kind == confdoc.TextNode && !isIPs(item.Text) {
			n.config.ReportAt(item, diagnostic.Invalid,
				fmt.Sprintf("%s in ignoredNodeIPs is not an address such as 10.0.0.5, a network such as 10.0.0.0/28 "+
					"or a range such as 10.0.0.5-10.0.0.9", confdoc.Quoted(item.Text)))
		}
	}
}

// isIPs reports whether the provider interprets a text as an address, a network or a range.
func isIPs(text string) bool {
	if first, last, found := strings.Cut(text, "-"); found {
		from, errFrom := netip.ParseAddr(first)
		to, errTo := netip.ParseAddr(last)
		return errFrom == nil && errTo == nil && from.Zone() == "" && to.Zone() == "" && from.BitLen() == to.BitLen() &&
			!to.Less(from)
	}
	if strings.Contains(text, "/") {
		_, err := netip.ParsePrefix(text)
		return err == nil
	}
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

// checkSecret reports credentials with which the provider could not log in. The provider uses only the first entry.
func (n *rewriter) checkSecret() {
	if text, ok := clouds.SecretKey(n.src, secretKey, &n.diagnostics); ok {
		reader := confdoc.Reader{Format: confdoc.JSON, Fields: nutanixLogin, List: true, Input: diagnostic.Credentials,
			DataKey: secretKey,
			Empty:   "write a JSON list with the type basic_auth and the user and password of Prism Central"}
		n.checkLogin(reader.Read(text, &n.diagnostics))
	}
}

func (n *rewriter) checkLogin(login *confdoc.Document) {
	if !login.Readable {
		return
	}
	list := login.Value("")
	if len(list.Items) == 0 {
		login.ReportAt(list, diagnostic.Invalid,
			"the list is empty: write an entry with the type basic_auth and the user and password of Prism Central")
		return
	}
	for _, entry := range list.Items[1:] {
		login.ReportAt(entry, diagnostic.Unknown,
			"the cloud-controller-manager uses only the first entry: remove this one")
	}
	entry := list.Items[0]
	switch kind := entry.Get("type"); {
	case kind == nil || kind.Text == "":
		login.ReportAt(entry, diagnostic.Invalid, "the entry has no type: write basic_auth")
		return
	case kind.Text != "basic_auth":
		login.ReportAt(kind, diagnostic.Typo,
			fmt.Sprintf("the type is %s, which not every cloud-controller-manager knows: write basic_auth",
				confdoc.Quoted(kind.Text)))
		return
	}
	for _, key := range []string{"username", "password"} {
		if n := entry.Get("data", "prismCentral", key); n == nil || n.Kind == confdoc.TextNode && n.Text == "" {
			login.ReportAt(entry, diagnostic.Invalid,
				fmt.Sprintf("data.prismCentral.%s is missing or empty: write the user and password of Prism Central",
					key))
		}
	}
}
