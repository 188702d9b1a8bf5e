package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	preflights "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestPreflights tries a corpus of changes that no parser can judge, with the real cloud-controller-manager of each
// platform that has a preflight. PLATFORM names one platform; with E2E_LONG it tests all of them whose
// cloud-controller-manager can be built here.
func TestPreflights(t *testing.T) {
	names := slices.DeleteFunc(tested(t), func(name string) bool { return !hasPreflight(name) })
	require.NotEmpty(t, names, "PLATFORM has no preflight")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s := newStory(startSuite(t, devcluster.Options{
				Name: "e2e-preflight-" + name, Platform: storyPlatforms[name].platform, Nodes: nodes, Progress: os.Stderr,
				CCM: ccm.Environment(),
			}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader")), name)
			s.awaitSettled(t, 1, rolloutLimit)
			s.requireOneLeader(t)
			if _, has := s.cloud.(balancing); has {
				s.createBalanced(t, balancerAnnotations[s.platform]) // What a preflight might write is about a Service.
			}
			for _, c := range corpus(name) {
				t.Run(c.name, func(t *testing.T) { s.testPreflightOf(t, &c) })
			}
			t.Run("the accounts have the rights that they need", func(t *testing.T) { s.requireRights(t, name) })
		})
	}
}

// hasPreflight reports whether changes are tried on a platform.
func hasPreflight(name string) bool {
	p, _ := platform.ByName(name)
	return p.Preflight
}

// testPreflightOf makes a change. A bad one is rejected with its class before it becomes a revision; a good one rolls
// out, and its preflight shows that it works.
func (s *cloudStory) testPreflightOf(t *testing.T, c *preflightChange) {
	t.Helper()
	fmt.Fprintln(os.Stderr, "== testing:", c.name)
	s.monitor.Begin(c.name)
	if c.class == "" {
		s.testGoodChange(t, c)
	} else {
		s.testBadChange(t, c)
	}
	s.requireAnnounced(t.Context(), t)
}

// onlyLeaderWrites makes the cloud refuse what another node than the leader's would change, until end is called. A
// preflight never runs on the node of the leader.
func (s *cloudStory) onlyLeaderWrites(t *testing.T) (end func()) {
	t.Helper()
	leader := s.requireOneLeader(t)
	i := slices.IndexFunc(s.Nodes(), func(n *node.Node) bool { return n.Name() == leader })
	s.cloud.OnlyWriter(s.Nodes()[i].IP(), clouds[s.name].isRead)
	return func() { s.cloud.OnlyWriter("", nil) }
}

// testGoodChange checks that a change rolls out, and that only the leader changes the cloud until then.
func (s *cloudStory) testGoodChange(t *testing.T, c *preflightChange) {
	t.Helper()
	before := s.revision(t)
	s.expectRollout(c.name)
	end := s.onlyLeaderWrites(t)
	defer end()
	began, calls := time.Now(), len(s.cloud.Calls())
	c.do(t, s)
	s.await(t, "a revision", goodLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	s.figure("good change: %s; the revision after %s", c.name, rounded(began))
	s.requireReads(t, calls)
	if !c.untried {
		s.requirePreflightSucceeded(t, began.Truncate(time.Second))
	}
	end() // another process leads at the end of the rollout
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.requireOneLeader(t)
}

// held are the classes that the cloud may cause. Such a change waits, and a notice tells it: only what the leader reaches
// between two tries shows that the change is to blame.
var held = []string{"Unreachable", "NoAnswer"}

// testBadChange checks that a change becomes no revision and moves no leader, and undoes it.
func (s *cloudStory) testBadChange(t *testing.T, c *preflightChange) {
	t.Helper()
	before, former, containers := s.revision(t), s.inputs(t), s.operands.containers()
	_, led, err := s.leader(t.Context())
	require.NoError(t, err)
	if !slices.Contains(held, c.class) {
		s.monitor.Expect(monitor.Degraded("", c.name))
	}
	defer s.onlyLeaderWrites(t)()
	began, calls := time.Now(), len(s.cloud.Calls())
	func() {
		defer s.undo(t, c, former)
		c.do(t, s)
		limit := visibleLimit
		if c.restarts {
			limit = withRestart
		}
		result, shows := trial.Failed, "Degraded"
		if slices.Contains(held, c.class) {
			result, shows = trial.Inconclusive, "notice"
			s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionTrue, limit,
				"a cloud-controller-manager with the changed inputs, on node/", "; what ran before stays in use; it is tried again at ")
			require.NoError(t, s.clean(t.Context()), "it may be the cloud")
		} else {
			s.await(t, "Degraded=True because of the preflight", limit, func(ctx context.Context) error {
				return s.degradedWith(ctx, "a cloud-controller-manager with the changed inputs, on node/")
			})
		}
		visible := rounded(began)
		verdict := s.verdict(t)
		require.Equal(t, result, verdict.Result, verdict.Message)
		require.Equal(t, c.class, verdict.Class, verdict.Message)
		all, rejected := s.requireReads(t, calls)
		if c.class == trial.RejectedLogin {
			require.LessOrEqual(t, rejected, max(1, clouds[s.name].rejectedLogins), "logins that the cloud has rejected")
		}
		s.figure("bad change: %s; %s, %s after %s, %d calls of the cloud, %d of them rejected; %s", c.name,
			verdict.Class, shows, visible, all, rejected, verdict.Message)
		s.requirePreflightGone(t)
	}()
	limit := cleanLimit
	if c.restarts {
		limit = withRestart
	}
	s.await(t, "a clean ClusterOperator", limit, s.clean)
	s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionFalse, limit)
	require.Equal(t, before, s.awaitSettled(t, before, briefly), "no new revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	_, leads, err := s.leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, led.Spec.HolderIdentity, leads.Spec.HolderIdentity)
	require.Equal(t, led.Spec.AcquireTime, leads.Spec.AcquireTime)
}

// undo ends what a change did.
func (s *cloudStory) undo(t *testing.T, c *preflightChange, former *userInputs) {
	t.Helper()
	s.restore(t, former)
	if c.undo != nil {
		c.undo(s, t)
	}
}

// isRevision returns nil if the latest revision is at least the given one.
func (s *suite) isRevision(ctx context.Context, atLeast int32) error {
	resource, err := s.resource(ctx)
	if err == nil && resource.Status.LatestAvailableRevision < atLeast {
		err = fmt.Errorf("revision %d is the latest", resource.Status.LatestAvailableRevision)
	}
	return err
}

// verdict returns that of the last preflight.
func (s *suite) verdict(t *testing.T) *trial.Verdict {
	t.Helper()
	secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), preflights.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	verdict := trial.Of(secret).Verdict
	require.NotNil(t, verdict)
	return verdict
}

// requireReads checks that the cloud has refused no write since onlyLeaderWrites. It returns how many calls there were
// since a number of calls, and how many of them the cloud rejected.
func (s *cloudStory) requireReads(t *testing.T, since int) (all, rejected int) {
	t.Helper()
	require.Empty(t, s.cloud.RefusedWrites(), "what changes the cloud, or is not known to read, and is not the leader's")
	for _, call := range s.cloud.Calls()[since:] {
		all++
		if call.Status >= http.StatusBadRequest {
			rejected++
		}
	}
	return all, rejected
}

// userInputs are what the changes of the corpus change.
type userInputs struct {
	configMaps  []*corev1.ConfigMap
	credentials map[string][]byte
	overrides   map[string]any
	platform    string
}

// inputs returns what is there now.
func (s *cloudStory) inputs(t *testing.T) *userInputs {
	t.Helper()
	in := &userInputs{}
	list, err := s.kube.CoreV1().ConfigMaps(configNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		in.configMaps = append(in.configMaps, &list.Items[i])
	}
	secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), s.secret, metav1.GetOptions{})
	require.NoError(t, err)
	in.credentials = secret.Data
	in.overrides = overridesOf(s.resourceObject(t))
	infrastructure, err := s.config.ConfigV1().Infrastructures().Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	text, err := json.Marshal(infrastructure.Status.PlatformStatus)
	require.NoError(t, err)
	in.platform = string(text)
	return in
}

// restore undoes what was changed since inputs.
func (s *cloudStory) restore(t *testing.T, former *userInputs) {
	t.Helper()
	now := s.inputs(t)
	for i, was := range former.configMaps {
		if !maps.Equal(was.Data, now.configMaps[i].Data) {
			for key, value := range was.Data {
				s.setConfigKey(t, was.Name, key, value)
			}
		}
	}
	if !maps.EqualFunc(former.credentials, now.credentials, slices.Equal) {
		s.setSecret(t, s.secret, former.credentials)
	}
	if fmt.Sprint(former.overrides) != fmt.Sprint(now.overrides) {
		s.setOverrides(t, former.overrides)
	}
	if former.platform != now.platform {
		s.patches("infrastructures", `{"status":{"platformStatus":`+former.platform+`}}`)(t)
	}
}

func (s *suite) resourceObject(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object, err := s.dynamic.Resource(ccmv1.Resource).Get(t.Context(), ccmv1.InstanceName, metav1.GetOptions{})
	require.NoError(t, err)
	return object
}

// overridesOf returns spec.unsupportedConfigOverrides, nil if there is none.
func overridesOf(resource *unstructured.Unstructured) map[string]any {
	spec, _ := resource.Object["spec"].(map[string]any)
	overrides, _ := spec["unsupportedConfigOverrides"].(map[string]any)
	return overrides
}

// setOverrides replaces spec.unsupportedConfigOverrides.
func (s *suite) setOverrides(t *testing.T, overrides map[string]any) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object := s.resourceObject(t)
		unstructured.RemoveNestedField(object.Object, "spec", "unsupportedConfigOverrides")
		if overrides != nil {
			if err := unstructured.SetNestedMap(object.Object, overrides, "spec", "unsupportedConfigOverrides"); err != nil {
				return err
			}
		}
		_, err := s.dynamic.Resource(ccmv1.Resource).Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	}))
}

// setArgument passes a flag to the cloud-controller-manager.
func (s *suite) setArgument(t *testing.T, flag, value string) {
	t.Helper()
	overrides := overridesOf(s.resourceObject(t))
	if overrides == nil {
		overrides = map[string]any{}
	}
	require.NoError(t, unstructured.SetNestedStringSlice(overrides, []string{value}, "extendedArguments", flag))
	s.setOverrides(t, overrides)
}
