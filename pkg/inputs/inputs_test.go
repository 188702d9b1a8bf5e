package inputs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// objects is a Reader of the given objects.
type objects struct {
	configMaps []*corev1.ConfigMap
	secrets    []*corev1.Secret
	// forbidden is a namespace without read access.
	forbidden string
}

var errForbidden = errors.New("no access")

func (o objects) errorIn(namespace string) error {
	if namespace == o.forbidden {
		return errForbidden
	}
	return nil
}

func (o objects) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	return find(o.configMaps, namespace, name), o.errorIn(namespace)
}

func (o objects) Secret(namespace, name string) (*corev1.Secret, error) {
	return find(o.secrets, namespace, name), o.errorIn(namespace)
}

func (o objects) Name(object string) string { return "here: " + object }

func find[T any, P interface {
	*T
	metav1.Object
}](all []P, namespace, name string,
) P {
	for _, object := range all {
		if object.GetNamespace() == namespace && object.GetName() == name {
			return object
		}
	}
	return nil
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func user(data map[string]string) *corev1.ConfigMap {
	return configMap("openshift-config", "cloud-provider-config", data)
}

func managed(data map[string]string) *corev1.ConfigMap {
	return configMap("openshift-config-managed", "kube-cloud-config", data)
}

func secret(namespace, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func platformNamed(t *testing.T, name string) platform.Platform {
	t.Helper()
	p, known := platform.ByName(name)
	require.True(t, known)
	return p
}

func TestTheCloudConfigurationIsFoundWhereItIsNamed(t *testing.T) {
	const (
		edited  = "here: configmap/cloud-provider-config in openshift-config"
		correct = "correct spec.cloudConfig of here: infrastructure.config.openshift.io/cluster"
	)
	named := operandconfig.Config{CloudConfig: operandconfig.CloudConfigReference{Name: "cloud-provider-config", Key: "mine"}}
	unkeyed := operandconfig.Config{CloudConfig: operandconfig.CloudConfigReference{Name: "cloud-provider-config"}}
	custom := named
	custom.Custom = &operatorv1.CustomCloudControllerManager{CloudConfig: operatorv1.CustomCloudControllerManagerCloudConfig{Name: "cloud-provider-config"}}
	for name, tc := range map[string]struct {
		observed operandconfig.Config
		platform string
		objects  []*corev1.ConfigMap
		want     operand.CloudConfig
		absent   map[string]Writer
	}{
		"none is named": {
			want: operand.CloudConfig{Source: "here: infrastructure.config.openshift.io/cluster, spec.cloudConfig"},
		},
		"the key, the CA bundle and what stands beside them": {
			observed: named,
			objects:  []*corev1.ConfigMap{user(map[string]string{"mine": "a", "ca-bundle.pem": "b", "extra": "c"})},
			want: operand.CloudConfig{
				Source: edited, Key: "mine", Data: []byte("a"), CABundle: []byte("b"), Keys: map[string][]byte{"extra": []byte("c")},
			},
		},
		"the installer's key, where none is named": {
			observed: unkeyed,
			objects:  []*corev1.ConfigMap{user(map[string]string{"config": "a"})},
			want:     operand.CloudConfig{Source: edited, Key: "config", Data: []byte("a")},
		},
		"an empty object of an old cluster, where no key is named": {
			observed: unkeyed,
			objects:  []*corev1.ConfigMap{user(nil)},
			want:     operand.CloudConfig{Source: edited, Key: "config"},
		},
		"an empty object, where a key is named": {
			observed: named,
			objects:  []*corev1.ConfigMap{user(nil)},
			want: operand.CloudConfig{
				Source: edited, Key: "mine", Diagnostic: "there is no such key, the object has no data; add the key, or " + correct,
			},
			absent: map[string]Writer{edited + ", key mine": Administrator},
		},
		"another key": {
			observed: named,
			objects:  []*corev1.ConfigMap{user(map[string]string{"ca-bundle.pem": "b"})},
			want: operand.CloudConfig{
				Source: edited, Key: "mine", CABundle: []byte("b"),
				Diagnostic: "there is no such key, the object has ca-bundle.pem; add the key, or " + correct,
			},
			absent: map[string]Writer{edited + ", key mine": Administrator},
		},
		"no object": {
			observed: named,
			want:     operand.CloudConfig{Source: edited, Key: "mine", Diagnostic: "it does not exist; create it, or " + correct},
			absent:   map[string]Writer{edited: Administrator},
		},
		"binary data": {
			observed: named,
			objects: []*corev1.ConfigMap{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"},
				BinaryData: map[string][]byte{"mine": {0xff}},
			}},
			want: operand.CloudConfig{Source: edited, Key: "mine", Diagnostic: binaryDataMessage},
		},
		"a CA bundle in binary data": {
			observed: named,
			objects: []*corev1.ConfigMap{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"},
				Data:       map[string]string{"mine": "a"}, BinaryData: map[string][]byte{"ca-bundle.pem": {0xff}},
			}},
			want: operand.CloudConfig{Source: edited, Key: "ca-bundle.pem", Data: []byte("a"), Diagnostic: binaryDataMessage},
		},
		"the managed copy, which has the user's text": {
			observed: named,
			objects:  []*corev1.ConfigMap{user(map[string]string{"mine": "a", "ca-bundle.pem": "b"}), managed(map[string]string{"cloud.conf": "a"})},
			want:     operand.CloudConfig{Source: edited, Key: "mine", Data: []byte("a"), CABundle: []byte("b")},
		},
		"the managed copy, which has another text": {
			observed: named,
			objects:  []*corev1.ConfigMap{user(map[string]string{"mine": "a"}), managed(map[string]string{"cloud.conf": "z", "ca-bundle.pem": "y"})},
			want: operand.CloudConfig{
				Source: "here: configmap/kube-cloud-config in openshift-config-managed", Key: "cloud.conf", Data: []byte("z"), CABundle: []byte("y"),
			},
		},
		"a managed copy without text": {
			observed: named,
			objects:  []*corev1.ConfigMap{user(map[string]string{"mine": "a"}), managed(map[string]string{"cloud.conf": ""})},
			want:     operand.CloudConfig{Source: edited, Key: "mine", Data: []byte("a")},
		},
		"the managed copy that this operator itself may write is no source": {
			observed: named, platform: "vsphere",
			objects: []*corev1.ConfigMap{user(map[string]string{"mine": "a"}), managed(map[string]string{"cloud.conf": "z"})},
			want:    operand.CloudConfig{Source: edited, Key: "mine", Data: []byte("a")},
		},
		"cluster-config-operator makes nothing of what spec.custom names": {
			observed: custom, platform: "external",
			objects: []*corev1.ConfigMap{managed(map[string]string{"cloud.conf": "z"})},
			want: operand.CloudConfig{Source: edited, Key: "mine", Diagnostic: "it does not exist; create it, or correct spec.custom.cloudConfig of " +
				"here: cloudcontrollermanager/cluster"},
			absent: map[string]Writer{edited: Administrator},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.platform == "" {
				tc.platform = "openstack"
			}
			p := platformNamed(t, tc.platform)
			p.Credentials = platform.Credentials{}
			got, err := Gather(objects{configMaps: tc.objects}, &tc.observed, p)
			require.NoError(t, err)
			require.Equal(t, tc.want, got.CloudConfig)
			if tc.absent == nil {
				tc.absent = map[string]Writer{}
			}
			require.Equal(t, tc.absent, got.Absent)
		})
	}
}

func TestCredentialsComeFromTheOperandsSecretBeforeTheRootSecret(t *testing.T) {
	const own = "here: secret/openstack-cloud-credentials in openshift-cloud-controller-manager"
	operands := secret("openshift-cloud-controller-manager", "openstack-cloud-credentials", nil)
	root := secret("kube-system", "openstack-credentials", map[string][]byte{"clouds.yaml": []byte("a")})
	for name, tc := range map[string]struct {
		secrets []*corev1.Secret
		want    operand.Credentials
		absent  map[string]Writer
	}{
		"both, one without keys": {
			secrets: []*corev1.Secret{root, operands},
			want:    operand.Credentials{Source: own, Data: map[string][]byte{}}, absent: map[string]Writer{},
		},
		"the root Secret alone": {
			secrets: []*corev1.Secret{root},
			want:    operand.Credentials{Source: "here: secret/openstack-credentials in kube-system", Data: root.Data}, absent: map[string]Writer{},
		},
		"none": {want: operand.Credentials{Source: own}, absent: map[string]Writer{own: Component}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Gather(objects{secrets: tc.secrets}, &operandconfig.Config{}, platformNamed(t, "openstack"))
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Credentials)
			require.Equal(t, tc.absent, got.Absent)
		})
	}
}

func TestSecretsOfSpecCustomAreTheCredentialsOfAPlatformWithoutASecret(t *testing.T) {
	observed := &operandconfig.Config{Custom: &operatorv1.CustomCloudControllerManager{Secrets: []operatorv1.CustomCloudControllerManagerSecret{
		{Name: "a"}, {Name: "b", Delivery: operatorv1.CustomCloudControllerManagerSecretDeliveryReloaded}, {Name: "gone"},
	}}}
	got, err := Gather(objects{secrets: []*corev1.Secret{
		secret("openshift-cloud-controller-manager", "a", map[string][]byte{"x": []byte("1")}),
		secret("openshift-cloud-controller-manager", "b", map[string][]byte{"y": []byte("2")}),
	}}, observed, platformNamed(t, "external"))
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"x": []byte("1")}, got.Credentials.Data)
	require.Equal(t, operand.CustomCredentials(got.Custom), got.Credentials)
	require.Equal(t, map[string][]byte{"y": []byte("2")}, got.Custom.Reloaded)
	require.Equal(t, map[string]Writer{"here: secret/gone in openshift-cloud-controller-manager": Administrator}, got.Absent)
}

func TestTheProxysTrustedCA(t *testing.T) {
	const (
		source  = "here: configmap/ca in openshift-config"
		correct = "correct spec.trustedCA of here: proxy.config.openshift.io/cluster"
	)
	for name, tc := range map[string]struct {
		named   string
		objects []*corev1.ConfigMap
		want    []operand.TrustSource
		absent  map[string]Writer
	}{
		"none is named": {absent: map[string]Writer{}},
		"it is there": {
			named: "ca", objects: []*corev1.ConfigMap{configMap("openshift-config", "ca", map[string]string{"ca-bundle.crt": "pem"})},
			want: []operand.TrustSource{{Source: source, Key: "ca-bundle.crt", Data: []byte("pem")}}, absent: map[string]Writer{},
		},
		"it is not there": {
			named:  "ca",
			want:   []operand.TrustSource{{Source: source, Key: "ca-bundle.crt", Diagnostic: "it does not exist; create it, or " + correct}},
			absent: map[string]Writer{source: Administrator},
		},
		"it has other keys": {
			named: "ca", objects: []*corev1.ConfigMap{configMap("openshift-config", "ca", map[string]string{"b": "", "a": ""})},
			want: []operand.TrustSource{{Source: source, Key: "ca-bundle.crt",
				Diagnostic: "there is no such key, the object has a, b; add the key, or " + correct}},
			absent: map[string]Writer{source + ", key ca-bundle.crt": Administrator},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Gather(objects{configMaps: tc.objects}, &operandconfig.Config{TrustedCA: tc.named}, platform.Platform{})
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Trust)
			require.Equal(t, tc.absent, got.Absent)
		})
	}
}

func TestAnObjectThatCannotBeReadIsAnError(t *testing.T) {
	observed := &operandconfig.Config{CloudConfig: operandconfig.CloudConfigReference{Name: "cloud-provider-config"}, TrustedCA: "ca"}
	for _, namespace := range []string{"openshift-config", "openshift-config-managed", "openshift-cloud-controller-manager", "kube-system"} {
		t.Run(namespace, func(t *testing.T) {
			_, err := Gather(objects{forbidden: namespace}, observed, platformNamed(t, "openstack"))
			require.ErrorIs(t, err, errForbidden)
		})
	}
}
