package noderepair

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const namespace = "openshift-cloud-controller-manager"

var begin = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// cluster has three nodes at revision 7, as the caches have it, and the controller.
type cluster struct {
	*controller
	kube     *fake.Clientset
	caches   informers.SharedInformerFactory
	operator v1helpers.StaticPodOperatorClient
	clock    *clocktesting.FakePassiveClock
	recorder events.InMemoryRecorder
	reports  *corev1.ConfigMap
	sound    filesyncer.Report
	// repaired is the number of repairs that the controller reported.
	repaired int
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	configMaps, secrets := revision7(t)
	installed, err := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.Installed(7)
	require.NoError(t, err)
	clock := clocktesting.NewFakePassiveClock(begin)
	kube := fake.NewClientset()
	c := &cluster{
		kube: kube, caches: informers.NewSharedInformerFactory(kube, 0), clock: clock,
		recorder: events.NewInMemoryRecorder("test", clock),
		reports:  &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "node-files"}, Data: map[string]string{}},
		sound: filesyncer.Report{
			Directory: nodefiles.Digest(installed.Files), Manifest: nodefiles.Digest(nodefiles.Files{operand.ManifestFile: installed.Manifest}),
		},
	}
	core := c.caches.Core().V1()
	for _, object := range configMaps {
		require.NoError(t, core.ConfigMaps().Informer().GetStore().Add(object))
	}
	for _, object := range secrets {
		require.NoError(t, core.Secrets().Informer().GetStore().Add(object))
	}
	status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 7}}
	for _, node := range []string{"m0", "m1", "m2"} {
		status.NodeStatuses = append(status.NodeStatuses, operatorv1.NodeStatus{NodeName: node, CurrentRevision: 7})
		require.NoError(t, core.Nodes().Informer().GetStore().Add(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}))
		require.NoError(t, core.Pods().Informer().GetStore().Add(mirrorPod(node)))
		require.NoError(t, kube.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "installer-7-" + node}}))
		c.report(t, node, c.sound)
	}
	c.operator = merging{v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform": "openstack"}`)},
	}}, status, nil, nil)}
	c.controller = newController(controllertest.Complete(t, dependencies.Deps{
		Operator: c.operator, Kube: kube, Target: c.caches, Nodes: core.Nodes(), Clock: clock, Recorder: c.recorder,
	}), func() { c.repaired++ })
	return c
}

// merging applies to what is there, as an API server does. The fake replaces the nodes.
type merging struct {
	v1helpers.StaticPodOperatorClient
}

func (m merging) ApplyOperatorStatus(ctx context.Context, _ string, applied *applyoperatorv1.OperatorStatusApplyConfiguration) error {
	return m.update(ctx, func(status *operatorv1.StaticPodOperatorStatus) {
		status.Conditions = nil
		for _, c := range applied.Conditions {
			status.Conditions = append(status.Conditions, operatorv1.OperatorCondition{
				Type: *c.Type, Status: *c.Status, Reason: *c.Reason, Message: ptr.Deref(c.Message, ""),
			})
		}
	})
}

func (m merging) ApplyStaticPodOperatorStatus(ctx context.Context, _ string, applied *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration) error {
	return m.update(ctx, func(status *operatorv1.StaticPodOperatorStatus) {
		for _, node := range applied.NodeStatuses {
			for i := range status.NodeStatuses {
				if s := &status.NodeStatuses[i]; s.NodeName == *node.NodeName {
					s.CurrentRevision, s.TargetRevision = *node.CurrentRevision, *node.TargetRevision
				}
			}
		}
	})
}

func (m merging) update(ctx context.Context, change func(*operatorv1.StaticPodOperatorStatus)) error {
	_, status, version, err := m.GetStaticPodOperatorState()
	if err != nil {
		return err
	}
	status = status.DeepCopy()
	change(status)
	_, err = m.UpdateStaticPodOperatorStatus(ctx, version, status)
	return err
}

func mirrorPod(node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "cloud-controller-manager-" + node, Labels: map[string]string{"app": "cloud-controller-manager"},
	}, Spec: corev1.PodSpec{NodeName: node}}
}

// revision7 returns the copies of revision 7.
func revision7(t *testing.T) ([]*corev1.ConfigMap, []*corev1.Secret) {
	t.Helper()
	openStack, known := platform.ByName("openstack")
	require.True(t, known)
	resources, err := operand.Render(operand.Inputs{
		Phase:       operand.OperatorPhase(),
		Platform:    openStack,
		Config:      []byte(`{"platform": "openstack", "infrastructureName": "ci", "apiServerInternalURI": "https://api-int:6443"}`),
		Images:      operand.Images{Operand: "openstack", Operator: "operator"},
		CloudConfig: operand.CloudConfig{Source: "configmap/cloud-provider-config in openshift-config", Key: "config", Data: []byte("[Global]\n")},
		Credentials: operand.Credentials{Data: map[string][]byte{"clouds.yaml": []byte(`clouds: {openstack: {auth: {auth_url: "https://keystone/v3",
  application_credential_id: id, application_credential_secret: hidden}}}`)}},
		Identity: &operand.Identity{CABundle: []byte("ca"), FileSyncerToken: []byte("token")},
	})
	require.NoError(t, err)
	for _, object := range resources.ConfigMaps {
		object.Name += "-7"
	}
	for _, object := range resources.Secrets {
		object.Name += "-7"
	}
	return resources.ConfigMaps, resources.Secrets
}

// report changes a node's report in the cache.
func (c *cluster) report(t *testing.T, node string, report filesyncer.Report) {
	t.Helper()
	text, err := json.Marshal(report)
	require.NoError(t, err)
	c.reports = c.reports.DeepCopy()
	c.reports.Data[node] = string(text)
	require.NoError(t, c.caches.Core().V1().ConfigMaps().Informer().GetStore().Add(c.reports))
}

// run runs the controller as its timers ask for it.
func (c *cluster) run(t *testing.T, duration time.Duration) {
	t.Helper()
	_, err := controllertest.NewTimer(c.clock, c.recorder).Run(t.Context(), c.sync, duration)
	require.NoError(t, err)
}

// targets returns the nodes that are being installed, with their revisions.
func (c *cluster) targets(t *testing.T) []string {
	t.Helper()
	_, status, _, err := c.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	var targets []string
	for _, node := range status.NodeStatuses {
		if node.TargetRevision != 0 {
			targets = append(targets, fmt.Sprintf("%s: %d to %d", node.NodeName, node.CurrentRevision, node.TargetRevision))
		}
	}
	return targets
}

// finish makes every installation succeed.
func (c *cluster) finish(t *testing.T) {
	t.Helper()
	_, status, version, err := c.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	for i := range status.NodeStatuses {
		status.NodeStatuses[i].CurrentRevision, status.NodeStatuses[i].TargetRevision = 7, 0
	}
	_, err = c.operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
	require.NoError(t, err)
}

func (c *cluster) messages() []string {
	var messages []string
	for _, event := range c.recorder.Events() {
		messages = append(messages, event.Type+" "+event.Reason+" "+event.Message)
	}
	return messages
}

func TestANodeWhoseFilesDifferIsInstalledAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(t *testing.T, c *cluster)
		// want is the reason, empty if nothing is repaired.
		want string
	}{
		"nothing differs": {damage: func(*testing.T, *cluster) {}},
		"the manifest was edited": {
			damage: func(t *testing.T, c *cluster) {
				c.report(t, "m1", filesyncer.Report{Directory: c.sound.Directory, Manifest: "sha256:1"})
			},
			want: "the manifest of the static pod differs from revision 7",
		},
		"the directory was deleted": {
			damage: func(t *testing.T, c *cluster) { c.report(t, "m1", filesyncer.Report{Manifest: c.sound.Manifest}) },
			want:   "the files of revision 7 differ from its objects",
		},
		"the manifest was deleted, and with it the file-syncer": {
			damage: func(t *testing.T, c *cluster) {
				require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
			},
			want: "the static pod does not exist",
		},
		"the kubelet does not work": {
			damage: func(t *testing.T, c *cluster) {
				require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
				require.NoError(t, c.caches.Core().V1().Nodes().Informer().GetStore().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}))
			},
		},
		"the node does not exist": {
			damage: func(t *testing.T, c *cluster) {
				require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
				require.NoError(t, c.caches.Core().V1().Nodes().Informer().GetStore().Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}))
			},
		},
		"the node has not reported": {
			damage: func(t *testing.T, c *cluster) {
				c.reports.Data = map[string]string{}
				require.NoError(t, c.caches.Core().V1().ConfigMaps().Informer().GetStore().Add(c.reports))
			},
		},
		"the revision's objects are not complete": {
			damage: func(t *testing.T, c *cluster) {
				c.report(t, "m1", filesyncer.Report{})
				require.NoError(t, c.caches.Core().V1().Secrets().Informer().GetStore().Delete(
					&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-config-7"}}))
			},
		},
		"a later revision is rolled out": {
			damage: func(t *testing.T, c *cluster) {
				c.report(t, "m1", filesyncer.Report{})
				_, status, version, err := c.operator.GetStaticPodOperatorState()
				require.NoError(t, err)
				status.LatestAvailableRevision = 8
				_, err = c.operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
				require.NoError(t, err)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			tc.damage(t, c)
			c.run(t, filesPatience-time.Second)
			require.Empty(t, c.targets(t))
			c.run(t, 10*time.Second)
			if tc.want == "" {
				require.Empty(t, c.targets(t))
				require.Empty(t, c.messages())
				return
			}
			require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
			require.Equal(t, []string{"Warning NodeFilesRepaired Installing revision 7 on node/m1 again: " + tc.want}, c.messages())
			_, err := c.kube.CoreV1().Pods(namespace).Get(t.Context(), "installer-7-m1", metav1.GetOptions{})
			require.ErrorContains(t, err, "not found", "the controller takes a pod that succeeded for this installation")
			_, err = c.kube.CoreV1().Pods(namespace).Get(t.Context(), "installer-7-m0", metav1.GetOptions{})
			require.NoError(t, err)
		})
	}
}

func TestDamageThatIsOverIsNotRepaired(t *testing.T) {
	c := newCluster(t)
	c.report(t, "m1", filesyncer.Report{})
	c.run(t, filesPatience-time.Second)
	c.report(t, "m1", c.sound)
	c.run(t, time.Second)
	c.report(t, "m1", filesyncer.Report{})
	c.run(t, filesPatience-time.Second)
	require.Empty(t, c.targets(t))
}

func TestOneNodeIsRepairedAtATime(t *testing.T) {
	c := newCluster(t)
	for _, node := range []string{"m0", "m1", "m2"} {
		c.report(t, node, filesyncer.Report{})
	}
	c.run(t, filesPatience)
	for _, want := range []string{"m0: 7 to 7", "m1: 7 to 7", "m2: 7 to 7"} {
		c.run(t, time.Second)
		require.Equal(t, []string{want}, c.targets(t))
		c.run(t, 10*filesPatience)
		require.Equal(t, []string{want}, c.targets(t), "the other nodes wait")
		c.finish(t)
		c.report(t, want[:2], c.sound)
	}
	c.run(t, time.Second)
	require.Empty(t, c.targets(t))
}

func TestEachNodeIsRepairedAFewTimesAnHour(t *testing.T) {
	c := newCluster(t)
	c.report(t, "m1", filesyncer.Report{})
	for range 3 {
		c.run(t, filesPatience+time.Second)
		require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
		c.finish(t)
		c.run(t, 3*time.Minute)
	}
	require.Empty(t, c.targets(t))
	const degraded = `NodeFilesDegraded True RepairedTooOften: node/m1: the manifest of the static pod differs from revision 7, ` +
		`and its files were repaired 3 times within the last hour: find out what changes files below /etc/kubernetes there; ` +
		`the next repair is in \d+m0s`
	require.Regexp(t, "^"+degraded+"$", c.condition(t))

	c.report(t, "m2", filesyncer.Report{})
	c.run(t, filesPatience+time.Second)
	require.Equal(t, []string{"m2: 7 to 7"}, c.targets(t), "the repairs of another node do not count")
	c.finish(t)
	c.report(t, "m2", c.sound)

	c.run(t, time.Hour)
	require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t), "its own timer, an hour after the first repair")
	require.Equal(t, 5, c.repaired)
}

func TestTheRepairsOfAFormerMachineDoNotCount(t *testing.T) {
	c := newCluster(t)
	c.report(t, "m1", filesyncer.Report{})
	for range 3 {
		c.run(t, filesPatience+time.Second)
		c.finish(t)
		c.run(t, 3*time.Minute)
	}
	require.Empty(t, c.targets(t))
	c.replaceNode(t, "m1")
	c.run(t, filesPatience+time.Second)
	require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
}

// replaceNode makes a Node that a machine has registered a minute after the installations.
func (c *cluster) replaceNode(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, c.caches.Core().V1().Nodes().Informer().GetStore().Update(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "second", CreationTimestamp: metav1.NewTime(begin)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}))
}

// addInstaller creates an installer pod a minute before begin.
func (c *cluster) addInstaller(t *testing.T, name, node string, phase corev1.PodPhase) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app": "installer"},
			CreationTimestamp: metav1.NewTime(begin.Add(-time.Minute)),
		},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: phase},
	}
	require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Add(pod))
	if err := c.kube.Tracker().Add(pod); err != nil {
		require.ErrorContains(t, err, "already exists")
	}
}

// setStatus changes what the operator's resource says about the nodes.
func (c *cluster) setStatus(t *testing.T, change func(status *operatorv1.StaticPodOperatorStatus)) {
	t.Helper()
	_, status, version, err := c.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	status = status.DeepCopy()
	change(status)
	_, err = c.operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
	require.NoError(t, err)
}

// installerPods returns the names of the node's installer pods.
func (c *cluster) installerPods(t *testing.T, node string) []string {
	t.Helper()
	list, err := c.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	names := []string{}
	for _, pod := range list.Items {
		if strings.HasSuffix(pod.Name, node) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// A machine is replaced under its own name, or etcd is restored, while the node is being installed. The installer pod
// that has succeeded is then that of the past.
func TestAnInstallationOfThePastIsRepeated(t *testing.T) {
	mirror := func(c *cluster, change func(pod *corev1.Pod)) error {
		pod := mirrorPod("m1")
		change(pod)
		return c.caches.Core().V1().Pods().Informer().GetStore().Update(pod)
	}
	noMirror := func(c *cluster) error {
		return c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1"))
	}
	for name, tc := range map[string]struct {
		installer corev1.PodPhase
		replaced  bool
		change    func(c *cluster) error
		// want is the reason, empty if nothing is repeated, after is how long it must last.
		want  string
		after time.Duration
	}{
		"the static pod never appeared": {
			installer: corev1.PodSucceeded, change: noMirror, want: "the static pod does not exist", after: filesPatience,
		},
		"the machine was replaced since": {
			installer: corev1.PodSucceeded, replaced: true, change: noMirror,
			want: "the machine was replaced, and the static pod does not exist", after: replacedPatience,
		},
		"the mirror pod is that of a former Node": {
			installer: corev1.PodSucceeded, replaced: true,
			change: func(c *cluster) error {
				return mirror(c, func(pod *corev1.Pod) {
					pod.Labels["revision"] = "7"
					pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", UID: "first"}}
				})
			},
			want: "the machine was replaced, and the static pod does not exist", after: replacedPatience,
		},
		"the same machine registered again": {
			installer: corev1.PodSucceeded, replaced: true,
			change: func(c *cluster) error {
				return mirror(c, func(pod *corev1.Pod) {
					pod.Labels["revision"] = "7"
					pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", UID: "second"}}
				})
			},
		},
		"the node runs a revision of after the snapshot": {
			installer: corev1.PodSucceeded,
			change: func(c *cluster) error {
				return mirror(c, func(pod *corev1.Pod) { pod.Labels["revision"] = "9" })
			},
			want: "the static pod runs revision 9, want 7", after: filesPatience,
		},
		"the installer has not ended": {installer: corev1.PodRunning, change: noMirror},
		"the installer has failed":    {installer: corev1.PodFailed, change: noMirror},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.addInstaller(t, "installer-7-retry-1-m1", "m1", tc.installer)
			c.addInstaller(t, "installer-6-m1", "m1", corev1.PodSucceeded)
			c.addInstaller(t, "installer-7-retry-1-m2", "m2", corev1.PodSucceeded)
			require.NoError(t, tc.change(c))
			if tc.replaced {
				c.replaceNode(t, "m1")
			}
			c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) {
				status.NodeStatuses[1].CurrentRevision, status.NodeStatuses[1].TargetRevision = 0, 7
			})
			all := []string{"installer-6-m1", "installer-7-m1", "installer-7-retry-1-m1"}
			c.run(t, max(0, tc.after-time.Second))
			require.ElementsMatch(t, all, c.installerPods(t, "m1"))
			c.run(t, 2*time.Second)
			if tc.want == "" {
				c.run(t, time.Hour)
				require.ElementsMatch(t, all, c.installerPods(t, "m1"))
				require.Empty(t, c.messages())
				return
			}
			require.Equal(t, []string{"installer-6-m1"}, c.installerPods(t, "m1"))
			require.ElementsMatch(t, []string{"installer-7-m2", "installer-7-retry-1-m2"}, c.installerPods(t, "m2"))
			require.Equal(t, []string{"m1: 0 to 7"}, c.targets(t))
			require.Equal(t, []string{"Warning InstallationRepeated Installing revision 7 on node/m1 again: " + tc.want}, c.messages())
		})
	}
}

// A kubelet may need minutes to start a static pod. Nothing changes its files.
func TestAKubeletThatStartsNoStaticPodIsNamed(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
	c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) {
		status.NodeStatuses[1].CurrentRevision, status.NodeStatuses[1].TargetRevision = 0, 7
	})
	for range 4 {
		c.addInstaller(t, "installer-7-m1", "m1", corev1.PodSucceeded)
		c.run(t, filesPatience+time.Second)
	}
	require.Regexp(t, "^NodeFilesDegraded True RepairedTooOften: node/m1: the static pod does not exist, and its revision was "+
		"installed 3 times within the last hour: check that the kubelet and the container runtime there respond, and that "+
		"nothing removes files below /etc/kubernetes; the next repair is in \\d+m0s$", c.condition(t))
}

// library-go's installer controller would report an old failure as a new one each time the Node registers again.
func TestAFailedInstallerGoesOnceItsRevisionIsIn(t *testing.T) {
	for name, tc := range map[string]struct {
		pod             string
		phase           corev1.PodPhase
		created         time.Time
		current, target int32
		gone            bool
	}{
		"the node has the revision":                  {"installer-7-retry-1-m1", corev1.PodFailed, begin, 7, 0, true},
		"the node has a newer one":                   {"installer-6-retry-1-m1", corev1.PodFailed, begin, 7, 0, true},
		"the revision is being installed":            {"installer-7-retry-1-m1", corev1.PodFailed, begin, 6, 7, false},
		"the revision is being installed again":      {"installer-7-retry-1-m1", corev1.PodFailed, begin, 7, 7, false},
		"a newer one failed":                         {"installer-8-retry-1-m1", corev1.PodFailed, begin, 7, 0, false},
		"it has succeeded":                           {"installer-7-retry-1-m1", corev1.PodSucceeded, begin, 7, 0, false},
		"it ran on a former machine of the name":     {"installer-7-retry-1-m1", corev1.PodFailed, begin.Add(-time.Hour), 0, 7, true},
		"it is no pod of the installer controller":   {"installer-by-hand", corev1.PodFailed, begin, 7, 0, false},
		"it failed in the second of the Node's time": {"installer-7-retry-1-m1", corev1.PodFailed, begin.Add(-time.Minute), 0, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tc.pod, CreationTimestamp: metav1.NewTime(tc.created), Labels: map[string]string{"app": "installer"}},
				Spec:       corev1.PodSpec{NodeName: "m1"}, Status: corev1.PodStatus{Phase: tc.phase},
			}
			require.NoError(t, c.kube.Tracker().Add(pod))
			require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Add(pod))
			node, err := c.Nodes.Lister().Get("m1")
			require.NoError(t, err)
			node.CreationTimestamp = metav1.NewTime(begin.Add(-time.Minute))
			require.NoError(t, merging{c.operator}.update(t.Context(), func(status *operatorv1.StaticPodOperatorStatus) {
				status.NodeStatuses[1].CurrentRevision, status.NodeStatuses[1].TargetRevision = tc.current, tc.target
			}))
			c.run(t, time.Second)
			_, err = c.kube.CoreV1().Pods(namespace).Get(t.Context(), tc.pod, metav1.GetOptions{})
			require.Equal(t, tc.gone, apierrors.IsNotFound(err))
		})
	}
}

func TestARepairThatIsStuckIsRepeatedBeforeAnotherNodeIsRepaired(t *testing.T) {
	c := newCluster(t)
	c.addInstaller(t, "installer-7-m1", "m1", corev1.PodSucceeded)
	require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
	c.report(t, "m0", filesyncer.Report{})
	c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[1].TargetRevision = 7 })
	c.run(t, filesPatience+time.Second)
	require.Empty(t, c.installerPods(t, "m1"))
	require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
}

func TestANodeThatRunsAnotherRevisionIsInstalledAgain(t *testing.T) {
	c := newCluster(t)
	pod := mirrorPod("m1")
	pod.Labels["revision"] = "9"
	require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Update(pod))
	c.run(t, filesPatience+time.Second)
	require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
	require.Equal(t, []string{"Warning NodeFilesRepaired Installing revision 7 on node/m1 again: the static pod runs revision 9, want 7"},
		c.messages())
}

func TestAMachineThatWasReplacedIsInstalledSoon(t *testing.T) {
	c := newCluster(t)
	c.addInstaller(t, "installer-7-m1", "m1", corev1.PodSucceeded)
	require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
	c.replaceNode(t, "m1")
	c.run(t, replacedPatience+time.Second)
	require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
}

// stale is a client whose cache is behind the API server.
type stale struct {
	v1helpers.StaticPodOperatorClient
	cached *operatorv1.StaticPodOperatorStatus
}

func (s stale) GetStaticPodOperatorState() (*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error) {
	spec, _, version, err := s.StaticPodOperatorClient.GetStaticPodOperatorState()
	return spec, s.cached, version, err
}

func TestASecondNodeIsNotRepairedWhileTheCacheIsBehind(t *testing.T) {
	c := newCluster(t)
	_, cached, _, err := c.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	c.Operator = stale{c.operator, cached.DeepCopy()}
	c.report(t, "m0", filesyncer.Report{})
	c.report(t, "m1", filesyncer.Report{})
	c.run(t, 10*filesPatience)
	require.Equal(t, []string{"m0: 7 to 7"}, c.targets(t))
	require.Len(t, c.messages(), 1)
	_, err = c.kube.CoreV1().Pods(namespace).Get(t.Context(), "installer-7-m1", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestTheConfigMapForTheReportsIsCreated(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.caches.Core().V1().ConfigMaps().Informer().GetStore().Delete(c.reports))
	c.run(t, time.Second)
	_, err := c.kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), "node-files", metav1.GetOptions{})
	require.NoError(t, err)
}

// condition returns the controller's condition.
func (c *cluster) condition(t *testing.T) string {
	t.Helper()
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	require.Len(t, status.Conditions, 1)
	found := status.Conditions[0]
	return fmt.Sprintf("%s %s %s: %s", found.Type, found.Status, found.Reason, found.Message)
}

func TestAFileSyncerThatCannotReadOrWriteIsReported(t *testing.T) {
	c := newCluster(t)
	failing := c.sound
	failing.NotWritten = "secret/kube-token: reading the object: forbidden"
	c.report(t, "m1", failing)
	c.run(t, filesPatience-time.Second)
	require.Equal(t, "NodeFilesDegraded False AsExpected: ", c.condition(t))
	c.run(t, 2*time.Second)
	require.Equal(t, "NodeFilesDegraded True NotWritten: node/m1: the file-syncer cannot update files below /etc/kubernetes/static-pod-resources: "+
		"secret/kube-token: reading the object: forbidden", c.condition(t))
	require.Empty(t, c.targets(t))
	c.report(t, "m1", c.sound)
	c.run(t, time.Second)
	require.Equal(t, "NodeFilesDegraded False AsExpected: ", c.condition(t))
}

// A file-syncer that is frozen, or whose token was revoked, looks the same.
func TestAFileSyncerThatDoesNotReportIsReported(t *testing.T) {
	c := newCluster(t)
	for range 4 {
		c.run(t, maxSilence/2)
		for _, node := range []string{"m0", "m2"} {
			repeated := c.sound
			repeated.At = metav1.NewTime(c.clock.Now())
			c.report(t, node, repeated)
		}
	}
	require.Equal(t, "NodeFilesDegraded True NotReported: node/m1: the file-syncer has not reported for more than 15m0s, so tokens and "+
		"certificates may expire there: read the logs of container file-syncer in pod/cloud-controller-manager-m1 in "+
		"openshift-cloud-controller-manager", c.condition(t))
	require.NoError(t, c.caches.Core().V1().Nodes().Informer().GetStore().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}))
	c.run(t, time.Second)
	require.Equal(t, "NodeFilesDegraded False AsExpected: ", c.condition(t), "another condition is about a kubelet that does not work")
}
