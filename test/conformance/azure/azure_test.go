// Package azure checks pkg/clouds against the code of the Azure provider. It has tests only.
package azure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/cloud-provider-azure/pkg/azclient"
	"sigs.k8s.io/cloud-provider-azure/pkg/consts"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider/config"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	azurecloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const examples = "../../../pkg/operand/testdata"

func paths(t testing.TB) clouds.Paths {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("a.b.c"), 0o600))
	return clouds.Paths{Config: dir, Credentials: dir, Tokens: dir}
}

// secrets are the credentials Secrets that there are.
var secrets = map[string]map[string][]byte{
	"secret": {"azure_client_id": []byte("id"), "azure_client_secret": []byte(`s"\e#c`), "azure_tenant_id": []byte("11111111-2222-3333-4444-555555555555")},
	"token":  {"azure_client_id": []byte("id"), "azure_federated_token_file": []byte("/var/run/secrets/openshift/serviceaccount/token"), "azure_tenant_id": []byte("tenant-of-the-secret")},
}

func read(t testing.TB, file ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{examples}, file...)...))
	require.NoError(t, err)
	return data
}

func parse(t testing.TB, text []byte) *config.Config {
	t.Helper()
	cfg, err := config.ParseConfig(bytes.NewReader(text))
	require.NoError(t, err, "the provider refuses:\n%s", text)
	return cfg
}

func TestTheProviderReadsTheRewriteOfTheExample(t *testing.T) {
	text := read(t, "azure", "cloud.conf")
	want := parse(t, text)
	want.VMType = consts.VMTypeStandard
	want.ClusterServiceLoadBalancerHealthProbeMode = consts.ClusterServiceLoadBalancerHealthProbeModeShared
	want.UseManagedIdentityExtension = false
	want.AADClientID = "id"
	for name, secret := range secrets {
		t.Run("with a "+name, func(t *testing.T) {
			src := clouds.Source{Config: text, Credentials: secret, Paths: paths(t)}
			src.Cluster.Status.Azure = &configv1.AzurePlatformStatus{CloudName: configv1.AzurePublicCloud}
			result := azurecloud.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Strict))
			want := *want
			if name == "token" {
				want.TenantID = "tenant-of-the-secret"
				want.AADFederatedTokenFile = src.Paths.Tokens + "/token"
				want.UseFederatedWorkloadIdentityExtension = true
				require.Equal(t, []clouds.Token{{Key: "token", Audience: "openshift"}}, result.Tokens)
			} else {
				want.AADClientSecret = `s"\e#c`
			}
			require.Equal(t, &want, parse(t, result.Config))
		})
	}
}

func TestTheProviderReadsTheRewriteOfTheExampleOfAzureStackHub(t *testing.T) {
	text := read(t, "azurestack", "cloud.conf")
	src := clouds.Source{
		Config: text, Keys: map[string][]byte{"endpoints": read(t, "azurestack", "endpoints")}, Credentials: secrets["secret"], Paths: paths(t),
	}
	result := azurecloud.RewriteStack(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	got := parse(t, result.Config)
	want := parse(t, text)
	want.VMType = consts.VMTypeStandard
	want.AADClientID, want.AADClientSecret = "id", `s"\e#c`
	require.Equal(t, want, got)
	require.True(t, got.IsStackCloud())

	file := filepath.Join(src.Paths.Config, "endpoints")
	require.NoError(t, os.WriteFile(file, result.Files["endpoints"], 0o600))
	t.Setenv(azclient.EnvironmentFilepathName, file)
	got.ResourceManagerEndpoint = "" // it would be asked
	cloud, env, err := azclient.GetAzureCloudConfigAndEnvConfig(&got.ARMClientConfig)
	require.NoError(t, err)
	require.Equal(t, "https://management.local.azurestack.example.com/", env.ResourceManagerEndpoint)
	require.Equal(t, "local.azurestack.example.com", env.StorageEndpointSuffix)
	require.Equal(t, "https://login.microsoftonline.com/", cloud.ActiveDirectoryAuthorityHost)
}

// login tells how the provider would log in.
func login(t testing.TB, cfg *config.Config) any {
	t.Helper()
	provider, err := azclient.NewAuthProvider(&cfg.ARMClientConfig, &cfg.AzureAuthConfig)
	require.NoError(t, err)
	return provider.GetAzIdentity()
}

func TestTheProviderLogsInAsTheSecretSays(t *testing.T) {
	installer := string(read(t, "azure", "cloud.conf"))
	own := strings.Replace(installer, `"userAssignedIdentityID": ""`, `"userAssignedIdentityID": "01234567-89ab-cdef-0123-456789abcdef"`, 1)
	workload := strings.Replace(installer, `"useManagedIdentityExtension": true`, `"useFederatedWorkloadIdentityExtension": true, "aadFederatedTokenFile": "/x"`, 1)
	for name, c := range map[string]struct {
		text   string
		secret string
		want   any
	}{
		"a client secret":                        {installer, "secret", &azidentity.ClientSecretCredential{}},
		"a token":                                {installer, "token", &azidentity.WorkloadIdentityCredential{}},
		"a client secret, though it has a token": {workload, "secret", &azidentity.ClientSecretCredential{}},
		"a token, though it has an identity":     {own, "token", &azidentity.WorkloadIdentityCredential{}},
		"its own identity, without a Secret":     {own, "", &azidentity.ManagedIdentityCredential{}},
	} {
		t.Run(name, func(t *testing.T) {
			result := azurecloud.Rewrite(clouds.Source{Config: []byte(c.text), Credentials: secrets[c.secret], Paths: paths(t)})
			require.Empty(t, result.Errors(diagnostic.Strict))
			require.IsType(t, c.want, login(t, parse(t, result.Config)))
		})
	}
}

// What the merging is for: the installer's managed identity wins over a client secret.
func TestTheProviderPrefersTheInstallersManagedIdentity(t *testing.T) {
	cfg := parse(t, read(t, "azure", "cloud.conf"))
	cfg.AADClientID, cfg.AADClientSecret = "id", "secret"
	require.IsType(t, &azidentity.ManagedIdentityCredential{}, login(t, cfg))
}

// theirKeys are the keys of the provider's JSON with their types. anyKeys are of no type that a file has.
// A star is for a pointer, which distinguishes a zero value from none.
func theirKeys(path string, of reflect.Type) []string {
	pointer := ""
	for of.Kind() == reflect.Pointer {
		of, pointer = of.Elem(), "*"
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "text", reflect.Bool: "bool", reflect.Int: "int", reflect.Int32: "int32", reflect.Float32: "float", reflect.Float64: "float",
	}
	switch of.Kind() {
	case reflect.Slice:
		return theirKeys(path+"[]", of.Elem())
	case reflect.Map:
		return theirKeys(path+"{}", of.Elem())
	case reflect.Struct:
	default:
		return []string{path + ": " + kinds[of.Kind()] + pointer}
	}
	var keys []string
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() || field.Anonymous && name == "" {
			continue // what is embedded is visible itself
		}
		if name == "" {
			name = field.Name
		}
		inner := strings.TrimPrefix(path+"."+name, ".")
		if slices.Contains(anyKeys, inner) {
			keys = append(keys, inner+": any")
			continue
		}
		keys = append(keys, theirKeys(inner, field.Type)...)
	}
	return keys
}

var anyKeys = []string{"multipleStandardLoadBalancerConfigurations[].activeServices", "multipleStandardLoadBalancerConfigurations[].activeNodes"}

func TestWeKnowTheKeysOfTheProviderAndNoOthers(t *testing.T) {
	data, err := os.ReadFile("../../../pkg/clouds/azure/testdata/azure-keys.golden")
	require.NoError(t, err)
	ours := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(data)), "\n"), func(line string) bool { return strings.HasSuffix(line, ": legacy") })
	theirs := theirKeys("", reflect.TypeFor[config.Config]())
	slices.Sort(ours)
	slices.Sort(theirs)
	require.Equal(t, slices.Compact(theirs), ours)
}

// bareForText is what encoding/json says of a number or a truth value where a text is wanted.
var bareForText = regexp.MustCompile(`json: cannot unmarshal (number|bool) into Go struct field [A-Za-z.]+ of type string$`)

// barely reports whether the provider refuses a text for a bare value only. Its library makes a text of one in some fields, but not
// in those of embedded structs; we write a text for all of them.
func barely(text []byte) bool {
	_, err := config.ParseConfig(bytes.NewReader(text))
	return err != nil && bareForText.MatchString(err.Error())
}

// FuzzAzure holds that the provider reads what we accept and what we make of it; that the rewriting changes the meaning as
// documented and in no other way; and that the provider logs in as the Secret says.
func FuzzAzure(f *testing.F) {
	f.Add(string(read(f, "azure", "cloud.conf")), "")
	files, err := filepath.Glob("../../../pkg/clouds/azure/testdata/azure/*.conf")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text), []string{"", "secret", "token"}[i%3])
	}
	at := paths(f)
	f.Fuzz(func(t *testing.T, text, secret string) {
		src := clouds.Source{Config: []byte(text), Credentials: secrets[secret], CredentialsUnknown: secrets[secret] == nil, Paths: at}
		result := azurecloud.Rewrite(src)
		if len(result.Errors(diagnostic.Lenient)) > 0 {
			return
		}
		got := parse(t, result.Config)
		if barely(src.Config) {
			return
		}
		want := parse(t, src.Config)
		if want.VMType == "" {
			want.VMType = consts.VMTypeStandard
		}
		if want.ClusterServiceLoadBalancerHealthProbeMode == "" {
			want.ClusterServiceLoadBalancerHealthProbeMode = consts.ClusterServiceLoadBalancerHealthProbeModeShared
		}
		if !src.CredentialsUnknown {
			want.UseManagedIdentityExtension = false
			want.AADClientID = "id"
			switch secret {
			case "token":
				want.TenantID, want.AADFederatedTokenFile = "tenant-of-the-secret", at.Tokens+"/token"
				want.UseFederatedWorkloadIdentityExtension = true
			default:
				want.AADClientSecret, want.UseFederatedWorkloadIdentityExtension = `s"\e#c`, false
				if want.TenantID == "" {
					want.TenantID = string(secrets["secret"]["azure_tenant_id"])
				}
			}
		}
		for _, c := range []*config.Config{want, got} {
			if len(c.Entries) == 0 {
				c.Entries = nil // one that is empty means no more than none
			}
		}
		require.Equal(t, want, got, "rewritten to:\n%s", result.Config)
		if src.CredentialsUnknown || got.ResourceManagerEndpoint != "" { // that would be asked
			return
		}
		kind := map[string]string{"secret": "*azidentity.ClientSecretCredential", "token": "*azidentity.WorkloadIdentityCredential"}[secret]
		require.Equal(t, kind, fmt.Sprintf("%T", login(t, got)))
	})
}
