package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

const (
	target   = operand.Namespace
	leaseKey = target + "/" + operand.Lease
)

// object is an object of the API.
type object = apitest.Object

func resource(group, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}
}

var (
	pods             = resource("", "pods")
	nodes            = resource("", "nodes")
	configMaps       = resource("", "configmaps")
	secrets          = resource("", "secrets")
	events           = resource("", "events")
	leases           = resource("coordination.k8s.io", "leases")
	clusterOperators = resource("config.openshift.io", "clusteroperators")
	policyResource   = resource("admissionregistration.k8s.io", "validatingadmissionpolicies")
	operators        = ccmv1.Resource
)

const (
	clusterOperatorKey = "/" + operatorclient.ClusterOperator
	operatorKey        = "/" + operatorclient.Instance
)

// plan is the cluster that a world begins with.
type plan struct {
	// machines are their names, which tell their roles: m… or w….
	machines []string
	topology configv1.TopologyMode
	// silentAfter is how long a kubelet may be silent, and monitored how often kube-controller-manager looks:
	// --node-monitor-grace-period and --node-monitor-period.
	silentAfter, monitored time.Duration
}

// usual has three control-plane nodes, two workers, and Kubernetes' defaults since 1.32.
var usual = plan{[]string{"m0", "m1", "m2", "w0", "w1"}, configv1.HighlyAvailableTopologyMode, 50 * time.Second, 5 * time.Second}

// lease returns how long the lease of the CCMs lasts, with OpenShift's timings, and until when a standby asks: within the
// retry period with client-go's jitter of 1.2, and its request takes a while.
func (p plan) lease() (lasts, attempt time.Duration) {
	if p.topology == configv1.SingleReplicaTopologyMode {
		return 270 * time.Second, 133 * time.Second
	}
	return 137 * time.Second, 58 * time.Second
}

// isSmall reports whether there are fewer than three control-plane nodes.
func (p plan) isSmall() bool { return !slices.Contains(p.machines, "m2") }

// world is a cluster.
type world struct {
	*testing.T
	plan plan
	ctx  context.Context //nolint:containedctx // Everything in the world ends with it.
	api  *apitest.Server
	// start is when the simulation began, and directory has the disks.
	start     time.Time
	directory string
	network   *network
	cloud     *cloud
	rules     *rules
	operator  *deployment
	policies  *policies
	// effects are those of the faults that have ended.
	effects []effect
	// isTrial is set for a run whose violations are no failure of the test.
	isTrial bool
	// told is the time of the last chapter's end, and cpu what the process had used until then.
	told, cpu time.Duration

	// mutex guards the machines and what runs there. Who holds it may call the API, but the API calls nobody who needs it.
	mutex    sync.Mutex
	machines map[string]*machine
	serial   int
	// tokenLifetime is that of the CCMs' tokens, and validity that of certificates: the operator's defaults if zero.
	tokenLifetime time.Duration
	validity      servingcert.Validity
	// configured is the number of the network that the cloud configuration names.
	configured int
	// changes numbers what administrators write.
	changes int
	// expired counts the requests with a token that has expired, and expiredAt is the second of the last one.
	expired, expiredAt atomic.Int64
	// skewed is which clocks are wrong, nil for none.
	skewed atomic.Pointer[skew]
	// shifted counts the writes of a lease by the wrong clock.
	shifted atomic.Int64
	// unpulled counts the pulls of an image that have failed.
	unpulled int
	// lacking counts the processes that ended because the cloud lacks an API.
	lacking int
	// deaths are when a process that led ended by itself.
	deaths []time.Time
	// killed is when a fault last ended a process, and struck when that process led.
	killed, struck time.Time

	chance sync.Mutex
	rng    *rand.Rand

	trace sync.Mutex
	// timeline is what has happened, in a person's words.
	timeline   []string
	violations []string
	// first is when each rule was broken first.
	first  map[string]time.Time
	writes []write
	// dirty are the keys of pods that have changed, by node.
	dirty map[string]map[string]bool
	// countdown counts the writes of the operator until reached is closed.
	countdown int
	reached   chan struct{}
	// rotated is when the credentials were written last.
	rotated time.Time
	// preflights are when each of them was created.
	preflights []time.Time
	// renewed is when a static pod's process wrote the lease last.
	renewed time.Time
	// isBound is set once the operator has bound the roles of its operand.
	isBound atomic.Bool
}

// write is a change without its objects.
type write struct {
	apitest.Change
	at time.Time
}

// worlds counts the simulations of this process.
var worlds int

// simulate runs a scenario in the usual world, in which the operator has not been started yet.
func simulate(t *testing.T, seed uint64, scenario func(w *world)) {
	t.Helper()
	usual.simulate(t, seed, scenario)
}

func (p plan) simulate(t *testing.T, seed uint64, scenario func(w *world)) {
	t.Helper()
	directory := diskDirectory(t)
	defer tolerateLeaks()
	defer watch()()
	synctest.Test(t, func(t *testing.T) {
		// k8s.io/apimachinery/pkg/util/runtime keeps the time of the last error of the process, and sleeps until then at
		// the next one. So each world begins after the former one's end.
		worlds++
		<-time.After(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, worlds, 0)))
		ctx, end := context.WithCancel(t.Context())
		w := newWorld(ctx, t, seed, directory)
		w.plan, w.cpu = p, cpu()
		w.install()
		for _, name := range p.machines {
			w.addMachine(name)
		}
		go w.kubeControllerManager()
		defer func() {
			if t.Failed() && os.Getenv("SIMULATION_TIMELINE") == "" {
				t.Log("set SIMULATION_TIMELINE=1 for the timeline")
			}
			w.operator.kill()
			end()
			// What has ended still sleeps: installers, hand-overs, back-offs.
			<-time.After(10 * time.Minute)
			synctest.Wait()
		}()
		scenario(w)
		w.report()
	})
}

// stuck is how much CPU time a world may use while its time stands still.
const stuck = 2 * time.Minute

// passed counts the seconds of all worlds.
var passed atomic.Int64

// watch ends the process if time stands still, until the function that it returns is called. It lives outside of the
// bubble, in real time.
func watch() (end func()) {
	timer := time.NewTicker(time.Second)
	done := make(chan struct{})
	go func() {
		last, since := int64(-1), cpu()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			if now := passed.Load(); now != last {
				last, since = now, cpu()
			} else if cpu()-since > stuck {
				debug.SetTraceback("all")
				panic(fmt.Sprintf("the simulated time has stood still for %s of CPU time", stuck))
			}
		}
	}()
	return func() { timer.Stop(); close(done) }
}

// tolerateLeaks recovers from the panic about goroutines that outlive their bubble: library-go never ends the
// broadcaster of the events of its leader election, because its process ends then.
func tolerateLeaks() {
	switch problem := recover(); {
	case problem == nil:
	case strings.Contains(fmt.Sprint(problem), "main bubble goroutine has exited but blocked goroutines remain"):
	default:
		panic(problem)
	}
}

// diskDirectory returns a directory in memory, if there is one: nodefiles flushes each file.
func diskDirectory(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // Not where the tests' other files are.
	if directory, err := os.MkdirTemp("/dev/shm", "simulation"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(directory) })
		return directory
	}
	return t.TempDir()
}

func newWorld(ctx context.Context, t *testing.T, seed uint64, directory string) *world {
	t.Helper()
	w := &world{
		T: t, ctx: ctx, start: time.Now(), directory: directory, api: apitest.Start(t, addToScheme),
		machines: map[string]*machine{}, rng: rand.New(rand.NewPCG(seed, 1)),
		dirty: map[string]map[string]bool{}, first: map[string]time.Time{},
	}
	w.network = newNetwork(w, seed)
	w.cloud = &cloud{}
	w.rules = newRules(w)
	w.operator = &deployment{world: w, changing: newTurns()}
	w.api.Log = w.logOf
	rights := newRights(w)
	w.policies = newPolicies(w, rights)
	w.api.Admit = func(user string, r apitest.Request, before, after object) error {
		w.skewLease(user, before, after)
		return w.policies.admit(user, r, before, after)
	}
	w.api.Authorize = rights.authorize
	w.api.Observe(w.changed)
	return w
}

// now returns the time since the start.
func (w *world) now() time.Duration { return time.Since(w.start) }

// note adds a line to the timeline.
func (w *world) note(format string, args ...any) {
	text := fmt.Sprintf("%9.3fs ", w.now().Seconds()) + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	w.trace.Lock()
	defer w.trace.Unlock()
	w.timeline = append(w.timeline, text)
	if os.Getenv("SIMULATION_TIMELINE") == "live" {
		fmt.Println(text)
	}
}

// violate reports that a rule is broken, once.
func (w *world) violate(rule, format string, args ...any) {
	text := rule + ": " + fmt.Sprintf(format, args...)
	w.trace.Lock()
	_, known := w.first[rule]
	if !known {
		w.first[rule] = time.Now()
		w.violations = append(w.violations, text)
	}
	w.trace.Unlock()
	if !known {
		w.note("VIOLATION %s", text)
	}
}

// broken returns the first violation of each rule.
func (w *world) broken() []string {
	w.trace.Lock()
	defer w.trace.Unlock()
	return slices.Clone(w.violations)
}

// report fails the test for each rule that was broken, with the timeline.
func (w *world) report() {
	w.Helper()
	if w.isTrial {
		return
	}
	broken := w.broken()
	for _, v := range broken {
		w.Error(v)
	}
	if (len(broken) > 0 || w.Failed()) && os.Getenv("SIMULATION_TIMELINE") != "" {
		w.trace.Lock()
		defer w.trace.Unlock()
		w.Log("\n" + strings.Join(w.timeline, "\n"))
	}
}

// locked returns what f returns while the lock is held.
func locked[T any](lock sync.Locker, f func() T) T {
	lock.Lock()
	defer lock.Unlock()
	return f()
}

// between returns a random duration.
func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(locked(&w.chance, func() int64 { return w.rng.Int64N(int64(to-from) + 1) }))
}

// n returns a random number below limit.
func (w *world) n(limit int) int { return locked(&w.chance, func() int { return w.rng.IntN(limit) }) }

// pause waits, and reports false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// turns is a mutex that may be held while time passes: the clock of a bubble stands still while a goroutine waits for a
// sync.Mutex.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// take waits for its turn, and returns the function that ends it.
func (t turns) take() (end func()) {
	t <- struct{}{}
	return func() { <-t }
}

// pass lets time pass, up to a limit, and looks at the rules each second. It reports whether until became true; a nil
// one never does.
func (w *world) pass(limit time.Duration, until func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		<-time.After(time.Second)
		synctest.Wait()
		passed.Add(1)
		w.rules.apply(w.facts())
		if until != nil && until() {
			return true
		}
	}
	return false
}

// masters returns the machines of the control plane. It requires the mutex.
func (w *world) masters() []*machine {
	var all []*machine
	for _, name := range slices.Sorted(maps.Keys(w.machines)) {
		if w.machines[name].isMaster() {
			all = append(all, w.machines[name])
		}
	}
	return all
}

func addToScheme(scheme *runtime.Scheme) error {
	_ = coordinationv1.AddToScheme(scheme)
	return corev1.AddToScheme(scheme)
}
