package preview

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/cert"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/targetconfigcontroller"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// Change is a file of the cloud-controller-manager, or of the cloud-node-manager, that would change.
type Change struct {
	Object string `json:"object"`
	Key    string `json:"key"`
	What   string `json:"what"`
	// Lines are the lines of a diff, without secrets. There are none if no line may be shown.
	Lines []string `json:"lines,omitempty"`
}

func (p *preview) effect(now, next *targetconfigcontroller.DryRunResult, status *report.Status) (Effect, error) {
	effect := Effect{Changes: []Change{}}
	if now.Resources == nil || next.Resources == nil {
		effect.Unknown = true
		p.remarks = append(p.remarks, "what the cloud-controller-manager has instead of a rejected input is not known: "+
			"nothing is compared")
		return effect, nil
	}
	redact, err := redactor(now, next)
	if err != nil {
		return effect, err
	}
	c := &comparison{redact: redact}
	c.objects(now.Resources, next.Resources)
	c.pod(now.Resources.Pod, next.Resources.Pod)
	if now.Resources.Digest != next.Resources.Digest {
		effect.Revision = status.Revision + 1
		proves := trial.MustLead(next.Resources.StartDigests().Changed(now.Resources.StartDigests()))
		effect.Nodes, effect.Leader, effect.Prover = order(status.Nodes, proves)
		if len(c.changes) == 0 {
			c.add("configmap/"+operand.PodConfigMap, "", "is changed", nil)
		}
	}
	effect.NodeManager = c.nodeManager(now.Resources, next.Resources)
	effect.Changes = append(effect.Changes, c.changes...)
	return effect, nil
}

// order returns the nodes in the order of the rollout. With a proof, the lead moves to the first node, and the others
// are equal; otherwise the leader's node is last.
func order(nodes []report.Node, proves bool) (names []string, leader, prover string) {
	for _, node := range nodes {
		if node.Leads {
			leader = node.Name
		}
		names = append(names, node.Name)
	}
	at := slices.Index(names, leader)
	if at < 0 || len(names) == 1 {
		return names, leader, ""
	}
	if !proves {
		return append(slices.Delete(names, at, at+1), leader), leader, ""
	}
	if at == 0 {
		names[0], names[1] = names[1], names[0]
	}
	return names, leader, names[0]
}

func redactor(verdicts ...*targetconfigcontroller.DryRunResult) (*redaction.Redactor, error) {
	var public []string
	var configs [][]byte
	credentials := map[string][]byte{}
	for i, v := range verdicts {
		checked, err := operand.Check(v.Inputs)
		if err != nil {
			return nil, err
		}
		public = append(public, checked.Cloud.Public...)
		configs = append(configs, v.Inputs.CloudConfig.Data)
		configs = slices.AppendSeq(configs, maps.Values(v.Inputs.CloudConfig.Keys))
		for key, data := range v.Inputs.Credentials.Data {
			if _, exists := credentials[key]; exists {
				key = fmt.Sprintf("%s-%d", key, i) // another secret with the same name
			}
			credentials[key] = data
		}
		for _, secret := range v.Resources.Secrets {
			configs = slices.AppendSeq(configs, maps.Values(secret.Data))
		}
	}
	return redaction.New(public, credentials, configs...), nil
}

type comparison struct {
	redact  *redaction.Redactor
	changes []Change
}

func (c *comparison) add(object, key, what string, lines []string) {
	c.changes = append(c.changes, Change{Object: object, Key: key, What: what, Lines: lines})
}

// objects compares the revisioned objects, except for the pod.
func (c *comparison) objects(now, next *operand.Resources) {
	for i, secret := range next.Secrets {
		keys(c, "secret/"+secret.Name, now.Secrets[i].Data, secret.Data)
	}
	for i, configMap := range next.ConfigMaps {
		if configMap.Name != operand.PodConfigMap {
			keys(c, "configmap/"+configMap.Name, now.ConfigMaps[i].Data, configMap.Data)
		}
	}
}

func keys[T string | []byte](c *comparison, object string, now, next map[string]T) {
	all := maps.Clone(next)
	maps.Copy(all, now)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, existed := now[key]
		is, exists := next[key]
		former, latter := []byte(was), []byte(is)
		switch {
		case bytes.Equal(former, latter) && existed == exists:
		case object == "secret/"+operand.CloudCredentialsSecret:
			c.add(object, key, verb(existed, exists)+"; a secret is not shown", nil)
		case strings.HasPrefix(object, "configmap/") && object != "configmap/"+operand.KubeconfigsConfigMap:
			c.add(object, key, fmt.Sprintf("%s: %s, before %s", verb(existed, exists), certificates(latter),
				certificates(former)), nil)
		default:
			lines := c.diff(former, latter)
			what := verb(existed, exists)
			if len(lines) == 0 {
				what += "; the changed values are not shown"
			}
			c.add(object, key, what, lines)
		}
	}
}

func verb(existed, exists bool) string {
	switch {
	case !existed:
		return "is added"
	case !exists:
		return "is removed"
	default:
		return "is changed"
	}
}

func certificates(bundle []byte) string {
	found, _ := cert.ParseCertsPEM(bundle) // an empty bundle is an error
	if len(found) == 1 {
		return "1 certificate"
	}
	return fmt.Sprintf("%d certificates", len(found))
}

// otherValue marks a line whose hidden value differs.
const otherValue = "  (another value, not shown)"

func (c *comparison) diff(former, latter []byte) []string {
	before, after := c.redact.File(former), c.redact.File(latter)
	after = marked(string(former), before, string(latter), after)
	_, text, _ := bytes.Cut(diff.Diff("before", []byte(before), "after", []byte(after)), []byte("@@"))
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix("@@"+string(text), "\n"), "\n")
}

// marked adds otherValue to each redacted line whose original is not in the former file. It returns after unchanged if
// redaction has changed the number of lines.
func marked(former, before, latter, after string) string {
	raw, redacted := strings.Split(latter, "\n"), strings.Split(after, "\n")
	if len(raw) != len(redacted) || strings.Count(former, "\n") != strings.Count(before, "\n") {
		return after
	}
	known := strings.Split(former, "\n")
	for i := range redacted {
		if redacted[i] != raw[i] && !slices.Contains(known, raw[i]) {
			redacted[i] += otherValue
		}
	}
	return strings.Join(redacted, "\n")
}

func (c *comparison) pod(now, next *corev1.Pod) {
	if equality.Semantic.DeepEqual(now, next) {
		return
	}
	lines := podDiff(&now.Spec, &next.Spec)
	what := "is changed"
	if len(lines) == 0 {
		what += " in other fields than images, arguments and environment"
	}
	c.add("configmap/"+operand.PodConfigMap, "pod.yaml", what, lines)
}

// podDiff returns the images, arguments and environment variables that differ. It hides the values of variables: that
// of a proxy may contain a password.
func podDiff(now, next *corev1.PodSpec) []string {
	former, latter := podLines(now), podLines(next)
	var lines []string
	for _, line := range former {
		if !slices.Contains(latter, line) {
			lines = append(lines, "-"+line.shown)
		}
	}
	for _, line := range latter {
		if !slices.Contains(former, line) {
			lines = append(lines, "+"+line.shown)
		}
	}
	return lines
}

// podLine is a setting of a container. value is compared, but not shown.
type podLine struct{ shown, value string }

func podLines(spec *corev1.PodSpec) []podLine {
	var lines []podLine
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		add := func(shown, value string) { lines = append(lines, podLine{container.Name + ": " + shown, value}) }
		add("image "+container.Image, "")
		for _, argument := range slices.Concat(container.Command, container.Args) {
			add(argument, "")
		}
		for _, variable := range container.Env {
			add(variable.Name+"=<not shown>", cmp.Or(variable.Value, variable.ValueFrom.String()))
		}
	}
	return lines
}

// nodeManager compares the DaemonSet of the cloud-node-manager and its configuration, and reports whether they differ.
func (c *comparison) nodeManager(now, next *operand.Resources) bool {
	before := len(c.changes)
	if now.NodeManagerConfig != nil && next.NodeManagerConfig != nil {
		keys(c, "secret/"+next.NodeManagerConfig.Name, now.NodeManagerConfig.Data, next.NodeManagerConfig.Data)
	}
	if now.NodeManager != nil && next.NodeManager != nil &&
		!equality.Semantic.DeepEqual(now.NodeManager.Spec, next.NodeManager.Spec) {
		c.add("daemonset/"+next.NodeManager.Name, "spec.template", "is changed",
			podDiff(&now.NodeManager.Spec.Template.Spec, &next.NodeManager.Spec.Template.Spec))
	}
	return len(c.changes) > before
}
