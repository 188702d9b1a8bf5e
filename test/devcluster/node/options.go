package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Options describe one node.
type Options struct {
	// Name is the host name and the name of the Node object.
	Name string
	// Index identifies a node in its network, 0 to 31. It determines addresses.
	Index int
	// Dir is the node's directory on the host, an absolute path. Start replaces what an earlier run left there, except
	// for the logs, which it appends to.
	Dir string
	// SystemUUID is the UUID that the kubelet reports for the machine, as the machine's firmware has it. Default: that
	// of the machine that all nodes share.
	SystemUUID string
	// Network is the cluster's.
	Network *Network
	// APIServerURL is written to /etc/kubernetes/apiserver-url.env, as on an OpenShift node. A standalone node
	// may leave it empty and has no such file then.
	APIServerURL string
	// ClientCAFile is the host path of the CA that the kubelet's clients are checked with.
	ClientCAFile string
	// KubeletKubeconfig is the host path of the kubelet's kubeconfig.
	KubeletKubeconfig string
	// BinDir is the host directory that holds the kubelet. The program that runs as the node's process 1 is compiled
	// into it when it is not there.
	BinDir string
	// Labels are set by the kubelet when it registers; it rejects most names that end in kubernetes.io.
	Labels map[string]string
	// Hosts are addresses by name, for the node's /etc/hosts. Pods on the host network have them too. Default: the
	// machine's file.
	Hosts map[string]string
	// ExternalCloudProvider makes the kubelet register with the taint node.cloudprovider.kubernetes.io/uninitialized.
	ExternalCloudProvider bool
	// AnyAddress leaves the Node's addresses to the cloud-controller-manager, as OpenShift's kubelets do on AWS. Without
	// it, the cloud-controller-manager rejects a machine that does not have the node's address.
	AnyAddress bool
	// ProviderID is what the kubelet registers with as spec.providerID. Default: the cloud-controller-manager sets it.
	ProviderID string
	// Standalone gives the kubelet no API server: it runs its static pods and nothing else. ClientCAFile,
	// KubeletKubeconfig, Labels and ExternalCloudProvider must be empty then.
	Standalone bool
	// QuickRestarts makes the kubelet restart a container that ended within a second, however often it has ended.
	QuickRestarts bool
	// Progress gets a line for every step of a start; nodes that start at once and share it write at once.
	// Default: none.
	Progress io.Writer
}

func (o *Options) validate() error {
	switch {
	case o.Network == nil || o.Network.hold == nil:
		return errors.New("the network is missing or closed")
	case o.Name == "" || strings.ContainsAny(o.Name, "/ "):
		return errors.New("a node needs a name without spaces and slashes")
	case o.Index < 0 || o.Index >= maxNodes:
		return fmt.Errorf("index %d is not between 0 and %d", o.Index, maxNodes-1)
	case !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.BinDir):
		return fmt.Errorf("the directories %q and %q must be absolute paths", o.Dir, o.BinDir)
	}
	return nil
}

// validateRole checks the options that only a node of a cluster has.
func (o *Options) validateRole() error {
	if o.Standalone {
		if o.KubeletKubeconfig != "" || o.ClientCAFile != "" || len(o.Labels) > 0 || o.ExternalCloudProvider {
			return errors.New("a standalone node has no kubeconfig, client CA, labels and cloud provider")
		}
		return nil
	}
	if o.KubeletKubeconfig == "" || o.ClientCAFile == "" || o.APIServerURL == "" {
		return errors.New("KubeletKubeconfig, ClientCAFile and APIServerURL are needed unless the node is standalone")
	}
	return nil
}

// findPrograms checks that the required programs are installed.
func (o *Options) findPrograms() error {
	for _, program := range []string{"containerd", "ctr", "runc", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: install the packages containerd, runc, iproute2 and containernetworking-plugins",
				err)
		}
	}
	if _, err := os.Stat(filepath.Join(o.BinDir, "kubelet")); err != nil {
		return fmt.Errorf("the kubelet is not built: %w", err)
	}
	return nil
}
