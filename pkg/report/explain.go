package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/condition"
	corev1 "k8s.io/api/core/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/codes"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/staticpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Explanation walks the objects on which something depends, one after the other, and ends in one cause and one action.
// Its JSON is an API: fields may be added, but none may change.
type Explanation struct {
	// Taken is the time of the snapshot.
	Taken time.Time `json:"taken"`
	Steps []Step    `json:"steps"`
	// Cause is why something waits, and Action what to do about it. Both are empty if nothing waits.
	Cause  string `json:"cause,omitempty"`
	Action string `json:"action,omitempty"`

	Unread []snapshot.Unread `json:"unread,omitempty"`
}

// Step is an object on the walk. Text describes its state.
type Step struct {
	// OK reports whether the state is as expected.
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

type walk struct {
	*Explanation

	shot     *snapshot.Snapshot
	operator *ccmv1.CloudControllerManager
	platform platform.Platform
	status   *Status
}

// Healthy reports whether nothing waits.
func (e *Explanation) Healthy() bool { return e.Cause == "" }

func (e *Explanation) step(ok bool, format string, args ...any) bool {
	e.Steps = append(e.Steps, Step{ok, fmt.Sprintf(format, args...)})
	return ok
}

func (e *Explanation) either(ok bool, yes, no string) bool {
	if !ok {
		yes = no
	}
	return e.step(ok, "%s", yes)
}

// withCause ends the explanation. The first cause counts.
func (e *Explanation) withCause(cause, action string) *Explanation {
	if e.Cause == "" {
		e.Cause, e.Action = cause, action
	}
	return e
}

// underWay ends the explanation with what the operator does. That does not go on without a process of the operator.
func (e *walk) underWay(cause, action string) *Explanation {
	if problem := e.status.Operator.Problem; problem != "" {
		cause, action = problem, "check the operator's pods: oc get pods -n "+operatorclient.OperatorNamespace
	}
	return e.withCause(cause, action)
}

// unread ends the explanation if why says that something could not be read.
func (e *walk) unread(why, object, what, command string) bool {
	if why != "" {
		e.step(false, "%s is %s", object, why)
		e.withCause(what+" could not be read", "read "+command)
	}
	return why != ""
}

// LeadingPod returns the pod whose log explains why a Node waits, "" if no process of the operand leads.
func LeadingPod(s *snapshot.Snapshot) string {
	leader := leaderOf(s)
	if pod := podOn(leader.Node, staticPods(s)); pod != nil && leader.State.Runs() {
		return pod.Name
	}
	return ""
}

// condition ends the explanation with the message of a condition and the action of its code. If that action is only to
// run this command, the action is in the message.
func (e *Explanation) condition(c Condition) *Explanation {
	where := fmt.Sprintf("(condition %s, reason %s)", c.Type, reasonAndCode(c.Reason))
	code, found := codes.Find(c.Code)
	if found && !strings.HasPrefix(code.Do, "run explain") {
		return e.withCause(c.Message, code.Do+" "+where)
	}
	if cause, action := cut(c.Message); action != "" {
		return e.withCause(cause, action+" "+where)
	}
	return e.withCause(c.Message, "do what the cause names "+where)
}

// WriteText writes the explanation as text.
func (e *Explanation) WriteText(out io.Writer, color bool) error {
	t := &text{color: color}
	for _, step := range e.Steps {
		mark, of := "✓ ", green
		if !step.OK {
			mark, of = "✗ ", red
		}
		if t.color {
			t.out.WriteString(of)
			mark += plain
		}
		t.wrapped(mark, "  ", step.Text)
	}
	t.out.WriteByte('\n')
	if e.Healthy() {
		t.wrapped("", "", "nothing waits")
	} else {
		t.advice("cause:  ", "        ", e.Cause)
		t.advice("action: ", "        ", e.Action)
	}
	t.unread(e.Unread)
	_, err := out.Write(t.out.Bytes())
	return err //nolint:wrapcheck // The caller says what could not be written.
}

// begin starts an explanation, with a step if the operator does not run, because its conditions are then old. It
// returns an error without the operator's resource.
func begin(s *snapshot.Snapshot) (*walk, error) {
	status, err := StatusOf(s)
	if err != nil {
		return nil, err
	}
	operator := snapshot.Get[ccmv1.CloudControllerManager](s, "", operatorclient.Instance)
	e := &walk{&Explanation{Taken: status.Taken, Unread: s.Unread}, s, operator, platform.Platform{}, status}
	_, e.platform = observedConfig(e.operator)
	if status.Operator.Problem != "" {
		e.step(false, "%s: its conditions are of %s at the latest", status.Operator.Problem,
			stamp(status.Operator.LastStatus))
	}
	return e, nil
}

// unmanaged ends the explanation if this operator runs no cloud-controller-manager: during and after a removal with the
// condition's message, on an unmanaged platform with the given cause, and if the platform is not known. It reports
// whether it did.
func (e *walk) unmanaged(cause, action string) bool {
	if c, isRemoving := e.firstTrue(observedplatform.RemovingCondition); isRemoving {
		e.step(false, "condition %s since %s, reason %s", c.Type, stamp(c.Since), reasonAndCode(c.Reason))
		if cause, action := cut(c.Message); action != "" {
			e.withCause(cause, action)
		}
		e.underWay(c.Message, "wait: status --wait")
		return true
	}
	switch {
	case e.platform.Managed():
		return false
	case e.status.Platform == "":
		e.step(false, "no platform is observed")
		e.underWay("the operator has not observed the platform yet", waitOrSee)
	case e.platform.Name == "":
		e.step(false, "platform %q is unknown to this version of the command", e.status.Platform)
		e.withCause("the cluster has another release than this command", "use the command of the cluster's release")
	default:
		e.step(false, "platform %q has no cloud-controller-manager of this operator", e.platform.Name)
		e.withCause(cause, action)
	}
	return true
}

// leads adds the step of the leader, and returns whether there is one. If that is not known, it returns true.
func (e *walk) leads() (controlplane.Holder, bool) {
	leader := leaderOf(e.shot)
	if why := unknownLeader(e.shot); why != "" {
		return leader, e.step(true, "who leads is %s", why)
	}
	if leader.State.Runs() {
		return leader, e.step(true, "pod/%s-%s leads since %s", operand.Name, leader.Node, stamp(leader.Acquired))
	}
	available := conditionOf(e.operator, operatorclient.AvailableCondition)
	return leader, e.step(false, "no cloud-controller-manager of this operator leads: %s", noLeader(leader, available))
}

// kubelet adds the steps of a Node. If the Nodes could not be read, it ends the explanation.
func (e *walk) kubelet(name string) *corev1.Node {
	if node := snapshot.Get[corev1.Node](e.shot, "", name); node != nil {
		e.step(true, "node/%s exists since %s", name, stamp(node.CreationTimestamp.Time))
		e.step(controlplane.KubeletOf(node) == controlplane.KubeletReady, "its kubelet is %s", kubelet(node))
		return node
	}
	if !e.unread(e.shot.Missing(allNodes), "node/"+name, "the Node", "it in the cluster: oc get node "+name) {
		e.step(false, "node/%s does not exist", name)
	}
	return nil
}

func (e *walk) firstTrue(types ...string) (Condition, bool) {
	for _, conditionType := range types {
		if c := conditionOf(e.operator, conditionType); c.Status == string(operatorv1.ConditionTrue) {
			return c, true
		}
	}
	return Condition{}, false
}

func (e *walk) naming(conditionType, object string) (Condition, bool) {
	c, isTrue := e.firstTrue(conditionType)
	return c, isTrue && names(c.Message, object)
}

// names reports whether a text names an object, and not only another one whose name starts with it.
func names(text, object string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(object) + `(?:$|[^a-z0-9.-]|\. )`).MatchString(text)
}

// blockers are the conditions that explain why a rollout does not proceed, the most specific first.
var blockers = []string{
	staticpod.HeldBackCondition,
	staticpod.ImagePullCondition,
	staticpod.InstallerStartCondition,
	condition.NodeInstallerDegradedConditionType,
	condition.InstallerControllerDegradedConditionType,
	condition.StaticPodsDegradedConditionType,
	condition.NodeControllerDegradedConditionType,
	predecessor.ConditionType,
}

// ExplainRollout explains the state of the rollout of the latest revision.
func ExplainRollout(s *snapshot.Snapshot) (*Explanation, error) {
	e, err := begin(s)
	if err != nil {
		return nil, err
	}
	switch removal, isRemoving := e.firstTrue(observedplatform.RemovingCondition); {
	case removal.Reason == string(observedplatform.Removed):
		e.step(true, "%s", removal.Message)
		return e.Explanation, nil
	case isRemoving, e.platform.Name == "":
		e.unmanaged("", "")
		return e.Explanation, nil
	case !e.platform.Managed():
		e.step(true, "platform %q has no cloud-controller-manager of this operator", e.platform.Name)
		return e.Explanation, nil
	}
	e.inputs()
	if e.status.Revision == 0 {
		e.step(false, "there is no revision yet")
		e.leftOver()
		return e.blocked("there is no revision yet", waitOrSee), nil
	}
	heldBack, isHeldBack := e.firstTrue(staticpod.HeldBackCondition)
	e.either(!isHeldBack, fmt.Sprintf("the accepted inputs are revision %d", e.status.Revision),
		"the accepted inputs wait to become a revision")
	if isHeldBack {
		return e.condition(heldBack), nil
	}
	behind, down := e.behind()
	if len(behind) == 0 {
		e.leftOver()
		e.unread(e.shot.Missing(operandPods), "whether the cloud-controller-managers are Ready", "the static pods",
			"them in the cluster: oc get pods -n "+operand.Namespace)
		return e.Explanation, nil
	}
	if len(down) == len(behind) {
		return e.withCause("nothing can be installed where the kubelet does not work: "+strings.Join(down, ", "),
			"start the kubelet there, or replace the machine"), nil
	}
	if !slices.ContainsFunc(e.status.Nodes, e.isBehind) {
		return e.blocked(fmt.Sprintf("revision %d is installed, but its cloud-controller-manager is not Ready: %s",
			e.status.Revision, strings.Join(behind, ", ")), waitOrSee), nil
	}
	return e.blocked(fmt.Sprintf("revision %d is being installed, one node at a time: %s",
		e.status.Revision, strings.Join(behind, ", ")), "wait: status --wait"), nil
}

const waitOrSee = "wait; if this lasts, see the problems in: status"

// blocked ends the explanation with the condition that explains the cause, or with the cause.
func (e *walk) blocked(cause, action string) *Explanation {
	if c, isBlocked := e.firstTrue(blockers...); isBlocked {
		return e.condition(c)
	}
	return e.underWay(cause, action)
}

func (e *walk) isBehind(node Node) bool {
	return node.Revision != e.status.Revision || node.Installing != 0
}

func (e *walk) behind() (behind, down []string) {
	for _, node := range e.status.Nodes {
		if e.onNode(node) {
			continue
		}
		behind = append(behind, node.Name)
		if node.Kubelet != "Ready" && node.Kubelet != unknown {
			down = append(down, "node/"+node.Name)
		}
	}
	return behind, down
}

func (e *walk) inputs() {
	for _, input := range e.status.Inputs {
		switch {
		case !input.Rejected:
			e.step(true, "%s: accepted", input.Name)
		case input.state() == rejected:
			e.step(false, "%s: %s is rejected, so it causes no revision: see status", input.Name, input.Source)
		default:
			e.step(false, "%s: %s is %s: see status", input.Name, input.Source, input.state())
		}
	}
}

// heldChanges are the conditions about changes, of something other than an input, that were rejected or wait.
var heldChanges = []string{
	string(diagnostic.Image) + "Degraded", string(diagnostic.Configuration) + "Degraded", "PreflightNotices",
}

// leftOver ends an explanation of a completed rollout: what is rejected or waits was not rolled out.
func (e *walk) leftOver() {
	for _, input := range e.status.Inputs {
		if input.Rejected {
			e.withCause(input.Message, "correct "+input.Source)
			return
		}
	}
	if c, isHeld := e.firstTrue(heldChanges...); isHeld {
		e.condition(c)
	}
}

func (e *walk) onNode(node Node) bool {
	latest, name := e.status.Revision, "node/"+node.Name
	if !e.isBehind(node) {
		if node.CCM == unknown {
			return e.step(true, "%s runs revision %d", name, latest)
		}
		return e.step(node.CCM == "Ready", "%s runs revision %d, its cloud-controller-manager is %s", name, latest, node.CCM)
	}
	text := fmt.Sprintf("%s runs revision %d, its kubelet is %s", name, node.Revision, node.Kubelet)
	if node.Failed != 0 && node.Failed == latest {
		text += fmt.Sprintf(", revision %d failed: %s", node.Failed, node.Failure)
	}
	if pod := installerOf(e.shot, node.Name, cmp.Or(node.Installing, latest)); pod != nil {
		text += fmt.Sprintf(", pod/%s is %s", pod.Name, pod.Status.Phase)
	}
	return e.step(false, "%s", text)
}

func installerOf(s *snapshot.Snapshot, node string, revision int32) *corev1.Pod {
	installers := slices.DeleteFunc(podsOf(s), func(pod *corev1.Pod) bool {
		return !controlplane.Installs(pod, node, revision)
	})
	if len(installers) == 0 {
		return nil
	}
	return slices.MaxFunc(installers, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}
