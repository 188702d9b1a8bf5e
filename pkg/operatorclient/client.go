package operatorclient

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/genericoperatorclient"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// New returns the client of the singleton CloudControllerManager and its informer factory. The caller starts the
// factory. config must use JSON: the client is dynamic.
func New(
	clock clock.PassiveClock, config *rest.Config,
) (v1helpers.StaticPodOperatorClient, dynamicinformer.DynamicSharedInformerFactory, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return asserting{inner} })
	cached := &decoded{}
	client, informers, err := genericoperatorclient.NewStaticPodOperatorClient(
		clock, config, ccmv1.Resource, ccmv1.Kind, appliedSpec, cached.appliedStatus)
	if err != nil {
		return nil, nil, fmt.Errorf("building the client of cloudcontrollermanager/cluster: %w", err)
	}
	return &retryingClient{StaticPodOperatorClient: reader{client, cached}, turn: make(chan struct{}, 1)}, informers, nil
}

// Annotate returns the function that sets annotations of the resource.
func Annotate(client dynamic.Interface) func(ctx context.Context, annotations map[string]string) error {
	return func(ctx context.Context, annotations map[string]string) error {
		resource := client.Resource(ccmv1.Resource)
		object, err := resource.Get(ctx, Instance, metav1.GetOptions{})
		if err != nil {
			return readError(err)
		}
		all := object.GetAnnotations()
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, annotations)
		object.SetAnnotations(all)
		if _, err := resource.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("setting annotations of cloudcontrollermanager/%s: %w", Instance, err)
		}
		return nil
	}
}

// Content returns the fields of the cached resource, nil if it does not exist.
func Content(resources cache.GenericLister) (map[string]any, error) {
	object, err := resources.Get(Instance)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	return object.(*unstructured.Unstructured).Object, nil
}

// Field returns the reader of a field of the cached spec. A missing resource has an empty spec.
func Field[T any](
	informers dynamicinformer.DynamicSharedInformerFactory, of func(ccmv1.CloudControllerManagerSpec) T,
) func() (T, error) {
	lister := informers.ForResource(ccmv1.Resource).Lister()
	return func() (T, error) {
		resource := &ccmv1.CloudControllerManager{}
		content, err := Content(lister)
		if err != nil {
			return of(resource.Spec), err
		}
		content = map[string]any{"spec": content["spec"]} // the status is large, so it is not converted
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, resource)
		return of(resource.Spec), readError(err)
	}
}

// The fields for Field.
var (
	Custom = func(s ccmv1.CloudControllerManagerSpec) *ccmv1.CustomCloudControllerManager { return s.Custom }

	NodeInitialization = func(
		s ccmv1.CloudControllerManagerSpec,
	) *ccmv1.CloudControllerManagerNodeInitialization {
		return s.NodeInitialization
	}

	// RemovalPolicy is Safe if it is empty.
	RemovalPolicy = func(s ccmv1.CloudControllerManagerSpec) ccmv1.CloudControllerManagerRemovalPolicy {
		return cmp.Or(s.RemovalPolicy, ccmv1.CloudControllerManagerRemovalPolicySafe)
	}
)

// reader is a client whose read errors name the verb and the object, so that callers return them unchanged. It decodes
// each version of the cached resource once.
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

// GetObjectMeta omits the managed fields, which are most of the resource.
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
