package cloudconfig

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// operandNamespace is where the cloud-controller-manager reads what it reads through the API.
	operandNamespace = "openshift-cloud-controller-manager"
	// nutanixSecret is the Secret of Nutanix' CredentialsRequest.
	nutanixSecret    = "nutanix-credentials"
	nutanixSecretKey = "credentials"
)

// nutanixFields is what cloud-provider-nutanix reads with encoding/json: Config in pkg/provider/config/config.go, and
// NutanixPrismEndpoint with its references in environment/credentials/types.go of prism-go-client. No Go module proxy has
// a release of it to compare with.
var nutanixFields = []treeField{
	{name: "prismCentral", is: objectTree, required: "write the address, the port and the credentials of Prism Central", fields: []treeField{
		{name: "address", required: "write the name or address of Prism Central"},
		{name: "port", is: intTree, bits: 32, required: "write the port of Prism Central, which usually is 9440"},
		{name: "insecure", is: boolTree},
		{name: "additionalTrustBundle", is: objectTree, fields: []treeField{
			{name: "kind", values: []string{"String", "ConfigMap"}, required: "write String, with data, or ConfigMap, with name"},
			{name: "data"}, {name: "name"}, {name: "namespace"},
		}},
		{name: "credentialRef", is: objectTree, fields: treeFieldsOf(textTree, "kind", "name", "namespace")},
	}},
	{name: "topologyDiscovery", is: objectTree, fields: []treeField{
		{name: "type", values: []string{"Prism", "Categories"}},
		{name: "topologyCategories", is: objectTree, fields: treeFieldsOf(textTree, "zoneCategory", "regionCategory")},
	}},
	{name: "enableCustomLabeling", is: boolTree},
	{name: "ignoredNodeIPs", is: listTree, of: &treeField{}},
}

// nutanixLogin is an entry of the key credentials as ParseCredentials in environment/credentials/parsecreds.go of
// prism-go-client reads it. Of the Prism Elements nothing is used.
var nutanixLogin = []treeField{
	{name: "type"},
	{name: "data", is: objectTree, fields: []treeField{
		{name: "prismCentral", is: objectTree, fields: []treeField{{name: "username", secret: true}, {name: "password", secret: true}}},
		{name: "prismElements", is: anyTree},
	}},
}

// nutanix is one run of the Nutanix function.
type nutanix struct {
	src      Source
	config   *treeDocument
	findings findings
}

// Nutanix checks the configuration of cloud-provider-nutanix and the Secret that it logs in with.
//
// The provider reads its Secret through the API, under the name that the configuration gives: it has to be the one that
// its identity may read, nutanix-credentials in its own namespace. So the Secret is checked, but no file is made of it. A
// configuration without the reference gets it; nothing else is changed.
func Nutanix(src Source) Result {
	n := &nutanix{src: src}
	reader := treeReader{format: jsonTree, fields: nutanixFields, input: diagnostic.CloudConfig,
		empty: "write the JSON object that the installer makes, with at least prismCentral"}
	n.config = reader.read(src.Config, &n.findings)
	n.config.checkPlaceholders()
	if n.config.readable {
		n.checkPrismCentral()
		n.checkReference()
		n.checkTrustBundle()
		n.checkTopology()
		n.checkIgnoredIPs()
	}
	if !src.CredentialsUnknown {
		n.checkSecret()
	}
	return finish(n.findings, Result{Config: n.config.formatJSON()})
}

// checkPrismCentral finds an endpoint that cannot be asked, or is not the one of Infrastructure.
func (n *nutanix) checkPrismCentral() {
	var fact configv1.NutanixPrismEndpoint
	if spec := n.src.Cluster.Spec.Nutanix; spec != nil {
		fact = spec.PrismCentral
	}
	const differs = "prismCentral.%[1]s is %[2]s, but spec.platformSpec.nutanix.prismCentral.%[1]s of infrastructure.config.openshift.io/cluster is %[3]s: write that, or correct it there"
	if address := n.config.value("prismCentral", "address"); address != nil {
		if strings.ContainsAny(address.text, "/ ") {
			n.config.reportAt(address, diagnostic.Invalid, fmt.Sprintf("prismCentral.address is %s, but wants a name or address alone, such as prism.example.com", quoted(address.text)))
		}
		if fact.Address != "" && !strings.EqualFold(strings.Trim(address.text, "[]"), strings.Trim(fact.Address, "[]")) {
			n.config.reportAt(address, diagnostic.Invalid, fmt.Sprintf(differs, "address", quoted(address.text), quoted(fact.Address)))
		}
	}
	if port := n.config.value("prismCentral", "port"); port != nil && port.kind == intNode {
		if number := portOf(port); number < 1 || number > 65535 {
			n.config.reportAt(port, diagnostic.Invalid, fmt.Sprintf("prismCentral.port is %s, but wants a number from 1 to 65535", cut(port.text)))
		}
		if fact.Port != 0 && portOf(port) != int(fact.Port) {
			n.config.reportAt(port, diagnostic.Invalid, fmt.Sprintf(differs, "port", cut(port.text), fmt.Sprint(fact.Port)))
		}
	}
}

// portOf is the number of a port; 0 when it is none.
func portOf(n *treeNode) int {
	number, err := strconv.Atoi(n.text)
	if err != nil {
		return 0
	}
	return number
}

// checkReference finds a reference to a Secret that the provider may not read.
func (n *nutanix) checkReference() {
	if n.config.value("prismCentral") == nil || n.config.value("prismCentral").kind != mapNode {
		return // reported
	}
	if n.config.value("prismCentral", "credentialRef") == nil {
		reference := newMap()
		reference.set("kind", newText("Secret"))
		reference.set("name", newText(nutanixSecret))
		reference.set("namespace", newText(operandNamespace))
		n.config.put(reference, diagnostic.Adapted, "the cloud-controller-manager reads its credentials from Secret "+nutanixSecret+" in "+operandNamespace, "prismCentral", "credentialRef")
		return
	}
	for _, wanted := range []struct {
		key, value string
		optional   bool
	}{{"kind", "Secret", true}, {"name", nutanixSecret, false}, {"namespace", operandNamespace, true}} {
		named := n.config.text("prismCentral", "credentialRef", wanted.key)
		if named == wanted.value || named == "" && wanted.optional {
			continue
		}
		at := n.config.value("prismCentral", "credentialRef", wanted.key)
		if at == nil {
			at = n.config.value("prismCentral", "credentialRef")
		}
		n.config.reportAt(at, diagnostic.Invalid, fmt.Sprintf("prismCentral.credentialRef.%s is %s, but the cloud-controller-manager may read only Secret %s in %s: write %q",
			wanted.key, quoted(named), nutanixSecret, operandNamespace, wanted.value))
	}
}

// checkTrustBundle finds CA certificates that the provider would not find or not take.
func (n *nutanix) checkTrustBundle() {
	path := []string{"prismCentral", "additionalTrustBundle"}
	bundle := n.config.value(path...)
	switch n.config.text(append(path, "kind")...) {
	case "String":
		data := bundle.get("data")
		if data == nil {
			data = bundle
		}
		certificates, broken := countCertificates([]byte(data.text))
		if certificates == 0 {
			n.config.reportAt(data, diagnostic.Invalid, `prismCentral.additionalTrustBundle.data has no PEM certificate in it: write the CA certificates in PEM form, with \n for each line break`)
		} else if broken > 0 {
			n.config.reportAt(data, diagnostic.Typo, fmt.Sprintf("%d of the certificates in prismCentral.additionalTrustBundle.data cannot be parsed: replace or remove them", broken))
		}
	case "ConfigMap":
		if n.config.text(append(path, "name")...) == "" {
			n.config.reportAt(bundle, diagnostic.Invalid, "prismCentral.additionalTrustBundle has the kind ConfigMap, but no name: write the name of the ConfigMap in "+operandNamespace)
		}
		if namespace := bundle.get("namespace"); namespace != nil && namespace.text != "" && namespace.text != operandNamespace {
			n.config.reportAt(namespace, diagnostic.Invalid, fmt.Sprintf("prismCentral.additionalTrustBundle.namespace is %s, but the cloud-controller-manager reads only %s: copy the ConfigMap there",
				quoted(namespace.text), operandNamespace))
		}
	}
}

// countCertificates counts the PEM certificates that can be parsed and those that cannot.
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

// checkTopology finds a discovery by categories that names none.
func (n *nutanix) checkTopology() {
	if n.config.text("topologyDiscovery", "type") != "Categories" {
		return
	}
	categories := n.config.value("topologyDiscovery", "topologyCategories")
	if categories == nil {
		n.config.reportAt(n.config.value("topologyDiscovery"), diagnostic.Invalid,
			"topologyDiscovery has the type Categories, but no topologyCategories: write zoneCategory and regionCategory in it, or the type Prism")
		return
	}
	for _, key := range []string{"zoneCategory", "regionCategory"} {
		if categories.kind == mapNode && n.config.text("topologyDiscovery", "topologyCategories", key) == "" {
			n.config.reportAt(categories, diagnostic.Typo, fmt.Sprintf("topologyDiscovery.topologyCategories has no %s: the nodes would be without it; write the key of the category", key))
		}
	}
}

// checkIgnoredIPs finds what is no address, no range and no network.
func (n *nutanix) checkIgnoredIPs() {
	list := n.config.value("ignoredNodeIPs")
	if list == nil {
		return
	}
	for _, item := range list.items {
		if item.kind == nullNode || item.kind == textNode && !isIPs(item.text) {
			n.config.reportAt(item, diagnostic.Invalid, fmt.Sprintf("%s in ignoredNodeIPs is not an address such as 10.0.0.5, a network such as 10.0.0.0/28 or a range such as 10.0.0.5-10.0.0.9", quoted(item.text)))
		}
	}
}

// isIPs tells whether the provider takes a text for an address, a network or a range.
func isIPs(text string) bool {
	if first, last, found := strings.Cut(text, "-"); found {
		from, errFrom := netip.ParseAddr(first)
		to, errTo := netip.ParseAddr(last)
		return errFrom == nil && errTo == nil && from.Zone() == "" && to.Zone() == "" && from.BitLen() == to.BitLen() && !to.Less(from)
	}
	if strings.Contains(text, "/") {
		_, err := netip.ParsePrefix(text)
		return err == nil
	}
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

// checkSecret finds credentials that the provider could not log in with. It takes the first entry, whatever follows.
func (n *nutanix) checkSecret() {
	text, ok := n.src.Credentials[nutanixSecretKey]
	report := func(key string, kind diagnostic.Kind, message string) {
		n.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: kind, Message: message})
	}
	switch {
	case n.src.Credentials == nil:
		report("", diagnostic.Invalid, noCredentialsSecret)
		return
	case !ok:
		report(nutanixSecretKey, diagnostic.Invalid, "the credentials Secret has no such key: write a JSON list with the type basic_auth and the user and password of Prism Central")
		return
	}
	reader := treeReader{format: jsonTree, fields: nutanixLogin, list: true, input: diagnostic.Credentials, dataKey: nutanixSecretKey,
		empty: "write a JSON list with the type basic_auth and the user and password of Prism Central"}
	n.checkLogin(reader.read(text, &n.findings))
}

func (n *nutanix) checkLogin(login *treeDocument) {
	if !login.readable {
		return
	}
	list := login.value("")
	if len(list.items) == 0 {
		login.reportAt(list, diagnostic.Invalid, "the list is empty: write an entry with the type basic_auth and the user and password of Prism Central")
		return
	}
	for _, entry := range list.items[1:] {
		login.reportAt(entry, diagnostic.Unknown, "the cloud-controller-manager takes the first entry only: remove this one")
	}
	entry := list.items[0]
	switch kind := entry.get("type"); {
	case kind == nil || kind.text == "":
		login.reportAt(entry, diagnostic.Invalid, "the entry has no type: write basic_auth")
		return
	case kind.text != "basic_auth":
		login.reportAt(kind, diagnostic.Typo, fmt.Sprintf("the type is %s, which not every cloud-controller-manager knows: write basic_auth", quoted(kind.text)))
		return
	}
	for _, key := range []string{"username", "password"} {
		if n := entry.get("data", "prismCentral", key); n == nil || n.kind == textNode && n.text == "" {
			login.reportAt(entry, diagnostic.Invalid, fmt.Sprintf("data.prismCentral.%s is missing or empty: write the user and password of Prism Central", key))
		}
	}
}
