package nodecause

import (
	"regexp"
	"strings"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// remedies are errors whose cause or action differs from that of their class. The first match wins. They change only
// what a person reads: the operator acts on classes.
var remedies = sync.OnceValue(func() []remedy {
	const wait = "wait: the cloud-controller-manager tries again; "
	return []remedy{
		// The API server's errors (admission/plugin/webhook, rest.Request, registry.Store), also about a webhook's cloud.
		{anyOf(`\bfailed calling webhook\b`), "an admission webhook of the cluster does not answer",
			"repair the admission webhook that the error names: its pods, its Service and its certificate"},
		{anyOf(`\badmission webhook \\*"[^"\\]+\\*" denied the request\b`),
			"an admission webhook of the cluster denies the cloud-controller-manager a request",
			"correct the policy of the webhook that the error names, or exempt the cloud-controller-manager there"},
		{anyOf(`\\*"https://[^"/\s]+(?::6443/api|/api/v1|/apis)\b`),
			"the cloud-controller-manager does not reach the cluster's own API server",
			"check the API servers, and the name, the address and the certificate of the URL in the error"},
		{anyOf(`\betcdserver: `, `\basked us to try again later\b`, `\bclient rate limiter Wait returned\b`,
			`\bserver was unable to return a response in the time allotted\b`),
			"the cluster's own API server is slow or busy",
			wait + "if it lasts, check the API servers and etcd: oc get clusteroperators kube-apiserver etcd"},
		{anyOf(`\b(?:cleanup finalizer|load balancer status): Unauthorized$`),
			"the cluster's own API server rejects the token of the cloud-controller-manager",
			"see the conditions KubeTokenDegraded and NodeFilesDegraded"},
		{anyOf(`\bis invalid: \[?metadata\.labels: `),
			"the cluster's own API server rejects a label that the cloud-controller-manager gives the node",
			"rename in the cloud what has the quoted value, such as the instance's type, zone or region: a label has letters, " +
				"digits, '-', '_' and '.'"},
		{anyOf(`\bthe object has been modified\b`), "another component changed the object at the same time",
			wait + "if it lasts, find out what else changes the object that the error names"},
		{anyOf(`\bcontext canceled$`), "the cloud-controller-manager has canceled its request, as it does when it ends",
			wait + "if it lasts, look for what ends its process in: status"},
		// The error of an HTTP client, which is none of the service's answers.
		{anyOf(`\\*"http://(?:169\.254\.169\.254|metadata\.google\.internal)/[^"]*": `),
			"the metadata service of the control plane's instances does not answer",
			"if the cloud-controller-manager is to have credentials, add them to the Secret, under the names of keys that it " +
				"reads: without them, it asks that service; otherwise check that the control-plane nodes reach 169.254.169.254, " +
				"and that noProxy of proxy/cluster has it"},
		{anyOf(`\bproxyconnect tcp: tls: first record does not look like a TLS handshake`),
			"the cluster's proxy does not speak TLS itself",
			"give the URL in httpsProxy of proxy/cluster the scheme http: the requests through it are encrypted nevertheless"},
		{anyOf(`\bproxyconnect tcp: dial tcp\b`), "the cluster's proxy cannot be reached from the control plane",
			"correct the URLs of proxy/cluster, or check name resolution, routes and firewalls between the control plane and " +
				"the proxy"},
		// The proxy's answer to CONNECT, as for ProxyRefused.
		{anyOf(`\b(?:get|head|post|put|patch|delete) \\*"https://[^"]+": ` +
			`(?:service unavailable|bad gateway|gateway timeout)$`), "the cluster's proxy does not reach the cloud's API",
			"check that the proxy resolves and reaches the host in the error, or add the host to noProxy of proxy/cluster"},
		{anyOf(`\blookup \S+(?: on \S+)?: no such host\b`), Unreachable.Cause(),
			"check the host name in the error, which is of the region or the URL in the cloud configuration; if it is right, " +
				"check the name servers of the control-plane nodes"},
		// AWS, Azure, Google Cloud.
		{anyOf(`\bwith an explicit deny\b`, `\bRequestDisallowedByPolicy\b`, `, policyViolation\b`,
			`\bConstraint constraints/\S+ violated\b`),
			"a policy in the cloud denies the request",
			"change the policy that the error names, such as one of the organization, or exempt the cluster from it; another " +
				"permission of the credentials does not help"},
		{anyOf(`\bnot authorized to perform this operation\. Encoded authorization failure message\b`), Unauthorized.Cause(),
			"find out which one (aws sts decode-authorization-message --encoded-message), and permit it"},
		// Azure, Google Cloud, AWS, Alibaba Cloud, DigitalOcean.
		{anyOf(`\bReadOnlyDisabledSubscription\b`, `\baccountDisabled\b`, `\bapi error (?:Blocked|PendingVerification)\b`,
			`\baccount currently does not support creating load balancers\b`, `\bINSUFFICIENT_BALANCE\b`,
			`\bNotEnoughBalance\b`, `\bARREARAGE\b`, `\byour account (?:has been|is) locked\b`),
			"the account or subscription is disabled in the cloud, or not verified yet",
			"settle what the cloud asks of the account, such as a payment or a verification, or ask the cloud's support"},
		// aws-sdk-go-v2 has given up retrying, and quotes no error of a request.
		{anyOf(`: \w+, failed to get rate limit token, retry quota exceeded`),
			"the cloud-controller-manager has used up its retries, because the cloud throttles or fails its requests",
			wait + "if it lasts, find what else calls the cloud's API with this account, and check the state of that API"},
		// EC2 answers this also for a signature of another time.
		{anyOf(`\bAuthFailure\b`), "the cloud rejects the credentials, or the time of the control plane",
			"check the time of the control-plane nodes first, with chronyc tracking there: it may be five minutes off at " +
				"most; if it is right, replace the credentials"},
		{anyOf(`\bRegionDisabledException\b`), "the account has not activated STS in the region",
			"activate STS in the region, in the account settings of IAM, or correct the region of the cloud configuration"},
		{anyOf(`\bOptInRequired\b`, `\bSubscriptionRequired`), "the account may not use the service in the region",
			"enable the region for the account, complete the account's registration, or correct the region of the cloud " +
				"configuration"},
		{anyOf(`\bAADSTS53003\b`), "a Conditional Access policy of the tenant blocks the login",
			"exclude the identity from the policy, or permit the control plane's addresses there"},
		{anyOf(`\bAADSTS90033\b`), Unavailable.Cause(), wait + "if it lasts, check the state of Entra ID"},
		// The assertion is the service account's token; its times are those of the API server's node.
		{anyOf(`\bAADSTS700024\b`), "the service account's token has expired, or the clocks of the control plane and of " +
			"the cloud differ",
			"compare the current time in the error with that of the control-plane nodes, which chronyc tracking shows there; " +
				"correct theirs if they differ; otherwise see the conditions CloudTokensDegraded and NodeFilesDegraded"},
		{anyOf(`\bAADSTS90002\b`, `\bInvalidAuthenticationTokenTenant\b`),
			"the tenant of the credentials does not exist, or is not that of the subscription",
			"correct the tenant of the credentials, and the tenant and the subscription of the cloud configuration"},
		// vSphere's provider logs in again with its next request (pkg/common/vclib/connection.go).
		{anyOf(`\bsession is not authenticated\b`, `^NotAuthenticated$`), "the vCenter has ended the session",
			"wait: the cloud-controller-manager logs in again; if it lasts, check the vCenter, or restart the static pod that " +
				"holds the lease: " + restart},
		// A vCenter answers so also for an account that is locked.
		{anyOf(`\bincorrect user name or password\b`, `\bInvalidLogin\b`), Unauthenticated.Cause(),
			"check the user and the password in the vCenter, where the account may also be locked or expired, and correct " +
				"what is wrong"},
		{anyOf(`\bCould not find Application Credential\b`), "the cloud does not have the application credential any more",
			"create another one, and replace the credentials: it ends with its user, and when it expires"},
		// gophercloud's errors for a 401 of Keystone, before and since 2.0.
		{anyOf(`(?:^|cloud provider[^:]*: |controllers: )Authentication failed$`,
			`\[POST \S+/auth/tokens\], but got 401\b`), Unauthenticated.Cause(),
			"check the user, the password, the project and the domains in the credentials, and correct what is wrong"},
		{anyOf(`\binsufficient authentication scopes\b`),
			"the access token of the control plane's instances lacks an OAuth scope",
			"for one instance after the other: stop it, give it the scope cloud-platform (gcloud compute instances " +
				"set-service-account --scopes=cloud-platform), and start it again"},
		{anyOf(`\bmatches ip: [0-9a-f]*:`), AddressMismatch.Cause(),
			"let the cloud configuration select IPv6 (on AWS NodeIPFamilies, by default ipv4 only), or correct the kubelet's " +
				"--node-ip, or the instance's addresses"},
		{anyOf(`\bremote error: tls: (?:handshake failure|protocol version not supported)`),
			"the cloud's API and the cloud-controller-manager have no version or cipher suite of TLS in common",
			"enable TLS 1.2 or 1.3 at the cloud's API, or at the proxy or load balancer before it"},
		{anyOf(
			`\bNo supported version available from endpoint\b`, `POST \S+/auth/tokens\](?:, but got 404\b|.*"code": 404\b)`,
			`\bserver gave HTTP response to HTTPS client\b`, `\bunsupported protocol scheme\b`,
			`\\*": tls: first record does not look like a TLS handshake`,
		), "the URL of the cloud's API is wrong",
			"correct the scheme, the port and the path of the URL in the cloud configuration and in the credentials (on " +
				"OpenStack auth-url, which ends in /v3)"},
	}
})

type remedy struct {
	errors        *regexp.Regexp
	cause, action string
}

// Remedy returns the cause and the action of an error that its class does not explain.
func Remedy(text string) (cause, action string, found bool) {
	for _, r := range remedies() {
		if r.errors.MatchString(text) {
			return r.cause, r.action, true
		}
	}
	return "", "", false
}

// Explain returns the cause of an error of the class, and the action about it.
func (c Class) Explain(text string) (cause, action string) {
	if cause, action, found := Remedy(text); found && c == ClassOf(text) {
		return cause, action
	}
	if parts := permission().FindStringSubmatch(text); parts != nil && c == Unauthorized {
		return c.Cause(), "permit them " + strings.Join(parts[1:], "")
	}
	return c.Cause(), c.Action()
}

// permission matches the missing permission in the errors of Azure, AWS, Google Cloud and OpenStack.
var permission = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bnot have (?:authorization|permission) to perform action '([\w./*-]+)'|` +
		`\bnot authorized to perform: ([\w:*-]+)|\bRequired '([\w.]+)' permission\b|` +
		`\bPolicy doesn't allow ([\w:-]+) to be performed\b`)
})

// ExplainFor returns the cause of an error of the class, and the action about it for these machines.
func (c Class) ExplainFor(text string, by platform.Lookup, machines ...Machine) (cause, action string) {
	cause, action = c.Explain(text)
	if action == c.Action() {
		action = c.ActionFor(by, machines...)
	}
	return cause, action
}
