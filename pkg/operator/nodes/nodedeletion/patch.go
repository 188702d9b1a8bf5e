package nodedeletion

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// change is what to write on a Node.
type change struct {
	// taint adds the taint of a probe, and untaint removes it.
	taint, untaint bool
	// confirm adds the annotation that permits the deletion, and withdraw removes it.
	confirm, withdraw bool
}

// changeOf compares a Node with what it should have.
func (m *memory) changeOf(n *node) change {
	is := n.record != nil && n.record.state == confirmed
	return change{
		taint:    m.probe.lacksTaint(n),
		untaint:  n.hasTaint && !m.probe.includes(n.uid),
		confirm:  is && n.permission != Confirmed && n.record.lacksConfirmation(n.facts.version),
		withdraw: !is && n.permission == Confirmed,
	}
}

// lacksConfirmation reports whether a Node without the annotation has to get it: it was not written, or it was removed
// since. A cache from before has no annotation either.
func (r *record) lacksConfirmation(version string) bool {
	return r.written == "" || isLater(version, r.written)
}

// isLater reports whether a version of a Node is later than another one.
func isLater(version, former string) bool {
	order, err := resourceversion.CompareResourceVersion(version, former)
	return err == nil && order > 0
}

// patch writes a change of a Node, and returns its version. The version of the cache in the patch makes the API server
// refuse it if the Node has changed: a list of taints can only be replaced. A Node that is gone needs no change.
func patch(ctx context.Context, client corev1client.NodeInterface, n *node, wanted change) (version string, err error) {
	metadata, spec := map[string]any{"uid": n.uid, "resourceVersion": n.facts.version}, map[string]any{}
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
