package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
)

// sampleInterval is how often the processes and the API server are asked.
const sampleInterval = 200 * time.Millisecond

// sample is what the processes answered from a moment on.
type sample struct {
	at time.Time
	// serving and leading are the nodes whose process serves, and those whose process runs its controllers.
	serving, leading []string
}

// event is a change that the API server or a process reported.
type event struct {
	at            time.Time
	subject, text string
}

// timeline records what the processes of the operand and the API server report.
type timeline struct {
	mutex   sync.Mutex
	serving map[string]bool
	leading map[string]bool
	samples []sample
	events  []event
	last    map[string]string
}

// record runs until the context ends.
func (c *cluster) record(ctx context.Context) *timeline {
	t := &timeline{serving: map[string]bool{}, leading: map[string]bool{}, last: map[string]string{}}
	for _, n := range c.Nodes() {
		go t.every(ctx, c.prober(t, n.Name(), n.IP()))
	}
	go t.every(ctx, func(ctx context.Context) { c.readAPI(ctx, t) })
	return t
}

func (*timeline) every(ctx context.Context, f func(context.Context)) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// prober returns a function that asks the process of a node.
func (c *cluster) prober(t *timeline, name, ip string) func(context.Context) {
	var client *http.Client
	return func(ctx context.Context) {
		var err error
		if client == nil {
			if client, err = operandprobe.Client(ctx, c.kube, c.RESTConfig()); err != nil {
				return // the operator has not published its CA yet
			}
		}
		leads, err := operandprobe.Leads(ctx, client, ip)
		t.answered(time.Now(), name, err == nil, leads)
	}
}

// answered records the answer of a node's process.
func (t *timeline) answered(at time.Time, node string, serves, leads bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.serving[node], t.leading[node] = serves, leads
	now := sample{at: at, serving: trueKeys(t.serving), leading: trueKeys(t.leading)}
	if n := len(t.samples); n == 0 || !slices.Equal(t.samples[n-1].serving, now.serving) ||
		!slices.Equal(t.samples[n-1].leading, now.leading) {
		t.samples = append(t.samples, now)
	}
	text := "does not serve"
	switch {
	case leads:
		text = "leads"
	case serves:
		text = "serves"
	}
	t.changed(at, node+" process", text)
}

func trueKeys(m map[string]bool) []string {
	var keys []string
	for key, value := range m {
		if value {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// changed records a text that differs from the subject's last one. The caller holds the lock.
func (t *timeline) changed(at time.Time, subject, text string) {
	if t.last[subject] != text {
		t.last[subject] = text
		t.events = append(t.events, event{at, subject, text})
	}
}

// readAPI records changes of revisions, pods, Nodes and the lease. An API server that does not answer is left out.
func (c *cluster) readAPI(ctx context.Context, t *timeline) {
	found := map[string]string{}
	if state, err := c.reader.Read(ctx); err == nil {
		found["revision"] = fmt.Sprintf("%d is the latest", state.Latest)
		for _, node := range state.Nodes {
			found[node.Name+" revision"] = fmt.Sprintf("%d, to %d", node.Current, node.Target)
			found[node.Name+" Node"] = map[bool]string{true: "Ready", false: "NotReady"}[node.Ready]
			found[node.Name+" taint"] = map[bool]string{true: "uninitialized", false: "initialized"}[node.Uninitialized]
		}
	}
	if _, err := findOperator(); err == nil {
		found["operator process"] = "runs"
	}
	if pods, err := c.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range pods.Items {
			found[podSubject(&pods.Items[i])] = podText(&pods.Items[i])
		}
	}
	if lease, err := c.kube.CoordinationV1().Leases(targetNamespace).Get(ctx, "cloud-controller-manager",
		metav1.GetOptions{}); err == nil {
		holder, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
		found["lease"] = fmt.Sprintf("held by %q, transition %d", holder, ptr.Deref(lease.Spec.LeaseTransitions, 0))
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for subject, text := range found {
		t.changed(time.Now(), subject, text)
	}
}

func podSubject(pod *corev1.Pod) string {
	what, _, _ := strings.Cut(strings.TrimSuffix(pod.Name, "-"+pod.Spec.NodeName), "-"+pod.Spec.NodeName)
	return pod.Spec.NodeName + " pod " + what
}

func podText(pod *corev1.Pod) string {
	ready := ""
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			ready = ", Ready"
		}
	}
	if revision := pod.Labels["revision"]; revision != "" {
		ready += ", revision " + revision
	}
	return string(pod.Status.Phase) + ready
}

// since returns the samples from a moment on, beginning with the state at that moment.
func (t *timeline) since(begin time.Time) []sample {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	i := len(t.samples)
	for i > 0 && t.samples[i-1].at.After(begin) {
		i--
	}
	samples := slices.Clone(t.samples[i:])
	if i > 0 {
		state := t.samples[i-1]
		state.at = begin
		samples = slices.Insert(samples, 0, state)
	}
	return samples
}

// leaderless returns how long no process led from the first sample to the end.
func leaderless(samples []sample, end time.Time) time.Duration {
	total := time.Duration(0)
	for i, s := range samples {
		until := end
		if i+1 < len(samples) {
			until = samples[i+1].at
		}
		if len(s.leading) == 0 {
			total += until.Sub(s.at)
		}
	}
	return total
}

// extremes returns the least number of processes that served at once, and the most that led at once.
func extremes(samples []sample) (serving, leading int) {
	serving = realNodes
	for _, s := range samples {
		serving, leading = min(serving, len(s.serving)), max(leading, len(s.leading))
	}
	return serving, leading
}

// leads reports whether a process leads now that is not on the node.
func (t *timeline) leads(except string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for node, leading := range t.leading {
		if leading && node != except {
			return true
		}
	}
	return false
}

// first returns when a subject with the suffix first had the text after begin.
func (t *timeline) first(begin time.Time, suffix, text string) (time.Time, bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, e := range t.events {
		if e.at.After(begin) && strings.HasSuffix(e.subject, suffix) && e.text == text {
			return e.at, true
		}
	}
	return time.Time{}, false
}

// print writes the events since begin, with the seconds since then.
func (t *timeline) print(out io.Writer, title string, begin time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	fmt.Fprintf(out, "\n%s:\n\n", title)
	for _, e := range t.events {
		if e.at.After(begin) {
			fmt.Fprintf(out, "    T+%5.1f  %-48s %s\n", e.at.Sub(begin).Seconds(), e.subject, e.text)
		}
	}
	fmt.Fprintln(out)
}
