package nodedeletion

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// change is what to write on a Node: a probe's taint, and the annotation that permits the deletion.
type change struct {
	taint, untaint    bool
	confirm, withdraw bool
}

// act writes on Nodes what was decided. The CCM looks nodes up in the order of their taints, so those of the probe's
// targets are first. A Node that cannot be written holds up no other.
func (c *controller) act(ctx context.Context, o *observation) error {
	m, p := &c.memory, c.memory.probe
	isReference := func(n *node) int {
		if p != nil && slices.Contains(p.references, n.uid) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(o.nodes, func(a, b *node) int { return cmp.Compare(isReference(a), isReference(b)) })
	var failed []error
	for _, n := range o.nodes {
		wanted := m.changeOf(n)
		if wanted == (change{}) {
			continue
		}
		version, err := patch(ctx, c.Kube.CoreV1().Nodes(), n, wanted)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if wanted.taint {
			p.wrote(n.uid, version, c.Clock.Now())
		}
		if wanted.confirm {
			n.record.written = cmp.Or(version, n.version)
			c.Recorder.Eventf("NodeDeletionConfirmed",
				"The cloud-controller-manager may delete node %s, whose kubelet is silent", n.name)
		}
	}
	return errors.Join(failed...)
}

func (m *memory) changeOf(n *node) change {
	is := n.record != nil && n.record.state == confirmed
	return change{
		taint:    m.probe.lacksTaint(n),
		untaint:  n.hasTaint && !m.probe.includes(n.uid),
		confirm:  is && n.permission != Confirmed && n.record.lacksConfirmation(n.version),
		withdraw: !is && n.permission == Confirmed,
	}
}

// lacksConfirmation reports whether the annotation was never written, or removed since: a stale cache has none either.
func (r *record) lacksConfirmation(version string) bool {
	return r.written == "" || isLater(version, r.written)
}

func isLater(version, former string) bool {
	order, err := resourceversion.CompareResourceVersion(version, former)
	return err == nil && order > 0
}

// patch returns the Node's new version, "" if the Node is gone. The cached version makes the API server reject the
// patch if the Node has changed, because a list of taints can only be replaced.
func patch(ctx context.Context, client corev1client.NodeInterface, n *node, wanted change) (version string, err error) {
	metadata, spec := map[string]any{"uid": n.uid, "resourceVersion": n.version}, map[string]any{}
	switch {
	case wanted.confirm:
		metadata["annotations"] = map[string]any{Annotation: Confirmed}
	case wanted.withdraw:
		metadata["annotations"] = map[string]any{Annotation: nil}
	}
	if wanted.taint || wanted.untaint {
		spec["taints"] = taintsOf(n, wanted.taint)
	}
	content, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return "", fmt.Errorf("encoding the patch of node/%s: %w", n.name, err)
	}
	written, err := client.Patch(ctx, n.name, types.MergePatchType, content, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("patching node/%s: %w", n.name, err)
	}
	return written.ResourceVersion, nil
}

func taintsOf(n *node, add bool) []corev1.Taint {
	taints := slices.DeleteFunc(slices.Clone(n.taints), isProbeTaint)
	if add {
		taints = append(taints, corev1.Taint{
			Key: controlplane.UninitializedTaint, Value: probeTaintValue, Effect: corev1.TaintEffectPreferNoSchedule,
		})
	}
	return taints
}

func isProbeTaint(t corev1.Taint) bool {
	return t.Key == controlplane.UninitializedTaint && t.Value == probeTaintValue &&
		t.Effect == corev1.TaintEffectPreferNoSchedule
}
