package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
)

// preflightChange is a change that only the cloud, or the process of the cloud-controller-manager, can judge.
type preflightChange struct {
	name string
	// class is that of the verdict; empty for a good change.
	class string
	// untried says that a good change has no preflight: the operator has not requested the token that it needs.
	untried bool
	// restarts says that the operator restarts with the change: its Deployment has the image.
	restarts bool
	do       func(t *testing.T, s *cloudStory)
	// undo undoes what do did to the cloud, the proxy or the image; nil if it did nothing. The other inputs are restored
	// anyway.
	undo func(s *cloudStory, t *testing.T)
}

// preflightCloud is what the corpus needs to know of a cloud.
type preflightCloud struct {
	// lookup is the endpoint that a preflight asks about a machine.
	lookup string
	// rejectedLogins is how often the cloud may reject wrong credentials in a preflight, 0 for once: docs/preflight.md
	// has why it is more.
	rejectedLogins int
	// isRead reports whether calls of an endpoint change nothing in the cloud.
	isRead  func(endpoint string) bool
	changes []preflightChange
	// startOnly says that a preflight looks up no Node: only the provider's start asks the cloud.
	startOnly bool
}

// clouds are the clouds by the names of their platforms in the operator's registry.
var clouds = map[string]preflightCloud{
	"aws": {
		lookup: aws.DescribeInstances, rejectedLogins: 1 + nodes,
		isRead: func(endpoint string) bool {
			return strings.HasPrefix(endpoint, "Describe") || endpoint == aws.AssumeRoleWithWebIdentity ||
				endpoint == aws.CreateToken || endpoint == aws.GetIdentity
		},
		changes: []preflightChange{
			{name: "another secret key", class: "Unauthenticated", do: setSecretKeys("aws_secret_access_key", wrong)},
			{name: "an access key that was deleted", class: "Unauthenticated", do: setSecretKeys("aws_access_key_id", "AKIA0000000000000000")},
			{name: "another region", class: "Unauthenticated", do: func(t *testing.T, s *cloudStory) {
				s.patches("infrastructures", `{"status":{"platformStatus":{"aws":{"region":"eu-central-2"}}}}`)(t)
			}},
		},
	},
	"azure": {
		lookup: azure.GetProvider,
		isRead: func(endpoint string) bool {
			return strings.HasPrefix(endpoint, "GET ") || strings.HasPrefix(endpoint, "LIST ") || endpoint == azure.GetToken
		},
		startOnly: true,
		changes: []preflightChange{
			{name: "another client secret", class: "Unauthenticated", do: setSecretKeys("azure_client_secret", wrong)},
			{name: "an application that does not exist", class: "Unauthenticated", do: setSecretKeys("azure_client_id", noUUID)},
			{name: "another tenant", class: "Unauthenticated", do: func(t *testing.T, s *cloudStory) {
				setSecretKeys("azure_tenant_id", noUUID)(t, s)
				setConfigText(`("tenantId": ")[^"]*`, noUUID)(t, s)
			}},
			{name: "another subscription", class: "Crash", do: func(t *testing.T, s *cloudStory) {
				setSecretKeys("azure_subscription_id", noUUID)(t, s)
				setConfigText(`("subscriptionId": ")[^"]*`, noUUID)(t, s)
			}},
		},
	},
	"digitalocean": {
		lookup: digitalocean.GetDroplet,
		isRead: func(endpoint string) bool { return strings.HasPrefix(endpoint, "GET ") },
		changes: []preflightChange{
			{name: "a token that was revoked", class: "Unauthenticated", do: setSecretKeys("access-token", "dop_v1_"+wrong)},
		},
	},
	"gcp": {
		lookup: gcp.GetInstance,
		isRead: func(endpoint string) bool {
			return strings.HasSuffix(endpoint, ".get") || strings.HasSuffix(endpoint, ".list") ||
				strings.HasPrefix(endpoint, "GET ") || slices.Contains(gcpLogins, endpoint)
		},
		changes: []preflightChange{
			{name: "a key that was deleted", class: "Unauthenticated", do: setSecretText(`("private_key_id": ")[^"]*`, wrong)},
			{name: "a service account that does not exist", class: "Unauthenticated", do: setSecretText(`("client_email": ")[^"]*`, wrong)},
			{name: "a closed port of the login", class: "Unreachable", do: setSecretText(`("token_uri": "https://oauth2.googleapis.com)/`, ":1/")},
		},
	},
	"ibmcloud": {
		lookup: ibm.ListInstances, rejectedLogins: 1 + nodes,
		isRead: func(endpoint string) bool {
			return strings.HasPrefix(endpoint, "GET ") || endpoint == ibm.IssueToken
		},
		changes: []preflightChange{
			{name: "an API key that was deleted", class: "Unauthenticated", do: setSecretKeys("ibmcloud_api_key", wrong)},
		},
	},
	"nutanix": {
		lookup: nutanix.GetVM,
		isRead: func(endpoint string) bool {
			return strings.HasPrefix(endpoint, "GET ") || endpoint == nutanix.GetNewest
		},
	},
	"openstack": {
		lookup: openstack.ComputeServer,
		isRead: func(endpoint string) bool {
			return strings.HasPrefix(endpoint, "GET ") || endpoint == openstack.IdentityTokens
		},
		changes: []preflightChange{
			{name: "another password", class: "Unauthenticated", do: setCloudsYAML(passwordLine)},
			{name: "a project that the cloud does not have", class: "Unauthenticated", do: setCloudsYAML(projectLine)},
			{name: "a region that the cloud does not have", class: "NoEndpoint", do: func(t *testing.T, s *cloudStory) {
				setSecretText(`(region_name: )\S+`, "RegionTwo")(t, s)
				setConfigText(`(region = )\S+`, "RegionTwo")(t, s)
			}},
			{name: "a closed port of the login", class: "Unreachable", do: setSecretText(`(auth_url: https://[^:]+:)\d+`, "1")},
			{name: "no load balancers", do: setConfigText(`(\[LoadBalancer\]\n)`, "enabled = false\n")},
			{name: "17-load-balancers-without-octavia", class: "NoLoadBalancers", do: func(t *testing.T, s *cloudStory) {
				s.Cloud().Withdraw(openstack.LoadBalancerService, true)
				setConfigText(`(enabled = )false`, "true")(t, s)
			}, undo: func(s *cloudStory, _ *testing.T) { s.Cloud().Withdraw(openstack.LoadBalancerService, false) }},
			{name: "a cloud without a network API", class: "NoEndpoint", do: func(t *testing.T, s *cloudStory) {
				s.Cloud().Withdraw(openstack.NetworkService, true)
				s.setArgument(t, "min-resync-period", "12h3m")
			}, undo: func(s *cloudStory, _ *testing.T) { s.Cloud().Withdraw(openstack.NetworkService, false) }},
			{name: "load balancers in a cloud with their API", do: setConfigText(`(enabled = )false`, "true")},
		},
	},
	"vsphere": {
		lookup: vsphere.FindByUUID, rejectedLogins: 4,
		isRead: func(endpoint string) bool {
			return strings.HasPrefix(endpoint, "Retrieve") || strings.HasPrefix(endpoint, "Find") ||
				strings.HasPrefix(endpoint, "GET ") || slices.Contains(vSphereSessions, endpoint)
		},
		changes: []preflightChange{
			{name: "another password", class: "Unauthenticated", do: func(t *testing.T, s *cloudStory) {
				setSecretKeys(s.VSphere().Host()+".password", wrong)(t, s)
			}},
			{name: "a user who does not exist", class: "Unauthenticated", do: func(t *testing.T, s *cloudStory) {
				setSecretKeys(s.VSphere().Host()+".username", "nobody@vsphere.local")(t, s)
			}},
			{name: "a closed port of the vCenter", class: "Unreachable", do: setConfigText(`(port: )\d+`, "1")},
		},
	},
}

// gcpLogins are the logins at Google Cloud, which are a POST.
var gcpLogins = []string{gcp.GetToken, gcp.ExchangeToken, gcp.Impersonate}

// vSphereSessions begin and end sessions, or read with a POST: the tags of an object.
var vSphereSessions = []string{
	vsphere.Login, "Logout", vsphere.RESTSession, "DELETE /rest/com/vmware/cis/session",
	"POST /rest/com/vmware/cis/tagging/tag-association",
}

// corpus returns the changes on a platform, the bad ones first.
func corpus(name string) []preflightChange {
	changes := slices.Concat(clouds[name].changes, proxies, everyCloud)
	if p, _ := platform.ByName(name); p.Image != "" {
		changes = slices.Concat(otherImages, changes)
	}
	if clouds[name].startOnly {
		for i := range changes {
			if changes[i].name == deafImage {
				changes[i].class = "Deaf" // It logs no request, so it does not wait for the cloud.
			}
		}
		// The leader's log does not say what it reaches, so what is not reached proves nothing.
		changes = slices.DeleteFunc(changes, func(c preflightChange) bool {
			return c.class == "UnknownMachine" || c.name == closedProxy
		})
	}
	if storyPlatforms[name].readsSecret {
		// What the provider reads through the API is no part of a change.
		changes = slices.DeleteFunc(changes, func(c preflightChange) bool { return c.name == rotated })
	}
	if storyPlatforms[name].federate != nil {
		changes = append(changes, federated...)
	}
	return changes
}

// federated are the changes of a cloud that trusts tokens of the cloud-controller-manager's ServiceAccount. A preflight
// logs in with the tokens that the static pods have: a token of its own ServiceAccount would be another subject.
var federated = []preflightChange{
	{name: "a token of the ServiceAccount instead of a secret", untried: true, do: func(t *testing.T, s *cloudStory) {
		require.NoError(t, s.federate(s.suite))
		s.setSecret(t, s.secret, s.cloud.Credentials())
	}},
	{name: "another flag with that token", do: func(t *testing.T, s *cloudStory) { s.setArgument(t, "min-resync-period", "12h2m") }},
}

const rotated = "rotated credentials"

// everyCloud are the changes that every cloud has.
var everyCloud = []preflightChange{
	{name: "a CA that did not sign the cloud's certificate", class: "Certificate", do: func(t *testing.T, s *cloudStory) {
		other, _, err := s.cloud.RenewCA()
		require.NoError(t, err)
		s.trust(t, other)
	}},
	{name: "a flag that the program does not know", class: "Crash", do: func(t *testing.T, s *cloudStory) {
		s.setArgument(t, "no-such-flag", "1")
	}},
	{name: "a value with which the program ends", class: "Crash", do: func(t *testing.T, s *cloudStory) {
		s.setArgument(t, "feature-gates", "NoSuchGate=true")
	}},
	{name: "a missing permission", class: "Unauthorized", do: func(t *testing.T, s *cloudStory) {
		require.NoError(t, s.cloud.Fail(clouds[s.name].lookup, http.StatusForbidden))
		s.setArgument(t, "min-resync-period", "12h1m")
	}, undo: func(s *cloudStory, t *testing.T) {
		require.NoError(t, s.cloud.Fail(clouds[s.name].lookup, 0))
	}},
	{name: "an account without these machines", class: "UnknownMachine", do: func(t *testing.T, s *cloudStory) {
		require.NoError(t, s.cloud.DenyInstances(true))
		s.setArgument(t, "min-resync-period", "12h1m")
	}, undo: func(s *cloudStory, t *testing.T) {
		require.NoError(t, s.cloud.DenyInstances(false))
	}},

	{name: "another log level", do: func(t *testing.T, s *cloudStory) { s.setLogLevel(t) }},
	{name: "one more trusted CA", do: func(t *testing.T, s *cloudStory) {
		other, _, err := s.cloud.RenewCA()
		require.NoError(t, err)
		s.trust(t, s.cloud.CABundle(), other)
	}},
	{name: rotated, do: func(t *testing.T, s *cloudStory) {
		require.NoError(t, s.cloud.Rotate())
		s.setSecret(t, s.secret, s.cloud.Credentials())
	}},
}

// setCloudsYAML returns a change of a line of clouds.yaml.
func setCloudsYAML(line *regexp.Regexp) func(t *testing.T, s *cloudStory) {
	return func(t *testing.T, s *cloudStory) {
		s.setCredentials(t, line.ReplaceAll(s.Cloud().CloudsYAML(), []byte("$1 "+wrong)))
	}
}

// noUUID is nobody's.
const noUUID = "00000000-0000-4000-8000-000000000000"

// wrong is what is certainly wrong, and easily found.
const wrong = "wrong-6c1f0a9d"

// setSecretText returns a change of the credentials Secret: of what follows the first group of an expression.
func setSecretText(expression, to string) func(t *testing.T, s *cloudStory) {
	return func(t *testing.T, s *cloudStory) {
		former, data := s.cloud.Credentials(), map[string][]byte{}
		for key, content := range former {
			data[key] = regexp.MustCompile(expression).ReplaceAll(content, []byte("${1}"+to))
		}
		require.NotEqual(t, former, data)
		s.setSecret(t, s.secret, data)
	}
}

// setConfigText returns a change of the cloud configuration: of what follows the first group of an expression.
func setConfigText(expression, to string) func(t *testing.T, s *cloudStory) {
	return func(t *testing.T, s *cloudStory) {
		former := s.cloudConfig(t)
		text := regexp.MustCompile(expression).ReplaceAllString(former, "${1}"+to)
		require.NotEqual(t, former, text)
		s.setCloudConfig(t, text)
	}
}

// setSecretKeys returns a change of a key of the credentials Secret, and of its value in the keys that contain it too.
func setSecretKeys(key, value string) func(t *testing.T, s *cloudStory) {
	return func(t *testing.T, s *cloudStory) {
		data := map[string][]byte{}
		former := s.cloud.Credentials()
		require.Contains(t, former, key)
		for other, content := range former {
			data[other] = bytes.ReplaceAll(content, former[key], fmt.Append(nil, value))
		}
		s.setSecret(t, s.secret, data)
	}
}
