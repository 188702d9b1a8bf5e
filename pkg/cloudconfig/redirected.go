package cloudconfig

import (
	"net/url"
	"slices"
	"strings"
)

// An endpoint receives the credentials, or what is issued for them. Whoever may write the cloud configuration need not be
// allowed to read the Secret, so an endpoint is compared with a source that only its owner writes: the Secret itself or
// Infrastructure. One that neither names is Redirected.

// hostOf is the host of an address without its port; empty where there is none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// isTLS reports whether what is sent to the address is encrypted.
func isTLS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https"
}

// isUnder reports whether the host is one of the domains or in one of them.
func isUnder(host string, domains ...string) bool {
	return host != "" && slices.ContainsFunc(domains, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
}

// domainOf is what stands behind the first label of a host.
func domainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}
