package servingcert

import (
	"context"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/openshift/library-go/pkg/pki"
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
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const (
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	targetNamespace   = "openshift-cloud-controller-manager"
)

// start is the tests' start time. Certificates have a precision of one second.
var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// world is a controller with a fake API. Its informers follow the API only on request.
type world struct {
	*controller
	client   *fake.Clientset
	kube     informers.SharedInformerFactory
	clock    *clocktesting.FakePassiveClock
	recorder events.InMemoryRecorder
}

func newWorld(t *testing.T, observed string, validity Validity) *world {
	t.Helper()
	client := fake.NewClientset()
	kube := informers.NewSharedInformerFactory(client, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	recorder := events.NewInMemoryRecorder("test", clock)
	return &world{client: client, kube: kube, clock: clock, recorder: recorder, controller: newController(dependencies.Deps{
		Operator: controllertest.StaticPods(v1helpers.NewFakeOperatorClient(
			&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(observed)}}, &operatorv1.OperatorStatus{}, nil)),
		Target:   kube,
		Kube:     client,
		Clock:    clock,
		Recorder: recorder,
	}, kube.Core().V1().Secrets(), nil, validity)}
}

// syncOnce returns the requests of one sync and then updates the informers.
func (w *world) syncOnce(t *testing.T) []string {
	t.Helper()
	requests := w.syncBehind(t)
	w.catchUp(t)
	return requests
}

// catchUp updates the caches from the API without an event.
func (w *world) catchUp(t *testing.T) {
	t.Helper()
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
}

// syncBehind returns the requests of one sync and does not update the informers.
func (w *world) syncBehind(t *testing.T) []string {
	t.Helper()
	w.client.ClearActions()
	require.NoError(t, reconciler.Retried(w.sync)(t.Context(), factory.NewSyncContext("test", w.recorder)))
	var requests []string
	for _, action := range w.client.Actions() {
		name := ""
		switch a := action.(type) {
		case clienttesting.GetActionImpl:
			name = a.GetName()
		case clienttesting.CreateActionImpl:
			object := a.GetObject().(metav1.Object)
			name = object.GetName()
		case clienttesting.UpdateActionImpl:
			object := a.GetObject().(metav1.Object)
			name = object.GetName()
		case clienttesting.DeleteActionImpl:
			name = a.GetName()
		}
		requests = append(requests, action.GetVerb()+" "+action.GetNamespace()+"/"+name)
	}
	return requests
}

// reasons returns the messages of the events about issued certificates since the last call.
func (w *world) reasons() []string {
	var messages []string
	for _, event := range w.recorder.Events() {
		if event.Reason == "ServingSignerIssued" || event.Reason == "ServingCertificateIssued" {
			messages = append(messages, event.Message)
		}
	}
	return messages
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

// change updates a Secret as another client, and then the informers.
func (w *world) change(t *testing.T, namespace, name string, change func(*corev1.Secret)) {
	t.Helper()
	secret := w.secret(t, namespace, name)
	change(secret)
	_, err := w.client.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.kube.Core().V1().Secrets().Informer().GetIndexer().Update(secret))
}

// trusted returns the pool of the CA bundle's certificates.
func (w *world) trusted(t *testing.T) *x509.CertPool {
	t.Helper()
	bundle, err := w.kube.Core().V1().ConfigMaps().Lister().ConfigMaps(targetNamespace).Get("serving-ca")
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(bundle.Data["ca-bundle.crt"])))
	return roots
}

const (
	signerMessage = "secret/cloud-controller-manager-serving-signer in openshift-cloud-controller-manager-operator has a new signer, because "
	leafMessage   = "secret/serving-cert in openshift-cloud-controller-manager has a new certificate, because "
)

func TestACertificateIsMadeOnceAndThenCostsNothing(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	require.Equal(t, []string{
		"create " + operatorNamespace + "/cloud-controller-manager-serving-signer",
		"get " + operatorNamespace + "/" + SignerSecret,
		"create " + targetNamespace + "/serving-ca",
		"create " + targetNamespace + "/serving-cert",
	}, w.syncOnce(t))
	require.Empty(t, w.syncOnce(t))
	require.Equal(t, []string{signerMessage + "there was none", leafMessage + "there was none"}, w.reasons())

	leaf := w.leaf(t)
	for _, host := range []string{
		"localhost", "127.0.0.1", "::1",
		"cloud-controller-manager.openshift-cloud-controller-manager.svc",
		"cloud-controller-manager.openshift-cloud-controller-manager.svc.cluster.local",
	} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: host, CurrentTime: start})
		require.NoError(t, err)
	}
	require.Equal(t, time.Date(2026, time.March, 31, 12, 0, 0, 0, time.UTC), leaf.NotAfter)

	secret := w.secret(t, targetNamespace, "serving-cert")
	require.Equal(t, corev1.SecretTypeTLS, secret.Type)
	require.Equal(t, map[string]string{"auth.openshift.io/managed-certificate-type": "target"}, secret.Labels)
	require.Equal(t, map[string]string{
		"openshift.io/owning-component": "Cloud Compute / Cloud Controller Manager",
		"openshift.io/description":      "Serves health and metrics of the cloud-controller-manager on port 10258.",
		"auth.openshift.io/certificate-hostnames": "127.0.0.1,::1," +
			"cloud-controller-manager.openshift-cloud-controller-manager.svc," +
			"cloud-controller-manager.openshift-cloud-controller-manager.svc.cluster.local,localhost",
		"auth.openshift.io/certificate-issuer":     "openshift-cloud-controller-manager-operator_cloud-controller-manager-serving-signer@1772366400",
		"auth.openshift.io/certificate-not-before": "2026-03-01T11:59:59Z",
		"auth.openshift.io/certificate-not-after":  "2026-03-31T12:00:00Z",
		"certificates.openshift.io/refresh-period": "360h0m0s",
	}, secret.Annotations)
}

func TestEachIsReplacedInTimeAndTheOldSignerStaysTrusted(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.syncOnce(t)
	for _, step := range []struct {
		name     string
		age      time.Duration
		requests []string
		reasons  []string
	}{
		{name: "before half of the leaf's life", age: 15*day - 2*time.Second},
		{
			name: "after half of the leaf's life", age: 15 * day,
			requests: []string{"update " + targetNamespace + "/serving-cert"},
			reasons:  []string{leafMessage + "half of the previous one's validity has passed"},
		},
		{
			// The leaf was due too, but a new signer must be published for a tenth of the period before it signs.
			name: "after half of the signer's life", age: 30 * day,
			requests: []string{"update " + operatorNamespace + "/cloud-controller-manager-serving-signer", "update " + targetNamespace + "/serving-ca"},
			reasons:  []string{signerMessage + "half of the previous one's validity has passed"},
		},
		{
			name: "when the new signer is known", age: 31*day + 12*time.Hour,
			requests: []string{"update " + targetNamespace + "/serving-cert"},
			reasons:  []string{leafMessage + "half of the previous one's validity has passed"},
		},
		{
			name: "after everything has expired", age: 200 * day,
			requests: []string{
				"update " + operatorNamespace + "/cloud-controller-manager-serving-signer",
				"update " + targetNamespace + "/serving-ca",
				"update " + targetNamespace + "/serving-cert",
			},
			reasons: []string{signerMessage + "the previous one has expired", leafMessage + "the previous one has expired"},
		},
	} {
		before, told := w.leaf(t), len(w.reasons())
		w.clock.SetTime(start.Add(step.age))
		require.Equal(t, step.requests, w.syncOnce(t), step.name)
		require.ElementsMatch(t, step.reasons, w.reasons()[told:], step.name)
		require.Empty(t, w.syncOnce(t), step.name)
		if step.age < 200*day {
			_, err := before.Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: "localhost", CurrentTime: w.clock.Now()})
			require.NoError(t, err, step.name)
		}
		_, err := w.leaf(t).Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: "localhost", CurrentTime: w.clock.Now()})
		require.NoError(t, err, step.name)
	}
	bundle, err := w.kube.Core().V1().ConfigMaps().Lister().ConfigMaps(targetNamespace).Get("serving-ca")
	require.NoError(t, err)
	certificates, err := certutil.ParseCertsPEM([]byte(bundle.Data["ca-bundle.crt"]))
	require.NoError(t, err)
	require.Len(t, certificates, 1, "expired signers are forgotten")
}

// oc create secret generic makes one of the type Opaque. The API server updates neither.
func TestASecretThatCannotBeUpdatedIsReplaced(t *testing.T) {
	for name, change := range map[string]func(*corev1.Secret){
		"of another type":  func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"an immutable one": func(s *corev1.Secret) { s.Immutable = ptr.To(true) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `{"platform":"openstack"}`, Validity{})
			w.syncOnce(t)
			before := w.secret(t, targetNamespace, "serving-cert").Data
			w.change(t, targetNamespace, "serving-cert", change)
			require.Equal(t, []string{"delete " + targetNamespace + "/serving-cert", "create " + targetNamespace + "/serving-cert"},
				w.syncOnce(t))
			secret := w.secret(t, targetNamespace, "serving-cert")
			require.Equal(t, corev1.SecretTypeTLS, secret.Type)
			require.Nil(t, secret.Immutable)
			require.Equal(t, before, secret.Data)
		})
	}
}

func TestAnImmutableBundleIsReplacedWhenItMustChange(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.syncOnce(t)
	configMaps := w.client.CoreV1().ConfigMaps(targetNamespace)
	fixed, err := configMaps.Get(t.Context(), "serving-ca", metav1.GetOptions{})
	require.NoError(t, err)
	fixed.Immutable = ptr.To(true)
	_, err = configMaps.Update(t.Context(), fixed, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.catchUp(t)
	require.Empty(t, w.syncOnce(t), "nothing has to change yet")
	w.clock.SetTime(start.AddDate(0, 0, 30))
	require.Equal(t, []string{
		"update " + operatorNamespace + "/cloud-controller-manager-serving-signer",
		"delete " + targetNamespace + "/serving-ca", "create " + targetNamespace + "/serving-ca",
		"update " + targetNamespace + "/serving-cert",
	}, w.syncOnce(t))
	bundle, err := configMaps.Get(t.Context(), "serving-ca", metav1.GetOptions{})
	require.NoError(t, err)
	require.Nil(t, bundle.Immutable)
	certificates, err := certutil.ParseCertsPEM([]byte(bundle.Data["ca-bundle.crt"]))
	require.NoError(t, err)
	require.Len(t, certificates, 2, "the former signer stays trusted")
}

func TestAnObjectThatCannotBeReplacedBecauseOfItsFinalizersIsReported(t *testing.T) {
	const keep = "its finalizers keep it, remove them if nothing else does: [example.com/a]"
	hold := func(meta *metav1.ObjectMeta, immutable **bool) {
		meta.DeletionTimestamp, meta.Finalizers = ptr.To(metav1.NewTime(start)), []string{"example.com/a"}
		*immutable = ptr.To(true)
	}
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.syncOnce(t)
	bundles := w.kube.Core().V1().ConfigMaps()
	bundle, err := bundles.Lister().ConfigMaps(targetNamespace).Get("serving-ca")
	require.NoError(t, err)
	bundle = bundle.DeepCopy()
	hold(&bundle.ObjectMeta, &bundle.Immutable)
	bundle.Data = nil
	require.NoError(t, bundles.Informer().GetStore().Update(bundle))
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)),
		"maintaining configmap/serving-ca in openshift-cloud-controller-manager: "+keep)

	w.catchUp(t)
	secret := w.secret(t, targetNamespace, "serving-cert")
	hold(&secret.ObjectMeta, &secret.Immutable)
	require.NoError(t, w.kube.Core().V1().Secrets().Informer().GetStore().Update(secret))
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)),
		"maintaining secret/serving-cert in openshift-cloud-controller-manager: "+keep)
}

func TestWhatSomebodyChangedIsMadeAgain(t *testing.T) {
	drop := func(secret *corev1.Secret) { secret.Data = nil }
	for name, tc := range map[string]struct {
		namespace, name string
		change          func(*corev1.Secret)
		requests        []string
		reasons         []string
	}{
		"a leaf without content": {
			targetNamespace, "serving-cert", drop,
			[]string{"update " + targetNamespace + "/serving-cert"},
			[]string{leafMessage + "the previous one is invalid: certFile missing"},
		},
		"a leaf with the key of another": {
			targetNamespace, "serving-cert",
			func(secret *corev1.Secret) {
				other := newWorld(t, `{"platform":"openstack"}`, Validity{})
				other.syncOnce(t)
				secret.Data["tls.key"] = other.secret(t, targetNamespace, "serving-cert").Data["tls.key"]
			},
			[]string{"update " + targetNamespace + "/serving-cert"},
			[]string{leafMessage + "the previous one is invalid: tls: private key does not match public key"},
		},
		"a leaf of another signer": {
			targetNamespace, "serving-cert",
			func(secret *corev1.Secret) {
				other := newWorld(t, `{"platform":"openstack"}`, Validity{})
				other.syncOnce(t)
				secret.Data = other.secret(t, targetNamespace, "serving-cert").Data
			},
			[]string{"update " + targetNamespace + "/serving-cert"},
			[]string{leafMessage + "no signer in the CA bundle issued the previous one"},
		},
		"a leaf without its annotations": {
			targetNamespace, "serving-cert",
			func(secret *corev1.Secret) { secret.Annotations = map[string]string{"foreign": "stays"} },
			[]string{"update " + targetNamespace + "/serving-cert"}, nil,
		},
		"a leaf with a foreign annotation": {
			targetNamespace, "serving-cert",
			func(secret *corev1.Secret) { secret.Annotations["foreign"] = "stays" }, nil, nil,
		},
		"a signer without content": {
			operatorNamespace, "cloud-controller-manager-serving-signer", drop,
			[]string{"update " + operatorNamespace + "/cloud-controller-manager-serving-signer", "update " + targetNamespace + "/serving-ca"},
			[]string{signerMessage + "the previous one is invalid: certFile missing"},
		},
		"a signer that is none": {
			operatorNamespace, "cloud-controller-manager-serving-signer",
			func(secret *corev1.Secret) {
				other := newWorld(t, `{"platform":"openstack"}`, Validity{})
				other.syncOnce(t)
				secret.Data = other.secret(t, targetNamespace, "serving-cert").Data
			},
			[]string{"update " + operatorNamespace + "/cloud-controller-manager-serving-signer", "update " + targetNamespace + "/serving-ca"},
			[]string{signerMessage + "the previous one is not a CA certificate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `{"platform":"openstack"}`, Validity{})
			w.syncOnce(t)
			told := len(w.reasons())
			w.change(t, tc.namespace, tc.name, tc.change)
			foreign := w.secret(t, tc.namespace, tc.name).Annotations["foreign"]
			// Signers are named by the second of their creation.
			w.clock.SetTime(start.Add(time.Second))
			require.Equal(t, tc.requests, w.syncOnce(t))
			require.ElementsMatch(t, tc.reasons, w.reasons()[told:])
			require.Empty(t, w.syncOnce(t))
			require.Equal(t, foreign, w.secret(t, tc.namespace, tc.name).Annotations["foreign"])
			_, err := w.leaf(t).Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: "localhost", CurrentTime: w.clock.Now()})
			require.NoError(t, err)
		})
	}
}

func TestWhatIsNotValidYetIsMadeAgain(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.clock.SetTime(start.AddDate(1, 0, 0)) // The clock is wrong until it is set back.
	w.syncOnce(t)
	told := len(w.reasons())
	w.clock.SetTime(start)
	w.syncOnce(t)
	require.ElementsMatch(t, []string{
		signerMessage + "the previous one is not valid yet", leafMessage + "the previous one is not valid yet",
	}, w.reasons()[told:])
	_, err := w.leaf(t).Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: "localhost", CurrentTime: w.clock.Now()})
	require.NoError(t, err)
	require.Empty(t, w.syncOnce(t))
}

func TestABundleThatIsNotReadableIsMadeAgain(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.syncOnce(t)
	bundle, err := w.client.CoreV1().ConfigMaps(targetNamespace).Get(t.Context(), "serving-ca", metav1.GetOptions{})
	require.NoError(t, err)
	bundle.Data["ca-bundle.crt"] = "scribble"
	require.NoError(t, w.kube.Core().V1().ConfigMaps().Informer().GetIndexer().Update(bundle))
	require.Equal(t, []string{"update " + targetNamespace + "/serving-ca"}, w.syncOnce(t))
	_, err = w.leaf(t).Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: "localhost", CurrentTime: start})
	require.NoError(t, err)
}

func TestCachesThatAreBehindReplaceNothing(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.syncBehind(t)
	first, err := w.client.CoreV1().Secrets(operatorNamespace).Get(t.Context(), "cloud-controller-manager-serving-signer", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"create " + operatorNamespace + "/cloud-controller-manager-serving-signer"}, w.syncBehind(t))
	second, err := w.client.CoreV1().Secrets(operatorNamespace).Get(t.Context(), "cloud-controller-manager-serving-signer", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, first.Data, second.Data)
	require.Len(t, w.reasons(), 2, "only what was written is told: the first signer and its certificate")
	var warnings []string
	for _, event := range w.recorder.Events() {
		if event.Type == corev1.EventTypeWarning {
			warnings = append(warnings, event.Message)
		}
	}
	// This is what package adminevents drops.
	require.Equal(t, []string{"Failed to create Secret/cloud-controller-manager-serving-signer -n " + operatorNamespace +
		`: secrets "cloud-controller-manager-serving-signer" already exists`}, warnings)
}

func TestADeletedSignerIsNotTrustedAgain(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.syncOnce(t)
	old := w.trusted(t)

	require.NoError(t, w.client.CoreV1().Secrets(operatorNamespace).Delete(t.Context(), SignerSecret, metav1.DeleteOptions{}))
	bundle, err := w.client.CoreV1().ConfigMaps(targetNamespace).Get(t.Context(), operand.ServingCAConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, w.client.CoreV1().ConfigMaps(targetNamespace).Delete(t.Context(), operand.ServingCAConfigMap, metav1.DeleteOptions{}))
	// The deletion of the bundle reaches the cache before that of the signer.
	require.NoError(t, w.kube.Core().V1().ConfigMaps().Informer().GetIndexer().Delete(bundle))
	require.Equal(t, []string{"get " + operatorNamespace + "/" + SignerSecret}, w.syncOnce(t))

	signer := w.secret(t, operatorNamespace, SignerSecret)
	require.NoError(t, w.kube.Core().V1().Secrets().Informer().GetIndexer().Delete(signer))
	// Signers are named by the second of their creation.
	w.clock.SetTime(start.Add(time.Second))
	w.syncOnce(t)
	require.Len(t, w.trusted(t).Subjects(), 1) //nolint:staticcheck // the pool has no system roots
	require.False(t, old.Equal(w.trusted(t)))
}

func TestAnErrorNamesTheObject(t *testing.T) {
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	w.client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no room")
	})
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)),
		"maintaining configmap/serving-ca in openshift-cloud-controller-manager: no room")
}

func TestWithoutAnOperandThereIsNoCertificate(t *testing.T) {
	for name, observed := range map[string]string{"unmanaged": `{"platform":"none"}`, "unknown": `{}`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, observed, Validity{})
			require.Empty(t, w.syncOnce(t))
			_, err := w.client.CoreV1().Secrets(targetNamespace).Get(t.Context(), "serving-cert", metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err))
		})
	}
}

func TestTheNextRotationIsKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		validity Validity
		want     time.Duration
	}{
		"the leaf is due first":               {Validity{}, 15 * 24 * time.Hour},
		"the signer is due first":             {Validity{Signer: 10 * time.Minute, Leaf: 20 * time.Minute}, 5 * time.Minute},
		"only the leaf's life is asked for":   {Validity{Leaf: 10 * time.Minute}, 5 * time.Minute},
		"only the signer's life is asked for": {Validity{Signer: 10 * time.Minute}, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `{"platform":"openstack"}`, tc.validity)
			next, err := w.rotate(t.Context(), w.recorder, &keyPolicy{profile: pki.NewStaticPKIProfileProvider(nil)})
			require.NoError(t, err)
			// Certificates are valid from one second before their issue.
			require.Equal(t, start.Add(tc.want-time.Second), next)
		})
	}
}

func TestItComesBackByItselfForEachRotation(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld(t, `{"platform":"openstack"}`, Validity{})
	sync := func(ctx context.Context, syncCtx factory.SyncContext) error {
		defer w.catchUp(t)
		return w.sync(ctx, syncCtx)
	}
	calls, err := controllertest.NewTimer(w.clock, w.recorder).Run(t.Context(), sync, 40*day)
	require.NoError(t, err)
	// Certificates are valid from a second before their issue.
	require.Equal(t, []time.Duration{0, 15*day - time.Second, 30*day - 2*time.Second, 30*day - time.Second}, calls)
	require.Equal(t, []string{
		signerMessage + "there was none", leafMessage + "there was none",
		leafMessage + "half of the previous one's validity has passed",
		leafMessage + "half of the previous one's validity has passed",
		signerMessage + "half of the previous one's validity has passed",
	}, w.reasons())
}
