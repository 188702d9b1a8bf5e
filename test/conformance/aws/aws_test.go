// Package aws checks pkg/clouds against the code of the AWS provider. It has tests only.
package aws

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"gopkg.in/gcfg.v1"
	cloudprovider "k8s.io/cloud-provider"
	_ "k8s.io/cloud-provider-aws/pkg/providers/v1"
	"k8s.io/cloud-provider-aws/pkg/providers/v1/config"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	awscloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const region = "eu-central-1"

// gate is on in half of the cases.
const gate = "AWSServiceLBNetworkSecurityGroup"

// parse reads a configuration as the provider does when it starts, and refuses what it refuses.
func parse(text []byte) (*config.CloudConfig, error) {
	cfg, err := read(text)
	if err != nil {
		return nil, err
	}
	if err := cfg.ValidateOverrides(); err != nil {
		return nil, err
	}
	if _, err := cfg.IsNLBSecurityGroupModeManaged(); err != nil {
		return nil, err
	}
	if tag, id := cfg.Global.KubernetesClusterTag, cfg.Global.KubernetesClusterID; tag != "" && id != "" && tag != id {
		return nil, fmt.Errorf("tag %q, id %q", tag, id)
	}
	_, err = regexp.Compile(cfg.Global.SupportedTopologyInstanceTypePattern)
	return cfg, err
}

func read(text []byte) (*config.CloudConfig, error) {
	cfg := &config.CloudConfig{}
	return cfg, gcfg.FatalOnly(gcfg.ReadInto(cfg, bytes.NewReader(text)))
}

func source(text string, inCluster bool) clouds.Source {
	src := clouds.Source{Config: []byte(text), Paths: clouds.Paths{Credentials: "/credentials", Tokens: "/tokens"}}
	if inCluster {
		src.Cluster.FeatureGates = []string{gate}
		src.Cluster.Status = configv1.PlatformStatus{Type: configv1.AWSPlatformType, AWS: &configv1.AWSPlatformStatus{
			Region: region, ServiceEndpoints: []configv1.AWSServiceEndpoint{{Name: "kms", URL: "https://kms.example.com"}},
		}}
	}
	return src
}

// shapes are configurations that installers and cluster-config-operator write, or have written, and users have edited.
var shapes = map[string]string{
	"nothing":                   "",
	"what the installer writes": "[Global]\n",
	"what the installer writes for a given VPC": "[Global]\nVPC = vpc-1\nSubnetID = subnet-1\nKubernetesClusterID = demo\nNodeIPFamilies = ipv4\nNodeIPFamilies = ipv6\n",
	"what cluster-config-operator writes": "[Global]\n\n[ServiceOverride \"0\"]\n\tService = ec2\n\tRegion = " + region + "\n\tURL = https://ec2.eu-central-1.amazonaws.com\n" +
		"\tSigningRegion = " + region + "\n\n[ServiceOverride \"1\"]\n\tService = elasticloadbalancing\n\tRegion = " + region +
		"\n\tURL = https://elasticloadbalancing.eu-central-1.amazonaws.com\n\tSigningRegion = " + region + "\n",
	"overrides by their right names": "[global]\nregion = " + region + "\n[ServiceOverride \"a\"]\nservice = \"Elastic Load Balancing v2\"\nregion = \" " + region +
		" \"\nurl = https://vpce-1.elasticloadbalancing.eu-central-1.vpce.amazonaws.com/x?y=z #w\nsigningregion = a\nSigningName = b\nSigningMethod = v4\n" +
		"[ServiceOverride \"b\"]\nservice = elasticloadbalancing\nregion = " + region + "\nurl = https://elasticloadbalancing.eu-central-1.api.aws\nsigningregion = c\n" +
		"[ServiceOverride \"b-v2\"]\nservice = S3\nregion = " + region + "\nurl = https://kms.eu-central-1.amazonaws.com\nsigningregion = c\n",
	"an override in two pieces": "[ServiceOverride \"a\"]\nService = kms\nRegion = " + region + "\n[Global]\nDisableSecurityGroupIngress\n" +
		"[ServiceOverride \"a\"]\nURL = https://kms.example.com/\nSigningRegion = r\n[ServiceOverride]\nService = ec2imds\nRegion = " + region + "\nURL = http://y\nSigningRegion = r\n",
	"values of every type": "[Global]\nDisableSecurityGroupIngress = yes\nElbSecurityGroup = sg-1\nClusterServiceSharedLoadBalancerHealthProbePort = 0x10\n" +
		"ClusterServiceSharedLoadBalancerHealthProbePath = /x\nClusterServiceLoadBalancerHealthProbeMode = ServiceNodePort\nNLBSecurityGroupMode = Managed\n" +
		"SupportedTopologyInstanceTypePattern = \"^p[0-9]+\"\nRoleARN = arn:aws:iam::123456789012:role/ccm\nSourceARN = arn:aws:eks:eu-central-1:123456789012:cluster/a\nRouteTableID = rtb-0c\nZone = eu-central-1a\nKubernetesClusterTag = demo\n",
	"a key of the in-tree provider": "[Global]\nDisableStrictZoneCheck = true\nZone = \"\"\nNodeIPFamilies\nRegion =\n",
}

func TestTheProviderReadsTheRewriteOfWhatInstallersWrite(t *testing.T) {
	for name, text := range shapes {
		for _, inCluster := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in a cluster: %t", name, inCluster), func(t *testing.T) {
				src := source(text, inCluster)
				result := awscloud.Rewrite(src)
				require.Empty(t, result.Errors(diagnostic.Strict))
				before, err := parse(src.Config)
				require.NoError(t, err)
				after, err := parse(result.Config)
				require.NoError(t, err)
				requireMeaning(t, before, after, src)
			})
		}
	}
}

// services are other names of the services that the provider asks, without regard to case.
var services = map[string][]string{
	"ec2":                    {ec2.ServiceID},
	"elasticloadbalancing":   {elb.ServiceID, elbv2.ServiceID},
	"elb":                    {elb.ServiceID},
	"elbv2":                  {elbv2.ServiceID},
	"elasticloadbalancingv2": {elbv2.ServiceID},
	"kms":                    {kms.ServiceID},
	"ec2metadata":            {imds.ServiceID},
}

// provided are the names for which the provider looks.
var provided = []string{ec2.ServiceID, elb.ServiceID, elbv2.ServiceID, kms.ServiceID, imds.ServiceID}

// named are the provider's names for what an override says that it is for.
func named(service string) []string {
	for _, id := range provided {
		if strings.EqualFold(id, service) {
			return []string{id}
		}
	}
	if ids := services[strings.ToLower(service)]; ids != nil {
		return ids
	}
	return []string{service}
}

// requireMeaning holds that the rewriting has changed the meaning as documented and in no other way.
func requireMeaning(t *testing.T, before, after *config.CloudConfig, src clouds.Source) {
	t.Helper()
	want := before.Global
	if want.ClusterServiceLoadBalancerHealthProbeMode == "" {
		want.ClusterServiceLoadBalancerHealthProbeMode = config.ClusterServiceLoadBalancerHealthProbeModeShared
	}
	if status := src.Cluster.Status.AWS; status != nil && want.Region == "" && want.Zone == "" {
		want.Region = status.Region
	}
	if slices.Contains(src.Cluster.FeatureGates, gate) && want.NLBSecurityGroupMode == "" {
		want.NLBSecurityGroupMode = config.NLBSecurityGroupModeManaged
	}
	require.Equal(t, want, after.Global)

	given, got := overrides(before), overrides(after)
	if status := src.Cluster.Status.AWS; status != nil {
		for _, endpoint := range status.ServiceEndpoints {
			given = append(given, override{service: endpoint.Name, region: region, url: endpoint.URL, signingRegion: region})
		}
	}
	for _, g := range given {
		for _, id := range named(g.service) {
			require.True(t, slices.ContainsFunc(got, func(o override) bool { return o.service == id && o.region == g.region }),
				"no endpoint of %s in %s any more", id, g.region)
		}
	}
	for _, o := range got {
		var right, same []override
		for _, g := range given {
			if g.service == o.service && g.region == o.region {
				right = append(right, g)
			}
			if slices.Contains(named(g.service), o.service) && g.region == o.region {
				g.service = o.service
				same = append(same, g)
			}
		}
		// One by the right name wins.
		if right != nil {
			same = right
		}
		require.Contains(t, same, o)
	}
}

func TestTheProviderAsksTheEndpointsOfTheCluster(t *testing.T) {
	for name, names := range map[string][]string{
		"by the names of Infrastructure":           {"ec2", "elasticloadbalancing", "kms"},
		"by the names of before":                   {"EC2", "elb", "elbv2", "Kms"},
		"by the provider's own":                    {ec2.ServiceID, elb.ServiceID, elbv2.ServiceID, kms.ServiceID},
		"by both, of which the provider's own win": {"ec2", "elasticloadbalancing", "kms", elbv2.ServiceID},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			for i, service := range names {
				text += fmt.Sprintf("[ServiceOverride \"%d\"]\nService = %s\nRegion = %s\nURL = https://%d.example.com\nSigningRegion = %s\n", i, service, region, i, region)
			}
			result := awscloud.Rewrite(source(text, false))
			require.Empty(t, result.Errors(diagnostic.Strict))
			cfg, err := parse(result.Config)
			require.NoError(t, err)
			index := func(wanted ...string) string {
				for _, service := range wanted {
					if i := slices.Index(names, service); i >= 0 {
						return fmt.Sprintf("https://%d.example.com", i)
					}
				}
				return ""
			}
			require.Equal(t, map[string]string{
				ec2.ServiceID:   index(ec2.ServiceID, "EC2", "ec2"),
				elb.ServiceID:   index(elb.ServiceID, "elb", "elasticloadbalancing"),
				elbv2.ServiceID: index(elbv2.ServiceID, "elbv2", "elasticloadbalancing"),
				kms.ServiceID:   index(kms.ServiceID, "Kms", "kms"),
			}, endpoints(t, cfg))
		})
	}
}

// endpoints asks the provider's own resolvers where each service is.
func endpoints(t *testing.T, cfg *config.CloudConfig) map[string]string {
	t.Helper()
	found := map[string]string{}
	ec2Endpoint, err := cfg.GetCustomEC2Resolver().ResolveEndpoint(t.Context(), ec2.EndpointParameters{Region: awssdk.String(region)})
	require.NoError(t, err)
	found[ec2.ServiceID] = ec2Endpoint.URI.String()
	elbEndpoint, err := cfg.GetCustomELBResolver().ResolveEndpoint(t.Context(), elb.EndpointParameters{Region: awssdk.String(region)})
	require.NoError(t, err)
	found[elb.ServiceID] = elbEndpoint.URI.String()
	elbv2Endpoint, err := cfg.GetCustomELBV2Resolver().ResolveEndpoint(t.Context(), elbv2.EndpointParameters{Region: awssdk.String(region)})
	require.NoError(t, err)
	found[elbv2.ServiceID] = elbv2Endpoint.URI.String()
	kmsEndpoint, err := cfg.GetCustomKMSResolver().ResolveEndpoint(t.Context(), kms.EndpointParameters{Region: awssdk.String(region)})
	require.NoError(t, err)
	found[kms.ServiceID] = kmsEndpoint.URI.String()
	return found
}

// What the rewriting is for: without it the provider goes to the public endpoints and says nothing.
func TestTheProviderIgnoresTheNamesOfInfrastructure(t *testing.T) {
	cfg, err := parse([]byte(shapes["what cluster-config-operator writes"]))
	require.NoError(t, err)
	require.Equal(t, "https://ec2.eu-central-1.amazonaws.com", endpoints(t, cfg)[ec2.ServiceID])
}

func TestTheProviderStartsWithoutItsCloud(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	src := source(shapes["what the installer writes for a given VPC"]+"Region = "+region+"\n", true)
	provider, err := cloudprovider.GetCloudProvider("aws", bytes.NewReader(awscloud.Rewrite(src).Config))
	require.NoError(t, err)
	require.True(t, provider.HasClusterID())
}

// The SDK that the provider is built on reads the credentials that we deliver, as it reads those of
// AWS_SHARED_CREDENTIALS_FILE.
func TestTheSDKReadsTheCredentials(t *testing.T) {
	file := "[default]\nrole_arn = arn:aws:iam::123456789012:role/ccm\nsts_regional_endpoints = regional\nweb_identity_token_file = /var/run/secrets/openshift/serviceaccount/token\n"
	for name, secret := range map[string]map[string][]byte{
		"a pair of keys": {"aws_access_key_id": []byte("AKIA"), "aws_secret_access_key": []byte("a/b+c=d#e\n")},
		"a federation":   {"credentials": []byte(file)},
	} {
		t.Run(name, func(t *testing.T) {
			src := source("", false)
			src.Credentials = secret
			result := awscloud.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Strict))
			delivered := filepath.Join(t.TempDir(), "credentials")
			require.NoError(t, os.WriteFile(delivered, result.Credentials["credentials"], 0o600))
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", delivered)
			env, err := awsconfig.NewEnvConfig()
			require.NoError(t, err)
			shared, err := awsconfig.LoadSharedConfigProfile(t.Context(), "default", func(o *awsconfig.LoadSharedConfigOptions) {
				o.CredentialsFiles, o.ConfigFiles = []string{env.SharedCredentialsFile}, []string{}
			})
			require.NoError(t, err)
			if secret["credentials"] == nil {
				require.Equal(t, "AKIA", shared.Credentials.AccessKeyID)
				require.Equal(t, "a/b+c=d#e", shared.Credentials.SecretAccessKey)
				require.Empty(t, result.Tokens)
				return
			}
			require.Equal(t, "arn:aws:iam::123456789012:role/ccm", shared.RoleARN)
			require.Equal(t, "/tokens/token", shared.WebIdentityTokenFile)
			require.Equal(t, []clouds.Token{{Key: "token", Audience: "sts.amazonaws.com"}}, result.Tokens)
		})
	}
}

// theirKeys are the provider's sections, keys and types. gcfg takes a field's name and compares without regard to case.
func theirKeys(t *testing.T) []string {
	t.Helper()
	kinds := map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "bool", reflect.Int32: "int32", reflect.Slice: "list"}
	var keys []string
	for _, section := range reflect.VisibleFields(reflect.TypeFor[config.CloudConfig]()) {
		keyed := section.Type
		if keyed.Kind() == reflect.Map {
			keyed = keyed.Elem().Elem()
		}
		for _, field := range reflect.VisibleFields(keyed) {
			kind, known := kinds[field.Type.Kind()]
			require.True(t, known, "[%s] %s has the type %s, of which nothing is known here", section.Name, field.Name, field.Type)
			keys = append(keys, fmt.Sprintf("[%s] %s: %s", section.Name, field.Name, kind))
		}
	}
	slices.Sort(keys)
	return keys
}

func TestWeKnowTheKeysOfTheProviderAndNoOthers(t *testing.T) {
	data, err := os.ReadFile("../../../pkg/clouds/aws/testdata/aws-keys.golden")
	require.NoError(t, err)
	ours := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(data)), "\n"), func(line string) bool { return strings.HasSuffix(line, ": legacy") })
	slices.Sort(ours)
	require.Equal(t, theirKeys(t), ours)
}

// ownRules are the reasons for which we refuse what parse accepts.
var ownRules = []string{
	"is not the name of a zone",       // azToRegion ends the provider, which parse does not ask
	awsRegionField, awsEndpointsField, // contradicts the cluster
}

const (
	awsRegionField    = "status.platformStatus.aws.region"
	awsEndpointsField = "status.platformStatus.aws.serviceEndpoints"
)

func isOwnRule(f diagnostic.Diagnostic) bool {
	return slices.ContainsFunc(ownRules, func(rule string) bool { return strings.Contains(f.Message, rule) })
}

// FuzzAWS holds that we accept exactly what the provider starts with, apart from ownRules; that the rewriting changes the
// meaning as documented and in no other way; and that no override is lost.
func FuzzAWS(f *testing.F) {
	for _, text := range shapes {
		f.Add(text, false)
		f.Add(text, true)
	}
	for _, line := range []string{
		"NodeIPFamilies = IPv4", "ClusterServiceSharedLoadBalancerHealthProbePort = 102560",
		"ClusterServiceLoadBalancerHealthProbeMode = shared",
		"[ServiceOverride \"a\"]\nService = ec2\nRegion = r\nURL = ec2.example.com\nSigningRegion = r",
		"[ServiceOverride \"a\"]\nService = ec2\nRegion = r\nURL = \" \"\nSigningRegion = r",
	} {
		f.Add("[Global]\n"+line+"\n", false)
	}
	f.Fuzz(func(t *testing.T, text string, inCluster bool) {
		src := source(text, inCluster)
		result := awscloud.Rewrite(src)
		if len(bytes.TrimSpace(src.Config)) == 0 {
			src.Config = nil // which blanks alone are, too
		}
		before, err := parse(src.Config)
		if refused := result.Errors(diagnostic.Lenient); len(refused) > 0 {
			if err == nil && !slices.ContainsFunc(refused, isOwnRule) {
				t.Fatalf("the provider starts with what we refuse: %v", refused)
			}
			return
		}
		require.NoError(t, err, "the provider refuses what we accept")
		after, err := parse(result.Config)
		require.NoError(t, err, "the provider refuses our rewriting:\n%s", result.Config)
		requireMeaning(t, before, after, src)
	})
}

// override is a ServiceOverride without its name, which has no meaning, and without what ValidateOverrides has trimmed.
type override struct{ service, region, url, signingRegion, signingMethod, signingName string }

func overrides(cfg *config.CloudConfig) []override {
	var found []override
	for _, name := range slices.Sorted(maps.Keys(cfg.ServiceOverride)) {
		o := cfg.ServiceOverride[name]
		found = append(found, override{o.Service, o.Region, o.URL, o.SigningRegion, o.SigningMethod, o.SigningName})
	}
	return found
}
