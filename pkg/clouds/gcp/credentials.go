package gcp

import (
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"regexp"
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
// interactive use, or depend on another login. Messages may show these types, but no other text from the Secret.
var otherTypes = []string{"authorized_user", "external_account_authorized_user", "gdch_service_account",
	"impersonated_service_account"}

// gcpCredentials reads a credentials file as Google's library does (credentialsFile in google.go of
// golang.org/x/oauth2/google, and cloud.google.com/go/auth). It knows the keys of service accounts and federations.
var gcpCredentials = confdoc.Reader{
	Format: confdoc.JSON, Input: diagnostic.Credentials, DataKey: credentialsFile,
	Empty: "restore the file that Google or ccoctl made",
	Fields: slices.Concat(
		[]confdoc.Field{
			{Name: "type", Secret: true,
				Required: `write "type": "service_account" for a key or "external_account" for workload identity`},
			{Name: "credential_source", Is: confdoc.Object, Fields: slices.Concat(
				confdoc.Secrets("file", "url", "environment_id", "region_url", "regional_cred_verification_url",
					"cred_verification_url", "imdsv2_session_token_url"),
				confdoc.FieldsOf(confdoc.Any, "headers", "executable", "certificate"),
				[]confdoc.Field{
					{Name: "format", Is: confdoc.Object, Fields: confdoc.Secrets("type", "subject_token_field_name")},
				},
			)},
			{Name: "service_account_impersonation", Is: confdoc.Object,
				Fields: []confdoc.Field{{Name: "token_lifetime_seconds", Is: confdoc.Int}}},
			{Name: "delegates", Is: confdoc.Any}, {Name: "source_credentials", Is: confdoc.Any},
		},
		confdoc.Secrets("private_key", "private_key_id", "client_secret", "refresh_token", "project_id", "client_email",
			"client_id", "auth_uri", "token_uri", "auth_provider_x509_cert_url", "client_x509_cert_url",
			"universe_domain", "quota_project_id", "audience", "subject_token_type", "token_url", "token_info_url",
			"service_account_impersonation_url", "workforce_pool_user_project", "account"),
	),
}

func (g *rewriter) credentials() (map[string][]byte, []clouds.Token) {
	text := g.SecretKey(credentialsFile)
	if text == nil {
		return nil, nil
	}
	a := account{gcpCredentials.Read(text, g.Findings)}
	g.universe = cmp.Or(strings.ToLower(a.Text("universe_domain")), "googleapis.com")
	switch kind := a.Text("type"); {
	case kind == keyType:
		a.checkKey()
	case kind == federationType:
		return map[string][]byte{credentialsFile: g.useToken(a, text)},
			[]clouds.Token{{Key: clouds.MintedToken, Audience: clouds.OpenshiftAudience}}
	case kind != "":
		if !slices.Contains(otherTypes, kind) {
			kind = "unknown"
		}
		a.Rejectf(a.Value("type"), "type is %s, but must be %s (a key) or %s (workload identity)",
			kind, keyType, federationType)
	}
	return map[string][]byte{credentialsFile: text}, nil
}

type account struct{ *confdoc.Document }

func (a account) checkKey() {
	a.require("client_email", "private_key")
	if key := a.Value("private_key"); isText(key) && !isRSAKey(key.Text) {
		a.Rejectf(key, `private_key is not an RSA key in PEM format: check whether its line breaks, "\n", were lost`)
	}
	a.checkAddresses("token_uri")
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

// audiencePattern matches the names of providers of workload and workforce pools, in every universe
// (https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token).
var audiencePattern = regexp.MustCompile(`^//iam\.[^/]+/(projects/\d+/)?locations/[^/]+/` +
	`(workloadIdentityPools|workforcePools)/[^/]+/providers/[^/]+$`)

// useToken checks a federation, and returns it with the path of the token that the operator maintains.
func (g *rewriter) useToken(a account, text []byte) []byte {
	a.require("audience", "subject_token_type", "token_url")
	if audience := a.Value("audience"); isText(audience) && !audiencePattern.MatchString(audience.Text) {
		a.Reportf(audience, diagnostic.Doubtful, "audience is not the name of an identity provider, with the number of its "+
			"project: write //iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME")
	}
	a.checkAddresses("token_url", "service_account_impersonation_url")
	if format := a.Value("credential_source", "format", "type"); format.String() != "" && format.Text != "text" {
		a.Rejectf(format, "credential_source.format.type must be text: the file contains only the token")
	}
	minted := g.TokenFile()
	switch file := a.Value("credential_source", "file"); {
	case file.String() == "":
		a.Rejectf(a.Value("credential_source"),
			"credential_source has no file: the operator delivers the token only as a file")
	case file.Text != minted:
		a.Reportf(file, diagnostic.Adapted,
			"credential_source.file is set to %q, where the operator keeps a fresh token", minted)
		file.Text = minted
		return a.Encode()
	}
	return text
}

func (a account) require(keys ...string) {
	for _, key := range keys {
		if value := a.Value(key); value.IsEmpty() {
			a.Rejectf(value, "%s is missing: create the file again with the tool that created it", key)
		}
	}
}

func (a account) checkAddresses(keys ...string) {
	for _, key := range keys {
		if address := a.Value(key); isText(address) && !clouds.IsEndpoint(address.Text) {
			a.Rejectf(address, "%s is not a URL of the form https://host/path", key)
		}
	}
}

func isText(n *confdoc.Node) bool { return n.String() != "" && n.Kind == confdoc.TextNode }
