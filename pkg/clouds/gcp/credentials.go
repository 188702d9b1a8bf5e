package gcp

import (
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	credentialsFile = "service_account.json"
	keyType         = "service_account"
	federationType  = "external_account"
)

// otherTypes are the types of other credentials files of Google's tools. A cluster cannot use them: they are for
// interactive use, or they depend on another login. A message may show them.
var otherTypes = []string{"authorized_user", "external_account_authorized_user", "gdch_service_account",
	"impersonated_service_account"}

// gcpCredentials reads a credentials file as Google's library does (golang.org/x/oauth2/google, credentialsFile in
// google.go, and cloud.google.com/go/auth). It knows the keys of service accounts and federations.
var gcpCredentials = confdoc.Reader{
	Format:  confdoc.JSON,
	Input:   diagnostic.Credentials,
	DataKey: credentialsFile,
	Empty:   "restore the file that Google or ccoctl made",
	Fields: slices.Concat(
		[]confdoc.Field{
			{Name: "type", Secret: true,
				Required: `write "type": "service_account" for a key or "external_account" for workload identity`},
			{Name: "private_key", Secret: true},
			{Name: "private_key_id", Secret: true},
			{Name: "client_secret", Secret: true},
			{Name: "refresh_token", Secret: true},
			{Name: "credential_source", Is: confdoc.Object, Fields: slices.Concat(
				texts("file", "url", "environment_id", "region_url", "regional_cred_verification_url",
					"cred_verification_url", "imdsv2_session_token_url"),
				[]confdoc.Field{
					{Name: "format", Is: confdoc.Object, Fields: texts("type", "subject_token_field_name")},
					{Name: "headers", Is: confdoc.Any}, {Name: "executable", Is: confdoc.Any},
					{Name: "certificate", Is: confdoc.Any},
				},
			)},
			{Name: "service_account_impersonation", Is: confdoc.Object,
				Fields: []confdoc.Field{{Name: "token_lifetime_seconds", Is: confdoc.Int}}},
			{Name: "delegates", Is: confdoc.Any}, {Name: "source_credentials", Is: confdoc.Any},
		},
		texts("project_id", "client_email", "client_id", "auth_uri", "token_uri", "auth_provider_x509_cert_url",
			"client_x509_cert_url", "universe_domain", "quota_project_id", "audience", "subject_token_type",
			"token_url", "token_info_url", "service_account_impersonation_url", "workforce_pool_user_project",
			"account"),
	),
}

func texts(names ...string) []confdoc.Field {
	fields := make([]confdoc.Field, len(names))
	for i, name := range names {
		fields[i] = confdoc.Field{Name: name, Secret: true}
	}
	return fields
}

// credentials returns the files from which the provider reads its credentials, and the tokens that they refer to.
func (g *rewriter) credentials() (map[string][]byte, []clouds.Token) {
	text, ok := clouds.SecretKey(g.src, credentialsFile, &g.diagnostics)
	if !ok {
		return nil, nil
	}
	account := gcpCredentials.Read(text, &g.diagnostics)
	g.universe = cmp.Or(strings.ToLower(account.Text("universe_domain")), "googleapis.com")
	switch kind := account.Text("type"); {
	case kind == keyType:
		checkGCPKey(account)
	case kind == federationType:
		return map[string][]byte{credentialsFile: g.useToken(account, text)},
			[]clouds.Token{{Key: clouds.MintedToken, Audience: clouds.OpenshiftAudience}}
	case kind != "":
		if !slices.Contains(otherTypes, kind) {
			kind = "unknown"
		}
		account.ReportAt(account.Value("type"), diagnostic.Invalid,
			fmt.Sprintf("type is %s, but must be %s (a key) or %s (workload identity)", kind, keyType, federationType))
	}
	return map[string][]byte{credentialsFile: text}, nil
}

func checkGCPKey(account *confdoc.Document) {
	requireGCP(account, "client_email")
	requireGCP(account, "private_key")
	if key := account.Value("private_key"); key != nil && key.Kind == confdoc.TextNode && key.Text != "" &&
		!isRSAKey(key.Text) {
		account.ReportAt(key, diagnostic.Invalid,
			`private_key is not an RSA key in PEM format: check whether its line breaks, "\n", were lost`)
	}
	checkGCPAddress(account, "token_uri")
}

// isRSAKey reports whether golang.org/x/oauth2 can sign with the text.
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

// useToken checks a federation and changes its token file to the one that the operator maintains.
func (g *rewriter) useToken(account *confdoc.Document, text []byte) []byte {
	for _, key := range []string{"audience", "subject_token_type", "token_url"} {
		requireGCP(account, key)
	}
	checkGCPAddress(account, "token_url")
	checkGCPAddress(account, "service_account_impersonation_url")
	if format := account.Text("credential_source", "format", "type"); format != "" && format != "text" {
		account.ReportAt(account.Value("credential_source", "format", "type"), diagnostic.Invalid,
			"credential_source.format.type must be text: the file contains only the token")
	}
	ours := path.Join(g.src.Paths.Tokens, clouds.MintedToken)
	switch file := account.Value("credential_source", "file"); {
	case file == nil || file.Text == "":
		account.ReportAt(account.Value("credential_source"), diagnostic.Invalid,
			"credential_source has no file: the operator delivers the token only as a file")
	case file.Text != ours:
		account.ReportAt(file, diagnostic.Adapted,
			fmt.Sprintf("credential_source.file is set to %q, where the operator keeps a fresh token", ours))
		file.Text = ours
		return account.Encode()
	}
	return text
}

func requireGCP(account *confdoc.Document, key string) {
	if value := account.Value(key); value == nil || value.Kind == confdoc.TextNode && value.Text == "" {
		account.ReportAt(value, diagnostic.Invalid,
			key+" is missing: create the file again with the tool that created it")
	}
}

func checkGCPAddress(account *confdoc.Document, key string) {
	if address := account.Value(key); address != nil && address.Kind == confdoc.TextNode && address.Text != "" &&
		!clouds.IsEndpoint(address.Text) {
		account.ReportAt(address, diagnostic.Invalid, key+" is not a URL of the form https://host/path")
	}
}
