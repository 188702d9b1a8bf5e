package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// bounds is how long what a rule forbids may last. The test of each rule requires that it is broken then, and not
// before.
var bounds = map[string]struct {
	limit time.Duration
	why   string
}{
	"nobody leads": {195 * time.Second, "the lease of 137 s after the last renewal, and one attempt of a standby"},
	"nobody leads, and the operator has not seen the renewal": {252 * time.Second, "a standby sees the last renewal up to " +
		"57 s later, and waits for 137 s from then on: client-go's observedTime; an operator that has not seen it does not know whose it was"},
	"nobody leads, and each leader has released its lease": {65 * time.Second,
		"a standby asks within 26 s, with client-go's jitter within 32, and a process that has just begun does so once more"},
	"two leaders after somebody wrote the lease": {135 * time.Second,
		"a holder renews it after up to 26 s, and tries for 107 s, --leader-elect-renew-deadline; leaderelection.go: renew"},
	"credentials are held back": {150 * time.Second,
		"a try each minute, and a rollout to the leader's node; as much more as they were invalid, as tries become rare"},
	"rejected credentials are not named": {40 * time.Second, "the grace period of an administrator's input, and a preflight"},
	"a rollout stands still": {70 * time.Second, "an operator that has just begun, or a process that has just begun to lead, " +
		"first sees a renewal, after up to 26 s, and a proof takes 15 s; without a leader, the change is not proven after 60 s"},
	"a kubelet backs off": {2 * time.Minute,
		"the lead does not move to a process that would start again only after minutes, and after 3 a rollout goes on without a proof"},
	"a CCM is not Ready": {100 * time.Second,
		"the change may be the cure, so a proof waits for the process of another node for 60 s"},
	"a pod of the operator has failed": {2 * time.Minute, "those of a move stay for 90 s, as long as the ends that it " +
		"caused count, and library-go tries to install again after 10 s, then half as long more each time"},
	"Available is not true": {278 * time.Second,
		"137 s until the lease expires, after a renewal that the operator sees 2 s later, and as much until a standby has it"},
	"Available is not true while leaders end": {2 * time.Minute, "no lease has to expire; inertia is 60 s"},
	"Degraded is not true":                    {40 * time.Second, "a sync each 30 s, if no event comes"},
	"Progressing is not true": {40 * time.Second, "an event calls the controller at once, and a node's last step is a restart " +
		"of its static pod"},
	"no crash loop": {40 * time.Second, "the loop is over with the third end in 20 minutes, which no event tells"},
	"the Node of a machine that is gone stays": {4 * time.Minute,
		"the CCM asks each 5 s, and the operator confirms what it has seen for a minute, unless a rollout moves the lead"},
}

// loopPeriod is how long the third end of a process makes it a crash loop.
const loopPeriod = 20 * time.Minute

// settling is how long a process leads before the rules count it as a leader.
const settling = time.Minute

// facts are the truth at one moment.
type facts struct {
	now time.Time
	// leaders are the processes that act as leaders, ready the nodes whose CCM is Ready.
	leaders []*process
	ready   []string
	// taken are the nodes whose manifest a pod of the operator has taken away.
	taken []string
	// up reports whether all machines and kubelets work, allReady whether all CCMs are Ready.
	up, allReady bool
	// isOld reports whether a static pod has another image than the operator is to install.
	isOld bool
	// isFull reports whether a disk is full, and hangs whether a CCM hangs.
	isFull, hangs bool
	// exits counts the ends of processes by themselves, by node. A loop ends one each five minutes at last.
	exits  map[string]int
	deaths int
	// preflights counts those of the last ten minutes.
	preflights int
	// lastExit is the last end of a process by itself, or by a fault.
	lastExit time.Time
	deaf     bool
	leads    inputs
	ledFor   time.Duration
	renewed  time.Time
	down     bool
	state    state
}

// rules are what must hold at every second. Each compares words and deeds of the operator with the facts.
type rules struct {
	world *world
	// since are the last moments at which a condition did not hold, by its name.
	since map[string]time.Time
	text  string
	ready int
	// values and changes are those of the ClusterOperator's conditions.
	values  map[string]condition
	changes map[string][]time.Time
	// longest is the longest time without a leader.
	longest time.Duration
	// unwatched is what unwatchedFor returned when it looked last, and lastRenewal the renewal since which it counts.
	unwatched   time.Duration
	looked      time.Time
	lastRenewal time.Time
	// faults counts the faults that are active, and quiet is when the last one ended.
	faults int
	quiet  time.Time
	// asksPerson is set while a person has to decide: a revision was rejected, and an outage may be to blame.
	asksPerson bool
	// isReleased is set while each leader that ends releases the lease.
	isReleased bool
	// removes is set while an administrator has the operand removed.
	removes bool
	// leaseWritten is when somebody deleted or wrote the lease. The operator restores a deleted one, if it has seen the
	// holder renew it.
	leaseWritten time.Time
	// excused is until when nothing can go on, as a lease has to expire that somebody wrote.
	excused time.Time
	// outage is when the cloud did not work last.
	outage time.Time
	// written is the password in the version of the credentials.
	written string
	version any
	// checks counts the seconds in which each rule could be broken, and excuses those in which it was excused, by why.
	checks  map[string]int
	excuses map[string]map[string]int
	// lasted is the longest that what each rule forbids has lasted.
	lasted map[string]time.Duration
}

func newRules(w *world) *rules {
	r := &rules{world: w, since: map[string]time.Time{}, values: map[string]condition{}, quiet: time.Now()}
	r.reset()
	return r
}

// reset begins another chapter: what has been counted was told.
func (r *rules) reset() {
	r.changes, r.checks, r.lasted = map[string][]time.Time{}, map[string]int{}, map[string]time.Duration{}
	r.excuses, r.longest, r.asksPerson = map[string]map[string]int{}, 0, false
}

// limit returns a bound, which is longer where leases are.
func (r *rules) limit(rule string) time.Duration {
	lease, attempt := r.world.plan.lease()
	usualLease, usualAttempt := usual.lease()
	if rule == "nobody leads" || rule == "Available is not true" {
		return bounds[rule].limit + lease + attempt - usualLease - usualAttempt
	}
	return bounds[rule].limit
}

// excuse is why a rule does not apply at a moment.
type excuse struct {
	why string
	is  bool
}

// applies reports whether a rule has no excuse, and counts the first one that it has.
func (r *rules) applies(rule string, excuses ...excuse) bool {
	r.checks[rule]++
	at := slices.IndexFunc(excuses, func(e excuse) bool { return e.is })
	if at < 0 {
		return true
	}
	if r.excuses[rule] == nil {
		r.excuses[rule] = map[string]int{}
	}
	r.excuses[rule][excuses[at].why]++
	return false
}

// operatorAway excuses what needs an operator that has acted for a minute, with a network and its rights.
func (r *rules) operatorAway(f facts) []excuse {
	since, acts := r.world.operator.actsSince()
	return []excuse{
		{"the operator is away or has just begun", !acts || f.now.Sub(since) <= time.Minute},
		{"the API is down", f.down},
		{"the operator's rights are away", r.world.network.forbidden()},
	}
}

// lasts returns for how long something has been so, without a gap.
func (r *rules) lasts(what string, is bool, now time.Time) time.Duration {
	if !is || r.since[what].IsZero() {
		r.since[what] = now
	}
	return now.Sub(r.since[what])
}

// exceeds reports whether something has lasted for longer than its bound, and keeps the longest.
func (r *rules) exceeds(rule string, lasted, bound time.Duration) bool {
	r.lasted[rule] = max(r.lasted[rule], lasted)
	return lasted > bound
}

func (w *world) facts() facts {
	f := facts{now: time.Now(), up: true, allReady: true, exits: map[string]int{}, down: w.network.down(), state: w.state()}
	image := locked(&w.operator.mutex, w.operator.imageName)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, m := range w.machines {
		f.up = f.up && !m.isOff && !m.isHung && !m.isStalled
		f.isFull = f.isFull || m.disk != nil
		f.hangs = f.hangs || m.static != nil && m.static.ccm.isFrozen
	}
	for _, m := range w.machines {
		for _, p := range m.running { // the predecessor's
			if c := p.ccm; c != nil && !c.isPreflight && c.leads && !c.exited && c.ctx.Err() == nil {
				f.leaders = append(f.leaders, c)
			}
		}
	}
	for _, m := range w.masters() {
		m.exits = slices.DeleteFunc(m.exits, func(at time.Time) bool { return f.now.Sub(at) > loopPeriod })
		f.exits[m.name] = len(m.exits)
		for _, at := range m.exits {
			f.lastExit = latest(f.lastExit, at)
		}
		if !m.taken.IsZero() && !m.isOff {
			f.taken = append(f.taken, m.name)
		}
		if m.isOff || m.static == nil {
			f.allReady = false
			continue
		}
		f.isOld = f.isOld || containerOf(m.static.pod, operand.Name).Image != image
		if m.static.isReady() {
			f.ready = append(f.ready, m.name)
		} else {
			f.allReady = false
		}
		if p := m.static.ccm; p.leads && !p.exited && p.ctx.Err() == nil && !p.isFrozen {
			f.leaders = append(f.leaders, p)
			f.deaf, f.leads, f.ledFor = p.isDeaf, p.inputs, f.now.Sub(p.ledAt)
		}
	}
	f.lastExit = latest(f.lastExit, w.killed)
	for _, at := range w.deaths {
		if f.now.Sub(at) < 150*time.Second {
			f.deaths++
		}
	}
	w.trace.Lock()
	defer w.trace.Unlock()
	f.renewed = w.renewed
	w.preflights = slices.DeleteFunc(w.preflights, func(at time.Time) bool { return f.now.Sub(at) > 10*time.Minute })
	f.preflights = len(w.preflights)
	return f
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// apply applies every rule to the facts.
func (r *rules) apply(f facts) {
	r.leaders(f)
	r.hands(f)
	r.credentials(f)
	r.progress(f)
	r.available(f)
	r.degraded(f)
	r.progressing(f)
	r.reasons(f)
	r.machines(f)
}

// leaders: never two, and never nobody for longer than the lease and one attempt, while somebody could.
func (r *rules) leaders(f facts) {
	written := r.leaseWritten.Add(bounds["two leaders after somebody wrote the lease"].limit)
	if isWritten := !f.now.After(written); len(f.leaders) > 0 &&
		r.applies("two leaders", excuse{"somebody wrote the lease", isWritten}) && len(f.leaders) > 1 {
		r.world.violate("two leaders", "%s and %s", f.leaders[0].identity, f.leaders[1].identity)
	}
	able := r.lasts("able", r.applies("nobody leads", excuse{"no CCM is Ready", len(f.ready) == 0},
		excuse{"the API is down", f.down},
		excuse{"the token of a CCM has expired", f.now.Unix()-r.world.expiredAt.Load() <= 1}), f.now)
	gap := min(f.now.Sub(f.renewed), able)
	if len(f.leaders) > 0 || f.renewed.IsZero() {
		gap = 0
	}
	r.longest = max(r.longest, gap)
	bound := r.limit("nobody leads") + r.unwatchedFor(f)
	if most := bounds["nobody leads, and the operator has not seen the renewal"].limit; bound > most ||
		r.world.operator.rememberedSince().After(f.renewed) {
		bound = most
	}
	if r.isReleased {
		bound = bounds["nobody leads, and each leader has released its lease"].limit
	}
	if r.exceeds("nobody leads", gap, bound) {
		r.world.violate("nobody leads", "for %s after the last renewal: Ready %v, Available %v, Degraded %v", gap, f.ready,
			f.state.conditions["Available"], f.state.conditions["Degraded"])
	}
}

// unwatchedFor returns how long no operator has watched the lease since its last renewal.
func (r *rules) unwatchedFor(f facts) time.Duration {
	if !f.renewed.Equal(r.lastRenewal) || r.looked.IsZero() {
		r.lastRenewal, r.unwatched = f.renewed, 0
	} else if _, acts := r.world.operator.actsSince(); !acts {
		r.unwatched += f.now.Sub(r.looked)
	}
	r.looked = f.now
	return r.unwatched
}

// hands: the operator takes away one static pod for a rollout, and two to move the lead. Never the last one.
func (r *rules) hands(f facts) {
	if len(f.taken) > 2 && !r.removes {
		r.world.violate("too many static pods are away", "%v", f.taken)
	}
	if len(f.taken) > 0 && r.applies("the operator takes the last CCM away",
		excuse{"a removal takes all away", r.removes},
		excuse{"there are one or two nodes, and the lead moves to the other one", r.world.plan.isSmall()},
		excuse{"a machine or a kubelet does not work", !f.up}, excuse{"a CCM hangs", f.hangs},
		excuse{"a CCM has ended by itself", f.now.Sub(f.lastExit) <= 3*time.Minute}) && len(f.ready) == 0 && r.ready > 0 {
		r.world.violate("the operator takes the last CCM away", "%v are away", f.taken)
	}
	r.ready = len(f.ready)
}

// mostPreflights is how many may run in ten minutes: clouds lock accounts whose logins fail often.
const mostPreflights = 20

// credentials that the cloud accepts replace those that it refuses.
func (r *rules) credentials(f facts) {
	w := r.world
	if f.preflights > mostPreflights {
		w.violate("too many preflights", "%d in ten minutes", f.preflights)
	}
	if !r.reads(w.api.Get(secrets, credentialsKey)) {
		return
	}
	if !w.cloud.isWell() {
		r.outage = f.now
	}
	isHeld := w.cloud.accepts(r.written) && w.cloud.isWell() && (len(f.leaders) == 0 || !w.cloud.accepts(f.leads.password)) &&
		r.applies("credentials are held back", r.operatorAway(f)...)
	heldFor := r.lasts("held", isHeld, f.now)
	c := f.state.conditions["Degraded"]
	isUnnamed := isInstalled(f) && r.written != f.leads.password && !w.cloud.accepts(r.written) && w.cloud.isWell() &&
		(c.status != "True" || !strings.Contains(c.message, "the cloud rejects the credentials")) &&
		r.applies("rejected credentials are not named", append(r.operatorAway(f),
			excuse{"a machine or a kubelet does not work", !f.up}, excuse{"no CCM is Ready", len(f.ready) == 0},
			excuse{"nobody leads, so the change may be the cure", len(f.leaders) == 0},
			excuse{"the cloud did not work, and is asked again later", r.wroteInOutage(f)},
			excuse{"requests of the operator fail", w.network.hinders()})...)
	unnamedFor := r.lasts("unnamed "+r.written, isUnnamed, f.now)
	if limit := bounds["rejected credentials are not named"].limit; r.exceeds("rejected credentials are not named", unnamedFor, limit) {
		w.violate("rejected credentials are not named", "%s for more than %s: %v", r.written, limit, c)
	}
	// The operator tries at growing intervals: what took long to become valid may take as long to be seen.
	lag := r.since["held"].Sub(locked(&w.trace, func() time.Time { return w.rotated }))
	bound := bounds["credentials are held back"].limit + min(10*time.Minute, max(0, lag))
	if isInstalled(f) && len(f.ready) > 0 && r.exceeds("credentials are held back", heldFor, bound) {
		w.violate("credentials are held back", "%s have been valid for more than %s, and the leader has %q", r.written, bound,
			f.leads.password)
	}
}

// reads keeps the password of the credentials, and reports whether there are some.
func (r *rules) reads(o object) bool {
	if o != nil && apitest.Meta(o)["resourceVersion"] != r.version {
		r.version, r.written = apitest.Meta(o)["resourceVersion"], inputsOf(apitest.Load[corev1.Secret](o).Data).password
	}
	return o != nil
}

// wroteInOutage reports whether the present credentials were written before the cloud worked again, within the longest
// pause of a preflight that has shown nothing.
func (r *rules) wroteInOutage(f facts) bool {
	rotated := locked(&r.world.trace, func() time.Time { return r.world.rotated })
	return !rotated.After(r.outage) && f.now.Sub(r.outage) < 5*time.Minute
}

func isInstalled(f facts) bool {
	return f.state.latest > 0 && f.state.conditions["Available"].status != ""
}

// progress: a rollout goes on. It may wait after its last step, a start of the operator, another leader, the return of
// the rights, and the end of a fault, once for each.
func (r *rules) progress(f facts) {
	w, bound := r.world, bounds["a rollout stands still"].limit
	if !f.allReady {
		bound += bounds["a CCM is not Ready"].limit
	}
	for _, ends := range f.exits {
		if ends > 1 {
			bound = max(bound, bounds["a rollout stands still"].limit+bounds["a kubelet backs off"].limit)
		}
	}
	since, acts := w.operator.actsSince()
	helpers := w.helpers()
	if strings.Contains(helpers, string(corev1.PodFailed)) {
		bound += bounds["a pod of the operator has failed"].limit
	}
	text := fmt.Sprint(f.state.nodes, f.ready, f.leaders, helpers, since, w.network.back(), r.quiet)
	free := !f.state.settled && isInstalled(f) && r.applies("a rollout stands still",
		excuse{"the operator is away", !acts}, excuse{"the API is down", f.down},
		excuse{"the operator's rights are away", w.network.forbidden()},
		excuse{"a machine or a kubelet does not work", !f.up}, excuse{"nobody leads", len(f.leaders) == 0},
		excuse{"the cloud does not work", !w.cloud.isWell()},
		excuse{"the cloud rejects the former login, and a new one is tried ever more rarely", !w.cloud.accepts(f.leads.password)},
		excuse{"a person has to decide", r.asksPerson}, excuse{"a disk is full", f.isFull},
		excuse{"somebody wrote the lease", !f.now.After(r.excused)},
		excuse{"a leader ended because somebody wrote the lease, and its proof is held", r.isProofHeld(f)},
		excuse{"requests of the operator fail", w.network.hinders()}) && text == r.text
	r.text = text
	if r.exceeds("a rollout stands still", r.lasts("moves", free, f.now), bound) {
		w.violate("a rollout stands still", "for more than %s, all Ready %v: %s; Progressing %v, Degraded %v", bound, f.allReady,
			f.state.nodes, f.state.conditions["Progressing"], f.state.conditions["Degraded"])
	}
}

// proofHold is how long a revision is held whose leader has lost the lease, and the starts of its two proofs.
const proofHold = 16 * time.Minute

// isProofHeld reports whether a leader may have lost the lease to somebody who wrote it, and Progressing says until when
// its revision is held, or that it is to lead once more.
func (r *rules) isProofHeld(f facts) bool {
	says := f.state.conditions["Progressing"].message
	return f.now.Sub(r.leaseWritten) < proofHold &&
		(strings.Contains(says, "no other node gets revision") || strings.Contains(says, "once more, to prove it"))
}

// forbidden reports whether the operator's rights are away.
func (n *network) forbidden() bool { return locked(&n.mutex, func() bool { return n.isForbidden }) }

// hinders reports whether a fault delays or refuses some requests or events of the operator.
func (n *network) hinders() bool {
	return locked(&n.mutex, func() bool {
		return n.fails > 0 || n.throttles > 0 || n.refuses != nil || slices.ContainsFunc(slices.Collect(maps.Values(n.lag)),
			func(d time.Duration) bool { return d > 0 })
	})
}

// back returns when the operator's rights came back last.
func (n *network) back() time.Time { return locked(&n.mutex, func() time.Time { return n.rightsBack }) }

// helpers describes the pods of the operator that are at work.
func (w *world) helpers() string {
	var all []string
	for _, o := range w.api.List(pods) {
		name, isOurs := strings.CutPrefix(apitest.Key(o), target+"/")
		if isOurs && annotation(o, corev1.MirrorPodAnnotationKey) == "" {
			status, _ := o["status"].(map[string]any)
			all = append(all, fmt.Sprint(name, status["phase"]))
		}
	}
	return strings.Join(all, " ")
}

// available: Available needs somebody who leads for more than a moment.
func (r *rules) available(f facts) {
	isSteady := len(f.leaders) > 0 && (f.ledFor >= settling || f.ledFor > 30*time.Second && f.deaths == 0)
	// Each loss of a leader has its own lease to expire.
	struck := locked(&r.world.mutex, func() time.Time { return r.world.struck })
	isStruck := f.now.Sub(struck) <= time.Second || !f.now.After(r.excused)
	unsteady := r.lasts("unsteady", !isSteady && len(f.ready) > 0 && !f.down && !isStruck, f.now)
	bound := r.limit("Available is not true")
	if f.deaths >= 3 {
		bound = bounds["Available is not true while leaders end"].limit
	}
	_, acts := r.world.operator.actsSince()
	if isInstalled(f) && f.state.is("Available", "True") &&
		r.applies("Available is not true", excuse{"the operator is away", !acts}) &&
		r.exceeds("Available is not true", unsteady, bound) {
		r.world.violate("Available is not true", "nobody has led for a minute for more than %s, %d leaders have ended: %v",
			bound, f.deaths, f.state.conditions["Available"])
	}
}

// progressing: Progressing names the revision that the nodes get, and ends when they have it.
func (r *rules) progressing(f facts) {
	c := f.state.conditions["Progressing"]
	isNamed := c.status == "True" && strings.Contains(c.message, fmt.Sprintf("revision %d", f.state.latest))
	isWrong := isInstalled(f) && !(f.state.settled && c.status == "False" || !f.state.settled && isNamed) &&
		r.applies("Progressing is not true", append(r.operatorAway(f), excuse{"a removal goes on", r.removes},
			excuse{"a CCM is not Ready", !f.allReady}, excuse{"a release is held", f.state.settled && f.isOld},
			excuse{"requests of the operator fail", r.world.network.hinders()},
			excuse{"the rights have just come back", f.now.Sub(r.world.network.back()) <= time.Minute})...)
	if bound := bounds["Progressing is not true"].limit; r.exceeds("Progressing is not true", r.lasts("progress", isWrong, f.now), bound) {
		r.world.violate("Progressing is not true", "for more than %s, settled %v: %s: %v", bound, f.state.settled, f.state.nodes, c)
	}
}

var keepsExiting = regexp.MustCompile(`pod/cloud-controller-manager-(\S+) keeps exiting`)

// degraded: Degraded has a cause that is there.
func (r *rules) degraded(f facts) {
	w := r.world
	c := f.state.conditions["Degraded"]
	well := c.status == "True" && r.applies("Degraded is not true", append(r.operatorAway(f),
		excuse{"a machine or a kubelet does not work", !f.up}, excuse{"a CCM is not Ready", !f.allReady},
		excuse{"nobody has led for a while", len(f.leaders) == 0 || f.ledFor <= 30*time.Second},
		excuse{"the leader looks at no node", f.deaf}, excuse{"the cloud does not work", !w.cloud.isWell()},
		excuse{"the cloud rejects the credentials", len(f.leaders) > 0 && !w.cloud.accepts(f.leads.password)},
		excuse{"a Node is not well", !w.nodesAreWell()}, excuse{"a rollout goes on", !f.state.settled},
		excuse{"a person has to decide", r.asksPerson}, excuse{"a CCM has ended by itself", f.now.Sub(f.lastExit) <= 10*time.Minute},
		excuse{"a fault is active, or has just ended", r.faults > 0 || f.now.Sub(r.quiet) <= 20*time.Second},
		excuse{"the rights have just come back", f.now.Sub(w.network.back()) <= time.Minute})...)
	if bound := bounds["Degraded is not true"].limit; r.exceeds("Degraded is not true", r.lasts("well", well, f.now), bound) {
		w.violate("Degraded is not true", "all has been well for more than %s: %s", bound, c.message)
	}
	loops := map[string]bool{}
	for _, match := range keepsExiting.FindAllStringSubmatch(c.message, -1) {
		loops[match[1]] = c.status == "True"
	}
	for node := range f.exits {
		lasted := r.lasts("no loop on "+node, loops[node] && f.exits[node] < 3 && f.deaths == 0, f.now)
		if r.exceeds("no crash loop", lasted, bounds["no crash loop"].limit) {
			w.violate("no crash loop", "the process on %s has ended %d times in 20 minutes: %s", node, f.exits[node], c.message)
		}
	}
}

// nodesAreWell reports whether each Node is Ready and initialized.
func (w *world) nodesAreWell() bool {
	return !slices.ContainsFunc(w.api.List(nodes), func(o object) bool { return readiness(o) != "True" || waits(o) })
}

// reasons: a condition that is True has a reason and a message, and conditions change seldom.
func (r *rules) reasons(f facts) {
	for name, c := range f.state.conditions {
		if c.status == "True" && name == "Degraded" && (c.reason == "" || c.message == "") {
			r.world.violate("a condition without a reason", "%s: %+v", name, c)
		}
		if r.values[name].status != c.status {
			r.changes[name] = append(r.changes[name], f.now)
		}
		r.values[name] = c
	}
}

// machines: the Node of a machine that is gone goes too.
func (r *rules) machines(f facts) {
	w := r.world
	for _, o := range w.api.List(nodes) {
		name, _ := apitest.Meta(o)["name"].(string)
		w.mutex.Lock()
		m := w.machines[name]
		isGone := m != nil && !m.exists
		w.mutex.Unlock()
		stays := isGone && r.applies("the Node of a machine that is gone stays", append(r.operatorAway(f),
			excuse{"nobody has led for a while", len(f.leaders) == 0 || f.ledFor < settling},
			excuse{"the leader looks at no node", f.deaf}, excuse{"the cloud does not work", !w.cloud.isWell()})...)
		lasted, bound := r.lasts("gone "+name, stays, f.now), bounds["the Node of a machine that is gone stays"].limit
		if r.exceeds("the Node of a machine that is gone stays", lasted, bound) {
			w.violate("the Node of a machine that is gone stays", "%s, for more than %s", name, bound)
		}
	}
}
