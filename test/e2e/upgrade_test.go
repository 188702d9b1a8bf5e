package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	nextVersion = "4.100.0-dev"
	nextFlag    = "--concurrent-service-syncs=2"

	// What the next release changes besides: the name of a controller, and with it the condition of its errors and the
	// field manager of its conditions; a right that the controller uses; and a condition of a policy.
	formerError, nextError = "PreflightDegraded", "FuturePreflightDegraded"
	nextRight              = "of-the-next-release"
	formerMatch            = "while-this-operator-can-confirm"
	nextPolicy             = "openshift-cloud-controller-manager-node-deletion"
)

// TestUpgrade upgrades to a next release and back, with a cloud configuration that is rejected all the time. The next
// release has another operator, another image of the cloud-controller-manager, another default of its flags, and a new
// field of the operator's resource, which this release's operator must keep. It names a controller in another way, gives
// the operator another right, and has less in a policy: neither release keeps conditions, rights or policies of the
// other one. At last it goes back in the middle of a preflight, and forth with an override that the next release
// rejects.
func TestUpgrade(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-upgrade", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	next, err := s.NextRelease(t.Context(), nextVersion, editRelease)
	require.NoError(t, err)

	s.addFeatureGates(t, nextVersion)

	s.monitor.Begin("a rejected configuration")
	s.monitor.Expect(monitor.Degraded("cloud-provider-config", "the configuration is broken"))
	good := s.cloudConfig(t)
	s.setCloudConfig(t, "[Global\n")
	s.awaitDegraded(t, namedLimit, "cloud-provider-config")

	s.monitor.Begin("the upgrade")
	s.expectRollout("the next release")
	s.upgrade(t, next, nextFlag)
	s.requireRelease(t, nextError, formerError)

	s.monitor.Begin("the former operator with the next definition")
	s.expectRollout("the former operator's flags, and the log level")
	s.monitor.Expect(monitor.Rollout("the log level, if it is later"))
	resource := s.dynamic.Resource(ccmv1.Resource)
	_, err = resource.Patch(t.Context(), "cluster", types.MergePatchType,
		[]byte(`{"spec":{"fieldOfTheNextRelease":"kept","logLevel":"Debug"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	before := s.revision(t)
	s.patchDeployment(t, types.StrategicMergePatchType, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`,
		operatorName, s.Release().Image(operatorName)))
	s.await(t, "the former operator to render the log level", rolloutLimit, func(ctx context.Context) error {
		object, err := resource.Get(ctx, "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		require.Equal(t, "kept", object.Object["spec"].(map[string]any)["fieldOfTheNextRelease"])
		pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + operand})
		if err != nil {
			return err
		}
		if len(pods.Items) != nodes {
			return fmt.Errorf("%d static pods", len(pods.Items))
		}
		if err := s.rolledOut(ctx); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if flags := given(&pod.Spec.Containers[0]); !strings.Contains(flags, "--v=4") || strings.Contains(flags, nextFlag) {
				return fmt.Errorf("pod/%s has\n%s", pod.Name, flags)
			}
		}
		return nil
	})
	require.Greater(t, s.revision(t), before)

	s.monitor.Begin("the way back")
	s.expectRollout("the former release")
	s.upgrade(t, s.Release(), "")
	s.awaitDegraded(t, namedLimit, "cloud-provider-config")
	s.requireRelease(t, formerError, nextError)

	s.monitor.Begin("the next release again")
	s.expectRollout("the next release again")
	s.upgrade(t, next, nextFlag)
	s.requireRelease(t, nextError, formerError)

	s.monitor.Begin("the configuration is mended")
	s.setCloudConfig(t, good)
	s.awaitSettled(t, 1, cleanLimit)
	s.requireOneLeader(t)

	s.testUnwatchedPreflight(t, s.Release(), "")
	s.testProtectedOverride(t, next)
}

// requireRelease requires the conditions, rights and policies of one release, and none of the other one's.
func (s *suite) requireRelease(t *testing.T, own, foreign string) {
	t.Helper()
	s.await(t, own+" and no "+foreign, briefly, func(ctx context.Context) error {
		resource, err := s.resource(ctx)
		if err != nil {
			return err
		}
		var types []string
		for _, condition := range resource.Status.Conditions {
			types = append(types, condition.Type)
		}
		if !slices.Contains(types, own) || slices.Contains(types, foreign) {
			return fmt.Errorf("the operator's resource has the conditions %v", types)
		}
		return nil
	})
	isNext := own == nextError
	role, err := s.kube.RbacV1().ClusterRoles().Get(t.Context(), "system:openshift:operator:cloud-controller-manager",
		metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, isNext, slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.ResourceNames, nextRight)
	}), "the right of the next release")
	policy, err := s.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), nextPolicy,
		metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, !isNext, slices.ContainsFunc(policy.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool {
		return c.Name == formerMatch
	}), "the condition of the former release's policy")
}

// editRelease makes the next release: a default of the flags, a field that this release does not have, and what
// requireRelease looks at.
func editRelease(dir string) error {
	const payload = "manifests/0000_26_cloud-controller-manager-operator_"
	return errors.Join(
		replaceIn(filepath.Join(dir, "pkg/operator/rollout/preflight/preflight.go"), `name = "Preflight"`, `name = "FuturePreflight"`),
		replaceIn(filepath.Join(dir, "pkg/operator/rollout/preflight/preflight.go"), "import (\n",
			"import (\n\tapierrors \"k8s.io/apimachinery/pkg/api/errors\"\n"),
		replaceIn(filepath.Join(dir, "pkg/operator/rollout/preflight/preflight.go"),
			"syncCtx factory.SyncContext) error {\n", `syncCtx factory.SyncContext) error {
	_, err := c.Kube.CoreV1().ConfigMaps("kube-public").Get(ctx, "`+nextRight+`", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
`),
		replaceIn(filepath.Join(dir, "pkg/operand/render.go"), `"leader-elect-resource-namespace",
}`, `"leader-elect-resource-namespace",
	"`+nextProtected+`",
}`),
		replaceIn(filepath.Join(dir, payload+"04_operator.rbac.yaml"), "rules:\n", "rules:\n- apiGroups: [\"\"]\n"+
			"  resources: [configmaps]\n  resourceNames: ["+nextRight+"]\n  verbs: [get]\n"),
		replaceIn(filepath.Join(dir, payload+"09_node-deletion.admissionpolicy.yaml"), "  - name: "+formerMatch+`
    expression: >-
      authorizer.serviceAccount("openshift-cloud-controller-manager-operator", "cluster-cloud-controller-manager")
      .group("operator.openshift.io").resource("cloudcontrollermanagers").subresource("status").name("cluster")
      .check("patch").allowed()
`, ""),
		replaceIn(filepath.Join(dir, "bindata/assets/config/default.yaml"), "extendedArguments:\n", "extendedArguments:\n  concurrent-service-syncs: [\"2\"]\n"),
		replaceIn(filepath.Join(dir, "manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml"),
			"              failedRevisionLimit:\n", "              fieldOfTheNextRelease:\n                type: string\n              failedRevisionLimit:\n"),
	)
}

func replaceIn(path, before, after string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte(before)) {
		return fmt.Errorf("%s has no %q", path, before)
	}
	return os.WriteFile(path, bytes.Replace(content, []byte(before), []byte(after), 1), 0o600)
}

// upgrade applies a release and waits until its version is reported. Every node must run its image and its flag then.
func (s *suite) upgrade(t *testing.T, to devcluster.Release, flag string) {
	t.Helper()
	s.monitor.Expect(monitor.Gap("the resource's definition changes, which ends its watches").Times(3))
	began := time.Now()
	require.NoError(t, s.ApplyRelease(t.Context(), to))
	s.await(t, "the versions of "+to.Version, rolloutLimit, func(ctx context.Context) error {
		reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, version := range reported.Status.Versions {
			if version.Name == "operator" && version.Version != to.Version {
				return fmt.Errorf("the ClusterOperator has %v", reported.Status.Versions)
			}
		}
		return nil
	})
	s.figure("upgrade to %s, from the manifests to the versions: %s", to.Version, rounded(began))
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + operand})
	require.NoError(t, err)
	require.Len(t, pods.Items, nodes)
	for _, pod := range pods.Items {
		i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == operand })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, to.Image("openstack-cloud-controller-manager"), pod.Spec.Containers[i].Image, pod.Name)
		require.Equal(t, flag, flagIn(&pod.Spec.Containers[i]), pod.Name)
	}
	s.requireOneLeader(t)
}

// rolledOut returns nil when every node is at the latest revision.
func (s *suite) rolledOut(ctx context.Context) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	for _, node := range resource.Status.NodeStatuses {
		if node.CurrentRevision != resource.Status.LatestAvailableRevision {
			return fmt.Errorf("%s is at revision %d of %d", node.NodeName, node.CurrentRevision, resource.Status.LatestAvailableRevision)
		}
	}
	return nil
}

// addFeatureGates writes the feature gates of a version, as cluster-config-operator does earlier in an upgrade.
func (s *suite) addFeatureGates(t *testing.T, version string) {
	t.Helper()
	gates := s.config.ConfigV1().FeatureGates()
	gate, err := gates.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	next := gate.Status.FeatureGates[0].DeepCopy()
	next.Version = version
	gate.Status.FeatureGates = append(gate.Status.FeatureGates, *next)
	_, err = gates.UpdateStatus(t.Context(), gate, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// flagIn returns the next release's flag if the container has it.
func flagIn(container *corev1.Container) string {
	if slices.Contains(slices.Concat(container.Command, container.Args), nextFlag) {
		return nextFlag
	}
	return ""
}
