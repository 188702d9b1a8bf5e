package controlplane

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// InstallerApp is the label app of library-go's installer pods, PrunerApp that of its pruner pods, HandoverApp that of
// the pods that move the lead.
const (
	InstallerApp = "installer"
	PrunerApp    = "pruner"
	HandoverApp  = "handover"
)

// MoveTimeout is the longest that a move of the lead takes: the command's patience with the successor, and its limit.
const MoveTimeout = time.Minute

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
