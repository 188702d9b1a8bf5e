// Package clusteroperatorstatus aggregates the operator resource's conditions in the ClusterOperator
// cloud-controller-manager, which administrators and the cluster-version-operator read.
package clusteroperatorstatus

import (
	"context"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	configv1client "github.com/openshift/client-go/config/clientset/versioned/typed/config/v1"
	configv1informers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	configv1listers "github.com/openshift/client-go/config/listers/config/v1"
	configv1helpers "github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/manifests"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Rights lists the roles, bindings and policies of a platform.
type Rights func(platform.Platform) ([]configv1.ObjectReference, error)

// New returns the controller that aggregates all conditions of the operator resource by their suffixes. The informer
// watches at least the ClusterOperator cloud-controller-manager. The ClusterOperator keeps an older version until the
// operands have reached the reported one. inertia covers every Degraded condition.
func New(
	d dependencies.Deps, clusterOperators configv1client.ClusterOperatorsGetter,
	informer configv1informers.ClusterOperatorInformer, versions status.VersionGetter, rights Rights,
	inertia operatorclient.Inertia,
) factory.Controller {
	dependencies.Require(d, clusterOperators, informer, versions, rights, inertia)
	syncer := status.NewClusterOperatorStatusController(
		operatorclient.ClusterOperator,
		RelatedObjects(),
		successor{clusterOperators.ClusterOperators(), informer.Lister()},
		informer,
		d.Operator,
		versions,
		d.Recorder,
		d.Clock,
	).WithDegradedInertia(inertia.Of)
	syncer.WithRelatedObjectsFunc(func() (known bool, objects []configv1.ObjectReference) {
		observed, known, err := observedplatform.Get(d.Operator)
		if err != nil || !known {
			return false, nil // The ClusterOperator keeps its current list.
		}
		objects, err = PlatformObjects(observed, rights)
		return err == nil, objects
	})
	return syncer
}

// RelatedObjects returns what must-gather collects on every platform, from the ClusterOperator's manifest. A namespace
// includes its objects except for roles and bindings. An empty name stands for every object.
func RelatedObjects() []configv1.ObjectReference {
	shipped := &configv1.ClusterOperator{}
	if err := yaml.UnmarshalStrict(manifests.ClusterOperator, shipped); err != nil {
		panic(fmt.Errorf("decoding the embedded ClusterOperator: %w", err))
	}
	return shipped.Status.RelatedObjects
}

// PlatformObjects returns what must-gather also collects on a managed platform: granted rights and the
// CredentialsRequest.
func PlatformObjects(p platform.Platform, rights Rights) ([]configv1.ObjectReference, error) {
	if !p.Managed() {
		return nil, nil
	}
	objects, err := rights(p)
	if err != nil {
		return nil, fmt.Errorf("listing the rights on platform %s: %w", p.Name, err)
	}
	if p.Credentials.Request != "" {
		objects = append(objects, configv1.ObjectReference{
			Group: "cloudcredential.openshift.io", Resource: "credentialsrequests",
			Namespace: "openshift-cloud-credential-operator", Name: p.Credentials.Request,
		})
	}
	return objects, nil
}

// ofThePredecessor are the predecessor's controllers with their own conditions, Available and Degraded. library-go
// keeps conditions that it does not know.
var ofThePredecessor = []configv1.ClusterStatusConditionType{
	"CloudConfigController", "TrustedCABundleControllerController",
}

// noData is library-go's reason while no condition has a summary's suffix, as in an operator's first second.
const noData = "NoData"

// successor updates a ClusterOperator that the predecessor may have written, without the predecessor's own conditions.
// A condition without data keeps its value: otherwise Available would be Unknown at the start of each upgrade.
type successor struct {
	configv1client.ClusterOperatorInterface
	lister configv1listers.ClusterOperatorLister
}

func (s successor) ClusterOperators() configv1client.ClusterOperatorInterface { return s }

func (s successor) UpdateStatus(
	ctx context.Context, wanted *configv1.ClusterOperator, options metav1.UpdateOptions,
) (*configv1.ClusterOperator, error) {
	wanted = wanted.DeepCopy()
	conditions := &wanted.Status.Conditions
	*conditions = slices.DeleteFunc(*conditions, func(c configv1.ClusterOperatorStatusCondition) bool {
		return slices.ContainsFunc(ofThePredecessor, func(controller configv1.ClusterStatusConditionType) bool {
			return c.Type == controller+configv1.OperatorAvailable || c.Type == controller+configv1.OperatorDegraded
		})
	})
	if existing, err := s.lister.Get(wanted.Name); err == nil {
		for i, c := range *conditions {
			previous := configv1helpers.FindStatusCondition(existing.Status.Conditions, c.Type)
			if c.Reason == noData && previous != nil {
				(*conditions)[i] = *previous
			}
		}
	}
	return s.ClusterOperatorInterface.UpdateStatus(ctx, wanted, options)
}
