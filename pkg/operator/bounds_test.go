package operator

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/services/loadbalancers"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// A bound of the table of watches in docs/architecture.md.
const (
	oneObject = "one object"
	trusted   = "none: they are root on the control plane"
)

var (
	boundRow  = regexp.MustCompile("(?m)^\\| `(/api[^`]*)` \\| (?:`([^`]*)`|all) \\| ([^|]+) \\| [^|]+ \\| ([^|]+) \\|$")
	boundText = regexp.MustCompile(`^(\d+) (KiB|MiB) (each|in all)\b`)
)

// forge returns the objects that whoever can add to a watch may make it keep: as many, and as large, as it lets.
type forge func(t *testing.T) (kept any, count int)

// large is a text in a field without a limit of its own. The API server takes 1.5 MiB.
func large() string { return strings.Repeat("x", 512<<10) }

// forges are those of the rows whose bound is a number, by path and selector.
var forges = map[string]forge{
	"/api/v1/namespaces/default/events reason=DeletingNode,source=cloud-node-lifecycle-controller": func(t *testing.T) (any, int) {
		t.Helper()
		watch := nodedeletion.NewAnnouncements(nil)
		for i := range 12000 {
			event := &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%0253d", i)},
				InvolvedObject: corev1.ObjectReference{UID: types.UID(fmt.Sprintf("%036d", i))},
			}
			if i%100 == 0 {
				event.Message, event.InvolvedObject.FieldPath = large(), large()
			}
			require.NoError(t, watch.Add(decoded(t, event, &corev1.Event{})))
		}
		return watch, 12000
	},
	"/api/v1/services spec.type=LoadBalancer": func(t *testing.T) (any, int) {
		t.Helper()
		watch := loadbalancers.NewWatch(nil, clocktesting.NewFakeClock(time.Now()))
		for i := range 3000 {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("%063d", i), Name: fmt.Sprintf("%063d", i), UID: types.UID(fmt.Sprintf("%036d", i))},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
			}
			if i%100 == 0 {
				service.Annotations = map[string]string{"a": large()}
			}
			require.NoError(t, watch.Update(decoded(t, service, &corev1.Service{})))
		}
		return watch, 3000
	},
	"/api/v1/nodes ": func(t *testing.T) (any, int) {
		t.Helper()
		var kept []any
		for i := range 100 {
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("%0253d", i), UID: types.UID(fmt.Sprintf("%036d", i)),
					Labels: map[string]string{"a": large(), corev1.LabelTopologyZone: large()}, Annotations: map[string]string{nodedeletion.Annotation: large()},
				},
				Spec: corev1.NodeSpec{ProviderID: strconv.Itoa(i) + large()},
				Status: corev1.NodeStatus{
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Message: large(), Reason: large()}},
					Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: large()}},
					NodeInfo:   corev1.NodeSystemInfo{SystemUUID: large()}, Images: []corev1.ContainerImage{{Names: []string{large()}}},
				},
			}
			facts, err := nodedeletion.StripNode(decoded(t, node, &corev1.Node{}))
			require.NoError(t, err)
			kept = append(kept, facts)
		}
		return kept, len(kept)
	},
	"/api/v1/namespaces/openshift-cloud-controller-manager/pods k8s-app!=azure-cloud-node-manager": func(t *testing.T) (any, int) {
		t.Helper()
		var kept []any
		for i := range 20 {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: fmt.Sprint(i), Labels: map[string]string{"app": large()}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: []string{large()}}}},
				Status:     corev1.PodStatus{Message: large()},
			}
			stripped, err := stripTarget(decoded(t, pod, &corev1.Pod{}))
			require.NoError(t, err)
			kept = append(kept, stripped)
		}
		return kept, len(kept)
	},
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// decoded returns an object as the watch decodes it: no string is shared.
func decoded[T message](t *testing.T, object, into T) T {
	t.Helper()
	content, err := object.Marshal()
	require.NoError(t, err)
	require.NoError(t, into.Unmarshal(content))
	return into
}

func liveHeap() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // What unique has made goes with the second one.
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestEachWatchIsBoundedAsTheDocumentSays(t *testing.T) {
	content, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	rows := boundRow.FindAllStringSubmatch(string(content), -1)
	require.Len(t, rows, len(documented(t)), "each row has a bound")
	tried := 0
	for _, row := range rows {
		path, selector, who, bound := row[1], row[2], row[3], row[4]
		t.Run(path+" "+selector, func(t *testing.T) {
			switch bound {
			case oneObject:
				require.True(t, strings.HasPrefix(selector, "metadata.name="), "only a selection by name is of one object")
			case trusted:
				require.True(t, strings.HasPrefix(who, "cluster administrators"), who)
				require.Empty(t, creators(t, path), "the identities of the payload that may create some")
			default:
				limit := boundText.FindStringSubmatch(bound)
				require.NotEmpty(t, limit, bound)
				flood := forges[path+" "+selector]
				require.NotNil(t, flood, "no test forges objects for a bound that is a number")
				tried++
				before := liveHeap()
				kept, count := flood(t)
				growth := liveHeap() - before
				runtime.KeepAlive(kept)
				bytes, err := strconv.Atoi(limit[1])
				require.NoError(t, err)
				bytes <<= map[string]int{"KiB": 10, "MiB": 20}[limit[2]]
				if limit[3] == "each" {
					bytes *= count
				}
				require.Less(t, growth, bytes)
			}
		})
	}
	require.Equal(t, len(forges), tried)
}

// creators returns the identities beside the operator that docs/rights.md lets create objects of a collection.
func creators(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile("../../docs/rights.md")
	require.NoError(t, err)
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	group, resource, namespace := "core", parts[len(parts)-1], ""
	if parts[0] == "apis" {
		group = parts[1]
	}
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		namespace = parts[i+1]
	}
	var found []string
	identity := ""
	for line := range strings.Lines(string(content)) {
		if name, is := strings.CutPrefix(line, "## "); is {
			identity = strings.TrimSpace(name)
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) < 5 || identity == operatorclient.OperatorNamespace+":cluster-cloud-controller-manager" {
			continue
		}
		where := strings.TrimPrefix(cells[0], "| ")
		isIn := where == "**all**" || where == namespace
		if isIn && cells[1] == group && cells[2] == resource && slices.Contains(strings.Split(cells[4], ", "), "create") {
			found = append(found, identity)
		}
	}
	return found
}

func TestAPodThatIsTooLargeIsNoneOfOurs(t *testing.T) {
	pod := func(size int) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: operand.Namespace, Name: "a", UID: "u", ResourceVersion: "7",
				Labels: map[string]string{"app": "cloud-controller-manager"},
			},
			Status: corev1.PodStatus{Message: strings.Repeat("x", size)},
		}
	}
	for name, tc := range map[string]struct {
		size int
		want *corev1.Pod
	}{
		"an ordinary one is kept": {size: 1 << 10, want: pod(1 << 10)},
		"of a larger one, no label is left": {size: maxPod, want: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace, Name: "a", UID: "u", ResourceVersion: "7",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			given := pod(tc.size)
			given.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: strings.Repeat("x", maxPod)}}
			stripped, err := stripTarget(given)
			require.NoError(t, err)
			require.Equal(t, tc.want, stripped)
		})
	}
}
