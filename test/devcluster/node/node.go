package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// bootTimeout limits the start until the kubelet is healthy, which usually takes a second.
	bootTimeout = 2 * time.Minute
	// logTail is how many lines of a log an error quotes.
	logTail = 15

	containerdService = "containerd"
	kubeletService    = "kubelet"
)

// Node is one node. Its methods are safe for concurrent use; calls wait for each other.
type Node struct {
	options Options
	group   cgroup
	agent   string
	// files are the node's own besides nodeFolders.
	files []string

	mu      sync.Mutex
	process *agentProcess
}

// Start starts the node and returns when its kubelet reports that it is healthy. When it fails, nothing but the logs
// is left and the error quotes them. The caller stops the node.
func Start(ctx context.Context, options Options) (*Node, error) {
	n, err := prepare(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", options.Name, err)
	}
	if err := n.boot(ctx); err != nil {
		err = errors.Join(fmt.Errorf("node %s: %w%s", options.Name, err, n.quoteLogs()),
			n.Stop(context.WithoutCancel(ctx)))
		return nil, err
	}
	return n, nil
}

// prepare makes the node's directory with the programs, images and files that every start needs.
func prepare(ctx context.Context, options Options) (n *Node, err error) {
	for _, check := range []func() error{options.validate, options.validateRole, options.findPrograms} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	n = &Node{options: options, group: cgroup(options.Network.bridge + "/" + options.Name)}
	if n.agent, err = buildAgent(ctx, options.BinDir); err != nil {
		return nil, err
	}
	if err := errors.Join(n.removeFiles(), n.makeFolders()); err != nil {
		return nil, err
	}
	pause := ImageSpec{Ref: pauseImage, Files: map[string]string{"/pause": n.agent},
		Entrypoint: []string{"/pause", "pause"}}
	if err := WriteImage(n.config("pause.tar"), pause); err != nil {
		return nil, err
	}
	return n, errors.Join(
		os.WriteFile(n.config("containerd.toml"), []byte(containerdConfig), 0o600),
		os.WriteFile(n.config("kubelet.yaml"), []byte(kubeletYAML(options)), 0o600),
		n.writeAPIServerURL(),
		n.writeSystemUUID(),
		n.writeHosts(),
	)
}

func (n *Node) makeFolders() error {
	folders := []string{filepath.Join(n.options.Dir, "logs"), n.config(""), n.root("/etc/kubernetes/manifests")}
	for _, folder := range nodeFolders {
		folders = append(folders, n.root(folder))
	}
	for _, folder := range folders {
		if err := makeFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// writeAPIServerURL writes the file from which pods on the host network read the API server's address.
func (n *Node) writeAPIServerURL() error {
	if n.options.APIServerURL == "" {
		return nil
	}
	server, err := url.Parse(n.options.APIServerURL)
	if err != nil {
		return fmt.Errorf("APIServerURL: %w", err)
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	content := fmt.Sprintf("KUBERNETES_SERVICE_HOST='%s'\nKUBERNETES_SERVICE_PORT='%s'\n", server.Hostname(), port)
	// Pods without root read it, as on a real node.
	return os.WriteFile(n.root("/etc/kubernetes/apiserver-url.env"), []byte(content), 0o644)
}

// systemUUIDFiles are the files in which the kubelet looks for the machine's UUID, in its order: that of the firmware,
// and another for machines without one.
var systemUUIDFiles = []string{"/sys/class/dmi/id/product_uuid", "/etc/machine-id"}

// systemUUIDFile returns the file in which the kubelet finds the machine's UUID.
func systemUUIDFile() (string, error) {
	for _, path := range systemUUIDFiles {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the machine has none of %q, so its nodes cannot have a UUID", systemUUIDFiles)
}

// writeSystemUUID writes the file that the node has instead of the machine's.
func (n *Node) writeSystemUUID() error {
	if n.options.SystemUUID == "" {
		return nil
	}
	path, err := systemUUIDFile()
	if err != nil {
		return err
	}
	return n.writeOwn(path, n.options.SystemUUID+"\n")
}

// writeHosts writes the file with the names that the node resolves by itself. A kubelet without an address looks up its
// own name, and waits 20 seconds for a server that a node does not have.
func (n *Node) writeHosts() error {
	if len(n.options.Hosts) == 0 && !n.options.AnyAddress {
		return nil
	}
	return n.writeOwn("/etc/hosts", n.hosts(n.options.Hosts))
}

func (n *Node) hosts(addresses map[string]string) string {
	var content strings.Builder
	fmt.Fprintf(&content, "127.0.0.1\tlocalhost\n%s\t%s\n", n.IP(), n.options.Name)
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		fmt.Fprintf(&content, "%s\t%s\n", addresses[name], name)
	}
	return content.String()
}

// Resolve makes the node resolve the names of its options or not, for containers that start from now on.
func (n *Node) Resolve(names bool) error { return n.resolve(names, n.root("/etc/hosts")) }

// ResolveInPods makes the pods that run resolve the names of the node's options or not. Every pod here is on the host
// network, and the kubelet has copied the node's file for it.
func (n *Node) ResolveInPods(names bool) error {
	copies, err := filepath.Glob(n.root("/var/lib/kubelet/pods/*/etc-hosts"))
	if err != nil {
		return fmt.Errorf("node %s: %w", n.options.Name, err)
	}
	return n.resolve(names, copies...)
}

// resolve replaces the content of files with hosts: each is itself mounted.
func (n *Node) resolve(names bool, paths ...string) error {
	addresses := n.options.Hosts
	if !names {
		addresses = nil
	}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte(n.hosts(addresses)), 0o444); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("node %s: %w", n.options.Name, err)
		}
	}
	return nil
}

// writeOwn writes a file that the node has instead of the machine's.
func (n *Node) writeOwn(path, content string) error {
	if err := makeFolder(filepath.Dir(n.root(path))); err != nil {
		return err
	}
	n.files = append(n.files, path)
	return os.WriteFile(n.root(path), []byte(content), 0o444)
}

// boot starts the node's processes on the files that are there.
func (n *Node) boot(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.emptyRun(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	began := time.Now()
	process, err := startAgent(n.agent, n.log("node"))
	if err != nil {
		return err
	}
	n.process = process
	if err := n.settle(ctx); err != nil {
		return err
	}
	if err := process.ask(ctx, agentRequest{Restart: containerdService}); err != nil {
		return err
	}
	if err := poll(ctx, func() error { return n.dialContainerd(ctx) }); err != nil {
		return fmt.Errorf("waiting for containerd: %w", err)
	}
	if err := n.importImage(ctx, n.config("pause.tar")); err != nil {
		return err
	}
	n.progress("containerd runs after %s", time.Since(began).Round(time.Millisecond))
	if err := n.restartKubelet(ctx); err != nil {
		return err
	}
	n.progress("the kubelet is healthy after %s", time.Since(began).Round(time.Millisecond))
	return nil
}

// settle gives the first process its control group, link, mounts and network.
func (n *Node) settle(ctx context.Context) error {
	if err := n.group.join(n.process.pid()); err != nil {
		return err
	}
	if err := n.options.Network.connect(ctx, n.options.Index, n.process.pid()); err != nil {
		return err
	}
	containerd, err := exec.LookPath("containerd")
	if err != nil {
		return err
	}
	return n.process.ask(ctx, agentSettings{
		Hostname:   n.options.Name,
		Root:       n.Root(),
		Folders:    nodeFolders,
		Files:      n.files,
		IPCommands: n.options.Network.inside(n.options.Index),
		Services: map[string]agentService{
			containerdService: {
				Command: []string{containerd, "--config", n.config("containerd.toml")},
				Log:     n.log(containerdService),
			},
			kubeletService: {
				Command: kubeletCommand(n.options, n.IP(), n.config("kubelet.yaml")),
				Log:     n.log(kubeletService),
			},
		},
	})
}

// EnableCNI writes the configuration of the pod network; before that the node is not Ready and only pods on the host
// network start.
func (n *Node) EnableCNI() error {
	target := n.root("/etc/cni/net.d/10-devcluster.conflist")
	content := cniConfig(n.options.Network.pods(n.options.Index).String())
	// containerd reads the directory at every change and takes names that end in conf, conflist and json.
	err := os.WriteFile(target+".new", []byte(content), 0o600)
	if err == nil {
		err = os.Rename(target+".new", target)
	}
	if err != nil {
		return fmt.Errorf("node %s: enabling the pod network: %w", n.options.Name, err)
	}
	return nil
}

// Kill crashes the node: all its processes, including the pods', end immediately. Restart finds its disk unchanged.
// Kill does nothing if the node is not running.
func (n *Node) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return nil
	}
	if err := n.process.kill(); err != nil {
		return fmt.Errorf("node %s: %w", n.options.Name, err)
	}
	n.process = nil
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := n.options.Network.disconnect(ctx, n.options.Index); err != nil {
		return fmt.Errorf("node %s: %w", n.options.Name, err)
	}
	if err := n.group.remove(ctx); err != nil {
		return fmt.Errorf("node %s: %w", n.options.Name, err)
	}
	return nil
}

// Restart boots the node after Kill with an unchanged disk and empty memory file systems. It returns when the
// kubelet is healthy.
func (n *Node) Restart(ctx context.Context) error {
	if n.PID() != 0 {
		return fmt.Errorf("node %s: restarting: it runs", n.options.Name)
	}
	if err := n.boot(ctx); err != nil {
		return errors.Join(fmt.Errorf("node %s: restarting: %w%s", n.options.Name, err, n.quoteLogs()), n.Kill())
	}
	return nil
}

// Stop ends the node and removes everything of it but the logs. Stopping it again does nothing.
func (n *Node) Stop(_ context.Context) error {
	if err := n.Kill(); err != nil {
		return err
	}
	if err := n.removeFiles(); err != nil {
		return fmt.Errorf("node %s: %w", n.options.Name, err)
	}
	return nil
}

func (n *Node) removeFiles() error {
	return errors.Join(os.RemoveAll(n.Root()), os.RemoveAll(n.config("")))
}

// Name is the name of the Node object.
func (n *Node) Name() string { return n.options.Name }

// Index is the node's number in its network.
func (n *Node) Index() int { return n.options.Index }

// IP is the node's address in the network.
func (n *Node) IP() string { return n.options.Network.Address(n.options.Index).String() }

// Root is the host directory that holds the node's own directories by their paths, such as etc/kubernetes.
func (n *Node) Root() string { return filepath.Join(n.options.Dir, "root") }

// PID is the node's first process as the host sees it, and 0 while the node does not run. Its namespaces under
// /proc/<pid>/ns are the node's.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return 0
	}
	return n.process.pid()
}

// Log returns the paths of the node's logs: containerd's, the kubelet's and that of the process that runs them. They
// outlive the node.
func (n *Node) Log() []string {
	return []string{n.log(containerdService), n.log(kubeletService), n.log("node")}
}

func (n *Node) root(path string) string   { return filepath.Join(n.Root(), path) }
func (n *Node) config(path string) string { return filepath.Join(n.options.Dir, "config", path) }
func (n *Node) log(name string) string    { return filepath.Join(n.options.Dir, "logs", name+".log") }

func (n *Node) progress(format string, args ...any) {
	fmt.Fprintf(n.options.Progress, "node %s: %s\n", n.options.Name, fmt.Sprintf(format, args...))
}

// quoteLogs returns the last lines of each log, to be appended to an error.
func (n *Node) quoteLogs() string {
	var quote strings.Builder
	for _, path := range n.Log() {
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			fmt.Fprintf(&quote, "\n%v", err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		lines = lines[max(0, len(lines)-logTail):]
		fmt.Fprintf(&quote, "\nlast lines of %s:\n%s", path, strings.Join(lines, "\n"))
	}
	return quote.String()
}

// emptyRun removes files that a real machine keeps in memory.
func (n *Node) emptyRun() error {
	for _, folder := range nodeFolders {
		if !strings.HasPrefix(folder, "/run/") {
			continue
		}
		if err := os.RemoveAll(n.root(folder)); err != nil {
			return err
		}
		if err := makeFolder(n.root(folder)); err != nil {
			return err
		}
	}
	return nil
}
