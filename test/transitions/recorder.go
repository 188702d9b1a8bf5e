// Package transitions names what changes in a cluster while a story is played, so that the same story on a development
// cluster and in test/simulation can be compared.
package transitions

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The stories.
const (
	Installation = "installation"
	Rollout      = "rollout"
	Rejected     = "preflight rejected"
	Reboot       = "drain and reboot of the leader's machine"
	Death        = "the leader's machine dies"
)

const (
	// Afterwards is how long a story goes on once the operator is done, or a change was rejected.
	Afterwards = 5 * time.Second
	// Rest is how long nothing happens until the next story.
	Rest = 30 * time.Second
	// Off is how long a machine is off that reboots.
	Off = 20 * time.Second
)

// Names of transitions. The recorder composes the others.
const (
	operatorActs    = "an operator has the lock"
	leaseAcquired   = "another process holds the lease"
	nodeInitialized = "a Node is initialized"
	nodeNotReady    = "a Node is not Ready"
	nodeReady       = "a Node is Ready"
)

const (
	// operatorLock is the name of the Lease of the operator's own leader election.
	operatorLock = "cluster-cloud-controller-manager-operator-lock"
	// operand is the name of the CCMs' Lease and of the ClusterOperator, and begins the names of the static pods.
	operand       = "cloud-controller-manager"
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// Transition is one change. The same name may occur several times.
type Transition struct {
	Name string `json:"name"`
	// Seconds are those since the story began.
	Seconds float64 `json:"seconds"`
}

// Story is what changed while one story was played.
type Story struct {
	Name        string       `json:"name"`
	Transitions []Transition `json:"transitions"`
}

// since returns the story from the first transition with a name on, without that one.
func (s Story) since(name string) Story {
	at := slices.IndexFunc(s.Transitions, func(t Transition) bool { return t.Name == name })
	if at < 0 {
		return s
	}
	from := s.Transitions[at].Seconds
	later := Story{Name: s.Name}
	for _, t := range s.Transitions[at+1:] {
		later.Transitions = append(later.Transitions, Transition{t.Name, t.Seconds - from})
	}
	return later
}

// Recorder sees objects as the API has them, and records the transitions of one story after the other. Its methods are
// safe for concurrent use.
type Recorder struct {
	now func() time.Time

	mutex sync.Mutex
	start time.Time
	story *Story
	// states has what the recorder saw last, by what it is a state of.
	states map[string]string
	ready  map[string]bool
}

// NewRecorder returns a Recorder without a story.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, states: map[string]string{}, ready: map[string]bool{}}
}

// Begin begins a story. The recorder knows the states that it saw before.
func (r *Recorder) Begin(name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.story, r.start = &Story{Name: name}, r.now()
}

// End ends the story. An installation begins when an operator acts: how its pod starts is not the operator's.
func (r *Recorder) End() Story {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	story := r.story.lasting()
	r.story = nil
	if story.Name == Installation {
		return story.since(operatorActs)
	}
	return story
}

// lasting returns the story without the values of conditions that did not last for a second: while the operator starts,
// its controllers report one after the other.
func (s Story) lasting() Story {
	lasting := Story{Name: s.Name}
	for i, t := range s.Transitions {
		kind, _, isCondition := strings.Cut(t.Name, "=")
		changesSoon := slices.ContainsFunc(s.Transitions[i+1:], func(next Transition) bool {
			return strings.HasPrefix(next.Name, kind+"=") && next.Seconds-t.Seconds < 1
		})
		if !isCondition || !changesSoon {
			lasting.Transitions = append(lasting.Transitions, t)
		}
	}
	return lasting
}

// See records what an object shows that the recorder has not seen yet; content is nil once the object is gone.
func (r *Recorder) See(resource, name string, content map[string]any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case resource == "leases":
		r.changed(name, text(content, "spec", "holderIdentity"), func(holder string) string {
			return ifSet(holder, acquired[name])
		})
	case resource == "nodes" && content != nil:
		r.node(name, content)
	case resource == "pods":
		r.pod(name, content)
	case resource == "clusteroperators" && name == operand:
		r.clusterOperator(content)
	case resource == "cloudcontrollermanagers":
		r.operator(content)
	}
}

// acquired are the transitions of a holder of a Lease.
var acquired = map[string]string{operatorLock: operatorActs, operand: leaseAcquired}

func (r *Recorder) clusterOperator(content map[string]any) {
	for _, c := range list(content, "status", "conditions") {
		switch kind := text(c, "type"); kind {
		case "Available", "Progressing", "Degraded":
			r.changed(kind, text(c, "status"), func(status string) string { return kind + "=" + status })
		}
	}
}

// changed records a transition if a state has changed and the transition has a name.
func (r *Recorder) changed(of, state string, name func(state string) string) {
	if r.states[of] == state {
		return
	}
	r.states[of] = state
	if name := name(state); name != "" {
		r.record(name)
	}
}

func (r *Recorder) record(name string) {
	if r.story != nil {
		r.story.Transitions = append(r.story.Transitions, Transition{name, r.now().Sub(r.start).Seconds()})
	}
}

func ifSet(state, name string) string {
	if state == "" {
		return ""
	}
	return name
}

func (r *Recorder) node(name string, content map[string]any) {
	waits := slices.ContainsFunc(list(content, "spec", "taints"), func(t map[string]any) bool {
		return text(t, "key") == uninitialized
	})
	r.changed("taint "+name, fmt.Sprint(waits), func(state string) string {
		return map[string]string{"false": nodeInitialized}[state]
	})
	for _, c := range list(content, "status", "conditions") {
		if text(c, "type") == string(corev1.NodeReady) {
			r.changed("node "+name, fmt.Sprint(text(c, "status") == "True"), func(state string) string {
				return map[string]string{"true": nodeReady, "false": nodeNotReady}[state]
			})
		}
	}
}

// helpers are the operator's pods by the beginnings of their names.
var helpers = []string{"preflight", "installer", "handover"}

func (r *Recorder) pod(name string, content map[string]any) {
	if strings.HasPrefix(name, operand+"-") {
		isReady := slices.ContainsFunc(list(content, "status", "conditions"), func(c map[string]any) bool {
			return text(c, "type") == string(corev1.PodReady) && text(c, "status") == "True"
		})
		if r.ready[name] == isReady {
			return
		}
		delete(r.ready, name)
		if isReady {
			r.ready[name] = true
		}
		r.record(fmt.Sprintf("%d cloud-controller-managers are Ready", len(r.ready)))
		return
	}
	for _, helper := range helpers {
		if name == helper || strings.HasPrefix(name, helper+"-") {
			// A kubelet may see a short container only once it has ended.
			phase := text(content, "status", "phase")
			hasStarted := phase != "" && phase != string(corev1.PodPending)
			r.changed("pod "+name, fmt.Sprint(hasStarted), func(state string) string {
				return map[string]string{"true": "a pod of " + helper + " has started"}[state]
			})
		}
	}
}

// operator records the revisions of the operator's resource.
func (r *Recorder) operator(content map[string]any) {
	status, _ := content["status"].(map[string]any)
	r.changed("latest", number(status["latestAvailableRevision"]), func(string) string { return "a new revision" })
	for _, n := range list(content, "status", "nodeStatuses") {
		node := text(n, "nodeName")
		r.changed("target "+node, number(n["targetRevision"]), func(revision string) string {
			return ifSet(revision, "a node has a target")
		})
		r.changed("current "+node, number(n["currentRevision"]), func(string) string { return "a node has its revision" })
	}
}

// number returns a revision, "" for 0.
func number(value any) string {
	if value == nil || fmt.Sprint(value) == "0" {
		return ""
	}
	return fmt.Sprint(value)
}

// text returns the string at a path.
func text(content map[string]any, path ...string) string {
	for _, field := range path[:len(path)-1] {
		content, _ = content[field].(map[string]any)
	}
	value, _ := content[path[len(path)-1]].(string)
	return value
}

// list returns the objects of the list at a path.
func list(content map[string]any, path ...string) []map[string]any {
	for _, field := range path[:len(path)-1] {
		content, _ = content[field].(map[string]any)
	}
	items, _ := content[path[len(path)-1]].([]any)
	var all []map[string]any
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}
