package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// The payload's policies, the rights that the operator binds and the API server are real. The test acts under the
// identity of the cloud-controller-manager. The end-to-end stories run the real ones.
func TestACloudControllerManagerWritesOnlyWhatTheCloudSays(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	ccm := c.as(t, "system:serviceaccount:"+targetNamespace+":"+ccmName)
	c.createNode(t, "own")
	service := c.createService(t, nil)
	master := `{"metadata":{"labels":{"node-role.kubernetes.io/master":""}}}`
	patch := func(ctx context.Context, patch string, subresources ...string) error {
		_, err := ccm.CoreV1().Nodes().Patch(
			ctx,
			"own",
			types.StrategicMergePatchType,
			[]byte(patch),
			metav1.PatchOptions{},
			subresources...)
		return err
	}
	await(t, "the policy and the right", func(ctx context.Context) error {
		// A dry run: a label that got in before the API server enforces the policy would make each later patch change
		// nothing, which is allowed.
		_, err := ccm.CoreV1().Nodes().Patch(
			ctx, "own", types.StrategicMergePatchType, []byte(master), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "may not change these labels") {
			return fmt.Errorf("the label of a master is not rejected by the policy: %w", err)
		}
		return nil
	})
	t.Run("a node is initialized", func(t *testing.T) { initializeAsOperand(t, ccm) })
	t.Run("only the taints of a cloud change", func(t *testing.T) { taintAsOperand(t, ccm) })
	for name, tc := range operandNodePatches() {
		t.Run(name, func(t *testing.T) {
			for _, subresource := range tc.subresources {
				requireForbidden(t, patch(t.Context(), tc.patch, strings.Fields(subresource)...), tc.rejected)
			}
		})
	}
	for name, tc := range operandServicePatches() {
		t.Run(name, func(t *testing.T) {
			await(t, "the answer", func(ctx context.Context) error {
				_, err := ccm.CoreV1().Services(
					service.Namespace,
				).Patch(
					ctx,
					service.Name,
					types.StrategicMergePatchType,
					[]byte(tc.patch),
					metav1.PatchOptions{},
					strings.Fields(tc.subresource)...)
				if tc.rejected == "" {
					return err
				}
				if err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.rejected) {
					return errors.Join(errors.New("the patch is not rejected by the policy"), err)
				}
				return nil
			})
		})
	}
}

// requireForbidden requires a rejection with the text, or success if it is empty.
func requireForbidden(t *testing.T, err error, rejected string) {
	t.Helper()
	if rejected == "" {
		require.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, rejected)
}

// updateNode changes the Node like the controllers of k8s.io/cloud-provider: the whole object, as read before.
func updateNode(t *testing.T, ccm kubernetes.Interface, change func(*corev1.Node)) error {
	t.Helper()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := ccm.CoreV1().Nodes().Get(t.Context(), "own", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = ccm.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
		return err
	})
}

func initializeAsOperand(t *testing.T, ccm kubernetes.Interface) {
	t.Helper()
	require.NoError(t, updateNode(t, ccm, func(n *corev1.Node) {
		for _, key := range []string{
			corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone,
			corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion,
		} {
			n.Labels[key] = "x"
		}
		n.Spec.ProviderID = "openstack:///x"
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
	}))
	node, err := ccm.CoreV1().Nodes().Get(t.Context(), "own", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "openstack:///x", node.Spec.ProviderID)
	require.Equal(t, "x", node.Labels[corev1.LabelTopologyZone])
}

func taintAsOperand(t *testing.T, ccm kubernetes.Interface) {
	t.Helper()
	const taints = "the cloud-controller-manager may change no taint but remove " + uninitialized
	add := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
	}
	remove := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		}
	}
	const shutdown = "node.cloudprovider.kubernetes.io/shutdown"
	requireForbidden(t, updateNode(t, ccm, add(shutdown, corev1.TaintEffectNoSchedule)), "")
	requireForbidden(t, updateNode(t, ccm, remove(shutdown)), "")
	requireForbidden(t, updateNode(t, ccm, add(shutdown, corev1.TaintEffectNoExecute)), taints)
	requireForbidden(t, updateNode(t, ccm, add(uninitialized, corev1.TaintEffectNoSchedule)), taints)
	requireForbidden(t, updateNode(t, ccm, add(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)), taints)
	requireForbidden(t, updateNode(t, ccm, remove("example.com/dedicated")), taints)
}

type patchCase struct {
	patch        string
	subresources []string
	rejected     string
}

// operandNodePatches are patches of the initialized node. Both resources accept changes of metadata.
func operandNodePatches() map[string]patchCase {
	const labels = "the cloud-controller-manager may not change these labels: "
	const fields = "the cloud-controller-manager may not change these fields: "
	both, object, status := []string{"", "status"}, []string{""}, []string{"status"}
	label := func(key, value string) string { return fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, key, value) }
	return map[string]patchCase{
		"a label of AWS is allowed": {label("topology.k8s.aws/zone-id", `"y"`), both, ""},
		"another zone is rejected": {
			label("topology.kubernetes.io/zone", `"y"`), both,
			"the cloud-controller-manager may not change these labels of an initialized Node: topology.kubernetes.io/zone",
		},
		"a control-plane label is rejected": {
			label("node-role.kubernetes.io/master", `""`), both,
			labels + "node-role.kubernetes.io/master",
		},
		"a label of NodeRestriction's is too": {
			label("node-restriction.kubernetes.io/x", `""`), both,
			labels + "node-restriction.kubernetes.io/x",
		},
		"a foreign label is too": {label("example.com/x", `""`), both, labels + "example.com/x"},
		"a removed label is too": {
			label("node-role.kubernetes.io/worker", `null`), both,
			labels + "node-role.kubernetes.io/worker",
		},
		"the permission to delete the Node is too": {
			fmt.Sprintf(`{"metadata":{"annotations":{%q:"Allowed"}}}`, nodeDeletion), both,
			"may not change these annotations: " + nodeDeletion,
		},
		"a finalizer is too": {
			`{"metadata":{"finalizers":["example.com/x"]}}`, both,
			fields + "metadata.finalizers",
		},
		"an unschedulable node is too": {
			`{"spec":{"unschedulable":true}}`, object,
			fields + "spec.unschedulable",
		},
		"addresses are allowed": {
			`{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.4"},{"$patch":"replace"}]}}`, status,
			"",
		},
		"the condition of routes is allowed": {
			`{"status":{"conditions":[{"type":"NetworkUnavailable","status":"True"}]}}`, status,
			"",
		},
		"a node that looks silent is rejected": {
			`{"status":{"conditions":[{"type":"Ready","status":"Unknown","message":"forged"}]}}`, status,
			"may change no condition but NetworkUnavailable",
		},
		"a capacity is too": {
			`{"status":{"capacity":{"example.com/gpu":"8"}}}`, status,
			fields + "status.",
		},
		"volumes are too": {
			`{"status":{"volumesAttached":[{"name":"x","devicePath":"y"}]}}`, status,
			fields + "status.volumesAttached",
		},
	}
}

// operandServicePatches are patches of a Service under OpenStack's rights.
func operandServicePatches() map[string]struct{ patch, subresource, rejected string } {
	const fields = "the cloud-controller-manager may not change these fields: "
	return map[string]struct{ patch, subresource, rejected string }{
		"an annotation of a Service is allowed": {
			`{"metadata":{"annotations":{"loadbalancer.openstack.org/load-balancer-id":"x"}}}`,
			"",
			"",
		},
		"a finalizer and addresses of a Service are allowed": {
			`{"metadata":{"finalizers":["service.kubernetes.io/load-balancer-cleanup"]},` +
				`"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`,
			"status",
			"",
		},
		"other pods behind a Service are rejected": {`{"spec":{"selector":{"app":"y"}}}`, "", fields + "spec.selector"},
		"others' addresses are too": {
			`{"spec":{"externalIPs":["192.0.2.1"]}}`,
			"",
			fields + "spec.externalIPs",
		},
		"a serving certificate for a Service is too": {
			`{"metadata":{"annotations":{"service.beta.openshift.io/serving-cert-secret-name":"x"}}}`, "status",
			"may not change these labels or annotations: service.beta.openshift.io/serving-cert-secret-name",
		},
	}
}
