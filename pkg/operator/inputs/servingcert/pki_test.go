package servingcert

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	configv1alpha1 "github.com/openshift/api/config/v1alpha1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
)

const gated = `{"platform":"openstack","cluster":{"featureGates":["ConfigurablePKI"]}}`

// withPKI gives the world a PKI configuration, nil for none. library-go issues signers at the real time, after it has
// made a key, which may take seconds: the clock is ahead, so that each signer is valid.
func withPKI(t *testing.T, observed string, policy *configv1alpha1.PKICertificateManagement) *world {
	t.Helper()
	w := newWorld(t, observed, Validity{})
	w.clock.SetTime(time.Now().Add(time.Hour))
	config := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0)
	w.pkis = config.Config().V1alpha1().PKIs()
	w.pkis.Informer()
	config.Start(t.Context().Done())
	config.WaitForCacheSync(t.Context().Done())
	w.configure(t, policy)
	return w
}

func (w *world) configure(t *testing.T, policy *configv1alpha1.PKICertificateManagement) {
	t.Helper()
	if policy != nil {
		require.NoError(t, w.pkis.Informer().GetIndexer().Add(&configv1alpha1.PKI{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: configv1alpha1.PKISpec{CertificateManagement: *policy},
		}))
	}
}

func mode(m configv1alpha1.PKICertificateManagementMode) *configv1alpha1.PKICertificateManagement {
	return &configv1alpha1.PKICertificateManagement{Mode: m}
}

// custom is a policy with default keys, and others for signers and servers if they have an algorithm.
func custom(defaults, signers, servers configv1alpha1.KeyConfig) *configv1alpha1.PKICertificateManagement {
	policy := mode(configv1alpha1.PKICertificateManagementModeCustom)
	policy.Custom.Defaults.Key, policy.Custom.SignerCertificates.Key, policy.Custom.ServingCertificates.Key = defaults, signers, servers
	return policy
}

func rsaKey(bits int32) configv1alpha1.KeyConfig {
	return configv1alpha1.KeyConfig{Algorithm: configv1alpha1.KeyAlgorithmRSA, RSA: configv1alpha1.RSAKeyConfig{KeySize: bits}}
}

func ecdsaKey(curve configv1alpha1.ECDSACurve) configv1alpha1.KeyConfig {
	return configv1alpha1.KeyConfig{Algorithm: configv1alpha1.KeyAlgorithmECDSA, ECDSA: configv1alpha1.ECDSAKeyConfig{Curve: curve}}
}

// keys returns the kinds of keys of the signer and of the serving certificate, which clients must accept.
func (w *world) keys(t *testing.T) (signer, leaf string) {
	t.Helper()
	certificates, err := certutil.ParseCertsPEM(w.secret(t, operatorNamespace, SignerSecret).Data["tls.crt"])
	require.NoError(t, err)
	_, err = w.leaf(t).Verify(x509.VerifyOptions{Roots: w.trusted(t), DNSName: "localhost", CurrentTime: w.clock.Now()})
	require.NoError(t, err)
	return keyKind(t, certificates[0]), keyKind(t, w.leaf(t))
}

func keyKind(t *testing.T, certificate *x509.Certificate) string {
	t.Helper()
	switch key := certificate.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Curve.Params().Name
	}
	require.Fail(t, "unknown key", "%T", certificate.PublicKey)
	return ""
}

func TestNewCertificatesHaveTheConfiguredKeys(t *testing.T) {
	none := configv1alpha1.KeyConfig{}
	for name, tc := range map[string]struct {
		observed     string
		policy       *configv1alpha1.PKICertificateManagement
		signer, leaf string
	}{
		"the gate is off": {`{"platform":"openstack"}`, mode("Default"), "RSA 2048", "RSA 2048"},
		"Unmanaged":       {gated, mode("Unmanaged"), "RSA 2048", "RSA 2048"},
		"Default":         {gated, mode("Default"), "ECDSA P-384", "ECDSA P-256"},
		// As library-go's certrotation, until the installer writes the object.
		"there is no object":          {gated, nil, "ECDSA P-384", "ECDSA P-256"},
		"custom defaults":             {gated, custom(rsaKey(3072), none, none), "RSA 3072", "RSA 3072"},
		"custom signers":              {gated, custom(ecdsaKey("P256"), rsaKey(3072), none), "RSA 3072", "ECDSA P-256"},
		"custom serving certificates": {gated, custom(rsaKey(2048), none, ecdsaKey("P521")), "RSA 2048", "ECDSA P-521"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withPKI(t, tc.observed, tc.policy)
			w.syncOnce(t)
			signer, leaf := w.keys(t)
			require.Equal(t, tc.signer, signer)
			require.Equal(t, tc.leaf, leaf)
			require.Empty(t, w.syncOnce(t))
		})
	}
}

func TestAChangedPKIConfigurationCountsFromTheNextRotation(t *testing.T) {
	w := withPKI(t, gated, mode("Default"))
	w.syncOnce(t)
	w.configure(t, mode("Unmanaged"))
	require.Empty(t, w.syncOnce(t), "no certificate is due")

	w.clock.SetTime(time.Now().Add(16 * 24 * time.Hour))
	require.Equal(t, []string{"update " + targetNamespace + "/serving-cert"}, w.syncOnce(t))
	signer, leaf := w.keys(t)
	require.Equal(t, "ECDSA P-384", signer, "it is not due")
	require.Equal(t, "RSA 2048", leaf)
}

func TestAnUnsupportedPKIConfigurationKeepsThePreviousKindOfKey(t *testing.T) {
	const place = "pki.config.openshift.io/cluster, spec.certificateManagement: "
	const advice = "; use values that this release supports: until then new certificates get the previous kind of key"
	for name, tc := range map[string]struct {
		policy *configv1alpha1.PKICertificateManagement
		want   string
	}{
		"an unknown algorithm": {
			custom(configv1alpha1.KeyConfig{Algorithm: "Ed25519"}, configv1alpha1.KeyConfig{}, configv1alpha1.KeyConfig{}),
			`unknown key algorithm: "Ed25519"`,
		},
		"an unknown curve": {
			custom(ecdsaKey("P224"), configv1alpha1.KeyConfig{}, configv1alpha1.KeyConfig{}), `unknown ECDSA curve: "P224"`,
		},
		"an unknown mode": {
			mode("Automatic"), `resolving PKI profile for signer certificate "cloud-controller-manager.serving-signer": ` +
				`unknown PKI certificate management mode: "Automatic"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withPKI(t, gated, custom(ecdsaKey("P256"), configv1alpha1.KeyConfig{}, rsaKey(3072)))
			w.syncOnce(t)
			w.configure(t, tc.policy)
			sync := func() error {
				defer w.catchUp(t)
				return w.sync(t.Context(), factory.NewSyncContext("test", w.recorder))
			}
			require.EqualError(t, sync(), place+tc.want+advice)
			require.Len(t, w.reasons(), 2, "nothing is due")

			w.clock.SetTime(time.Now().Add(31 * 24 * time.Hour))
			require.EqualError(t, sync(), place+tc.want+advice)
			require.Len(t, w.reasons(), 4, "both are renewed in time")
			signer, leaf := w.keys(t)
			require.Equal(t, "ECDSA P-256", signer)
			require.Equal(t, "RSA 3072", leaf)
		})
	}
}

func TestNothingIsIssuedBeforeThePKIConfigurationIsRead(t *testing.T) {
	w := newWorld(t, gated, Validity{})
	w.pkis = configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1alpha1().PKIs()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.EqualError(t, w.sync(ctx, factory.NewSyncContext("test", w.recorder)),
		"pki.config.openshift.io/cluster has not been read yet, and decides the keys of certificates; "+
			"check that the API server serves pkis.config.openshift.io")
	require.Empty(t, w.client.Actions())
}
