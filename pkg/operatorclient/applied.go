package operatorclient

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// appliedSpec returns the part of the spec that fieldManager applied, or nil.
func appliedSpec(
	obj *unstructured.Unstructured, fieldManager string,
) (*applyoperatorv1.StaticPodOperatorSpecApplyConfiguration, error) {
	scheduler, err := asScheduler(obj)
	if err != nil {
		return nil, err
	}
	applied, err := applyoperatorv1.ExtractKubeScheduler(scheduler, fieldManager)
	if err != nil {
		return nil, fmt.Errorf("extracting what %s applied to the spec of cloudcontrollermanager/%s: %w",
			fieldManager, obj.GetName(), err)
	}
	if applied.Spec == nil {
		return nil, nil
	}
	return &applied.Spec.StaticPodOperatorSpecApplyConfiguration, nil
}

// decoded caches the resource of the informer. library-go and our controllers read it several times in each sync, and
// it seldom changes: without the cache, decoding takes a fifth of the operator's CPU time, and the results of
// appliedStatus are 60 % of its allocations.
type decoded struct {
	mutex sync.Mutex
	// object is the informer's object that the other fields belong to. The informer replaces an object and never changes
	// it. A resource version cannot identify it, because a restored etcd may reuse one.
	object    *unstructured.Unstructured
	scheduler *operatorv1.KubeScheduler
	byManager map[string]*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration
}

// of decodes an object, unless it was the last one. The caller must hold the mutex and must not change the result.
func (d *decoded) of(obj *unstructured.Unstructured) (*operatorv1.KubeScheduler, error) {
	if d.object == obj {
		return d.scheduler, nil
	}
	scheduler, err := asScheduler(obj)
	if err != nil {
		return nil, err
	}
	d.object, d.scheduler = obj, scheduler
	d.byManager = map[string]*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration{}
	return scheduler, nil
}

// appliedStatus returns the part of the status that fieldManager applied, or nil; see addForeignTexts. The caller
// may sort its lists, as library-go does.
func (d *decoded) appliedStatus(
	obj *unstructured.Unstructured, fieldManager string,
) (*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	scheduler, err := d.of(obj)
	if err != nil {
		return nil, err
	}
	status, known := d.byManager[fieldManager]
	if !known {
		applied, err := applyoperatorv1.ExtractKubeSchedulerStatus(reduced(scheduler, fieldManager), fieldManager)
		if err != nil {
			return nil, fmt.Errorf("extracting what %s applied to the status of cloudcontrollermanager/%s: %w",
				fieldManager, obj.GetName(), err)
		}
		if applied.Status != nil {
			status = &applied.Status.StaticPodOperatorStatusApplyConfiguration
			addForeignTexts(status.Conditions, scheduler.Status.Conditions)
		}
		d.byManager[fieldManager] = status
	}
	if status == nil {
		return nil, nil
	}
	own := *status
	own.Conditions = slices.Clone(status.Conditions)
	own.Generations = slices.Clone(status.Generations)
	own.NodeStatuses = slices.Clone(status.NodeStatuses)
	return &own, nil
}

// reduced returns only what a field manager may have applied to the status. The extraction validates everything against
// a schema, and each of some forty managers has applied few of as many conditions.
func reduced(scheduler *operatorv1.KubeScheduler, fieldManager string) *operatorv1.KubeScheduler {
	own := *scheduler
	own.Spec, own.ManagedFields, own.Status.Conditions = operatorv1.KubeSchedulerSpec{}, nil, nil
	for _, entry := range scheduler.ManagedFields {
		if entry.Manager == fieldManager && entry.FieldsV1 != nil {
			own.ManagedFields = append(own.ManagedFields, entry)
		}
	}
	for _, c := range scheduler.Status.Conditions {
		key := `\"` + c.Type + `\"`
		if slices.ContainsFunc(own.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
			return strings.Contains(entry.FieldsV1.GetRawString(), key)
		}) {
			own.Status.Conditions = append(own.Status.Conditions, c)
		}
	}
	return &own
}

// addForeignTexts adds the reasons and messages that another manager, such as a former release under another name, has
// applied to the conditions of this one. Then an apply without one is a change that takes it over. Otherwise the
// message of a resolved error would stay beside the new reason.
func addForeignTexts(applied []Condition, stored []operatorv1.OperatorCondition) {
	for i := range applied {
		found := v1helpers.FindOperatorCondition(stored, ptr.Deref(applied[i].Type, ""))
		if found == nil {
			continue
		}
		if applied[i].Reason == nil && found.Reason != "" {
			applied[i].Reason = ptr.To(found.Reason)
		}
		if applied[i].Message == nil && found.Message != "" {
			applied[i].Message = ptr.To(found.Message)
		}
	}
}

// asScheduler converts the resource to a KubeScheduler, which has the same fields, so that its generated schema can
// extract a field manager's fields. Without the list-map keys of such a schema, each manager would seem to own all
// conditions, and every sync would send a patch.
func asScheduler(obj *unstructured.Unstructured) (*operatorv1.KubeScheduler, error) {
	scheduler := &operatorv1.KubeScheduler{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.UnstructuredContent(), scheduler); err != nil {
		return nil, readError(err)
	}
	return scheduler, nil
}
