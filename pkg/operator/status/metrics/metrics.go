// Package metrics serves what the operator knows as metrics. It computes nothing: the collector reads conditions,
// revisions, the lease and Secrets when it is scraped, and controllers pass the facts that no object has.
package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const prefix = "cloud_controller_manager_operator_"

// The order is that of docs/metrics.md.
var (
	info = describe("info",
		"The operator's release, the platform that it manages, and whether it manages it. Always 1.",
		"version", "platform", "management_state")
	condition = describe("condition_seconds",
		"For how long a condition of cloudcontrollermanager/cluster has not been as it is in a settled cluster: those whose "+
			"names end in Available or Upgradeable have been False, all others True.", "condition", "reason")
	revisionWanted  = describe("revision_wanted", "The latest revision of the static pod.")
	revisionRunning = describe("revision_running",
		"The revision of the static pod that a control-plane node is at, 0 for none.", "node")
	leaseHolder = describe("lease_holder",
		"The node and the state of the process that holds the cloud-controller-manager's lease. Always 1.",
		"node", "state")
	leaseAge = describe("lease_renewal_age_seconds",
		"Seconds since the cloud-controller-manager's lease was last seen to change. A leader renews it every 26 seconds.")
	leaderless = describe("leaderless_seconds",
		"Seconds since the lease was last seen to change, while no process of a cloud-controller-manager leads, otherwise 0.")
	nodesWaiting = describe("nodes_waiting",
		"Nodes that have waited for more than 30 seconds to be initialized, by the cause.", "cause")
	nodesWaitingOldest = describe("nodes_waiting_oldest_seconds",
		"For how long the first of these nodes has waited, by the cause.", "cause")
	credentialExpiry = describe("credential_expiry_timestamp_seconds",
		"When a token or a certificate that the operator issues expires, in seconds since 1970. "+
			"The operator replaces each long before.", "credential")
	repairs = describe("node_repairs_total",
		"Repairs of files on control-plane nodes since the operator's process started. Each installs a revision again.")
	deafLeaders = describe("deaf_leaders_replaced_total",
		"Leaders that were replaced since the operator's process started, because they looked at no node.")
)

var all = []*prometheus.Desc{
	info, condition, revisionWanted, revisionRunning, leaseHolder, leaseAge, leaderless, nodesWaiting, nodesWaitingOldest,
	credentialExpiry, repairs, deafLeaders,
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

// Facts are what controllers know and no object has. The zero value is ready for use.
type Facts struct {
	repairs, deafLeaders atomic.Int64
	waiting              atomic.Pointer[[]nodecause.Waiting]
	vanished             atomic.Pointer[[]string]
}

// NodesWait replaces the nodes that wait.
func (f *Facts) NodesWait(waiting []nodecause.Waiting) { f.waiting.Store(&waiting) }

// NodesVanished replaces the names of the deleted Nodes that ran a pod of the operand.
func (f *Facts) NodesVanished(names []string) { f.vanished.Store(&names) }

// NodeRepaired counts a repair.
func (f *Facts) NodeRepaired() { f.repairs.Add(1) }

// LeaderReplaced counts a leader that was replaced because its node controller was not running.
func (f *Facts) LeaderReplaced() { f.deafLeaders.Add(1) }

// Credential is a Secret that expires.
type Credential struct {
	// Name is the value of the label credential.
	Name              string
	Secrets           corev1informers.SecretInformer
	Namespace, Secret string
	// Expiry returns when the first part of the Secret expires, zero if none does.
	Expiry func(*corev1.Secret) time.Time
}

type collector struct {
	dependencies.Deps
	credentials []Credential
	facts       *Facts
	version     string
	secrets     []corev1listers.SecretNamespaceLister
}

// New returns the collector, which reads only informers' caches. version is the operator's in the release payload.
func New(d dependencies.Deps, credentials []Credential, facts *Facts, version string) prometheus.Collector {
	dependencies.Require(d, credentials, facts, version)
	c := &collector{Deps: d, credentials: credentials, facts: facts, version: version}
	for _, credential := range credentials {
		dependencies.Require(credential)
		c.secrets = append(c.secrets, credential.Secrets.Lister().Secrets(credential.Namespace))
	}
	return c
}

// Register serves the collector at the process's /metrics until unregister is called.
func Register(c prometheus.Collector) (unregister func(), err error) {
	if err := legacyregistry.Registerer().Register(c); err != nil {
		return nil, fmt.Errorf("registering the operator's metrics: %w", err)
	}
	return func() { legacyregistry.Registerer().Unregister(c) }, nil
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range all {
		ch <- desc
	}
}

// Collect omits unknown values, so that an alert sees no wrong ones.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	now := c.Clock.Now()
	ch <- prometheus.MustNewConstMetric(repairs, prometheus.CounterValue, float64(c.facts.repairs.Load()))
	ch <- prometheus.MustNewConstMetric(deafLeaders, prometheus.CounterValue, float64(c.facts.deafLeaders.Load()))
	spec, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		klog.V(2).InfoS("The operator's metrics are incomplete", "err", err)
		return
	}
	effective, known, err := observedplatform.Effective(&spec.OperatorSpec, &status.OperatorStatus)
	if err == nil && known {
		send(ch, info, 1, c.version, effective.Name, string(spec.ManagementState))
	}
	collectConditions(ch, status.Conditions, now)
	if !effective.Managed() {
		return
	}
	collectRevisions(ch, status)
	for _, waiting := range ptr.Deref(c.facts.waiting.Load(), nil) {
		cause := waiting.Cause.String()
		send(ch, nodesWaiting, float64(waiting.Nodes), cause)
		send(ch, nodesWaitingOldest, now.Sub(waiting.Since).Seconds(), cause)
	}
	c.collectCredentials(ch)
	if err := c.collectLease(ch); err != nil {
		klog.V(2).InfoS("The operator's metrics are incomplete", "err", err)
	}
}

func send(ch chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func collectConditions(ch chan<- prometheus.Metric, conditions []operatorv1.OperatorCondition, now time.Time) {
	for _, c := range conditions {
		abnormal := operatorv1.ConditionTrue
		if strings.HasSuffix(c.Type, operatorv1.OperatorStatusTypeAvailable) ||
			strings.HasSuffix(c.Type, operatorv1.OperatorStatusTypeUpgradeable) {
			abnormal = operatorv1.ConditionFalse
		}
		if c.Status == abnormal {
			send(ch, condition, max(0, now.Sub(c.LastTransitionTime.Time).Seconds()), c.Type, c.Reason)
		}
	}
}

func collectRevisions(ch chan<- prometheus.Metric, status *operatorv1.StaticPodOperatorStatus) {
	if status.LatestAvailableRevision > 0 {
		send(ch, revisionWanted, float64(status.LatestAvailableRevision))
	}
	for _, node := range status.NodeStatuses {
		send(ch, revisionRunning, float64(node.CurrentRevision), node.NodeName)
	}
}

func (c *collector) collectCredentials(ch chan<- prometheus.Metric) {
	for i, credential := range c.credentials {
		secret, err := operatorclient.Find(c.secrets[i], "secret", credential.Namespace, credential.Secret)
		if err != nil || secret == nil {
			continue
		}
		if expiry := credential.Expiry(secret); !expiry.IsZero() {
			send(ch, credentialExpiry, float64(expiry.Unix()), credential.Name)
		}
	}
}

func (c *collector) collectLease(ch chan<- prometheus.Metric) error {
	view, err := c.View()
	record := view.Record()
	if err != nil || record.Lease == nil {
		return err
	}
	vanished := ptr.Deref(c.facts.vanished.Load(), nil)
	present := view.WithNodes(func(node string) bool { return !slices.Contains(vanished, node) }, vanished)
	holder, age := present.Holder(), max(0, view.Now().Sub(record.Since).Seconds())
	send(ch, leaseHolder, 1, holder.Node, holder.State.String())
	send(ch, leaseAge, age)
	if holder.State.Leads() {
		age = 0
	}
	send(ch, leaderless, age)
	return nil
}
