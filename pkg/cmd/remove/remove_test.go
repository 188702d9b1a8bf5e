package remove

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const node = "master-0"

// testNode is a node's disk and the API server.
type testNode struct {
	*options
	kube *fake.Clientset
	root string
}

func newNode(t *testing.T) *testNode {
	t.Helper()
	root := t.TempDir()
	mirror := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.Name + "-" + node}}
	kube := fake.NewClientset(mirror)
	n := &testNode{kube: kube, root: root, options: &options{
		Pod: nodepod.Pod{Node: node, Name: "removal-" + node, Client: kube, TerminationLog: filepath.Join(root, "termination-log"),
			ResourceDir: filepath.Join(root, "static-pod-resources"), CertDir: filepath.Join(root, "static-pod-resources", operand.CertDir),
			PodManifestDir: filepath.Join(root, "manifests")},
	}}
	for _, file := range append(others,
		"manifests/cloud-controller-manager-pod.yaml",
		"manifests/.cloud-controller-manager-pod.yaml.new",
		"static-pod-resources/cloud-controller-manager-pod-6/secrets/cloud-config/cloud.conf",
		"static-pod-resources/cloud-controller-manager-pod-7/secrets/cloud-config/cloud.conf",
		"static-pod-resources/.cloud-controller-manager-pod-8.new/secrets/cloud-config/cloud.conf",
		"static-pod-resources/cloud-controller-manager-certs/secrets/kube-token/token",
		"static-pod-resources/.cloud-controller-manager-pod.lock",
	) {
		require.NoError(t, nodefiles.ReplaceFile(filepath.Join(root, file), []byte("content")))
	}
	return n
}

// others are files of other static pods.
var others = []string{
	"manifests/kube-controller-manager-pod.yaml",
	"static-pod-resources/kube-controller-manager-pod-7/secrets/token",
	"static-pod-resources/kube-controller-manager-certs/secrets/token",
	"static-pod-resources/cloud-controller-manager-pod-other/secrets/token",
}

// endPod makes the kubelet delete the mirror pod once the manifest is gone.
func (n *testNode) endPod(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(n.PodManifestDir, operand.ManifestFile)); err != nil {
			_ = n.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), operand.Namespace, operand.Name+"-"+node)
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// files returns the paths of all files and of empty directories.
func (n *testNode) files(t *testing.T) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(n.root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			path, err = filepath.Rel(n.root, path)
			found = append(found, path)
		}
		return err
	}))
	return found
}

func (n *testNode) events(t *testing.T) []string {
	t.Helper()
	list, err := n.kube.CoreV1().Events(operand.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var events []string
	for _, event := range list.Items {
		require.Equal(t, "removal-"+node, event.InvolvedObject.Name)
		events = append(events, event.Type+" "+event.Reason+" "+event.Message)
	}
	return events
}

func TestNothingOfTheStaticPodIsLeft(t *testing.T) {
	n := newNode(t)
	go n.endPod(t.Context())
	require.NoError(t, n.run(t.Context()))
	require.ElementsMatch(t, others, n.files(t))
	require.NoDirExists(t, n.CertDir)
	require.Equal(t, []string{"Normal StaticPodRemoved Removed the static pod and its files"}, n.events(t))

	require.NoError(t, n.run(t.Context()), "a repetition finds nothing")
	require.ElementsMatch(t, others, n.files(t))
}

func TestTheFilesStayUntilTheStaticPodHasEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		want   string
	}{
		"it does not end":                   {want: "it still exists"},
		"the API server does not answer":    {answer: errors.New("connection refused"), want: "connection refused"},
		"nor does it say that it has ended": {answer: errors.New("forbidden"), want: "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			before := n.files(t)
			if tc.answer != nil {
				n.kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.answer })
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := n.End(n.doing(), n.run(ctx))
			message := "removing the static pod from node master-0: the static pod has not ended, " +
				"pod/cloud-controller-manager-master-0 in openshift-cloud-controller-manager: " + tc.want
			require.EqualError(t, err, message)
			written, err := os.ReadFile(n.TerminationLog)
			require.NoError(t, err)
			require.Equal(t, message, string(written))
			require.NoError(t, os.Remove(n.TerminationLog))

			require.Subset(t, before, n.files(t))
			require.Len(t, n.files(t), len(before)-2, "only the manifest is gone, and what an installer left beside it")
			require.Equal(t, []string{"Warning StaticPodRemovalFailed Failed to remove the static pod: the static pod has not ended, " +
				"pod/cloud-controller-manager-master-0 in openshift-cloud-controller-manager: " + tc.want}, n.events(t))
		})
	}
}

func TestAnInstallerGoesFirst(t *testing.T) {
	n := newNode(t)
	before := n.files(t)
	lock := filepath.Join(n.ResourceDir, ".cloud-controller-manager-pod.lock")
	unlock, err := nodefiles.Lock(t.Context(), lock)
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.EqualError(t, n.remove(ctx), "another installer or removal may be at work on this node: waiting for the lock "+lock+": context deadline exceeded")
	require.Equal(t, before, n.files(t))
}

func TestTheCommandNeedsItsFlags(t *testing.T) {
	run := func(args ...string) error {
		command := NewCommand()
		command.SetArgs(args)
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		return command.Execute()
	}
	require.EqualError(t, run(), `required flag(s) "cert-dir", "pod-manifest-dir", "resource-dir" not set`)
}
