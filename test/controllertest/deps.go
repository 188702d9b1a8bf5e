package controllertest

import (
	"context"
	"reflect"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/apiserver/jsonpatch"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// Complete returns the dependencies of a test, which are a dependencies.Deps, with empty ones for those that it does
// not set. It has no type, because only pkg may import that one.
func Complete[D any](t *testing.T, d D) D {
	t.Helper()
	deps := reflect.ValueOf(&d).Elem()
	set(deps, "Clock", func() any { return clock.RealClock{} })
	passive := deps.FieldByName("Clock").Interface().(clock.PassiveClock)
	set(deps, "Recorder", func() any { return events.NewInMemoryRecorder("test", passive) })
	set(deps, "Operator", func() any {
		return v1helpers.NewFakeStaticPodOperatorClient(
			&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{}, nil, nil)
	})
	set(deps, "Kube", func() any { return fake.NewClientset() })
	set(deps, "Target", func() any {
		return informers.NewSharedInformerFactory(deps.FieldByName("Kube").Interface().(kubernetes.Interface), 0)
	})
	target := deps.FieldByName("Target").Interface().(informers.SharedInformerFactory)
	set(deps, "Nodes", func() any { return target.Core().V1().Nodes() })
	set(deps, "Infrastructures", func() any {
		return configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1().Infrastructures()
	})
	set(deps, "Lease", func() any {
		lease, err := controlplane.NewLease(target.Coordination().V1().Leases(), passive)
		require.NoError(t, err)
		return lease
	})
	return d
}

// Build returns what a constructor makes of dependencies by their names, and of empty ones for the others. It is for
// modules that cannot import the type of the dependencies.
func Build[D, C any](t *testing.T, construct func(D) C, named map[string]any) C {
	t.Helper()
	var d D
	for name, value := range named {
		reflect.ValueOf(&d).Elem().FieldByName(name).Set(reflect.ValueOf(value))
	}
	return construct(Complete(t, d))
}

// set sets a field that is nil.
func set(deps reflect.Value, name string, value func() any) {
	if field := deps.FieldByName(name); field.IsNil() {
		field.Set(reflect.ValueOf(value()))
	}
}

// StaticPods returns a client that is of static pods in name only, for controllers that use none of its methods.
func StaticPods(client v1helpers.OperatorClient) v1helpers.StaticPodOperatorClient {
	return operatorOnly{OperatorClient: client}
}

type operatorOnly struct {
	v1helpers.OperatorClient
	staticPods
}

// GetStaticPodOperatorState implements v1helpers.StaticPodOperatorClient. There are no nodes.
func (o operatorOnly) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, status, version, err := o.GetOperatorState()
	if err != nil {
		return nil, nil, "", err
	}
	return &operatorv1.StaticPodOperatorSpec{OperatorSpec: *spec},
		&operatorv1.StaticPodOperatorStatus{OperatorStatus: *status}, version, nil
}

// staticPods has the methods that a v1helpers.OperatorClient lacks.
type staticPods interface {
	GetStaticPodOperatorStateWithQuorum(context.Context) (
		*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error)
	UpdateStaticPodOperatorStatus(context.Context, string, *operatorv1.StaticPodOperatorStatus) (
		*operatorv1.StaticPodOperatorStatus, error)
	UpdateStaticPodOperatorSpec(context.Context, string, *operatorv1.StaticPodOperatorSpec) (
		*operatorv1.StaticPodOperatorSpec, string, error)
	ApplyStaticPodOperatorSpec(context.Context, string, *applyoperatorv1.StaticPodOperatorSpecApplyConfiguration) error
	ApplyStaticPodOperatorStatus(context.Context, string, *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration) error
	PatchStaticOperatorStatus(context.Context, *jsonpatch.PatchSet) error
}
