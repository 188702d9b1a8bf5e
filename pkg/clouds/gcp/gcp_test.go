package gcp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

// federation is a credentials file for workload identity.
const federation = `{"type": "external_account", "subject_token_type": "urn:jwt", ` +
	`"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b", ` +
	`"token_url": "https://sts.googleapis.com/v1/token",
 "credential_source": {"file": "/var/run/token"}}`

func TestGCPGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "gcp", gcp.Rewrite,
		map[string]string{
			"service_account.json": strings.ReplaceAll(federation, "/var/run", cloudtest.StaticPodPaths.Tokens),
		})
}

// keyFile returns a credentials file that contains the private key.
func keyFile(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "my-project", "private_key_id": "0123",
		"client_email": "ccm@my-project.iam.gserviceaccount.com",
		"client_id":    "1", "token_uri": "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	require.NoError(t, err)
	return string(text)
}

func gcpResult(credentials string) clouds.Result {
	return gcp.Rewrite(clouds.Source{Config: []byte("[global]\ntoken-url = nil\nnode-tags = a\nmultizone\n"), Paths: cloudtest.StaticPodPaths,
		Credentials: cloudtest.SecretOf(map[string]string{"service_account.json": credentials, "other": "ignored"})})
}

func TestGCPDeliversAKeyUnchanged(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file := keyFile(t, key)
	result := gcpResult(file)
	require.Empty(t, result.Diagnostics)
	require.Equal(t, cloudtest.SecretOf(map[string]string{"service_account.json": file}), result.Credentials)
	require.Empty(t, result.Tokens)
}

func TestGCPAssumesAKeyIfTheCredentialsAreUnknown(t *testing.T) {
	result := gcp.Rewrite(clouds.Source{Config: []byte("[global]\nnode-tags = a\nmultizone\n"), CredentialsUnknown: true})
	require.Equal(t, "[global]\nnode-tags = a\nmultizone\ntoken-url = nil\n", string(result.Config))
	require.Empty(t, result.Warnings(diagnostic.Strict))
	require.Nil(t, result.Credentials)
}

func TestGCPReportsASingleZone(t *testing.T) {
	const warning = "neither multizone nor regional is true: the cloud-controller-manager finds new nodes, and nodes for " +
		"load balancers, only in the zone in which it runs; write multizone = true"
	for keys, want := range map[string][]string{
		"":                                      {"cloud config: " + warning},
		"multizone = false\nregional = false\n": {"cloud config:3:13: " + warning},
		"regional = no\n":                       {"cloud config:3:12: " + warning},
		"local-zone = europe-west3-a\n":         {"cloud config: " + warning},
		"multizone = true\n":                    nil,
		"regional\n":                            nil,
		"multizone = false\nregional = true\n":  nil,
		"multizone = ture\n":                    nil, // an error already
	} {
		result := gcp.Rewrite(clouds.Source{Config: []byte("[global]\nnode-tags = a\n" + keys), CredentialsUnknown: true})
		require.Equal(t, want, cloudtest.Messages(result, diagnostic.Doubtful), keys)
	}
}

func TestGCPReportsTagsWithoutWhichServicesGetNoLoadBalancer(t *testing.T) {
	const empty = "node-tags is empty, and Google rejects an empty tag: Services of type LoadBalancer get no load balancer; " +
		"remove the line"
	none := []string{"cloud config: there is no node-tags: without it Services of type LoadBalancer get no load balancer " +
		"unless the name of each node starts with one of its tags; write a line for each tag of the nodes"}
	for keys, want := range map[string]struct{ typos, doubts []string }{
		"":                               {nil, none},
		"node-tags\n":                    {nil, none},
		"node-tags = a\nnode-tags\n":     {nil, none},
		"node-tags = \"\"\n":             {[]string{"cloud config:3:13: " + empty}, nil},
		"node-tags =\nnode-tags = a\n":   {[]string{"cloud config:3:12: " + empty}, nil},
		"node-tags = a\nnode-tags = b\n": {nil, nil},
		"node-tags =\nfirewall-rules-management = Disabled\n": {nil, nil},
	} {
		result := gcp.Rewrite(clouds.Source{Config: []byte("[global]\nmultizone\n" + keys), CredentialsUnknown: true})
		require.Equal(t, want.typos, cloudtest.Messages(result, diagnostic.Typo), keys)
		require.Equal(t, want.doubts, cloudtest.Messages(result, diagnostic.Doubtful), keys)
	}
}

func TestGCPRejectsUnusableCredentials(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		file   string
		errors []string
	}{
		"an empty file": {" \n", []string{
			"credentials service_account.json: it is empty: write the credentials that the cloud issued"}},
		"INI instead of JSON": {"[default]\naws_access_key_id = s3cr3t\n", []string{
			"credentials service_account.json:1:2: this looks like INI, but must be JSON"}},
		"base64": {"eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCJ9\n", []string{
			"credentials service_account.json:1:1: it is in base64 once too often: write the text itself"}},
		"a truncated file": {"{\n  \"type\": \"service_account\",\n  \"private_key\": \"s3cr3t", []string{
			"credentials service_account.json:3:25: invalid JSON: the text ends too early: a closing bracket or quote is missing"}},
		"an extra comma": {"{\n  \"type\": \"service_account\",\n}", []string{
			"credentials service_account.json:3:1: invalid JSON: a key in quotes is expected; " +
				"JSON has no comments, and no comma after the last key"}},
		"line breaks in the key": {"{\n  \"type\": \"service_account\",\n  \"private_key\": \"-----BEGIN\ns3cr3t\"}",
			[]string{
				"credentials service_account.json:3:29: invalid JSON: a string has a line break or a control character: write \\n, or close the quotes"}},
		"no type": {`{"client_email": "a@b"}`, []string{
			`credentials service_account.json: there is no type: ` +
				`write "type": "service_account" for a key or "external_account" for workload identity`}},
		"an unknown type": {`{"type": "s3cr3t"}`, []string{
			"credentials service_account.json:1:10: type is unknown, but must be service_account (a key) or " +
				"external_account (workload identity)"}},
		"a user's login": {`{"type": "authorized_user", "refresh_token": "s3cr3t"}`, []string{
			"credentials service_account.json:1:10: type is authorized_user, but must be service_account (a key) or " +
				"external_account (workload identity)"}},
		"an incomplete key": {`{"type": "service_account", "client_email": "", "token_uri": "oauth2"}`, []string{
			"credentials service_account.json: private_key is missing: " +
				"create the file again with the tool that created it",
			"credentials service_account.json:1:45: client_email is missing: " +
				"create the file again with the tool that created it",
			"credentials service_account.json:1:62: token_uri is not a URL of the form https://host/path"}},
		"a text that is not a key": {`{"type": "service_account", "client_email": "a@b", "private_key": "s3cr3t"}`,
			[]string{
				`credentials service_account.json:1:67: private_key is not an RSA key in PEM format: ` +
					`check whether its line breaks, "\n", were lost`}},
		"a key of another type": {keyFile(t, key), []string{
			`credentials service_account.json:1:88: private_key is not an RSA key in PEM format: ` +
				`check whether its line breaks, "\n", were lost`}},
		"values of the wrong type": {`{"type": "service_account", "client_email": ["a"], "private_key": 7}`, []string{
			"credentials service_account.json:1:45: client_email is a list, but must be a string",
			"credentials service_account.json:1:67: private_key is a hidden value, but must be a string"}},
		"an incomplete federation": {
			`{"type": "external_account", "token_url": "sts", "credential_source": {"url": "https://s3cr3t", ` +
				`"format": {"type": "json"}}}`, []string{
				"credentials service_account.json: audience is missing: " +
					"create the file again with the tool that created it",
				"credentials service_account.json: subject_token_type is missing: " +
					"create the file again with the tool that created it",
				"credentials service_account.json:1:43: token_url is not a URL of the form https://host/path",
				"credentials service_account.json:1:71: credential_source has no file: " +
					"the operator delivers the token only as a file",
				"credentials service_account.json:1:116: credential_source.format.type must be text: " +
					"the file contains only the token"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := gcpResult(c.file)
			require.Equal(t, c.errors, cloudtest.Messages(result, diagnostic.Invalid))
			require.Nil(t, result.Config)
			for _, f := range result.Diagnostics {
				require.NotContains(t, f.Message, "s3cr3t")
			}
		})
	}
}

func TestGCPRejectsASecretWithoutTheFile(t *testing.T) {
	src := clouds.Source{Config: []byte("[global]\n"),
		Credentials: cloudtest.SecretOf(map[string]string{"service-account.json": "{}", "x": ""})}
	require.Equal(t, []string{
		"credentials service_account.json: the credentials Secret has no such key, only service-account.json, x"},
		cloudtest.Messages(gcp.Rewrite(src), diagnostic.Invalid))
	src.Credentials = cloudtest.SecretOf(map[string]string{})
	require.Equal(t, []string{
		"credentials service_account.json: the credentials Secret is empty: it needs the key service_account.json"},
		cloudtest.Messages(gcp.Rewrite(src), diagnostic.Invalid))
}

// FuzzGCP checks the guarantees of a Rewrite for any configuration and credentials.
func FuzzGCP(f *testing.F) {
	for _, config := range []string{"[global]\nproject-id = p\nregional\n",
		"[global]\ntoken-url\nlocal-zone=r-a\ntoken-url = https://a\n", "[Global \"x\"]\n",
		"[x]\n[global]\nnode-tags\n"} {
		f.Add(config, federation)
		f.Add(config, `{"TYPE": "external_account", "type": null, "credential_source": {"File": "a", `+
			`"file": "b"}, "credential_source.file": 1}`)
	}
	cluster := clouds.Cluster{Status: configv1.PlatformStatus{
		GCP: &configv1.GCPPlatformStatus{ProjectID: "p", Region: "r"}}}
	f.Fuzz(func(t *testing.T, config, credentials string) {
		secret := map[string]string{"service_account.json": credentials}
		src := clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(secret), Cluster: cluster,
			Paths: cloudtest.StaticPodPaths}
		cloudtest.RequireFuzzed(t, gcp.Rewrite, src)
		src.Credentials = nil
		cloudtest.RequireFuzzed(t, gcp.Rewrite, src)
	})
}
