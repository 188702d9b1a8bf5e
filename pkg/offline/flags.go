package offline

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// knownFlags are the flags that the cloud-controller-managers of AWS, Azure, OpenStack and vSphere list for --help with
// k8s.io/cloud-provider v0.36, and those that the operator passes to Alibaba Cloud's. Some are those of one cloud only.
var knownFlags = strings.Fields(`
	allocate-node-cidrs authentication-kubeconfig authentication-skip-lookup
	authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure authorization-always-allow-paths
	authorization-kubeconfig authorization-webhook-cache-authorized-ttl
	authorization-webhook-cache-unauthorized-ttl bind-address cert-dir cidr-allocator-type client-ca-file
	cloud-config cloud-config-key cloud-config-secret-name cloud-config-secret-namespace cloud-provider
	cluster-cidr cluster-name concurrent-node-status-updates concurrent-node-syncs concurrent-service-syncs
	configure-cloud-routes contention-profiling controller-start-interval controllers disable-http2-serving
	enable-dynamic-reloading enable-leader-migration external-cloud-volume-plugin feature-gates
	health-probe-bind-addr help http2-max-streams-per-connection is-legacy-paravirtual kube-api-burst
	kube-api-content-type kube-api-qps kubeconfig leader-elect leader-elect-lease-duration
	leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
	leader-elect-resource-namespace leader-elect-retry-period leader-migration-config log-flush-frequency
	log-text-info-buffer-size log-text-split-stream logging-format master metrics-bind-addr min-resync-period
	node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-filter-requirements node-labels
	node-monitor-period node-status-update-frequency permit-address-sharing permit-port-sharing pprof-bind-addr
	profiling requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
	requestheader-group-headers requestheader-uid-headers requestheader-username-headers resources
	route-reconciliation-period secure-port service-cluster-ip-range tagging-controller-burst-limit
	tagging-controller-concurrent-node-syncs tagging-controller-enable-batching tagging-controller-rate-limit tags
	tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key
	use-service-account-credentials user-agent v version vmodule webhook-bind-address webhook-cert-dir
	webhook-disable-http2-serving webhook-secure-port webhook-tls-cert-file webhook-tls-cipher-suites
	webhook-tls-curve-preferences webhook-tls-min-version webhook-tls-private-key-file webhook-tls-sni-cert-key
	webhooks
`)

// formerFlags are flags that Kubernetes has removed, with those that replace them.
var formerFlags = map[string]string{"port": "secure-port", "address": "bind-address"}

// checkFlags warns about overridden flags that no cloud-controller-manager has and that resemble one: the process would
// exit. A flag that resembles none may be one of another release.
func (k *check) checkFlags(spec ccmv1.CloudControllerManagerSpec) {
	var overrides struct {
		ExtendedArguments map[string]json.RawMessage `json:"extendedArguments"`
	}
	if json.Unmarshal(spec.UnsupportedConfigOverrides.Raw, &overrides) != nil {
		return // empty, or reported by the operator's own check
	}
	for _, name := range slices.Sorted(maps.Keys(overrides.ExtendedArguments)) {
		// The parser of Kubernetes takes an underscore for a dash. The operator rejects leading dashes.
		meant := cmp.Or(formerFlags[name], confdoc.Nearest(name, knownFlags))
		if meant == "" || meant == strings.ReplaceAll(name, "_", "-") || strings.HasPrefix(name, "-") {
			continue
		}
		k.doubt(customccm.Object, "spec.unsupportedConfigOverrides.extendedArguments."+name, "the cloud-controller-manager "+
			"exits if it does not have the flag %s; did you mean %q?", confdoc.Quoted(name), meant)
	}
}
