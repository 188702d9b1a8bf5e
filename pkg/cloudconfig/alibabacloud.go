package cloudconfig

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The keys of the credentials Secret.
const (
	alibabaIDKey     = "alibaba_access_key_id"
	alibabaSecretKey = "alibaba_access_key_secret"
)

// alibabaFields is what cloud-provider-alibaba-cloud reads with github.com/ghodss/yaml, which is what sigs.k8s.io/yaml was
// made from: CloudConfig in pkg/config/cloud_config.go. No Go module proxy has a release of it to compare with.
var alibabaFields = []treeField{{name: "Global", is: objectTree, fields: slices.Concat(
	[]treeField{{name: "accessKeyID", secret: true}, {name: "accessKeySecret", secret: true}},
	treeFieldsOf(textTree, "uid", "clusterID", "kubernetesClusterTag", "region", "vpcid", "zoneid", "vswitchid", "serviceBackendType",
		"routeTableIDs", "privateZoneId", "featureGates", "resourceGroupID"),
	treeFieldsOf(boolTree, "disablePublicSLB"),
	treeFieldsOf(intTree, "nodeMonitorPeriod", "nodeAddrSyncPeriod", "privateZoneRecordTTL",
		"serviceMaxConcurrentReconciles", "nodeMaxConcurrentReconciles", "routeMaxConcurrentReconciles"),
)}}

// alibabaCloud is one run of the AlibabaCloud function.
type alibabaCloud struct {
	src      Source
	config   *treeDocument
	findings findings
}

// AlibabaCloud checks the configuration of cloud-provider-alibaba-cloud and merges the credentials into it.
//
// The provider reads YAML with one mapping, Global, and wants its access key there in base64; without one it takes the RAM
// role of the machine. What else is missing it asks the metadata service for, so no configuration at all is one, too. The
// rewriting sets the region that Infrastructure names.
func AlibabaCloud(src Source) Result {
	a := &alibabaCloud{src: src}
	text := src.Config
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("Global: {}\n")
	}
	reader := treeReader{format: yamlAsJSONTree, fields: alibabaFields, input: diagnostic.CloudConfig, empty: "write at least Global: {}"}
	a.config = reader.read(text, &a.findings)
	a.config.checkPlaceholders()
	if !src.CredentialsUnknown {
		a.useCredentials()
	}
	if global := a.config.value("Global"); a.config.readable && (global == nil || global.kind == mapNode) {
		a.useRegion()
		a.checkAccessKey()
	}
	return finish(a.findings, Result{Config: a.config.formatYAML()})
}

func (a *alibabaCloud) useRegion() {
	status := a.src.Cluster.Status.AlibabaCloud
	if status == nil || status.Region == "" {
		return
	}
	switch named := a.config.text("Global", "region"); named {
	case status.Region:
	case "":
		a.config.put(newText(status.Region), diagnostic.Adapted, "Infrastructure names this region", "Global", "region")
	default:
		a.config.reportAt(a.config.value("Global", "region"), diagnostic.Invalid,
			fmt.Sprintf("Global.region is %s, but status.platformStatus.alibabaCloud.region of infrastructure.config.openshift.io/cluster is %s: write that, or correct it there",
				quoted(named), quoted(status.Region)))
	}
}

// useCredentials merges the access key of the Secret.
func (a *alibabaCloud) useCredentials() {
	login := secretTexts(a.src.Credentials, &a.findings, alibabaIDKey, alibabaSecretKey)
	id, secret := login[alibabaIDKey], login[alibabaSecretKey]
	missing := ""
	switch {
	case id == "" && secret == "":
		if len(a.src.Credentials) > 0 {
			a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Kind: diagnostic.Invalid,
				Message: fmt.Sprintf("the credentials Secret has neither %s nor %s: write both, or remove all its keys to use the RAM role of the instances", alibabaIDKey, alibabaSecretKey)})
		}
		return
	case id == "":
		missing = alibabaIDKey
	case secret == "":
		missing = alibabaSecretKey
	}
	if missing != "" {
		a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: missing, Kind: diagnostic.Invalid, Message: "it is missing or empty, but the other half of the access key is there: write both"})
		return
	}
	if global := a.config.value("Global"); !a.config.readable || global != nil && global.kind != mapNode {
		return
	}
	const reason = "the cloud-controller-manager logs in with the access key of its own Secret"
	for _, half := range []struct{ from, text, to string }{{alibabaIDKey, id, "accessKeyID"}, {alibabaSecretKey, secret, "accessKeySecret"}} {
		encoded := base64.StdEncoding.EncodeToString([]byte(half.text))
		if _, _, name, found := Placeholders([]byte(encoded)); found {
			a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: half.from, Kind: diagnostic.Invalid,
				Message: "in base64 " + placeholderMessage(name) + ": rotate the access key"})
		}
		a.config.put(newText(encoded), diagnostic.Rewritten, reason, "Global", half.to)
	}
}

// checkAccessKey finds an access key that the provider could not read, or would not use.
func (a *alibabaCloud) checkAccessKey() {
	id, secret := a.config.text("Global", "accessKeyID"), a.config.text("Global", "accessKeySecret")
	if (id == "") != (secret == "") {
		a.config.reportAt(a.config.value("Global"), diagnostic.Typo, "one of accessKeyID and accessKeySecret is missing, so the cloud-controller-manager ignores the other: write both or none")
	}
	for _, key := range []string{"accessKeyID", "accessKeySecret"} {
		if _, err := base64.StdEncoding.DecodeString(a.config.text("Global", key)); err != nil {
			a.config.reportAt(a.config.value("Global", key), diagnostic.Invalid, fmt.Sprintf("Global.%s is not in base64: write the value in base64, or put it into the credentials Secret as it is", key))
		}
	}
}
