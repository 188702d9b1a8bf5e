package node

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// pauseImage is the image of the process that holds a pod's namespaces.
	pauseImage = "localhost/devcluster/pause:1"
	// containerdSocket is the same on every node.
	containerdSocket = "/run/containerd/containerd.sock"
	// kubeletHealthPort serves the kubelet's /healthz on all addresses of the node.
	kubeletHealthPort = 10248
)

// containerdConfig is for containerd 1.6 and later 1.x.
//   - restrict_oom_score_adj: without CAP_SYS_RESOURCE a container whose score is to be lowered does not start.
//   - The disabled plugins need directories outside the node's own or kernel features that nothing here uses.
const containerdConfig = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "` + containerdSocket + `"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`

// kubeletConfig has the parts that all nodes share. The thresholds of the image collector and of eviction are as wide
// as they go: the machine's disk is not the node's.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://` + containerdSocket + `
staticPodPath: /etc/kubernetes/manifests
healthzBindAddress: 0.0.0.0
healthzPort: 10248
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
oomScoreAdj: 0
resolvConf: ""
volumePluginDir: /var/lib/kubelet/volumeplugins
fileCheckFrequency: 1s
syncFrequency: 5s
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 4
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  imagefs.available: 0%
  imagefs.inodesFree: 0%
  memory.available: 0%
  nodefs.available: 0%
  nodefs.inodesFree: 0%
  pid.available: 0%
`

// kubeletYAML returns the configuration of the node's kubelet. A standalone kubelet cannot authenticate clients, so
// its port is open, within a network that only this machine reaches.
func kubeletYAML(options Options) string {
	common := kubeletConfig
	if options.QuickRestarts {
		common += "crashLoopBackOff:\n  maxContainerRestartPeriod: 1s\n"
	}
	if options.Standalone {
		return common + `authentication:
  anonymous:
    enabled: true
  webhook:
    enabled: false
authorization:
  mode: AlwaysAllow
`
	}
	return common + fmt.Sprintf(`authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
  x509:
    clientCAFile: %q
authorization:
  mode: Webhook
`, options.ClientCAFile)
}

// kubeletCommand returns the kubelet's command line.
func kubeletCommand(options Options, address, configPath string) []string {
	if options.AnyAddress {
		address = netip.IPv4Unspecified().String()
	}
	command := []string{
		filepath.Join(options.BinDir, "kubelet"),
		"--config=" + configPath,
		"--hostname-override=" + options.Name,
		"--node-ip=" + address,
		"--v=2",
	}
	if options.Standalone {
		return command
	}
	command = append(command, "--kubeconfig="+options.KubeletKubeconfig)
	if options.ExternalCloudProvider {
		command = append(command, "--cloud-provider=external")
	}
	if options.ProviderID != "" {
		command = append(command, "--provider-id="+options.ProviderID)
	}
	if len(options.Labels) > 0 {
		labels := make([]string, 0, len(options.Labels))
		for key, value := range options.Labels {
			labels = append(labels, key+"="+value)
		}
		slices.Sort(labels)
		command = append(command, "--node-labels="+strings.Join(labels, ","))
	}
	return command
}

// cniConfig connects a pod by a link of its own and a route; nothing is translated, because every node and the machine
// have routes to all pods.
func cniConfig(pods string) string {
	return fmt.Sprintf(`{
  "cniVersion": "0.4.0",
  "name": "devcluster",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "subnet": %q,
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": "/var/lib/cni/networks"
      }
    }
  ]
}
`, pods)
}
