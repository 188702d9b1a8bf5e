package metrics

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/legacyregistry"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const namespace = "openshift-cloud-controller-manager"

// cluster is a control plane of two nodes, on which m0 leads.
type cluster struct {
	*controlplanetest.Cluster
	spec   *operatorv1.StaticPodOperatorSpec
	status *operatorv1.StaticPodOperatorStatus
	facts  *Facts
	// secrets has when each Secret expires.
	secrets map[string]time.Time
}

func newCluster() *cluster {
	return &cluster{
		Cluster: controlplanetest.New("m0", "m1"),
		facts:   &Facts{},
		spec: &operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ManagementState: operatorv1.Managed,
			ObservedConfig:  runtime.RawExtension{Raw: []byte(`{"platform": "openstack"}`)},
		}},
		status: &operatorv1.StaticPodOperatorStatus{
			OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 7},
			NodeStatuses: []operatorv1.NodeStatus{
				{NodeName: "m0", CurrentRevision: 7}, {NodeName: "m1", CurrentRevision: 6},
			},
		},
	}
}

func (c *cluster) condition(name string, status operatorv1.ConditionStatus, reason string, since int) {
	c.status.Conditions = append(c.status.Conditions, operatorv1.OperatorCondition{
		Type: name, Status: status, Reason: reason, LastTransitionTime: controlplanetest.Stamp(controlplanetest.At(since)),
	})
}

// collector returns the collector at second 0.
func (c *cluster) collector(t *testing.T) prometheus.Collector {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(controlplanetest.Begin)
	caches := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	core := caches.Core().V1()
	for _, pod := range c.Pods {
		require.NoError(t, core.Pods().Informer().GetStore().Add(pod))
	}
	infrastructures := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1().Infrastructures()
	require.NoError(t, infrastructures.Informer().GetStore().Add(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: configv1.HighlyAvailableTopologyMode},
	}))
	lease, err := controlplane.NewLease(caches.Coordination().V1().Leases(), clock)
	require.NoError(t, err)
	if c.Lease != nil {
		c.Renew(-20)
		lease.See(c.Lease.DeepCopy(), controlplanetest.At(-60))
		renewed := c.Lease.DeepCopy()
		renewed.Spec.RenewTime.Time = renewed.Spec.RenewTime.Add(time.Second)
		lease.See(renewed, controlplanetest.At(-10))
	}
	var credentials []Credential
	for _, name := range []string{"kube-token", "serving-cert"} {
		expiry, exists := c.secrets[name]
		if exists {
			require.NoError(t, core.Secrets().Informer().GetStore().Add(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			}))
		}
		credentials = append(credentials, Credential{
			Name: name, Secrets: core.Secrets(), Namespace: namespace, Secret: name,
			Expiry: func(*corev1.Secret) time.Time { return expiry },
		})
	}
	return New(controllertest.Complete(t, dependencies.Deps{
		Operator: v1helpers.NewFakeStaticPodOperatorClient(c.spec, c.status, nil, nil),
		Lease:    lease, Target: caches, Infrastructures: infrastructures, Clock: clock,
	}), credentials, c.facts, "4.22.0")
}

// scrape returns the samples without the operator's prefix.
func (c *cluster) scrape(t *testing.T) []string {
	t.Helper()
	var samples []string
	for _, family := range c.gather(t) {
		var text strings.Builder
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
		for line := range strings.Lines(text.String()) {
			if !strings.HasPrefix(line, "#") {
				samples = append(samples, strings.TrimSpace(strings.TrimPrefix(line, prefix)))
			}
		}
	}
	return samples
}

// gather uses a pedantic registry, which compares every metric with its description.
func (c *cluster) gather(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c.collector(t)))
	families, err := registry.Gather()
	require.NoError(t, err)
	return families
}

func TestTheMetricsSayWhatTheOperatorKnows(t *testing.T) {
	settled := []string{
		`deaf_leaders_replaced_total 0`,
		`info{management_state="Managed",platform="openstack",version="4.22.0"} 1`,
		`leaderless_seconds 0`,
		`lease_holder{node="m0",state="leading"} 1`,
		`lease_renewal_age_seconds 10`,
		`node_repairs_total 0`,
		`revision_running{node="m0"} 7`,
		`revision_running{node="m1"} 6`,
		`revision_wanted 7`,
	}
	for name, tc := range map[string]struct {
		change    func(c *cluster)
		add, drop []string
	}{
		"a settled cluster": {
			change: func(c *cluster) {
				c.condition("CloudControllerManagerAvailable", operatorv1.ConditionTrue, "AsExpected", -500)
				c.condition("CloudConfigDegraded", operatorv1.ConditionFalse, "AsExpected", -500)
				c.condition("CloudConfigUpgradeable", operatorv1.ConditionTrue, "AsExpected", -500)
				c.condition("StaticPodsDegraded", operatorv1.ConditionUnknown, "NoData", -500)
			},
		},
		"conditions that are not normal have an age": {
			change: func(c *cluster) {
				c.condition("CloudControllerManagerAvailable", operatorv1.ConditionFalse, "NoLeader", -30)
				c.condition("CloudConfigDegraded", operatorv1.ConditionTrue, "Refused", -90)
				c.condition("TakingOver", operatorv1.ConditionTrue, "ReleasingLease", -5)
				c.condition("InTheFuture", operatorv1.ConditionTrue, "X", 5)
			},
			add: []string{
				`condition_seconds{condition="CloudConfigDegraded",reason="Refused"} 90`,
				`condition_seconds{condition="CloudControllerManagerAvailable",reason="NoLeader"} 30`,
				`condition_seconds{condition="InTheFuture",reason="X"} 0`,
				`condition_seconds{condition="TakingOver",reason="ReleasingLease"} 5`,
			},
		},
		"nobody leads": {
			change: func(c *cluster) { c.Exit("m0", 0, "") },
			add:    []string{`leaderless_seconds 10`, `lease_holder{node="m0",state="ended"} 1`},
			drop:   []string{`leaderless_seconds 0`, `lease_holder{node="m0",state="leading"} 1`},
		},
		"the leader's Node vanished": {
			change: func(c *cluster) { c.facts.NodesVanished([]string{"m0"}) },
			add:    []string{`leaderless_seconds 10`, `lease_holder{node="m0",state="cutoff"} 1`},
			drop:   []string{`leaderless_seconds 0`, `lease_holder{node="m0",state="leading"} 1`},
		},
		"there has been no lease": {
			change: func(c *cluster) { c.Lease = nil },
			drop: []string{
				`leaderless_seconds 0`, `lease_holder{node="m0",state="leading"} 1`, `lease_renewal_age_seconds 10`,
			},
		},
		"there has been no revision": {
			change: func(c *cluster) { c.status.LatestAvailableRevision, c.status.NodeStatuses = 0, nil },
			drop:   []string{`revision_running{node="m0"} 7`, `revision_running{node="m1"} 6`, `revision_wanted 7`},
		},
		"nodes wait, files were repaired, and a deaf leader was replaced": {
			change: func(c *cluster) {
				c.facts.LeaderReplaced()
				c.facts.NodeRepaired()
				c.facts.NodesWait([]nodecause.Waiting{
					{Cause: nodecause.Throttled, Nodes: 3, Since: controlplanetest.At(-120)},
					{Cause: nodecause.Unknown, Nodes: 1, Since: controlplanetest.At(-60)},
				})
			},
			add: []string{
				`deaf_leaders_replaced_total 1`,
				`node_repairs_total 1`,
				`nodes_waiting_oldest_seconds{cause="Throttled"} 120`,
				`nodes_waiting_oldest_seconds{cause="Unknown"} 60`,
				`nodes_waiting{cause="Throttled"} 3`,
				`nodes_waiting{cause="Unknown"} 1`,
			},
			drop: []string{`deaf_leaders_replaced_total 0`, `node_repairs_total 0`},
		},
		"credentials expire": {
			change: func(c *cluster) {
				c.secrets = map[string]time.Time{"kube-token": time.Unix(1800000000, 0), "serving-cert": {}}
			},
			add: []string{`credential_expiry_timestamp_seconds{credential="kube-token"} 1.8e+09`},
		},
		"a platform without a cloud-controller-manager": {
			change: func(c *cluster) { c.spec.ObservedConfig.Raw = []byte(`{"platform": "none"}`) },
			add:    []string{`info{management_state="Managed",platform="none",version="4.22.0"} 1`},
			drop:   slices.DeleteFunc(slices.Clone(settled), func(s string) bool { return strings.HasSuffix(s, `_total 0`) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.change(c)
			want := slices.DeleteFunc(slices.Clone(settled), func(s string) bool { return slices.Contains(tc.drop, s) })
			require.ElementsMatch(t, slices.Concat(want, tc.add), c.scrape(t))
		})
	}
}

func TestTheCollectorServesWhatItDescribes(t *testing.T) {
	c := newCluster()
	c.condition("CloudConfigDegraded", operatorv1.ConditionTrue, "Refused", -90)
	c.facts.NodesWait([]nodecause.Waiting{{Cause: nodecause.Throttled, Nodes: 3, Since: controlplanetest.At(-120)}})
	c.secrets = map[string]time.Time{"kube-token": time.Unix(1800000000, 0)}
	require.Len(t, c.gather(t), len(all))
	problems, err := testutil.CollectAndLint(c.collector(t))
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestAnEndedCollectorCanBeRegisteredAgain(t *testing.T) {
	for range 2 {
		unregister, err := Register(newCluster().collector(t))
		require.NoError(t, err)
		families, err := legacyregistry.DefaultGatherer.Gather()
		require.NoError(t, err)
		found := false
		for _, family := range families {
			found = found || family.GetName() == prefix+"revision_wanted"
		}
		require.True(t, found)
		_, err = Register(newCluster().collector(t))
		require.ErrorContains(t, err, "registering the operator's metrics: ")
		unregister()
	}
}

var described = regexp.MustCompile(`fqName: "(.*)", help: "(.*)", constLabels: \{\}, variableLabels: \{(.*)\}\}`)

// The names, the labels and their meaning are an interface: dashboards and alerts of others depend on them.
func TestTheDocumentListsEveryMetric(t *testing.T) {
	var want []string
	for _, desc := range all {
		parts := described.FindStringSubmatch(desc.String())
		require.NotNil(t, parts, desc.String())
		labels := "none"
		if parts[3] != "" {
			labels = "`" + strings.ReplaceAll(parts[3], ",", "`, `") + "`"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", parts[1], labels, parts[2]))
	}
	const file = "../../../../docs/metrics.md"
	document, err := os.ReadFile(file)
	require.NoError(t, err)
	head, rest, found := strings.Cut(string(document), "|---|---|---|\n")
	require.True(t, found)
	rows, tail, _ := strings.Cut(rest, "\n\n")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		golden := head + "|---|---|---|\n" + strings.Join(want, "\n") + "\n\n" + tail
		require.NoError(t, os.WriteFile(file, []byte(golden), 0o600))
	}
	require.Equal(t, want, strings.Split(rows, "\n"), "run make update-golden")
}

// Each label has the values of a constant list, or of the control plane's nodes, so the number of series does not grow
// with the cluster or with time.
func TestTheNumberOfSeriesIsBounded(t *testing.T) {
	c := newCluster()
	for i := range 60 { // more conditions than there are
		c.condition(fmt.Sprintf("Condition%dDegraded", i), operatorv1.ConditionTrue, "Reason", -90)
	}
	var waiting []nodecause.Waiting
	for cause := nodecause.Unknown; cause <= nodecause.Other; cause++ {
		waiting = append(waiting, nodecause.Waiting{Cause: cause, Nodes: 1000})
	}
	c.facts.NodesWait(waiting)
	require.Len(t, c.scrape(t), 60+2*len(waiting)+9)
}
