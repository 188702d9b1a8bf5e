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
func TestEveryPermissionOnGoogleCloudHasACaller(t *testing.T) {
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(compute\\.\\S+)` \\| `.+` \\| .+ \\| .+ \\|$").
		FindAllStringSubmatch(string(read(t, "docs/gcp-permissions.md")), -1) {
		documented = append(documented, row[1])
	}
	for _, m := range payload(t) {
		request, ok := m.object.(*credentialsRequest)
		if !ok || !strings.Contains(m.file, "_08_gcp") {
			continue
		}
		var spec struct {
			Permissions []string `json:"permissions"`
		}
		require.NoError(t, yaml.Unmarshal(request.Spec.ProviderSpec.Raw, &spec))
		require.Equal(t, spec.Permissions, documented)
		return
	}
	require.Fail(t, "there is no CredentialsRequest for Google Cloud")
}
