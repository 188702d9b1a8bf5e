package azure

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The keys of the credentials Secret that are read. The cluster's root Secret has more keys.
const (
	clientIDKey     = "azure_client_id"
	clientSecretKey = "azure_client_secret"
	tokenFileKey    = "azure_federated_token_file"
	tenantIDKey     = "azure_tenant_id"
	subscriptionKey = "azure_subscription_id"
	regionKey       = "azure_region"
)

const loginReason = "the cloud-controller-manager logs in with the credentials of its own Secret"

// useCredentials makes the provider log in with the Secret, or reports why it cannot.
func (a *rewriter) useCredentials() {
	if a.CredentialsUnknown {
		return
	}
	login := a.SecretTexts(clientIDKey, clientSecretKey, tokenFileKey, tenantIDKey)
	secret, tokenFile := login[clientSecretKey], login[tokenFileKey]
	switch {
	case secret != "" && tokenFile != "":
		a.RejectCredentials("", "both %s and %s are set, but only one of them can be used: remove the other",
			clientSecretKey, tokenFileKey)
	case tokenFile != "" && a.stack:
		a.RejectCredentials("", "%s is set, but an Azure Stack Hub has no workload identity: write %s instead",
			tokenFileKey, clientSecretKey)
	case !a.Readable:
		return
	case secret != "" || tokenFile != "":
		a.merge(login)
		a.checkClientID(login[clientIDKey])
		if isGUID(secret) {
			a.ReportCredentials(clientSecretKey, diagnostic.Doubtful, "it looks like the ID of a client secret: "+
				"write the value of the secret, which Azure shows only when it creates it")
		}
	case !a.hasOwnLogin():
		a.RejectCredentials("", "%s", a.missingLogin(login))
	}
	a.checkTenant()
	a.compareWithSecret("subscriptionId", subscriptionKey)
	a.compareWithSecret("location", regionKey)
}

// compareWithSecret reports a value that differs from the Secret's. The provider uses the configuration's value, but it
// is not known which of the two is right.
func (a *rewriter) compareWithSecret(key, secretKey string) {
	named, secret := a.Text(key), a.SecretTexts(secretKey)[secretKey]
	withoutSpaces := strings.NewReplacer(" ", "").Replace // "West Europe"
	if named == "" || secret == "" || strings.EqualFold(withoutSpaces(named), withoutSpaces(secret)) {
		return
	}
	a.Reportf(a.Value(key), diagnostic.Ambiguous, "%s differs from %s of the credentials Secret: write the same in both",
		key, secretKey)
}

// tenantID matches the tenant IDs that the SDK accepts.
var tenantID = regexp.MustCompile(`^[A-Za-z0-9.-]*$`)

func (a *rewriter) checkTenant() {
	tenant, network := a.Text("tenantId"), a.Text("networkResourceTenantID")
	isManaged := a.IsTrue("useManagedIdentityExtension")
	if tenant == "" && !isManaged && a.Text("aadClientId") != "" && len(a.Credentials) == 0 {
		a.Rejectf(a.Value("tenantId"),
			"there is no tenantId, which a login with aadClientId needs: write the ID of the tenant")
	}
	if isManaged && network != "" && !strings.EqualFold(network, tenant) && a.Value("auxiliaryTokenProvider") == nil {
		a.noNetworkLogin = true
		a.Rejectf(a.Value("networkResourceTenantID"), "networkResourceTenantID differs from tenantId, "+
			"so a managed identity needs auxiliaryTokenProvider: add it, or remove networkResourceTenantID")
	}
}

// isTenant reports whether the text can name a tenant: by its ID, by a domain, or by a word for a login without one
// (https://learn.microsoft.com/entra/identity-platform/v2-protocols) or for one of Azure Stack Hub.
func isTenant(text string) bool {
	return strings.Contains(text, ".") || confdoc.IsUUID(text) ||
		slices.Contains([]string{"", "adfs", "common", "consumers", "organizations"}, strings.ToLower(text))
}

// checkTenantID reports what is no ID of a tenant, and perhaps its name. It may be that of the credentials Secret.
func (a *rewriter) checkTenantID() {
	if id := a.Value("subscriptionId"); id.String() != "" && strings.EqualFold(id.Text, a.Text("tenantId")) {
		a.Reportf(id, diagnostic.Typo, "subscriptionId is the value of tenantId: write the ID of the subscription")
	}
	const action = "such as 01234567-89ab-cdef-0123-456789abcdef, nor one of its domains: write the ID"
	switch tenant := a.Value("tenantId"); {
	case !tenantID.MatchString(tenant.String()):
		a.Rejectf(tenant, `tenantId contains characters other than letters, digits, "." and "-": `+
			`write the ID of the tenant`)
	case isTenant(tenant.String()):
	case tenant.Line > 0:
		a.Reportf(tenant, diagnostic.Doubtful, "tenantId is neither the ID of a tenant, %s", action)
	default:
		a.ReportCredentials(tenantIDKey, diagnostic.Doubtful, "it is neither the ID of a tenant, %s", action)
	}
}

// checkNetworkTenant reports a network in another tenant: the owner of that tenant sees the logins, and the provider
// may change load balancers there.
func (a *rewriter) checkNetworkTenant() {
	tenant, network := a.Text("tenantId"), a.Text("networkResourceTenantID")
	if tenant == "" || network == "" || strings.EqualFold(network, tenant) || a.noNetworkLogin {
		return
	}
	a.Reportf(a.Value("networkResourceTenantID"), diagnostic.Insecure, "networkResourceTenantID differs from tenantId: "+
		"the cloud-controller-manager logs in to that tenant too, with the same client secret or identity; "+
		"remove it unless the network belongs to that tenant")
}

func (a *rewriter) hasOwnLogin() bool {
	if a.IsTrue("useManagedIdentityExtension") {
		return a.Text("userAssignedIdentityID") != ""
	}
	return a.Text("aadClientId") != "" && a.Text("aadClientSecret") != "" &&
		!a.IsTrue("useFederatedWorkloadIdentityExtension")
}

func (a *rewriter) missingLogin(login map[string]string) string {
	message := "there are no credentials in the credentials Secret"
	switch {
	case a.Credentials == nil:
		message = clouds.NoCredentialsSecret
	case len(a.Credentials) > 0 && login[clientIDKey] == "":
		message += ", only the keys " + confdoc.JoinFew(slices.Sorted(maps.Keys(a.Credentials)))
	case login[clientIDKey] != "":
		message = "there is " + clientIDKey + " in the credentials Secret, but nothing to log in with"
	}
	message += "; it needs " + clientIDKey + " and " + clientSecretKey
	if !a.stack {
		message += ", or " + tokenFileKey + " for workload identity"
	}
	if a.IsTrue("useManagedIdentityExtension") {
		message += ". To use a managed identity instead, name it in userAssignedIdentityID of the cloud configuration"
	}
	return message
}

func (a *rewriter) merge(login map[string]string) {
	isFederated := login[tokenFileKey] != ""
	if id := login[clientIDKey]; id != "" {
		a.Put(confdoc.NewText(id), diagnostic.Rewritten, loginReason, "aadClientId")
	} else if a.Text("aadClientId") == "" {
		a.RejectCredentials("",
			"there is no %s: write the ID of the application that the credentials belong to", clientIDKey)
	}
	switch tenant, named := login[tenantIDKey], a.Value("tenantId"); {
	case tenant != "" && (isFederated || named.String() == ""):
		a.Put(confdoc.NewText(tenant), diagnostic.Rewritten, loginReason, "tenantId")
	case tenant != "" && !strings.EqualFold(named.Text, tenant):
		a.Reportf(named, diagnostic.Redirected, "tenantId differs from %s of the credentials Secret: "+
			"the cloud-controller-manager would log in to another tenant; remove it, or write the same one", tenantIDKey)
	case named.String() == "":
		a.RejectCredentials("",
			"there is no %s, and no tenantId in the cloud configuration: write the ID of the tenant", tenantIDKey)
	}
	// The installer sets it to true, so the change deserves no warning.
	a.unset("useManagedIdentityExtension", diagnostic.Adapted,
		"a managed identity would take precedence over the credentials of the Secret")
	if isFederated {
		a.useToken()
		return
	}
	reason := loginReason
	if a.Text("aadClientSecret") != "" {
		reason += "; remove the line, as everyone who may read the ConfigMap can read this secret"
	}
	a.Put(confdoc.NewText(login[clientSecretKey]), diagnostic.Rewritten, reason, "aadClientSecret")
	a.unset("useFederatedWorkloadIdentityExtension", diagnostic.Rewritten,
		"workload identity would take precedence over the client secret of the Secret")
}

func (a *rewriter) unset(key string, kind diagnostic.Kind, reason string) {
	if a.IsTrue(key) {
		a.Put(confdoc.NewBool(false), kind, reason, key)
	}
}

func (a *rewriter) useToken() {
	a.Put(confdoc.NewText(a.TokenFile()), diagnostic.Rewritten,
		"the operator keeps a fresh token of the cloud-controller-manager's ServiceAccount there", "aadFederatedTokenFile")
	a.Put(confdoc.NewBool(true), diagnostic.Rewritten,
		"the credentials Secret has a federated token instead of a client secret", "useFederatedWorkloadIdentityExtension")
	a.tokens = []clouds.Token{{Key: clouds.MintedToken, Audience: clouds.OpenshiftAudience}}
}

func (a *rewriter) checkClientID(id string) {
	switch {
	case id == "":
	case !isGUID(id):
		a.ReportCredentials(clientIDKey, diagnostic.Doubtful, "it is not the ID of an application, such as "+
			"01234567-89ab-cdef-0123-456789abcdef: write the client ID, not the name")
	case strings.EqualFold(id, a.Text("tenantId")) || strings.EqualFold(id, a.Text("subscriptionId")):
		a.ReportCredentials(clientIDKey, diagnostic.Typo, "it is the ID of the tenant or subscription: write that of the "+
			"application")
	}
}
