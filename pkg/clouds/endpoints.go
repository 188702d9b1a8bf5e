package clouds

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// An endpoint receives the credentials, or tokens that are issued for them. A user who can write the cloud
// configuration may not be allowed to read the Secret. Therefore an endpoint is compared with a source that such a user
// cannot write: the Secret itself or Infrastructure. An endpoint that neither of them names is Redirected.

// HostOf returns the lower-case host of a URL without its port, or an empty string if it has none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// PortOf returns the port of a URL, by default that of its scheme, or an empty string if it has none.
func PortOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
}

// IsTLS reports whether the URL uses TLS.
func IsTLS(address string) bool { return confdoc.IsURL(address, "https") }

// IsUnder reports whether the host is one of the domains or a subdomain of one of them.
func IsUnder(host string, domains ...string) bool {
	return host != "" && slices.ContainsFunc(domains, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
}

// IsSecureUnder reports whether the URL uses TLS and its host is under one of the domains.
func IsSecureUnder(address string, domains ...string) bool {
	return IsTLS(address) && IsUnder(HostOf(address), domains...)
}

// IsEndpoint reports whether the address is an HTTP or HTTPS URL with a host.
func IsEndpoint(address string) bool { return confdoc.IsURL(address, "http", "https") }

// SameEndpoint reports whether two addresses are equal except for trailing slashes.
func SameEndpoint(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// RegionOf returns the region that Infrastructure names in a field. It reports a zone there, and returns an empty
// string: the region is then unknown. The first group of the pattern is the region of a zone, perhaps with a hyphen at
// its end.
func (r Run) RegionOf(field, region string, zone *regexp.Regexp) string {
	parts := zone.FindStringSubmatch(region)
	if parts == nil {
		return region
	}
	r.ReportInfrastructure(field, diagnostic.Typo, "%s is a zone: write its region, %s", confdoc.Quoted(region),
		strings.TrimSuffix(parts[1], "-"))
	return ""
}

// Infrastructure is how messages name the cluster's Infrastructure.
const Infrastructure = "infrastructure.config.openshift.io/cluster"

// ReportInfrastructure adds a diagnostic about a field of Infrastructure.
func (r Run) ReportInfrastructure(field string, kind diagnostic.Kind, format string, args ...any) {
	r.Findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Object: Infrastructure, Key: field, Kind: kind,
		Message: fmt.Sprintf(format, args...)})
}
