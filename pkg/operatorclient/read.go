package operatorclient

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// reader is a client whose errors of a read have the verb and the object, so callers return them as they are. It
// decodes each version of the resource in the informer's cache once.
type reader struct {
	v1helpers.StaticPodOperatorClient
	decoded *decoded
}

func readError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading cloudcontrollermanager/%s: %w", Instance, err)
}

// cached returns the resource in the informer's cache, which the caller must not change.
func (r reader) cached() (*operatorv1.KubeScheduler, error) {
	object, exists, err := r.Informer().GetStore().GetByKey(Instance)
	if err == nil && !exists {
		err = apierrors.NewNotFound(ccmv1.Resource.GroupResource(), Instance)
	}
	if err != nil {
		return nil, readError(err)
	}
	r.decoded.mutex.Lock()
	defer r.decoded.mutex.Unlock()
	return r.decoded.of(object.(*unstructured.Unstructured))
}

// GetObjectMeta returns no managed fields: they are most of the resource.
func (r reader) GetObjectMeta() (*metav1.ObjectMeta, error) {
	cached, err := r.cached()
	if err != nil {
		return nil, err
	}
	meta := cached.ObjectMeta
	meta.ManagedFields = nil
	return meta.DeepCopy(), nil
}

func (r reader) GetOperatorState() (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	cached, err := r.cached()
	if err != nil {
		return nil, nil, "", err
	}
	return cached.Spec.OperatorSpec.DeepCopy(), cached.Status.OperatorStatus.DeepCopy(), cached.ResourceVersion, nil
}

func (r reader) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	cached, err := r.cached()
	if err != nil {
		return nil, nil, "", err
	}
	return cached.Spec.StaticPodOperatorSpec.DeepCopy(), cached.Status.StaticPodOperatorStatus.DeepCopy(),
		cached.ResourceVersion, nil
}

func (r reader) GetOperatorStateWithQuorum(
	ctx context.Context,
) (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	spec, status, version, err := r.StaticPodOperatorClient.GetOperatorStateWithQuorum(ctx)
	return spec, status, version, readError(err)
}

func (r reader) GetStaticPodOperatorStateWithQuorum(
	ctx context.Context,
) (*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error) {
	spec, status, version, err := r.StaticPodOperatorClient.GetStaticPodOperatorStateWithQuorum(ctx)
	return spec, status, version, readError(err)
}
