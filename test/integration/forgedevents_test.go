package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	eventSource = "cloud-node-lifecycle-controller"
	kubeletUser = "system:node:worker-0"
	onlyTheCCM  = "only the cloud-controller-manager may write Events with the source cloud-node-lifecycle-controller"
)

// writeEvent creates an Event about a Node.
type writeEvent func(ctx context.Context, client kubernetes.Interface, options metav1.CreateOptions) error

// coreEvent writes an Event of the core API.
func coreEvent(namespace, component, reporting string) writeEvent {
	return func(ctx context.Context, client kubernetes.Interface, options metav1.CreateOptions) error {
		_, err := client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "worker-0-", Namespace: namespace},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "worker-0", Namespace: involved(namespace)},
			Source:         corev1.EventSource{Component: component}, ReportingController: reporting,
			Type: corev1.EventTypeNormal, Reason: "DeletingNode",
		}, options)
		return err
	}
}

// involved is the namespace of an Event's object, which has none if the Event is in default.
func involved(namespace string) string {
	if namespace == metav1.NamespaceDefault {
		return ""
	}
	return namespace
}

// newEvent writes an Event of events.k8s.io, which may not have the deprecated source.
func newEvent(reporting string) writeEvent {
	return func(ctx context.Context, client kubernetes.Interface, options metav1.CreateOptions) error {
		_, err := client.EventsV1().Events(metav1.NamespaceDefault).Create(ctx, &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "worker-0-"}, EventTime: metav1.NowMicro(),
			ReportingController: reporting, ReportingInstance: "worker-0", Action: "Delete", Type: corev1.EventTypeNormal,
			Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "worker-0"}, Reason: "DeletingNode",
		}, options)
		return err
	}
}

// The payload's policy, the rights that the operator binds, and the API server are real.
func TestOnlyTheCloudControllerManagerWritesItsEvents(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	ccm, kubelet := c.as(t, operandUser), c.asKubelet(t)
	ours, dryRun := coreEvent("default", eventSource, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	await(t, "the policy, and the rights of the kubelet and the cloud-controller-manager", func(ctx context.Context) error {
		if err := ours(ctx, kubelet, dryRun); err == nil || !strings.Contains(err.Error(), onlyTheCCM) {
			return errors.Join(errors.New("a forged Event is not refused by the policy"), err)
		}
		return ours(ctx, ccm, dryRun)
	})
	for name, tc := range map[string]struct {
		client   kubernetes.Interface
		write    writeEvent
		rejected bool
	}{
		"the cloud-controller-manager's own":            {client: ccm, write: ours},
		"of the predecessor's":                          {client: c.as(t, "system:serviceaccount:kube-system:node-controller"), write: ours},
		"a kubelet's forgery":                           {client: kubelet, write: ours, rejected: true},
		"one with a reporting component instead":        {client: kubelet, write: coreEvent("default", "", eventSource), rejected: true},
		"one through events.k8s.io":                     {client: kubelet, write: newEvent(eventSource), rejected: true},
		"an administrator's":                            {client: c.kube, write: ours, rejected: true},
		"an ordinary one of a kubelet":                  {client: kubelet, write: coreEvent("default", "kubelet", "kubelet")},
		"an ordinary one through events.k8s.io":         {client: kubelet, write: newEvent("kubelet")},
		"one in another namespace, which nothing reads": {client: kubelet, write: coreEvent("kube-system", eventSource, "")},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.write(t.Context(), tc.client, dryRun)
			if !tc.rejected {
				require.NoError(t, err)
				return
			}
			requireForbidden(t, err, onlyTheCCM)
		})
	}
	t.Run("a kubelet changes one of each", func(t *testing.T) {
		require.NoError(t, ours(t.Context(), ccm, metav1.CreateOptions{}))
		require.NoError(t, coreEvent("default", "kubelet", "")(t.Context(), kubelet, metav1.CreateOptions{}))
		for component, patch := range map[string]string{
			eventSource: `{"message":"x","count":9,"source":{"component":"kubelet"}}`,
			"kubelet":   fmt.Sprintf(`{"source":{"component":%q}}`, eventSource),
		} {
			found, err := c.kube.CoreV1().Events("default").List(
				t.Context(), metav1.ListOptions{FieldSelector: "source=" + component + ",reason=DeletingNode"})
			require.NoError(t, err)
			require.Len(t, found.Items, 1)
			_, err = kubelet.CoreV1().Events("default").Patch(
				t.Context(), found.Items[0].Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			requireForbidden(t, err, onlyTheCCM)
		}
	})
}

// asKubelet returns a client with the identity of a kubelet, and the rights on Events of one.
func (c *cluster) asKubelet(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := c.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: kubeletUser, Groups: []string{"system:nodes", "system:authenticated"}}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = c.kube.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "writes-events"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "writes-events"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "writes-events"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: kubeletUser},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:serviceaccount:kube-system:node-controller"},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return client
}
