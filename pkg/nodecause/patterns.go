package nodecause

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// patterns are the errors of each class. The first class with a match wins. An error that wraps another one contains
// the words of both: if a login fails because a connection does, the connection explains more. Sources:
// k8s.io/cloud-provider (cloud.go, node_controller.go, node/helpers/address.go), the standard library's net,
// crypto/x509 and net/http, gophercloud (errors.go), aws-sdk-go-v2 and EC2's error codes, govmomi and vCenter's faults,
// googleapi, and the providers themselves.
var patterns = sync.OnceValue(func() []classPattern {
	return []classPattern{
		// By RBAC, by an admission policy, or by an admission webhook.
		{Denied, anyOf(
			`\bis forbidden: (?:User \\*"[^"\\]+\\*" cannot|ValidatingAdmissionPolicy) `,
			`\badmission webhook \\*"[^"\\]+\\*" denied the request\b`,
		)},
		{AddressMismatch, anyOf(
			`provided node ip for node .* is not valid`, `failed to get node address from cloud provider that matches ip`,
			`failed to find kubelet node IP from cloud provider`, // before Kubernetes 1.26
		)},
		{NoAddress, anyOf(
			`unable to find suitable IP address for node`, `\bVM GuestNicInfo is empty`, `\bVM Guest hostname is empty`,
			`\bVirtualMachine Guest property was nil`, `\bhostnames are case sensitive\b`, // vSphere
			`unable to determine network interfaces from VM`,                                              // Nutanix
			`\bnot able to find internal ip for pvm instance`, `\bexpecting Network Type to be dynamic\b`, // Power VS
			`\bcould not get private ip: `, `\bcould not find network interfaces for instanceID`, // DigitalOcean, Google Cloud
		)},
		{NoZone, anyOf(`\bvSphere (?:zone|region) category .* does not match any tags`)},
		{Ambiguous, anyOf(
			`multiple results where only one expected`, // OpenStack
			`multiple instances found for`,             // AWS
			`\bmultiple VMs found`,                     // vSphere
			`\bfound \d+ \w+ matching`,                 // gophercloud
			`\bmore than one instance entry returned`,  // IBM Cloud
		)},
		// With this error, OpenStack's provider exits as soon as it leads (pkg/openstack/openstack.go, LoadBalancer).
		{NoLoadBalancers, anyOf(`LoadBalancer client: .*no suitable endpoint could be found in the service catalog`)},
		{NoEndpoint, anyOf(
			`no suitable endpoint could be found in the service catalog`, // gophercloud
			`\baccessNotConfigured\b`, `\bSERVICE_DISABLED\b`,            // Google Cloud, with a 403
		)},
		{WrongClock, anyOf(
			`not yet valid: current time \S+ is before`,                                                   // crypto/x509
			`\bRequestExpired\b`, `\bRequestTimeTooSkewed\b`, `\bSignature (?:expired|not yet current)\b`, // AWS
			`\bin a reasonable timeframe\b`, // Google Cloud
			`\bAADSTS700024\b`,              // Azure
			`\bInvalidTimeStamp\b`,          // Alibaba Cloud
			`\ballowed clock skew\b`,        // Oracle Cloud
		)},
		// The certificate is the proxy's.
		{ProxyRefused, anyOf(`\bproxyconnect tcp: (?:tls: failed to verify certificate: )?x509: `)},
		{Certificate, anyOf(
			`\bx509: `, `tls: failed to verify`, `\btls: (?:bad|unknown|expired|revoked) certificate`,
			`\bthumbprint does not match\b`, // govmomi
		)},
		// net/http (transport.go, dialConn) reports only the status text with which a proxy answers CONNECT. A server's
		// status text is not the error of a request.
		{ProxyRefused, anyOf(
			`proxy authentication required`,
			`\b(?:get|head|post|put|patch|delete) \\*"https://[^"]+": (?:tunnel or SSL )?forbidden\b`,
		)},
		// A rate, although Google Cloud calls it a quota.
		{Throttled, anyOf(`\bquota exceeded for quota .*\brateLimitExceeded\b`)},
		{QuotaExceeded, anyOf(
			// The "retry quota" of AWS's SDK is none of the cloud's: it ends the retries of any error.
			`(?:^|[^y] |[^ ])quota[ _]?exceeded`, `exceeded .{0,40}\bquota\b`,
			`\bquota '[^']*' exceeded`, // Google Cloud, with a 403
			`\bquota has been met\b`,   // Octavia, with a 403
			`\b(?:Instance|Address|(?:RulesPer)?SecurityGroup|NetworkInterface)LimitExceeded\b`, // AWS
			`\bTooMany(?:LoadBalancers|AccessPoints|Listeners|(?:Unique)?TargetGroups|Targets)`, // AWS
			`\b\w*CountLimitReached\b`,            // Azure
			`\breached .{0,20}quota limit\b`,      // Alibaba Cloud
			`\bover_quota\b`,                      // IBM Cloud
			`\breached the load balancer limit\b`, // DigitalOcean, with a 403
		)},
		{Throttled, anyOf(
			status(`429`), `too ?many ?requests`, `\bRequestLimitExceeded`, `\bThrottling`, `rate[ _]?limit[ _]?exceeded`,
			`\boverLimit\b`,                                                      // OpenStack, with a 413
			`RequestsThrottled\b`, `\bcloud provider (?:rate limited|throttled)`, // Azure, and its provider's own limit
		)},
		{Unreachable, anyOf(
			`connection refused`, `connection reset by peer`, `no such host`, `server misbehaving`, `no route to host`,
			`network is unreachable`, `i/o timeout`, `TLS handshake timeout`, `context deadline exceeded`,
			`Client\.Timeout exceeded`, `\bdial tcp\b`, `proxyconnect`, `\bEOF$`,
		)},
		{Unavailable, anyOf(
			// Octavia answers 501 if its provider lacks what a Service asks for.
			status(`5(?:0[02-9]|[1-9]\d)`), `service unavailable`, `bad gateway`, `gateway time-?out`,
			`internal server error`, `unable to handle the request due to a temporary`,
			// Keystone has issued a token, and the API does not accept it.
			`successfully re-authenticated, but .*(?:\bgot 401|authentication failed)`,
			`\bAADSTS90033\b`, // Azure
		)},
		// Errors of federated logins. The SDKs of AWS wrap each of them in the words of a rejected login.
		{NotTrusted, anyOf(
			`\bnot authorized to perform:? sts:AssumeRole`, `\bIncorrect token audience\b`, `\bIDPRejectedClaim`, // AWS
			`\biam\.serviceAccounts\.getAccessToken\b`, `\baudience in ID Token\b`, `\battribute condition\b`, // Google Cloud
			`\bAADSTS70021[23]?\b`, // Azure
		)},
		{NoToken, anyOf(
			`\bfailed to retrieve jwt\b`, `\bToken expired: current date/time\b`, // AWS
			`\bfailed to open credential file\b`, `\bstale to sign-in\b`, // Google Cloud
			`\bopen \S*token\S*: no such file or directory`,
		)},
		{NoIdentityProvider, anyOf(
			`\bInvalidIdentityToken\b`, `\bIDPCommunicationError`, // AWS
			`\binvalid_target\b`, `\bissuer in ID Token\b`, `\bto the given credential's issuer\b`, // Google Cloud
			`\bAADSTS700211\b`, `\bAADSTS(?:50013|50166|90023|900382)\b`, // Azure
		)},
		// The SDK asks the instance for a role if no file and no variable has credentials.
		{NoCredentials, anyOf(
			`\bno EC2 IMDS role found\b`, `\bNoCredentialProviders\b`, // AWS
			`\bIdentity not found\b`, // Azure, of an instance
			`\byou must provide (?:a password|an application credential secret)\b`, // gophercloud
			`\bcredentials not found\b`, `\bcredentials did not have all required values\b`,
			`\bUsername/Password is missing\b`,                                            // vSphere
			`\bno credentials provided for Azure\b`, `could not find default credentials`, // Azure, Google Cloud
			`\bVPC credentials file not provided`, `\bDO_ACCESS_TOKEN\\*" is required`, // IBM Cloud, DigitalOcean
		)},
		{NoRegion, anyOf(
			`\bMissing Region\b`, `\bMissingRegion\b`, `could not find region`, // AWS
			`\bInvalidRegionId\b`, `\bCanNotResolveEndpoint\b`, // Alibaba Cloud
		)},
		// The answer is of the instance's metadata, with a 401 if the hop limit is too small (AWS).
		{Other, anyOf(`\bEC2MetadataError\b`, `\brequest to EC2 IMDS failed\b`)},
		{Unauthenticated, anyOf(
			status(`401`), `unable to re-authenticate`, `authentication failed`,
			`\bAuthFailure\b`, `\bInvalidClientTokenId`, `\bUnrecognizedClientException`, `\bSignatureDoesNotMatch`,
			`\bExpiredToken`, `failed to refresh cached credentials`, // AWS
			`incorrect user name or password`, `session is not authenticated`, `\bInvalidLogin\b`, // vSphere
			`\bAADSTS\d+`, `invalid_(?:client|grant)\b`, // Azure, Google Cloud
			`\bProvided API key could not be found`,          // IBM Cloud
			`"errorGroup":"UNAUTHORIZED"`,                    // Nutanix
			`\bInvalidAccessKeyId`, `\bInvalidSecurityToken`, // Alibaba Cloud
			`\bCould not find Application Credential\b`, // OpenStack, with a 404
		)},
		// With a 403: Azure, Google Cloud, DigitalOcean.
		{Other, anyOf(`\bRequestDisallowedByPolicy\b`, `\baccountDisabled\b`, `while it processes previous actions`)},
		{Unauthorized, anyOf(
			status(`403`), `\bUnauthorizedOperation`, `\bAccessDenied`, `\b(?:Linked)?AuthorizationFailed`,
			`permission to perform this operation was denied`, `\bNoPermission\b`, `is not authorized to perform`,
			`^Forbidden$`, `"errorGroup":"FORBIDDEN"`, // IBM Cloud, Nutanix
			`\brequest forbidden: \[`, `\bForbidden\.RAM\b`, // gophercloud before 2.0, Alibaba Cloud
		)},
		{NoProviderID, anyOf(`unrecognized node type, skip sync node`, `cloud node not found by prvdId ""`)}, // Alibaba Cloud
		{UnknownMachine, anyOf(
			`\binstance not found\b`,                                // cloud.go: every provider
			strings.TrimSpace(becauseOf),                            // node_controller.go
			`failed to find object`, `unable to find \w+ with name`, // OpenStack, gophercloud
			`no instances found`, `InvalidInstanceID\.(?:NotFound|Malformed)`, // AWS
			`\bno VM found`, `\bVM not found`, `\bnode not found`, `\bdatacenter (?:'[^']*' )?not found`,
			`has already been deleted or has not been completely created`, // vSphere
			`cloud provider does not set node provider ID`,                // AWS, node_controller.go
			`\bgoogleapi: Error 404\b`, `\bMust be a match of regex\b`,    // Google Cloud
			`//api\.digitalocean\.com/\S*: 404\b`, `\bdroplet \d+ for node \S+ does not exist`, // DigitalOcean
			`\binstance \S+ not found in \S+ cloud instance`, `\bcould not retrieve a Power instance`, // Power VS
			`\bpcloudPvminstancesGetNotFound\b`,
			`"errorGroup":"VM_NOT_FOUND"`, `\bENTITY_NOT_FOUND\b`, // Nutanix
			`cloud node not found by prvdId`, // Alibaba Cloud
			// A providerID of another component, such as rke2://m1: DigitalOcean, OpenStack, AWS.
			`\bprovider ID \\*"[^"\\]+\\*" is missing prefix`,
			`ProviderID \\*"[^"\\]+\\*" didn't match expected format`, `\bInvalid (?:scheme|format) for AWS instance\b`,
			// OpenStack: in another region, or deleted meanwhile.
			`ProviderID \\*"[^"\\]+\\*" didn't match supported region`, `\bInstance \S+ could not be found`,
		)},
	}
})

type classPattern struct {
	class   Class
	pattern *regexp.Regexp
}

// status matches an HTTP status in the spellings of the clouds' SDKs: "but got 503 instead" (gophercloud), "StatusCode:
// 503" (AWS), "Error 403" (Google Cloud), "RESPONSE 403" (Azure), "StatusCode=403" and "Status Code = '401'" (Azure's
// former SDK), after the request (godo, govmomi, go-swagger), or as "code": 401 in JSON (OpenStack, Nutanix).
func status(code string) string {
	return fmt.Sprintf(`(?:(?:\bgot|status ?code ?[:=]?|\bHTTP|\bError:?|\bstatus[:=]?|\bRESPONSE:?|\bcode\\*":) *'?|`+
		`//\S+: |/\S+\]\[)%s\b`, code)
}

func anyOf(expressions ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(expressions, `|`))
}

// ClassOf returns the class of an error, by default Other.
func ClassOf(text string) Class {
	for _, p := range patterns() {
		if p.pattern.MatchString(text) {
			return p.class
		}
	}
	return Other
}
