package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// growth is the most that objects of others may add to the operator's peak memory, in MiB. Each case writes many times
// that. Two starts of the same operator differ by up to 8 MiB.
const growth = 24

// flood is what others write into one cluster.
type flood struct {
	count int
	write func(ctx context.Context, c *cluster, i int) error
}

func TestObjectsOfOthersDoNotFillTheMemory(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	_, err := c.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	before := c.peakOfAStart(t)
	for _, tc := range []struct {
		name string
		flood
	}{
		{"RoleBindings of a tenant with the label of the operator's", flood{1000, writeRoleBinding}},
		{"ConfigMaps of openshift-config that nothing names", flood{150, writeConfigMap}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.write(t, tc.flood)
			after := c.peakOfAStart(t)
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
func (c *cluster) peakOfAStart(t *testing.T) int {
	t.Helper()
	o := c.startOperator(t, "GOGC=50")
	// A controller's workers start once its caches are complete.
	for _, controller := range []string{"StaticResources", "TrustedCAExpiryController", "NodeDeletionController",
		"Availability"} {
		o.awaitLog(t, "Starting #1 worker of "+controller+" controller")
	}
	o.awaitLog(t, "Starting the static-pod controllers")
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
