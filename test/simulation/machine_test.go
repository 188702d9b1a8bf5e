package simulation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// machine is a machine of the cluster, with its kubelet. The world's mutex guards it.
//
// What the operator relies on, and where Kubernetes says so (below k8s.io/kubernetes/pkg/kubelet):
//
//	a static pod starts and ends with its file                        config/file_linux.go, config/file.go
//	its mirror pod goes when its containers have ended                kubelet.go: syncTerminatedPod, HandlePodCleanups
//	after that, the next one starts once it has been cleaned up      pod_workers.go: SyncTerminatedPod
//	a container that has ended restarts after 0, 10, 20 … 300 s      kuberuntime: doBackOff; reset after 10 minutes
//	the Node is renewed every 10 s, its status every 5 minutes       kubelet_node_status.go
//	a Node without a pod network is not Ready                         nodestatus/setters.go: ReadyCondition
//	startup and readiness are probed at once, then each period        prober/worker.go, prober/prober_manager.go
//	a deleted pod goes when its containers have ended                status/status_manager.go
//	the termination message is the file's, or the end of the log     kuberuntime_container.go
type machine struct {
	*world
	name, ip string
	// exists in the cloud. isOff is without power, isHung has a kubelet that does nothing. isCut has no network either, and
	// what runs goes on.
	exists, isOff, isHung, isCut bool
	// isStalled has a container runtime that hangs: its kubelet only renews the Node.
	isStalled bool
	// root is the directory of its disk. disk is the error with which installers fail, and unwritten counts those.
	root      string
	disk      error
	unwritten int
	boots     int
	// missed counts the rounds that a hung kubelet owes somebody.
	missed int
	boot   context.Context //nolint:containedctx // It ends when the power does.
	off    context.CancelFunc
	// seen is when the kubelet was last heard of.
	seen, statusAt time.Time
	static         *staticPod
	// hasNetwork is set once the Node was initialized: the network's pods do not tolerate the taint.
	hasNetwork bool
	// cleanedUp is until when the kubelet cleans up after a static pod.
	cleanedUp time.Time
	running   map[string]*ordinaryPod
	read      *file
	// exits are the ends of the static pod's process that nobody asked for.
	exits []time.Time
	// taken is when a pod of the operator took the manifest away, zero while it is there.
	taken time.Time
}

const (
	manifests    = "/etc/kubernetes/manifests"
	manifestPath = manifests + "/" + operand.ManifestFile
)

// addMachine adds a machine. The name tells its role: m… or w….
func (w *world) addMachine(name string) *machine {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	m := &machine{
		world: w, name: name, exists: true, root: filepath.Join(w.directory, name, "0"),
		ip: fmt.Sprintf("10.0.0.%d", len(w.machines)+10), running: map[string]*ordinaryPod{},
	}
	w.machines[name] = m
	require.NoError(w, os.MkdirAll(filepath.Join(m.root, manifests), 0o755))
	m.powerOn()
	return m
}

// skew is by how much the clock of a machine is ahead, or those of all if it has no name.
type skew struct {
	machine string
	by      time.Duration
}

// of returns by how much the clock of a machine is ahead.
func (s *skew) of(machine string) time.Duration {
	if s != nil && (s.machine == machine || s.machine == "") {
		return s.by
	}
	return 0
}

// skew returns by how much the machine's clock is ahead.
func (m *machine) skew() time.Duration { return m.skewed.Load().of(m.name) }

// clock returns the time of the machine's clock.
func (m *machine) clock() time.Time { return time.Now().Add(m.skew()) }

func (m *machine) isMaster() bool { return strings.HasPrefix(m.name, "m") }

// powerOn requires the mutex.
func (m *machine) powerOn() {
	m.boot, m.off = context.WithCancel(m.ctx)
	m.isOff, m.isHung, m.isCut, m.isStalled, m.seen = false, false, false, false, time.Now()
	m.register()
	go m.kubelet(m.boot)
}

// powerOff takes the power away. The disk keeps what it has; what still runs in this process writes to a copy that
// nobody reads. It requires the mutex.
func (m *machine) powerOff() {
	if m.isOff {
		return
	}
	m.isOff = true
	m.off()
	m.boots++
	next := filepath.Join(m.directory, m.name, fmt.Sprint(m.boots))
	require.NoError(m, copyTree(m.root, next))
	m.root = next
	for _, p := range m.running {
		p.end()
	}
	if m.static != nil {
		m.static.ccm.strike()
		m.static.stop()
	}
}

// turnOff takes the power away.
func (m *machine) turnOff() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.powerOff()
}

// reboot powers a machine on that is off. Its kubelet reports that its pods have ended.
func (m *machine) reboot() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.isOff {
		return
	}
	m.static, m.running, m.cleanedUp, m.taken = nil, map[string]*ordinaryPod{}, time.Time{}, time.Time{}
	for _, o := range m.api.List(pods) {
		pod := apitest.Load[corev1.Pod](o)
		if pod.Spec.NodeName != m.name || pod.Namespace != target {
			continue
		}
		m.markDirty(apitest.Key(o))
		isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey] != ""
		if isMirror && m.manifest() == nil {
			m.api.Remove("kubelet "+m.name, pods, apitest.Key(o)) // pkg/kubelet/kubelet_pods.go: orphaned mirror pods
		}
		if isMirror || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		m.api.Edit("kubelet "+m.name, pods, apitest.Key(o), func(o object) bool {
			status, _ := o["status"].(map[string]any)
			status["phase"], status["reason"] = "Failed", "Terminated"
			status["message"] = "Pod was terminated in response to imminent node shutdown."
			return true
		})
	}
	m.powerOn()
}

func (m *machine) markDirty(key string) {
	m.trace.Lock()
	defer m.trace.Unlock()
	if m.dirty[m.name] == nil {
		m.dirty[m.name] = map[string]bool{}
	}
	m.dirty[m.name][key] = true
}

// register creates the Node.
func (m *machine) register() {
	if m.api.Get(nodes, "/"+m.name) != nil {
		return
	}
	labels := map[string]string{corev1.LabelHostname: m.name, "node-role.kubernetes.io/worker": ""}
	if m.isMaster() {
		labels = map[string]string{corev1.LabelHostname: m.name, operatorclient.MasterLabel: "",
			"node-role.kubernetes.io/control-plane": ""}
	}
	ready, reason := m.readiness()
	m.api.Put("kubelet "+m.name, m.api.Encode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, Labels: labels},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: controlplane.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionStatus(ready), Reason: reason,
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
			NodeInfo: corev1.NodeSystemInfo{
				SystemUUID: "uuid-" + m.name, MachineID: m.name, BootID: fmt.Sprintf("%s-%d", m.name, m.boots),
			},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: m.name}, {Type: corev1.NodeInternalIP, Address: m.ip},
			},
		},
	}))
}

// readiness returns what the kubelet reports.
func (m *machine) readiness() (status, reason string) {
	if m.hasNetwork {
		return "True", "KubeletReady"
	}
	return "False", "KubeletNotReady"
}

// kubelet runs until the power goes.
func (m *machine) kubelet(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond+m.between(0, 50*time.Millisecond)) {
		m.mutex.Lock()
		if !m.isHung && !m.isOff {
			if !m.isStalled {
				m.superviseStatic()
			}
			if !m.network.down() {
				m.seen = time.Now()
				if !m.isStalled {
					m.superviseOrdinary()
				}
				m.renewNode()
			}
		}
		if m.isHung && (m.isDirty() || time.Since(m.seen) > m.plan.silentAfter) {
			m.missed++
		}
		m.mutex.Unlock()
	}
}

// isDirty reports whether a pod of the machine has changed.
func (m *machine) isDirty() bool {
	m.trace.Lock()
	defer m.trace.Unlock()
	return len(m.dirty[m.name]) > 0
}

// renewNode writes the status of the Node. It requires the mutex.
func (m *machine) renewNode() {
	node := m.api.Get(nodes, "/"+m.name)
	if node == nil {
		return
	}
	m.hasNetwork = m.hasNetwork || !waits(node)
	was := readiness(node)
	status, reason := m.readiness()
	if was == status && time.Since(m.statusAt) < 5*time.Minute {
		return
	}
	m.statusAt = time.Now()
	m.api.Edit("kubelet "+m.name, nodes, "/"+m.name, func(o object) bool {
		setReady(o, status, reason)
		return true
	})
	if was == "Unknown" && m.static != nil {
		m.static.shown = [7]any{} // kube-controller-manager has changed the mirror pod.
	}
}

// readiness returns the status of the condition Ready.
func readiness(node object) string { return conditionsOf(node)["Ready"].status }

func setReady(o object, status, reason string) {
	now := time.Now().UTC().Format(time.RFC3339)
	for _, c := range conditionList(o) {
		if c["type"] != "Ready" {
			continue
		}
		if c["status"] != status {
			c["lastTransitionTime"] = now
		}
		c["status"], c["reason"] = status, reason
		if status != "Unknown" {
			c["lastHeartbeatTime"] = now
		}
	}
}

// hostPath returns the path on the machine's disk of a path in a container, which is the longest mount's that fits.
func (m *machine) hostPath(pod *corev1.Pod, container *corev1.Container, path string) (string, bool) {
	best, found := "", ""
	for _, mount := range container.VolumeMounts {
		prefix := strings.TrimSuffix(mount.MountPath, "/")
		if path != prefix && !strings.HasPrefix(path, prefix+"/") || len(prefix) < len(best) {
			continue
		}
		at := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if at >= 0 && pod.Spec.Volumes[at].HostPath != nil {
			best, found = prefix, filepath.Join(m.root, pod.Spec.Volumes[at].HostPath.Path, strings.TrimPrefix(path, prefix))
		}
	}
	return found, found != ""
}

// onDisk returns the arguments of a container with the paths of the machine's disk.
func (m *machine) onDisk(pod *corev1.Pod, container *corev1.Container, args []string) []string {
	var mapped []string
	for _, arg := range args {
		name, value, isSet := strings.Cut(arg, "=")
		if path, found := m.hostPath(pod, container, value); isSet && strings.HasPrefix(value, "/") && found {
			arg = name + "=" + path
		}
		mapped = append(mapped, arg)
	}
	return mapped
}

// file is a file as the kubelet has read it.
type file struct {
	info    fs.FileInfo
	content []byte
	hash    string
}

// manifest returns the file of the static pod, nil if there is none. It is read again once it has changed.
func (m *machine) manifest() *file {
	path := filepath.Join(m.root, manifestPath)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if f := m.read; f != nil && os.SameFile(f.info, info) && f.info.ModTime().Equal(info.ModTime()) && f.info.Size() == info.Size() {
		return f
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	m.read = &file{info, content, fmt.Sprintf("%x", sha256.Sum256(content))[:32]}
	return m.read
}

// copyTree copies a directory with the modes of its files.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // What still runs has just renamed it.
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		into := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(into, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil || filepath.Base(path) == ".lock" {
			return nil //nolint:nilerr // It was replaced meanwhile.
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // It was replaced meanwhile.
		}
		return os.WriteFile(into, content, info.Mode())
	})
}
