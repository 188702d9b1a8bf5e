package availability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// unresponsiveAfter is how long a container must not be Ready. A kubelet that has restarted reports containers as not
// Ready until it has probed them, for up to ten seconds.
const unresponsiveAfter = 15 * time.Second

// unresponsive records since when containers run and do not answer the kubelet, by the operator's clock. library-go
// reports a container that has not become Ready after its start, but not for five minutes. Meanwhile a leader that hangs
// keeps its lease.
type unresponsive struct {
	patience.Each[containerOn, bool]
}

// observe records the containers of pods that have started, run and are not Ready.
func (u unresponsive) observe(pods []*corev1.Pod, now time.Time) {
	present := map[containerOn]bool{}
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			// Before its startup probe succeeds, a container is starting.
			if pod.DeletionTimestamp == nil && container.State.Running != nil && !container.Ready &&
				ptr.Deref(container.Started, false) {
				key := containerOn{pod.Spec.NodeName, container.Name}
				present[key] = true
				u.See(key, true, now)
			}
		}
	}
	maps.DeleteFunc(u.Each, func(key containerOn, _ *patience.Since[bool]) bool { return !present[key] })
}

// notResponding is violated by containers that have not answered for unresponsiveAfter.
func notResponding(in *input) (found result) {
	var texts []string
	for _, key := range slices.SortedFunc(maps.Keys(in.silent.Each), containerOn.compare) {
		if left := unresponsiveAfter - in.Now().Sub(in.silent.Each[key].At()); left > 0 {
			found.next = patience.Sooner(found.next, left)
			continue
		}
		text := fmt.Sprintf("container %s of the static pod on node/%s runs, but does not answer its readiness probe",
			key.container, key.node)
		if key.container == operand.Name && key.node == in.state.leader.Node {
			text += fmt.Sprintf("; it holds lease/%s in %s, so no other cloud-controller-manager may act until it has ended",
				operand.Lease, operand.Namespace)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return found
	}
	const action = "its kubelet restarts it if that lasts; if it recurs, read the log of the container and check the " +
		"load of the node"
	found.reason, found.violated = "NotResponding", true
	found.message = strings.Join(append(texts, action), "; ")
	return found
}
