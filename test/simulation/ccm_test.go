package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// ccmUser is the identity of the CCMs.
const ccmUser = "system:serviceaccount:" + target + ":cloud-controller-manager"

// process is a CCM for OpenStack. Its leader election is client-go's. The world's mutex guards the rest.
//
//	it logs in once at the start, and ends if that fails    cloud-provider-openstack: openstack.go, NewOpenStack
//	when it leads, it ends without a load-balancer API      openstack.go: LoadBalancer → Octavia
//	when it leads and has no answer, it skips the nodes     instances.go: InstancesV2; app/controllermanager.go
//	it looks up all nodes every 5 minutes                   --node-status-update-frequency
//	a node that is not found is tried after 1, 2, 4 … s     controllers/node/node_controller.go: workqueue
//	it ends when it has lost the lease, and never frees it  app/controllermanager.go: no ReleaseOnCancel
type process struct {
	*world
	m        *machine
	identity string
	lease    string
	image    string
	inputs   inputs
	flags    map[string]string
	// token is the file of its token, "" for a preflight, whose token lasts as long as it does.
	token       string
	isPreflight bool
	link        *apitest.Link
	ctx         context.Context //nolint:containedctx // That of the process.
	stop        context.CancelFunc
	log         []line

	// serves is when it began to answer probes.
	started, serves, ended time.Time
	// skew is how far the clock of its machine was ahead when the process started.
	skew time.Duration
	// code is its exit code. A process that somebody ends has that of a signal.
	code                        int32
	exited, isHealthy, isFrozen bool
	leads, isDeaf, hasStarted   bool
	ledAt                       time.Time
	// tries and next are the nodes that it failed to initialize.
	tries map[string]time.Duration
	next  map[string]time.Time
}

type line struct {
	at   time.Time
	text string
}

// inputs are what the model looks at in the files of a CCM.
type inputs struct{ password, network string }

var (
	passwordOf = regexp.MustCompile(`password: (\S+)`)
	networkOf  = regexp.MustCompile(`floating-network-id *= *"?([0-9a-f-]+)`)
)

func inputsOf(files map[string][]byte) (in inputs) {
	for _, content := range files {
		if m := passwordOf.FindSubmatch(content); m != nil {
			in.password = string(m[1])
		}
		if m := networkOf.FindSubmatch(content); m != nil {
			in.network = string(m[1])
		}
	}
	return in
}

func readFiles(directory string, into map[string][]byte) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if content, err := os.ReadFile(filepath.Join(directory, entry.Name())); err == nil {
			into[entry.Name()] = content
		}
	}
}

// Networks that the model's cloud lacks an API for.
const (
	// noBalancer ends whoever starts the service controller, a preflight too.
	noBalancer = 900
	// noLeader ends only a process that leads.
	noLeader = 901
)

// duration returns one of the flags of the leader election.
func (p *process) duration(name string) time.Duration {
	d, err := time.ParseDuration(p.flags["leader-elect-"+name])
	require.NoError(p, err)
	return d
}

// newProcess requires the mutex.
func (m *machine) newProcess(lease string, pod *corev1.Pod) *process {
	m.serial++
	container := containerOf(pod, operand.Name)
	p := &process{
		world: m.world, m: m, identity: fmt.Sprintf("%s_%08d", m.name, m.serial), lease: lease,
		image: container.Image, started: time.Now(), skew: m.skew(),
		tries: map[string]time.Duration{}, next: map[string]time.Time{},
		flags: flagsOf(slices.Concat(container.Command, container.Args)),
	}
	user := ccmUser
	if lease == operand.PreflightName {
		user = "system:serviceaccount:" + target + ":" + operand.PreflightName
	}
	p.link = m.api.Connect(fmt.Sprintf("%s#%s", user, p.identity), processNetwork{machineNetwork{m.network, m}, p})
	p.ctx, p.stop = context.WithCancel(m.boot)
	return p
}

// processNetwork lets the requests of a frozen process wait until it ends.
type processNetwork struct {
	machineNetwork
	p *process
}

// Pass implements apitest.Network.
func (n processNetwork) Pass(user string, r apitest.Request) apitest.Passage {
	passage := n.machineNetwork.Pass(user, r)
	if n.p.frozen() {
		passage.Before = time.Hour
	}
	if token, err := os.ReadFile(n.p.token); err == nil && passage.Error == nil && !n.p.api.Accepts(string(token)) {
		n.p.expired.Add(1)
		n.p.expiredAt.Store(time.Now().Unix())
		passage.Code = http.StatusUnauthorized
	}
	return passage
}

func (p *process) frozen() bool { return locked(&p.mutex, func() bool { return p.isFrozen }) }

// skewLease changes the times in a lease that a process writes to those of its machine's clock.
func (w *world) skewLease(by string, before, after object) {
	if after["kind"] != "Lease" || !strings.HasPrefix(by, ccmUser) {
		return
	}
	spec, _ := after["spec"].(map[string]any)
	was, _ := before["spec"].(map[string]any)
	fields := []string{"acquireTime", "renewTime"}
	if was["holderIdentity"] == spec["holderIdentity"] {
		spec["acquireTime"], fields = was["acquireTime"], fields[1:]
	}
	machine, _, _ := strings.Cut(holderOf(after), "_")
	ahead := w.skewed.Load().of(machine)
	if ahead == 0 {
		return
	}
	w.shifted.Add(1)
	for _, field := range fields {
		if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(spec[field])); err == nil {
			spec[field] = at.Add(ahead).Format(metav1.RFC3339Micro)
		}
	}
}

// say logs a line.
func (p *process) say(level, file, format string, args ...any) {
	now := time.Now().UTC()
	text := fmt.Sprintf("%s%s       1 %s:1] ", level, now.Format("0102 15:04:05.000000"), file) + fmt.Sprintf(format, args...)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.log = append(p.log, line{now, text})
	if len(p.log) > 700 {
		p.log = slices.Clone(p.log[100:])
	}
}

// message is the termination message: the end of the log.
func (p *process) message() string {
	var b strings.Builder
	for _, l := range p.log[max(0, len(p.log)-3):] {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// logOf returns the log of a container.
func (w *world) logOf(pod string, r apitest.Request) (string, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var log []line
	found := false
	for _, m := range w.machines {
		if m.isOff || m.isHung {
			continue
		}
		if m.static != nil && m.static.pod.Name == pod {
			log, found = m.static.ccm.log, true
		}
		if p := m.running[target+"/"+pod]; p != nil && p.ccm != nil {
			log, found = p.ccm.log, true
		}
	}
	if !found || r.Query.Get("previous") == "true" {
		return "", false
	}
	if n, err := strconv.Atoi(r.Query.Get("sinceSeconds")); err == nil {
		since := time.Now().Add(-time.Duration(n) * time.Second)
		log = slices.DeleteFunc(slices.Clone(log), func(l line) bool { return l.at.Before(since) })
	}
	if n, err := strconv.Atoi(r.Query.Get("tailLines")); err == nil {
		log = log[max(0, len(log)-n):]
	}
	var b strings.Builder
	for _, l := range log {
		if r.Query.Get("timestamps") == "true" {
			b.WriteString(l.at.Format(time.RFC3339Nano) + " ")
		}
		b.WriteString(l.text + "\n")
	}
	return b.String(), true
}

// fatal is the end of a process by itself.
type fatal struct {
	code          int32
	file, message string
}

func (f *fatal) Error() string { return f.message }

// run runs the process until it ends.
func (p *process) run() {
	err := p.live()
	end := &fatal{}
	isOwn := p.ctx.Err() == nil && errors.As(err, &end)
	if isOwn {
		p.say("F", end.file, "%s", end.message)
	}
	p.stop()
	p.link.Cut()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if isOwn {
		p.code = end.code
		if p.leads && !p.isPreflight {
			p.deaths = append(p.deaths, time.Now())
		}
	}
	p.exited, p.ended, p.leads = true, time.Now(), false
}

// kill ends the process with a signal.
func (p *process) kill(signal int32) {
	p.code = 128 + signal
	p.strike()
	p.stop()
}

// strike notes that a fault ends the process. It requires the mutex.
func (p *process) strike() {
	p.killed = time.Now()
	if p.leads && !p.isPreflight {
		p.struck = time.Now()
	}
}

// live is the life of the process.
func (p *process) live() error {
	if !pause(p.ctx, p.between(500*time.Millisecond, time.Second)) {
		return p.ctx.Err()
	}
	for p.operator.isMissing(p.image) {
		if !pause(p.ctx, time.Second) {
			return p.ctx.Err()
		}
	}
	if strings.HasSuffix(p.image, fmt.Sprint(":", wrongImage)) {
		return &fatal{128, "runtime", "exec: \"openstack-cloud-controller-manager\": stat: no such file or directory"}
	}
	p.say("I", "controllermanager.go", "Version: v1.36")
	if err := p.login(); err != nil {
		return &fatal{255, "main.go", fmt.Sprintf(
			"Cloud provider could not be initialized: could not init cloud provider \"openstack\": %v", err)}
	}
	p.mutex.Lock()
	p.isHealthy, p.serves = true, time.Now()
	p.mutex.Unlock()
	elected := make(chan struct{})
	client, err := coordinationclient.NewForConfig(p.link.Config())
	require.NoError(p, err)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: target, Name: p.lease}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: p.identity},
		},
		LeaseDuration: p.duration("lease-duration"), RenewDeadline: p.duration("renew-deadline"),
		RetryPeriod: p.duration("retry-period"),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) }, OnStoppedLeading: func() {},
		},
	})
	require.NoError(p, err)
	lost := make(chan struct{})
	ctx, cancel := context.WithCancel(klog.NewContext(p.ctx, klog.Background()))
	defer cancel()
	go func() {
		defer close(lost)
		elector.Run(ctx)
	}()
	select {
	case <-elected:
	case <-lost:
		return p.ctx.Err()
	}
	return p.lead(lost)
}

// lead does what only a leader does.
func (p *process) lead(lost <-chan struct{}) error {
	p.say("I", "leaderelection.go", "successfully acquired lease %s/%s", target, p.lease)
	p.mutex.Lock()
	p.leads, p.ledAt = true, time.Now()
	p.mutex.Unlock()
	if err := p.startControllers(); err != nil {
		return err
	}
	p.mutex.Lock()
	p.hasStarted = true
	p.mutex.Unlock()
	p.work()
	select {
	case <-lost:
		return &fatal{1, "controllermanager.go", "leaderelection lost"}
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// login logs in to the cloud.
func (p *process) login() error {
	p.cloud.wait(p.ctx)
	return p.cloud.login(p.inputs.password)
}

// startControllers returns why the process ends.
func (p *process) startControllers() error {
	if !pause(p.ctx, 700*time.Millisecond) {
		return p.ctx.Err()
	}
	if strings.HasSuffix(p.inputs.network, fmt.Sprint(noBalancer)) ||
		strings.HasSuffix(p.inputs.network, fmt.Sprint(noLeader)) && !p.isPreflight {
		p.mutex.Lock()
		p.lacking++
		p.mutex.Unlock()
		return &fatal{255, "openstack.go", "Failed to create an OpenStack LoadBalancer client: unable to find load balancer " +
			"endpoint: No suitable endpoint could be found in the service catalog."}
	}
	if err := p.login(); err != nil {
		p.say("E", "openstack.go", "unable to access compute v2 API : %v", err)
		p.say("E", "core.go", "failed to start cloud node controller: failed to get instances from cloud provider")
		p.say("W", "controllermanager.go", "Skipping \"cloud-node-controller\"")
		p.mutex.Lock()
		p.isDeaf = true
		p.mutex.Unlock()
		return nil
	}
	p.say("I", "controllermanager.go", "Started \"cloud-node-controller\"")
	return nil
}
