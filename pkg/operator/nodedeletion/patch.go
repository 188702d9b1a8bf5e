package nodedeletion

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// patch writes a change of a Node, and returns its version. The version of the cache in the patch makes the API server
// refuse it if the Node has changed: a list of taints can only be replaced. A Node that is gone needs no change.
func patch(ctx context.Context, client corev1client.NodeInterface, n node, wanted change) (version string, err error) {
	content, err := json.Marshal(map[string]any{
		"metadata": metadataOf(n, wanted),
		"spec":     specOf(n, wanted),
	})
	if err != nil {
		return "", fmt.Errorf("node/%s: %w", n.name, err)
	}
	written, err := client.Patch(ctx, n.name, types.MergePatchType, content, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("node/%s: %w", n.name, err)
	}
	return written.ResourceVersion, nil
}

func metadataOf(n node, wanted change) map[string]any {
	metadata := map[string]any{"uid": n.uid, "resourceVersion": n.object.ResourceVersion}
	if wanted == confirm {
		metadata["annotations"] = map[string]any{Annotation: Confirmed}
	}
	if wanted == withdraw {
		metadata["annotations"] = map[string]any{Annotation: nil}
	}
	return metadata
}

func specOf(n node, wanted change) map[string]any {
	if wanted != ask && wanted != endQuestion {
		return map[string]any{}
	}
	taints := slices.DeleteFunc(slices.Clone(n.object.Spec.Taints), isQuestion)
	if wanted == ask {
		taints = append(taints, corev1.Taint{
			Key: uninitializedTaint, Value: question, Effect: corev1.TaintEffectPreferNoSchedule,
		})
	}
	return map[string]any{"taints": taints}
}
