package noderepair

import (
	"fmt"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// problem is something about the files of a node that the operator cannot fix. Its reason is that of the condition.
type problem struct{ reason, message string }

// conditionOf returns the condition for the problems, with the reason of the first one.
func conditionOf(problems []problem) *operatorclient.Condition {
	if len(problems) == 0 {
		return operatorclient.AsExpected(Condition)
	}
	var messages []string
	for _, p := range problems {
		messages = append(messages, p.message)
	}
	return operatorclient.NewCondition(Condition, operatorv1.ConditionTrue, problems[0].reason,
		strings.Join(messages, "\n"))
}

// problems returns what the file-syncers cannot do. wait is the time until more may be a problem.
func (c *controller) problems(status *operatorv1.StaticPodOperatorStatus) (
	problems []problem, wait time.Duration, err error,
) {
	for _, node := range status.NodeStatuses {
		ready, err := c.readyNode(node.NodeName)
		if err != nil {
			return nil, 0, err
		}
		if ready == nil || node.CurrentRevision == 0 || node.TargetRevision != 0 {
			delete(c.heard, node.NodeName)
			continue
		}
		report, text, err := c.reportOf(node.NodeName)
		if err != nil {
			return nil, 0, err
		}
		silent := c.silence(node.NodeName, text)
		wait = patience.Sooner(wait, maxSilence-silent)
		failing := c.remaining(c.failing, node.NodeName, damage{text: report.NotWritten, patience: filesPatience})
		switch {
		case silent >= maxSilence:
			problems = append(problems, problem{"NotReported", fmt.Sprintf(
				"node/%s: the file-syncer has not reported for more than %s, so tokens and certificates may expire there: "+
					"read the logs of container file-syncer in pod/%s-%s in %s", node.NodeName, maxSilence,
				operand.Name, node.NodeName, operand.Namespace)})
		case report.NotWritten == "":
		case failing > 0:
			wait = patience.Sooner(wait, failing)
		default:
			problems = append(problems, problem{"NotWritten", fmt.Sprintf(
				"node/%s: files cannot be written below /etc/kubernetes/static-pod-resources: %s", node.NodeName,
				report.NotWritten)})
		}
	}
	return problems, wait, nil
}

// silence records a node's report and returns for how long it has been the last one, by the operator's clock.
func (c *controller) silence(node, text string) time.Duration {
	now := c.Clock.Now()
	return now.Sub(c.heard.See(node, text, now))
}

// reports returns the ConfigMap for the file-syncers' reports, nil if it does not exist.
func (c *controller) reports() (*corev1.ConfigMap, error) {
	return operatorclient.Find(c.ConfigMaps.Lister().ConfigMaps(operand.Namespace), "configmap", operand.Namespace,
		filesyncer.ReportConfigMap)
}

// reportOf returns what the node's file-syncer reported last, and the text of that, "" if it has not reported. What no
// file-syncer writes is no report: it must neither cause a repair nor hold up those of other nodes.
func (c *controller) reportOf(node string) (report filesyncer.Report, text string, err error) {
	reports, err := c.reports()
	if err != nil || reports == nil || reports.Data[node] == "" {
		return filesyncer.Report{}, "", err
	}
	if report, err = filesyncer.ParseReport(reports.Data[node]); err != nil {
		klog.V(2).InfoS("Ignoring a report", "reason", err, "configmap", filesyncer.ReportConfigMap, "node", node)
		return filesyncer.Report{}, "", nil
	}
	return report, reports.Data[node], nil
}

// readyNode returns the Node if its kubelet works, otherwise nil.
func (c *controller) readyNode(name string) (*corev1.Node, error) {
	node, err := c.node(name)
	if err != nil || controlplane.KubeletOf(node) != controlplane.KubeletReady {
		return nil, err
	}
	return node, nil
}

// node returns the Node, nil if it does not exist.
func (c *controller) node(name string) (*corev1.Node, error) {
	return operatorclient.Find(c.Nodes.Lister(), "node", "", name)
}
