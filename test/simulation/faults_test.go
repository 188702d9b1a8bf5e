package simulation

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// fault is a kind of fault. run causes it, and returns what ends it, nil if it ends by itself; had reports whether it
// had an effect. One fault of a group is active at a time. expires is set if it may end a leader that does not release
// the lease, so that it has to expire.
type fault struct {
	group   string
	run     func(w *world) (end func(), had func() bool)
	expires bool
}

// kinds are the faults that a seed draws, by their names.
var kinds = map[string]fault{
	"ccm-dies":           {"", func(w *world) (func(), func() bool) { return nil, ended(w.someMaster().kill9()) }, true},
	"ccm-hangs":          {"", hang, true},
	"kubelet-hangs":      {"machine", hangOrCut, true},
	"machine-off":        {"machine", powerOff, true},
	"machine-gone":       {"machine", vanish, true},
	"drained":            {"machine", drain, true},
	"disk-full":          {"", func(w *world) (func(), func() bool) { return fillDisk(w, w.someMaster()) }, false},
	"operator-killed":    {"operator", operatorFault(func(w *world) { w.operator.restart(w.between(time.Second, time.Minute)) }), false},
	"operator-replaced":  {"operator", operatorFault(func(w *world) { w.operator.replace(true, w.between(time.Second, 5*time.Second)) }), false},
	"operator-dies-at":   {"operator", dieAtWrite, false},
	"operator-lost":      {"operator", operatorFault(loseOperator), false},
	"operators-overlap":  {"operator", operatorFault(func(w *world) { w.operator.overlap(w.between(time.Second, time.Minute)) }), false},
	"upgrade":            {"operator", operatorFault(upgradeOrDowngrade), false},
	"requests-fail":      {"network", failRequests, false},
	"api-down":           {"network", apiDown, true},
	"rights-away":        {"network", rightsAway, false},
	"writes-refused":     {"network", refuseWrites, false},
	"stale":              {"", stale, false},
	"watches-close":      {"", closeWatches, false},
	"mirror-deleted":     {"", removed(somePod), false},
	"revision-deleted":   {"", removed(revisionObject), false},
	"object-deleted":     {"", deleteOrDamage, false},
	"lease-deleted":      {"", deleteLease, true},
	"lease-edited":       {"", editLease, true},
	"status-wiped":       {"", wipeStatus, false},
	"manifest-damaged":   {"", damage, true},
	"cloud-down":         {"cloud", cloudFails, false},
	"cloud-rejects":      {"cloud", misleading(func(c *cloud, is bool) { c.fails = map[bool]error{true: errReject}[is] }), false},
	"cloud-denies":       {"cloud", misleading(func(c *cloud, is bool) { c.denies = is }), false},
	"config-change":      {"change", changeConfig, false},
	"credentials-rotate": {"credentials", rotateValid, false},
	"credentials-lag":    {"credentials", credentialsLag, false},
	"config-kills":       {"change", configKills, true},
	"node-joins":         {"machine", rejoin, false},
	"nodes-join":         {"machine", joinNodes, false},
	"clock-wrong":        {"clock", wrongClock, false},
	"image-missing":      {"operator", missImage, false},
}

// ended is for a fault that has ended already, with an effect or not.
func ended(had bool) func() bool { return func() bool { return had } }

// during is a fault that lasts. It had an effect if it has made a count grow.
func during(set func(is bool), count func() int) (end func(), had func() bool) {
	before, after := count(), 0
	set(true)
	return func() { after = count(); set(false) }, func() bool { return after > before }
}

// counted reads a count of the network.
func (n *network) counted(count *int) func() int { return counted(&n.mutex, count) }

// counted reads a count that a lock guards.
func counted(lock sync.Locker, count *int) func() int {
	return func() int { return locked(lock, func() int { return *count }) }
}

// number returns a number that no change has had.
func (w *world) number() int { return locked(&w.mutex, func() int { w.changes++; return w.changes }) }

// someMaster is the leader's machine in half of the cases.
func (w *world) someMaster() *machine {
	if w.n(2) == 0 {
		return w.someLeader()
	}
	return locked(&w.mutex, func() *machine { return pick(w, w.masters()...) })
}

func pick[T any](w *world, from ...T) T { return from[w.n(len(from))] }

func hang(w *world) (func(), func() bool) { return hangCCM(w, w.someMaster()) }

func hangCCM(w *world, m *machine) (func(), func() bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if m.static == nil || m.static.ccm.exited {
		return nil, ended(false)
	}
	p := m.static.ccm
	p.isFrozen = true
	w.note("FAULT the CCM on %s hangs, until its kubelet ends it", m.name)
	go func() { // The liveness probe fails three times.
		if pause(p.ctx, w.between(60*time.Second, 90*time.Second)) {
			p.mutex.Lock()
			p.kill(9)
			p.mutex.Unlock()
		}
	}()
	return func() { <-p.ctx.Done() }, func() bool { return p.code == 128+9 }
}

// hangOrCut stops a kubelet, or cuts its machine off.
func hangOrCut(w *world) (func(), func() bool) {
	m := w.someMaster()
	if w.n(2) == 0 {
		w.note("FAULT the machine %s is cut off", m.name)
		locked(&w.mutex, func() bool { m.isCut = true; return true })
	}
	return hangKubelet(w, m)
}

// isAlone reports whether the machine cannot reach the API.
func (m *machine) isAlone() bool {
	return m.network.down() || locked(&m.mutex, func() bool { return m.isCut })
}

// hangKubelet has an effect if something waits for the kubelet meanwhile, or the Node becomes silent.
func hangKubelet(w *world, m *machine) (func(), func() bool) {
	w.note("FAULT the kubelet of %s hangs", m.name)
	return during(func(is bool) { locked(&w.mutex, func() bool { m.isHung, m.isCut = is, is && m.isCut; return is }) },
		counted(&w.mutex, &m.missed))
}

func powerOff(w *world) (func(), func() bool) {
	m := w.someMaster()
	if w.n(4) == 0 {
		m = w.machines["w0"]
	}
	w.note("FAULT the machine %s is off", m.name)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	isSeen := m.static != nil && !m.static.ccm.exited
	m.powerOff()
	return func() { isSeen = isSeen || !w.isNodeReady(m.name); m.reboot() }, func() bool { return isSeen }
}

// fillDisk has an effect if an installer fails because of it.
func fillDisk(w *world, m *machine) (func(), func() bool) { return failDisk(w, m, syscall.ENOSPC) }

func failDisk(w *world, m *machine, problem error) (func(), func() bool) {
	w.note("FAULT the disk of %s: %v", m.name, problem)
	return during(func(is bool) { locked(&w.mutex, func() bool { m.disk = map[bool]error{true: problem}[is]; return is }) },
		counted(&w.mutex, &m.unwritten))
}

// isNodeReady reports whether a Node exists and is Ready.
func (w *world) isNodeReady(name string) bool {
	node := w.api.Get(nodes, "/"+name)
	return node != nil && readiness(node) == "True"
}

func vanish(w *world) (func(), func() bool) {
	m, isSeen := w.machines["w1"], false
	if w.n(2) == 0 {
		m = w.someMaster()
	}
	m.vanish()
	return func() { isSeen = !w.isNodeReady(m.name); m.appear() }, func() bool { return isSeen }
}

func drain(w *world) (func(), func() bool) {
	m := w.someMaster()
	before := m.boots
	w.cordon(m.name, true)
	go func() {
		if pause(w.ctx, w.between(10*time.Second, 90*time.Second)) {
			m.turnOff()
		}
	}()
	return func() {
		pause(w.ctx, 2*time.Minute)
		m.reboot()
		pause(w.ctx, w.between(5*time.Second, time.Minute))
		w.cordon(m.name, false)
	}, func() bool { return m.boots > before }
}

func operatorFault(f func(w *world)) func(w *world) (func(), func() bool) {
	return func(w *world) (func(), func() bool) {
		before := w.operator.serial
		f(w)
		return nil, func() bool { return w.operator.serial > before }
	}
}

// loseOperator ends the operator's pod without grace, and starts another one a moment or minutes later.
func loseOperator(w *world) {
	w.operator.replace(false, w.between(time.Second, pick(w, time.Minute, time.Minute, 8*time.Minute)))
}

func upgradeOrDowngrade(w *world) {
	if w.n(4) == 0 {
		w.operator.install(-1, 0, w.between(time.Second, 5*time.Second))
	} else {
		w.operator.upgrade(w.between(time.Second, 5*time.Second))
	}
}

// dieAtWrite kills the operator after one of its next writes. Its pod stays.
func dieAtWrite(w *world) (func(), func() bool) {
	before := w.operator.serial
	w.dieAt(1 + w.n(25))
	return nil, func() bool { return w.operator.serial > before }
}

// dieAt kills the operator after a write from now on, counted from 1, and reports whether there was one.
func (w *world) dieAt(nth int) bool {
	w.note("FAULT the operator dies after its next write number %d", nth)
	reached := make(chan struct{})
	w.trace.Lock()
	w.countdown, w.reached = nth, reached
	w.trace.Unlock()
	select {
	case <-reached:
		w.operator.restart(w.between(time.Second, 10*time.Second))
		return true
	case <-time.After(3 * time.Minute):
		return false
	}
}

func failRequests(w *world) (func(), func() bool) {
	share := pick(w, 0.05, 0.2, 0.5)
	w.note("FAULT requests of the operator fail: %v", share)
	return during(func(is bool) {
		w.network.set(func() { w.network.fails = map[bool]float64{true: share}[is] })
	}, w.network.counted(&w.network.failed))
}

func apiDown(w *world) (func(), func() bool) {
	w.note("FAULT the API is down")
	return during(func(is bool) {
		w.network.set(func() { w.network.isDown = is })
		if !is {
			w.closeWatches("")
		}
	}, w.network.counted(&w.network.failed))
}

func rightsAway(w *world) (func(), func() bool) {
	return during(w.network.forbid, w.network.counted(&w.network.refused))
}

// refuseWrites refuses writes of one kind of object, as a webhook or a quota does.
func refuseWrites(w *world) (func(), func() bool) {
	name := pick(w, "pods", "secrets", "configmaps", "leases", "cloudcontrollermanagers", "events", "nodes")
	code := pick(w, 403, 409, 429, 500)
	verbs := pick(w, "create update patch delete", "create update patch delete", "create", "update patch", "delete", "get list watch")
	w.note("FAULT %s of %s is answered with %d", verbs, name, code)
	refuses := func(r apitest.Request) int {
		if r.Resource.Resource == name && strings.Contains(verbs, r.Verb) {
			return code
		}
		return 0
	}
	return during(func(is bool) {
		w.network.set(func() { w.network.refuses = map[bool]func(apitest.Request) int{true: refuses}[is] })
	}, w.network.counted(&w.network.refused))
}

func stale(w *world) (func(), func() bool) {
	name := pick(w, "pods", "nodes", "leases", "cloudcontrollermanagers", "configmaps", "secrets", "clusteroperators")
	lag := w.between(time.Second, 30*time.Second)
	w.note("FAULT watches of %s are %s late", name, lag)
	return during(func(is bool) {
		w.network.set(func() { w.network.lag[name] = map[bool]time.Duration{true: lag}[is] })
	}, w.network.counted(&w.network.late))
}

func closeWatches(w *world) (func(), func() bool) {
	name := pick(w, "pods", "nodes", "leases", "cloudcontrollermanagers", "configmaps", "secrets", "")
	w.note("FAULT watches of %q end", name)
	return nil, ended(w.closeWatches(name) > 0)
}

// groups are the API groups of resources that are not of the core.
var groups = map[string]string{
	"leases": leases.Group, "rolebindings": rbacv1.GroupName, "clusterrolebindings": rbacv1.GroupName,
}

// deleteObject has somebody delete an object by its resource and key.
func deleteObject(w *world, what string) bool {
	name, key, _ := strings.Cut(what, " ")
	w.note("FAULT somebody deletes %s", what)
	if groups[name] == rbacv1.GroupName {
		w.isBound.Store(false)
	}
	return w.api.Remove("somebody", resource(groups[name], name), key)
}

// damagedValue is what damageObject writes, in base64 for a Secret.
const damagedValue = "ZGFtYWdlZA=="

// damageObject has somebody overwrite the values of a ConfigMap or Secret.
func damageObject(w *world, what string) bool {
	name, key, _ := strings.Cut(what, " ")
	w.note("FAULT somebody damages %s", what)
	return w.api.Edit("somebody", resource("", name), key, func(o object) bool {
		data, _ := o["data"].(map[string]any)
		for key := range data {
			data[key] = damagedValue
		}
		return len(data) > 0
	})
}

// isDamaged reports whether a value of an object is what damageObject wrote.
func isDamaged(o object) bool {
	data, _ := o["data"].(map[string]any)
	return slices.Contains(slices.Collect(maps.Values(data)), any(damagedValue))
}

func removed(find func(w *world) string) func(w *world) (func(), func() bool) {
	return func(w *world) (func(), func() bool) { return nil, ended(deleteObject(w, find(w))) }
}

// somePod is a mirror pod, or one with which the operator works on a node.
func somePod(w *world) string {
	if working := strings.Fields(w.helpersAtWork()); len(working) > 0 && w.n(2) == 0 {
		return "pods " + target + "/" + pick(w, working...)
	}
	return "pods " + mirrorKey(w.someMaster().name)
}

// deleteOrDamage deletes an object, or overwrites its values.
func deleteOrDamage(w *world) (func(), func() bool) {
	object := targetObject(w)
	if w.n(2) == 0 || !damageObject(w, object) {
		return nil, ended(deleteObject(w, object))
	}
	return nil, ended(true)
}

func revisionObject(w *world) string {
	kind, object, _ := strings.Cut(pick(w, "configmaps cloud-controller-manager-pod", "configmaps cloud-config",
		"configmaps kubeconfigs", "configmaps trusted-ca", "secrets cloud-config", "secrets cloud-credentials",
		"secrets file-syncer-token", "configmaps revision-status"), " ")
	return fmt.Sprintf("%s %s/%s-%d", kind, target, object, w.state().latest)
}

// targetObjects are what the operator writes, and writes again if it is deleted, most of it into the namespace of its
// operand.
var targetObjects = []string{"configmaps kubeconfigs", "configmaps cloud-config", "configmaps client-ca",
	"configmaps trusted-ca", "configmaps cloud-controller-manager-pod", "configmaps node-files", "secrets kube-token",
	"secrets serving-cert", "secrets cloud-credentials", "secrets accepted-inputs", "secrets file-syncer-identity",
	"secrets cloud-config", "configmaps requestheader-client-ca", "configmaps serving-ca", "secrets file-syncer-token",
	"serviceaccounts cloud-controller-manager", "serviceaccounts installer-sa", "serviceaccounts file-syncer",
	"services cloud-controller-manager", "rolebindings system:openshift:cloud-controller-manager:operand-lease",
	"rolebindings system:openshift:cloud-controller-manager:installer",
	"rolebindings system:openshift:cloud-controller-manager:file-syncer",
	"clusterrolebindings /system:openshift:cloud-controller-manager:operand",
	"secrets " + operatorclient.OperatorNamespace + "/" + servingcert.SignerSecret}

func targetObject(w *world) string { return inTarget(pick(w, targetObjects...)) }

func inTarget(object string) string {
	if strings.Contains(object, "/") {
		return object
	}
	return strings.Replace(object, " ", " "+target+"/", 1)
}

func editLease(w *world) (func(), func() bool) {
	holder := pick(w, "somebody", "m1_x", "")
	w.note("FAULT somebody writes %q into the lease", holder)
	edited := w.api.Edit("somebody", leases, leaseKey, func(o object) bool {
		spec, _ := o["spec"].(map[string]any)
		spec["holderIdentity"] = holder
		return true
	})
	w.rules.excused, w.rules.leaseWritten = time.Now().Add(bounds["nobody leads"].limit+settling), time.Now()
	w.trace.Lock()
	w.renewed = time.Now()
	w.trace.Unlock()
	return nil, ended(edited)
}

func deleteLease(w *world) (func(), func() bool) {
	w.rules.leaseWritten = time.Now()
	return nil, ended(deleteObject(w, "leases "+leaseKey))
}

func wipeStatus(w *world) (func(), func() bool) {
	w.note("FAULT somebody deletes the ClusterOperator's status")
	return nil, ended(w.api.Edit("somebody", clusterOperators, clusterOperatorKey, func(o object) bool {
		delete(o, "status")
		return true
	}))
}

// cloudFails is an outage of the cloud: it does not answer, answers late, or throttles.
func cloudFails(w *world) (func(), func() bool) {
	takes := pick(w, 0, 5*time.Second, time.Minute)
	if takes > 0 {
		w.note("each answer of the cloud takes %s", takes)
		return cloudFault(func(c *cloud, is bool) { c.takes = map[bool]time.Duration{true: takes}[is] })(w)
	}
	answer := pick(w, errDown, errThrottled)
	w.note("the cloud answers: %v", answer)
	return cloudFault(func(c *cloud, is bool) { c.fails = map[bool]error{true: answer}[is] })(w)
}

func cloudFault(set func(c *cloud, is bool)) func(w *world) (func(), func() bool) {
	return func(w *world) (func(), func() bool) {
		w.note("FAULT the cloud fails")
		return during(func(is bool) {
			w.note("the cloud fails: %v", is)
			w.cloud.set(func() { set(w.cloud, is) })
		}, counted(&w.cloud.mutex, &w.cloud.asked))
	}
}

// damageMark is what damage adds.
const damageMark = "# changed\n"

// damage changes the manifest of a static pod on its node.
func damage(w *world) (func(), func() bool) {
	m := w.someMaster()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	manifest := m.manifest()
	if manifest == nil {
		return nil, ended(false)
	}
	w.note("FAULT somebody changes the manifest on %s", m.name)
	static := m.static
	w.killed = time.Now()
	err := os.WriteFile(filepath.Join(m.root, manifestPath), slices.Concat(manifest.content, []byte(damageMark)), 0o600)
	return nil, func() bool { return err == nil && (static == nil || static.ccm.exited) }
}

// changeConfig changes the cloud configuration, or lets it flap between what it was and something else.
func changeConfig(w *world) (func(), func() bool) {
	before := w.state().latest
	for range w.n(3) * w.n(3) {
		w.configure(0)
		pause(w.ctx, w.between(time.Second, 30*time.Second))
		w.configure(1)
		pause(w.ctx, w.between(time.Second, 30*time.Second))
	}
	w.configure(w.number())
	return nil, func() bool { return w.state().latest > before }
}

// rotateValid rotates the credentials to others that the cloud accepts.
func rotateValid(w *world) (func(), func() bool) {
	n := w.number()
	w.cloud.set(func() {
		if w.cloud.valid != nil {
			w.cloud.valid[password(n)] = true
		}
	})
	w.rotate(n)
	return nil, func() bool { return w.cloud.used(password(n)) }
}

// used reports whether somebody has logged in with a password.
func (c *cloud) used(password string) bool {
	return locked(&c.mutex, func() bool { return c.logins[password] > 0 })
}

// misleading is an outage that looks like a mistake: the cloud refuses every login, or knows no machine. A change that
// meets it is rejected, and a person has to accept it then, or to wait for the next try.
func misleading(set func(c *cloud, is bool)) func(w *world) (func(), func() bool) {
	return func(w *world) (func(), func() bool) {
		w.rules.asksPerson = true
		return cloudFault(set)(w)
	}
}

// credentialsLag writes credentials that become valid later. The former ones are revoked at once.
func credentialsLag(w *world) (func(), func() bool) {
	next := w.number()
	w.rotate(next)
	return during(func(is bool) {
		w.cloud.accept()
		if !is {
			w.note("the cloud accepts %s", password(next))
			w.cloud.accept(next)
		}
	}, counted(&w.cloud.mutex, &w.cloud.asked))
}

func configKills(w *world) (func(), func() bool) {
	n := pick(w, noBalancer, noLeader)
	return during(func(is bool) {
		if is {
			w.configure(n)
		} else {
			w.configure(w.number())
		}
	}, counted(&w.mutex, &w.lacking))
}

// wrongClock moves the clock of a machine, or of all, as if the operator's and the API server's were wrong. It has an
// effect if a process there writes the lease meanwhile.
func wrongClock(w *world) (func(), func() bool) {
	s := &skew{pick(w, w.someMaster().name, w.someMaster().name, ""), pick(w, -5*time.Minute, -30*time.Second, 30*time.Second, 2*time.Hour)}
	w.note("FAULT the clock of %q is %s ahead", s.machine, s.by)
	return during(func(is bool) { w.skewed.Store(map[bool]*skew{true: s}[is]) }, func() int { return int(w.shifted.Load()) })
}

// missImage upgrades to an image that no registry has, and back.
func missImage(w *world) (func(), func() bool) {
	failed := counted(&w.mutex, &w.unpulled)
	before := failed()
	w.operator.install(missingImage, 1, 2*time.Second)
	return func() { w.operator.install(-missingImage, 1, 2*time.Second) }, func() bool { return failed() > before }
}

// joinNodes adds a hundred machines, and removes them with their Nodes.
func joinNodes(w *world) (func(), func() bool) {
	w.note("FAULT a hundred nodes join")
	var joined []*machine
	for i := range 100 {
		joined = append(joined, w.addMachine(fmt.Sprintf("w%d", 100+i)))
	}
	are := func() bool {
		return !slices.ContainsFunc(joined, func(m *machine) bool { return !w.isNodeReady(m.name) })
	}
	isReady := false
	return func() {
		isReady = are()
		for _, m := range joined {
			m.vanish()
			w.api.Remove("machine-api", nodes, "/"+m.name)
		}
		w.mutex.Lock()
		defer w.mutex.Unlock()
		for _, m := range joined {
			delete(w.machines, m.name)
		}
	}, func() bool { return isReady }
}

func rejoin(w *world) (func(), func() bool) {
	m := w.machines["w0"]
	w.note("FAULT the Node of w0 registers again")
	was := w.api.Remove("administrator", nodes, "/w0")
	pause(w.ctx, 2*time.Second)
	m.register()
	return nil, ended(was)
}
