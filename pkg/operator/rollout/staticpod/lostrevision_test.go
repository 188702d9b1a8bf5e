package staticpod

import (
	"context"
	"errors"
	"strconv"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// operatorWith is an operator resource whose cache may be behind the API server.
type operatorWith struct {
	v1helpers.StaticPodOperatorClient
	cached, live int32
	// nodes are at this revision.
	nodes   int32
	applied []int32
}

func (o *operatorWith) GetStaticPodOperatorState() (*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error) {
	status := &operatorv1.StaticPodOperatorStatus{NodeStatuses: []operatorv1.NodeStatus{{CurrentRevision: o.nodes}, {TargetRevision: o.nodes}}}
	status.LatestAvailableRevision = o.cached
	return nil, status, "", nil
}

func (o *operatorWith) GetStaticPodOperatorStateWithQuorum(context.Context) (*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error) {
	status := &operatorv1.StaticPodOperatorStatus{NodeStatuses: []operatorv1.NodeStatus{{CurrentRevision: o.nodes}, {TargetRevision: o.nodes}}}
	status.LatestAvailableRevision = o.live
	return nil, status, "", nil
}

func (o *operatorWith) ApplyOperatorStatus(_ context.Context, _ string, status *applyoperatorv1.OperatorStatusApplyConfiguration) error {
	if status.LatestAvailableRevision != nil {
		o.applied = append(o.applied, *status.LatestAvailableRevision)
	} else {
		o.applied = append(o.applied, 0)
	}
	return nil
}

// revisionStatuses returns a client with the ready revisions, and with one that is not ready.
func revisionStatuses(unready string, ready ...int) *fake.Clientset {
	client := fake.NewClientset()
	add := func(revision, isReady string) {
		_ = client.Tracker().Add(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "openshift-cloud-controller-manager", Name: "revision-status-" + revision,
				Annotations: map[string]string{readyAnnotation: isReady},
			},
			Data: map[string]string{"revision": revision},
		})
	}
	for _, revision := range ready {
		add(strconv.Itoa(revision), "true")
	}
	if unready != "" {
		add(unready, "false")
	}
	return client
}

func TestALatestRevisionThatExistsNoMoreIsNotWritten(t *testing.T) {
	operator := &operatorWith{live: 2}
	client := revisionClient{StaticPodOperatorClient: operator, configMaps: revisionStatuses("3", 1, 2).CoreV1()}
	for _, revision := range []int32{1, 2, 3, 4} {
		require.NoError(t, client.ApplyOperatorStatus(t.Context(), "test",
			applyoperatorv1.OperatorStatus().WithLatestAvailableRevision(revision)))
	}
	require.NoError(t, client.ApplyOperatorStatus(t.Context(), "test", applyoperatorv1.OperatorStatus()))
	require.Equal(t, []int32{1, 2, 0}, operator.applied)

	operator.nodes = 4
	require.NoError(t, client.ApplyOperatorStatus(t.Context(), "test", applyoperatorv1.OperatorStatus().WithLatestAvailableRevision(4)))
	require.Equal(t, []int32{1, 2, 0, 4}, operator.applied, "a node claims it, so a later one has to follow")
}

func TestANewRevisionIsWrittenOnceItExists(t *testing.T) {
	operator := &operatorWith{live: 1}
	kube := revisionStatuses("3", 1, 2)
	client := revisionClient{StaticPodOperatorClient: operator, configMaps: kube.CoreV1()}
	for _, revision := range []int32{2, 3} {
		require.NoError(t, client.ApplyOperatorStatus(t.Context(), "test",
			applyoperatorv1.OperatorStatus().WithLatestAvailableRevision(revision)))
	}
	require.Equal(t, []int32{2}, operator.applied, "the other one is not complete")

	kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcdserver: request timed out")
	})
	require.EqualError(t, client.ApplyOperatorStatus(t.Context(), "test", applyoperatorv1.OperatorStatus().WithLatestAvailableRevision(3)),
		"reading configmap/revision-status-3 in openshift-cloud-controller-manager: etcdserver: request timed out")
	require.Equal(t, []int32{2}, operator.applied)
}

func TestALatestRevisionThatWasLostIsListed(t *testing.T) {
	for name, tc := range map[string]struct {
		cached, live, nodes          int32
		cachedRevision, liveRevision []int
		want                         []string
	}{
		"it exists":                              {cached: 2, live: 2, cachedRevision: []int{1, 2}, want: []string{"revision-status-1", "revision-status-2"}},
		"there is none yet":                      {},
		"it was lost with a restore":             {cached: 4, live: 4, cachedRevision: []int{2}, liveRevision: []int{2}, want: []string{"revision-status-2", "revision-status-4"}},
		"the cache does not have it yet":         {cached: 3, live: 3, cachedRevision: []int{2}, liveRevision: []int{2, 3}, want: []string{"revision-status-2"}},
		"a node claims one that was lost":        {cached: 2, live: 2, nodes: 5, cachedRevision: []int{2}, liveRevision: []int{2}, want: []string{"revision-status-2", "revision-status-5"}},
		"the cached status is that of before it": {cached: 4, live: 2, cachedRevision: []int{2}, liveRevision: []int{2}, want: []string{"revision-status-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			configMaps := lostRevisions{
				ConfigMapsGetter: revisionStatuses("", tc.cachedRevision...).CoreV1(),
				live:             revisionStatuses("", tc.liveRevision...).CoreV1(),
				operator:         &operatorWith{cached: tc.cached, live: tc.live, nodes: tc.nodes},
			}
			list, err := configMaps.ConfigMaps("openshift-cloud-controller-manager").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			var names []string
			for _, configMap := range list.Items {
				names = append(names, configMap.Name)
				require.Equal(t, "true", configMap.Annotations[readyAnnotation])
				require.Equal(t, configMap.Name, "revision-status-"+configMap.Data["revision"])
			}
			require.Equal(t, tc.want, names)
		})
	}
}

func TestACopyThatTheCacheOfSecretsLacksIsReadLive(t *testing.T) {
	const namespace = "openshift-cloud-controller-manager"
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	for _, test := range []struct {
		name, secret  string
		cached, live  []string
		isFound, asks bool
	}{
		{"a copy in the cache", "cloud-config-3", []string{"cloud-config", "cloud-config-3"}, nil, true, false},
		{"a copy that is late", "cloud-config-3", []string{"cloud-config"}, []string{"cloud-config-3"}, true, true},
		{"a copy that does not exist", "cloud-config-3", []string{"cloud-config"}, nil, false, true},
		{"a copy of nothing", "cloud-config-3", nil, []string{"cloud-config-3"}, false, false},
		{"a Secret that is no copy", "token", nil, []string{"token"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			cache, live := fake.NewClientset(), fake.NewClientset()
			for _, name := range test.cached {
				require.NoError(t, cache.Tracker().Add(secret(name)))
			}
			for _, name := range test.live {
				require.NoError(t, live.Tracker().Add(secret(name)))
			}
			secrets := lateSecrets{SecretsGetter: cache.CoreV1(), live: live.CoreV1()}.Secrets(namespace)
			_, err := secrets.Get(t.Context(), test.secret, metav1.GetOptions{})
			require.Equal(t, test.isFound, err == nil, "%v", err)
			require.Equal(t, !test.isFound, apierrors.IsNotFound(err))
			require.Len(t, live.Actions(), map[bool]int{true: 1}[test.asks])
		})
	}
}
