package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// The bounds of the rules at rest.
const (
	// recovery is how long the operator may take to be done after the last fault has ended: the lease of a dead leader,
	// then a rollout on three nodes with a proof, then the hold of a change, whose last try may be minutes away.
	recovery = 15 * time.Minute
	// flaps is how often a condition of the ClusterOperator may change in a scenario.
	flaps = 30
)

// recovered waits until the operator is done, and reports that it is not within the bound.
func (w *world) recovered() time.Duration {
	begun := w.now()
	if w.rules.asksPerson {
		w.pass(2*time.Minute, nil)
		w.accept()
	}
	isDone := func() bool { return w.healthy() && w.allLead() }
	if !w.pass(recovery, isDone) && !(w.loops() && w.pass(loopPeriod, isDone)) {
		s := w.state()
		w.violate("not done after the last fault", "for %s: %s Available %v, Progressing %v, Degraded %v", recovery, s.nodes,
			s.conditions["Available"], s.conditions["Progressing"], s.conditions["Degraded"])
	}
	return w.now() - begun
}

// loops reports whether a process has ended so often that the operator calls it a crash loop, for a while after the last
// end.
func (w *world) loops() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(w.facts().exits)), func(n int) bool { return n >= 3 })
}

var acceptCommand = regexp.MustCompile(`(cloudcontrollermanager\S+/accepted-preflight)=(\w+)`)

// accept is a person who runs the command that a condition names, once the cloud is well.
func (w *world) accept() {
	for _, o := range []object{w.api.Get(operators, operatorKey), w.api.Get(clusterOperators, clusterOperatorKey)} {
		for _, c := range conditionsOf(o) {
			command := acceptCommand.FindStringSubmatch(c.message)
			if command == nil || c.status != "True" {
				continue
			}
			w.note("CHANGE a person accepts %s", command[2])
			w.api.Edit("administrator", operators, operatorKey, func(o object) bool {
				annotations, _ := apitest.Meta(o)["annotations"].(map[string]any)
				if annotations == nil {
					annotations = map[string]any{}
				}
				annotations[command[1]] = command[2]
				apitest.Meta(o)["annotations"] = annotations
				return true
			})
			w.rules.asksPerson = false
			return
		}
	}
}

// allLead reports whether one process leads, and looks at Nodes if one waits for it, and all CCMs are Ready. Nobody can
// tell a leader that looks at no Node before one waits.
func (w *world) allLead() bool {
	f := w.facts()
	isDeaf := f.deaf && slices.ContainsFunc(w.api.List(nodes), waits)
	return len(f.leaders) == 1 && !isDeaf && f.allReady && f.up
}

// tidied is how long the operator keeps what it is done with: its pods, and the annotations of a deletion.
const tidied = 6 * time.Minute

// rest lets time pass in which nothing may happen but renewals, once the operator has tidied up.
func (w *world) rest(d time.Duration) {
	w.pass(tidied, nil)
	w.trace.Lock()
	first := len(w.writes)
	w.trace.Unlock()
	begun, before, expired := time.Now(), w.memory(), w.expired.Load()
	w.pass(d, nil)
	w.trace.Lock()
	writes := slices.Clone(w.writes[first:])
	w.trace.Unlock()
	w.idle(writes, d)
	for name, times := range w.rules.changes {
		if len(times) > 0 && times[len(times)-1].After(begun) {
			w.violate("a condition changes at rest", "%s", name)
		}
		if len(times) > flaps {
			w.violate("a condition flaps", "%s changed %d times", name, len(times))
		}
	}
	if n := w.expired.Load() - expired; n > 0 {
		w.violate("a token has expired", "%d requests were made with one", n)
	}
	for what, n := range w.memory() {
		if n > before[what]+before[what]/4+growth[what] {
			w.violate("the memory grows at rest", "%d %s, and %d after %s", before[what], what, n, d)
		}
	}
	w.clean()
	w.kept()
}

// renewed are the Secrets that the operator writes again before what they have expires.
var renewed = []string{
	target + "/kube-token", target + "/serving-cert", operatorclient.OperatorNamespace + "/" + servingcert.SignerSecret,
}

// A renewal's other writes, as its event and the CA of a signer, come within moments. The certificate is renewed each 6
// hours in a long day, its signer each 12, and the token each 4.
const (
	moment        = 10 * time.Second
	renewalPeriod = 2 * time.Hour
)

// tidies are writes for which the operator waits long, once: it remembers a change for an hour, and a move of the lead
// for 15 minutes or an hour, and trusts a former signer until that expires.
var tidies = []string{
	": secrets " + target + "/cloud-controller-manager-preflight", ": pods " + target + "/handover-",
	": configmaps " + target + "/serving-ca",
}

// idle reports the writes at rest. Locks are renewed, and file-syncers repeat their reports.
func (w *world) idle(writes []write, d time.Duration) {
	var renewals []time.Time
	for _, c := range writes {
		if c.Resource == secrets && isOperator(c.User) && slices.Contains(renewed, c.Key) {
			renewals = append(renewals, c.at)
		}
	}
	if len(renewals) > len(renewed)+int(d/renewalPeriod) {
		w.violate("renewals repeat", "%d in %s", len(renewals), d)
	}
	count := map[string]int{}
	for _, c := range writes {
		isRenewal := slices.ContainsFunc(renewals, func(at time.Time) bool { return at.Sub(c.at).Abs() < moment })
		if strings.HasPrefix(c.User, serviceAccount) && c.Resource != leases && !strings.Contains(c.User, ":file-syncer#") && !isRenewal {
			count[fmt.Sprintf("%s by %s: %s %s", c.Verb, short(c.User), c.Resource.Resource, c.Key)]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		if count[what] > 1 || !slices.ContainsFunc(tidies, func(tidy string) bool { return strings.Contains(what, tidy) }) {
			w.violate("a write at rest", "%d× %s", count[what], what)
		}
	}
}

// growth is by how much the memory may grow at rest, beside a quarter: caches fill, and the rules count.
var growth = map[string]int{"goroutines": 10, "MiB": 16}

// memory measures the memory of the process.
func (w *world) memory() map[string]int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return map[string]int{"goroutines": runtime.NumGoroutine(), "MiB": int(stats.HeapAlloc >> 20)}
}

// most are how many objects of a kind there may be in the namespaces of the operator and its operand: those that are
// always there, and those of ten revisions. library-go keeps five that succeeded, and five that failed. A revision has an
// installer and a pruner on each of three nodes.
var most = map[schema.GroupVersionResource]int{pods: 5 + 10*6, configMaps: 20 + 10*5, secrets: 15 + 10*3, events: 300}

// kept reports what the operator keeps too much of.
func (w *world) kept() {
	for r, limit := range most {
		var names []string
		for _, o := range w.api.List(r) {
			if strings.HasPrefix(apitest.Key(o), target) {
				names = append(names, apitest.Key(o))
			}
		}
		if len(names) > limit {
			w.violate("too many objects are kept", "%d %s: %v", len(names), r.Resource, names)
		}
	}
}

// clean checks that nothing is left over.
func (w *world) clean() {
	s := w.state()
	if !s.healthy() {
		w.violate("not well at rest", "%+v", s)
	}
	for _, o := range w.api.List(pods) {
		pod := apitest.Load[corev1.Pod](o)
		isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey] != ""
		switch {
		case pod.Namespace != target:
		case isMirror && pod.Labels["revision"] != fmt.Sprint(s.latest):
			w.violate("a static pod of another revision", "pod/%s has %s, latest is %d", pod.Name, pod.Labels["revision"], s.latest)
		case !isMirror && (pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending):
			w.violate("a pod is left over", "%s is %s", pod.Name, pod.Status.Phase)
		}
	}
	for _, o := range w.api.List(nodes) {
		node := apitest.Load[corev1.Node](o)
		for _, taint := range node.Spec.Taints {
			w.violate("a taint is left over", "node/%s has %s:%s", node.Name, taint.Key, taint.Effect)
		}
		if node.Annotations[operatorclient.NodeDeletionAnnotation] != "" {
			w.violate("an annotation is left over", "node/%s", node.Name)
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, m := range w.machines {
		if m.exists && !m.isOff && w.api.Get(nodes, "/"+m.name) == nil {
			w.violate("a living machine has no Node", "%s", m.name)
		}
		if file := m.manifest(); file != nil && strings.HasSuffix(string(file.content), damageMark) {
			w.violate("a damaged manifest is left over", "%s", m.name)
		}
	}
}
