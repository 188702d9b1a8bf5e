package trustedca

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
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
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// ca returns a CA that expires in the given time after now.
func ca(t *testing.T, name string, expiresIn time.Duration) string {
	t.Helper()
	keyPEM, err := keyutil.MakeEllipticPrivateKeyPEM()
	require.NoError(t, err)
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-365 * 24 * time.Hour),
		NotAfter:     now.Add(expiresIn),
		IsCA:         true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.(crypto.Signer).Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	encoded, err := certutil.EncodeCertificates(certificate)
	require.NoError(t, err)
	return string(encoded)
}

const day = 24 * time.Hour

func readerOf(kube informers.SharedInformerFactory) inputs.Reader {
	lister := kube.Core().V1().ConfigMaps().Lister()
	return inputs.Listers{UserConfig: lister, ManagedConfig: lister}
}

func TestSync(t *testing.T) {
	none := []operatorv1.OperatorCondition{{Type: "TrustedCANotices", Status: "False", Reason: "AsExpected"}}
	expired := "configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: the certificate \"CN=old\" expired on 2026-11-20; replace it"
	expiring := "configmap/cloud-provider-config in openshift-config, key ca-bundle.pem: the certificate \"CN=soon\" expires on 2026-12-20; replace it"

	for name, tc := range map[string]struct {
		observed    string
		trustedCA   string
		cloudConfig string
		previous    []operatorv1.OperatorCondition
		want        []operatorv1.OperatorCondition
		wantEvents  []string
	}{
		"without sources there is nothing to say": {want: none},
		"a certificate that is good for a while is not mentioned": {
			trustedCA: ca(t, "good", 31*day), want: none,
		},
		"an expired and an expiring one are named with what the user edits": {
			trustedCA:   ca(t, "good", 300*day) + ca(t, "old", -day),
			cloudConfig: ca(t, "soon", 29*day),
			want: []operatorv1.OperatorCondition{{Type: "TrustedCANotices", Status: "True", Reason: "CertificatesExpire",
				Message: expired + "\n" + expiring}},
			wantEvents: []string{"TrustedCAExpiry: " + expired + "\n" + expiring},
		},
		"what was said before makes no second event": {
			trustedCA: ca(t, "old", -day),
			previous:  []operatorv1.OperatorCondition{{Type: "TrustedCANotices", Status: "True", Reason: "CertificatesExpire", Message: expired}},
			want:      []operatorv1.OperatorCondition{{Type: "TrustedCANotices", Status: "True", Reason: "CertificatesExpire", Message: expired}},
		},
		"five are all named": {
			trustedCA: strings.Repeat(ca(t, "old", -day), 5),
			want: []operatorv1.OperatorCondition{{Type: "TrustedCANotices", Status: "True", Reason: "CertificatesExpire",
				Message: strings.TrimSuffix(strings.Repeat(expired+"\n", 5), "\n")}},
			wantEvents: []string{"TrustedCAExpiry: " + strings.TrimSuffix(strings.Repeat(expired+"\n", 5), "\n")},
		},
		"of many, five are named": {
			trustedCA: strings.Repeat(ca(t, "old", -day), 7),
			want: []operatorv1.OperatorCondition{{Type: "TrustedCANotices", Status: "True", Reason: "CertificatesExpire",
				Message: strings.Repeat(expired+"\n", 5) + "and 2 more"}},
			wantEvents: []string{"TrustedCAExpiry: " + strings.Repeat(expired+"\n", 5) + "and 2 more"},
		},
		"what does not parse is for others to report": {trustedCA: "nothing", want: none},
		"on a platform that runs nothing, nothing":    {observed: `{"platform":"none"}`, trustedCA: ca(t, "old", -day)},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.observed == "" {
				tc.observed = `{"platform":"openstack","trustedCA":"user-ca-bundle","cloudConfig":{"name":"cloud-provider-config","key":"config"}}`
			}
			kube := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
			for _, configMap := range []*corev1.ConfigMap{
				{ObjectMeta: metav1.ObjectMeta{Name: "user-ca-bundle"}, Data: map[string]string{"ca-bundle.crt": tc.trustedCA}},
				{ObjectMeta: metav1.ObjectMeta{Name: "cloud-provider-config"}, Data: map[string]string{"ca-bundle.pem": tc.cloudConfig}},
			} {
				configMap.Namespace = "openshift-config"
				require.NoError(t, kube.Core().V1().ConfigMaps().Informer().GetIndexer().Add(configMap))
			}
			operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)}},
				&operatorv1.OperatorStatus{Conditions: tc.previous}, nil)
			clock := clocktesting.NewFakePassiveClock(now)
			recorder := events.NewInMemoryRecorder("test", clock)
			c := &controller{Deps: dependencies.Deps{Operator: controllertest.StaticPods(operator), Clock: clock}, reader: readerOf(kube)}
			require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", recorder)))

			_, status, _, err := operator.GetOperatorState()
			require.NoError(t, err)
			require.Equal(t, tc.want, status.Conditions)
			var warned []string
			for _, event := range recorder.Events() {
				warned = append(warned, event.Reason+": "+event.Message)
			}
			require.Equal(t, tc.wantEvents, warned)
		})
	}
}

func TestTheTimerIsSetForTheNextChange(t *testing.T) {
	for name, tc := range map[string]struct {
		bundle string
		want   time.Duration
	}{
		"for the day on which it is reported":    {ca(t, "good", 100*day), 70 * day},
		"for the moment at which it has expired": {ca(t, "soon", 10*day), 10 * day},
		"for the sooner of two":                  {ca(t, "good", 100*day) + ca(t, "soon", 10*day), 10 * day},
		"not for one that has expired":           {ca(t, "old", -day), 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &controller{Deps: dependencies.Deps{Clock: clocktesting.NewFakePassiveClock(now)}}
			_, next := c.inspect(operand.TrustSource{Source: "x", Key: "ca-bundle.crt", Data: []byte(tc.bundle)})
			require.Equal(t, tc.want, next)
		})
	}
}

func TestItComesBackByItselfWhenACertificateAges(t *testing.T) {
	kube := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	require.NoError(t, kube.Core().V1().ConfigMaps().Informer().GetIndexer().Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "user-ca-bundle"},
		Data:       map[string]string{"ca-bundle.crt": ca(t, "aging", 100*day)},
	}))
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{
		Raw: []byte(`{"platform":"openstack","trustedCA":"user-ca-bundle"}`),
	}}, &operatorv1.OperatorStatus{}, nil)
	clock := clocktesting.NewFakePassiveClock(now)
	c := &controller{Deps: dependencies.Deps{Operator: controllertest.StaticPods(operator), Clock: clock}, reader: readerOf(kube)}
	recorder := events.NewInMemoryRecorder("test", clock)

	calls, err := controllertest.NewTimer(clock, recorder).Run(t.Context(), c.sync, 200*day)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 70 * day, 100 * day}, calls)
	var warned []string
	for _, event := range recorder.Events() {
		warned = append(warned, event.Message)
	}
	const certificate = "configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: the certificate \"CN=aging\" "
	require.Equal(t, []string{
		certificate + "expires on 2027-03-01; replace it", certificate + "expired on 2027-03-01; replace it",
	}, warned)
}
