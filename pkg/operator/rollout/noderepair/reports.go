package noderepair

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// problem is what the operator cannot fix, with the reason of the condition.
type problem struct{ reason, message string }

func conditionOf(problems []problem) *operatorclient.Condition {
	reason, messages := "", []string(nil)
	for _, p := range problems {
		reason, messages = cmp.Or(reason, p.reason), append(messages, p.message)
	}
	return operatorclient.Problem(Condition, reason, strings.Join(messages, "\n"))
}

// problems returns the failures of file-syncers, and the time until there may be another one.
func (c *controller) problems(s snapshot) (problems []problem, wait time.Duration) {
	for i := range s.nodes {
		n := &s.nodes[i]
		if !n.isReady() || n.CurrentRevision == 0 || n.TargetRevision != 0 {
			delete(c.heard, n.NodeName)
			continue
		}
		silent := s.Now().Sub(c.heard.See(n.NodeName, n.reportText, s.Now()))
		wait = patience.Sooner(wait, maxSilence-silent)
		failing := c.failing.See(n.NodeName, n.report.NotWritten != "", s.Now()).Add(filesPatience).Sub(s.Now())
		switch {
		case silent >= maxSilence:
			problems = append(problems, problem{"NotReported", fmt.Sprintf(
				"node/%s: the file-syncer has not reported for more than %s, so tokens and certificates may expire there: "+
					"read the logs of container file-syncer in pod/%s-%s in %s", n.NodeName, maxSilence,
				operand.Name, n.NodeName, operand.Namespace)})
		case n.report.NotWritten == "":
		case failing > 0:
			wait = patience.Sooner(wait, failing)
		default:
			problems = append(problems, problem{"NotWritten", fmt.Sprintf(
				"node/%s: the file-syncer cannot update files below /etc/kubernetes/static-pod-resources: %s", n.NodeName,
				n.report.NotWritten)})
		}
	}
	return problems, wait
}

func (c *controller) ensureReports(ctx context.Context, s snapshot) error {
	if s.reports != nil {
		return nil
	}
	_, err := c.Kube.CoreV1().ConfigMaps(operand.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: operand.Namespace, Name: filesyncer.ReportConfigMap,
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating configmap/%s in %s: %w", filesyncer.ReportConfigMap, operand.Namespace, err)
	}
	return nil
}

// reportOf returns the last report of the node's file-syncer, and its text, "" if there is none. An invalid report is
// ignored: it must neither cause a repair nor hold up those of other nodes.
func reportOf(reports *corev1.ConfigMap, node string) (filesyncer.Report, string) {
	if reports == nil || reports.Data[node] == "" {
		return filesyncer.Report{}, ""
	}
	report, err := filesyncer.ParseReport(reports.Data[node])
	if err != nil {
		klog.V(2).InfoS("Ignoring a report", "reason", err, "configmap", filesyncer.ReportConfigMap, "node", node)
		return filesyncer.Report{}, ""
	}
	return report, reports.Data[node]
}
