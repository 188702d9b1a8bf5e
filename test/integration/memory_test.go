package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// growth is the most that objects of others may add to the operator's peak memory, in MiB. Each case writes at least
// three times that. Two starts of the same operator differ by up to 8 MiB, and what is decoded and dropped is garbage
// for a moment: 28 MiB of 360 MiB in Events.
const growth = 48

// flood is what others write into one cluster.
type flood struct {
	count int
	write func(ctx context.Context, c *cluster, i int) error
	// await waits until the operator has read it, if that is later than the first lists.
	await func(t *testing.T, c *cluster)
}

func TestObjectsOfOthersDoNotFillTheMemory(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	_, err := c.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	ccm := c.as(t, operandUser)
	before := c.peakOfAStart(t, awaitRights(ccm))
	for _, tc := range []struct {
		name string
		flood
	}{
		{"RoleBindings of a tenant with the label of the operator's", flood{600, writeRoleBinding, nil}},
		{"ConfigMaps of openshift-config that nothing names", flood{150, writeConfigMap, nil}},
		{"Leases of the cloud-controller-manager's identity", flood{600, forgeLease(ccm), nil}},
		{"Events about Nodes of the cloud-controller-manager's identity", flood{150, forgeEvent(ccm, eventSource), nil}},
		{"Events of a tenant about a Service that waits", flood{150, forgeEvent(c.kube, "service-controller"), awaitQuote}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.write(t, tc.flood)
			after := c.peakOfAStart(t, tc.await)
			t.Logf("peak memory: %d MiB before, %d MiB after", before, after)
			require.Less(t, after, before+growth)
		})
	}
}

func writeRoleBinding(ctx context.Context, c *cluster, i int) error {
	_, err := c.kube.RbacV1().RoleBindings("tenant").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("flood-%d", i),
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "cloud-controller-manager-operator"},
			Annotations: map[string]string{"x": strings.Repeat("x", 250<<10)},
		},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}, metav1.CreateOptions{})
	return err
}

func writeConfigMap(ctx context.Context, c *cluster, i int) error {
	_, err := c.kube.CoreV1().ConfigMaps(configNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("flood-%d", i)},
		Data:       map[string]string{"x": strings.Repeat("x", 1000<<10)},
	}, metav1.CreateOptions{})
	return err
}

func forgeLease(ccm kubernetes.Interface) func(context.Context, *cluster, int) error {
	return func(ctx context.Context, _ *cluster, i int) error {
		_, err := ccm.CoordinationV1().Leases(targetNamespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("forged-%d", i), Annotations: map[string]string{"x": strings.Repeat("x", 250<<10)},
		}}, metav1.CreateOptions{})
		return err
	}
}

// forgeEvent returns what writes Events of the component into the default namespace, about the Node or the Service web.
func forgeEvent(client kubernetes.Interface, component string) func(context.Context, *cluster, int) error {
	return func(ctx context.Context, c *cluster, i int) error {
		about := corev1.ObjectReference{Kind: "Node", Name: "web", UID: types.UID(fmt.Sprint(i))}
		message := strings.Repeat("x", 1200<<10)
		if component == "service-controller" {
			service, err := c.waitingService(ctx)
			if err != nil {
				return err
			}
			about = corev1.ObjectReference{Kind: "Service", Namespace: "default", Name: service.Name, UID: service.UID}
			if i == 0 {
				message = "quota exceeded"
			}
		}
		_, err := client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%03d", component, i)}, InvolvedObject: about,
			Source: corev1.EventSource{Component: component}, Type: corev1.EventTypeWarning, Reason: "Forged", Message: message,
			FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
		}, metav1.CreateOptions{})
		return err
	}
}

// waitingService returns a Service that no cloud-controller-manager serves.
func (c *cluster) waitingService(ctx context.Context) (*corev1.Service, error) {
	services := c.kube.CoreV1().Services(metav1.NamespaceDefault)
	_, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	return services.Get(ctx, "web", metav1.GetOptions{})
}

// awaitRights waits until the operator has bound the rights of the cloud-controller-manager to what it writes here.
func awaitRights(ccm kubernetes.Interface) func(*testing.T, *cluster) {
	return func(t *testing.T, _ *cluster) {
		t.Helper()
		await(t, "the rights of the cloud-controller-manager", func(ctx context.Context) error {
			for _, what := range []authorizationv1.ResourceAttributes{
				{Namespace: targetNamespace, Verb: "create", Group: coordinationv1.GroupName, Resource: "leases"},
				{Namespace: metav1.NamespaceDefault, Verb: "create", Resource: "events"},
			} {
				review, err := ccm.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
				}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				if !review.Status.Allowed {
					return fmt.Errorf("it may not create %s", what.Resource)
				}
			}
			return nil
		})
	}
}

// awaitQuote waits until the operator has read the Events of the Service, of which the first explains why it waits.
func awaitQuote(t *testing.T, c *cluster) {
	t.Helper()
	await(t, "the quote of the first Event", func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		for _, condition := range resource.Status.Conditions {
			if condition.Type == "LoadBalancerNotices" && strings.Contains(condition.Message, "quota exceeded") {
				return nil
			}
		}
		return errors.New("no condition has it")
	})
}

// write writes a flood.
func (c *cluster) write(t *testing.T, f flood) {
	t.Helper()
	failed := make(chan error, f.count)
	workqueue.ParallelizeUntil(t.Context(), 16, f.count, func(i int) {
		if err := f.write(t.Context(), c, i); err != nil {
			failed <- err
		}
	})
	close(failed)
	require.NoError(t, <-failed)
}

// peakOfAStart starts the operator, waits until its informers have everything, and returns its peak memory in MiB.
func (c *cluster) peakOfAStart(t *testing.T, until func(*testing.T, *cluster)) int {
	t.Helper()
	o := c.startOperator(t, "GOGC=50")
	// A controller's workers start once its caches are complete.
	for _, controller := range []string{"StaticResources", "TrustedCAExpiryController", "NodeDeletionController",
		"Availability"} {
		o.awaitLog(t, "Starting #1 worker of "+controller+" controller")
	}
	o.awaitLog(t, "Starting the static-pod controllers")
	o.awaitLog(t, `"Caches populated" type="*v1.Event"`)
	if until != nil {
		until(t, c)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.command.Process.Pid))
	require.NoError(t, err)
	_, peak, found := bytes.Cut(status, []byte("VmHWM:"))
	require.True(t, found)
	var kilobytes int
	_, err = fmt.Sscanf(string(peak), "%d kB", &kilobytes)
	require.NoError(t, err)
	o.terminate(t)
	return kilobytes >> 10
}
