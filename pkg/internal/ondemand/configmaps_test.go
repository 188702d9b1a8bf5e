package ondemand_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

const configNamespace = "openshift-config"

var _ coreinformers.ConfigMapInformer = &ondemand.ConfigMaps{}

// newConfigMaps returns the informer of a server's ConfigMaps. added receives the names of the events.
func newConfigMaps(t *testing.T, server *apitest.Server) (configMaps *ondemand.ConfigMaps, added chan string) {
	t.Helper()
	kube, err := kubernetes.NewForConfig(server.Config)
	require.NoError(t, err)
	configMaps = ondemand.NewConfigMaps(func(name string) cache.SharedIndexInformer {
		return coreinformers.NewFilteredConfigMapInformer(kube, configNamespace, 0, cache.Indexers{},
			func(o *metav1.ListOptions) {
				o.FieldSelector = "metadata.name=" + name
			})
	})
	added = make(chan string, 10)
	_, err = configMaps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { added <- obj.(*corev1.ConfigMap).Name },
		UpdateFunc: func(_, obj any) { added <- obj.(*corev1.ConfigMap).Data["key"] },
	})
	require.NoError(t, err)
	require.True(t, configMaps.Informer().HasSynced())
	return configMaps, added
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: configNamespace, Name: name},
		Data: map[string]string{"key": value}}
}

func TestOnlyConfigMapsThatAreReadAreWatched(t *testing.T) {
	server := apitest.Start(t)
	server.Set(t, configMap("read", "1"), configMap("other", "1"))
	configMaps, added := newConfigMaps(t, server)
	configMaps.Start(t.Context().Done())
	require.Empty(t, server.Requests())

	reader := configMaps.Lister().ConfigMaps(configNamespace)
	found, err := reader.Get("read")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"key": "1"}, found.Data)
	require.Equal(t, "read", <-added)
	for _, request := range server.Requests() {
		require.Equal(t, "metadata.name=read", request.Fields)
	}

	server.Set(t, configMap("read", "2"))
	require.Equal(t, "2", <-added)
	found, err = reader.Get("read")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"key": "2"}, found.Data)

	_, err = reader.Get("missing")
	require.True(t, apierrors.IsNotFound(err), err)
	server.Set(t, configMap("missing", "1"))
	require.Equal(t, "missing", <-added)

	_, err = reader.List(labels.Everything())
	require.EqualError(t, err, "these ConfigMaps are read by name")
}

func TestTheConfigMapThatWasNotReadForLongestIsWatchedNoLonger(t *testing.T) {
	server := apitest.Start(t)
	configMaps, added := newConfigMaps(t, server)
	configMaps.Start(t.Context().Done())
	reader := configMaps.Lister().ConfigMaps(configNamespace)
	for _, i := range []int{0, 1, 2, 3, 0, 4} {
		_, err := reader.Get(fmt.Sprint(i))
		require.True(t, apierrors.IsNotFound(err), err)
	}
	server.AwaitWatches(t, 4)
	server.Set(t, configMap("1", "1"), configMap("0", "1"))
	require.Equal(t, "0", <-added)
}

func TestAConfigMapIsUnknownWhileNoWatchRuns(t *testing.T) {
	configMaps, _ := newConfigMaps(t, apitest.Start(t))
	reader := configMaps.Lister().ConfigMaps(configNamespace)
	_, err := reader.Get("any")
	require.EqualError(t, err, "its watch does not run")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	configMaps.Start(ctx.Done())
	_, err = reader.Get("any")
	require.EqualError(t, err, "its watch does not run")
}
