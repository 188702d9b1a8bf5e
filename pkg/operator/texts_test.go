package operator

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

const (
	// bait is the character of which the texts of other clients consist. Ordinary messages have few of it.
	bait = "9"
	// maxBait is how many of it one message may have: those of a few values with at most 300 characters.
	maxBait = 1 << 10
)

// fill sets each empty string of an object to the text, and adds an item to each empty list and an entry to each map.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() == "" {
			v.SetString(text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), text)
		}
	case reflect.Slice:
		if v.Len() == 0 && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
			v.SetMapIndex(reflect.ValueOf(text).Convert(v.Type().Key()), reflect.ValueOf(text).Convert(v.Type().Elem()))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).CanSet() && !isIdentity(name) {
				fill(v.Field(i), text)
			}
		}
	default:
	}
}

// isIdentity reports whether the API server sets or validates a field, so that a client cannot write any text into it.
func isIdentity(field string) bool {
	return slices.Contains([]string{"TypeMeta", "Name", "Namespace", "UID", "ResourceVersion", "GenerateName", "SelfLink",
		"OwnerReferences", "ManagedFields", "NodeName"}, field)
}

// filled returns the object, with the text in every field that its writer may choose.
func filled[T any](object *T, text string) *T {
	fill(reflect.ValueOf(object).Elem(), text)
	return object
}

// eachMessage calls see with each message that the operator has written.
func (w *world) eachMessage(see func(of, message string)) {
	var walk func(of string, value any)
	walk = func(of string, value any) {
		switch value := value.(type) {
		case string:
			see(of, value)
		case []any:
			for _, item := range value {
				walk(of, item)
			}
		case map[string]any:
			for key, item := range value {
				walk(of+" "+key, item)
			}
		}
	}
	for _, resource := range []schema.GroupVersionResource{
		{Group: "operator.openshift.io", Version: "v1", Resource: "cloudcontrollermanagers"},
		{Group: "config.openshift.io", Version: "v1", Resource: "clusteroperators"},
	} {
		for _, object := range w.List(resource) {
			walk(apitest.Key(object), object["status"])
		}
	}
	for _, event := range w.List(corev1.SchemeGroupVersion.WithResource("events")) {
		if reported := apitest.Load[corev1.Event](event); reported.Source.Component == "cloud-controller-manager-operator" {
			see("an Event", reported.Message)
		}
	}
}

// Each object has a writer that may choose any text: a kubelet, a tenant, an administrator, the CCM, or a cloud through
// the CCM's log. With the second size, each object has several MB, more than etcd stores. The operator skips objects that
// are too large, so the first size is one that it reads.
func TestNoMessageHasMuchOfTheTextsOfOthers(t *testing.T) {
	for name, size := range map[string]int{"2 KB": 2 << 10, "256 KB": 256 << 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := startWorld(t)
				defer func() {
					synctest.Wait()
					w.stop()
					require.NoError(t, <-w.ended)
				}()
				text := strings.Repeat(bait, size)
				w.SetLog("cloud-controller-manager-m0", leads+fails+
					"E1124 09:03:05.000000       1 node_controller.go:236] error syncing 'huge': failed to get instance metadata "+
					"for node huge: "+text[:min(size, 200<<10)]+", requeuing\n")
				uninitialized := corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: "NoSchedule"}
				waiting, huge := machine("waiting", corev1.ConditionTrue), machine("huge", corev1.ConditionTrue)
				for _, node := range []*corev1.Node{waiting, huge} {
					node.Spec.ProviderID, node.Spec.Taints = "", []corev1.Taint{uninitialized}
				}
				drifted := machine("drifted", corev1.ConditionTrue)
				drifted.Spec.Taints = []corev1.Taint{{Key: text + "/uninitialized", Effect: "NoSchedule"}}
				service := &corev1.Service{ObjectMeta: metaOf("shop", "web"), Spec: corev1.ServiceSpec{Type: "LoadBalancer"}}
				service.CreationTimestamp = metav1.Now()
				w.Set(t, waiting, filled(huge, text), filled(drifted, text), service, filled(&corev1.Event{
					ObjectMeta:     metaOf("shop", "web.1"),
					InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: "web", UID: "uid-of-web"},
					Type:           "Warning", LastTimestamp: metav1.Now(),
					Source: corev1.EventSource{Component: "service-controller"},
				}, text), filled(&corev1.Service{
					ObjectMeta: metaOf("shop", "huge"), Spec: corev1.ServiceSpec{Type: "LoadBalancer"},
				}, text), filled(machine("silent", corev1.ConditionUnknown), text), filled(&corev1.Event{
					ObjectMeta:     metaOf("default", "silent.1"),
					InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "silent", UID: "uid-of-silent"},
					Source:         corev1.EventSource{Component: "cloud-node-lifecycle-controller"},
					Reason:         "DeletingNode", LastTimestamp: metav1.Now(),
				}, text), filled(mirror("w1", text), text), filled(&configv1.Infrastructure{
					ObjectMeta: metaOf("", "cluster"),
					Status: configv1.InfrastructureStatus{
						PlatformStatus:       &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType},
						ControlPlaneTopology: configv1.HighlyAvailableTopologyMode,
						APIServerInternalURL: "https://api-int.ostest.example.com:6443",
					},
				}, text), &corev1.ConfigMap{ObjectMeta: metaOf("openshift-config", "cloud-provider-config"),
					Data: map[string]string{"config": "[Global]\n" + text + " = 1\nregion = " + text + "\n[" + text + "]\n"}})
				<-time.After(15 * time.Minute)
				seen := ""
				read := func() {
					w.eachMessage(func(of, message string) {
						require.Less(t, strings.Count(message, bait), maxBait, of)
						seen += message + "\n"
					})
				}
				read()
				w.holder.Store(ptr.To(text + "_" + text))
				<-time.After(5 * time.Minute)
				read()
				for _, quoted := range []string{"node/waiting", "node/huge", "node/drifted", "is held by \"" + bait} {
					require.Contains(t, seen, quoted)
				}
			})
		})
	}
}

// mirror returns the mirror pod that the kubelet of a worker may create in any namespace, which claims to be a CCM that
// does not start.
func mirror(node, text string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: target("cloud-controller-manager-" + node),
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "cloud-controller-manager", Image: text}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "cloud-controller-manager", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: text}},
		}}},
	}
	pod.Labels = map[string]string{"app": "cloud-controller-manager", "revision": "1"}
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "a"}
	return pod
}
