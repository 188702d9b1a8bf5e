package managedcloudconfig

import (
	"errors"
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
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const (
	// observed has one vCenter, and the gate is on.
	observed = `{"platform": "vsphere", "infrastructureName": "ci-x7k2p", "cloudConfig": {"name": "cloud-provider-config", "key": "config"},
		"cluster": {"featureGates": ["VSphereMultiVCenterDay2"],
			"spec": {"type": "VSphere", "vsphere": {"vcenters": [{"server": "vcenter1.example.com", "datacenters": ["DC1"]}]}}}}`
	gateOff = `{"platform": "vsphere", "cloudConfig": {"name": "cloud-provider-config", "key": "config"},
		"cluster": {"featureGates": ["VSphereMixedNodeEnv"],
			"spec": {"type": "VSphere", "vsphere": {"vcenters": [{"server": "vcenter1.example.com", "datacenters": ["DC1"]}]}}}}`
	otherPlatform = `{"platform": "openstack", "cloudConfig": {"name": "cloud-provider-config", "key": "config"},
		"cluster": {"featureGates": ["VSphereMultiVCenterDay2"]}}`
	noReference = `{"platform": "vsphere",
		"cluster": {"featureGates": ["VSphereMultiVCenterDay2"],
			"spec": {"type": "VSphere", "vsphere": {"vcenters": [{"server": "vcenter1.example.com", "datacenters": ["DC1"]}]}}}}`
	nothingKnown = `{"platform": "vsphere", "cluster": {"featureGates": ["VSphereMultiVCenterDay2"]}}`

	ini = `[Global]
secret-name = "vsphere-creds"
secret-namespace = "kube-system"
insecure-flag = "1"

[VirtualCenter "vcenter1.example.com"]
datacenters = "DC1"

[VirtualCenter "gone.example.com"]
datacenters = "DC9"
`

	rewritten = `global:
  insecureFlag: true
  secretName: vsphere-creds
  secretNamespace: kube-system
vcenter:
  vcenter1.example.com:
    server: vcenter1.example.com
    datacenters:
      - DC1
`
	stub = `global:
  secretName: vsphere-creds
  secretNamespace: kube-system
vcenter:
  vcenter1.example.com:
    server: vcenter1.example.com
    datacenters:
      - DC1
`
	emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	kept        = "configmap/kube-cloud-config in openshift-config-managed is not updated: "
	typo        = "[Global]\ninsecure-flga = 1\n\n[VirtualCenter \"vcenter1.example.com\"]\ndatacenters = \"DC1\"\n"
)

func user(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"}, Data: data}
}

// managed returns kube-cloud-config; without a digest it is cluster-config-operator's version.
func managed(digest string, data map[string]string) *corev1.ConfigMap {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config-managed", Name: "kube-cloud-config"}, Data: data}
	if digest != "" {
		configMap.Annotations = map[string]string{"cloud-controller-manager.openshift.io/accepted-input": digest}
	}
	return configMap
}

// candidate returns the pod ConfigMap of an accepted configuration.
func candidate(config string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: operand.Namespace, Name: operand.PodConfigMap,
		Annotations: map[string]string{operand.AcceptedInputAnnotation: operand.InputDigest(operand.Inputs{
			CloudConfig: operand.CloudConfig{Data: []byte(config)},
		})},
	}}
}

func TestSync(t *testing.T) {
	update := []string{"get configmaps", "update configmaps"}
	create := []string{"get configmaps", "create configmaps"}
	for name, tc := range map[string]struct {
		observed string
		objects  []runtime.Object
		writeErr error
		verbs    []string
		want     map[string]string
		digest   string
		wantErr  string
	}{
		"the user's configuration is rewritten, and what stands beside it is kept": {
			observed: observed, objects: []runtime.Object{user(map[string]string{"config": ini, "ca-bundle.pem": "a CA"})},
			verbs: create, want: map[string]string{"cloud.conf": rewritten, "ca-bundle.pem": "a CA"}, digest: digest.Hex(ini),
		},
		"what another operator wrote is replaced": {
			observed: observed, objects: []runtime.Object{user(map[string]string{"config": ini}), managed("", map[string]string{"cloud.conf": ini, "old": "x"})},
			verbs: update, want: map[string]string{"cloud.conf": rewritten}, digest: digest.Hex(ini),
		},
		"what is right is not even read again": {
			observed: observed, objects: []runtime.Object{user(map[string]string{"config": ini}), managed(digest.Hex(ini), map[string]string{"cloud.conf": rewritten})},
			want: map[string]string{"cloud.conf": rewritten}, digest: digest.Hex(ini),
		},
		"where Infrastructure names no configuration it says enough itself": {
			observed: noReference, verbs: create, want: map[string]string{"cloud.conf": stub}, digest: emptyDigest,
		},
		"a configuration that never was is none": {
			observed: observed, verbs: create, want: map[string]string{"cloud.conf": stub}, digest: emptyDigest,
		},
		"a configuration that is gone is a mistake": {
			observed: observed, objects: []runtime.Object{managed(digest.Hex(ini), map[string]string{"cloud.conf": rewritten})},
			want: map[string]string{"cloud.conf": rewritten}, digest: digest.Hex(ini),
			wantErr: kept + "configmap/cloud-provider-config in openshift-config, key config: it does not exist; create it, or correct spec.cloudConfig of infrastructure.config.openshift.io/cluster",
		},
		"a key that is gone is a mistake": {
			observed: observed, objects: []runtime.Object{user(map[string]string{"cloud.conf": ini})},
			wantErr: kept + "configmap/cloud-provider-config in openshift-config, key config: there is no such key, the object has cloud.conf; add the key, or correct spec.cloudConfig of infrastructure.config.openshift.io/cluster",
		},
		"nothing is known of any vCenter": {
			observed: nothingKnown,
			wantErr: kept + "infrastructure.config.openshift.io/cluster, spec.cloudConfig: there is no vCenter: write the key vcenter with an entry, " +
				"or add it to spec.platformSpec.vsphere.vcenters of infrastructure.config.openshift.io/cluster",
		},
		"a broken configuration leaves what is there": {
			observed: observed,
			objects: []runtime.Object{
				user(map[string]string{"config": "[Global]\ninsecure-flag = ture\nport = x\n"}), managed(digest.Hex(ini), map[string]string{"cloud.conf": rewritten}),
			},
			want: map[string]string{"cloud.conf": rewritten}, digest: digest.Hex(ini),
			wantErr: kept + "configmap/cloud-provider-config in openshift-config, key config, line 2:17: insecure-flag is \"ture\", but must be true or false\n" +
				"configmap/cloud-provider-config in openshift-config, key config, line 3:8: port is \"x\", but must be a whole number that is not negative",
		},
		"of many diagnostics a few are listed": {
			observed: observed,
			objects:  []runtime.Object{user(map[string]string{"config": "[Global]\n=\n=\n=\n=\n=\n=\n=\n"})},
			wantErr: kept + "configmap/cloud-provider-config in openshift-config, key config, line 2:1: this line is neither a section header, nor \"key = value\", nor a comment\n" +
				"configmap/cloud-provider-config in openshift-config, key config, line 3:1: this line is neither a section header, nor \"key = value\", nor a comment\n" +
				"configmap/cloud-provider-config in openshift-config, key config, line 4:1: this line is neither a section header, nor \"key = value\", nor a comment\n" +
				"configmap/cloud-provider-config in openshift-config, key config, line 5:1: this line is neither a section header, nor \"key = value\", nor a comment\n" +
				"configmap/cloud-provider-config in openshift-config, key config, line 6:1: this line is neither a section header, nor \"key = value\", nor a comment\n" +
				"and 2 more",
		},
		"a likely typo is rejected in a change": {
			observed: observed, objects: []runtime.Object{user(map[string]string{"config": typo}), managed(digest.Hex(ini), map[string]string{"cloud.conf": rewritten})},
			want: map[string]string{"cloud.conf": rewritten}, digest: digest.Hex(ini),
			wantErr: kept + `configmap/cloud-provider-config in openshift-config, key config, line 2:1: unknown key "insecure-flga" in [Global]; did you mean "insecure-flag"?`,
		},
		"a likely typo that was there before is not": {
			observed: observed, objects: []runtime.Object{user(map[string]string{"config": typo}), managed(digest.Hex(typo), map[string]string{"cloud.conf": "old"})},
			verbs: update, want: map[string]string{"cloud.conf": stub}, digest: digest.Hex(typo),
		},
		"a likely typo that the cloud-controller-manager has is not": {
			observed: observed,
			objects: []runtime.Object{
				user(map[string]string{"config": typo}), managed(digest.Hex(ini), map[string]string{"cloud.conf": rewritten}), candidate(typo),
			},
			verbs: update, want: map[string]string{"cloud.conf": stub}, digest: digest.Hex(typo),
		},
		"a likely typo is rejected while the cloud-controller-manager has the former configuration": {
			observed: observed,
			objects: []runtime.Object{
				user(map[string]string{"config": typo}), managed(digest.Hex(ini), map[string]string{"cloud.conf": rewritten}), candidate(ini),
			},
			want: map[string]string{"cloud.conf": rewritten}, digest: digest.Hex(ini),
			wantErr: kept + `configmap/cloud-provider-config in openshift-config, key config, line 2:1: unknown key "insecure-flga" in [Global]; did you mean "insecure-flag"?`,
		},
		"a rejected write is reported": {
			observed: noReference, writeErr: errors.New("forbidden"), verbs: create,
			wantErr: "applying configmap/kube-cloud-config in openshift-config-managed: forbidden",
		},
		"while the gate is off, nothing":               {observed: gateOff, objects: []runtime.Object{user(map[string]string{"config": ini})}},
		"on a platform without, nothing":               {observed: otherPlatform, objects: []runtime.Object{user(map[string]string{"config": ini})}},
		"while the platform is not known, nothing":     {objects: []runtime.Object{user(map[string]string{"config": ini})}},
		"an observation that fits no schema, an error": {observed: `{"platform": "vsphere", "x": 1}`, wantErr: `decoding spec.observedConfig of cloudcontrollermanager/cluster: the operand's configuration does not fit its schema: unknown field "x"; if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, correct it there`},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(tc.objects...)
			if tc.writeErr != nil {
				kube.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.writeErr })
			}
			c, recorder := newTestController(t, kube, tc.observed, tc.objects)
			err := c.sync(t.Context(), factory.NewSyncContext("test", recorder))
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			require.Equal(t, tc.verbs, verbs(kube))
			got, err := kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), "openshift-config-managed", "kube-cloud-config")
			if tc.want == nil {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got.(*corev1.ConfigMap).Data)
			require.Equal(t, tc.digest, got.(*corev1.ConfigMap).Annotations["cloud-controller-manager.openshift.io/accepted-input"])
		})
	}
}

func newTestController(t *testing.T, kube *fake.Clientset, observed string, objects []runtime.Object) (*controller, events.Recorder) {
	t.Helper()
	target := informers.NewSharedInformerFactory(kube, 0)
	configMaps := target.Core().V1().ConfigMaps()
	for _, object := range objects {
		require.NoError(t, configMaps.Informer().GetStore().Add(object))
	}
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	return newController(dependencies.Deps{
		Operator: controllertest.StaticPods(v1helpers.NewFakeOperatorClient(
			&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}}, &operatorv1.OperatorStatus{}, nil)),
		Kube:     kube,
		Target:   target,
		Recorder: recorder,
	}, configMaps, configMaps), recorder
}

// verbs returns all requests in their order.
func verbs(kube *fake.Clientset) []string {
	var all []string
	for _, action := range kube.Actions() {
		all = append(all, action.GetVerb()+" "+action.GetResource().Resource)
	}
	return all
}
