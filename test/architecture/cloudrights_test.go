package architecture

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// One of several load balancers may have a serviceNamespaceSelector. The provider then only reads each Service's
// namespace (pkg/provider/azure_loadbalancer.go of sigs.k8s.io/cloud-provider-azure).
func TestAzuresProviderMayReadANamespace(t *testing.T) {
	for _, r := range roles(t) {
		if r.role != "system:openshift:cloud-controller-manager:azure" {
			continue
		}
		require.True(t, allows(r.rules, "get", "namespaces", "any"), "a Service of such a load balancer is never placed")
		require.False(t, allows(r.rules, "list", "namespaces", ""))
		return
	}
	t.Fatal("there is no role of Azure's provider")
}

// A permission without a caller is more than least privilege, a caller without its permission an outage.
func TestEveryPermissionOnACloudHasACaller(t *testing.T) {
	for cloud, requested := range map[string]func(*credentialsSpec) []string{
		"aws":   func(spec *credentialsSpec) []string { return spec.StatementEntries[0].Action },
		"azure": func(spec *credentialsSpec) []string { return spec.Permissions },
		"gcp":   func(spec *credentialsSpec) []string { return spec.Permissions },
	} {
		t.Run(cloud, func(t *testing.T) {
			var documented []string
			for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`.+`|–) \\| .+ \\| .+ \\|$").
				FindAllStringSubmatch(string(read(t, "docs/"+cloud+"-permissions.md")), -1) {
				documented = append(documented, row[1])
			}
			require.Equal(t, requested(providerSpec(t, "_08_"+cloud)), documented)
		})
	}
}

// credentialsSpec is what the CredentialsRequests for AWS, Azure and Google Cloud request.
type credentialsSpec struct {
	Permissions      []string `json:"permissions"`
	StatementEntries []struct {
		Action []string `json:"action"`
	} `json:"statementEntries"`
}

// providerSpec returns what the CredentialsRequest in a file of the payload requests.
func providerSpec(t *testing.T, file string) *credentialsSpec {
	t.Helper()
	for _, m := range payload(t) {
		if request, ok := m.object.(*credentialsRequest); ok && strings.Contains(m.file, file) {
			spec := &credentialsSpec{}
			require.NoError(t, yaml.Unmarshal(request.Spec.ProviderSpec.Raw, spec))
			return spec
		}
	}
	require.Fail(t, "there is no CredentialsRequest in "+file)
	return nil
}
