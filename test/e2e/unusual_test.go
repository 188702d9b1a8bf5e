package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// unusual is a value that an installation may have, and that is wrong by some list only.
type unusual struct {
	name string
	// story is the platform, by its name in storyPlatforms.
	story string
	set   func(*suite, *testing.T)
	// has is what the file that the cloud-controller-manager reads has because of it.
	has string
}

var unusualValues = []unusual{
	{
		name: "a release without a feature gate that is on for all", story: "aws", has: "NLBSecurityGroupMode",
		set: func(s *suite, t *testing.T) { s.dropGate(t, "AWSServiceLBNetworkSecurityGroup") },
	},
	{
		name: "a cloud that the operator does not know", story: "azure",
		set: azureStatus(`"cloudName":"AzureGermanCloud"`),
	},
	{
		name: "a resource group that contradicts Infrastructure", story: "azure",
		set: azureStatus(`"networkResourceGroupName":"network"`),
	},
	{
		name: "a key that resembles another one", story: "openstack", has: "max-shared-lbs",
		set: func(s *suite, t *testing.T) { s.setCloudConfig(t, s.cloudConfig(t)+"max-shared-lbs = 3\n") },
	},
}

// TestInstallationsWithUnusualValues installs a single node with each value, from the bootstrap pod on.
func TestInstallationsWithUnusualValues(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	for _, u := range unusualValues {
		t.Run(u.name, func(t *testing.T) {
			s := newStory(startSuite(t, devcluster.Options{
				Name: "e2e-unusual", Platform: storyPlatforms[u.story].platform, Nodes: 1, WithoutPayload: true, Progress: os.Stderr,
			}), u.story)
			u.set(s.suite, t)
			s.testBootstrapInPlace(t)
			s.testUnusualInstallation(t, u)
		})
	}
}

func (s *cloudStory) testUnusualInstallation(t *testing.T, u unusual) {
	s.monitor.Expect(monitor.Rollout("the first revision"), monitor.NewLeader("it replaces the bootstrap pod"),
		monitor.NoneReady("the first revision replaces the bootstrap pod").Times(3))
	began := time.Now()
	require.NoError(t, s.InstallPayload(t.Context()))
	s.awaitSettled(t, 1, rolloutLimit)
	s.figure("%s: payload applied to Available on a single node: %s", u.name, rounded(began))
	s.requireOneLeader(t)
	s.requireInCloudConfig(t, u.has)
}

// TestTakeoversWithUnusualValues upgrades a cluster whose configuration has worked with the predecessor.
func TestTakeoversWithUnusualValues(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes five minutes")
	}
	for _, u := range unusualValues {
		t.Run(u.name, func(t *testing.T) {
			s := newStory(startSuite(t, devcluster.Options{
				Name: "e2e-unusual", Platform: storyPlatforms[u.story].platform, Nodes: 1, WithoutPayload: true, Progress: os.Stderr,
			}), u.story)
			require.NoError(t, s.LoadImages(t.Context()))
			u.set(s.suite, t)
			require.NoError(t, s.InstallPredecessor(t.Context(), devcluster.Predecessor{}))
			s.await(t, "the Node to be initialized", briefly, func(ctx context.Context) error {
				return s.isInitialized(ctx, s.Nodes()[0])
			})
			s.awaitPredecessor(t)
			s.testUnusualTakeover(t, u)
		})
	}
}

func (s *cloudStory) testUnusualTakeover(t *testing.T, u unusual) {
	s.monitor.Begin("the take-over")
	s.monitor.Expect(monitor.Rollout("the first revision"), monitor.NewLeader("a static pod takes over"),
		monitor.Rollout("the lease's timings of a single node"), monitor.NewLeader("the process with these timings"),
		monitor.NoneReady("the only node is rolled out"))
	began := time.Now()
	require.NoError(t, s.InstallPayload(t.Context()))
	// A lease that is taken from the new leader stays vacant until its next renewal, a minute later.
	s.awaitCondition(t, "TakingOver", "False", time.Minute)
	s.figure("%s: payload applied to the end of the take-over: %s", u.name, rounded(began))
	s.requireOneLeader(t)
	s.requireInCloudConfig(t, u.has)
}

// requireInCloudConfig checks the file that the first revision has on the only node.
func (s *suite) requireInCloudConfig(t *testing.T, text string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.Nodes()[0].Root(),
		"etc/kubernetes/static-pod-resources/cloud-controller-manager-pod-1/secrets/cloud-config/cloud.conf"))
	require.NoError(t, err)
	require.Contains(t, string(content), text)
}

// azureStatus returns a change of Infrastructure.
func azureStatus(fields string) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		s.patches("infrastructures", fmt.Sprintf(`{"status":{"platformStatus":{"azure":{%s}}}}`, fields))(t)
	}
}

// dropGate takes a gate from the lists of the release.
func (s *suite) dropGate(t *testing.T, name configv1.FeatureGateName) {
	t.Helper()
	gates := s.config.ConfigV1().FeatureGates()
	gate, err := gates.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	isOther := func(all []configv1.FeatureGateAttributes) (others []configv1.FeatureGateAttributes) {
		for _, one := range all {
			if one.Name != name {
				others = append(others, one)
			}
		}
		return others
	}
	for i := range gate.Status.FeatureGates {
		details := &gate.Status.FeatureGates[i]
		details.Enabled, details.Disabled = isOther(details.Enabled), isOther(details.Disabled)
	}
	_, err = gates.UpdateStatus(t.Context(), gate, metav1.UpdateOptions{})
	require.NoError(t, err)
}
