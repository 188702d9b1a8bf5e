package cloudconfig

import (
	"bytes"
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	gcpCredentialsFile = "service_account.json"
	gcpTokenAudience   = "openshift"
	gcpKeyType         = "service_account"
	gcpFederationType  = "external_account"
)

// gcpOtherTypes are the credentials files of Google's tools that no cluster can use: they are for people at a terminal, or
// build on another login. A message may name them.
var gcpOtherTypes = []string{"authorized_user", "external_account_authorized_user", "gdch_service_account", "impersonated_service_account"}

// gcpCredentials reads a credentials file as Google's library does (golang.org/x/oauth2/google, credentialsFile in google.go,
// and cloud.google.com/go/auth): keys of service accounts and federations have these names.
var gcpCredentials = treeReader{
	format:  jsonTree,
	input:   diagnostic.Credentials,
	dataKey: gcpCredentialsFile,
	empty:   "restore the file that Google or ccoctl made",
	fields: slices.Concat(
		[]treeField{
			{name: "type", secret: true,
				required: `write "type": "service_account" for a key or "external_account" for workload identity`},
			{name: "private_key", secret: true},
			{name: "private_key_id", secret: true},
			{name: "client_secret", secret: true},
			{name: "refresh_token", secret: true},
			{name: "credential_source", is: objectTree, fields: slices.Concat(
				gcpTexts("file", "url", "environment_id", "region_url", "regional_cred_verification_url", "cred_verification_url", "imdsv2_session_token_url"),
				[]treeField{
					{name: "format", is: objectTree, fields: gcpTexts("type", "subject_token_field_name")},
					{name: "headers", is: anyTree}, {name: "executable", is: anyTree}, {name: "certificate", is: anyTree},
				},
			)},
			{name: "service_account_impersonation", is: objectTree, fields: []treeField{{name: "token_lifetime_seconds", is: intTree}}},
			{name: "delegates", is: anyTree}, {name: "source_credentials", is: anyTree},
		},
		gcpTexts("project_id", "client_email", "client_id", "auth_uri", "token_uri", "auth_provider_x509_cert_url", "client_x509_cert_url",
			"universe_domain", "quota_project_id", "audience", "subject_token_type", "token_url", "token_info_url",
			"service_account_impersonation_url", "workforce_pool_user_project", "account"),
	),
}

func gcpTexts(names ...string) []treeField {
	fields := make([]treeField, len(names))
	for i, name := range names {
		fields[i] = treeField{name: name, secret: true}
	}
	return fields
}

// secretKey is the one key of the credentials Secret that is needed; false when there is nothing to check in it.
func secretKey(src Source, key string, fs *findings) ([]byte, bool) {
	text, ok := src.Credentials[key]
	whole := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: diagnostic.Invalid}
	switch {
	case src.Credentials == nil && src.CredentialsUnknown:
		return nil, false
	case src.Credentials == nil:
		whole.Key = ""
		whole.Message = "there is no credentials Secret: see whether the cloud-credential-operator makes it, or create it where credentials are managed by hand"
	case !ok && len(src.Credentials) == 0:
		whole.Message = "the credentials Secret is empty: it needs the key " + key
	case !ok:
		whole.Message = "the credentials Secret has no such key, only " + strings.Join(slices.Sorted(maps.Keys(src.Credentials)), ", ")
	case len(bytes.TrimSpace(text)) == 0:
		whole.Message = "it is empty: write the credentials that the cloud gave"
	default:
		return text, true
	}
	fs.Add(whole)
	return nil, false
}

// credentials are the files that the provider gets, and the tokens that they ask for.
func (g *gcp) credentials() (map[string][]byte, []Token) {
	text, ok := secretKey(g.src, gcpCredentialsFile, &g.findings)
	if !ok {
		return nil, nil
	}
	account := gcpCredentials.read(text, &g.findings)
	g.universe = cmp.Or(strings.ToLower(account.text("universe_domain")), "googleapis.com")
	switch kind := account.text("type"); {
	case kind == gcpKeyType:
		checkGCPKey(account)
	case kind == gcpFederationType:
		return map[string][]byte{gcpCredentialsFile: g.useToken(account, text)}, []Token{{Key: mintedToken, Audience: gcpTokenAudience}}
	case kind != "":
		if !slices.Contains(gcpOtherTypes, kind) {
			kind = "unknown"
		}
		account.reportAt(account.value("type"), diagnostic.Invalid, fmt.Sprintf("type is %s, but wants %s (a key) or %s (workload identity)", kind, gcpKeyType, gcpFederationType))
	}
	return map[string][]byte{gcpCredentialsFile: text}, nil
}

func checkGCPKey(account *treeDocument) {
	requireGCP(account, "client_email")
	requireGCP(account, "private_key")
	if key := account.value("private_key"); key != nil && key.kind == textNode && key.text != "" && !isRSAKey(key.text) {
		account.reportAt(key, diagnostic.Invalid, `private_key is not an RSA key in PEM form: see whether its line breaks, "\n", were lost`)
	}
	checkGCPAddress(account, "token_uri")
}

// isRSAKey tells whether golang.org/x/oauth2 can sign with the text.
func isRSAKey(text string) bool {
	der := []byte(text)
	if block, _ := pem.Decode(der); block != nil {
		der = block.Bytes
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		_, ok := key.(*rsa.PrivateKey)
		return ok
	}
	_, err := x509.ParsePKCS1PrivateKey(der)
	return err == nil
}

// useToken checks a federation and points it at the token that the operator keeps.
func (g *gcp) useToken(account *treeDocument, text []byte) []byte {
	for _, key := range []string{"audience", "subject_token_type", "token_url"} {
		requireGCP(account, key)
	}
	checkGCPAddress(account, "token_url")
	checkGCPAddress(account, "service_account_impersonation_url")
	if format := account.text("credential_source", "format", "type"); format != "" && format != "text" {
		account.reportAt(account.value("credential_source", "format", "type"), diagnostic.Invalid,
			"credential_source.format.type wants text: the file holds the token and nothing else")
	}
	ours := path.Join(g.src.Paths.Tokens, mintedToken)
	switch file := account.value("credential_source", "file"); {
	case file == nil || file.text == "":
		account.reportAt(account.value("credential_source"), diagnostic.Invalid,
			"credential_source has no file: the operator delivers the token as a file, and in no other way")
	case file.text != ours:
		account.reportAt(file, diagnostic.Adapted, fmt.Sprintf("credential_source.file is set to %q, where the operator keeps a fresh token", ours))
		file.text = ours
		return account.formatJSON()
	}
	return text
}

func requireGCP(account *treeDocument, key string) {
	if value := account.value(key); value == nil || value.kind == textNode && value.text == "" {
		account.reportAt(value, diagnostic.Invalid, key+" is missing: create the file anew with the tool that made it")
	}
}

func checkGCPAddress(account *treeDocument, key string) {
	if address := account.value(key); address != nil && address.kind == textNode && address.text != "" && !isEndpoint(address.text) {
		account.reportAt(address, diagnostic.Invalid, key+" is not a URL of the form https://host/path")
	}
}
