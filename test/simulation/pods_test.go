package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/handover"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/installer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/remove"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// ordinaryPod is a pod of the operator on a machine. The world's mutex guards it.
type ordinaryPod struct {
	m    *machine
	key  string
	uid  string
	link *apitest.Link
	// ctx ends with SIGTERM.
	ctx            context.Context //nolint:containedctx // The pod's own.
	stop           context.CancelFunc
	phase          corev1.PodPhase
	message        string
	started, ended time.Time
	ccm            *process
	shown          string
	// missing is a container whose image the kubelet cannot pull, "" for none.
	missing string
}

// end is SIGKILL.
func (p *ordinaryPod) end() {
	p.stop()
	p.link.Cut()
	if p.ccm != nil {
		p.ccm.stop()
	}
}

// superviseOrdinary is one round of the kubelet. It requires the mutex.
func (m *machine) superviseOrdinary() {
	m.trace.Lock()
	keys := slices.Sorted(maps.Keys(m.dirty[m.name]))
	delete(m.dirty, m.name)
	m.trace.Unlock()
	for _, key := range keys {
		if strings.HasPrefix(key, target+"/") {
			m.superviseOne(key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.running)) {
		m.running[key].show()
	}
}

// superviseOne starts or ends a pod that has changed. It requires the mutex.
func (m *machine) superviseOne(key string) {
	o, running := m.api.Get(pods, key), m.running[key]
	if running != nil && (o == nil || apitest.Meta(o)["uid"] != running.uid) {
		running.end()
		delete(m.running, key)
		running = nil
	}
	if o == nil || annotation(o, corev1.MirrorPodAnnotationKey) != "" {
		return
	}
	pod := apitest.Load[corev1.Pod](o)
	switch {
	case pod.Spec.NodeName != m.name: // Its name was that of a pod here.
	case pod.DeletionTimestamp != nil:
		m.terminate(pod, running)
	case running == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
		m.serial++
		ctx, stop := context.WithCancel(m.boot)
		account := pod.Spec.ServiceAccountName
		user := fmt.Sprintf("system:serviceaccount:%s:%s#%s-%d", target, account, m.name, m.serial)
		running = &ordinaryPod{m: m, key: key, uid: string(pod.UID), ctx: ctx, stop: stop,
			link: m.api.Connect(user, machineNetwork{m.network, m}), phase: corev1.PodPending}
		m.running[key] = running
		go running.run(pod)
	}
}

// terminate ends the containers of a deleted pod, at the latest after its grace period, and deletes it then.
func (m *machine) terminate(pod *corev1.Pod, running *ordinaryPod) {
	key, boot := target+"/"+pod.Name, m.boot
	deadline := pod.DeletionTimestamp.Time
	if running != nil {
		running.stop()
	}
	go func() {
		for pause(boot, time.Second+m.between(0, time.Second)) {
			m.mutex.Lock()
			isHung, ends := m.isHung, running == nil || running.phase != corev1.PodRunning || time.Now().After(deadline)
			m.mutex.Unlock()
			if isHung {
				m.markDirty(key)
				return
			}
			if !ends || m.network.down() {
				continue
			}
			if running != nil {
				running.end()
			}
			if o := m.api.Get(pods, key); o != nil && apitest.Meta(o)["uid"] == string(pod.UID) {
				m.api.Remove("kubelet "+m.name, pods, key)
			}
			return
		}
	}()
}

// run runs the pod.
func (p *ordinaryPod) run(pod *corev1.Pod) {
	m := p.m
	// The pods of a move run after 0.4 to 0.6 s on a development cluster. An init container takes longer, also if its image
	// is there.
	longest := 800 * time.Millisecond
	if len(pod.Spec.InitContainers) > 0 {
		longest = 1300 * time.Millisecond
	}
	for range 1 + len(pod.Spec.InitContainers) {
		if !pause(p.ctx, m.between(300*time.Millisecond, longest)) {
			return
		}
	}
	if !p.pull(pod) {
		return
	}
	m.mutex.Lock()
	p.phase, p.started = corev1.PodRunning, m.clock()
	m.mutex.Unlock()
	if pod.Labels["app"] == operand.PreflightName || predecessor.IsPod(pod) {
		p.serve(pod)
		return
	}
	err := p.command(pod)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	p.phase, p.ended = corev1.PodSucceeded, m.clock()
	if err != nil {
		p.phase, p.message = corev1.PodFailed, err.Error()
		m.note("pod %s has failed: %v", p.key, err)
	}
}

// pull waits for the images of the pod, and reports whether it has them.
func (p *ordinaryPod) pull(pod *corev1.Pod) bool {
	m := p.m
	for backOff := 10 * time.Second; ; backOff = min(5*time.Minute, 2*backOff) {
		m.mutex.Lock()
		p.missing = ""
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if m.operator.isMissing(c.Image) {
				p.missing, m.unpulled = c.Name, m.unpulled+1
			}
		}
		has := p.missing == ""
		m.mutex.Unlock()
		if has || !pause(p.ctx, backOff) {
			return has
		}
	}
}

// serve runs a CCM: with the candidate's files, or the predecessor's.
func (p *ordinaryPod) serve(pod *corev1.Pod) {
	m, lease := p.m, operand.Lease
	if !predecessor.IsPod(pod) {
		lease = operand.PreflightName
	}
	m.mutex.Lock()
	p.ccm = m.newProcess(lease, pod)
	p.ccm.inputs = inputs{password(0), networkID(0)}
	if secret := apitest.Load[corev1.Secret](m.api.Get(secrets, target+"/"+lease)); secret != nil {
		p.ccm.inputs = inputsOf(secret.Data)
	}
	p.ccm.isPreflight = lease == operand.PreflightName
	ccm := p.ccm
	m.mutex.Unlock()
	context.AfterFunc(p.ctx, ccm.stop)
	ccm.run()
}

// command runs the operator's subcommand of the pod.
func (p *ordinaryPod) command(pod *corev1.Pod) error {
	m, container := p.m, &pod.Spec.Containers[0]
	args := slices.DeleteFunc(m.onDisk(pod, container, slices.Concat(container.Command[1:], container.Args)),
		func(arg string) bool { return strings.HasPrefix(arg, "-v=") || strings.HasPrefix(arg, "--v=") })
	commands := map[string]func() *cobra.Command{
		"installer": installer.NewCommand, "handover": handover.NewCommand, "remove": remove.NewCommand,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		pause(p.ctx, 2*time.Second) // A pruner, or a puller of images.
		return nil
	}
	pause(p.ctx, m.between(100*time.Millisecond, 400*time.Millisecond)) // The process starts.
	m.mutex.Lock()
	disk := m.disk
	if disk != nil && args[0] == "installer" {
		m.unwritten++
		m.mutex.Unlock()
		return fmt.Errorf("writing the revision: %w", disk)
	}
	m.mutex.Unlock()
	config := p.link.Config()
	config.Timeout = 15 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	log := filepath.Join(m.directory, "termination-log-"+p.uid)
	command := commands[args[0]]()
	command.SetArgs(args[1:])
	err = command.ExecuteContext(nodepod.In(p.ctx, nodepod.Pod{
		Node: m.name, Name: pod.Name, Client: client, Dial: m.dialOwn, TerminationLog: log,
	}))
	if message, readErr := os.ReadFile(log); readErr == nil {
		return errors.New(string(message))
	}
	return err
}

// show writes the status of the pod if it has changed. It requires the mutex.
func (p *ordinaryPod) show() {
	text := string(p.phase) + p.message + p.missing
	if p.ccm != nil {
		text += fmt.Sprint(p.ccm.isHealthy, p.ccm.exited)
	}
	if text == p.shown || p.phase == corev1.PodPending && p.missing == "" {
		return
	}
	p.shown = text
	p.m.api.Edit("kubelet "+p.m.name, pods, p.key, func(o object) bool {
		if apitest.Meta(o)["uid"] != p.uid {
			return false
		}
		o["status"] = p.m.api.Encode(&corev1.Pod{Status: p.status(apitest.Load[corev1.Pod](o))})["status"]
		return true
	})
}

func (p *ordinaryPod) status(pod *corev1.Pod) corev1.PodStatus {
	started := seconds(p.started)
	if p.missing != "" {
		return p.waiting(pod)
	}
	status := corev1.PodStatus{Phase: p.phase, StartTime: &started, HostIP: p.m.ip}
	completed := func(code int32, reason, message string, end time.Time) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message,
			StartedAt: started, FinishedAt: seconds(end)}
	}
	for _, c := range pod.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name,
			State: corev1.ContainerState{Terminated: completed(0, "Completed", "", p.started)}})
	}
	for _, c := range pod.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ContainerID: "containerd://" + p.uid + c.Name}
		switch {
		case p.ccm != nil && p.ccm.exited:
			s.State.Terminated = completed(p.ccm.code, "Error", p.ccm.message(), p.ccm.ended.Add(p.m.skew()))
			status.Phase = corev1.PodFailed
		case p.phase == corev1.PodRunning:
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: started}
			s.Ready = p.ccm == nil || p.ccm.isHealthy
		case p.phase == corev1.PodFailed:
			s.State.Terminated = completed(1, "Error", p.message, p.ended)
		default:
			s.State.Terminated = completed(0, "Completed", "", p.ended)
		}
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	return status
}

// waiting returns the status of a pod that waits for an image: pkg/kubelet/images/image_manager.go.
func (p *ordinaryPod) waiting(pod *corev1.Pod) corev1.PodStatus {
	status := corev1.PodStatus{Phase: corev1.PodPending, HostIP: p.m.ip, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue},
	}}
	of := func(containers []corev1.Container) (all []corev1.ContainerStatus) {
		for _, c := range containers {
			waits := &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
			if c.Name == p.missing {
				waits = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
					Message: fmt.Sprintf("Back-off pulling image %q: ErrImagePull: not found", c.Image)}
			}
			all = append(all, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: corev1.ContainerState{Waiting: waits}})
		}
		return all
	}
	status.InitContainerStatuses, status.ContainerStatuses = of(pod.Spec.InitContainers), of(pod.Spec.Containers)
	return status
}
