package targetconfigcontroller

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	acceptedLine  = "\nuntil then, the version accepted at 2026-11-20T12:00:00Z stays in use"
	revisionLine  = "\nuntil then, the content of revision 1 stays in use"
	trustLine     = "\nuntil then, the content of configmap/trusted-ca-1 in openshift-cloud-controller-manager stays in use"
	typoCondition = "CloudConfigDegraded: configmap/cloud-provider-config in openshift-config, key config, line 2:1: " +
		`unknown key "regoin" in [Global]; did you mean "region"?`
	typoConfig = "[Global]\nregoin = RegionOne\n"
)

// testCA is a certificate.
var testCA = func() string {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "operand", "testdata", "proxy-ca.pem"))
	if err != nil {
		panic(err)
	}
	return string(data)
}()

// put creates or replaces a ConfigMap or Secret, or deletes one that is absent.
func (f *fixture) put(t *testing.T, object metav1.Object) {
	t.Helper()
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	if _, is := object.(*corev1.Secret); is {
		resource.Resource = "secrets"
	}
	if err := f.kube.Tracker().Delete(resource, object.GetNamespace(), object.GetName()); !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	if object.GetLabels()["absent"] == "" {
		require.NoError(t, f.kube.Tracker().Create(resource, object.(runtime.Object), object.GetNamespace()))
	}
	f.refresh(t)
}

// settle runs the controller, an hour after the start, until no input is pending.
func (f *fixture) settle(t *testing.T) {
	t.Helper()
	f.clock.Step(time.Hour)
	f.runUntilSettled(t)
}

// delivered returns the data of one of the candidate's Secrets or ConfigMaps.
func (f *fixture) delivered(t *testing.T, kind operand.Kind, name, key string) string {
	t.Helper()
	if kind == operand.Secret {
		secret, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		return string(secret.Data[key])
	}
	configMap, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return configMap.Data[key]
}

// makeRevision copies the candidate like the revision controller.
func (f *fixture) makeRevision(t *testing.T) {
	t.Helper()
	f.makeRevisionOf(t, 1)
}

// makeRevisionOf is the same with a number.
func (f *fixture) makeRevisionOf(t *testing.T, number int32) {
	t.Helper()
	suffix := fmt.Sprintf("-%d", number)
	for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
		object, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		object = object.DeepCopy()
		object.Name, object.ResourceVersion = name+suffix, ""
		f.put(t, object)
	}
	for _, name := range operand.DeliveredBy(operand.Secret, operand.Revisioned) {
		object, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		object = object.DeepCopy()
		object.Name, object.ResourceVersion = name+suffix, ""
		f.put(t, object)
	}
	_, status, version, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	status.LatestAvailableRevision = number
	_, err = f.operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
	require.NoError(t, err)
}

// rejections are rejected changes, each with its message.
var rejections = map[string]struct {
	change  metav1.Object
	message string
}{
	"a cloud configuration with a typo": {
		change:  userConfigMap("cloud-provider-config", map[string]string{"config": typoConfig}),
		message: typoCondition,
	},
	"a cloud configuration that is gone": {
		change: without(userConfigMap("cloud-provider-config", nil)),
		message: "CloudConfigDegraded: configmap/cloud-provider-config in openshift-config, key config: it does not exist; create it, or correct " +
			"spec.cloudConfig of infrastructure.config.openshift.io/cluster",
	},
	"credentials without the key": {
		change: secret("openstack-cloud-credentials", map[string][]byte{"other": []byte("x")}),
		message: "CredentialsDegraded: secret/openstack-cloud-credentials in openshift-cloud-controller-manager, key clouds.yaml: " +
			"the credentials Secret has no such key, only other",
	},
	"credentials that are gone": {
		change: without(secret("openstack-cloud-credentials", nil)),
		message: "CredentialsDegraded: secret/openstack-cloud-credentials in openshift-cloud-controller-manager: there is no credentials Secret: " +
			"check the cloud-credential-operator, or create the Secret if credentials are managed manually",
	},
}

func TestARejectedInputHoldsUpNothingElse(t *testing.T) {
	for name, tc := range rejections {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs()...)
			require.NoError(t, f.run(t))
			f.put(t, tc.change)
			f.settle(t)
			require.Empty(t, f.writes())
			require.Equal(t, []string{tc.message + acceptedLine}, withoutCommand(f.trueConditions(t)))

			f.OperandImages = map[string]string{"openstack-cloud-controller-manager": "registry/openstack@sha256:9"}
			f.put(t, publishedCA(map[string]string{"ca.crt": "the API's new CA"}))
			// A new process of the operator has no other state than the cluster's.
			f.restart()
			f.settle(t)
			require.Equal(t, []string{"update configmaps/kubeconfigs", "update configmaps/cloud-controller-manager-pod"}, f.writes())
			require.Contains(t, f.delivered(t, operand.ConfigMap, "cloud-controller-manager-pod", "pod.yaml"), "registry/openstack@sha256:9")
			require.Equal(t, "the API's new CA", f.delivered(t, operand.ConfigMap, "kubeconfigs", "ca-bundle.crt"))
			require.Equal(t, []string{tc.message + acceptedLine}, withoutCommand(f.trueConditions(t)))
		})
	}
}

func TestTheAcceptedVersionIsTheLastOneThatWasAccepted(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	f.clock.Step(time.Hour)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": strings.Replace(goodConfig, "RegionOne", "RegionTwo", 1)}))
	require.NoError(t, f.run(t))
	require.Equal(t, "update secrets/accepted-inputs", f.writes()[0], "what is accepted is kept before it is applied")
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": typoConfig}))
	require.NoError(t, f.run(t))
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "RegionTwo")
	require.Equal(t, []string{typoCondition + strings.Replace(acceptedLine, "12:00", "13:00", 1)}, withoutCommand(f.trueConditions(t)))

	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	require.NoError(t, f.run(t))
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "RegionOne")
	require.Empty(t, f.trueConditions(t))
}

func TestAnOperatorThatEndsBeforeTheCandidateIsAppliedDoesNotGoBack(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": strings.Replace(goodConfig, "RegionOne", "RegionTwo", 1)}))
	broken := errors.New("killed")
	f.kube.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.UpdateAction).GetObject().(metav1.Object).GetName()
		return name != "accepted-inputs" && broken != nil, nil, broken
	})
	require.ErrorIs(t, f.run(t), broken)

	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": typoConfig}))
	broken = nil
	f.restart()
	require.NoError(t, f.run(t))
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "RegionTwo")
	require.Equal(t, []string{typoCondition + acceptedLine}, withoutCommand(f.trueConditions(t)))
}

func TestNothingIsAppliedWhoseInputsCannotBeKept(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	f.kube.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no quota")
	})
	require.EqualError(t, f.run(t), "applying secret/accepted-inputs in openshift-cloud-controller-manager: no quota")
	require.Equal(t, []string{"create secrets/accepted-inputs"}, f.writes())
}

func TestWithoutAcceptedInputsTheLatestRevisionStandsIn(t *testing.T) {
	for name, tc := range rejections {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs()...)
			require.NoError(t, f.run(t))
			f.makeRevision(t)
			before := f.delivered(t, operand.ConfigMap, "cloud-controller-manager-pod", "digest")
			f.put(t, without(secret("accepted-inputs", nil)))
			f.put(t, tc.change)
			f.settle(t)
			require.Equal(t, before, f.delivered(t, operand.ConfigMap, "cloud-controller-manager-pod", "digest"))
			require.Equal(t, []string{tc.message + revisionLine}, withoutCommand(f.trueConditions(t)))

			f.OperandImages = map[string]string{"openstack-cloud-controller-manager": "registry/openstack@sha256:9"}
			f.refresh(t)
			f.settle(t)
			require.Equal(t, []string{"update configmaps/cloud-controller-manager-pod"}, f.writes())
			require.Equal(t, []string{tc.message + revisionLine}, withoutCommand(f.trueConditions(t)))

			f.put(t, goodInputs()[0].(metav1.Object))
			f.put(t, goodInputs()[1].(metav1.Object))
			f.settle(t)
			require.Empty(t, f.trueConditions(t))
			require.Contains(t, f.delivered(t, operand.Secret, "accepted-inputs", "cloud-config"), "RegionOne")
		})
	}
}

func TestARevisionThatIsNotWholeDoesNotStandIn(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	f.makeRevision(t)
	f.put(t, secret("cloud-config-1", map[string][]byte{"cloud.conf": []byte("[Global]\n")}))
	f.put(t, without(secret("accepted-inputs", nil)))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": typoConfig}))
	f.OperandImages = map[string]string{"openstack-cloud-controller-manager": "registry/openstack@sha256:9"}
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Equal(t, []string{typoCondition}, withoutCommand(f.trueConditions(t)))
}

func TestAnInputThatDoesNotFitTheAcceptedVersionOfTheOtherIsHeldBackToo(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	// The new credentials need a CA bundle, which the rejected cloud configuration would bring.
	f.put(t, secret("openstack-cloud-credentials", map[string][]byte{
		"clouds.yaml": []byte(goodClouds + "    cacert: /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\n"),
	}))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": typoConfig, "ca-bundle.pem": testCA}))
	f.OperandImages = map[string]string{"openstack-cloud-controller-manager": "registry/openstack@sha256:9"}
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"update configmaps/cloud-controller-manager-pod"}, f.writes())
	require.Equal(t, []string{typoCondition + acceptedLine + "; the current credentials cannot be used with the accepted version: for the " +
		"credentials too," + strings.Replace(acceptedLine, "\n", " ", 1)}, withoutCommand(f.trueConditions(t)))
}

func TestATrustedCAThatVanishesStaysTrusted(t *testing.T) {
	withTrust := `{"trustedCA": "user-ca-bundle",` + observed[1:]
	const message = "TrustedCADegraded: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: "
	for name, tc := range map[string]struct {
		change  metav1.Object
		message string
	}{
		"it is gone": {
			change:  without(userConfigMap("user-ca-bundle", nil)),
			message: message + "it does not exist; create it, or correct spec.trustedCA of proxy.config.openshift.io/cluster",
		},
		"it is no PEM": {
			change:  userConfigMap("user-ca-bundle", map[string]string{"ca-bundle.crt": "x"}),
			message: message + "it has no PEM certificate; add the CA certificates in PEM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newObserving(t, withTrust, goodInputs(userConfigMap("user-ca-bundle", map[string]string{"ca-bundle.crt": testCA}))...)
			require.NoError(t, f.run(t))
			require.Empty(t, f.trueConditions(t))
			trusted := f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt")
			require.NotEmpty(t, trusted)
			f.makeRevision(t)

			f.put(t, tc.change)
			f.settle(t)
			require.Equal(t, []string{tc.message + acceptedLine}, withoutCommand(f.trueConditions(t)))
			require.Equal(t, trusted, f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt"))

			f.put(t, without(secret("accepted-inputs", nil)))
			f.settle(t)
			require.Equal(t, []string{tc.message + trustLine}, f.trueConditions(t))
			require.Equal(t, trusted, f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt"))
			f.refresh(t)
			f.settle(t)
			require.Equal(t, trusted, f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt"), "also after the next look")

			f.setObserved(t, observed)
			f.settle(t)
			require.Empty(t, f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt"), "the Proxy names none any more")
		})
	}
}

func TestTrustedCAsThatAreTooLargeKeepTheAcceptedOnes(t *testing.T) {
	const message = "TrustedCADegraded: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: the trusted CAs have " +
		"%d bytes in total; the limit is 1032192; remove some"
	large := certificate(t, 1<<20)
	for name, tc := range map[string]struct {
		accepted bool
		line     string
	}{
		"the accepted version is stored": {true, acceptedLine},
		"it is not":                      {false, trustLine},
	} {
		t.Run(name, func(t *testing.T) {
			f := newObserving(t, `{"trustedCA": "user-ca-bundle",`+observed[1:],
				goodInputs(userConfigMap("user-ca-bundle", map[string]string{"ca-bundle.crt": testCA}))...)
			require.NoError(t, f.run(t))
			trusted := f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt")
			f.makeRevision(t)
			if !tc.accepted {
				f.put(t, without(secret("accepted-inputs", nil)))
			}

			f.put(t, userConfigMap("user-ca-bundle", map[string]string{"ca-bundle.crt": large}))
			require.NoError(t, f.run(t))
			require.Equal(t, []string{fmt.Sprintf(message, len(large)) + tc.line}, f.trueConditions(t))
			require.Equal(t, trusted, f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt"))
		})
	}
}

// certificate returns one in PEM of at least the size in bytes.
func certificate(t *testing.T, size int) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: make([]byte, size*3/4)}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestTheConditionSaysWhatRunsAlsoWhileNothingCanBeRendered(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": typoConfig}))
	f.OperandImages = nil
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Contains(t, f.trueConditions(t), typoCondition+acceptedLine)
	require.Len(t, f.trueConditions(t), 2)
}

func TestWhatDoesNotFitIsReported(t *testing.T) {
	repeated := strings.Repeat(testCA, 1<<20/len(testCA))
	withTrust := `{"trustedCA": "user-ca-bundle",` + observed[1:]
	f := newObserving(t, withTrust, goodInputs(
		userConfigMap("user-ca-bundle", map[string]string{"ca-bundle.crt": repeated}),
		secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte(goodClouds), "more": []byte(strings.Repeat("x", 64<<10))}),
	)...)
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"CloudConfigNotices: secret/accepted-inputs in openshift-cloud-controller-manager: no room to store the trusted CA; " +
		"if a later version is rejected, the content of the latest revision is used instead"}, f.trueConditions(t))
	trusted := f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt")
	f.makeRevision(t)

	f.put(t, without(userConfigMap("user-ca-bundle", nil)))
	f.settle(t)
	require.Equal(t, trusted, f.delivered(t, operand.ConfigMap, "trusted-ca", "ca-bundle.crt"))
	require.Equal(t, []string{"TrustedCADegraded: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: it does not exist; create it, or correct " +
		"spec.trustedCA of proxy.config.openshift.io/cluster" + trustLine}, f.trueConditions(t))
}

func TestSecretsOfSpecCustomThatAreRejectedDeliverWhatWasAccepted(t *testing.T) {
	const observed = onExternal + `"custom": {"image": "registry/acme:%d", "secrets": [{"name": "a"}, {"name": "b", "delivery": "Reloaded"}]}}`
	f := newObserving(t, fmt.Sprintf(observed, 1), withoutCloud(secret("a", map[string][]byte{"x": []byte("1")}), secret("b", map[string][]byte{"y": []byte("2")}))...)
	require.NoError(t, f.run(t))
	for _, name := range []string{"a", "b"} {
		f.put(t, without(secret(name, nil)))
	}
	f.setObserved(t, fmt.Sprintf(observed, 2))
	f.settle(t)
	require.Equal(t, []string{"update configmaps/cloud-controller-manager-pod"}, f.writes())
	require.Equal(t, "y", f.reloaded(t))
	require.Equal(t, "1", f.delivered(t, operand.Secret, "cloud-credentials", "x"))
	require.Contains(t, strings.Join(f.trueConditions(t), "\n"), acceptedLine)
	_, status, _, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(status.Conditions, func(c operatorv1.OperatorCondition) bool {
		return c.Type == "CredentialsDegraded" && c.Status == operatorv1.ConditionTrue
	}))
}
