package node_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// The test's network is apart from that of a development cluster, so both may run on one machine.
const (
	bridge    = "nodetest"
	hostIP    = "10.210.0.1/24"
	serviceIP = "10.97.0.1/32"
	podRange  = "10.211.0.0/16"
)

const podImage = "localhost/devcluster/pod:test"

// binDir holds the kubelet that the development cluster's build makes.
func binDir(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../_output/bin")
	require.NoError(t, err)
	return path
}

func newNetwork(t *testing.T) *node.Network {
	t.Helper()
	network, err := node.NewNetwork(t.Context(), node.NetworkOptions{
		Bridge: bridge, HostIP: hostIP, ServiceIP: serviceIP, PodRange: podRange,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, network.Close()) })
	return network
}

func startNode(t *testing.T, network *node.Network, name string, index int) *node.Node {
	t.Helper()
	var progress bytes.Buffer
	n, err := node.Start(t.Context(), node.Options{
		Name: name, Index: index, Dir: filepath.Join(t.TempDir(), name), Network: network, BinDir: binDir(t),
		Standalone: true, Progress: &progress,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Stop(context.Background())) })
	t.Log(progress.String())
	return n
}

// podImageTar compiles the program of the tests' pods into an image.
func podImageTar(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "pod"), "./testdata/pod")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	tar := filepath.Join(folder, "pod.tar")
	require.NoError(t, node.WriteImage(tar, node.ImageSpec{
		Ref: podImage, Files: map[string]string{"/pod": filepath.Join(folder, "pod")}, Entrypoint: []string{"/pod"},
	}))
	return tar
}

func writeManifest(t *testing.T, n *node.Node, name, content string) {
	t.Helper()
	path := filepath.Join(n.Root(), "etc/kubernetes/manifests", name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// serverPod is a static pod on the host network.
func serverPod(address string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: server, namespace: default}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
  - name: server
    image: %s
    args: [serve, %q]
    readinessProbe: {httpGet: {path: /, port: 8080}}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
      seccompProfile: {type: RuntimeDefault}
`, podImage, address)
}

// installerPod has the mounts and the privileges of library-go's installer pods.
const installerPod = `apiVersion: v1
kind: Pod
metadata: {name: installer, namespace: default}
spec:
  hostNetwork: true
  restartPolicy: Never
  containers:
  - name: installer
    image: ` + podImage + `
    args: [install, /etc/kubernetes/source, /etc/kubernetes/static-pod-resources/copy]
    securityContext: {privileged: true, runAsUser: 0}
    volumeMounts:
    - {name: kubelet-dir, mountPath: /etc/kubernetes/}
    - {name: var-lock, mountPath: /var/lock}
  volumes:
  - {name: kubelet-dir, hostPath: {path: /etc/kubernetes/}}
  - {name: var-lock, hostPath: {path: /var/lock}}
`

// get returns the body that address answers with, or an error.
func get(address string) (string, error) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func requireServing(t *testing.T, n *node.Node) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		body, err := get("http://" + n.IP() + ":8080/")
		require.NoError(c, err)
		require.Equal(c, n.Name(), body)
	}, time.Minute, 50*time.Millisecond)
}

// podProcesses returns the processes of the pods' program, by their IDs on the host.
func podProcesses(t *testing.T) []string {
	t.Helper()
	return processes(t, func(command string) bool { return strings.HasPrefix(command, "/pod serve") })
}

func processes(t *testing.T, matches func(command string) bool) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // It ended after the listing.
		}
		if matches(strings.ReplaceAll(string(content), "\x00", " ")) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

// machine is what a run must leave as it found it.
type machine struct {
	Links, Mounts, Cgroups, Sysctls, Folders, Processes []string
}

func readMachine(t *testing.T) machine {
	t.Helper()
	var m machine
	links, err := net.Interfaces()
	require.NoError(t, err)
	for _, link := range links {
		m.Links = append(m.Links, link.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	m.Mounts = strings.Split(string(mounts), "\n")
	for _, pattern := range []string{"/sys/fs/cgroup/*/" + bridge, "/sys/fs/cgroup/*/k8s.io", "/sys/fs/cgroup/k8s.io"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		m.Cgroups = append(m.Cgroups, found...)
	}
	for _, name := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "kernel/keys/root_maxkeys"} {
		value, err := os.ReadFile("/proc/sys/" + name)
		require.NoError(t, err)
		m.Sysctls = append(m.Sysctls, name+"="+string(value))
	}
	for _, pattern := range []string{
		"/etc/kubernetes", "/etc/cni", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/run/containerd",
		"/run/devcluster-" + bridge + "*", "/opt/containerd", "/opt/cni", "/usr/libexec/kubernetes", "/run/netns/*",
		"/var/log/pods", "/var/log/containers",
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		m.Folders = append(m.Folders, found...)
	}
	m.Processes = processes(t, func(command string) bool {
		return strings.Contains(command, t.Name()) || strings.HasPrefix(command, "/pod serve")
	})
	return m
}

func TestNode(t *testing.T) {
	before := readMachine(t)
	t.Run("lifecycle", testLifecycle)
	require.Equal(t, before, readMachine(t))
}

func testLifecycle(t *testing.T) {
	network := newNetwork(t)
	tar := podImageTar(t)
	first, second := startNode(t, network, "node-a", 0), startNode(t, network, "node-b", 1)
	for _, n := range []*node.Node{first, second} {
		require.NoError(t, n.LoadImages(t.Context(), tar))
		writeManifest(t, n, "server.yaml", serverPod(n.IP()+":8080"))
	}
	requireServing(t, first)
	requireServing(t, second)

	pods := podProcesses(t)
	require.Len(t, pods, 2)
	require.NoError(t, first.RestartKubelet(t.Context()))
	requireServing(t, first)
	require.Equal(t, pods, podProcesses(t))

	require.NoError(t, first.Kill())
	require.Len(t, podProcesses(t), 1)
	_, err := get("http://" + first.IP() + ":8080/")
	require.Error(t, err)
	require.Zero(t, first.PID())
	require.NoError(t, first.Restart(t.Context()))
	requireServing(t, first)
	requireServing(t, second)

	source := filepath.Join(second.Root(), "etc/kubernetes/source")
	require.NoError(t, os.WriteFile(source, []byte("content"), 0o600))
	writeManifest(t, second, "installer.yaml", installerPod)
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(filepath.Join(second.Root(), "etc/kubernetes/static-pod-resources/copy"))
		return err == nil && string(content) == "content"
	}, time.Minute, 50*time.Millisecond)
	require.FileExists(t, filepath.Join(second.Root(), "run/lock/installer.lock"))
	require.NoFileExists(t, "/run/lock/installer.lock")
	require.NoFileExists(t, filepath.Join(first.Root(), "etc/kubernetes/source"))

	require.NoError(t, first.Stop(t.Context()))
	require.NoError(t, first.Stop(t.Context()))
	require.NoDirExists(t, first.Root())
}
