package servingcert

import (
	"crypto/x509"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	certutil "k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	targetNamespace   = "openshift-cloud-controller-manager"
)

// world is a controller over a fake API whose informers follow it only when asked to.
type world struct {
	*controller
	client *fake.Clientset
	kube   informers.SharedInformerFactory
}

func newWorld(t *testing.T, observed string, validity Validity) *world {
	t.Helper()
	client := fake.NewClientset()
	kube := informers.NewSharedInformerFactory(client, 0)
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}},
		&operatorv1.OperatorStatus{}, nil)
	o := Options{
		Operator:      operator,
		SignerSecrets: kube.Core().V1().Secrets(),
		Secrets:       kube.Core().V1().Secrets(),
		ConfigMaps:    kube.Core().V1().ConfigMaps(),
		Client:        client.CoreV1(),
		Recorder:      events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0))),
	}
	return &world{controller: &controller{operator: operator, rotation: rotation(o, validity)}, client: client, kube: kube}
}

// syncOnce returns every request of one sync and then lets the informers catch up.
func (w *world) syncOnce(t *testing.T) []string {
	t.Helper()
	w.client.ClearActions()
	require.NoError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.rotation.RotatedSigningCASecret.EventRecorder)))
	var requests []string
	for _, action := range w.client.Actions() {
		name := ""
		switch a := action.(type) {
		case clienttesting.CreateActionImpl:
			object := a.GetObject().(metav1.Object)
			name = object.GetName()
		case clienttesting.UpdateActionImpl:
			object := a.GetObject().(metav1.Object)
			name = object.GetName()
		}
		requests = append(requests, action.GetVerb()+" "+action.GetNamespace()+"/"+name)
	}
	for _, namespace := range []string{operatorNamespace, targetNamespace} {
		secrets, err := w.client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range secrets.Items {
			require.NoError(t, w.kube.Core().V1().Secrets().Informer().GetIndexer().Add(&secrets.Items[i]))
		}
	}
	configMaps, err := w.client.CoreV1().ConfigMaps(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range configMaps.Items {
		require.NoError(t, w.kube.Core().V1().ConfigMaps().Informer().GetIndexer().Add(&configMaps.Items[i]))
	}
	return requests
}

func (w *world) secret(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	secret, err := w.kube.Core().V1().Secrets().Lister().Secrets(namespace).Get(name)
	require.NoError(t, err)
	return secret.DeepCopy()
}

func (w *world) leaf(t *testing.T) *x509.Certificate {
	t.Helper()
	certificates, err := certutil.ParseCertsPEM(w.secret(t, targetNamespace, "serving-cert").Data["tls.crt"])
	require.NoError(t, err)
	return certificates[0]
}

// age moves a certificate's time of issue into the past, as its annotations tell it.
func (w *world) age(t *testing.T, namespace, name string, by time.Duration) {
	t.Helper()
	secret := w.secret(t, namespace, name)
	for _, annotation := range []string{"auth.openshift.io/certificate-not-before", "auth.openshift.io/certificate-not-after"} {
		at, err := time.Parse(time.RFC3339, secret.Annotations[annotation])
		require.NoError(t, err)
		secret.Annotations[annotation] = at.Add(-by).Format(time.RFC3339)
	}
	_, err := w.client.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.kube.Core().V1().Secrets().Informer().GetIndexer().Update(secret))
}

func TestACertificateIsMadeOnceAndThenCostsNothing(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, DefaultValidity)
	require.Equal(t, []string{
		"create " + operatorNamespace + "/cloud-controller-manager-serving-signer",
		"create " + targetNamespace + "/serving-ca",
		"create " + targetNamespace + "/serving-cert",
	}, w.syncOnce(t))
	require.Empty(t, w.syncOnce(t))

	bundle, err := w.kube.Core().V1().ConfigMaps().Lister().ConfigMaps(targetNamespace).Get("serving-ca")
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(bundle.Data["ca-bundle.crt"])))
	leaf := w.leaf(t)
	for _, host := range []string{
		"localhost", "127.0.0.1", "::1",
		"cloud-controller-manager.openshift-cloud-controller-manager.svc",
		"cloud-controller-manager.openshift-cloud-controller-manager.svc.cluster.local",
	} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		require.NoError(t, err)
	}
	require.InDelta(t, 30*24, time.Until(leaf.NotAfter).Hours(), 1)

	secret := w.secret(t, targetNamespace, "serving-cert")
	require.Equal(t, "Cloud Compute / Cloud Controller Manager", secret.Annotations["openshift.io/owning-component"])
	require.Equal(t, "Serves health and metrics of the cloud-controller-manager on port 10258.", secret.Annotations["openshift.io/description"])
	require.Equal(t, corev1.SecretTypeTLS, secret.Type)
}

func TestTheLeafIsReplacedInTime(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, DefaultValidity)
	w.syncOnce(t)
	first := w.leaf(t)

	w.age(t, operatorNamespace, "cloud-controller-manager-serving-signer", 14*24*time.Hour)
	w.age(t, targetNamespace, "serving-cert", 14*24*time.Hour)
	require.Empty(t, w.syncOnce(t))

	// The signer's own certificate has to be older than a tenth of the leaf's time to be trusted everywhere; a
	// leaf past four fifths of its life does not wait for that.
	w.age(t, targetNamespace, "serving-cert", 11*24*time.Hour)
	require.Equal(t, []string{"update " + targetNamespace + "/serving-cert"}, w.syncOnce(t))
	require.NotEqual(t, first.SerialNumber, w.leaf(t).SerialNumber)
}

func TestTheOldSignerStaysTrustedWhenItIsReplaced(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, DefaultValidity)
	w.syncOnce(t)
	first := w.leaf(t)
	w.age(t, operatorNamespace, "cloud-controller-manager-serving-signer", 31*24*time.Hour)
	requests := w.syncOnce(t)
	require.Contains(t, requests, "update "+operatorNamespace+"/cloud-controller-manager-serving-signer")
	require.Contains(t, requests, "update "+targetNamespace+"/serving-ca")
	bundle, err := w.kube.Core().V1().ConfigMaps().Lister().ConfigMaps(targetNamespace).Get("serving-ca")
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(bundle.Data["ca-bundle.crt"])))
	_, err = first.Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost"})
	require.NoError(t, err)
}

func TestWithoutAnOperandThereIsNoCertificate(t *testing.T) {
	for name, observed := range map[string]string{"unmanaged": `{"platform":"none"}`, "unknown": `{}`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, observed, DefaultValidity)
			require.Empty(t, w.syncOnce(t))
			_, err := w.client.CoreV1().Secrets(targetNamespace).Get(t.Context(), "serving-cert", metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err))
		})
	}
}

func TestShortLivesAreCheckedMoreOften(t *testing.T) {
	for name, tc := range map[string]struct {
		validity Validity
		want     time.Duration
	}{
		"days":    {DefaultValidity, time.Minute},
		"minutes": {Validity{Signer: 20 * time.Minute, Leaf: 10 * time.Minute}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, recheck(tc.validity)) })
	}
}
