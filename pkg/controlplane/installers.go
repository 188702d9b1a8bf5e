package controlplane

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// InstallerApp is the label app of library-go's installer pods, PrunerApp that of its pruner pods, HandoverApp that of
// the pods that move the lead.
const (
	InstallerApp = "installer"
	PrunerApp    = "pruner"
	HandoverApp  = "handover"
)

// Installers returns the installer pods of all nodes and revisions.
func Installers(pods corev1listers.PodLister) ([]*corev1.Pod, error) {
	return podsOf(pods, InstallerApp)
}

// MoveTimeout is the longest that a move of the lead takes: the command's patience with the successor, and its limit.
const MoveTimeout = time.Minute

// Moves returns the pods that move the lead, or have moved it a while ago.
func Moves(pods corev1listers.PodLister) ([]*corev1.Pod, error) { return podsOf(pods, HandoverApp) }

// EndedByMove reports whether a run on a node ended while one of the moves worked there: a move takes the manifest away
// for a moment. The times are those of one kubelet, in seconds. A move that has not started by the API's word may work
// already.
func EndedByMove(run *corev1.ContainerStateTerminated, node string, moves []*corev1.Pod) bool {
	return slices.ContainsFunc(moves, func(move *corev1.Pod) bool {
		if move.Spec.NodeName != node {
			return false
		}
		if len(move.Status.ContainerStatuses) == 0 {
			return move.Status.Phase == corev1.PodPending
		}
		state := move.Status.ContainerStatuses[0].State
		switch {
		case state.Running != nil:
			return !run.FinishedAt.Before(&state.Running.StartedAt)
		case state.Terminated != nil:
			return !run.FinishedAt.Before(&state.Terminated.StartedAt) && !state.Terminated.FinishedAt.Before(&run.FinishedAt)
		}
		return true
	})
}

func podsOf(pods corev1listers.PodLister, app string) ([]*corev1.Pod, error) {
	found, err := pods.Pods(operand.Namespace).List(labels.SelectorFromSet(labels.Set{"app": app}))
	if err != nil {
		return nil, fmt.Errorf("listing the %s pods in %s: %w", app, operand.Namespace, err)
	}
	return found, nil
}

// InstallerName returns the name of the first installer pod of a revision on a node. Those after it have names such as
// installer-7-retry-1-master-0.
func InstallerName(revision int32, node string) string {
	return fmt.Sprintf("installer-%d-%s", revision, node)
}

// InstallerRevision returns the revision that a pod installs, by its name, and false for a pod that installs none.
func InstallerRevision(name string) (revision int32, isInstaller bool) {
	rest, isInstaller := strings.CutPrefix(name, "installer-")
	number, _, _ := strings.Cut(rest, "-")
	parsed, err := strconv.ParseInt(number, 10, 32)
	return int32(parsed), isInstaller && err == nil
}

// Installs reports whether a pod is to install a revision on a node.
func Installs(pod *corev1.Pod, node string, revision int32) bool {
	of, isInstaller := InstallerRevision(pod.Name)
	return isInstaller && of == revision && pod.Spec.NodeName == node
}
