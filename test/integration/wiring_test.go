package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// wired is the assembled operator on a cluster with one control-plane node and a platform with a cloud-node-manager.
type wired struct {
	*cluster
	kubelet  *kubelet
	operator *operator
}

// wire is an effect that only one wired controller has.
type wire struct {
	// controller is the name in the log.
	controller string
	does       string
	proof      func(*testing.T, *wired)
	// elsewhere is the test of the effect on another platform.
	elsewhere func(*testing.T)
}

// wires has at least one row for each controller. A row depends only on previous rows, so the first failing row names
// the controller.
var wires = []wire{
	{controller: "ConfigObserver", does: "observes the platform", proof: provesObservation},
	{
		controller: "ManagedCloudConfig",
		does:       "writes kube-cloud-config",
		elsewhere:  TestOnVSphereTheOperatorWritesTheManagedConfigBehindItsGate,
	},
	{
		controller: "Unmanaged",
		does:       "reports that nothing is to run",
		elsewhere:  TestAPlatformWithoutACloudControllerManagerIsAvailable,
	},
	{
		controller: "RemovalController",
		does:       "removes the static pods and the objects",
		elsewhere:  TestRemovedAndManagedAgain,
	},
	{controller: "StaticResources", does: "creates the ServiceAccounts", proof: provesStaticResources},
	{controller: "ClientCA", does: "copies the client CAs", proof: provesClientCA},
	{controller: "Tokens", does: "requests the operand's token", proof: hasKey("kube-token", "token")},
	{controller: "ServingCertificate", does: "issues the serving certificate", proof: hasKey("serving-cert", "tls.crt")},
	{controller: "TargetConfigController", does: "renders the static pod and the DaemonSet", proof: provesTargetConfig},
	{
		controller: "TargetConfigController",
		does:       "keeps what it accepted",
		proof:      hasKey("accepted-inputs", "inputs.json"),
	},
	{
		controller: "StatusSyncer_cloud-controller-manager",
		does:       "writes the ClusterOperator",
		proof:      provesClusterOperator,
	},
	{
		controller: "StaleConditionsController",
		does:       "removes the conditions of another release",
		proof:      removesStaleConditions,
	},
	{controller: "TrustedCAExpiryController", does: "reports expiring CAs", proof: hasCondition("TrustedCANotices")},
	{
		controller: "NodeInitializationController",
		does:       "judges uninitialized nodes",
		proof:      hasCondition("NodeInitializationDegraded"),
	},
	{
		controller: "NodeDeletionController",
		does:       "confirms deletions of Nodes",
		proof:      hasCondition("NodeDeletionDegraded"),
	},
	{
		controller: "AdmissionPolicyController",
		does:       "compares the admission policies",
		proof:      hasCondition("AdmissionPoliciesDegraded"),
	},
	{controller: "NodeRepair", does: "compares the nodes' files", proof: hasCondition("NodeFilesDegraded")},
	{controller: "Availability", does: "judges the lease", proof: hasCondition("CloudControllerManagerAvailable")},
	{controller: "StaticPodControllers", does: "starts the static-pod controllers", proof: startsStaticPodControllers},
	{controller: "Takeover", does: "looks for a predecessor", proof: hasCondition("TakingOver")},
	{controller: "RevisionController", does: "makes a revision", proof: provesRevision},
	{controller: "cloud-controller-manager-Node", does: "counts the control-plane nodes", proof: provesNodes},
	{controller: "Installer", does: "installs the revision on the node", proof: provesInstaller},
	{
		controller: "RolloutProgressController", does: "reports the rollout",
		proof: hasCondition("NodeInstallerProgressing"),
	},
	{
		controller: "cloud-controller-manager-InstallerState", does: "judges the installer pods",
		proof: hasCondition("InstallerPodPendingDegraded"),
	},
	{controller: "Preflight", does: "reports preflights", proof: hasCondition("PreflightNotices")},
	{
		controller: "MissingStaticPodController",
		does:       "reports a static pod that does not appear",
		proof:      provesMissingStaticPod,
	},
	{
		controller: "cloud-controller-manager-StaticPodState",
		does:       "judges the static pods",
		proof:      hasCondition("StaticPodsDegraded"),
	},
	{
		controller: "cloud-controller-manager-UnsupportedConfigOverrides", does: "reports overrides",
		proof: hasCondition("UnsupportedConfigOverridesUpgradeable"),
	},
	{controller: "LeaderElection", does: "restores a lease that was deleted", proof: restoresLease},
	{controller: "LeaderElection", does: "removes the pod of a Node that is gone", proof: removesHandover},
	{controller: "LoadBalancerController", does: "judges the Services", proof: hasCondition("LoadBalancerNotices")},
	{controller: "PlatformInformers", does: "starts the watches that the platform needs", proof: provesPlatformInformers},
	{controller: "NodeManagerController", does: "judges the DaemonSet", proof: hasCondition("NodeManagerDegraded")},
	{controller: "Versions", does: "publishes through the ClusterOperator", proof: provesVersions},
	{controller: "RevisionController", does: "waits for the tokens of the candidate", proof: waitsForTokens},
	{controller: "Tokens", does: "requests the federated token", proof: hasKey("cloud-tokens", "token")},
	{controller: "RevisionController", does: "copies until the revision is whole", proof: copiesUntilComplete},
	{controller: "PruneController", does: "removes old revisions", proof: provesPruning},
	{controller: "LoggingSyncer", does: "sets the log level", proof: provesLogLevel},
}

func TestEveryControllerDoesItsWork(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.AzurePlatformType)
	w := &wired{
		cluster: c, kubelet: c.startKubelet(t),
		operator: c.startOperator(
			t,
			"AZURE_IMAGE=localhost/azure:new",
			"AZURE_NODE_MANAGER_IMAGE=localhost/azure-node-manager:new",
		),
	}
	rows := map[string]bool{}
	for _, row := range wires {
		rows[row.controller] = true
		require.NotEqual(t, row.proof == nil, row.elsewhere == nil, "%s %s: one test proves it", row.controller, row.does)
		if row.proof != nil {
			t.Run(row.controller+" "+row.does, func(t *testing.T) { row.proof(t, w) })
		}
	}
	t.Run("every controller that runs has a row", func(t *testing.T) {
		running := map[string]bool{}
		for _, match := range regexp.MustCompile(
			`Starting #1 worker of (.+) controller`,
		).FindAllStringSubmatch(w.operator.log.String(), -1) {
			running[match[1]] = true
		}
		require.Equal(t, slices.Sorted(maps.Keys(running)), slices.Sorted(maps.Keys(rows)))
	})
	c.noRequestDenied(t)
}

// hasCondition returns a check that awaits a condition of any status; no other controller writes it.
func hasCondition(conditionType string) func(*testing.T, *wired) {
	return func(t *testing.T, w *wired) {
		t.Helper()
		await(t, conditionType, func(ctx context.Context) error {
			resource, err := w.resource(ctx)
			if err != nil {
				return err
			}
			if !hasType(resource.Status.Conditions, conditionType) {
				return fmt.Errorf("there are only\n%s", describe(resource.Status.Conditions))
			}
			return nil
		})
	}
}

func hasType(conditions []operatorv1.OperatorCondition, conditionType string) bool {
	return slices.ContainsFunc(conditions, func(c operatorv1.OperatorCondition) bool { return c.Type == conditionType })
}

// hasKey returns a check that awaits a Secret of the operand's namespace with a value for the key.
func hasKey(secret, key string) func(*testing.T, *wired) {
	return func(t *testing.T, w *wired) {
		t.Helper()
		await(t, "secret/"+secret, func(ctx context.Context) error {
			found, err := w.kube.CoreV1().Secrets(targetNamespace).Get(ctx, secret, metav1.GetOptions{})
			if err == nil && len(found.Data[key]) == 0 {
				return fmt.Errorf("it has no %s", key)
			}
			return err
		})
	}
}

func provesObservation(t *testing.T, w *wired) {
	await(t, "spec.observedConfig", func(ctx context.Context) error {
		resource, err := w.resource(ctx)
		if err == nil && !bytes.Contains(resource.Spec.ObservedConfig.Raw, []byte(`"platform":"azure"`)) {
			return fmt.Errorf("it is %s", resource.Spec.ObservedConfig.Raw)
		}
		return err
	})
}

func provesStaticResources(t *testing.T, w *wired) {
	for _, account := range []string{"cloud-controller-manager", nodeManager} {
		await(t, "serviceaccount/"+account, func(ctx context.Context) error {
			_, err := w.kube.CoreV1().ServiceAccounts(targetNamespace).Get(ctx, account, metav1.GetOptions{})
			return err
		})
	}
}

func provesClientCA(t *testing.T, w *wired) {
	for _, name := range []string{"client-ca", "requestheader-client-ca"} {
		await(t, "configmap/"+name, func(ctx context.Context) error {
			copied, err := w.kube.CoreV1().ConfigMaps(targetNamespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil && !strings.Contains(copied.Data["ca-bundle.crt"], "CERTIFICATE") {
				return fmt.Errorf("it is %v", copied.Data)
			}
			return err
		})
	}
}

func provesTargetConfig(t *testing.T, w *wired) {
	await(t, "the rendered pod", func(ctx context.Context) error {
		pod, err := w.kube.CoreV1().ConfigMaps(targetNamespace).Get(ctx, "cloud-controller-manager-pod", metav1.GetOptions{})
		if err == nil && !strings.Contains(pod.Data["pod.yaml"], "localhost/azure:new") {
			return fmt.Errorf("it is %s", pod.Data["pod.yaml"])
		}
		return err
	})
	await(t, "the DaemonSet", func(ctx context.Context) error {
		_, err := w.kube.AppsV1().DaemonSets(targetNamespace).Get(ctx, nodeManagers, metav1.GetOptions{})
		return err
	})
}

func provesClusterOperator(t *testing.T, w *wired) {
	await(t, "conditions of the ClusterOperator", func(ctx context.Context) error {
		operator, err := w.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err == nil && len(operator.Status.Conditions) == 0 {
			return fmt.Errorf("it has none")
		}
		return err
	})
}

func removesStaleConditions(t *testing.T, w *wired) {
	const left = "FormerReleaseDegraded"
	stale := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{
			"type": left, "status": string(operatorv1.ConditionTrue), "reason": "NoRight", "message": "a right is missing",
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		},
	}}}}
	stale.SetGroupVersionKind(ccmv1.Kind)
	stale.SetName(ccmv1.InstanceName)
	_, err := w.dynamic.Resource(ccmv1.Resource).ApplyStatus(t.Context(), ccmv1.InstanceName, stale,
		metav1.ApplyOptions{FieldManager: "former-release"})
	require.NoError(t, err)
	await(t, "the removal of "+left, func(ctx context.Context) error {
		resource, err := w.resource(ctx)
		if err == nil && hasType(resource.Status.Conditions, left) {
			return errors.New("it is there")
		}
		return err
	})
}

func startsStaticPodControllers(t *testing.T, w *wired) {
	w.operator.awaitLog(t, "Starting the static-pod controllers")
}

func provesRevision(t *testing.T, w *wired) { w.awaitRevision(t, 1) }

func provesNodes(t *testing.T, w *wired) {
	await(t, "the node", func(ctx context.Context) error {
		resource, err := w.resource(ctx)
		if err == nil && (len(resource.Status.NodeStatuses) != 1 || resource.Status.NodeStatuses[0].NodeName != onlyNode) {
			return fmt.Errorf("the nodes are %+v", resource.Status.NodeStatuses)
		}
		return err
	})
}

// provesInstaller also checks the pod: it must run without a pod network, its arguments must name the synced objects,
// and
// it must start after the static pod's image was pulled.
func provesInstaller(t *testing.T, w *wired) {
	installer := w.installer(t)
	require.True(t, installer.Spec.HostNetwork)
	require.Contains(t, installer.Spec.Containers[0].Args, "--cert-secrets=kube-token")
	require.Len(t, installer.Spec.InitContainers, 2)
	require.Equal(t, "pull-cloud-controller-manager", installer.Spec.InitContainers[1].Name)
	require.True(
		t,
		slices.ContainsFunc(
			installer.Spec.Containers[0].Env,
			func(e corev1.EnvVar) bool { return e.Name == "KUBERNETES_SERVICE_HOST" },
		),
	)
}

// installer awaits the installer pod of the first revision.
func (w *wired) installer(t *testing.T) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	await(t, "the installer pod", func(ctx context.Context) (err error) {
		pod, err = w.kube.CoreV1().Pods(targetNamespace).Get(ctx, "installer-1-"+onlyNode, metav1.GetOptions{})
		return err
	})
	return pod
}

// provesMissingStaticPod makes the installer end long before the static pod appears.
func provesMissingStaticPod(t *testing.T, w *wired) {
	installer := w.installer(t)
	installer.Status = corev1.PodStatus{
		Phase: corev1.PodSucceeded,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "installer",
			State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(time.Now().Add(-time.Hour))},
			},
		}},
	}
	installer, err := w.kube.CoreV1().Pods(targetNamespace).UpdateStatus(t.Context(), installer, metav1.UpdateOptions{})
	require.NoError(t, err)
	defer func() {
		w.kubelet.runsStaticPods.Store(true)
		w.kubelet.runsDaemons.Store(true)
		// The kubelet may update the new pod concurrently.
		await(t, "the static pod", func(ctx context.Context) error { return w.kubelet.install(ctx, installer) })
	}()
	w.awaitCondition(t, "MissingStaticPodControllerDegraded", operatorv1.ConditionTrue, "")
}

// restoresLease deletes the lease of a process that runs.
func restoresLease(t *testing.T, w *wired) {
	const holder = onlyNode + "_ours"
	w.hold(t, holder, time.Now())
	leases := w.kube.CoordinationV1().Leases(targetNamespace)
	// Only a lease that the operator saw renewed is of the present.
	acquired, err := leases.Get(t.Context(), ccmName, metav1.GetOptions{})
	require.NoError(t, err)
	await(t, "a renewal", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, ccmName, metav1.GetOptions{})
		if err == nil && lease.Spec.RenewTime.Equal(acquired.Spec.RenewTime) {
			err = errors.New("it was not renewed")
		}
		return err
	})
	w.awaitCondition(t, "CloudControllerManagerAvailable", operatorv1.ConditionTrue,
		"1 of 3 cloud-controller-managers are Ready; the one on node/"+onlyNode+" leads")
	require.NoError(t, leases.Delete(t.Context(), ccmName, metav1.DeleteOptions{}))
	await(t, "the lease", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, ccmName, metav1.GetOptions{})
		if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") != holder {
			err = fmt.Errorf("its holder is %q", ptr.Deref(lease.Spec.HolderIdentity, ""))
		}
		return err
	})
}

// removesHandover checks the last step of a move of the lead: this cluster has one static pod, so none begins.
func removesHandover(t *testing.T, w *wired) {
	pods := w.kube.CoreV1().Pods(targetNamespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "handover-leave-gone", Labels: map[string]string{"app": controlplane.HandoverApp},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "handover", Image: "localhost/operator"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	await(t, "the end of pod/"+pod.Name, func(ctx context.Context) error {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is still there")
		}
		return err
	})
}

// provesPlatformInformers checks the watches. Without them the controllers would still work, but late and with a
// request for each read.
func provesPlatformInformers(t *testing.T, w *wired) {
	for _, resource := range []string{"validatingadmissionpolicybindings", "daemonsets"} {
		await(t, "a watch of "+resource, func(context.Context) error {
			for _, request := range w.requests(t) {
				if request.Verb == "watch" && strings.Contains(request.RequestURI, "/"+resource+"?") {
					return nil
				}
			}
			return fmt.Errorf("the audit log has none")
		})
	}
}

func provesVersions(t *testing.T, w *wired) {
	w.awaitVersions(t, devcluster.Version, "localhost/operator:new")
}

// waitsForTokens creates a candidate that needs a token while tokens cannot be written.
func waitsForTokens(t *testing.T, w *wired) {
	allow := w.forbidUpdates(t, "secrets", "cloud-tokens", "false")
	w.editSecret(t, "azure-cloud-credentials", func(s *corev1.Secret) {
		delete(s.Data, "azure_client_secret")
		s.Data["azure_federated_token_file"] = []byte("/var/run/secrets/openshift/serviceaccount/token")
	})
	w.operator.awaitLog(t, "secret/cloud-tokens in openshift-cloud-controller-manager does not have token")
	require.Equal(t, int32(1), w.awaitRevision(t, 1))
	allow()
	w.awaitRevision(t, 2)
}

// copiesUntilComplete changes a copy at its creation, like another writer.
func copiesUntilComplete(t *testing.T, w *wired) {
	revision := w.awaitRevision(t, 1) + 1
	copied := fmt.Sprintf("cloud-config-%d", revision)
	w.spoilCopy(t, copied)
	w.patchSpec(t, `{"spec":{"forceRedeploymentReason":"to copy once more"}}`)
	w.awaitRevision(t, revision)
	found, err := w.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), copied, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, found.Data, "spoiled", "the revision was made of what another client wrote")
}

// spoilCopy adds a key to the named Secret of the operand's namespace at its creation.
func (c *cluster) spoilCopy(t *testing.T, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "spoil"}
	_, err := c.kube.AdmissionregistrationV1().
		MutatingAdmissionPolicies().
		Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{
			ObjectMeta: meta,
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				FailurePolicy:      ptr.To(admissionv1.Fail),
				ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
					ResourceNames: []string{name},
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule: admissionv1.Rule{
							APIGroups:   []string{""},
							APIVersions: []string{"v1"},
							Resources:   []string{"secrets"},
						},
					},
				}}},
				Mutations: []admissionv1.Mutation{{
					PatchType: admissionv1.PatchTypeJSONPatch,
					JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/data/spoiled", value: "eWVz"}]`},
				}},
			},
		}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.kube.AdmissionregistrationV1().
		MutatingAdmissionPolicyBindings().
		Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: meta.Name},
		}, metav1.CreateOptions{})
	require.NoError(t, err)
	await(t, "the policy", func(ctx context.Context) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"key": nil}}
		created, err := c.kube.CoreV1().
			Secrets(targetNamespace).
			Create(ctx, secret, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && created.Data["spoiled"] == nil {
			return fmt.Errorf("it does not count yet")
		}
		return err
	})
}

func provesPruning(t *testing.T, w *wired) {
	w.awaitNodeRevision(t, w.awaitRevision(t, 1))
	w.patchSpec(t, `{"spec":{"failedRevisionLimit":1,"succeededRevisionLimit":1}}`)
	await(t, "the first revision to go", func(ctx context.Context) error {
		_, err := w.kube.CoreV1().ConfigMaps(targetNamespace).Get(ctx, "revision-status-1", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			return fmt.Errorf("it is still there")
		}
		return err
	})
}

func provesLogLevel(t *testing.T, w *wired) {
	w.patchSpec(t, `{"spec":{"operatorLogLevel":"Debug"}}`)
	await(t, "the event", func(ctx context.Context) error {
		events, err := w.kube.CoreV1().
			Events(operatorNamespace).
			List(ctx, metav1.ListOptions{FieldSelector: "reason=OperatorLogLevelChange"})
		if err == nil && len(events.Items) == 0 {
			return fmt.Errorf("there is none")
		}
		return err
	})
}
