package openstack

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// providers are the load balancer providers that k8s.io/cloud-provider-openstack v1.36.0 supports (supportedLBProvider
// in pkg/openstack/openstack.go). It passes others to Octavia.
var providers = []string{"amphora", "octavia", "ovn", "f5", "amphorav2"}

// ovn supports only one algorithm: OVN_NATIVE_LB_ALGORITHMS in ovn_octavia_provider/common/constants.py.
const (
	ovn          = "ovn"
	ovnAlgorithm = "SOURCE_IP_PORT"
)

// checkLoadBalancers reports settings with which Octavia creates no load balancers, or other ones than intended.
func (o rewriter) checkLoadBalancers() {
	for _, e := range o.Root.Entries {
		if e.Name == "LoadBalancerClass" && e.Sub == "" {
			o.ReportAt(e.Position, diagnostic.Typo, "section [LoadBalancerClass] has no name, so no Service can use it: "+
				`write [LoadBalancerClass "name"]`)
		}
	}
	balancer := o.Value("LoadBalancer")
	if balancer.String("enabled") == "false" {
		return
	}
	provider, method := balancer.Get("lb-provider"), balancer.Get("lb-method")
	o.checkEmpty(method)
	if provider.String() == "haproxy" {
		o.Reportf(provider, diagnostic.Doubtful, "lb-provider haproxy is Neutron's, whose load balancers OpenStack has "+
			"removed: write amphora, or another provider of Octavia")
	}
	if meant := confdoc.Nearest(provider.String(), providers); meant != "" && meant != provider.Text {
		o.Reportf(provider, diagnostic.Typo, "lb-provider is %s; did you mean %q?", confdoc.Quoted(provider.Text), meant)
	} else if named := cmp.Or(method.String(), algorithms[0]); meant == ovn && named != ovnAlgorithm &&
		slices.Contains(algorithms, named) {
		o.Reportf(cmp.Or(method, provider), diagnostic.Typo, "lb-provider is ovn, which cannot use lb-method %s: "+
			"write lb-method = %s", named, ovnAlgorithm)
	}
	o.checkMonitor()
	o.checkContainer(balancer.Get("default-tls-container-ref"), balancer.Get("container-store"))
}

const barbican = "barbican"

// checkContainer reports a reference with which the provider creates no load balancer (ensureLoadBalancer's checks in
// pkg/openstack/loadbalancer.go): it takes the kind from the last part but one.
func (o rewriter) checkContainer(reference, store *confdoc.Node) {
	parts := strings.Split(reference.String(), "/")
	if reference.String() == "" || store != nil && store.Text != barbican ||
		len(parts) > 1 && slices.Contains([]string{"containers", "secrets"}, parts[len(parts)-2]) {
		return
	}
	o.Reportf(reference, diagnostic.Typo, "default-tls-container-ref is %s, but must end in /containers/<ID> or "+
		"/secrets/<ID>, as Barbican prints it", confdoc.Quoted(reference.Text))
}

func (o rewriter) checkEmpty(method *confdoc.Node) {
	if method != nil && !method.Blank && method.Text == "" {
		o.Reportf(method, diagnostic.Typo, "lb-method is empty, which replaces the default, so no load balancer gets a "+
			"pool: remove the line")
	}
}

// minUDPDelay is the default of udp_connect_min_interval_health_monitor in octavia/common/config.py.
const minUDPDelay = 3 * time.Second

// checkMonitor reports health checks that time out after the next one starts. Octavia documents that the timeout must
// be less than the delay (https://docs.openstack.org/api-ref/load-balancer/v2/#create-health-monitor), but accepts
// other values, and OpenShift's documentation has equal ones.
func (o rewriter) checkMonitor() {
	balancer := o.Value("LoadBalancer")
	setting := func(key string, byDefault time.Duration) time.Duration {
		if named, err := time.ParseDuration(balancer.String(key)); err == nil {
			return named
		}
		return byDefault
	}
	// The defaults are those of ReadConfig in pkg/openstack/openstack.go.
	delay, timeout := setting("monitor-delay", 5*time.Second), setting("monitor-timeout", 3*time.Second)
	if timeout > delay {
		o.Reportf(cmp.Or(balancer.Get("monitor-timeout"), balancer.Get("monitor-delay")), diagnostic.Doubtful,
			"monitor-timeout, %s, is more than monitor-delay, %s, but Octavia wants it to be less: correct one of them",
			timeout, delay)
	}
	if delay < minUDPDelay {
		o.Reportf(balancer.Get("monitor-delay"), diagnostic.Doubtful, "monitor-delay is %s, but Octavia's minimum for UDP "+
			"is %s: Services with a port of UDP get no health monitor; write %[2]s or more", delay, minUDPDelay)
	}
}

// checkNetworks reports networks that are given by ID or as a list: the provider compares whole values with names, and
// if internal-network-name has any value, even an empty one, nodes get no address in other networks
// (pkg/openstack/instances_addresses.go). It also reports a missing IP family.
func (o rewriter) checkNetworks() {
	if o.IsTrue("Networking", "ipv6-support-disabled") {
		o.CheckIPFamilies(o.Value("Networking", "ipv6-support-disabled"), diagnostic.Ambiguous,
			"ipv6-support-disabled is true", "remove the line", clouds.IPv4)
	}
	names := map[string][]*confdoc.Node{}
	for _, e := range o.Value("Networking").Members() {
		names[e.Name] = append(names[e.Name], e.Value)
		if e.Value.Blank { // it empties the list
			names[e.Name] = nil
		}
	}
	o.checkNames("public-network-name", names["public-network-name"], diagnostic.Doubtful)
	kind := diagnostic.Typo
	if slices.ContainsFunc(names["internal-network-name"], func(n *confdoc.Node) bool { return isNetworkName(n.Text) }) {
		kind = diagnostic.Doubtful
	}
	o.checkNames("internal-network-name", names["internal-network-name"], kind)
}

func isNetworkName(text string) bool {
	return text != "" && strings.TrimSpace(text) == text && !strings.Contains(text, ",")
}

func (o rewriter) checkNames(key string, names []*confdoc.Node, kind diagnostic.Kind) {
	for _, n := range names {
		switch {
		case confdoc.IsUUID(n.Text):
			o.Reportf(n, diagnostic.Typo, "%s is %s, but the cloud-controller-manager compares names, not IDs: "+
				"write the name of the network", key, confdoc.Quoted(n.Text))
		case n.Text == "" && key == "public-network-name", isNetworkName(n.Text):
		case n.Text == "":
			o.Reportf(n, kind, "%s is empty, which is the name of no network, so nodes get no address: remove the line", key)
		case strings.Contains(n.Text, ","):
			o.Reportf(n, kind, "%s is %s, which is one name: for several networks, write several lines",
				key, confdoc.Quoted(n.Text))
		default:
			o.Reportf(n, kind, "%s is %s, whose whitespace is part of the name: remove it", key, confdoc.Quoted(n.Text))
		}
	}
}
