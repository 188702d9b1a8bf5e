// Package configmaps applies ConfigMaps with user content. library-go's ApplyConfigMap logs the whole difference at the
// default verbosity, and a cloud configuration may contain secrets.
package configmaps

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourcehelper"
	"github.com/openshift/library-go/pkg/operator/resource/resourcemerge"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Apply creates or updates the ConfigMap. It merges labels, annotations and owners as library-go does, and replaces an
// immutable one. The event of a change names the changed keys. Errors name the ConfigMap.
func Apply(
	ctx context.Context, client corev1client.ConfigMapsGetter, recorder events.Recorder, required *corev1.ConfigMap,
) error {
	if err := apply(ctx, client, recorder, required); err != nil {
		return fmt.Errorf("applying configmap/%s in %s: %w", required.Name, required.Namespace, err)
	}
	return nil
}

func apply(
	ctx context.Context, client corev1client.ConfigMapsGetter, recorder events.Recorder, required *corev1.ConfigMap,
) error {
	objects := client.ConfigMaps(required.Namespace)
	existing, err := objects.Get(ctx, required.Name, metav1.GetOptions{})
	isFixed := err == nil && ptr.Deref(existing.Immutable, false) && len(changedKeys(existing, required)) > 0
	if isFixed { // The API server does not update its data.
		if err := operatorclient.Held(existing); err != nil {
			return err
		}
		seen := metav1.Preconditions{UID: &existing.UID, ResourceVersion: &existing.ResourceVersion}
		if err := objects.Delete(ctx, required.Name, metav1.DeleteOptions{Preconditions: &seen}); err != nil {
			return fmt.Errorf("deleting it, because it is immutable: %w", err)
		}
	}
	if isFixed || apierrors.IsNotFound(err) {
		created := required.DeepCopy()
		resourcemerge.WithCleanLabelsAndAnnotations(created)
		_, err := objects.Create(ctx, created, metav1.CreateOptions{})
		resourcehelper.ReportCreateEvent(recorder, required, err)
		return err
	}
	if err != nil {
		return err
	}
	updated := existing.DeepCopy()
	modified := false
	resourcemerge.EnsureObjectMeta(&modified, &updated.ObjectMeta, required.ObjectMeta)
	changed := changedKeys(existing, required)
	if !modified && len(changed) == 0 {
		return nil
	}
	updated.Data, updated.BinaryData = required.Data, required.BinaryData
	_, err = objects.Update(ctx, updated, metav1.UpdateOptions{})
	if len(changed) == 0 {
		resourcehelper.ReportUpdateEvent(recorder, required, err)
		return err
	}
	resourcehelper.ReportUpdateEvent(recorder, required, err, "because of changes in "+strings.Join(changed, ", "))
	return err
}

func changedKeys(a, b *corev1.ConfigMap) []string {
	keys := map[string]bool{}
	for _, data := range []map[string]string{a.Data, b.Data} {
		for key := range data {
			before, had := a.Data[key]
			after, has := b.Data[key]
			keys["data."+key] = had != has || before != after
		}
	}
	for _, data := range []map[string][]byte{a.BinaryData, b.BinaryData} {
		for key := range data {
			before, had := a.BinaryData[key]
			after, has := b.BinaryData[key]
			keys["binaryData."+key] = had != has || !bytes.Equal(before, after)
		}
	}
	maps.DeleteFunc(keys, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(keys))
}
