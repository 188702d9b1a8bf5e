package aws_test

import (
	"encoding/base64"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAWSGolden(t *testing.T) { cloudtest.RequireGoldens(t, "aws", aws.Rewrite, nil) }

func TestAWSNeedsNoConfiguration(t *testing.T) {
	result := aws.Rewrite(clouds.Source{})
	require.Equal(t, "[Global]\nClusterServiceLoadBalancerHealthProbeMode = Shared\n", string(result.Config))
	require.Nil(t, result.Credentials)
	require.Empty(t, result.Warnings(diagnostic.Strict))
	require.Equal(t, []string{
		`cloud config: ClusterServiceLoadBalancerHealthProbeMode is set to "Shared": one probe of kube-proxy for all Services lets a node that shuts down finish its connections`,
		"cloud config: there is no cloud configuration, which AWS does not need: the cloud-controller-manager gets one with defaults only",
	}, cloudtest.Messages(result, diagnostic.Adapted))
}

func TestAWSRefusesCredentialsThatCannotServe(t *testing.T) {
	const id, key = "aws_access_key_id = AKIAIOSFODNN7ABCDEFG\n", "aws_secret_access_key = s3cr3t-v4lue\n"
	for name, c := range map[string]struct {
		secret map[string]string
		error  string
	}{
		"another cloud's Secret": {map[string]string{"clouds.yaml": "x", "ca": "y"},
			"credentials: the credentials Secret has neither the keys aws_access_key_id and aws_secret_access_key nor the key credentials, only ca, clouds.yaml; correct it, or remove all its keys if the identity of the instances is to be used"},
		"no id": {map[string]string{"aws_secret_access_key": "s3cr3t"},
			"credentials aws_access_key_id: the credentials Secret has aws_secret_access_key but no such key: add it"},
		"no secret key": {map[string]string{"aws_access_key_id": "AKIA"},
			"credentials aws_secret_access_key: the credentials Secret has aws_access_key_id but no such key: add it"},
		"an empty key": {map[string]string{"aws_access_key_id": "AKIA", "aws_secret_access_key": " \n"},
			"credentials aws_secret_access_key: it is empty: write the key that AWS gave"},
		"two lines in a key": {map[string]string{"aws_access_key_id": "AKIA\nAKIB", "aws_secret_access_key": "s3cr3t"},
			"credentials aws_access_key_id: it has a blank, a line break or another character in it that no key of AWS has: write the key alone"},
		"quotes around a key": {map[string]string{"aws_access_key_id": "AKIA", "aws_secret_access_key": `"s3cr3t"`},
			"credentials aws_secret_access_key: it has quotes in it: write the key without them"},
		"a file without a header": {map[string]string{"credentials": id + key},
			"credentials credentials: there is no profile [default], which is the one that the cloud-controller-manager uses: write that line above the keys"},
		"a file with other profiles only": {map[string]string{"credentials": "[profile default]\n" + id + key + "[Default]\n"},
			"credentials credentials: there is no profile [default], which is the one that the cloud-controller-manager uses: there is only [profile default], [Default]; rename the right one"},
		"a file with a byte-order mark": {map[string]string{"credentials": "\ufeff[default]\n" + id + key},
			"credentials credentials:1:1: the text starts with a byte-order mark, which hides the first line: save it as UTF-8 without one"},
		"a file in base64": {map[string]string{"credentials": base64.StdEncoding.EncodeToString([]byte("[default]\n" + id + key))},
			"credentials credentials: it is in base64 once too often: write the text itself"},
		"a profile with half a pair": {map[string]string{"credentials": "[default]\n" + key},
			"credentials credentials:2:1: profile [default] has aws_secret_access_key but no aws_access_key_id: add it"},
		"a profile with the other half": {map[string]string{"credentials": "[default]\n" + id},
			"credentials credentials:2:1: profile [default] has aws_access_key_id but no aws_secret_access_key: add it"},
		"a profile with an empty key": {map[string]string{"credentials": "[default]\n" + id + "aws_secret_access_key =\n"},
			"credentials credentials:3:1: profile [default] has a wrong aws_secret_access_key: it is empty: write the key that AWS gave"},
		"a key that goes on": {map[string]string{"credentials": "[default]\n" + id + key + "  s3cr3t\n"},
			"credentials credentials:3:1: profile [default] has aws_secret_access_key with more in the next line, because that one is indented: remove the blanks before it"},
		"a profile without anything": {map[string]string{"credentials": "\n[default]\nregion = x\n"},
			"credentials credentials:2:1: profile [default] has neither aws_access_key_id and aws_secret_access_key nor role_arn and web_identity_token_file: add them"},
		"a federation without a role": {map[string]string{"credentials": "[default]\nweb_identity_token_file = /t\n"},
			"credentials credentials:2:1: profile [default] has web_identity_token_file but no role_arn: add the role"},
		"two ways to log in": {map[string]string{"credentials": "[default]\nrole_arn = r\nsource_profile = x\nweb_identity_token_file = /t\n"},
			"credentials credentials:4:1: profile [default] has both source_profile and web_identity_token_file: only one of them is allowed; remove the others"},
		"a program": {map[string]string{"credentials": "[default]\ncredential_process = /usr/bin/get s3cr3t\n"},
			"credentials credentials:2:1: profile [default] has credential_process, but the program will not exist for the cloud-controller-manager: write keys, or a role_arn with web_identity_token_file"},
		"an unknown source": {map[string]string{"credentials": "[default]\nrole_arn = r\ncredential_source = EC2\n"},
			"credentials credentials:3:1: profile [default] has an unknown credential_source: write Ec2InstanceMetadata"},
		"an unknown profile": {map[string]string{"credentials": "[default]\nrole_arn = r\nsource_profile = bsae\n[base]\n" + id + key},
			"credentials credentials:3:1: source_profile names a profile that is not in this file: add the section or correct the name; there is [default], [base]"},
		"one quote anywhere": {map[string]string{"credentials": "[default]\n" + id + key + "[x]\n region = \"\n"},
			"credentials credentials:5:1: the value is one quote and nothing else, on which the cloud-controller-manager would crash: remove the quote"},
		"profiles in a circle": {map[string]string{"credentials": "[default]\nrole_arn = r\nsource_profile = a\n[a]\nrole_arn = r\nsource_profile = default\n"},
			"credentials credentials:3:1: profile [default] is its own source_profile and has no key pair: add one, or name another profile"},
		"a source profile with half a pair": {map[string]string{"credentials": "[default]\nrole_arn = r\nsource_profile = a\n[a]\n" + id},
			"credentials credentials:5:1: profile [a] has aws_access_key_id but no aws_secret_access_key: add it"},
	} {
		t.Run(name, func(t *testing.T) {
			result := aws.Rewrite(clouds.Source{Credentials: cloudtest.SecretOf(c.secret)})
			require.Equal(t, []string{c.error}, cloudtest.Messages(result, diagnostic.Invalid))
			require.Nil(t, result.Config)
			for _, f := range result.Diagnostics {
				require.NotContains(t, f.Message, "s3cr3t")
			}
		})
	}
}

const role = "arn:aws:iam::123456789012:role/ccm"

func TestAWSReportsCredentialsThatAWSRejects(t *testing.T) {
	const key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYABCDEFGHIJ"
	const placeholder = "it is a placeholder: write the key that AWS gave"
	const variable = "it starts with the name of a variable: write only the value"
	const swapped = "it is the ID of a key: write the secret here, and the ID in aws_access_key_id"
	const temporary = "it is the ID of a temporary key, and the session token that AWS wants with it is not delivered: " +
		"write a permanent key, or a role"
	const notARole = "role_arn of profile [default] is not the ARN of a role, such as arn:aws:iam::123456789012:role/ccm"
	pair := func(id, secret string) map[string]string {
		return map[string]string{"aws_access_key_id": id, "aws_secret_access_key": secret}
	}
	file := func(lines string) map[string]string { return map[string]string{"credentials": "[default]\n" + lines} }
	for name, c := range map[string]struct {
		secret         map[string]string
		typos, doubted []string
	}{
		"a permanent key": {secret: pair("AKIAIOSFODNN7ABCDEFG", key)},
		"placeholders": {secret: pair("<access_key_id>", "${AWS_SECRET_ACCESS_KEY}"), typos: []string{
			"credentials aws_access_key_id: " + placeholder, "credentials aws_secret_access_key: " + placeholder}},
		"halves that are exchanged": {secret: pair(key, "AKIAIOSFODNN7ABCDEFG"), typos: []string{
			"credentials aws_access_key_id: it has more than letters and digits in it: write only the ID of an access key, such as AKIA…",
			"credentials aws_secret_access_key: " + swapped}},
		"the keys of AWS's documentation": {secret: pair("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), typos: []string{
			"credentials aws_access_key_id: " + placeholder, "credentials aws_secret_access_key: " + placeholder}},
		"the ID of a role": {secret: pair("AROAIOSFODNN7ABCDEFGH", key), typos: []string{
			"credentials aws_access_key_id: it is the number of an account, or the ID of a user or role: write the ID of an access key, such as AKIA…"}},
		"lines of a shell's script": {secret: pair("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7ABCDEFG", "aws_secret_access_key="+key), typos: []string{
			"credentials aws_access_key_id: " + variable, "credentials aws_secret_access_key: " + variable}},
		"a temporary key": {secret: pair("ASIAIOSFODNN7ABCDEFG", key), doubted: []string{
			"credentials aws_access_key_id: " + temporary}},
		"placeholders in a file": {
			secret: file("aws_access_key_id = <id>\naws_secret_access_key = <key>\naws_session_token = t\n"), typos: []string{
				"credentials credentials:2:1: aws_access_key_id of profile [default]: " + placeholder,
				"credentials credentials:3:1: aws_secret_access_key of profile [default]: " + placeholder}},
		"a temporary key in a file": {
			secret: file("aws_access_key_id = ASIAIOSFODNN7ABCDEFG\naws_secret_access_key = k\n"), doubted: []string{
				"credentials credentials:2:1: aws_access_key_id of profile [default]: " + temporary}},
		"the name of a role": {secret: file("role_arn = ccm\nweb_identity_token_file = /t\n"), typos: []string{
			"credentials credentials:2:1: " + notARole}},
		"the placeholder of a role": {secret: file("role_arn = <role-arn>\nweb_identity_token_file = /t\n"), typos: []string{
			"credentials credentials:2:1: " + notARole}},
		"the ARN of an instance profile": {
			secret: file("role_arn = arn:aws:iam::123456789012:instance-profile/ccm\ncredential_source = Ec2InstanceMetadata\n"),
			typos:  []string{"credentials credentials:2:1: " + notARole}},
		"a source's halves that are exchanged": {
			secret: file("role_arn = " + role + "\nsource_profile = a\n[a]\naws_access_key_id = k\n" +
				"aws_secret_access_key = AKIAIOSFODNN7ABCDEFG\n"),
			typos: []string{"credentials credentials:6:1: aws_secret_access_key of profile [a]: " + swapped}},
	} {
		t.Run(name, func(t *testing.T) {
			result := aws.Rewrite(clouds.Source{Credentials: cloudtest.SecretOf(c.secret), Paths: cloudtest.StaticPodPaths})
			require.Empty(t, result.Errors(diagnostic.Lenient))
			require.Equal(t, c.typos, cloudtest.Messages(result, diagnostic.Typo))
			require.Equal(t, c.doubted, cloudtest.Messages(result, diagnostic.Doubtful))
		})
	}
}

func TestAWSChecksTheSharedProbe(t *testing.T) {
	const path, port = "ClusterServiceSharedLoadBalancerHealthProbePath", "ClusterServiceSharedLoadBalancerHealthProbePort"
	for setting, want := range map[string][]string{
		path + " = /healthz": nil,
		path + ` = ""`:       nil,
		path + " = healthz": {"cloud config:2:51: " + path + ` is "healthz", but must be a path that starts with /, ` +
			"such as /healthz"},
		port + " = 0":  nil, // the default
		port + " = -1": {"cloud config:2:51: " + port + " is -1, but must be a number from 1 to 65535"},
	} {
		result := aws.Rewrite(clouds.Source{Config: []byte("[Global]\n" + setting + "\n")})
		require.Empty(t, result.Errors(diagnostic.Lenient))
		require.Equal(t, want, cloudtest.Messages(result, diagnostic.Typo), setting)
	}
}

func TestAWSTakesWhatTheSDKTakes(t *testing.T) {
	for name, file := range map[string]string{
		"comments, blanks and capitals":        "# c\n; c\n\n [ default ] ; c\nAWS_ACCESS_KEY_ID=AKIA\naws_secret_access_key: \"k\" # c\n",
		"settings that nobody needs":           "[default]\naws_access_key_id = A\naws_secret_access_key = k\naws_session_token = t\nregion = x\ns3 =\n  max = 1\n",
		"a profile in two parts":               "[default]\naws_access_key_id = A\n[x]\n[default]\naws_secret_access_key = k\n",
		"the last of equal keys":               "[default]\naws_access_key_id =\naws_access_key_id = A\naws_secret_access_key = k\n",
		"the identity of the instance":         "[default]\nrole_arn = " + role + "\ncredential_source = Ec2InstanceMetadata\n",
		"a role that the instance takes":       "[default]\nrole_arn = " + role + "\n",
		"a profile that is its own source":     "[default]\nrole_arn = " + role + "\nsource_profile = default\naws_access_key_id = A\naws_secret_access_key = k\n",
		"another profile that cannot be used":  "[default]\naws_access_key_id = A\naws_secret_access_key = k\n[x]\naws_access_key_id = A\n",
		"a line that is nothing":               "[default]\nhello\naws_access_key_id = A\naws_secret_access_key = k\n",
		"a temporary key with its token":       "[default]\naws_access_key_id = ASIAIOSFODNN7ABCDEFG\naws_secret_access_key = k\naws_session_token = t\n",
		"a role that a source does not take":   "[default]\nrole_arn = " + role + "\nsource_profile = a\n[a]\nrole_arn = r\naws_access_key_id = A\naws_secret_access_key = k\n",
		"carriage returns":                     "[default]\r\naws_access_key_id = A\r\naws_secret_access_key = k\r\n",
		"a sub-setting that looks like a pair": "[default]\ns3 =\n  aws_access_key_id = B\naws_access_key_id = A\naws_secret_access_key = k\n",
	} {
		t.Run(name, func(t *testing.T) {
			result := aws.Rewrite(clouds.Source{Config: []byte("[Global]\nClusterServiceLoadBalancerHealthProbeMode=Shared\n"), Credentials: cloudtest.SecretOf(map[string]string{"credentials": file})})
			require.Empty(t, result.Diagnostics)
			require.Equal(t, file, string(result.Credentials["credentials"]))
			require.Empty(t, result.Tokens)
		})
	}
}

func TestAWSLeavesAPathToTheTokenThatIsRight(t *testing.T) {
	file := "[default]\nrole_arn = " + role + "\nweb_identity_token_file = " + cloudtest.StaticPodPaths.Tokens + "/token\n"
	result := aws.Rewrite(clouds.Source{Credentials: cloudtest.SecretOf(map[string]string{"credentials": file}), Paths: cloudtest.StaticPodPaths})
	require.Equal(t, file, string(result.Credentials["credentials"]))
	require.Equal(t, []clouds.Token{{Key: "token", Audience: "sts.amazonaws.com"}}, result.Tokens)
}

// AWS's list of endpoints has one name for both kinds of load balancers, its newer SDK one for each.
func TestAWSPrefersTheEndpointOfOneKindOfLoadBalancers(t *testing.T) {
	const both, newer = "https://elasticloadbalancing.eu-central-1.amazonaws.com", "https://vpce-0a.elasticloadbalancing.eu-central-1.vpce.amazonaws.com"
	override := func(name, service, url string) string {
		return "\n[ServiceOverride \"" + name + "\"]\nService = " + service + "\nRegion = eu-central-1\nURL = " + url +
			"\nSigningRegion = eu-central-1\n"
	}
	for name, c := range map[string]struct{ config, want string }{
		"in Infrastructure": {want: override("elasticloadbalancing", "Elastic Load Balancing", both) +
			override("elasticloadbalancingv2", "Elastic Load Balancing v2", newer)},
		"in the configuration": {
			config: override("0", "elasticloadbalancing", both) + override("1", "elasticloadbalancingv2", newer),
			want:   override("0", "Elastic Load Balancing", both) + override("1", "Elastic Load Balancing v2", newer)},
	} {
		t.Run(name, func(t *testing.T) {
			result := aws.Rewrite(clouds.Source{Config: []byte("[Global]\n" + c.config), Cluster: clouds.Cluster{Status: configv1.PlatformStatus{
				AWS: &configv1.AWSPlatformStatus{Region: "eu-central-1", ServiceEndpoints: []configv1.AWSServiceEndpoint{
					{Name: "elasticloadbalancing", URL: both}, {Name: "elasticloadbalancingv2", URL: newer}}}}}})
			require.Empty(t, result.Errors(diagnostic.Strict))
			require.Empty(t, result.Warnings(diagnostic.Strict))
			require.Equal(t, "[Global]\nClusterServiceLoadBalancerHealthProbeMode = Shared\nRegion = eu-central-1\n"+c.want,
				string(result.Config))
		})
	}
}

// FuzzAWS proves the promises of a Rewrite for whatever configuration and credentials there are.
func FuzzAWS(f *testing.F) {
	for _, config := range []string{
		"", "[Global]\n", "[ServiceOverride \"1\"]\nService=elasticloadbalancing\nRegion=r\nURL=https://a\nSigningRegion=r\n",
		"[ServiceOverride]\nService=ec2\nRegion=r\nURL=https://b\nSigningRegion=r\n[ServiceOverride \"x\"]\nService=EC2\nRegion=r\nURL=https://b\nSigningRegion=r\n",
		"[Global]\nNodeIPFamilies\nNodeIPFamilies=ipv4\nZone=r-1a\n[ServiceOverride \"1\"]\nService=elb\nRegion=r\nURL=https://a\nSigningRegion=r\n[ServiceOverride \"1-v2\"]\n",
	} {
		f.Add(config, "[default]\naws_access_key_id = A\naws_secret_access_key = k\n")
	}
	f.Add("[Global]\n", "[default]\nrole_arn = r\nsource_profile=a\n[a]\nrole_arn = r\nweb_identity_token_file=/x\n")
	cluster := clouds.Cluster{FeatureGates: []string{"AWSServiceLBNetworkSecurityGroup"}, Status: configv1.PlatformStatus{AWS: &configv1.AWSPlatformStatus{
		Region: "r", ServiceEndpoints: []configv1.AWSServiceEndpoint{{Name: "elasticloadbalancing", URL: "https://a"}, {Name: "s3", URL: "https://s"}},
	}}}
	f.Fuzz(func(t *testing.T, config, credentials string) {
		src := clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(map[string]string{"credentials": credentials}), Cluster: cluster, Paths: cloudtest.StaticPodPaths}
		cloudtest.RequireFuzzed(t, aws.Rewrite, src)
		src.Credentials = cloudtest.SecretOf(map[string]string{"aws_access_key_id": "A", "aws_secret_access_key": credentials})
		cloudtest.RequireFuzzed(t, aws.Rewrite, src)
	})
}
