package report

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/cert"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Node is a control-plane node.
type Node struct {
	Name string `json:"name"`
	// Revision is the running revision, and Installing the one that is being installed; 0 means none.
	Revision   int32 `json:"revision"`
	Installing int32 `json:"installing,omitempty"`
	// Failed is the last revision that could not be installed, and Failure the reason.
	Failed  int32  `json:"failedRevision,omitempty"`
	Failure string `json:"failure,omitempty"`
	// Kubelet is Ready, NotReady, silent, missing if there is no Node, or unknown.
	Kubelet string `json:"kubelet"`
	// CCM is Ready, what its container waits for, why its pod failed, such as Evicted, "-" if there is no static pod, or
	// unknown.
	CCM   string `json:"cloudControllerManager"`
	Leads bool   `json:"leads"`
	// LeadsSince is by the clock of the node.
	LeadsSince  time.Time   `json:"leadsSince,omitzero"`
	Credentials Credentials `json:"credentials,omitzero"`
}

// Credentials are the credentials that a node uses.
type Credentials struct {
	// SinceRevision is the first revision with this content, and Created its time.
	SinceRevision int       `json:"sinceRevision,omitempty"`
	Created       time.Time `json:"created,omitzero"`
	// Outdated means that a later revision has other credentials.
	Outdated bool `json:"outdated,omitempty"`
}

func nodes(s *snapshot.Snapshot) []*corev1.Node { return snapshot.List[corev1.Node](s, "") }

func podsOf(s *snapshot.Snapshot) []*corev1.Pod {
	return snapshot.List[corev1.Pod](s, operand.Namespace)
}

func infrastructure(s *snapshot.Snapshot) configv1.InfrastructureStatus {
	return cmp.Or(snapshot.Get[configv1.Infrastructure](s, "", operatorclient.Instance), &configv1.Infrastructure{}).Status
}

func staticPods(s *snapshot.Snapshot) []*corev1.Pod {
	return slices.DeleteFunc(podsOf(s), func(p *corev1.Pod) bool { return !controlplane.IsOperand(p) })
}

func podOn(node string, pods []*corev1.Pod) *corev1.Pod {
	if i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == node }); i >= 0 {
		return pods[i]
	}
	return nil
}

// leaderOf returns the holder of the operand's lease. A single snapshot cannot distinguish a silent holder from one
// that renews, so the holder counts until its lease expires.
func leaderOf(s *snapshot.Snapshot) controlplane.Holder {
	seen := controlplane.Lease{}
	if lease := snapshot.Get[coordinationv1.Lease](s, operand.Namespace, operand.Lease); lease != nil {
		seen.See(lease, s.Taken)
	}
	view := controlplane.NewView(controlplane.State{
		Now: s.Taken, Record: seen.Record(), Topology: infrastructure(s).ControlPlaneTopology,
		Pods: podsOf(s),
	})
	return view.Holder()
}

// controlPlane reports the control-plane nodes: those of the status, and other Nodes with the label.
func (s *Status) controlPlane(shot *snapshot.Snapshot, operator *ccmv1.CloudControllerManager) {
	pods, leader := staticPods(shot), leaderOf(shot)
	s.Images = images(pods)
	byName := map[string]*corev1.Node{}
	names := []string{}
	for _, node := range nodes(shot) {
		byName[node.Name] = node
		if _, is := node.Labels[operatorclient.MasterLabel]; is {
			names = append(names, node.Name)
		}
	}
	statuses := map[string]operatorv1.NodeStatus{}
	for _, status := range operator.Status.NodeStatuses {
		statuses[status.NodeName] = status
		names = append(names, status.NodeName)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		node := Node{
			Name: name, Revision: statuses[name].CurrentRevision, Installing: statuses[name].TargetRevision,
			Failed: statuses[name].LastFailedRevision, Kubelet: orUnknown(shot, allNodes, "missing"),
			CCM: orUnknown(shot, operandPods, none),
		}
		if byName[name] != nil {
			node.Kubelet = kubelet(byName[name])
		}
		if errors := statuses[name].LastFailedRevisionErrors; len(errors) > 0 {
			node.Failure = errors[len(errors)-1]
		}
		if pod := podOn(name, pods); pod != nil {
			node.CCM = stateOf(pod)
		}
		if leader.Node == name && (leader.State.Runs() || leader.State == controlplane.Predecessor) {
			node.Leads, node.LeadsSince = true, leader.Acquired.UTC()
		}
		node.Credentials = credentialsOf(shot, node.Revision, s.Revision)
		s.Nodes = append(s.Nodes, node)
	}
	if !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Leads }) {
		s.Leader = cmp.Or(unknownLeader(shot), noLeader(leader, conditionOf(operator, operatorclient.AvailableCondition)))
	}
}

// What Missing reports if nodes, pods or the leader are unknown.
const (
	allNodes     = "nodes"
	operandPods  = "pods in " + operand.Namespace
	operandLease = "lease/" + operand.Lease + " in " + operand.Namespace
)

// unknown is the state of what could not be read.
const unknown = "unknown"

// orUnknown returns the state of what the snapshot does not have.
func orUnknown(s *snapshot.Snapshot, what, absent string) string {
	if s.Missing(what) != "" {
		return unknown
	}
	return absent
}

// unknownLeader returns why it is not known who leads, "" if it is.
func unknownLeader(s *snapshot.Snapshot) string {
	return cmp.Or(s.Missing(operandLease), s.Missing(operandPods))
}

func images(pods []*corev1.Pod) []string {
	found := sets.New[string]()
	for _, p := range pods {
		found.Insert(controlplane.ContainerStatus(p).Image)
	}
	return sets.List(found.Delete(""))
}

func kubelet(node *corev1.Node) string {
	return map[controlplane.Kubelet]string{
		controlplane.KubeletReady: "Ready", controlplane.KubeletNotReady: "NotReady", controlplane.KubeletSilent: "silent",
	}[controlplane.KubeletOf(node)]
}

func stateOf(pod *corev1.Pod) string {
	state := controlplane.ContainerStatus(pod).State
	switch {
	case controlplane.IsReady(pod):
		return "Ready"
	case pod.Status.Phase == corev1.PodFailed: // Evicted, or not admitted, and not started again
		return cmp.Or(pod.Status.Reason, "failed")
	case state.Waiting != nil:
		return cmp.Or(state.Waiting.Reason, "waiting")
	case state.Terminated != nil:
		return fmt.Sprintf("exited %d", state.Terminated.ExitCode)
	default:
		return "NotReady"
	}
}

// noLeader returns why no process leads: the message of Available, unless that is from a time when one led.
func noLeader(leader controlplane.Holder, available Condition) string {
	if available.Reason == "AsExpected" || available.Message == "" {
		return fmt.Sprintf("the state of lease/%s in %s is %s, its holder %q", operand.Lease, operand.Namespace,
			leader.State, leader.Identity)
	}
	return available.Message
}

func credentialsOf(s *snapshot.Snapshot, revision, latest int32) Credentials {
	since, known := sinceRevision(s, revision)
	if !known {
		return Credentials{}
	}
	first := kept(s, fmt.Sprintf("%s-%d", operand.CloudCredentialsSecret, since))
	newest, known := sinceRevision(s, latest)
	return Credentials{
		SinceRevision: since, Created: first.CreationTimestamp.UTC(), Outdated: known && newest != since,
	}
}

func sinceRevision(s *snapshot.Snapshot, revision int32) (since int, known bool) {
	secret := kept(s, fmt.Sprintf("%s-%d", operand.CloudCredentialsSecret, revision))
	since, err := strconv.Atoi(secret.Annotations[snapshot.VersionAnnotation])
	return since, err == nil
}

// kept returns what is kept of a Secret, empty if it does not exist.
func kept(s *snapshot.Snapshot, name string) *corev1.Secret {
	return cmp.Or(snapshot.Get[corev1.Secret](s, operand.Namespace, name), &corev1.Secret{})
}

// Input is an input that an administrator or another operator writes.
type Input struct {
	Name string `json:"name"`
	// Source is the object to edit.
	Source string `json:"source"`
	// Rejected means that the present content is not used.
	Rejected bool `json:"rejected"`
	// Since is when the content in use was accepted, if known, or when the present content was rejected.
	Since   time.Time `json:"since,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	// Code is the stable code of the reason.
	Code string `json:"code,omitempty"`
}

const rejected = "rejected"

// state returns why the present content is not used, by the reasons of package targetconfigcontroller.
func (i Input) state() string {
	return cmp.Or(map[string]string{"LeftOut": "left out", "Unjudged": "not checked"}[i.Reason], rejected)
}

// Expiry is when a token or certificate expires.
type Expiry struct {
	What   string    `json:"what"`
	Object string    `json:"object"`
	At     time.Time `json:"at"`
}

// inputCauses are the causes whose conditions are shown with the inputs, in their order.
var inputCauses = []diagnostic.Cause{diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA}

func isInput(conditionType string) bool {
	return slices.ContainsFunc(inputCauses, func(c diagnostic.Cause) bool { return string(c)+"Degraded" == conditionType })
}

const none = "-"

// nothing is a Reader without objects: Gather then returns only the names of the sources.
type nothing struct{}

func (nothing) ConfigMap(string, string) (*corev1.ConfigMap, error) { return nil, nil }
func (nothing) Secret(string, string) (*corev1.Secret, error)       { return nil, nil }
func (nothing) Name(object string) string                           { return object }

func inputsOf(
	s *snapshot.Snapshot, config *operandconfig.Config, p platform.Platform, operator *ccmv1.CloudControllerManager,
) []Input {
	gathered, err := inputs.Gather(nothing{}, config, p)
	if err != nil {
		return nil
	}
	accepted := inputs.SummariesOf(kept(s, operand.AcceptedInputsSecret), p.Name)
	trust := none
	if len(gathered.Trust) > 0 {
		trust = gathered.Trust[0].Source
	}
	var found []Input
	for i, input := range []struct {
		name, source string
		accepted     *inputs.Summary
	}{
		{"cloud config", gathered.CloudConfig.Source, accepted.CloudConfig},
		{"credentials", cmp.Or(gathered.Credentials.Source, none), accepted.Credentials},
		{"trusted CA", trust, accepted.TrustedCA},
	} {
		in := Input{Name: input.name, Source: input.source}
		condition := conditionOf(operator, string(inputCauses[i])+"Degraded")
		switch {
		case condition.Status == string(operatorv1.ConditionTrue):
			in.Rejected, in.Since = true, condition.Since
			in.Reason, in.Message, in.Code = condition.Reason, condition.Message, condition.Code
		case input.source == none:
		case input.accepted != nil:
			in.Since = input.accepted.Since.UTC()
		}
		found = append(found, in)
	}
	return found
}

func expiriesOf(s *snapshot.Snapshot) []Expiry {
	var found []Expiry
	for _, from := range []struct{ name, what string }{
		{operand.KubeTokenSecret, "token for the API server"}, {operand.CloudTokensSecret, "token for the cloud"},
	} {
		records := tokens.RecordsOf(kept(s, from.name))
		for _, key := range slices.Sorted(maps.Keys(records)) {
			if at, err := time.Parse(time.RFC3339, records[key].ExpiresAt); err == nil {
				found = append(found, Expiry{from.what, fmt.Sprintf("secret/%s, key %s", from.name, key), at.UTC()})
			}
		}
	}
	if at := servingcert.Expiry(kept(s, operand.ServingCertSecret)); !at.IsZero() {
		found = append(found, Expiry{"serving certificate", "secret/" + operand.ServingCertSecret, at.UTC()})
	}
	bundle := cmp.Or(snapshot.Get[corev1.ConfigMap](s, operand.Namespace, operand.ServingCAConfigMap),
		&corev1.ConfigMap{})
	if signers, err := cert.ParseCertsPEM([]byte(bundle.Data["ca-bundle.crt"])); err == nil {
		last := slices.MaxFunc(signers, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		found = append(found, Expiry{"its signer", "configmap/" + operand.ServingCAConfigMap, last.NotAfter.UTC()})
	}
	slices.SortStableFunc(found, func(a, b Expiry) int { return a.At.Compare(b.At) })
	return found
}
