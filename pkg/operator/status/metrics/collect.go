package metrics

import (
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Collect implements prometheus.Collector. What is not known is omitted, so that an alert sees no wrong value.
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
