package clouds

import (
	"net/url"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// An endpoint receives the credentials, or what is issued for them. Whoever may write the cloud configuration need not be
// allowed to read the Secret, so an endpoint is compared with a source that only its owner writes: the Secret itself or
// Infrastructure. One that neither names is Redirected.

// HostOf is the host of an address without its port; empty where there is none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// IsTLS reports whether what is sent to the address is encrypted.
func IsTLS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https"
}

// IsUnder reports whether the host is one of the domains or in one of them.
func IsUnder(host string, domains ...string) bool {
	return host != "" && slices.ContainsFunc(domains, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
}

// DomainOf is what stands behind the first label of a host.
func DomainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}

// IsEndpoint reports whether a request can be sent to the address.
func IsEndpoint(address string) bool {
	return confdoc.IsURL(address, "http", "https")
}

// SameEndpoint tells whether two addresses differ in nothing but a slash at the end.
func SameEndpoint(a, b string) bool {
	return strings.TrimRight(a, "/") == strings.TrimRight(b, "/")
}

// Infrastructure is how messages name the cluster's Infrastructure.
const Infrastructure = "infrastructure.config.openshift.io/cluster"
