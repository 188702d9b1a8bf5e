package clientca

import (
	"crypto"
	"testing"
	"time"

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
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// caPEM returns a CA certificate; its key is discarded.
func caPEM(t *testing.T, name string) string {
	t.Helper()
	keyPEM, err := keyutil.MakeEllipticPrivateKeyPEM()
	require.NoError(t, err)
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	require.NoError(t, err)
	certificate, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key.(crypto.Signer))
	require.NoError(t, err)
	encoded, err := certutil.EncodeCertificates(certificate)
	require.NoError(t, err)
	return string(encoded)
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func TestSync(t *testing.T) {
	clients, proxies, older := caPEM(t, "clients"), caPEM(t, "proxies"), caPEM(t, "older")
	source := func(data map[string]string) *corev1.ConfigMap {
		return configMap("kube-system", "extension-apiserver-authentication", data)
	}
	whole := source(map[string]string{"client-ca-file": clients, "requestheader-client-ca-file": proxies, "requestheader-allowed-names": `["front"]`})
	target := func(name, bundle string) *corev1.ConfigMap {
		return configMap("openshift-cloud-controller-manager", name, map[string]string{"ca-bundle.crt": bundle})
	}

	for name, tc := range map[string]struct {
		platform string
		source   *corev1.ConfigMap
		targets  []*corev1.ConfigMap
		want     []string
		wantData map[string]map[string]string
		wantErr  string
	}{
		"both are made": {
			source: whole,
			want:   []string{"get client-ca", "create client-ca", "get requestheader-client-ca", "create requestheader-client-ca"},
			wantData: map[string]map[string]string{
				"client-ca":               {"ca-bundle.crt": clients},
				"requestheader-client-ca": {"ca-bundle.crt": proxies},
			},
		},
		"what is up to date costs no request": {
			source:  whole,
			targets: []*corev1.ConfigMap{target("client-ca", clients), target("requestheader-client-ca", proxies)},
		},
		"a rotated CA is copied, and nothing else": {
			source:   whole,
			targets:  []*corev1.ConfigMap{target("client-ca", older), target("requestheader-client-ca", proxies)},
			want:     []string{"get client-ca", "update client-ca"},
			wantData: map[string]map[string]string{"client-ca": {"ca-bundle.crt": clients}},
		},
		"a foreign key is taken out again": {
			source: whole,
			targets: []*corev1.ConfigMap{
				configMap("openshift-cloud-controller-manager", "client-ca", map[string]string{"ca-bundle.crt": clients, "more.crt": older}),
				target("requestheader-client-ca", proxies),
			},
			want:     []string{"get client-ca", "update client-ca"},
			wantData: map[string]map[string]string{"client-ca": {"ca-bundle.crt": clients}},
		},
		"a missing source is reported and the copies stay": {
			targets: []*corev1.ConfigMap{target("client-ca", clients)},
			wantErr: "configmap/extension-apiserver-authentication in kube-system does not exist; kube-apiserver writes it: check its health",
		},
		"a key that is missing or garbled does not hold back the other": {
			source:   source(map[string]string{"client-ca-file": clients, "requestheader-client-ca-file": "none"}),
			want:     []string{"get client-ca", "create client-ca"},
			wantData: map[string]map[string]string{"client-ca": {"ca-bundle.crt": clients}},
			wantErr: "configmap/extension-apiserver-authentication in kube-system, key requestheader-client-ca-file: no usable certificate " +
				"(data does not contain any valid RSA or ECDSA certificates); correct the file of kube-apiserver's flag --requestheader-client-ca-file",
		},
		"on a platform that runs nothing, nothing":      {platform: "none", source: whole},
		"while the platform is unknown, nothing either": {platform: "-", source: whole},
	} {
		t.Run(name, func(t *testing.T) {
			observed := `{"platform":"openstack"}`
			switch tc.platform {
			case "none":
				observed = `{"platform":"none"}`
			case "-":
				observed = `{}`
			}
			client := fake.NewClientset()
			kube := informers.NewSharedInformerFactory(client, 0)
			indexer := kube.Core().V1().ConfigMaps().Informer().GetIndexer()
			if tc.source != nil {
				require.NoError(t, indexer.Add(tc.source))
			}
			for _, target := range tc.targets {
				require.NoError(t, indexer.Add(target))
				require.NoError(t, client.Tracker().Add(target))
			}
			c := &controller{Deps: dependencies.Deps{
				Operator: controllertest.StaticPods(v1helpers.NewFakeOperatorClient(
					&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}}, &operatorv1.OperatorStatus{}, nil)),
				Target: kube,
				Kube:   client,
			}, source: kube.Core().V1().ConfigMaps()}
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			err := c.sync(t.Context(), factory.NewSyncContext("test", recorder))
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			actions, written := record(client.Actions())
			require.Equal(t, tc.want, actions)
			require.Equal(t, tc.wantData, written)
		})
	}
}

// record returns every action, and the data of what was written.
func record(actions []clienttesting.Action) (all []string, written map[string]map[string]string) {
	write := func(object runtime.Object) string {
		if written == nil {
			written = map[string]map[string]string{}
		}
		configMap := object.(*corev1.ConfigMap)
		written[configMap.Name] = configMap.Data
		return configMap.Name
	}
	for _, action := range actions {
		name := ""
		switch a := action.(type) {
		case clienttesting.GetActionImpl:
			name = a.GetName()
		case clienttesting.CreateActionImpl:
			name = write(a.GetObject())
		case clienttesting.UpdateActionImpl:
			name = write(a.GetObject())
		}
		all = append(all, action.GetVerb()+" "+name)
	}
	return all, written
}
