// Package alibabacloud rewrites configurations for cloud-provider-alibaba-cloud.
package alibabacloud

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
		"routeTableIDs", "privateZoneId", "resourceGroupID"),
	[]confdoc.Field{
		{Name: "serviceBackendType", Values: []string{"ecs", "eni"}, Fallback: "ecs"},
		{Name: "featureGates", Valid: areGates, Hint: "gates of the form name=true, separated by commas"},
	},
	confdoc.FieldsOf(confdoc.Bool, "disablePublicSLB"),
	confdoc.FieldsOf(confdoc.Int, "nodeMonitorPeriod", "nodeAddrSyncPeriod", "privateZoneRecordTTL",
		"serviceMaxConcurrentReconciles", "nodeMaxConcurrentReconciles", "routeMaxConcurrentReconciles"),
)}}

// areGates reports whether BindFeatureGates in pkg/config/feature_gates.go can read the text.
func areGates(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, ","), func(gate string) bool {
		_, enabled, _ := strings.Cut(gate, "=")
		_, err := strconv.ParseBool(strings.TrimSpace(enabled))
		return gate != "" && err != nil
	})
}

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
		a.checkSwitches()
	}
	return a.Finish(clouds.Result{Config: confdoc.EncodeYAML(a.Root)})
}

type rewriter struct{ clouds.Run }

// zone matches zones such as cn-hangzhou-b and us-west-1a.
var zone = regexp.MustCompile(`^(.*(?:[a-z]-|\d))[a-z]$`)

func (a rewriter) useRegion() {
	const field = "status.platformStatus.alibabaCloud.region"
	if status := a.Cluster.Status.AlibabaCloud; status != nil && status.Region != "" {
		region := a.RegionOf(field, status.Region, zone)
		a.Contradicts("Global.region", a.Value("Global", "region"), field, region)
		if region != "" {
			a.Default(confdoc.NewText(region), "Infrastructure names this region", "Global", "region")
		}
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
	if strings.HasPrefix(secret, "LTAI") && len(secret) < 30 { // a secret has 30 characters
		a.ReportCredentials(secretKey, diagnostic.Typo, "it is the ID of an access key: write the secret here, and the ID "+
			"in "+idKey)
	}
	if strings.HasPrefix(id, "STS.") {
		a.ReportCredentials(idKey, diagnostic.Doubtful, "it is the ID of a temporary access key, and its token is not "+
			"delivered: write a permanent access key")
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

// checkSwitches reports vSwitches that the provider skips (CfgMetaData in pkg/provider/alibaba/base/metadata.go).
// Without vpcid it asks the metadata service for all of them.
func (a rewriter) checkSwitches() {
	switches := a.Value("Global", "vswitchid")
	if switches.String() == "" || a.Text("Global", "vpcid") == "" {
		return
	}
	for item := range strings.SplitSeq(switches.Text, ",") {
		if strings.Count(item, ":") != 1 {
			a.Reportf(switches, diagnostic.Doubtful, "Global.vswitchid has %s, which the cloud-controller-manager skips: write "+
				"its zone before it, such as cn-hangzhou-h:vsw-0a1b2c3d4e5f6", confdoc.Quoted(item))
		}
	}
}

// checkAccessKey reports an access key that the provider could not read or would not use.
func (a rewriter) checkAccessKey() {
	if (a.Text("Global", "accessKeyID") == "") != (a.Text("Global", "accessKeySecret") == "") {
		a.Reportf(a.Value("Global"), diagnostic.Typo, "one of accessKeyID and accessKeySecret is missing, "+
			"so the cloud-controller-manager ignores the other: write both or none")
	}
	for _, key := range []string{"accessKeyID", "accessKeySecret"} {
		named := a.Value("Global", key)
		plain, err := base64.StdEncoding.DecodeString(named.String())
		isForeign := func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }
		switch {
		case err != nil:
			a.Rejectf(named,
				"Global.%s is not base64: encode it, or put the plain value into the credentials Secret", key)
		case named == nil || named.Line == 0: // the Secret's, which is checked
		case confdoc.IsBase64(plain):
			a.Reportf(named, diagnostic.Typo, "Global.%s is in base64 once too often: encode the plain value once", key)
		case bytes.ContainsFunc(plain, isForeign):
			a.Reportf(named, diagnostic.Typo, "Global.%s is not the base64 of an access key alone: encode the plain value, "+
				"without a line break", key)
		}
	}
}
