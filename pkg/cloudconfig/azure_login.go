package cloudconfig

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The keys of the credentials Secret. The root Secret of the cluster has more of them.
const (
	azureClientIDKey     = "azure_client_id"
	azureClientSecretKey = "azure_client_secret"
	azureTokenFileKey    = "azure_federated_token_file"
	azureTenantIDKey     = "azure_tenant_id"
)

const (
	// tokenKey is the file that a federated token is kept in.
	tokenKey = "token"
	// openshiftAudience is whom the clouds' trust in a cluster of OpenShift expects a token to be for.
	openshiftAudience = "openshift"
)

const noCredentialsSecret = "there is no credentials Secret: see whether the cloud-credential-operator makes it, or create it where credentials are managed by hand"

const azureLoginReason = "the cloud-controller-manager logs in with the credentials of its own Secret"

// secretTexts are the values of a credentials Secret that are used, without the blanks and line breaks around them, which
// no credential has and every login would fail with. Keys that are close to one of the names are reported.
func secretTexts(credentials map[string][]byte, fs *findings, names ...string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		report := func(kind diagnostic.Kind, message string) {
			fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: kind, Message: message})
		}
		if !slices.Contains(names, key) {
			if meant := nearest(key, names); meant != "" && len(credentials[meant]) == 0 {
				report(diagnostic.Typo, fmt.Sprintf("unknown key; did you mean %q?", meant))
			}
			continue
		}
		text := string(credentials[key])
		if out[key] = strings.TrimSpace(text); out[key] != text && out[key] != "" {
			report(diagnostic.Rewritten, "the blanks or line breaks around the value are left out")
		}
		if strings.ContainsFunc(out[key], func(r rune) bool { return r == 0xfffd || r < ' ' || !yamlPrintable(r) }) {
			report(diagnostic.Invalid, "the value has a line break or another character in it that is no text: write the credential again, without a line break")
		}
		if _, _, name, found := Placeholders([]byte(out[key])); found {
			report(diagnostic.Invalid, placeholderMessage(name)+": rotate the credential or change the value")
		}
	}
	return out
}

// useCredentials makes the provider log in with the Secret, or finds that it could not log in at all.
func (a *azure) useCredentials() {
	if a.src.CredentialsUnknown {
		return
	}
	login := secretTexts(a.src.Credentials, &a.findings, azureClientIDKey, azureClientSecretKey, azureTokenFileKey, azureTenantIDKey)
	secret, tokenFile := login[azureClientSecretKey], login[azureTokenFileKey]
	switch {
	case secret != "" && tokenFile != "":
		a.noLogin(fmt.Sprintf("there are %s and %s, but only one of them can count: remove the other", azureClientSecretKey, azureTokenFileKey))
	case tokenFile != "" && a.stack:
		a.noLogin(azureTokenFileKey + " is set, but an Azure Stack Hub has no workload identity: write " + azureClientSecretKey + " instead")
	case !a.config.readable:
		return
	case secret != "" || tokenFile != "":
		a.merge(login)
	case !a.hasOwnLogin():
		a.noLogin(a.missingLogin(login))
	}
	a.checkTenant()
}

// tenantID is what the SDK takes for one.
var tenantID = regexp.MustCompile(`^[A-Za-z0-9.-]*$`)

// checkTenant finds a tenant with which the provider exits.
func (a *azure) checkTenant() {
	d := a.config
	tenant, network := d.text("tenantId"), d.text("networkResourceTenantID")
	if !tenantID.MatchString(tenant) {
		a.invalid("tenantId", `tenantId has other characters in it than letters, digits, "." and "-": write the ID of the tenant`)
	}
	managed := d.isTrue("useManagedIdentityExtension")
	if tenant == "" && !managed && d.text("aadClientId") != "" && len(a.src.Credentials) == 0 {
		a.invalid("tenantId", "there is no tenantId, which a login with aadClientId needs: write the ID of the tenant")
	}
	if managed && network != "" && !strings.EqualFold(network, tenant) && d.value("auxiliaryTokenProvider") == nil {
		a.invalid("networkResourceTenantID", "networkResourceTenantID is not tenantId, which a managed identity needs auxiliaryTokenProvider for: add it, or remove networkResourceTenantID")
	}
}

func (a *azure) noLogin(message string) {
	a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Kind: diagnostic.Invalid, Message: message})
}

// hasOwnLogin tells whether the configuration names a login that needs no Secret.
func (a *azure) hasOwnLogin() bool {
	d := a.config
	if d.isTrue("useManagedIdentityExtension") {
		return d.text("userAssignedIdentityID") != ""
	}
	return d.text("aadClientId") != "" && d.text("aadClientSecret") != "" && !d.isTrue("useFederatedWorkloadIdentityExtension")
}

func (a *azure) missingLogin(login map[string]string) string {
	message := "there are no credentials in the credentials Secret"
	switch {
	case a.src.Credentials == nil:
		message = noCredentialsSecret
	case login[azureClientIDKey] != "":
		message = "there is " + azureClientIDKey + " in the credentials Secret, but nothing to log in with"
	}
	message += "; it needs " + azureClientIDKey + " and " + azureClientSecretKey
	if !a.stack {
		message += ", or " + azureTokenFileKey + " for workload identity"
	}
	if a.config.isTrue("useManagedIdentityExtension") {
		message += ". To use a managed identity instead, name it in userAssignedIdentityID of the cloud configuration"
	}
	return message
}

// merge writes the Secret's login into the configuration.
func (a *azure) merge(login map[string]string) {
	d := a.config
	if id := login[azureClientIDKey]; id != "" {
		d.put(newText(id), diagnostic.Rewritten, azureLoginReason, "aadClientId")
	} else if d.text("aadClientId") == "" {
		a.noLogin("there is no " + azureClientIDKey + ": write the ID of the application that the credentials belong to")
	}
	federated := login[azureTokenFileKey] != ""
	switch tenant := login[azureTenantIDKey]; {
	case tenant != "" && (federated || d.text("tenantId") == ""):
		d.put(newText(tenant), diagnostic.Rewritten, azureLoginReason, "tenantId")
	case tenant != "" && !strings.EqualFold(d.text("tenantId"), tenant):
		d.reportAt(d.value("tenantId"), diagnostic.Redirected, "tenantId differs from "+azureTenantIDKey+" of the credentials Secret: "+
			"the cloud-controller-manager would log in to another tenant; remove it, or write the same one")
	case d.text("tenantId") == "":
		a.noLogin("there is no " + azureTenantIDKey + ", and no tenantId in the cloud configuration: write the ID of the tenant")
	}
	// The installer writes true, so this is nothing that the user has to know.
	if d.isTrue("useManagedIdentityExtension") {
		d.put(newBool(false), diagnostic.Adapted, "a managed identity would win over the credentials of the Secret", "useManagedIdentityExtension")
	}
	if federated {
		a.useToken()
		return
	}
	d.put(newText(login[azureClientSecretKey]), diagnostic.Rewritten, azureLoginReason, "aadClientSecret")
	if d.isTrue("useFederatedWorkloadIdentityExtension") {
		d.put(newBool(false), diagnostic.Rewritten, "workload identity would win over the client secret of the Secret", "useFederatedWorkloadIdentityExtension")
	}
}

// useToken makes the provider log in with a token of its ServiceAccount.
func (a *azure) useToken() {
	file := path.Join(a.src.Paths.Tokens, tokenKey)
	a.config.put(newText(file), diagnostic.Rewritten, "the operator keeps a fresh token of the cloud-controller-manager's ServiceAccount there", "aadFederatedTokenFile")
	a.config.put(newBool(true), diagnostic.Rewritten, "the credentials Secret has a federated token instead of a client secret", "useFederatedWorkloadIdentityExtension")
	a.tokens = []Token{{Key: tokenKey, Audience: openshiftAudience}}
}
