package operatorclient

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/genericoperatorclient"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// New returns the client of the singleton CloudControllerManager and the informer factory for it. The caller starts
// the factory. config must use JSON: the client is dynamic.
func New(
	clock clock.PassiveClock, config *rest.Config,
) (v1helpers.StaticPodOperatorClient, dynamicinformer.DynamicSharedInformerFactory, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return asserting{inner} })
	client, informers, err := genericoperatorclient.NewStaticPodOperatorClient(
		clock, config, ccmv1.Resource, ccmv1.Kind, appliedSpec, appliedStatus)
	if err != nil {
		return nil, nil, fmt.Errorf("building the client of cloudcontrollermanager/cluster: %w", err)
	}
	return &retryingClient{StaticPodOperatorClient: client, turn: make(chan struct{}, 1)}, informers, nil
}

// Custom returns the reader of spec.custom in the informer's cache. A missing resource has no spec.custom.
func Custom(
	informers dynamicinformer.DynamicSharedInformerFactory,
) func() (*ccmv1.CustomCloudControllerManager, error) {
	read := specOf(informers)
	return func() (*ccmv1.CustomCloudControllerManager, error) {
		spec, err := read()
		return spec.Custom, err
	}
}

// NodeInitialization returns the reader of spec.nodeInitialization in the informer's cache, nil if it is unset.
func NodeInitialization(
	informers dynamicinformer.DynamicSharedInformerFactory,
) func() (*ccmv1.NodeInitialization, error) {
	read := specOf(informers)
	return func() (*ccmv1.NodeInitialization, error) {
		spec, err := read()
		return spec.NodeInitialization, err
	}
}

// RemovalPolicy returns the reader of spec.removalPolicy in the informer's cache. An empty field is Safe.
func RemovalPolicy(informers dynamicinformer.DynamicSharedInformerFactory) func() (ccmv1.RemovalPolicy, error) {
	read := specOf(informers)
	return func() (ccmv1.RemovalPolicy, error) {
		spec, err := read()
		return cmp.Or(spec.RemovalPolicy, ccmv1.SafeRemoval), err
	}
}

// Annotate returns the function that sets annotations of the resource.
func Annotate(client dynamic.Interface) func(ctx context.Context, annotations map[string]string) error {
	return func(ctx context.Context, annotations map[string]string) error {
		resource := client.Resource(ccmv1.Resource)
		object, err := resource.Get(ctx, Instance, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading cloudcontrollermanager/%s: %w", Instance, err)
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

// specOf returns the reader of the spec in the informer's cache. A missing resource has an empty spec.
func specOf(
	informers dynamicinformer.DynamicSharedInformerFactory,
) func() (ccmv1.CloudControllerManagerSpec, error) {
	lister := informers.ForResource(ccmv1.Resource).Lister()
	return func() (ccmv1.CloudControllerManagerSpec, error) {
		object, err := lister.Get(Instance)
		if apierrors.IsNotFound(err) {
			return ccmv1.CloudControllerManagerSpec{}, nil
		}
		if err != nil {
			return ccmv1.CloudControllerManagerSpec{}, err
		}
		resource := &ccmv1.CloudControllerManager{}
		content := object.(*unstructured.Unstructured).Object
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, resource); err != nil {
			return ccmv1.CloudControllerManagerSpec{}, fmt.Errorf("reading cloudcontrollermanager/%s: %w", Instance, err)
		}
		return resource.Spec, nil
	}
}

// appliedSpec returns the part of the spec that fieldManager applied, nil if none.
func appliedSpec(
	obj *unstructured.Unstructured, fieldManager string,
) (*applyoperatorv1.StaticPodOperatorSpecApplyConfiguration, error) {
	applied, err := extract(obj, fieldManager, "spec", applyoperatorv1.ExtractKubeScheduler)
	if err != nil || applied.Spec == nil {
		return nil, err
	}
	return &applied.Spec.StaticPodOperatorSpecApplyConfiguration, nil
}

// appliedStatus returns the part of the status that fieldManager applied, nil if none.
func appliedStatus(
	obj *unstructured.Unstructured, fieldManager string,
) (*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration, error) {
	applied, err := extract(obj, fieldManager, "status", applyoperatorv1.ExtractKubeSchedulerStatus)
	if err != nil || applied.Status == nil {
		return nil, err
	}
	return &applied.Status.StaticPodOperatorStatusApplyConfiguration, nil
}

// extract returns what fieldManager applied to the spec or the status.
//
// Our resource has the fields of KubeScheduler, so KubeScheduler's generated schema can extract a field manager's
// fields. Without the list-map keys of such a schema, each manager would seem to own all conditions, and every sync
// would send a patch.
func extract(
	obj *unstructured.Unstructured, fieldManager, part string,
	by func(*operatorv1.KubeScheduler, string) (*applyoperatorv1.KubeSchedulerApplyConfiguration, error),
) (*applyoperatorv1.KubeSchedulerApplyConfiguration, error) {
	scheduler := &operatorv1.KubeScheduler{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.UnstructuredContent(), scheduler); err != nil {
		return nil, fmt.Errorf("reading cloudcontrollermanager/%s: %w", obj.GetName(), err)
	}
	applied, err := by(scheduler, fieldManager)
	if err != nil {
		return nil, fmt.Errorf("extracting what %s applied to the %s of cloudcontrollermanager/%s: %w",
			fieldManager, part, obj.GetName(), err)
	}
	return applied, nil
}
