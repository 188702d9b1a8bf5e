package resourcesynccontroller

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
)

const (
	target   = "openshift-cloud-controller-manager"
	user     = "openshift-config"
	managed  = "openshift-config-managed"
	observed = `{"platform": "openstack", "cloudConfig": {"name": "cloud-provider-config", "key": "config"}, "trustedCA": "user-ca-bundle"}`
)

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"config.openshift.io/inject-trusted-cabundle": "true"}},
		Data:       data,
	}
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name}, Data: data}
}

// copied is what a copy is expected to be.
type copied struct {
	from string
	data map[string]string
}

func TestRawCopies(t *testing.T) {
	text := map[string]string{"config": "[Global]\n", "ca-bundle.pem": "a CA"}
	for name, tc := range map[string]struct {
		observed string
		objects  []runtime.Object
		want     map[string]copied
	}{
		"each source is copied": {
			observed: observed,
			objects: []runtime.Object{
				configMap(user, "cloud-provider-config", text), configMap(user, "user-ca-bundle", map[string]string{"ca-bundle.crt": "PEM"}),
				configMap(user, "other", text), secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte("clouds: {}")}),
			},
			want: map[string]copied{
				"configmap/raw-cloud-config":   {"openshift-config/cloud-provider-config", text},
				"configmap/raw-trusted-ca":     {"openshift-config/user-ca-bundle", map[string]string{"ca-bundle.crt": "PEM"}},
				"secret/raw-cloud-credentials": {"openshift-cloud-controller-manager/openstack-cloud-credentials", map[string]string{"clouds.yaml": "clouds: {}"}},
			},
		},
		"the managed cloud config comes first": {
			observed: observed,
			objects: []runtime.Object{
				configMap(user, "cloud-provider-config", text), configMap(managed, "kube-cloud-config", map[string]string{"cloud.conf": "managed"}),
			},
			want: map[string]copied{
				"configmap/raw-cloud-config": {"openshift-config-managed/kube-cloud-config", map[string]string{"cloud.conf": "managed"}},
			},
		},
		"a managed cloud config that this operator writes is no source": {
			observed: `{"platform": "vsphere", "cloudConfig": {"name": "cloud-provider-config", "key": "config"}}`,
			objects: []runtime.Object{
				configMap(user, "cloud-provider-config", text), configMap(managed, "kube-cloud-config", map[string]string{"cloud.conf": "managed"}),
			},
			want: map[string]copied{"configmap/raw-cloud-config": {"openshift-config/cloud-provider-config", text}},
		},
		"an empty managed cloud config counts for nothing": {
			observed: observed,
			objects:  []runtime.Object{configMap(user, "cloud-provider-config", text), configMap(managed, "kube-cloud-config", nil)},
			want:     map[string]copied{"configmap/raw-cloud-config": {"openshift-config/cloud-provider-config", text}},
		},
		"copies without a source go": {
			observed: observed,
			objects: []runtime.Object{
				configMap(target, "raw-cloud-config", text), configMap(target, "raw-trusted-ca", text), secret("raw-cloud-credentials", nil),
			},
			want: map[string]copied{},
		},
		"copies of what is no longer named go": {
			observed: `{"platform": "openstack"}`,
			objects: []runtime.Object{
				configMap(user, "cloud-provider-config", text), configMap(target, "raw-cloud-config", text), configMap(target, "raw-trusted-ca", text),
			},
			want: map[string]copied{},
		},
		"a changed copy is made right": {
			observed: observed,
			objects:  []runtime.Object{configMap(user, "cloud-provider-config", text), configMap(target, "raw-cloud-config", map[string]string{"mine": "x"})},
			want:     map[string]copied{"configmap/raw-cloud-config": {"openshift-config/cloud-provider-config", text}},
		},
		"nothing is done while the platform is not known": {
			objects: []runtime.Object{configMap(target, "raw-cloud-config", text)},
			want:    map[string]copied{"configmap/raw-cloud-config": {"", text}},
		},
		"nothing is done on a platform without a controller manager": {
			observed: `{"platform": "none", "cloudConfig": {"name": "cloud-provider-config"}}`,
			objects:  []runtime.Object{configMap(user, "cloud-provider-config", text)},
			want:     map[string]copied{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(tc.objects...)
			c, recorder := newTestController(t, kube, tc.observed)
			require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", recorder)))
			require.Equal(t, tc.want, copies(t, kube))
		})
	}
}

func newTestController(t *testing.T, kube *fake.Clientset, observed string) (*controller, events.Recorder) {
	t.Helper()
	core := informers.NewSharedInformerFactory(kube, 0).Core().V1()
	configMaps, err := kube.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range configMaps.Items {
		require.NoError(t, core.ConfigMaps().Informer().GetStore().Add(&configMaps.Items[i]))
	}
	secrets, err := kube.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range secrets.Items {
		require.NoError(t, core.Secrets().Informer().GetStore().Add(&secrets.Items[i]))
	}
	operator := v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}}},
		&operatorv1.StaticPodOperatorStatus{NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 7}}}, nil, nil)
	return &controller{
		operator: operator,
		sources: Sources{
			UserConfig: core.ConfigMaps().Lister(), ManagedConfig: core.ConfigMaps().Lister(), Secrets: core.Secrets().Lister().Secrets(target),
		},
		targetConfigMaps: core.ConfigMaps().Lister().ConfigMaps(target),
		targetSecrets:    core.Secrets().Lister().Secrets(target),
		configMaps:       kube.CoreV1(),
		secrets:          kube.CoreV1(),
	}, events.NewInMemoryRecorder("test", clock.RealClock{})
}

// copies are the raw copies that exist.
func copies(t *testing.T, kube *fake.Clientset) map[string]copied {
	t.Helper()
	found := map[string]copied{}
	configMaps, err := kube.CoreV1().ConfigMaps(target).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, object := range configMaps.Items {
		found["configmap/"+object.Name] = copied{object.Annotations[SourceAnnotation], object.Data}
	}
	secrets, err := kube.CoreV1().Secrets(target).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, object := range secrets.Items {
		if object.Name == "openstack-cloud-credentials" {
			continue
		}
		data := map[string]string{}
		for key, value := range object.Data {
			data[key] = string(value)
		}
		found["secret/"+object.Name] = copied{object.Annotations[SourceAnnotation], data}
	}
	return found
}

func TestLabelsAreNotCopied(t *testing.T) {
	kube := fake.NewClientset(configMap(user, "user-ca-bundle", map[string]string{"ca-bundle.crt": "PEM"}))
	c, recorder := newTestController(t, kube, observed)
	require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", recorder)))
	got, err := kube.CoreV1().ConfigMaps(target).Get(t.Context(), "raw-trusted-ca", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, got.Labels, "the network operator would write into the copy")
}
