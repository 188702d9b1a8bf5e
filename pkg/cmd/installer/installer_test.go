package installer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/library-go/pkg/operator/staticpod/installerpod"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	node      = "master-0"
	namespace = operand.Namespace
)

// revision7 returns the objects of revision 7, as the revision controller copies them, and the synced objects.
func revision7(t *testing.T) []runtime.Object {
	t.Helper()
	openStack, known := platform.ByName("openstack")
	require.True(t, known)
	resources, err := operand.Render(operand.Inputs{
		Phase:    operand.OperatorPhase(),
		Platform: openStack,
		Config:   []byte(`{"platform": "openstack", "infrastructureName": "ci", "apiServerInternalURI": "https://api-int:6443"}`),
		Images:   operand.Images{Operand: "openstack", Operator: "operator"},
		CloudConfig: operand.CloudConfig{
			Source: "configmap/cloud-provider-config in openshift-config", Key: "config", Data: []byte("[Global]\n"),
		},
		Credentials: operand.Credentials{Data: map[string][]byte{"clouds.yaml": []byte(`clouds: {openstack: {auth: {auth_url: "https://keystone/v3",
  application_credential_id: id, application_credential_secret: hidden}}}`)}},
		Identity: &operand.Identity{CABundle: []byte("ca"), FileSyncerToken: []byte("token")},
	})
	require.NoError(t, err)
	var objects []runtime.Object
	for _, object := range resources.ConfigMaps {
		object.Name += "-7"
		objects = append(objects, object)
	}
	for _, object := range resources.Secrets {
		object.Name += "-7"
		objects = append(objects, object)
	}
	for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Synced) {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: meta(name), Data: map[string]string{"ca.crt": "of " + name}})
	}
	for _, name := range operand.DeliveredBy(operand.Secret, operand.Synced) {
		objects = append(objects, &corev1.Secret{ObjectMeta: meta(name), Data: map[string][]byte{"token": []byte("of " + name)}})
	}
	return objects
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func installerPod(name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{NodeName: node}}
	pod.Labels = map[string]string{"app": "installer"}
	return pod
}

// testNode is a node's disk and the API server.
type testNode struct {
	*options
	kube *fake.Clientset
	root string
}

func newNode(t *testing.T, objects ...runtime.Object) *testNode {
	t.Helper()
	root := t.TempDir()
	kube := fake.NewClientset(append(objects, installerPod("installer-7-"+node, node))...)
	o := &options{
		revision: 7, namespace: namespace, podConfigMap: operand.PodConfigMap,
		configMaps: operand.DeliveredBy(operand.ConfigMap, operand.Revisioned), secrets: operand.DeliveredBy(operand.Secret, operand.Revisioned),
		certConfigMaps: operand.DeliveredBy(operand.ConfigMap, operand.Synced), certSecrets: operand.DeliveredBy(operand.Secret, operand.Synced),
		Pod: nodepod.Pod{Node: node, Name: "installer-7-" + node, Client: kube, TerminationLog: filepath.Join(root, "termination-log"),
			ResourceDir: filepath.Join(root, "static-pod-resources"), CertDir: filepath.Join(root, "static-pod-resources", operand.CertDir),
			PodManifestDir: filepath.Join(root, "manifests")},
		after: time.After,
	}
	return &testNode{options: o, kube: kube, root: root}
}

// manifestFile is where the kubelet finds the static pod.
func (n *testNode) manifestFile() string {
	return filepath.Join(n.PodManifestDir, "cloud-controller-manager-pod.yaml")
}

func (n *testNode) read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(n.root, path))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(n.root, path))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode(), path)
	return string(data)
}

func (n *testNode) events(t *testing.T) []string {
	t.Helper()
	list, err := n.kube.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var events []string
	for _, event := range list.Items {
		require.Equal(t, "installer-7-"+node, event.InvolvedObject.Name)
		events = append(events, event.Type+" "+event.Reason+" "+event.Message)
	}
	return events
}

func TestARevisionIsWritten(t *testing.T) {
	n := newNode(t, revision7(t)...)
	require.NoError(t, n.run(t.Context()))

	const revision = "static-pod-resources/cloud-controller-manager-pod-7/"
	require.Contains(t, n.read(t, revision+"secrets/cloud-config/cloud.conf"), "[Global]")
	require.Equal(t, "token", n.read(t, revision+"secrets/file-syncer-token/token"))
	require.Contains(t, n.read(t, revision+"configmaps/kubeconfigs/cloud-controller-manager.kubeconfig"), "api-int")
	require.Equal(t, "of kube-token", n.read(t, "static-pod-resources/cloud-controller-manager-certs/secrets/kube-token/token"))

	manifest := n.read(t, "manifests/cloud-controller-manager-pod.yaml")
	require.Equal(t, manifest, n.read(t, revision+"cloud-controller-manager-pod.yaml"))
	pod := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(manifest), pod))
	require.Equal(t, "7", pod.Labels["revision"])
	require.NotContains(t, manifest, "REVISION")
	require.Contains(t, manifest, "cloud-controller-manager-pod-7/secrets/cloud-credentials")
	require.Equal(t, []string{"Normal StaticPodInstallerCompleted Successfully installed revision 7"}, n.events(t))
	require.NoFileExists(t, n.TerminationLog)
}

// Library-go's installer replaced these texts in every value.
func TestAValueIsDeliveredAsItIs(t *testing.T) {
	n := newNode(t, revision7(t)...)
	secret, err := n.kube.CoreV1().Secrets(namespace).Get(t.Context(), "kube-token", metav1.GetOptions{})
	require.NoError(t, err)
	secret.Data["token"] = []byte("REVISION NODE_NAME NODE_ENVVAR_NAME \x00\xff")
	_, err = n.kube.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, n.run(t.Context()))
	require.Equal(t, "REVISION NODE_NAME NODE_ENVVAR_NAME \x00\xff", n.read(t, "static-pod-resources/cloud-controller-manager-certs/secrets/kube-token/token"))
}

func TestAFailedInstallationLeavesTheFormerManifest(t *testing.T) {
	const former = "the former manifest"
	for name, tc := range map[string]struct {
		change func(t *testing.T, n *testNode)
		want   string
	}{
		"an object of the revision is missing": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, n.kube.CoreV1().Secrets(namespace).Delete(t.Context(), "cloud-config-7", metav1.DeleteOptions{}))
			},
			want: `reading cloud-config-7: secrets "cloud-config-7" not found`,
		},
		"an object without revisions is missing": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, n.kube.CoreV1().Secrets(namespace).Delete(t.Context(), "kube-token", metav1.DeleteOptions{}))
			},
			want: `reading kube-token: secrets "kube-token" not found`,
		},
		"an object is not the one of the candidate": {
			change: func(t *testing.T, n *testNode) {
				secret, err := n.kube.CoreV1().Secrets(namespace).Get(t.Context(), "cloud-config-7", metav1.GetOptions{})
				require.NoError(t, err)
				secret.Data["cloud.conf"] = []byte("of another candidate")
				_, err = n.kube.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
				require.NoError(t, err)
			},
			want: "the objects have digest",
		},
		"another installer has a later revision": {
			change: func(t *testing.T, n *testNode) {
				_, err := n.kube.CoreV1().Pods(namespace).Create(t.Context(), installerPod("installer-12-retry-1-master-0", node), metav1.CreateOptions{})
				require.NoError(t, err)
			},
			want: "pod/installer-12-retry-1-master-0 installs a later revision on this node",
		},
		"another installer works on the node": {
			change: func(t *testing.T, n *testNode) {
				unlock, err := nodefiles.Lock(t.Context(), filepath.Join(n.ResourceDir, ".cloud-controller-manager-pod.lock"))
				require.NoError(t, err)
				t.Cleanup(unlock)
			},
			want: "another installer or removal may be at work on this node: waiting for the lock /",
		},
		"the file-syncer holds the directory": {
			change: func(t *testing.T, n *testNode) {
				unlock, err := nodefiles.LockDirectory(t.Context(), n.CertDir)
				require.NoError(t, err)
				t.Cleanup(unlock)
			},
			want: "the file-syncer of this node may be at work: waiting for the lock /",
		},
		"the directory of the revisions cannot be written": {
			change: func(t *testing.T, n *testNode) {
				require.NoError(t, os.MkdirAll(n.ResourceDir, 0o755))
				require.NoError(t, os.WriteFile(n.CertDir, nil, 0o600))
			},
			want: "not a directory",
		},
		"the API server does not answer in time": {
			change: func(_ *testing.T, n *testNode) {
				n.kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, errors.New("connection refused")
				})
			},
			want: "reading cloud-config-7: connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, revision7(t)...)
			require.NoError(t, os.MkdirAll(n.PodManifestDir, 0o755))
			require.NoError(t, os.WriteFile(n.manifestFile(), []byte(former), 0o600))
			tc.change(t, n)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			err := n.End(n.doing(), n.run(ctx))
			require.ErrorContains(t, err, "installing revision 7 on node master-0: ")
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, err.Error(), n.read(t, "termination-log"))
			require.Equal(t, former, n.read(t, "manifests/cloud-controller-manager-pod.yaml"))
			events := n.events(t)
			require.Len(t, events, 1)
			require.Contains(t, events[0], "Warning StaticPodInstallerFailed Failed to install revision 7: ")
			require.Contains(t, events[0], tc.want)
		})
	}
}

func TestAnInstallerOfAnotherNodeOrAnEarlierRevisionIsNoReasonToStop(t *testing.T) {
	n := newNode(t, append(revision7(t), installerPod("installer-12-master-1", "master-1"), installerPod("installer-6-master-0", node))...)
	require.NoError(t, n.run(t.Context()))
}

func TestAnAPIServerThatAnswersLateDelaysTheInstallation(t *testing.T) {
	for name, answer := range map[string]error{
		"it does not answer":           errors.New("connection refused"),
		"it has too many requests":     apierrors.NewTooManyRequests("priority and fairness", 1),
		"it has no time for a request": apierrors.NewTimeoutError("request did not complete", 1),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, revision7(t)...)
			var attempts atomic.Int32
			n.kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return attempts.Add(1) == 1, nil, answer
			})
			require.NoError(t, n.run(t.Context()))
		})
	}
}

// A kubelet that still stops the former static pod would start the new one late.
func TestTheNewManifestIsWrittenWhenTheFormerStaticPodHasEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		// kubelet deals with the mirror pod once the former manifest is gone.
		kubelet func(t *testing.T, n *testNode)
		timeout time.Duration
		atLeast time.Duration
		// cleanups are the times that the kubelet is given to clean up.
		cleanups []time.Duration
	}{
		"it ends": {
			kubelet: func(t *testing.T, n *testNode) {
				written := func() bool { _, err := os.Stat(n.manifestFile()); return err == nil }
				assert.Never(t, written, time.Second, 10*time.Millisecond, "the former static pod is still ending")
				assert.NoError(t, n.kube.CoreV1().Pods(namespace).Delete(t.Context(), "cloud-controller-manager-master-0", metav1.DeleteOptions{}))
			},
			atLeast:  time.Second,
			cleanups: []time.Duration{time.Second},
		},
		"it never ends": {
			kubelet: func(*testing.T, *testNode) {},
			timeout: 4 * time.Second,
			atLeast: 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			mirror := &corev1.Pod{ObjectMeta: meta("cloud-controller-manager-master-0")}
			mirror.UID = types.UID("former")
			n := newNode(t, append(revision7(t), mirror)...)
			require.NoError(t, os.MkdirAll(n.PodManifestDir, 0o755))
			require.NoError(t, os.WriteFile(n.manifestFile(), []byte("former"), 0o600))
			removed := make(chan struct{})
			go func() {
				defer close(removed)
				assert.Eventually(t, func() bool {
					_, err := os.Stat(n.manifestFile())
					return errors.Is(err, fs.ErrNotExist)
				}, time.Minute, 10*time.Millisecond)
				tc.kubelet(t, n)
			}()
			var cleanups []time.Duration
			n.after = func(d time.Duration) <-chan time.Time {
				cleanups = append(cleanups, d)
				require.NoFileExists(t, n.manifestFile())
				return time.After(0)
			}
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if tc.timeout != 0 {
				ctx, cancel = context.WithTimeout(ctx, tc.timeout)
			}
			defer cancel()
			began := time.Now()
			require.NoError(t, n.run(ctx))
			require.GreaterOrEqual(t, time.Since(began), tc.atLeast)
			require.Equal(t, tc.cleanups, cleanups)
			<-removed
			require.Contains(t, n.read(t, "manifests/cloud-controller-manager-pod.yaml"), `revision: "7"`)
		})
	}
}

// A process asks for the lease when it starts, and then every 26 to 57 seconds. The kubelet often deletes the mirror pod
// without reporting the end, so the operator may release the lease too late for the next process of the node.
func TestTheLeaseOfTheFormerProcessIsReleasedBeforeTheNewManifestIsWritten(t *testing.T) {
	const leads = node + "_first"
	for name, tc := range map[string]struct {
		// named is the holder by the flag, holds the one of the lease when the static pod has ended.
		named, holds string
		// listens reports whether the port is still in use then, and silent whether nothing listened before.
		listens, silent bool
		want            string
	}{
		"it has ended":    {named: leads, holds: leads},
		"it did not lead": {holds: "master-1_other", want: "master-1_other"},
		"the operator does not know whether it is one of ours": {holds: leads, want: leads},
		"another process leads by now":                         {named: leads, holds: "master-1_other", want: "master-1_other"},
		"a kubelet that was restarted has not ended it":        {named: leads, holds: leads, listens: true, want: leads},
		"it did not listen, so its end cannot be proven":       {named: leads, holds: leads, silent: true, want: leads},
	} {
		t.Run(name, func(t *testing.T) {
			mirror := &corev1.Pod{ObjectMeta: meta("cloud-controller-manager-master-0"), Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "cloud-controller-manager", LivenessProbe: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(10258)}},
				}}},
			}}
			lease := &coordinationv1.Lease{ObjectMeta: meta(operand.Lease)}
			lease.Spec.HolderIdentity = ptr.To(tc.holds)
			n := newNode(t, append(revision7(t), mirror, lease)...)
			n.holder = tc.named
			require.NoError(t, os.MkdirAll(n.PodManifestDir, 0o755))
			require.NoError(t, os.WriteFile(n.manifestFile(), []byte("former"), 0o600))
			n.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
				_, err := os.Stat(n.manifestFile())
				if runs := err == nil && !tc.silent; address == "127.0.0.1:10258" && (runs || tc.listens) {
					connection, _ := net.Pipe()
					return connection, nil
				}
				return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
			}
			n.kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if _, err := os.Stat(n.manifestFile()); err == nil {
					return false, nil, nil
				}
				return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), mirror.Name)
			})
			holder := func() string {
				lease, err := n.kube.CoordinationV1().Leases(namespace).Get(t.Context(), operand.Lease, metav1.GetOptions{})
				require.NoError(t, err)
				return *lease.Spec.HolderIdentity
			}
			n.after = func(time.Duration) <-chan time.Time {
				require.NoFileExists(t, n.manifestFile())
				require.Equal(t, tc.want, holder())
				return time.After(0)
			}
			require.NoError(t, n.run(t.Context()))
			require.Equal(t, tc.want, holder())
		})
	}
}

// An installer that is killed after it has removed the former manifest leaves none. The former static pod may still be
// ending.
func TestAnInstallationThatEndedWithoutAManifestIsFinished(t *testing.T) {
	n := newNode(t, append(revision7(t), &corev1.Pod{ObjectMeta: meta("cloud-controller-manager-master-0")})...)
	require.NoError(t, n.run(t.Context()))
	wanted := n.read(t, "manifests/cloud-controller-manager-pod.yaml")
	require.NoError(t, os.Remove(n.manifestFile()))
	require.NoError(t, os.WriteFile(filepath.Join(n.PodManifestDir, ".cloud-controller-manager-pod.yaml.new"), []byte("hal"), 0o600))

	require.NoError(t, n.run(t.Context()))
	require.Equal(t, wanted, n.read(t, "manifests/cloud-controller-manager-pod.yaml"))
	entries, err := os.ReadDir(n.PodManifestDir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestASecondInstallationOfARevisionRestartsThePodIfItsDirectoryWasDamaged(t *testing.T) {
	for name, tc := range map[string]struct {
		damaged   string
		restarted bool
	}{
		"nothing was damaged":                     {},
		"a file of the revision was":              {"cloud-controller-manager-pod-7/secrets/cloud-config/cloud.conf", true},
		"a synced file was, which readers reload": {"cloud-controller-manager-certs/secrets/kube-token/token", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, revision7(t)...)
			require.NoError(t, n.run(t.Context()))
			before, err := os.Stat(n.manifestFile())
			require.NoError(t, err)
			if tc.damaged != "" {
				damaged := filepath.Join(n.ResourceDir, tc.damaged)
				require.FileExists(t, damaged)
				require.NoError(t, os.WriteFile(damaged, []byte("damaged"), 0o600))
			}
			// There is no mirror pod: the kubelet has deleted it.
			require.NoError(t, n.run(t.Context()))
			after, err := os.Stat(n.manifestFile())
			require.NoError(t, err)
			require.Equal(t, tc.restarted, !os.SameFile(before, after))
			if tc.damaged != "" {
				require.NotEqual(t, "damaged", n.read(t, filepath.Join("static-pod-resources", tc.damaged)))
			}
		})
	}
}

// damage changes a file of the installed revision, as a node's administrator may.
func (n *testNode) damage(t *testing.T) {
	t.Helper()
	damaged := filepath.Join(n.ResourceDir, "cloud-controller-manager-pod-7/secrets/cloud-config/cloud.conf")
	require.NoError(t, os.WriteFile(damaged, []byte("damaged"), 0o600))
}

func TestARepairThatEndedBeforeItsManifestIsFinishedByTheNext(t *testing.T) {
	n := newNode(t, revision7(t)...)
	require.NoError(t, n.run(t.Context()))
	before, err := os.Stat(n.manifestFile())
	require.NoError(t, err)
	n.damage(t)
	unlock, err := nodefiles.LockDirectory(t.Context(), n.CertDir) // the file-syncer on a slow disk
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorContains(t, n.run(ctx), "the file-syncer of this node may be at work")
	unlock()
	require.NoError(t, n.run(t.Context()))
	after, err := os.Stat(n.manifestFile())
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after), "containers mount the former directory")
	require.NoFileExists(t, n.RestartFile())
	require.NoError(t, n.run(t.Context()))
	again, err := os.Stat(n.manifestFile())
	require.NoError(t, err)
	require.True(t, os.SameFile(after, again), "it is restarted once")
}

// The kubelet does not notice an equal manifest that replaces another.
func TestARepairThatCannotReadTheMirrorPodIsTriedAgain(t *testing.T) {
	n := newNode(t, revision7(t)...)
	require.NoError(t, n.run(t.Context()))
	n.damage(t)
	fails := true
	n.kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails, nil, errors.New("connection refused")
	})
	require.ErrorContains(t, n.run(t.Context()), "reading the mirror pod: connection refused")
	fails = false
	isAway := false
	n.after = func(d time.Duration) <-chan time.Time {
		_, err := os.Stat(n.manifestFile())
		isAway = errors.Is(err, fs.ErrNotExist)
		return time.After(d)
	}
	require.NoError(t, n.run(t.Context()))
	require.True(t, isAway)
	require.FileExists(t, n.manifestFile())
}

// The arguments are those of library-go's installer controller.
// These are the reasons for this command.
func TestWhatTheInstallerOfLibraryGoDoesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root, start := t.TempDir(), time.Now()
		o := installerpod.NewInstallOptions()
		o.KubeClient = fake.NewClientset(
			installerPod("installer-7-"+node, node),
			&corev1.ConfigMap{ObjectMeta: meta("pod-7"), Data: map[string]string{
				"pod.yaml": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`,
			}},
			&corev1.Secret{ObjectMeta: meta("credentials-7"), Data: map[string][]byte{"password": []byte("of-NODE_NAME-REVISION")}},
		)
		o.NodeName, o.Namespace, o.Revision, o.Timeout = node, namespace, "7", time.Hour
		o.PodConfigMapNamePrefix, o.ConfigMapNamePrefixes, o.SecretNamePrefixes = "pod", []string{"pod"}, []string{"credentials"}
		o.ResourceDir, o.PodManifestDir = filepath.Join(root, "resources"), filepath.Join(root, "manifests")
		require.NoError(t, o.Run(t.Context()))

		require.GreaterOrEqual(t, time.Since(start), 30*time.Second)
		password, err := os.ReadFile(filepath.Join(o.ResourceDir, "pod-7", "secrets", "credentials", "password"))
		require.NoError(t, err)
		require.Equal(t, "of-"+node+"-7", string(password))
	})
}

func TestTheCommandTakesTheInstallerControllersFlags(t *testing.T) {
	cmd := NewCommand()
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{
		"--revision=7", "--namespace=n", "--pod=p", "--resource-dir=/r", "--pod-manifest-dir=/m", "--configmaps=a", "--configmaps=b",
		"--secrets=c", "--holder=h", "--cert-dir=/r/certs", "--cert-configmaps=d", "--cert-secrets=e",
	})
	called := false
	cmd.RunE = func(*cobra.Command, []string) error { called = true; return nil }
	require.NoError(t, cmd.Execute())
	require.True(t, called)

	cmd = NewCommand()
	cmd.SetArgs([]string{"--revision=7"})
	require.EqualError(t, cmd.Execute(), `required flag(s) "namespace", "pod", "pod-manifest-dir", "resource-dir" not set`)
}
