// Package controlplane runs etcd, kube-apiserver, kube-controller-manager and kube-scheduler with their own
// certificates.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/freeport"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/process"
)

// startLimit is how long one server may take to get ready. It took 2 to 4 s on two idle cores.
const startLimit = 2 * time.Minute

// Options configure a control plane.
type Options struct {
	// Dir receives certificates, kubeconfigs, etcd's data and, under logs, the log files.
	Dir string
	// BinDir holds the servers.
	BinDir string
	// Address is the IP address that the API server listens on: a loopback one, or the one of the nodes' bridge.
	Address string
	// Port is the API server's port; empty takes a free one.
	Port string
	// ServiceCIDR is the range of the Services' addresses; ServiceIP is its first one, that of the Service kubernetes.
	ServiceCIDR, ServiceIP string
	// Nodes means that the cluster has nodes: the scheduler runs, the Service kubernetes has an endpoint, and pods
	// reach the API server at ServiceIP:443.
	Nodes bool
	// WithoutWatchList makes informers list before they watch, as those of an older API server do.
	WithoutWatchList bool
	// Record records the processes for a later run.
	Record *process.Record
	// Progress receives a line per step.
	Progress io.Writer
}

// ControlPlane is a running control plane. Its owner calls Stop.
type ControlPlane struct {
	options Options
	files   files
	etcdURL string

	mutex     sync.Mutex
	etcd      *process.Process
	apiserver *process.Process
	rest      []*process.Process
	proxy     *serviceProxy
}

// Start makes the certificates and starts the servers; it returns when the API answers and the controller manager has
// made the namespace default's ServiceAccount and root CA. On an error nothing is left running.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	c := &ControlPlane{options: options}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	client, err := freeport.Loopback()
	if err != nil {
		return err
	}
	peers, err := freeport.Loopback()
	if err != nil {
		return err
	}
	if c.options.Port == "" {
		if c.options.Port, err = freeport.Loopback(); err != nil {
			return err
		}
	}
	c.etcdURL = "http://127.0.0.1:" + client
	if c.files, err = writeFiles(c.options, c.URL()); err != nil {
		return err
	}
	if err := c.startEtcd(ctx, "http://127.0.0.1:"+peers); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	if c.options.Nodes {
		if c.proxy, err = startServiceProxy(net.JoinHostPort(c.options.ServiceIP, "443"), c.hostPort()); err != nil {
			return err
		}
	}
	return c.startControllers(ctx)
}

// URL returns the API server's URL.
func (c *ControlPlane) URL() string { return "https://" + c.hostPort() }

func (c *ControlPlane) hostPort() string {
	return net.JoinHostPort(c.options.Address, c.options.Port)
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *ControlPlane) Kubeconfig() string { return c.files.adminKubeconfig }

// PrometheusKubeconfig returns the path of a kubeconfig with the client certificate of OpenShift's Prometheus.
func (c *ControlPlane) PrometheusKubeconfig() string { return c.files.prometheusKubeconfig }

// ClientCAFile returns the path of the bundle that client certificates are checked against.
func (c *ControlPlane) ClientCAFile() string { return c.files.clientCA }

// ServerCAFile returns the path of the bundle that the API server's certificate is checked against.
func (c *ControlPlane) ServerCAFile() string { return c.files.serverCA }

// AuditLog returns the path of the API server's audit log: every request at level Metadata, one JSON object per line.
func (c *ControlPlane) AuditLog() string { return c.files.auditLog }

// RESTConfig returns the administrator's client configuration without client-side rate limits.
func (c *ControlPlane) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("administrator's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// NodeKubeconfig writes a kubelet's kubeconfig and returns its path.
func (c *ControlPlane) NodeKubeconfig(node string) (string, error) {
	return c.files.writeKubeconfig("kubelet-"+node, c.URL(), "system:node:"+node, "system:nodes")
}

// Processes returns the running servers by name, for reports on their memory.
func (c *ControlPlane) Processes() map[string]int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	processes := map[string]int{}
	for _, p := range append([]*process.Process{c.etcd, c.apiserver}, c.rest...) {
		if p == nil {
			continue
		}
		processes[p.Name()] = p.PID()
	}
	return processes
}

// StopAPIServer ends kube-apiserver; everything else keeps running.
func (c *ControlPlane) StopAPIServer(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return stop(ctx, &c.apiserver)
}

// StartAPIServer starts kube-apiserver again on its old address and waits until it is ready.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if runs(c.apiserver) {
		return nil
	}
	var err error
	if c.apiserver, err = c.spawn("kube-apiserver", c.apiserverArgs()); err != nil {
		return err
	}
	return c.await(ctx, c.apiserver, c.apiReady)
}

// StopEtcd ends etcd; its data stays.
func (c *ControlPlane) StopEtcd(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return stop(ctx, &c.etcd)
}

// StartEtcd starts etcd again on its old address and data and waits until it is healthy.
func (c *ControlPlane) StartEtcd(ctx context.Context) error {
	return c.startEtcd(ctx, "")
}

// Stop kills all servers, because their data is no longer needed. It is idempotent and continues after an error.
func (c *ControlPlane) Stop(context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var errs []error
	for _, p := range append(c.rest, c.apiserver, c.etcd) {
		if p != nil {
			errs = append(errs, p.Kill())
		}
	}
	c.rest, c.apiserver, c.etcd = nil, nil, nil
	if c.proxy != nil {
		errs = append(errs, c.proxy.close())
		c.proxy = nil
	}
	return errors.Join(errs...)
}

func runs(p *process.Process) bool {
	if p == nil {
		return false
	}
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

func stop(ctx context.Context, p **process.Process) error {
	if *p == nil {
		return nil
	}
	err := (*p).Stop(ctx)
	if err == nil {
		*p = nil
	}
	return err
}

func (c *ControlPlane) spawn(name string, args []string) (*process.Process, error) {
	fmt.Fprintf(c.options.Progress, "starting %s\n", name)
	return process.Start(process.Spec{
		Name:   name,
		Path:   filepath.Join(c.options.BinDir, name),
		Args:   args,
		LogDir: filepath.Join(c.options.Dir, "logs"),
		Record: c.options.Record,
		Died:   func(message string) { fmt.Fprintln(c.options.Progress, message) },
	})
}

func (c *ControlPlane) await(ctx context.Context, p *process.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return p.WaitReady(ctx, ready)
}

func (c *ControlPlane) apiReady(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("%s/readyz: %w", c.URL(), err)
	}
	return nil
}

func (c *ControlPlane) client() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	return kubernetes.NewForConfig(config)
}

func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.WriteFile(path, content, mode); err != nil {
		return fmt.Errorf("control plane file: %w", err)
	}
	return nil
}
