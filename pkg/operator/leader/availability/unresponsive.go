package availability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// unresponsiveAfter is how long a container must not be Ready. A kubelet that has restarted reports containers as not
// Ready until it has probed them, for up to ten seconds.
const unresponsiveAfter = 15 * time.Second

// unresponsive records since when containers run and do not answer the kubelet. library-go reports a container that has
// not become Ready after its start, but not for five minutes. Meanwhile a leader that hangs keeps its lease.
type unresponsive struct {
	patience.Each[containerOn, bool]
}

// observe records the containers of pods that have started, run and are not Ready. It measures by the operator's clock.
func (u unresponsive) observe(pods []*corev1.Pod, now time.Time) {
	present := map[containerOn]bool{}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		for _, container := range pod.Status.ContainerStatuses {
			key := containerOn{pod.Spec.NodeName, container.Name}
			// Before its startup probe succeeds, a container is starting.
			if container.State.Running == nil || container.Ready || !ptr.Deref(container.Started, false) {
				continue
			}
			present[key] = true
			u.See(key, true, now)
		}
	}
	maps.DeleteFunc(u.Each, func(key containerOn, _ *patience.Since[bool]) bool { return !present[key] })
}

// condition reports the containers that have not answered for unresponsiveAfter, and the delay until the next
// assessment.
func (u unresponsive) condition(holder controlplane.Holder, now time.Time) (*operatorclient.Condition, time.Duration) {
	var texts []string
	var next time.Duration
	for _, key := range slices.SortedFunc(maps.Keys(u.Each), containerOn.compare) {
		if left := unresponsiveAfter - now.Sub(u.Each[key].At()); left > 0 {
			next = patience.Sooner(next, left)
			continue
		}
		text := fmt.Sprintf("container %s of the static pod on node/%s runs, but does not answer its readiness probe",
			key.container, key.node)
		if key.container == operand.Name && key.node == holder.Node {
			text += fmt.Sprintf("; it holds lease/%s in %s, so no other cloud-controller-manager may act until it has ended",
				operand.Lease, operand.Namespace)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return operatorclient.AsExpected(UnresponsiveCondition), next
	}
	const action = "its kubelet restarts it if that lasts; if it recurs, read the log of the container and check the " +
		"load of the node"
	return operatorclient.NewCondition(UnresponsiveCondition, operatorv1.ConditionTrue, "NotResponding",
		strings.Join(append(texts, action), "; ")), next
}
