package filesyncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
)

const namespace = "openshift-cloud-controller-manager"

func newObject(kind, name, version string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "data": data,
		"metadata": map[string]any{"namespace": namespace, "name": name, "resourceVersion": version},
	}}
}

// token is a Secret whose token is base64 of the text "first" or "second".
func token(version, text string) *unstructured.Unstructured {
	return newObject("Secret", "kube-token", version, map[string]any{"token": map[string]string{"first": "Zmlyc3Q=", "second": "c2Vjb25k"}[text]})
}

func clientCA() *unstructured.Unstructured {
	return newObject("ConfigMap", "client-ca", "1", map[string]any{"ca-bundle.crt": "a CA"})
}

// node is a running syncer with a fake API.
type node struct {
	Options
	client *fake.FakeDynamicClient
	ended  chan struct{}
}

func newNode(t *testing.T, repair time.Duration, objects ...runtime.Object) *node {
	t.Helper()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		resourceOf(configMaps): "ConfigMapList", resourceOf(secrets): "SecretList", resourceOf("events"): "EventList",
	}, objects...)
	return &node{client: client, ended: make(chan struct{}), Options: Options{
		Client: client, Namespace: namespace, ConfigMaps: []string{"client-ca"}, Secrets: []string{"kube-token"},
		Directory: t.TempDir(), StaticPod: StaticPod{Pod: "cloud-controller-manager-master-0", Node: "master-0"}, RepairPeriod: repair, Clock: clock.RealClock{},
	}}
}

// start runs the syncer until the test ends.
func (n *node) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(n.ended)
		Run(ctx, n.Options)
	}()
	t.Cleanup(func() { cancel(); <-n.ended })
}

func resourceOf(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func (n *node) path(name string) string { return filepath.Join(n.Directory, name) }

func (n *node) prime(t *testing.T) {
	t.Helper()
	for directory, files := range map[string]nodefiles.Files{
		"configmaps/client-ca": {"ca-bundle.crt": []byte("a CA")}, "secrets/kube-token": {"token": []byte("first")},
	} {
		_, err := nodefiles.ReplaceDirectory(n.path(directory), files)
		require.NoError(t, err)
	}
}

func (n *node) update(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	_, err := n.client.Resource(resourceOf(secrets)).Namespace(namespace).Update(t.Context(), o, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// awaitFile waits until the file has the content.
func (n *node) awaitFile(t *testing.T, name, content string) {
	t.Helper()
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(n.path(name))
		return err == nil && string(data) == content
	}, time.Minute, 5*time.Millisecond, "%s does not become %q", name, content)
}

// events returns the types, reasons and messages of the events.
func (n *node) events(t *testing.T) []string {
	t.Helper()
	list, err := n.client.Resource(resourceOf("events")).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var events []string
	for _, e := range list.Items {
		involved, _, err := unstructured.NestedString(e.Object, "involvedObject", "name")
		require.NoError(t, err)
		require.Equal(t, "cloud-controller-manager-master-0", involved)
		events = append(events, fmt.Sprintf("%s %s %s", e.Object["type"], e.Object["reason"], e.Object["message"]))
	}
	slices.Sort(events)
	return events
}

func (n *node) awaitEvents(t *testing.T, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(n.events(t)) >= len(want) }, time.Minute, 5*time.Millisecond)
	require.Equal(t, want, n.events(t))
}

func TestFilesFollowTheirObjects(t *testing.T) {
	n := newNode(t, time.Hour, clientCA(), token("1", "first"))
	n.prime(t)
	before, err := os.Stat(n.path("configmaps/client-ca"))
	require.NoError(t, err)
	n.start(t)
	n.update(t, token("2", "second"))
	n.awaitFile(t, "secrets/kube-token/token", "second")
	n.awaitEvents(t, "Normal SyncedFilesUpdated Updated the files of secret/kube-token on node master-0")
	after, err := os.Stat(n.path("configmaps/client-ca"))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "only what differs is replaced")
	info, err := os.Stat(n.path("secrets/kube-token/token"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestMissingFilesAreWrittenAtTheStart(t *testing.T) {
	n := newNode(t, time.Hour, clientCA(), token("1", "first"))
	n.start(t)
	n.awaitFile(t, "secrets/kube-token/token", "first")
	n.awaitFile(t, "configmaps/client-ca/ca-bundle.crt", "a CA")
	n.awaitEvents(t, "Normal SyncedFilesUpdated Updated the files of configmap/client-ca on node master-0",
		"Normal SyncedFilesUpdated Updated the files of secret/kube-token on node master-0")
}

func TestDamagedFilesAreRepaired(t *testing.T) {
	for name, damage := range map[string]func(*node) error{
		"another content": func(n *node) error { return os.WriteFile(n.path("secrets/kube-token/token"), []byte("x"), 0o600) },
		"no content":      func(n *node) error { return os.Truncate(n.path("secrets/kube-token/token"), 0) },
		"another mode":    func(n *node) error { return os.Chmod(n.path("secrets/kube-token/token"), 0o644) },
		"no file":         func(n *node) error { return os.Remove(n.path("secrets/kube-token/token")) },
		"no directory":    func(n *node) error { return os.RemoveAll(n.path("secrets")) },
		"a foreign file":  func(n *node) error { return os.WriteFile(n.path("secrets/kube-token/x"), nil, 0o600) },
		"a link to elsewhere": func(n *node) error {
			return errors.Join(os.Remove(n.path("secrets/kube-token/token")), os.Symlink("/etc/passwd", n.path("secrets/kube-token/token")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 200*time.Millisecond, clientCA(), token("1", "first"))
			n.start(t)
			updated := []string{
				"Normal SyncedFilesUpdated Updated the files of configmap/client-ca on node master-0",
				"Normal SyncedFilesUpdated Updated the files of secret/kube-token on node master-0",
			}
			n.awaitEvents(t, updated...)
			require.NoError(t, damage(n))
			n.awaitEvents(t, append(updated,
				"Warning SyncedFilesRepaired The files of secret/kube-token on node master-0 were damaged, and are repaired")...)
			require.True(t, nodefiles.DirectoryHolds(n.path("secrets/kube-token"), nodefiles.Files{"token": []byte("first")}))
		})
	}
}

func TestFilesThatAnInstallerWroteAreNotReplacedFromAnOlderCache(t *testing.T) {
	n := newNode(t, 100*time.Millisecond, clientCA(), token("1", "first"))
	n.prime(t)
	asked := make(chan struct{}, 1000)
	n.client.PrependReactor("get", secrets, func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return true, token("2", "second"), nil
	})
	_, err := nodefiles.ReplaceDirectory(n.path("secrets/kube-token"), nodefiles.Files{"token": []byte("second")})
	require.NoError(t, err)
	before, err := os.Stat(n.path("secrets/kube-token"))
	require.NoError(t, err)
	n.start(t)
	// When it asks a second time, it has acted on the first answer.
	<-asked
	<-asked
	after, err := os.Stat(n.path("secrets/kube-token"))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	require.Empty(t, n.events(t))
}

func TestTheFilesOfADeletedObjectStay(t *testing.T) {
	n := newNode(t, 100*time.Millisecond, clientCA(), token("1", "first"))
	n.prime(t)
	n.start(t)
	require.NoError(t, n.client.Resource(resourceOf(secrets)).Namespace(namespace).Delete(t.Context(), "kube-token", metav1.DeleteOptions{}))
	ca := clientCA()
	ca.Object["data"] = map[string]any{"ca-bundle.crt": "another CA"}
	_, err := n.client.Resource(resourceOf(configMaps)).Namespace(namespace).Update(t.Context(), ca, metav1.UpdateOptions{})
	require.NoError(t, err)
	n.awaitFile(t, "configmaps/client-ca/ca-bundle.crt", "another CA")
	require.FileExists(t, n.path("secrets/kube-token/token"))
}

func TestAFailureIsReportedOnceAndTriedAgain(t *testing.T) {
	n := newNode(t, time.Hour, clientCA(), token("1", "first"))
	n.prime(t)
	unlock, err := nodefiles.LockDirectory(t.Context(), n.Directory)
	require.NoError(t, err)
	require.NoError(t, os.Remove(n.path("secrets/kube-token/token")))
	require.NoError(t, os.Remove(n.path("configmaps/client-ca/ca-bundle.crt")))
	refused := 0
	n.client.PrependReactor("get", secrets, func(clienttesting.Action) (bool, runtime.Object, error) {
		refused++
		if refused <= 2 {
			return true, nil, errors.New("connection refused")
		}
		return false, nil, nil
	})
	time.AfterFunc(time.Second, unlock)
	n.start(t)
	n.awaitFile(t, "secrets/kube-token/token", "first")
	n.awaitFile(t, "configmaps/client-ca/ca-bundle.crt", "a CA")
	n.awaitEvents(t, "Normal SyncedFilesUpdated Updated the files of configmap/client-ca on node master-0",
		"Normal SyncedFilesUpdated Updated the files of secret/kube-token on node master-0",
		"Warning SyncedFilesNotWritten Writing the files of secret/kube-token on node master-0: reading the object: connection refused")
}

// An installer writes the same directories.
func TestNothingIsWrittenWhileAnotherProcessHasTheLock(t *testing.T) {
	n := newNode(t, 50*time.Millisecond, clientCA(), token("2", "second"))
	n.prime(t)
	unlock, err := nodefiles.LockDirectory(t.Context(), n.Directory)
	require.NoError(t, err)
	n.start(t)
	require.Never(t, func() bool {
		data, err := os.ReadFile(n.path("secrets/kube-token/token"))
		return err != nil || string(data) != "first"
	}, time.Second, 10*time.Millisecond)
	unlock()
	n.awaitFile(t, "secrets/kube-token/token", "second")
}

// Each request names an object, which the role is limited to.
func TestItAsksOnlyForItsObjects(t *testing.T) {
	n := newNode(t, time.Hour, clientCA(), token("1", "first"), newObject("Secret", "cloud-credentials", "1", nil))
	n.start(t)
	n.awaitFile(t, "secrets/kube-token/token", "first")
	n.awaitFile(t, "configmaps/client-ca/ca-bundle.crt", "a CA")
	for _, action := range n.client.Actions() {
		switch a := action.(type) {
		case clienttesting.ListActionImpl:
			name, found := a.GetListRestrictions().Fields.RequiresExactMatch("metadata.name")
			require.True(t, found, "%v", a)
			require.Contains(t, []string{"client-ca", "kube-token", "node-files"}, name)
		case clienttesting.WatchActionImpl:
			name, found := a.GetWatchRestrictions().Fields.RequiresExactMatch("metadata.name")
			require.True(t, found, "%v", a)
			require.Contains(t, []string{"client-ca", "kube-token", "node-files"}, name)
		case clienttesting.GetActionImpl:
			require.Contains(t, []string{"client-ca", "kube-token"}, a.GetName())
		default:
			require.Equal(t, "create events", action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	require.NoDirExists(t, n.path("secrets/cloud-credentials"))
}

func TestAKeyThatIsNotAFileNameIsRejected(t *testing.T) {
	_, err := filesOf(newObject("ConfigMap", "client-ca", "1", map[string]any{"../x": ""}))
	require.EqualError(t, err, `key "../x" is not a file name`)
	_, err = filesOf(newObject("Secret", "kube-token", "1", map[string]any{"token": "?"}))
	require.EqualError(t, err, "key token is not base64")
	_, err = filesOf(newObject("Secret", "kube-token", "1", map[string]any{"token": int64(1)}))
	require.EqualError(t, err, "the object's data has values that are not strings")
}
