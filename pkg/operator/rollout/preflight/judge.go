package preflight

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// settlePeriod is how long the process must lead its own lease. If its provider cannot be built, or its controllers
	// cannot start, it ends within a second of the acquisition.
	settlePeriod = 5 * time.Second

	// unseenPeriod is how long it must have led at the last renewal if the log, which has the look-ups, cannot be read.
	unseenPeriod = 20 * time.Second

	// lookupTimeout is how long a process may take to lead and look up its nodes. A hang is reported within a minute.
	lookupTimeout = 45 * time.Second

	// nodeLookupTimeout is how much longer it may take for each Node of the cluster, and maxLookupTimeout for all: a round
	// of look-ups tells its result only at its end, and asks a cloud four times for each Node.
	nodeLookupTimeout = 600 * time.Millisecond
	maxLookupTimeout  = 10 * time.Minute

	// podStartTimeout is how long the pod may take to start, and pullTimeout how long the pull of its image may take.
	podStartTimeout = 2 * time.Minute
	pullTimeout     = 10 * time.Minute

	// probePeriod is the least time in which the kubelet ends a process that hangs.
	probePeriod = 40 * time.Second

	// maxFailedLookups failed look-ups suffice, however many nodes there are, because only a part of the log is read.
	maxFailedLookups = 100
)

// ofAPIServer are messages of a process that did not reach a ready API server: the first two of
// app/controllermanager.go in k8s.io/cloud-provider, the others of etcd and the API server.
var ofAPIServer = []string{
	"leaderelection lost", "ailed to wait for apiserver being healthy", "etcdserver: ", "http2: client connection lost",
	"the server is currently unable to handle the request", "the server was unable to return a response in the time",
}

// The classes that nodecause does not have.
const (
	crash      = "Crash"
	hang       = "Hang"
	notStarted = "NotStarted"
	killed     = "Killed"
)

// transient are the classes that the cloud may cause instead of the candidate.
var transient = []nodecause.Class{
	nodecause.NoAnswer, nodecause.Unreachable, nodecause.Unavailable, nodecause.Throttled, nodecause.QuotaExceeded,
}

// ofOneNode are the classes that tell nothing about the other Nodes.
var ofOneNode = []nodecause.Class{
	nodecause.UnknownMachine, nodecause.Ambiguous, nodecause.AddressMismatch, nodecause.NoAddress, nodecause.NoZone,
	nodecause.NoProviderID, nodecause.Other,
}

// unpulled are the kubelet's reasons for an image that it could not pull (pkg/kubelet/images/types.go). The kubelet
// retries later, and so does a repeated preflight.
var unpulled = []string{"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}

// compare notes that the last look-ups of the leader, which has the former inputs, fail like the preflight. Tenants can
// write lines of the leader's log, so they only change when the preflight is repeated, never its result.
func compare(v *trial.Verdict, leader nodecause.Lookups) *trial.Verdict {
	compared, all := *v, leader.Ended && leader.Nodes > 0 && leader.Failed >= leader.Nodes
	if v.Result == trial.Failed && all && nodecause.ClassOf(leader.Error).String() == v.Class {
		compared.LeaderRejected = true
		compared.Message += "; the running one fails too"
	}
	return &compared
}

// rejectsLogin reports whether, by the leader's log, the cloud rejects its login: in the last attempt, or last round.
func rejectsLogin(log string) bool {
	for _, attempt := range nodecause.Attempts(log) {
		if nodecause.ClassOf(attempt.Error) == nodecause.Unauthenticated {
			return true
		}
	}
	last := nodecause.LastLookups(log)
	return last.Ended && last.Nodes > 0 && last.Failed >= last.Nodes &&
		nodecause.ClassOf(last.Error) == nodecause.Unauthenticated
}

// evidence is what is known about a preflight.
type evidence struct {
	now time.Time
	pod *corev1.Pod
	// since is when this process of the operator first saw the pod, startedAt the container run, and ledAt the lease held,
	// zero if it has not: the clocks of the nodes differ.
	since, startedAt, ledAt time.Time
	// heldFor is how long the process had held the lease at its last renewal, by the clock of its node, and holder another
	// process that holds the lease.
	heldFor time.Duration
	holder  string
	// nodes is how many Nodes there are, 0 until lookupTimeout is over.
	nodes int
	// changesImage is whether the candidate changes the image.
	changesImage bool
	// log is the end of the container's log, without secrets, and unread why it was not read.
	log, unread string
}

// judge returns the verdict, nil if there is none yet, and what the preflight waits for.
func (e *evidence) judge() (verdict *trial.Verdict, waitsFor string) {
	status := controlplane.ContainerStatus(e.pod)
	switch {
	case status.State.Terminated != nil && e.pod.Status.Reason == "":
		return e.ended(status.State.Terminated), ""
	case controlplane.HasEnded(e.pod):
		return e.verdict(trial.Inconclusive, notStarted, "the kubelet ended pod/%s: %s", e.pod.Name,
			terminationmessage.Cut(e.pod.Status.Reason+" "+e.pod.Status.Message)), ""
	case status.State.Running == nil:
		return e.starting(status)
	}
	return e.running()
}

func (e *evidence) starting(status corev1.ContainerStatus) (*trial.Verdict, string) {
	waitsFor := fmt.Sprintf("the start of pod/%s on node/%s", e.pod.Name, e.pod.Spec.NodeName)
	waiting := ptr.Deref(status.State.Waiting, corev1.ContainerStateWaiting{})
	if waiting.Message != "" {
		reason := terminationmessage.Cut(waiting.Reason)
		waitsFor += fmt.Sprintf(" (%s: %s)", reason, terminationmessage.Summary(waiting.Message))
	}
	limit := podStartTimeout
	if slices.ContainsFunc(e.pod.Status.Conditions, hasSandbox) {
		limit = pullTimeout
	}
	switch {
	case slices.Contains(unpulled, waiting.Reason):
		result := trial.Inconclusive // The running one could pull it.
		if e.changesImage {
			result = trial.Failed
		}
		return e.verdict(result, trial.ImageNotPulled, "it waits for %s; correct the image, or check its "+
			"registry", waitsFor), ""
	case e.now.Sub(e.since) < limit:
		return nil, waitsFor
	}
	return e.verdict(trial.Inconclusive, notStarted, "it waits for %s; check the image and the node", waitsFor), ""
}

// hasSandbox is the condition of a pod that lacks only its containers, whose images are pulled (KEP-3085).
func hasSandbox(c corev1.PodCondition) bool {
	return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
}

func (e *evidence) running() (verdict *trial.Verdict, waitsFor string) {
	lookups := nodecause.FirstLookups(e.log)
	if start := nodecause.StartOf(e.log); start.Skipped && !e.provenByStart() {
		why := cmp.Or(start.Why, "it leads without the controller of nodes")
		lookups = nodecause.Lookups{Ended: true, Nodes: 1, Failed: 1, Error: why} // It will look up no node.
	}
	led := time.Duration(0)
	if !e.ledAt.IsZero() {
		led = e.now.Sub(e.ledAt)
	}
	if verdict := e.lookedUp(lookups, led); verdict != nil {
		return verdict, ""
	}
	switch {
	case e.unread != "" && e.heldFor >= unseenPeriod:
		return e.verdict(trial.Successful, "", "it led for %s; its log was not read: %s", unseenPeriod, e.unread), ""
	case e.now.Sub(e.startedAt) < e.lookupLimit():
		return nil, "its look-up of the nodes"
	case e.isKeptFromLeading():
		return e.verdict(trial.Inconclusive, notStarted, "it did not lead: %q holds lease/%s in %s, the "+
			"process of a former preflight that its kubelet has not ended; check the kubelet of that node", e.holder,
			operand.PreflightName, operand.Namespace), ""
	case e.unread != "":
		// Its machine may have ended, which the pod's status does not show.
		return e.verdict(trial.Inconclusive, notStarted, "it led for %s, and its log was not read: %s; check "+
			"the kubelet of node/%s", e.heldFor.Round(time.Second), e.unread, e.pod.Spec.NodeName), ""
	}
	return e.overdue(led), ""
}

// lookupLimit returns how long the process may run without a result. One that has begun to look up nodes, and has
// logged no error that concerns more than one Node, may have many to look up.
func (e *evidence) lookupLimit() time.Duration {
	hasBegun := !e.ledAt.IsZero() && nodecause.StartOf(e.log).Started
	if !hasBegun || !slices.Contains(ofOneNode, nodecause.ClassOf(errorOf(e.log))) {
		return lookupTimeout
	}
	return lookupTimeout + min(time.Duration(e.nodes)*nodeLookupTimeout, maxLookupTimeout)
}

// isKeptFromLeading reports whether another process holds the lease, and nothing else is known that keeps this one from
// it. A kubelet that hangs ends no process, also if the pod was deleted without it.
func (e *evidence) isKeptFromLeading() bool {
	hasLogged := e.unread != "" || e.log != ""
	return e.holder != "" && hasLogged && nodecause.ClassOf(errorOf(e.log)) == nodecause.Other
}

// overdue judges a process that runs, and so has not crashed, but has looked up no node for lookupTimeout.
func (e *evidence) overdue(led time.Duration) *trial.Verdict {
	text := errorOf(e.log)
	switch {
	case e.log == "":
		return e.verdict(trial.Failed, hang, "within %s, it logged nothing; correct what was changed", lookupTimeout)
	case nodecause.ClassOf(text) != nodecause.Other:
		return e.failed(text)
	case e.provenByStart() && led >= settlePeriod && !nodecause.AsksAzure(e.log):
		// The process does not wait for the cloud.
		return e.verdict(trial.Failed, nodecause.NoNodeController.String(), "within %s, it led, and its "+
			"controller of nodes did not begin; correct what was changed", lookupTimeout)
	}
	said := "logged no error"
	if text != "" {
		said = fmt.Sprintf("logged %q last", terminationmessage.Cut(text))
	}
	return e.verdict(trial.Inconclusive, nodecause.NoAnswer.String(), "within %s, it looked up no node and "+
		"%s; %s", e.lookupLimit(), said, nodecause.NoAnswer.Action())
}

func (e *evidence) provenByStart() bool {
	return e.pod.Annotations[operand.PreflightProofAnnotation] == operand.ProvenByStart
}

// lookedUp judges a process by its first round of look-ups, nil if that does not suffice yet.
func (e *evidence) lookedUp(lookups nodecause.Lookups, led time.Duration) *trial.Verdict {
	switch {
	case !lookups.Ended:
		return nil
	case lookups.Nodes > 0 && lookups.Failed >= min(lookups.Nodes, maxFailedLookups):
		return e.lookupsFailed(lookups)
	case led < settlePeriod:
		return nil
	case e.provenByStart():
		return e.verdict(trial.Successful, "", "its start has read from the cloud, and it led; it looks up no node")
	case lookups.Nodes == 0:
		return e.verdict(trial.Inconclusive, notStarted, "it led, and looked up no node, because each waits to be "+
			"initialized")
	default:
		return e.verdict(trial.Successful, "", "it led and looked up %d of %d nodes",
			lookups.Nodes-lookups.Failed, lookups.Nodes)
	}
}

func (e *evidence) lookupsFailed(lookups nodecause.Lookups) *trial.Verdict {
	verdict := e.failed(terminationmessage.Reason(lookups.Error))
	if lookups.Failed < lookups.Nodes {
		verdict.Result = trial.Inconclusive // Some may have succeeded.
	}
	return verdict
}

func (e *evidence) ended(end *corev1.ContainerStateTerminated) *trial.Verdict {
	own := operandlog.OfRun(end, e.log)
	last := terminationmessage.Reason(evident(own))
	if nodecause.ClassOf(last) == nodecause.Other {
		last = cmp.Or(usageError(e.log), last)
	}
	if slices.ContainsFunc(ofAPIServer, func(words string) bool { return strings.Contains(last, words) }) {
		return e.verdict(trial.Inconclusive, notStarted, "it did not reach the API server, or that was not "+
			"ready: %q; check the API server", terminationmessage.Cut(last))
	}
	text := errorOf(own)
	if nodecause.ClassOf(text) == nodecause.Other {
		text = last
	}
	reason := terminationmessage.Cut(end.Reason)
	if text == "" {
		text = fmt.Sprintf("it ended with exit code %d and reason %q, without a message", end.ExitCode, reason)
	}
	verdict := e.failed(text)
	if controlplane.Signal(end) == 0 && end.Reason != "OOMKilled" && !controlplane.IsLost(end) {
		return verdict
	}
	verdict.Result = trial.Inconclusive
	if verdict.Class == crash { // Its last words are unrelated.
		verdict.Message = fmt.Sprintf("it ended with exit code %d and reason %q; find what ended it: its kubelet by a "+
			"probe, the kernel without memory, or a person", end.ExitCode, reason)
	}
	return verdict
}

// failed returns the verdict about an error, by the uncut text: the quoted part may lack the words of its class.
func (e *evidence) failed(text string) *trial.Verdict {
	class := nodecause.ClassOf(text)
	cause, action := class.Explain(text)
	text = terminationmessage.Cut(text)
	if class == nodecause.Other {
		return e.verdict(trial.Failed, crash, "it failed: %q; correct what was changed", text)
	}
	result := trial.Failed
	if slices.Contains(transient, class) {
		result = trial.Inconclusive
	}
	return e.verdict(result, class.String(), "%s: %q; %s", cause, text, action)
}

func (e *evidence) verdict(result trial.Result, class, format string, args ...any) *trial.Verdict {
	v := &trial.Verdict{Result: result, Class: class, Message: fmt.Sprintf(format, args...), Node: e.pod.Spec.NodeName}
	v.Ended.Time, v.Took.Duration = e.now, e.now.Sub(e.since)
	return v
}

// errorOf returns why the process of a log failed: the last error of a known class, or else what terminationmessage
// selects. A provider often logs its cloud's answer, and ends with an error without it.
func errorOf(log string) string {
	log = evident(log)
	reason := terminationmessage.Reason(log)
	if nodecause.ClassOf(reason) != nodecause.Other {
		return reason
	}
	for _, line := range slices.Backward(strings.SplitAfter(log, "\n")) {
		header, _, _ := operandlog.CutHeader(line)
		isError := header.Severity == "E" || header.Severity == "W"
		if isError && nodecause.ClassOf(strings.TrimSpace(line)) != nodecause.Other {
			return terminationmessage.Reason(line)
		}
	}
	return reason
}

// aboutService matches lines about a Service or an Event: of service/controller.go in k8s.io/cloud-provider, of the
// providers' files for load balancers, and of client-go's recorders. They quote names, annotations and messages that
// tenants have chosen.
var aboutService = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[IWE][^\]]* (?:event\w*|service_controller|\w*load_?balancer\w*)\.go:\d+\]|` +
		`^[IWE].*\b(?:error processing|failed to update load balancer hosts for|` +
		`failed to check if load balancer exists for) service `)
})

// evident returns a log without the messages that do not tell why a process failed: those about Services, and what the
// API server denied to a preflight, whose identity has other rights than the operand's. Their headers stay, because
// what follows without a header belongs to them.
func evident(log string) string {
	lines := strings.SplitAfter(log, "\n")
	for i, line := range lines {
		isDenied := strings.Contains(line, "system:serviceaccount:"+operand.Namespace+":"+operand.PreflightName)
		if !isDenied && !aboutService().MatchString(line) {
			continue
		}
		lines[i] = ""
		if _, message, ok := operandlog.CutHeader(line); ok {
			lines[i] = strings.TrimSuffix(line, message) + "\n"
		}
	}
	return strings.Join(lines, "")
}

// usageError returns the error that a program prints before its usage, "" if there is none. Some
// cloud-controller-managers print it only there, and their usage is longer than a termination message. Such a line
// before a logged one is part of a value.
func usageError(log string) (found string) {
	for line := range strings.Lines(log) {
		if _, _, isLogged := operandlog.CutHeader(line); isLogged {
			found = ""
		} else if found == "" && strings.HasPrefix(line, "Error: ") {
			found = terminationmessage.Reason(line)
		}
	}
	return found
}

// leads reports whether the pod holds the preflights' lease. An older process on another node may have taken it again.
func leads(lease *coordinationv1.Lease, pod *corev1.Pod) bool {
	running := controlplane.ContainerStatus(pod).State.Running
	if running == nil || lease == nil || lease.Spec.AcquireTime == nil ||
		leaseholder.Node(lease, []string{pod.Spec.NodeName}) == "" {
		return false
	}
	// Both times are from the node's clock. The API truncates the container's to a second.
	return !lease.Spec.AcquireTime.Time.Before(running.StartedAt.Time)
}
