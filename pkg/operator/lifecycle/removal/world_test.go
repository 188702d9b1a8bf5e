package removal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/apiserver/jsonpatch"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const observedOpenStack = `{"platform": "openstack", "infrastructureName": "ci", ` +
	`"apiServerInternalURI": "https://api-int:6443"}`

// operatorResource is the operator's resource. It applies JSON patches like the API server.
type operatorResource struct {
	v1helpers.StaticPodOperatorClient
	spec   operatorv1.StaticPodOperatorSpec
	status operatorv1.StaticPodOperatorStatus
	meta   metav1.ObjectMeta
	clock  *clocktesting.FakeClock
	// missing makes the resource not exist.
	missing bool
}

func (r *operatorResource) GetObjectMeta() (*metav1.ObjectMeta, error) { return r.meta.DeepCopy(), nil }

// confirm sets the annotation that lets the removal begin at once.
func (r *operatorResource) confirm(generation string) {
	r.meta.Annotations = map[string]string{"cloudcontrollermanager.operator.openshift.io/confirmed-removal": generation}
}

func (r *operatorResource) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	if r.missing {
		return nil, nil, "", apierrors.NewNotFound(ccmv1.Resource.GroupResource(), "cluster")
	}
	return r.spec.DeepCopy(), r.status.DeepCopy(), "1", nil
}

func (r *operatorResource) GetStaticPodOperatorStateWithQuorum(context.Context) (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	return r.GetStaticPodOperatorState()
}

func (r *operatorResource) GetOperatorStateWithQuorum(context.Context) (
	*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error,
) {
	spec, status, version, err := r.GetStaticPodOperatorState()
	if err != nil {
		return nil, nil, "", err
	}
	return &spec.OperatorSpec, &status.OperatorStatus, version, nil
}

// ApplyOperatorStatus replaces the conditions of the only field manager. A condition keeps its time while its status
// stays.
func (r *operatorResource) ApplyOperatorStatus(
	_ context.Context, manager string, apply *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	if manager != "RemovalController-conditions" {
		return fmt.Errorf("unexpected field manager %s", manager)
	}
	former := slices.Clone(r.status.Conditions)
	r.status.Conditions = slices.DeleteFunc(r.status.Conditions, func(c operatorv1.OperatorCondition) bool {
		return c.Type == "Removing" || c.Type == DegradedCondition
	})
	for _, c := range apply.Conditions {
		since := metav1.NewTime(r.clock.Now())
		if last := v1helpers.FindOperatorCondition(former, *c.Type); last != nil && last.Status == *c.Status {
			since = last.LastTransitionTime
		}
		r.status.Conditions = append(r.status.Conditions, operatorv1.OperatorCondition{
			Type: *c.Type, Status: *c.Status, Reason: *c.Reason, Message: ptr.Deref(c.Message, ""), LastTransitionTime: since,
		})
	}
	return nil
}

func (r *operatorResource) PatchOperatorStatus(_ context.Context, set *jsonpatch.PatchSet) error {
	data, err := set.Marshal()
	if err != nil {
		return err
	}
	var operations []struct{ Op, Path, Value string }
	if err := json.Unmarshal(data, &operations); err != nil {
		return err
	}
	status := r.status.DeepCopy()
	for _, o := range operations {
		parts := strings.Split(strings.TrimPrefix(o.Path, "/status/"), "/")
		i, err := strconv.Atoi(parts[1])
		if err != nil {
			return err
		}
		found := ""
		switch {
		case parts[0] == "conditions" && i < len(status.Conditions):
			found = status.Conditions[i].Type
			if strings.HasSuffix(o.Path, "/reason") {
				found = status.Conditions[i].Reason
			}
		case parts[0] == "nodeStatuses" && i < len(status.NodeStatuses):
			found = status.NodeStatuses[i].NodeName
		}
		switch {
		case found == "" || o.Op == "test" && found != o.Value:
			return apierrors.NewGenericServerResponse(
				http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", "test failed", 0, false)
		case o.Op == "remove" && parts[0] == "conditions":
			status.Conditions = slices.Delete(status.Conditions, i, i+1)
		case o.Op == "remove":
			status.NodeStatuses = slices.Delete(status.NodeStatuses, i, i+1)
		}
	}
	r.status = *status
	return nil
}

// condition returns a condition as text, "" if there is none.
func (r *operatorResource) condition(name string) string {
	c := v1helpers.FindOperatorCondition(r.status.Conditions, name)
	if c == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message))
}

// world is a cluster, with the caches of one process of the operator.
type world struct {
	t *testing.T
	*operatorResource
	kube     *fake.Clientset
	services []runtime.Object
	recorder events.InMemoryRecorder
	policy   ccmv1.CloudControllerManagerRemovalPolicy
	// static are the static resources that exist.
	static int
	// forbidden makes a list of nodes fail. The informers have theirs.
	forbidden bool
}

// worldStart is the time at which a world begins.
func worldStart() time.Time { return time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC) }

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	now := worldStart()
	w := &world{
		t: t,
		operatorResource: &operatorResource{
			meta: metav1.ObjectMeta{Generation: 3}, clock: clocktesting.NewFakeClock(now),
			spec: operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
				ManagementState: operatorv1.Removed, ObservedConfig: runtime.RawExtension{Raw: []byte(observedOpenStack)},
			}},
			status: operatorv1.StaticPodOperatorStatus{
				OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 7, Conditions: []operatorv1.OperatorCondition{
					{Type: "StaticPodsAvailable", Status: "True", Message: "3 nodes are active"},
					{Type: "CloudControllerManagerAvailable", Status: "True"},
					{Type: "StaticPodsDegraded", Status: "True", Message: "a pod is gone"},
				}},
				NodeStatuses: []operatorv1.NodeStatus{
					{NodeName: "master-0", CurrentRevision: 7}, {NodeName: "new"}, {NodeName: "master-1", TargetRevision: 7},
				},
			},
		},
		kube: fake.NewClientset(objects...), policy: ccmv1.CloudControllerManagerRemovalPolicySafe, static: 2,
	}
	require.NoError(t, w.kube.Tracker().Add(&corev1.ServiceAccount{ObjectMeta: meta("installer-sa")}))
	w.recorder = events.NewInMemoryRecorder("test", w.clock)
	w.confirm("3")
	return w
}

// sync runs the controller of a new process of the operator once, and returns the error.
func (w *world) sync(t *testing.T) error {
	t.Helper()
	c, stop := w.process(t)
	defer stop()
	return c.sync(t.Context(), factory.NewSyncContext("test", w.recorder))
}

// process returns the controller of a new process of the operator, and how the process ends.
func (w *world) process(t *testing.T) (c *controller, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	target := informers.NewSharedInformerFactory(w.kube, 0)
	nodes := informers.NewSharedInformerFactoryWithOptions(w.kube, 0, informers.WithTweakListOptions(
		func(o *metav1.ListOptions) { o.LabelSelector = "node-role.kubernetes.io/master=" }))
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	c = &controller{Deps: dependencies.Deps{
		Operator: w.operatorResource, Target: target, Nodes: nodes.Core().V1().Nodes(), Kube: w.kube, Clock: w.clock, Recorder: w.recorder,
	}, Options: Options{
		Policy: func() (ccmv1.CloudControllerManagerRemovalPolicy, error) { return w.policy, nil },
		Annotate: func(_ context.Context, annotations map[string]string) error {
			maps.Copy(w.meta.Annotations, annotations)
			return nil
		},
		Leases:   target.Coordination().V1().Leases(),
		Metadata: metadatafake.NewSimpleMetadataClient(scheme, w.services...),
		RemoveStaticResources: func(context.Context, events.Recorder) (bool, error) {
			found := w.static > 0
			w.static = max(0, w.static-1)
			return found, nil
		},
		SignerSecret: "signer", OperatorImage: "operator",
	}}
	// New requests these informers.
	nodes.Core().V1().Nodes().Informer()
	core := target.Core().V1()
	for _, informer := range []interface {
		Informer() cache.SharedIndexInformer
	}{
		core.Pods(), core.ConfigMaps(), core.Secrets(), core.ServiceAccounts(),
	} {
		informer.Informer()
	}
	target.Coordination().V1().Leases().Informer()
	target.Apps().V1().Deployments().Informer()
	factories := []informers.SharedInformerFactory{target, nodes}
	for _, factory := range factories {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	w.kube.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return w.forbidden, nil, errors.New("forbidden")
	})
	return c, func() {
		cancel()
		for _, factory := range factories {
			factory.Shutdown()
		}
	}
}

// reasons returns those of the events.
func (w *world) reasons() []string {
	var reasons []string
	for _, event := range w.recorder.Events() {
		reasons = append(reasons, event.Reason)
	}
	return reasons
}

// syncs runs the controller several times, each time in a new process.
func (w *world) syncs(t *testing.T, times int) {
	t.Helper()
	for range times {
		require.NoError(t, w.sync(t))
	}
}

// end makes a pod end, as its kubelet does.
func (w *world) end(t *testing.T, name string, phase corev1.PodPhase, message string) {
	t.Helper()
	pod, err := w.kube.CoreV1().Pods(operand.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Phase = phase
	ended := &corev1.ContainerStateTerminated{Message: message, FinishedAt: metav1.NewTime(w.clock.Now())}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: ended}}}
	_, err = w.kube.CoreV1().Pods(operand.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func (w *world) delete(t *testing.T, pod string) {
	t.Helper()
	require.NoError(t, w.kube.CoreV1().Pods(operand.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}))
}

// existing returns the objects of all namespaces.
func (w *world) existing(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for kind, resource := range map[string]string{"Pod": "pods", "ConfigMap": "configmaps", "Secret": "secrets"} {
		list, err := w.kube.Tracker().List(
			corev1.SchemeGroupVersion.WithResource(resource), corev1.SchemeGroupVersion.WithKind(kind), "")
		require.NoError(t, err)
		switch l := list.(type) {
		case *corev1.PodList:
			for _, o := range l.Items {
				found["pod/"+o.Name] = true
			}
		case *corev1.ConfigMapList:
			for _, o := range l.Items {
				found["configmap/"+o.Name] = true
			}
		case *corev1.SecretList:
			for _, o := range l.Items {
				found["secret/"+o.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// writes returns the writes since the last call.
func (w *world) writes() []string {
	var writes []string
	for _, action := range w.kube.Actions() {
		if !slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			name := ""
			switch a := action.(type) {
			case clienttesting.CreateAction:
				name = a.GetObject().(metav1.Object).GetName()
			case clienttesting.DeleteAction:
				name = a.GetName()
			}
			writes = append(writes, strings.TrimSpace(action.GetVerb()+" "+action.GetResource().Resource+" "+name))
		}
	}
	w.kube.ClearActions()
	return writes
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: operand.Namespace, Name: name}
}

func master(name string, ready corev1.ConditionStatus, taints ...string) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/master": ""}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
	for _, key := range taints {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key})
	}
	return node
}

func pod(name, app, node string, phase corev1.PodPhase) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	p.Labels = map[string]string{"app": app}
	return p
}

func staticPodOn(node string) *corev1.Pod {
	return pod(operand.Name+"-"+node, operand.Name, node, corev1.PodRunning)
}

func leaseOf(holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: meta(operand.Lease), Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder)},
	}
}

func preflightLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: meta(operand.PreflightName)}
}
