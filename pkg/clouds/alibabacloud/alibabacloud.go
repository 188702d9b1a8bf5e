// Package alibabacloud rewrites configurations for cloud-provider-alibaba-cloud.
package alibabacloud

import (
	"bytes"
	"encoding/base64"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	idKey     = "alibaba_access_key_id"
	secretKey = "alibaba_access_key_secret"
)

// alibabaFields are the keys that cloud-provider-alibaba-cloud reads with github.com/ghodss/yaml, from which
// sigs.k8s.io/yaml was forked: CloudConfig in pkg/config/cloud_config.go. No Go module proxy has a release of the
// provider to compare with.
var alibabaFields = []confdoc.Field{{Name: "Global", Is: confdoc.Object, Fields: slices.Concat(
	[]confdoc.Field{{Name: "accessKeyID", Secret: true}, {Name: "accessKeySecret", Secret: true}},
	confdoc.FieldsOf(confdoc.Text, "uid", "clusterID", "kubernetesClusterTag", "region", "vpcid", "zoneid", "vswitchid",
		"serviceBackendType", "routeTableIDs", "privateZoneId", "featureGates", "resourceGroupID"),
	confdoc.FieldsOf(confdoc.Bool, "disablePublicSLB"),
	confdoc.FieldsOf(confdoc.Int, "nodeMonitorPeriod", "nodeAddrSyncPeriod", "privateZoneRecordTTL",
		"serviceMaxConcurrentReconciles", "nodeMaxConcurrentReconciles", "routeMaxConcurrentReconciles"),
)}}

// Rewrite checks the configuration of cloud-provider-alibaba-cloud and merges the credentials into it.
//
// The provider reads YAML with one mapping, Global, and expects its access key there in base64. Without an access key
// it uses the RAM role of the instance. It reads other missing values from the metadata service, so an empty
// configuration is valid. Rewrite sets the region that Infrastructure names.
func Rewrite(src clouds.Source) clouds.Result {
	if len(bytes.TrimSpace(src.Config)) == 0 {
		src.Config = []byte("Global: {}\n")
	}
	a := rewriter{clouds.NewRun(src, confdoc.Reader{
		Format: confdoc.YAMLAsJSON, Fields: alibabaFields, Empty: "write at least Global: {}",
	})}
	global := a.Value("Global")
	hasGlobal := a.Readable && (global == nil || global.Kind == confdoc.MapNode)
	if !src.CredentialsUnknown {
		a.useCredentials(hasGlobal)
	}
	if hasGlobal {
		a.useRegion()
		a.checkAccessKey()
	}
	return a.Finish(clouds.Result{Config: confdoc.EncodeYAML(a.Root)})
}

type rewriter struct{ clouds.Run }

func (a rewriter) useRegion() {
	const field = "status.platformStatus.alibabaCloud.region"
	if status := a.Cluster.Status.AlibabaCloud; status != nil && status.Region != "" {
		a.Contradicts("Global.region", a.Value("Global", "region"), field, status.Region)
		a.Default(confdoc.NewText(status.Region), "Infrastructure names this region", "Global", "region")
	}
}

func (a rewriter) useCredentials(hasGlobal bool) {
	login := a.SecretTexts(idKey, secretKey)
	id, secret := login[idKey], login[secretKey]
	switch {
	case id == "" && secret == "" && len(a.Credentials) > 0:
		a.RejectCredentials("", "the credentials Secret has neither %s nor %s: "+
			"write both, or remove all its keys to use the RAM role of the instances", idKey, secretKey)
	case (id == "") != (secret == ""):
		missing := map[bool]string{true: idKey, false: secretKey}[id == ""]
		a.RejectCredentials(missing, "it is missing or empty, but the other half of the access key is set: write both")
	}
	if id == "" || secret == "" || !hasGlobal {
		return
	}
	const reason = "the cloud-controller-manager logs in with the access key of its own Secret"
	for _, half := range []struct{ text, to string }{{id, "accessKeyID"}, {secret, "accessKeySecret"}} {
		encoded := base64.StdEncoding.EncodeToString([]byte(half.text))
		a.Put(confdoc.NewText(encoded), diagnostic.Rewritten, reason, "Global", half.to)
	}
}

// checkAccessKey reports an access key that the provider could not read or would not use.
func (a rewriter) checkAccessKey() {
	if (a.Text("Global", "accessKeyID") == "") != (a.Text("Global", "accessKeySecret") == "") {
		a.Reportf(a.Value("Global"), diagnostic.Typo, "one of accessKeyID and accessKeySecret is missing, "+
			"so the cloud-controller-manager ignores the other: write both or none")
	}
	for _, key := range []string{"accessKeyID", "accessKeySecret"} {
		if _, err := base64.StdEncoding.DecodeString(a.Text("Global", key)); err != nil {
			a.Rejectf(a.Value("Global", key),
				"Global.%s is not base64: encode it, or put the plain value into the credentials Secret", key)
		}
	}
}
