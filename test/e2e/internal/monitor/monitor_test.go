package monitor

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// reported is a ClusterOperator with conditions as "Available=True"; a message may follow after a colon.
func reported(conditions ...string) *configv1.ClusterOperator {
	operator := &configv1.ClusterOperator{}
	for _, condition := range conditions {
		condition, message, _ := strings.Cut(condition, ":")
		name, status, _ := strings.Cut(condition, "=")
		operator.Status.Conditions = append(operator.Status.Conditions, configv1.ClusterOperatorStatusCondition{
			Type: configv1.ClusterStatusConditionType(name), Status: configv1.ConditionStatus(status),
			Reason: "R", Message: message,
		})
	}
	return operator
}

func held(by string) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(by)}}
}

func pod(node string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ccm-" + node, Labels: map[string]string{"revision": "1"}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func revision(latest int32) *ccmv1.CloudControllerManager {
	resource := &ccmv1.CloudControllerManager{}
	resource.Status.LatestAvailableRevision = latest
	resource.Status.NodeStatuses = []operatorv1.NodeStatus{{NodeName: "a", CurrentRevision: latest}}
	return resource
}

func node(taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for _, taint := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: taint, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

// healthy has started, leads and is initialized.
func healthy(m *Monitor) {
	m.Begin("start")
	m.Expect(Rollout("the first revision"))
	m.ClusterOperator(reported("Available=True", "Degraded=False", "Progressing=False"))
	m.Pod(pod("a", corev1.ConditionTrue), true)
	m.Pod(pod("b", corev1.ConditionTrue), true)
	m.Lease(held("a_1"))
	m.Resource(revision(1))
	m.Node(node(), true)
	m.Begin("work")
}

// unannounced returns the message of a violation in the step "work".
func unannounced(k kind, what string) []string {
	return []string{string(k) + `, which the step "work" did not announce: ` + what}
}

func TestATransitionIsAViolationUnlessItWasAnnounced(t *testing.T) {
	for name, tc := range map[string]struct {
		series   func(*Monitor)
		announce []Expectation
		want     []string
	}{
		"Available False": {
			series: func(m *Monitor) { m.ClusterOperator(reported("Available=False:no leader", "Degraded=False")) },
			want:   unannounced(unavailable, `clusteroperator Available True -> False (R: no leader)`),
		},
		"Available Unknown": {
			series: func(m *Monitor) { m.ClusterOperator(reported("Available=Unknown", "Degraded=False")) },
			want:   unannounced(unavailable, `clusteroperator Available True -> Unknown`),
		},
		"a ClusterOperator that is gone": {
			series: func(m *Monitor) { m.ClusterOperator(nil) },
			want:   unannounced(unavailable, `clusteroperator Available True -> none`),
		},
		"Available False, announced": {
			series:   func(m *Monitor) { m.ClusterOperator(reported("Available=False:no leader")) },
			announce: []Expectation{Unavailable("no leader", "the leader is killed")},
		},
		"Degraded True for a moment": {
			series: func(m *Monitor) {
				m.ClusterOperator(reported("Available=True", "Degraded=True:bad"))
				m.ClusterOperator(reported("Available=True", "Degraded=False"))
			},
			want: unannounced(degraded, `clusteroperator Degraded False -> True (R: bad)`),
		},
		"Degraded True with another message than announced": {
			series:   func(m *Monitor) { m.ClusterOperator(reported("Available=True", "Degraded=True:bad")) },
			announce: []Expectation{Degraded("worse", "the file is broken")},
			want:     unannounced(degraded, `clusteroperator Degraded False -> True (R: bad)`),
		},
		"Degraded True twice, announced once": {
			series: func(m *Monitor) {
				for range 2 {
					m.ClusterOperator(reported("Available=True", "Degraded=True:bad"))
					m.ClusterOperator(reported("Available=True", "Degraded=False"))
				}
			},
			announce: []Expectation{Degraded("bad", "the file is broken")},
			want:     unannounced(degraded, `clusteroperator Degraded False -> True (R: bad)`),
		},
		"Degraded True twice, announced twice": {
			series: func(m *Monitor) {
				for range 2 {
					m.ClusterOperator(reported("Available=True", "Degraded=True:bad"))
					m.ClusterOperator(reported("Available=True", "Degraded=False"))
				}
			},
			announce: []Expectation{Degraded("bad", "the file is broken").Times(2)},
		},
		"another message of the same condition": {
			series: func(m *Monitor) { m.ClusterOperator(reported("Available=True:others")) },
		},
		"Progressing comes and goes with any rollout": {
			series: func(m *Monitor) { m.ClusterOperator(reported("Available=True", "Progressing=True")) },
		},
		"another holder": {
			series: func(m *Monitor) { m.Lease(held("b_1")) },
			want:   unannounced(newLeader, `lease holder a_1 -> b_1`),
		},
		"another process on the same node": {
			series: func(m *Monitor) { m.Lease(held("")); m.Lease(held("a_2")) },
			want:   unannounced(newLeader, `lease holder none -> a_2`),
		},
		"the same holder after a pause": {series: func(m *Monitor) { m.Lease(held("")); m.Lease(held("a_1")) }},
		"a lease that was deleted and taken": {
			series:   func(m *Monitor) { m.Lease(nil); m.Lease(held("b_1")) },
			announce: []Expectation{NewLeader("the lease is deleted")},
		},
		"a revision without a cause": {
			series: func(m *Monitor) { m.Resource(revision(2)) },
			want:   unannounced(rollout, `latest revision 1 -> 2`),
		},
		"two revisions for one cause": {
			series:   func(m *Monitor) { m.Resource(revision(2)); m.Resource(revision(3)) },
			announce: []Expectation{Rollout("a key is changed")},
			want:     unannounced(rollout, `latest revision 2 -> 3`),
		},
		"one CCM less is no outage": {series: func(m *Monitor) { m.Pod(pod("a", corev1.ConditionFalse), true) }},
		"no CCM at all is one": {
			series: func(m *Monitor) {
				m.Pod(pod("a", corev1.ConditionFalse), true)
				m.Pod(pod("b", corev1.ConditionTrue), false)
			},
			want: unannounced(noneReady, `ready CCMs 1 -> 0 []`),
		},
		"no CCM at all, announced": {
			series: func(m *Monitor) {
				m.Pod(pod("a", corev1.ConditionTrue), false)
				m.Pod(pod("b", corev1.ConditionTrue), false)
			},
			announce: []Expectation{NoneReady("all are removed")},
		},
		"a node that is not ready": {series: func(m *Monitor) { m.Node(node("node.kubernetes.io/not-ready"), true) }},
		"a node that loses its initialization": {
			series: func(m *Monitor) { m.Node(node(uninitializedTaint), true) },
			want: unannounced(uninitialized,
				`node/a taints none -> uninitialized:NoSchedule`),
		},
		"a node that registers again, announced": {
			series: func(m *Monitor) {
				m.Node(node(), false)
				m.Node(node(uninitializedTaint), true)
				m.Node(node(), true)
			},
			announce: []Expectation{NodeDeleted("a", "a test deletes it"), Uninitialized("a", "it registers again")},
		},
		"a Node that is deleted": {
			series: func(m *Monitor) { m.Node(node(), false) },
			want:   unannounced(nodeDeleted, `node/a deleted`),
		},
		"a node that the cloud-controller-manager is asked for": {
			series: func(m *Monitor) {
				asked := node(uninitializedTaint)
				asked.Spec.Taints[0].Effect = corev1.TaintEffectPreferNoSchedule
				m.Node(asked, true)
			},
		},
		"a watch that lost events": {
			series: func(m *Monitor) {
				m.Missed("nodes", []metav1.Object{&metav1.ObjectMeta{Name: "a", ResourceVersion: "7"}})
			},
			want: unannounced(gap, `watch of nodes a is not seen at resource version 7`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(time.Now)
			healthy(m)
			m.Expect(tc.announce...)
			tc.series(m)
			require.Equal(t, tc.want, m.Violations())
			require.Empty(t, m.Violations(), "they are told once")
		})
	}
}

func TestAStartIsNoViolation(t *testing.T) {
	m := New(time.Now)
	m.ClusterOperator(reported("Available=Unknown", "Degraded=Unknown"))
	m.ClusterOperator(reported("Available=False", "Degraded=False"))
	m.Node(node(uninitializedTaint), true)
	m.Lease(held("a_1"))
	m.ClusterOperator(reported("Available=True", "Degraded=False"))
	m.Node(node(), true)
	require.Empty(t, m.Violations())
}

func TestAnAnnouncementEndsWithItsStep(t *testing.T) {
	m := New(time.Now)
	healthy(m)
	m.Expect(Rollout("a key is changed"))
	m.Begin("rest")
	m.Resource(revision(2))
	require.Equal(t, []string{
		`a new revision, which the step "rest" did not announce: latest revision 1 -> 2`,
	}, m.Violations())
}

func TestTheTimelineTellsWhenAndWhy(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	m := New(func() time.Time { return at })
	healthy(m)
	at = at.Add(62500 * time.Millisecond)
	m.Expect(NewLeader("the leader's pod is replaced"))
	m.Lease(held("b_1"))
	m.ClusterOperator(reported("Available=True", "Degraded=True:first\nsecond"))
	var out strings.Builder
	require.NoError(t, m.WriteTimeline(&out))
	require.Equal(t, `=   0:00.0  start
    0:00.0  clusteroperator Available        none -> True
    0:00.0  clusteroperator Progressing      none -> False
    0:00.0  clusteroperator Degraded         none -> False
    0:00.0  ready CCMs                       0 -> 1 [a@1]
    0:00.0  ready CCMs                       1 -> 2 [a@1 b@1]
    0:00.0  lease holder                     none -> a_1
    0:00.0  latest revision                  0 -> 1  [announced: the first revision]
    0:00.0  node/a revision                  0 -> 1
    0:00.0  node/a taints                    new -> none
=   0:00.0  work
    1:02.5  lease holder                     a_1 -> b_1  [announced: the leader's pod is replaced]
    1:02.5  clusteroperator Progressing      False -> none
!   1:02.5  clusteroperator Degraded         False -> True (R: first; second)  [not announced]
`, out.String())
}
