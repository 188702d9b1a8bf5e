package simulation

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	libraryevents "github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/operatorlock"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/versions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

const operatorName = "cluster-cloud-controller-manager-operator"

// version returns the version of a release.
func version(n int) string { return fmt.Sprintf("4.99.%d", n) }

// deployment is the Deployment of the operator, and what starts its pods. Its strategy is Recreate.
type deployment struct {
	world *world

	// changing is held while the pod is being replaced: one fault at a time does so.
	changing turns
	mutex    sync.Mutex
	release  int
	image    int
	// isPublished is set once the registry has the image that was missing.
	isPublished atomic.Bool
	serial      int
	pod         *operatorPod
	// since is when the process that acts began to, zero while none does.
	since time.Time
	ran   int
	// remembered is what rememberedSince returns. hasLeft is set while no pod runs and the last one left its memory.
	remembered time.Time
	hasLeft    bool
}

// operatorPod is a pod of the operator, whose process may restart in it.
type operatorPod struct {
	name string
	uid  types.UID
	// memory is the file of the pod's volume for temporary files.
	memory   string
	started  time.Time
	restarts int32
	process  *operatorProcess
}

// operatorProcess is one process.
type operatorProcess struct {
	user  string
	link  *apitest.Link
	stop  context.CancelFunc
	ended chan struct{}
	once  sync.Once
}

// exit is the end of the process, whatever its goroutines still do.
func (p *operatorProcess) exit() {
	p.once.Do(func() {
		p.link.Cut()
		p.stop()
		close(p.ended)
	})
}

// start creates a pod, and starts its process.
func (d *deployment) start() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.serial++
	if !d.hasLeft {
		d.remembered = time.Now()
	}
	d.hasLeft = false
	name := fmt.Sprintf("%s-%d", operatorName, d.serial)
	d.pod = &operatorPod{name: name, started: time.Now(), memory: filepath.Join(d.world.directory, name+".json")}
	d.world.api.Put("kubelet", d.world.api.Encode(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorclient.OperatorNamespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: "m0"},
	}))
	d.pod.uid = types.UID(apitest.Meta(d.world.api.Get(pods, d.pod.key()))["uid"].(string)) //nolint:forcetypeassert // Put sets it.
	d.run(d.pod)
}

func (p *operatorPod) key() string { return operatorclient.OperatorNamespace + "/" + p.name }

// run starts the process of a pod. It requires the mutex.
func (d *deployment) run(pod *operatorPod) {
	w := d.world
	d.serial++
	user := fmt.Sprintf("%s#%d", operatorUser, d.serial)
	link := w.api.Connect(user, w.network)
	ctx, stop := context.WithCancel(w.ctx)
	process := &operatorProcess{user: user, link: link, stop: stop, ended: make(chan struct{})}
	pod.process = process
	d.report(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	w.note("operator %d starts in pod %s: release %d, image %d", d.serial, pod.name, d.release, d.image)
	cc, options := d.configuration(link, pod)
	serial := d.serial
	lock := operatorlock.Pod{Name: pod.name, UID: pod.uid, Memory: options.LeaderMemory, Exit: func(code int) {
		isOwn := ctx.Err() == nil
		process.exit()
		if isOwn {
			w.note("operator %d ends by itself with code %d", serial, code)
			go d.startAgain(pod, process)
		}
	}}
	go func() {
		err := operatorlock.Run(ctx, operatorName, lock, cc, func(ctx context.Context, cc *controllercmd.ControllerContext) error {
			w.note("operator %d acts", serial)
			d.acts(true)
			defer d.acts(false)
			err := operator.Run(ctx, options, cc)
			if err != nil {
				w.violate("the operator ends with an error", "%v", err)
			}
			return err
		})
		if err != nil {
			w.violate("the operator ends with an error", "its lock: %v", err)
		}
		process.exit()
	}()
}

// startAgain is the kubelet, which starts the process again that has ended by itself: it has lost its lock.
func (d *deployment) startAgain(pod *operatorPod, ended *operatorProcess) {
	if !pause(d.world.ctx, 2*time.Second) {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.pod == pod && pod.process == ended {
		pod.restarts++
		d.run(pod)
	}
}

// acts counts the processes that act: the lock permits one.
func (d *deployment) acts(is bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if !is {
		d.since, d.ran = time.Time{}, d.ran-1
		return
	}
	d.since = time.Now()
	d.ran++
	if d.ran > 1 {
		d.world.violate("two operators act", "%d have the lock", d.ran)
	}
}

// actsSince returns since when a process has acted, false if none does.
func (d *deployment) actsSince() (time.Time, bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.since, !d.since.IsZero()
}

// current returns the pod, nil before the first one.
func (d *deployment) current() *operatorPod {
	return locked(&d.mutex, func() *operatorPod { return d.pod })
}

// rememberedSince returns the start of the first process whose memory of the CCMs' lease the current one has. A process
// passes its memory to the next one in its pod, and to the next pod if it releases the lock.
func (d *deployment) rememberedSince() time.Time {
	return locked(&d.mutex, func() time.Time { return d.remembered })
}

// lockKey is the operator's lock, and memoryAnnotation what a process leaves there for the next pod.
const (
	lockKey          = operatorclient.OperatorNamespace + "/" + operatorName + "-lock"
	memoryAnnotation = "cloudcontrollermanager.operator.openshift.io/memory"
)

func (d *deployment) configuration(
	link *apitest.Link, pod *operatorPod,
) (*controllercmd.ControllerContext, operator.Options) {
	w := d.world
	config := link.Config()
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(w, err)
	namespace := operatorclient.OperatorNamespace
	recorder := libraryevents.NewRecorder(kube.CoreV1().Events(namespace), operatorName,
		&corev1.ObjectReference{Kind: "Namespace", Namespace: namespace, Name: namespace}, clock.RealClock{})
	return &controllercmd.ControllerContext{
			Clock: &workingClock{}, KubeConfig: config, ProtoKubeConfig: config, EventRecorder: recorder,
			OperatorNamespace: namespace,
		}, operator.Options{
			Release: versions.Release{
				OperatorImage: "registry.example.com/operator:" + version(d.release), OperatorVersion: version(d.release),
				OperandVersion: version(d.release),
			},
			OperandImages: map[string]string{
				"openstack-cloud-controller-manager": d.imageName(),
			},
			LeaderMemory: leadership.NewMemory(pod.memory), Dial: w.dial, TokenLifetime: w.tokenLifetime,
			Validity: w.validity,
		}
}

// imageName requires the mutex.
func (d *deployment) imageName() string { return fmt.Sprintf("registry.example.com/ccm:%d", d.image) }

// missingImage is the number of an image that no registry has, and wrongImage that of one without the program.
const (
	missingImage = 900
	wrongImage   = 901
)

// isMissing reports whether no registry has an image.
func (d *deployment) isMissing(image string) bool {
	return !d.isPublished.Load() && strings.HasSuffix(image, fmt.Sprint(":", missingImage))
}

// workingClock lets work take time. Without it, time would stand still for a controller that library-go wakes at the
// moment that it waits for, and that waits for a moment after it: installer_controller.go, "Backing off".
type workingClock struct {
	clock.RealClock
	mutex sync.Mutex
	last  time.Time
	calls int
}

// atOnce is how often all controllers look at the clock at one moment, and more.
const atOnce = 2000

// Now implements clock.PassiveClock.
func (c *workingClock) Now() time.Time {
	c.mutex.Lock()
	now := time.Now()
	if !now.Equal(c.last) {
		c.last, c.calls = now, 0
	}
	c.calls++
	waits := c.calls > atOnce
	c.mutex.Unlock()
	if waits {
		<-time.After(time.Millisecond)
	}
	return now
}

// report writes the status of the pod, as its kubelet does.
func (d *deployment) report(pod *operatorPod, state corev1.ContainerState) {
	d.world.api.Edit("kubelet", pods, pod.key(), func(o object) bool {
		status := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: operatorName, State: state, RestartCount: pod.restarts,
		}}}}
		o["status"] = d.world.api.Encode(status)["status"]
		return true
	})
}

// kill ends the process at once, as SIGKILL does, and leaves the pod.
func (d *deployment) kill() {
	if pod := d.current(); pod != nil {
		d.world.note("FAULT the operator's process is killed")
		pod.process.exit()
	}
}

// restart kills the process; the kubelet starts another one in the same pod.
func (d *deployment) restart(after time.Duration) {
	defer d.changing.take()()
	d.kill()
	now := metav1.Now()
	d.mutex.Lock()
	pod := d.pod
	d.report(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "Error", StartedAt: metav1.NewTime(pod.started), FinishedAt: now,
	}})
	d.mutex.Unlock()
	<-time.After(after)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	pod.restarts++
	d.run(pod)
}

// replace ends the pod, with a signal first or not, and starts another one after a while.
func (d *deployment) replace(hasGrace bool, after time.Duration) {
	defer d.changing.take()()
	pod := d.current()
	if hasGrace {
		d.world.note("CHANGE the operator's pod is replaced")
		pod.process.stop()
		<-pod.process.ended
		left := annotation(d.world.api.Get(leases, lockKey), memoryAnnotation) != ""
		locked(&d.mutex, func() bool { d.hasLeft = left; return left })
	} else {
		d.kill()
	}
	<-time.After(after)
	d.world.api.Remove("kubelet", pods, pod.key())
	d.start()
}

// overlap starts another pod while the process of the former one still runs, as after a forced deletion.
func (d *deployment) overlap(after time.Duration) {
	defer d.changing.take()()
	pod := d.current()
	d.world.note("FAULT the operator's pod is deleted by force, and its process runs for %s", after)
	d.world.api.Remove("administrator", pods, pod.key())
	d.start()
	<-time.After(after)
	pod.process.exit()
}

// freeze makes the requests of the current process wait.
func (d *deployment) freeze(lasts time.Duration) {
	user := d.current().process.user
	d.world.note("FAULT the operator hangs for %s", lasts)
	d.world.network.set(func() { d.world.network.frozen, d.world.network.thaws = user, time.Now().Add(lasts) })
}

// upgrade replaces the pod by one of a later release.
func (d *deployment) upgrade(after time.Duration) { d.install(1, 1, after) }

// install replaces the pod by one with an image of the CCM that is so many further, of a release.
func (d *deployment) install(further, release int, after time.Duration) {
	d.mutex.Lock()
	d.image = max(0, d.image+further)
	d.release = release
	d.world.note("CHANGE image %d", d.image)
	d.mutex.Unlock()
	d.replace(true, after)
}
