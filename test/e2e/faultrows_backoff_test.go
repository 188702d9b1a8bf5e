package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

const (
	// maxBackOff is the longest time that a kubelet waits before it starts a container again.
	maxBackOff = 5 * time.Minute
	// installerBackOff is how long library-go's installer controller waits after the sixth failure: 10 s times 1.5 to the
	// power of six. Nothing tells it that the cause is gone, so the failure stays what is known of the node until then.
	installerBackOff = 114 * time.Second
	// preflightPause is how long a preflight waits after the third pull that failed. pullsLimit exceeds the three minutes
	// between the first and the third.
	preflightPause, pullsLimit = 4 * time.Minute, 4 * time.Minute
	// calm is how long a process must run again before the operator ends its report.
	calm = 45 * time.Second
)

// TestFaultsWithBackOff has the rows that last until a back-off has grown. The kubelets of the other rows restart a
// container within a second, so that a row lasts a minute; these have the kubelet's own back-off.
func TestFaultsWithBackOff(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" || os.Getenv("FAULTS_SLOW") == "" {
		t.Skip("E2E_LONG or FAULTS_SLOW is not set: this takes half an hour")
	}
	startFaultSuite(t, devcluster.Options{
		Name: "e2e-backoff", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}).runAll(t, backOffFaults())
}

// backOffFaults are faults that end when something is repeated only every few minutes: a container by its kubelet, an
// installer by the operator, the pull of an image by the kubelet.
func backOffFaults() []fault {
	return []fault{
		{
			name: "a process ends at each start until its kubelet waits for minutes", slow: true,
			shows: sign{condition: "CrashLoopDegraded", message: `pod/cloud-controller-manager-{node} keeps exiting`,
				within: 5*time.Minute + visibleLimit, clearedWithin: maxBackOff + calm + 15*time.Second,
				why: "a series of exits is reported after five minutes; the kubelet waits for up to five minutes more, and " +
					"the process must run for 45 s"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				require.NoError(t, f.Cloud().Fail(openstack.AllEndpoints, http.StatusServiceUnavailable))
				f.signal(t, f.node.Name(), syscall.SIGKILL)
				return func(t *testing.T) {
					f.await(t, "a back-off of five minutes", briefly, f.waitsLongest)
					f.cloudReturns(t)
				}
			},
		},
		{
			name: "an installer fails until the operator waits for minutes", slow: true,
			shows: sign{condition: "NodeInstallerDegraded", message: `read-only file system`,
				clearedWithin: installerBackOff + visibleLimit,
				why:           "the operator waits for up to 114 s before it installs again, and does not know before that it can"},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				umount := f.mountReadOnly(t)
				f.change(t)
				return func(t *testing.T) {
					f.await(t, "the sixth failure", giveUpLimit, f.failed(6))
					umount(t)
				}
			},
		},
		{
			name: "an image cannot be pulled until the kubelet waits for minutes", slow: true,
			shows: sign{condition: "ImageDegraded", message: regexp.QuoteMeta(missingImage) + `(.|\n)*the former image stays in use`,
				within: withRestart, clearedWithin: preflightPause + visibleLimit,
				why: "the operator restarts with the image; after the third preflight it waits for four minutes"},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				archive, err := f.node.ExportImage(t.Context(), f.staticPods(t)[0].Spec.Containers[0].Image)
				require.NoError(t, err)
				image, err := newRegistry(archive)
				require.NoError(t, err)
				image.missing.Store(true)
				for _, n := range f.Nodes() {
					image.serveOn(t, n)
				}
				f.began = time.Now()
				f.setOperandImage(t, missingImage)
				f.wanted++
				return func(t *testing.T) {
					// A kubelet soon drops its events about a pod that waits, so the registry counts.
					f.await(t, "the third failure", pullsLimit, func(context.Context) error {
						if failed := image.failedPulls.Load(); failed < 3 {
							return fmt.Errorf("%d pulls have failed", failed)
						}
						return nil
					})
					image.missing.Store(false)
				}
			},
		},
	}
}

// waitsLongest returns nil once the kubelet of the row's node waits for five minutes before the next start.
func (f *running) waitsLongest(ctx context.Context) error {
	pod, err := f.kube.CoreV1().Pods(targetNamespace).Get(ctx, operand+"-"+f.node.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Waiting != nil && strings.HasPrefix(c.State.Waiting.Message, "back-off 5m0s restarting") {
			return nil
		}
	}
	return fmt.Errorf("its containers are %+v", pod.Status.ContainerStatuses)
}

// failed returns nil once a revision has failed that often on a node.
func (f *running) failed(times int) func(context.Context) error {
	return func(ctx context.Context) error {
		resource, err := f.resource(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(resource.Status.NodeStatuses, func(s operatorv1.NodeStatus) bool {
			return s.LastFailedCount >= times
		}) {
			return fmt.Errorf("the nodes are %+v", resource.Status.NodeStatuses)
		}
		return nil
	}
}
