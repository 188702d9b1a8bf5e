package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// staticPod is a static pod that the kubelet runs: the process of a CCM, and the file-syncer's own code.
type staticPod struct {
	m       *machine
	pod     *corev1.Pod
	hash    string
	started time.Time
	ccm     *process
	// endSyncer ends the file-syncer.
	endSyncer func()
	restarts  int32
	backOff   time.Duration
	next      time.Time
	last      *corev1.ContainerStateTerminated
	container string
	isEnding  bool
	// shown is what the mirror pod depends on.
	shown [7]any
}

// superviseStatic is one round of the kubelet. It requires the mutex.
func (m *machine) superviseStatic() {
	file, s := m.manifest(), m.static
	if file != nil {
		m.taken = time.Time{}
	} else if s != nil && m.taken.IsZero() {
		m.taken = time.Now()
	}
	switch {
	case s != nil && s.isEnding:
	case s != nil && (file == nil || file.hash != s.hash):
		m.endStatic()
	case s != nil:
		s.supervise()
	case file != nil && time.Now().After(m.cleanedUp):
		m.startStatic(file)
	}
}

// endStatic ends the containers, deletes the mirror pod when they have ended, and cleans up. It requires the mutex.
func (m *machine) endStatic() {
	s := m.static
	s.isEnding = true
	m.note("%s: the static pod of revision %s ends", m.name, s.pod.Labels["revision"])
	boot := m.boot
	s.stop()
	s.show()
	go func() {
		if !pause(boot, m.between(500*time.Millisecond, 2500*time.Millisecond)) {
			return
		}
		for m.network.down() {
			if !pause(boot, time.Second) {
				return
			}
		}
		m.api.Remove("kubelet "+m.name, pods, mirrorKey(m.name))
		m.mutex.Lock()
		defer m.mutex.Unlock()
		if m.static == s {
			m.static, m.cleanedUp = nil, time.Now().Add(800*time.Millisecond)
		}
	}()
}

func (s *staticPod) stop() {
	s.ccm.stop()
	if s.endSyncer != nil {
		s.endSyncer()
	}
}

// startStatic requires the mutex.
func (m *machine) startStatic(manifest *file) {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(manifest.content, pod); err != nil {
		m.violate("a manifest that is none", "%s: %v", m.name, err)
		return
	}
	pod.Name = operand.Name + "-" + m.name
	pod.Spec.NodeName = m.name
	m.static = &staticPod{m: m, pod: pod, hash: manifest.hash, started: m.clock()}
	m.static.startCCM()
	m.static.startSyncer()
	m.static.show()
}

// containerOf returns a container of a pod.
func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return &corev1.Container{}
}

// startCCM requires the mutex.
func (s *staticPod) startCCM() {
	m := s.m
	m.serial++
	s.next, s.container = time.Time{}, fmt.Sprintf("containerd://%s-%d", m.name, m.serial)
	s.ccm = m.newProcess(operand.Lease, s.pod)
	container := containerOf(s.pod, operand.Name)
	files := map[string][]byte{}
	for _, mount := range container.VolumeMounts {
		if mount.Name == "cloud-config" || mount.Name == "cloud-credentials" {
			path, _ := m.hostPath(s.pod, container, mount.MountPath)
			readFiles(path, files)
		}
	}
	s.ccm.inputs = inputsOf(files)
	s.ccm.token, _ = m.hostPath(s.pod, container, "/etc/kubernetes/static-pod-certs/secrets/kube-token/token")
	go s.ccm.run()
}

// startSyncer runs pkg/filesyncer with the arguments of its container.
func (s *staticPod) startSyncer() {
	m, container := s.m, containerOf(s.pod, "file-syncer")
	flags := flagsOf(m.onDisk(s.pod, container, container.Args))
	m.serial++
	link := m.api.Connect(fmt.Sprintf("system:serviceaccount:%s:file-syncer#%s-%d", target, m.name, m.serial),
		machineNetwork{m.network, m})
	client, err := dynamic.NewForConfig(link.Config())
	require.NoError(m, err)
	ctx, cancel := context.WithCancel(m.boot)
	s.endSyncer = func() {
		cancel()
		link.Cut()
	}
	go filesyncer.Run(ctx, filesyncer.Options{
		Client: client, Namespace: target, ConfigMaps: strings.Split(flags["configmaps"], ","),
		Secrets: strings.Split(flags["secrets"], ","), Directory: flags["directory"],
		StaticPod: filesyncer.StaticPod{
			Pod: s.pod.Name, Node: m.name, RevisionDirectory: flags["revision-directory"], Manifest: flags["manifest"],
		},
		RepairPeriod: filesyncer.DefaultRepairPeriod, Clock: clock.RealClock{},
	})
}

// flagsOf returns the flags of a command line.
func flagsOf(args []string) map[string]string {
	flags := map[string]string{}
	for _, arg := range args {
		if name, value, isSet := strings.Cut(strings.TrimLeft(arg, "-"), "="); isSet {
			flags[name] = value
		}
	}
	return flags
}

// supervise restarts a process that has ended, and shows what runs. It requires the mutex.
func (s *staticPod) supervise() {
	p := s.ccm
	if p.exited && s.next.IsZero() {
		s.m.exits = append(s.m.exits, p.ended)
		s.last = &corev1.ContainerStateTerminated{
			ExitCode: p.code, Reason: "Error", Message: p.message(), ContainerID: s.container,
			StartedAt: seconds(p.started.Add(p.skew)), FinishedAt: seconds(p.ended.Add(s.m.skew())),
		}
		if p.ended.Sub(p.started) > 10*time.Minute {
			s.backOff = 0
		}
		s.next = p.ended.Add(s.backOff + time.Second)
		s.backOff = min(5*time.Minute, max(10*time.Second, 2*s.backOff))
		s.m.note("%s: the CCM has ended with %d: %.200s", s.m.name, p.code, p.message())
	}
	if p.exited && !time.Now().Before(s.next) {
		s.restarts++
		s.startCCM()
	}
	s.show()
}

func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// relist is how often a kubelet looks at its containers, and syncs the pod whose container has started: pleg/generic.go.
const relist = time.Second

// isReady requires the mutex.
func (s *staticPod) isReady() bool {
	period := time.Duration(containerOf(s.pod, operand.Name).StartupProbe.PeriodSeconds) * time.Second
	sinceProbe := s.ccm.serves.Sub(s.ccm.started) % period
	probed := s.ccm.serves.Add(period - sinceProbe + relist/2)
	return s.ccm.isHealthy && !time.Now().Before(probed) && !s.ccm.exited && !s.isEnding && !s.ccm.isFrozen && s.ccm.ctx.Err() == nil
}

// state returns the state of the CCM's container.
func (s *staticPod) state() corev1.ContainerState {
	switch {
	case s.m.operator.isMissing(s.ccm.image):
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}
	case !s.ccm.exited:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: seconds(s.ccm.started.Add(s.ccm.skew))}}
	case s.next.Sub(s.ccm.ended) <= time.Second && s.last != nil:
		return corev1.ContainerState{Terminated: s.last}
	}
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
		Message: "back-off " + s.backOff.String() + " restarting failed container=cloud-controller-manager"}}
}

// show writes the mirror pod if it has changed. It requires the mutex.
func (s *staticPod) show() {
	m, key := s.m, mirrorKey(s.m.name)
	if m.network.down() {
		return
	}
	exists := m.api.Get(pods, key)
	if exists != nil && annotation(exists, "kubernetes.io/config.hash") != s.hash {
		m.api.Remove("kubelet "+m.name, pods, key)
		exists = nil
	}
	ready := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[s.isReady()]
	now := [7]any{s.hash, ready, s.container, s.ccm.exited, s.next, s.last, s.restarts}
	if now == s.shown && exists != nil {
		return
	}
	s.shown = now
	transition := metav1.NewTime(m.clock())
	for _, c := range conditionList(exists) {
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"])); err == nil &&
			c["type"] == "Ready" && c["status"] == string(ready) {
			transition = metav1.NewTime(at)
		}
	}
	m.api.Put("kubelet "+m.name, m.api.Encode(s.mirror(s.state(), ready, transition)))
}

func annotation(o object, name string) string {
	annotations, _ := apitest.Meta(o)["annotations"].(map[string]any)
	value, _ := annotations[name].(string)
	return value
}

// mirror returns the mirror pod.
func (s *staticPod) mirror(
	state corev1.ContainerState, ready corev1.ConditionStatus, transition metav1.Time,
) *corev1.Pod {
	m, pod, started := s.m, s.pod.DeepCopy(), seconds(s.started)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "kubernetes.io/config.hash", s.hash)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.MirrorPodAnnotationKey, s.hash)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "kubernetes.io/config.source", "file")
	if node := apitest.Load[corev1.Node](m.api.Get(nodes, "/"+m.name)); node != nil {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: m.name, UID: node.UID, Controller: ptr.To(true),
		}}
	}
	ccm := corev1.ContainerStatus{
		Name: operand.Name, Ready: ready == corev1.ConditionTrue, Started: ptr.To(s.ccm.isHealthy), State: state,
		ContainerID: s.container, RestartCount: s.restarts, Image: containerOf(pod, operand.Name).Image,
		ImageID: containerOf(pod, operand.Name).Image,
	}
	if s.last != nil && state.Terminated == nil {
		ccm.LastTerminationState = corev1.ContainerState{Terminated: s.last}
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &started, HostIP: m.ip, PodIP: m.ip,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: ready, LastTransitionTime: transition},
			{Type: corev1.ContainersReady, Status: ready, LastTransitionTime: transition},
		},
		ContainerStatuses: []corev1.ContainerStatus{ccm, {
			Name: "file-syncer", Ready: true, Started: ptr.To(true), ContainerID: "containerd://syncer-" + s.hash[:8],
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		}},
	}
	return pod
}
