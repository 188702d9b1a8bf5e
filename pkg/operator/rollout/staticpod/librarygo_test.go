package staticpod

import (
	"context"
	"net/url"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alone replaces the operator's installer controller with library-go's as it is.
func (s *simulated) alone() {
	pods := nodePods{
		PodsGetter: s.kube.CoreV1(), lister: s.caches.Core().V1().Pods().Lister(), image: "operator",
		server: func() (*url.URL, error) { return url.Parse("https://api-int:6443") },
	}
	inner := installer.NewInstallerController("cloud-controller-manager", target, "cloud-controller-manager",
		revisioned("ConfigMap"), revisioned("Secret"), []string{"installer"}, s.caches, s.operator,
		s.kube.CoreV1(), s.kube.CoreV1(), pods, s.recorder)
	s.controller = factory.New().WithSync(inner.Sync).ToController("Alone", s.recorder)
	s.progress = factory.New().WithSync(
		func(context.Context, factory.SyncContext) error { return nil },
	).ToController("None", s.recorder)
}

// These are the reasons for installerClient and nextNode. If one of them fails after an update of library-go, look
// whether the workaround can go.
func TestWhatTheInstallerControllerDoesByItself(t *testing.T) {
	t.Run("it begins with the leader's node if its kubelet is silent, and never goes on", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1", "m2")
		s.alone()
		s.lead()
		s.silence("m0", false)
		s.unknown("m0")
		s.revision(2)
		s.run(5 * time.Minute)
		require.Equal(t, "m0 1 to 2, m1 1, m2 1", s.revisions())
	})
	t.Run("it installs nothing on a node whose target is its revision", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.repair("m0")
		s.run(time.Minute)
		require.Equal(t, "m0 1 to 1", s.revisions())
		_, err := s.kube.CoreV1().Pods(target).Get(t.Context(), "installer-1-m0", metav1.GetOptions{})
		require.ErrorContains(t, err, "not found")
	})
	t.Run("it goes on to the latest revision instead of the target", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.revision(2)
		s.run(time.Second)
		s.revision(3)
		s.run(time.Second)
		require.Equal(t, "m0 1 to 3", s.revisions())
	})
	t.Run("it applies only the nodes that it reads", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1")
		s.alone()
		s.run(time.Second)
		s.operator.status.NodeStatuses = s.operator.status.NodeStatuses[:1]
		s.run(time.Second)
		require.NotContains(t, s.operator.applied["cloud-controller-manager-Installer"], "m1")
	})
}

// These are the reasons for the corrections in installerreports.go, and for the progress controller.
func TestWhatTheInstallerControllerReportsByItself(t *testing.T) {
	t.Run("an outage while no node has a revision", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.NodeStatuses[0].CurrentRevision = 0
		require.NoError(t, s.controller.Sync(t.Context(), s.syncContext()))
		require.Equal(
			t, "False: 0 nodes are active; 1 node is at revision 0; 0 nodes have achieved new revision 1",
			s.operator.condition(t, "StaticPodsAvailable"),
		)
	})
	t.Run("a node where nothing runs as being at its revision", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1")
		s.alone()
		s.deleteManifest("m1")
		s.unknown("m1")
		s.run(time.Second)
		require.Equal(t, "False: 2 nodes are at revision 1", s.operator.condition(t, "NodeInstallerProgressing"))
	})
	t.Run("the objects of revision 0 as missing", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.LatestAvailableRevision = 0
		require.ErrorContains(t, s.controller.Sync(t.Context(), s.syncContext()), "missing required resources")
		require.Contains(t, s.operator.condition(t, "InstallerControllerDegraded"), "True: missing required resources")
	})
	t.Run("a failure that is over", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.NodeStatuses[0].LastFailedRevision = 1
		s.run(time.Minute)
		require.Equal(t, int32(1), s.operator.status.NodeStatuses[0].LastFailedRevision)
	})
	t.Run("nothing while it waits to retry", func(t *testing.T) {
		s := newSimulated(t, "m0", "m1")
		s.alone()
		s.run(time.Second)
		s.revision(2)
		failed := metav1.Now()
		s.operator.status.NodeStatuses[0] = operatorv1.NodeStatus{
			NodeName: "m0", CurrentRevision: 1, TargetRevision: 2, LastFailedRevision: 2, LastFailedTime: &failed,
		}
		before := s.operator.version
		s.run(time.Second)
		require.Equal(t, before, s.operator.version)
	})
	t.Run("an event about a revision that a repaired node has already", func(t *testing.T) {
		s := newSimulated(t, "m0")
		s.alone()
		s.operator.status.NodeStatuses[0] = operatorv1.NodeStatus{NodeName: "m0", TargetRevision: 1}
		require.NoError(t, s.kube.Tracker().Add(installed("installer-1-m0")))
		s.run(time.Second)
		require.Contains(t, s.recorder.Events()[len(s.recorder.Events())-1].Message, `Updated node "m0" from revision 0 to 1`)
	})
}

func installed(name string) *corev1.Pod {
	p := pod(name, map[string]string{"app": "installer"})
	p.Status.Phase = corev1.PodSucceeded
	return p
}
