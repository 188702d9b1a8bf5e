package azure

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The keys of the credentials Secret that are read. The cluster's root Secret has further keys.
const (
	clientIDKey     = "azure_client_id"
	clientSecretKey = "azure_client_secret"
	tokenFileKey    = "azure_federated_token_file"
	tenantIDKey     = "azure_tenant_id"
)

const loginReason = "the cloud-controller-manager logs in with the credentials of its own Secret"

// useCredentials makes the provider log in with the Secret, or reports why it could not log in.
func (a *rewriter) useCredentials() {
	if a.src.CredentialsUnknown {
		return
	}
	login := clouds.SecretTexts(a.src.Credentials, &a.diagnostics, clientIDKey, clientSecretKey, tokenFileKey,
		tenantIDKey)
	secret, tokenFile := login[clientSecretKey], login[tokenFileKey]
	switch {
	case secret != "" && tokenFile != "":
		a.noLogin(fmt.Sprintf("both %s and %s are set, but only one of them can be used: remove the other",
			clientSecretKey, tokenFileKey))
	case tokenFile != "" && a.stack:
		a.noLogin(tokenFileKey + " is set, but an Azure Stack Hub has no workload identity: write " + clientSecretKey +
			" instead")
	case !a.config.Readable:
		return
	case secret != "" || tokenFile != "":
		a.merge(login)
	case !a.hasOwnLogin():
		a.noLogin(a.missingLogin(login))
	}
	a.checkTenant()
}

// tenantID matches the tenant IDs that the SDK accepts.
var tenantID = regexp.MustCompile(`^[A-Za-z0-9.-]*$`)

// checkTenant reports a tenant for which the provider exits.
func (a *rewriter) checkTenant() {
	d := a.config
	tenant, network := d.Text("tenantId"), d.Text("networkResourceTenantID")
	if !tenantID.MatchString(tenant) {
		a.invalid("tenantId", `tenantId contains characters other than letters, digits, "." and "-": `+
			`write the ID of the tenant`)
	}
	managed := d.IsTrue("useManagedIdentityExtension")
	if tenant == "" && !managed && d.Text("aadClientId") != "" && len(a.src.Credentials) == 0 {
		a.invalid("tenantId", "there is no tenantId, which a login with aadClientId needs: write the ID of the tenant")
	}
	if managed && network != "" && !strings.EqualFold(network, tenant) && d.Value("auxiliaryTokenProvider") == nil {
		a.invalid("networkResourceTenantID",
			"networkResourceTenantID differs from tenantId, so a managed identity needs auxiliaryTokenProvider: "+
				"add it, or remove networkResourceTenantID")
	}
}

func (a *rewriter) noLogin(message string) {
	a.diagnostics.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Kind: diagnostic.Invalid, Message: message})
}

// hasOwnLogin reports whether the configuration contains a login that needs no Secret.
func (a *rewriter) hasOwnLogin() bool {
	d := a.config
	if d.IsTrue("useManagedIdentityExtension") {
		return d.Text("userAssignedIdentityID") != ""
	}
	return d.Text("aadClientId") != "" && d.Text("aadClientSecret") != "" &&
		!d.IsTrue("useFederatedWorkloadIdentityExtension")
}

func (a *rewriter) missingLogin(login map[string]string) string {
	message := "there are no credentials in the credentials Secret"
	switch {
	case a.src.Credentials == nil:
		message = clouds.NoCredentialsSecret
	case login[clientIDKey] != "":
		message = "there is " + clientIDKey + " in the credentials Secret, but nothing to log in with"
	}
	message += "; it needs " + clientIDKey + " and " + clientSecretKey
	if !a.stack {
		message += ", or " + tokenFileKey + " for workload identity"
	}
	if a.config.IsTrue("useManagedIdentityExtension") {
		message += ". To use a managed identity instead, name it in userAssignedIdentityID of the cloud configuration"
	}
	return message
}

// merge writes the Secret's login into the configuration.
func (a *rewriter) merge(login map[string]string) {
	d := a.config
	if id := login[clientIDKey]; id != "" {
		d.Put(confdoc.NewText(id), diagnostic.Rewritten, loginReason, "aadClientId")
	} else if d.Text("aadClientId") == "" {
		a.noLogin("there is no " + clientIDKey + ": write the ID of the application that the credentials belong to")
	}
	federated := login[tokenFileKey] != ""
	switch tenant := login[tenantIDKey]; {
	case tenant != "" && (federated || d.Text("tenantId") == ""):
		d.Put(confdoc.NewText(tenant), diagnostic.Rewritten, loginReason, "tenantId")
	case tenant != "" && !strings.EqualFold(d.Text("tenantId"), tenant):
		d.ReportAt(d.Value("tenantId"), diagnostic.Redirected, "tenantId differs from "+
			tenantIDKey+" of the credentials Secret: "+
			"the cloud-controller-manager would log in to another tenant; remove it, or write the same one")
	case d.Text("tenantId") == "":
		a.noLogin("there is no " + tenantIDKey +
			", and no tenantId in the cloud configuration: write the ID of the tenant")
	}
	// The installer writes true, so this change is not worth a warning.
	if d.IsTrue("useManagedIdentityExtension") {
		d.Put(confdoc.NewBool(false), diagnostic.Adapted,
			"a managed identity would take precedence over the "+
				"credentials of the Secret",
			"useManagedIdentityExtension")
	}
	if federated {
		a.useToken()
		return
	}
	d.Put(confdoc.NewText(login[clientSecretKey]), diagnostic.Rewritten, loginReason, "aadClientSecret")
	if d.IsTrue("useFederatedWorkloadIdentityExtension") {
		d.Put(confdoc.NewBool(false), diagnostic.Rewritten,
			"workload identity would take precedence over the client "+
				"secret of the Secret",
			"useFederatedWorkloadIdentityExtension")
	}
}

// useToken makes the provider log in with a token of its ServiceAccount.
func (a *rewriter) useToken() {
	file := path.Join(a.src.Paths.Tokens, clouds.MintedToken)
	a.config.Put(confdoc.NewText(file), diagnostic.Rewritten,
		"the operator keeps a fresh token of the cloud-controller-manager's "+
			"ServiceAccount there",
		"aadFederatedTokenFile")
	a.config.Put(confdoc.NewBool(true), diagnostic.Rewritten,
		"the credentials Secret has a federated token instead "+
			"of a client secret",
		"useFederatedWorkloadIdentityExtension")
	a.tokens = []clouds.Token{{Key: clouds.MintedToken, Audience: clouds.OpenshiftAudience}}
}
