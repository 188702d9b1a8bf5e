package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	if !w.pass(recovery, func() bool { return w.healthy() && w.allLead() }) {
		s := w.state()
		w.violate("not done after the last fault", "for %s: %s Available %v, Progressing %v, Degraded %v", recovery, s.nodes,
			s.conditions["Available"], s.conditions["Progressing"], s.conditions["Degraded"])
	}
	return w.now() - begun
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

// allLead reports whether one process leads and looks at Nodes, and all CCMs are Ready.
func (w *world) allLead() bool {
	f := w.facts()
	return len(f.leaders) == 1 && !f.deaf && f.allReady && f.up
}

// tidied is how long the operator keeps what it is done with: its pods, and the annotations of a deletion.
const tidied = 6 * time.Minute

// rest lets time pass in which nothing may happen, once the operator has tidied up.
func (w *world) rest(d time.Duration) {
	w.pass(tidied, nil)
	w.trace.Lock()
	first := len(w.writes)
	w.trace.Unlock()
	begun := time.Now()
	w.pass(d, nil)
	w.trace.Lock()
	writes := slices.Clone(w.writes[first:])
	w.trace.Unlock()
	count := map[string]int{}
	for _, c := range writes {
		// Locks are renewed, and file-syncers repeat their reports.
		if strings.HasPrefix(c.User, serviceAccount) && c.Resource != leases && !strings.Contains(c.User, ":file-syncer#") {
			count[fmt.Sprintf("%s by %s: %s %s", c.Verb, short(c.User), c.Resource.Resource, c.Key)]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		w.violate("a write at rest", "%d× %s", count[what], what)
	}
	for name, times := range w.rules.changes {
		if len(times) > 0 && times[len(times)-1].After(begun) {
			w.violate("a condition changes at rest", "%s", name)
		}
		if len(times) > flaps {
			w.violate("a condition flaps", "%s changed %d times", name, len(times))
		}
	}
	w.clean()
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
	}
}
