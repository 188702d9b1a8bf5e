package clusteroperatorstatus

import (
	"context"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	configv1informers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	configv1helpers "github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// summaryManager is the field manager of status.summary.
const summaryManager = "cloud-controller-manager-summary"

// SummaryOptions are the dependencies of NewSummary; all are required.
type SummaryOptions struct {
	// Informer watches at least the ClusterOperator cloud-controller-manager.
	Informer configv1informers.ClusterOperatorInformer
	// Resource has the informer of the operator's resource.
	Resource dynamicinformer.DynamicSharedInformerFactory
	Client   dynamic.Interface
	Recorder events.Recorder
}

type summary struct{ SummaryOptions }

// NewSummary returns the controller that copies the ClusterOperator's summary to status.summary of the operator's
// resource. Columns of `oc get` show single fields only, so without it they would show single conditions.
func NewSummary(o SummaryOptions) factory.Controller {
	dependencies.Require(o)
	c := &summary{o}
	f := factory.New().WithInformers(o.Informer.Informer(), o.Resource.ForResource(ccmv1.Resource).Informer())
	return reconciler.Unreported(f, "Summary", o.Recorder, c.sync)
}

func (c *summary) sync(ctx context.Context, _ factory.SyncContext) error {
	operator, err := operatorclient.Find(c.Informer.Lister(), "clusteroperator", "", operatorclient.ClusterOperator)
	if err != nil || operator == nil {
		return err // its own controller creates it
	}
	resource, err := operatorclient.Content(c.Resource.ForResource(ccmv1.Resource).Lister())
	if err != nil || resource == nil {
		return err
	}
	wanted := summarize(operator.Status.Conditions)
	shown, _, _ := unstructured.NestedMap(resource, "status", "summary")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil || equality.Semantic.DeepEqual(shown, content) {
		return err
	}
	apply := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": operatorclient.Instance},
		"status":   map[string]any{"summary": content},
	}}
	apply.SetGroupVersionKind(ccmv1.Kind)
	_, err = c.Client.Resource(ccmv1.Resource).ApplyStatus(ctx, operatorclient.Instance, apply,
		metav1.ApplyOptions{FieldManager: summaryManager, Force: true})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("applying status.summary of cloudcontrollermanager/%s: %w", operatorclient.Instance, err)
	}
	return nil
}

// summarize returns the statuses of the ClusterOperator's conditions and the message of the most alarming one.
func summarize(conditions []configv1.ClusterOperatorStatusCondition) *ccmv1.Summary {
	status := func(conditionType configv1.ClusterStatusConditionType) configv1.ConditionStatus {
		if found := configv1helpers.FindStatusCondition(conditions, conditionType); found != nil {
			return found.Status
		}
		return configv1.ConditionUnknown
	}
	s := &ccmv1.Summary{
		Available:   status(configv1.OperatorAvailable),
		Progressing: status(configv1.OperatorProgressing),
		Degraded:    status(configv1.OperatorDegraded),
	}
	told := configv1.OperatorAvailable
	switch {
	case s.Degraded == configv1.ConditionTrue: // it names the cause, also of an outage
		told = configv1.OperatorDegraded
	case s.Available == configv1.ConditionFalse:
	case s.Progressing == configv1.ConditionTrue:
		told = configv1.OperatorProgressing
	}
	if found := configv1helpers.FindStatusCondition(conditions, told); found != nil {
		// A column is one line.
		s.Message = strings.ReplaceAll(found.Message, "\n", "; ")
	}
	return s
}
