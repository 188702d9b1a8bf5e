package admissionpolicies

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const (
	deletions = "openshift-cloud-controller-manager-node-deletion"
	nodes     = "openshift-cloud-controller-manager-operand-nodes"
	manager   = "openshift-cloud-controller-manager-node-manager"

	cvo = "the cluster-version-operator restores it within minutes, unless spec.overrides of clusterversion/version " +
		"excludes it"
)

// world is a controller with a fake API, whose objects the informers have too.
type world struct {
	*controller
	client   *fake.Clientset
	operator v1helpers.OperatorClient
	recorder events.InMemoryRecorder
	timer    *controllertest.Timer
	informer map[string]cache.Indexer
}

// newWorld returns a world on a platform, in which the payload's objects exist as change leaves them.
func newWorld(t *testing.T, observed string, change func(all *payload)) *world {
	t.Helper()
	all := readPayload()
	change(&all)
	var objects []runtime.Object
	for _, policy := range all.policies {
		objects = append(objects, policy)
	}
	for _, binding := range all.bindings {
		objects = append(objects, binding)
	}
	if all.labels != nil {
		objects = append(objects, all.labels)
	}
	if all.labelsBinding != nil {
		objects = append(objects, all.labelsBinding)
	}
	client := fake.NewClientset(objects...)
	shared := informers.NewSharedInformerFactory(client, 0).Admissionregistration().V1()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	w := &world{client: client, recorder: events.NewInMemoryRecorder("test", clock)}
	w.operator = v1helpers.NewFakeOperatorClient(
		&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}}, &operatorv1.OperatorStatus{}, nil)
	w.timer = controllertest.NewTimer(clocktesting.NewFakeClock(time.Unix(0, 0)), w.recorder)
	w.informer = map[string]cache.Indexer{
		"policies": shared.ValidatingAdmissionPolicies().Informer().GetIndexer(),
		"bindings": shared.ValidatingAdmissionPolicyBindings().Informer().GetIndexer(),
	}
	for _, policy := range all.policies {
		require.NoError(t, w.informer["policies"].Add(policy))
	}
	for _, binding := range all.bindings {
		require.NoError(t, w.informer["bindings"].Add(binding))
	}
	w.controller = &controller{
		Deps:     dependencies.Deps{Operator: controllertest.StaticPods(w.operator), Kube: client, Recorder: w.recorder},
		policies: shared.ValidatingAdmissionPolicies(), bindings: shared.ValidatingAdmissionPolicyBindings(),
		rights: func(p platform.Platform) ([]configv1.ObjectReference, error) {
			if p.NodeManagerImage == "" {
				return nil, nil
			}
			return []configv1.ObjectReference{{
				Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies", Name: manager,
			}}, nil
		},
		payload: readPayload(), synced: func() bool { return true },
	}
	return w
}

// judged returns the condition after a sync.
func (w *world) judged(t *testing.T) operatorv1.OperatorCondition {
	t.Helper()
	require.NoError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)))
	_, status, _, err := w.operator.GetOperatorState()
	require.NoError(t, err)
	condition := v1helpers.FindOperatorCondition(status.Conditions, ConditionType)
	require.NotNil(t, condition)
	condition.LastTransitionTime = metav1.Time{}
	return *condition
}

func (p *payload) without(names ...string) {
	p.policies = slices.DeleteFunc(p.policies, func(policy *admissionv1.ValidatingAdmissionPolicy) bool {
		return slices.Contains(names, policy.Name)
	})
}

func (p *payload) policy(name string) *admissionv1.ValidatingAdmissionPolicy {
	for _, policy := range p.policies {
		if policy.Name == name {
			return policy
		}
	}
	return nil
}

func TestAPolicyThatIsNotEnforcedIsReported(t *testing.T) {
	for name, tc := range map[string]struct {
		platform string
		change   func(*payload)
		want     operatorv1.OperatorCondition
	}{
		"the payload as it is": {change: func(*payload) {}},
		"a policy that was deleted": {
			change: func(p *payload) { p.without(deletions) },
			want: operatorv1.OperatorCondition{
				Reason: "PolicyMissing",
				Message: "nothing holds the cloud-controller-manager's deletions of Nodes, because validatingadmissionpolicy/" +
					deletions + " does not exist; " + cvo,
			},
		},
		"a policy that does not match any more": {
			change: func(p *payload) {
				p.policy(deletions).Spec.MatchConditions[0].Expression = "false"
			},
			want: operatorv1.OperatorCondition{
				Reason: "PolicyChanged",
				Message: "perhaps nothing holds the cloud-controller-manager's deletions of Nodes, because spec of " +
					"validatingadmissionpolicy/" + deletions + " is not that of this release; " + cvo,
			},
		},
		"a binding that only audits": {
			change: func(p *payload) {
				p.bindings[deletions].Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
			},
			want: operatorv1.OperatorCondition{
				Reason: "PolicyChanged",
				Message: "perhaps nothing holds the cloud-controller-manager's deletions of Nodes, because spec of " +
					"validatingadmissionpolicybinding/" + deletions + " is not that of this release; " + cvo,
			},
		},
		"two policies, and the missing one gives the reason": {
			change: func(p *payload) {
				p.bindings[deletions].Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
				p.without(nodes)
			},
			want: operatorv1.OperatorCondition{
				Reason: "PolicyMissing",
				Message: "nothing limits what the cloud-controller-manager writes to Nodes, because validatingadmissionpolicy/" +
					nodes + " does not exist; " + cvo + "\n" +
					"perhaps nothing holds the cloud-controller-manager's deletions of Nodes, because spec of " +
					"validatingadmissionpolicybinding/" + deletions + " is not that of this release; " + cvo,
			},
		},
		"the policy of labels was deleted": {
			change: func(p *payload) { p.labels = nil },
			want: operatorv1.OperatorCondition{
				Reason: "PolicyMissing",
				Message: "nothing keeps the labels of a living Node while the cloud-controller-manager is asked for its machine, " +
					"because mutatingadmissionpolicy/" + nodes + " does not exist; " + cvo,
			},
		},
		"the policy of labels mutates nothing": {
			change: func(p *payload) { p.labels.Spec.Mutations = nil },
			want: operatorv1.OperatorCondition{
				Reason: "PolicyChanged",
				Message: "perhaps nothing keeps the labels of a living Node while the cloud-controller-manager is asked for its " +
					"machine, because spec of mutatingadmissionpolicy/" + nodes + " is not that of this release; " + cvo,
			},
		},
		"the binding of the policy of labels was deleted": {
			change: func(p *payload) { p.labelsBinding = nil },
			want: operatorv1.OperatorCondition{
				Reason: "BindingMissing",
				Message: "nothing keeps the labels of a living Node while the cloud-controller-manager is asked for its machine, " +
					"because mutatingadmissionpolicybinding/" + nodes + " does not exist; " + cvo,
			},
		},
		"the binding of the policy of labels matches little": {
			change: func(p *payload) {
				p.labelsBinding.Spec.MatchResources = &admissionv1.MatchResources{
					ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				}
			},
			want: operatorv1.OperatorCondition{
				Reason: "PolicyChanged",
				Message: "perhaps nothing keeps the labels of a living Node while the cloud-controller-manager is asked for its " +
					"machine, because spec of mutatingadmissionpolicybinding/" + nodes + " is not that of this release; " + cvo,
			},
		},
		"the policy of a node manager, where there is none": {change: func(p *payload) { p.without(manager) }},
		"the policy of a node manager, where there is one": {
			platform: "azure",
			change:   func(p *payload) { p.without(manager) },
			want: operatorv1.OperatorCondition{
				Reason: "PolicyMissing",
				Message: "nothing limits a cloud-node-manager to its own Node, because validatingadmissionpolicy/" + manager +
					" does not exist; " + cvo,
			},
		},
		"no policy at all, on a platform without a cloud-controller-manager": {
			platform: "none", change: func(p *payload) { *p = payload{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			on := tc.platform
			if on == "" {
				on = "openstack"
			}
			w := newWorld(t, `{"platform":"`+on+`"}`, tc.change)
			tc.want.Type, tc.want.Status = ConditionType, operatorv1.ConditionTrue
			if tc.want.Reason == "" {
				tc.want.Status, tc.want.Reason = operatorv1.ConditionFalse, "AsExpected"
			}
			require.Equal(t, tc.want, w.judged(t))
			for _, action := range w.client.Actions() {
				require.Equal(t, "get", action.GetVerb(), "%v", action)
			}
		})
	}
}

// As where the API server is older, or its resource is off.
func TestAnAPIServerWithoutMutatingAdmissionPoliciesIsNoFinding(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(*payload) {})
	w.client.PrependReactor("get", "mutatingadmissionpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewGenericServerResponse(404, "get", admissionv1.Resource("mutatingadmissionpolicies"),
			nodes, "404 page not found", 0, true)
	})
	require.Equal(t, operatorv1.ConditionFalse, w.judged(t).Status)

	w.client.PrependReactor("get", "mutatingadmissionpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("refused")
	})
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)),
		"reading mutatingadmissionpolicy/"+nodes+": refused")
}

func TestWhatIsMissingIsReportedAlsoWhileSomethingElseCannotBeRead(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(all *payload) { all.without(deletions) })
	w.client.PrependReactor("get", "mutatingadmissionpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("refused")
	})
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)),
		"reading mutatingadmissionpolicy/"+nodes+": refused")
	_, status, _, err := w.operator.GetOperatorState()
	require.NoError(t, err)
	condition := v1helpers.FindOperatorCondition(status.Conditions, ConditionType)
	require.NotNil(t, condition)
	require.Equal(t, "PolicyMissing", condition.Reason)
	require.Contains(t, condition.Message, "validatingadmissionpolicy/"+deletions+" does not exist")
}

// No informer has it, so nothing tells of a change.
func TestThePolicyOfLabelsIsReadAgain(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(*payload) {})
	called, err := w.timer.Run(t.Context(), w.sync, 11*time.Minute)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 5 * time.Minute, 10 * time.Minute}, called)
}

func TestADeletedBindingIsCreatedAgain(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(p *payload) { delete(p.bindings, deletions) })
	failing := true
	w.client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return failing, nil, errors.New("refused")
	})
	require.Equal(t, operatorv1.OperatorCondition{
		Type: ConditionType, Status: operatorv1.ConditionTrue, Reason: "BindingMissing",
		Message: "nothing holds the cloud-controller-manager's deletions of Nodes, because validatingadmissionpolicybinding/" +
			deletions + " does not exist, and the operator cannot create it: refused; " + cvo,
	}, w.judged(t))
	require.Empty(t, w.recorder.Events())

	failing = false
	require.Equal(t, operatorv1.ConditionFalse, w.judged(t).Status)
	bound, err := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
		Get(t.Context(), deletions, metav1.GetOptions{})
	require.NoError(t, err)
	bound.ManagedFields = nil
	require.Equal(t, readPayload().bindings[deletions], bound)
	require.Len(t, w.recorder.Events(), 1)
	require.Equal(t, "validatingadmissionpolicybinding/"+deletions+" was missing, without which nothing holds the "+
		"cloud-controller-manager's deletions of Nodes; the operator created it again", w.recorder.Events()[0].Message)
}

func TestABindingThatCannotBeCreatedIsTriedAgain(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(p *payload) { delete(p.bindings, deletions) })
	w.client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("refused")
	})
	called, err := w.timer.Run(t.Context(), w.sync, 25*time.Second)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, called)
}

func TestWhatLostItsLabelIsReadLive(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(*payload) {})
	require.NoError(t, w.informer["policies"].Replace(nil, ""))
	require.NoError(t, w.informer["bindings"].Replace(nil, ""))
	require.Equal(t, operatorv1.ConditionFalse, w.judged(t).Status)
}

func TestNothingIsJudgedBeforeTheCachesAreThere(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, func(p *payload) { *p = payload{} })
	w.synced = func() bool { return false }
	called, err := w.timer.Run(t.Context(), w.sync, 1500*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, time.Second}, called)
	_, status, _, err := w.operator.GetOperatorState()
	require.NoError(t, err)
	require.Empty(t, status.Conditions)
	require.Empty(t, w.client.Actions())
}

func TestEveryPolicyOfThePayloadHasAPurposeAndTheLabel(t *testing.T) {
	selector, err := labels.Parse(Selector)
	require.NoError(t, err)
	all := readPayload()
	var names []string
	for _, policy := range all.policies {
		names = append(names, policy.Name)
		require.True(t, selector.Matches(labels.Set(policy.Labels)), policy.Name)
	}
	require.True(t, selector.Matches(labels.Set(all.labels.Labels)))
	require.Equal(t, all.labels.Name, all.labelsBinding.Spec.PolicyName)
	for policy, binding := range all.bindings {
		require.Contains(t, names, policy)
		require.True(t, selector.Matches(labels.Set(binding.Labels)), binding.Name)
	}
	var described []string
	for policy, purpose := range purposes {
		described = append(described, policy)
		require.False(t, strings.HasSuffix(purpose, "."), purpose)
	}
	require.ElementsMatch(t, names, described)
}
