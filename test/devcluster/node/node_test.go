package node_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// The tests' network is apart from that of a development cluster, so both may run on one machine.
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

var networkOptions = node.NetworkOptions{Bridge: bridge, HostIP: hostIP, ServiceIP: serviceIP, PodRange: podRange}

func newNetwork(t *testing.T) *node.Network {
	t.Helper()
	network, err := node.NewNetwork(t.Context(), networkOptions)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, network.Close()) })
	return network
}

func startNode(t *testing.T, network *node.Network, name string, index int) *node.Node {
	t.Helper()
	var progress bytes.Buffer
	n, err := node.Start(t.Context(), node.Options{
		Name: name, Index: index, Dir: filepath.Join(t.TempDir(), name), Network: network, BinDir: binDir(t),
		SystemUUID: systemUUID(name), Standalone: true, Progress: &progress,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Stop(context.WithoutCancel(t.Context()))) })
	t.Log(progress.String())
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, path := range n.Log() {
			content, err := os.ReadFile(path)
			t.Logf("%s (%v):\n%s", path, err, content)
		}
	})
	return n
}

func systemUUID(name string) string {
	return "00000000-0000-0000-0000-00000000000" + name[len(name)-1:]
}

// requireSystemUUID requires that a node's processes read its own UUID, where the kubelet looks for it.
func requireSystemUUID(t *testing.T, n *node.Node) {
	t.Helper()
	root := fmt.Sprintf("/proc/%d/root", n.PID())
	content, err := os.ReadFile(root + "/sys/class/dmi/id/product_uuid")
	if errors.Is(err, os.ErrNotExist) {
		content, err = os.ReadFile(root + "/etc/machine-id")
	}
	require.NoError(t, err)
	require.Equal(t, systemUUID(n.Name())+"\n", string(content))
}

func bridgeAddress(t *testing.T) string {
	t.Helper()
	link, err := net.InterfaceByName(bridge)
	require.NoError(t, err)
	require.Equal(t, "02:00:0a:d2:00:01", link.HardwareAddr.String())
	return link.HardwareAddr.String()
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
	path := filepath.Join(n.Root(), "etc", "kubernetes", "manifests", name)
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
func get(t *testing.T, address string) (string, error) {
	t.Helper()
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	return string(body), errors.Join(err, response.Body.Close())
}

func requireServing(t *testing.T, n *node.Node) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		body, err := get(t, "http://"+n.IP()+":8080/")
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

// machine is the state that a run must restore.
type machine struct {
	Mounts, Files, Links, Processes []string
}

func readMachine(t *testing.T) machine {
	t.Helper()
	var m machine
	links, err := net.Interfaces()
	require.NoError(t, err)
	for _, link := range links {
		if strings.HasPrefix(link.Name, bridge) {
			m.Links = append(m.Links, link.Name)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	m.Mounts = strings.Split(string(mounts), "\n")
	for _, pattern := range []string{
		"/etc/kubernetes/*", "/etc/cni/net.d/*", "/var/lib/kubelet/*", "/var/lib/containerd/*", "/var/lib/cni/*",
		"/run/containerd/*", "/run/lock/installer*", "/run/netns/*", "/run/devcluster-" + bridge + "*", "/opt/*",
		"/usr/libexec/kubernetes", "/var/log/*", "/sys/fs/cgroup/*/" + bridge, "/sys/fs/cgroup/*/k8s.io",
		"/sys/fs/cgroup/" + bridge, "/sys/fs/cgroup/k8s.io",
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		m.Files = append(m.Files, found...)
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
	requireSystemUUID(t, first)
	requireSystemUUID(t, second)

	pods := podProcesses(t)
	require.Len(t, pods, 2)
	require.NoError(t, first.RestartKubelet(t.Context()))
	requireServing(t, first)
	require.Equal(t, pods, podProcesses(t))

	kubelet := func() []string {
		return processes(t, func(command string) bool {
			return strings.Contains(command,
				"--hostname-override=node-a ")
		})
	}
	var crashed []string
	require.Eventually(t, func() bool {
		crashed = kubelet()
		return len(crashed) == 1 // A child of it has the same command line until it executes its program.
	}, time.Minute, 50*time.Millisecond)
	pid, err := strconv.Atoi(crashed[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		now := kubelet()
		return len(now) == 1 && now[0] != crashed[0]
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, pods, podProcesses(t))

	hardware := bridgeAddress(t)
	require.NoError(t, first.Kill())
	require.Equal(t, hardware, bridgeAddress(t), "the other nodes remember it")
	require.Len(t, podProcesses(t), 1)
	_, err = get(t, "http://"+first.IP()+":8080/")
	require.Error(t, err)
	require.Zero(t, first.PID())
	require.NoError(t, first.Restart(t.Context()))
	requireServing(t, first)
	requireServing(t, second)

	source := second.Root() + "/etc/kubernetes/source"
	require.NoError(t, os.WriteFile(source, []byte("content"), 0o600))
	writeManifest(t, second, "installer.yaml", installerPod)
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(second.Root() + "/etc/kubernetes/static-pod-resources/copy")
		return err == nil && string(content) == "content"
	}, time.Minute, 50*time.Millisecond)
	require.FileExists(t, second.Root()+"/run/lock/installer.lock")
	require.NoFileExists(t, "/run/lock/installer.lock")
	require.NoFileExists(t, first.Root()+"/etc/kubernetes/source")

	require.NoError(t, first.Stop(t.Context()))
	require.NoError(t, first.Stop(t.Context()))
	require.NoDirExists(t, first.Root())
}

func TestNetworkIsHeldByOneRun(t *testing.T) {
	newNetwork(t)
	_, err := node.NewNetwork(t.Context(), networkOptions)
	require.EqualError(t, err, fmt.Sprintf(
		`network "nodetest": process %d runs a cluster on it: stop that one first`, os.Getpid()))
}

func TestNetworkRejectsOptions(t *testing.T) {
	tests := map[string]struct {
		change func(*node.NetworkOptions)
		want   string
	}{
		"a bridge whose links would have too long names": {
			func(o *node.NetworkOptions) { o.Bridge = "thirteen-char" },
			`network "thirteen-char": the bridge's name must have 1 to 12 characters, no space and no slash`,
		},
		"an address without the length of its prefix": {
			func(o *node.NetworkOptions) { o.HostIP = "10.210.0.1" },
			`network "nodetest": HostIP: netip.ParsePrefix("10.210.0.1"): no '/'`,
		},
		"a network too small for the nodes": {
			func(o *node.NetworkOptions) { o.HostIP = "10.210.0.1/27" },
			`network "nodetest": HostIP: 10.210.0.1/27 is not an IPv4 address with a prefix of at most 26 bits`,
		},
		"a pod range too small for the nodes": {
			func(o *node.NetworkOptions) { o.PodRange = "10.211.0.0/24" },
			`network "nodetest": PodRange: 10.211.0.0/24 is not an IPv4 range of at most 19 bits`,
		},
		"a service address that is none": {
			func(o *node.NetworkOptions) { o.ServiceIP = "" },
			`network "nodetest": ServiceIP: netip.ParsePrefix(""): no '/'`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := networkOptions
			test.change(&options)
			_, err := node.NewNetwork(t.Context(), options)
			require.EqualError(t, err, test.want)
		})
	}
}

func TestStartRejectsOptions(t *testing.T) {
	network := newNetwork(t)
	tests := map[string]struct {
		change func(*node.Options)
		want   string
	}{
		"no network": {
			func(o *node.Options) { o.Network = nil },
			"node node-a: the network is missing or closed",
		},
		"an index out of range": {
			func(o *node.Options) { o.Index = 32 },
			"node node-a: index 32 is not between 0 and 31",
		},
		"a relative directory": {
			func(o *node.Options) { o.BinDir = "bin" },
			`node node-a: the directories "/nodes/node-a" and "bin" must be absolute paths`,
		},
		"a node of a cluster without a kubeconfig": {
			func(o *node.Options) { o.Standalone = false },
			"node node-a: KubeletKubeconfig, ClientCAFile and APIServerURL are needed unless the node is standalone",
		},
		"a standalone node with labels": {
			func(o *node.Options) { o.Labels = map[string]string{"a": "b"} },
			"node node-a: a standalone node has no kubeconfig, client CA, labels and cloud provider",
		},
		"a directory without a kubelet": {
			func(o *node.Options) { o.BinDir = "/nodes" },
			"node node-a: the kubelet is not built: stat /nodes/kubelet: no such file or directory",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := node.Options{
				Name: "node-a", Dir: "/nodes/node-a", Network: network, BinDir: "/bin", Standalone: true,
			}
			test.change(&options)
			_, err := node.Start(t.Context(), options)
			require.EqualError(t, err, test.want)
		})
	}
}

// crashArgument makes the test's program the process that TestNextRunCleansUpAfterCrash kills. The node's directory and
// the directory of the kubelet follow.
const crashArgument = "crash"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == crashArgument {
		crash(os.Args[2], os.Args[3])
	}
	os.Exit(m.Run())
}

// crash starts a node with a pod and waits to be killed.
func crash(folder, binDir string) {
	ctx := context.Background()
	network, err := node.NewNetwork(ctx, networkOptions)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = node.Start(ctx, node.Options{
		Name: "node-a", Dir: folder, Network: network, BinDir: binDir, Standalone: true,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

func TestNextRunCleansUpAfterCrash(t *testing.T) {
	before := readMachine(t)
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], crashArgument, folder, binDir(t))
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	// The node ends with this process; the next run removes the rest.
	require.Eventually(t, func() bool { return len(readMachine(t).Processes) == 0 }, time.Minute, 50*time.Millisecond)
	require.NotEqual(t, before, readMachine(t))
	network, err := node.NewNetwork(t.Context(), networkOptions)
	require.NoError(t, err)
	n, err := node.Start(t.Context(), node.Options{
		Name: "node-a", Dir: folder, Network: network, BinDir: binDir(t), Standalone: true,
	})
	require.NoError(t, err)
	require.NoError(t, n.Stop(t.Context()))
	require.NoError(t, network.Close())
	require.Equal(t, before, readMachine(t))
}
