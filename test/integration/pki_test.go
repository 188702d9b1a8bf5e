package integration_test

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	configv1alpha1 "github.com/openshift/api/config/v1alpha1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"
)

func TestThePKIConfigurationSelectsTheKeysOfNewCertificates(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	revision := c.awaitRevision(t, 1)
	secrets := c.kube.CoreV1().Secrets(targetNamespace)
	// issued returns an error unless the serving certificate has an ECDSA key.
	issued := func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, "serving-cert", metav1.GetOptions{})
		if err != nil {
			return err
		}
		certificates, err := certutil.ParseCertsPEM(secret.Data["tls.crt"])
		if err != nil {
			return err
		}
		if _, is := certificates[0].PublicKey.(*ecdsa.PublicKey); !is {
			return errors.New("its key is not of ECDSA")
		}
		return nil
	}
	require.EqualError(t, issued(t.Context()), "its key is not of ECDSA")

	c.definePKI(t)
	_, err := c.config.ConfigV1alpha1().PKIs().Create(t.Context(), &configv1alpha1.PKI{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Spec: configv1alpha1.PKISpec{CertificateManagement: configv1alpha1.PKICertificateManagement{
			Mode: configv1alpha1.PKICertificateManagementModeCustom,
			Custom: configv1alpha1.CustomPKIPolicy{PKIProfile: configv1alpha1.PKIProfile{
				Defaults: configv1alpha1.DefaultCertificateConfig{Key: configv1alpha1.KeyConfig{
					Algorithm: configv1alpha1.KeyAlgorithmRSA, RSA: configv1alpha1.RSAKeyConfig{KeySize: 2048},
				}},
				ServingCertificates: configv1alpha1.CertificateConfig{Key: configv1alpha1.KeyConfig{
					Algorithm: configv1alpha1.KeyAlgorithmECDSA, ECDSA: configv1alpha1.ECDSAKeyConfig{Curve: configv1alpha1.ECDSACurveP384},
				}},
			}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.enableFeatureGate(t, "ConfigurablePKI")
	await(t, "the observed gate", func(context.Context) error {
		if !strings.Contains(c.observedConfig(t), "ConfigurablePKI") {
			return errors.New("it is not observed")
		}
		return nil
	})
	require.EqualError(t, issued(t.Context()), "its key is not of ECDSA", "no certificate is due")
	require.NoError(t, secrets.Delete(t.Context(), "serving-cert", metav1.DeleteOptions{}))
	await(t, "a serving certificate of the configured kind", issued)
	require.Equal(t, revision, c.awaitRevision(t, revision), "a certificate that is reloaded makes no revision")
	c.noRequestDenied(t)
}

// definePKI creates the CustomResourceDefinition that a payload has with the feature gate.
func (c *cluster) definePKI(t *testing.T) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)),
		"payload-manifests/crds/0000_10_config-operator_01_pkis.crd.yaml"))
	require.NoError(t, err)
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.UnmarshalStrict(content, &definition.Object))
	definitions := c.dynamic.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	_, err = definitions.Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	await(t, "the kind PKI", func(ctx context.Context) error {
		_, err := c.config.ConfigV1alpha1().PKIs().List(ctx, metav1.ListOptions{})
		return err
	})
}
