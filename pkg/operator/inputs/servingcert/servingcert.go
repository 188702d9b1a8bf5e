// Package servingcert rotates the certificate of the operand's health and metrics endpoints. The operator signs it:
// the cluster's service CA runs only on initialized nodes, which need the operand first.
//
// The objects, their annotations and the rotation times are those of library-go's pkg/operator/certrotation. That
// package links go-cmp, for which the linker keeps every method: 28 MB of the binary, and 11 MiB of each process.
package servingcert

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"time"

	configv1alpha1informers "github.com/openshift/client-go/config/informers/externalversions/config/v1alpha1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/crypto"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourcehelper"
	"github.com/openshift/library-go/pkg/operator/resource/resourcemerge"
	"github.com/openshift/library-go/pkg/pki"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	// SignerSecret is the Secret with the signer's key. It is in the operator's namespace, because the operand may read
	// every Secret of its own namespace on Nutanix.
	SignerSecret = "cloud-controller-manager-serving-signer"

	// CAKey is the key of operand.ServingCAConfigMap with the signers' certificates for clients.
	CAKey = "ca-bundle.crt"
)

// Validity has the validity periods of new certificates. Each certificate is replaced after half of its period.
type Validity struct {
	Signer, Leaf time.Duration
}

// defaultValidity replaces zero fields of Validity. Other operands' certificates have the same periods.
var defaultValidity = Validity{Signer: 60 * 24 * time.Hour, Leaf: 30 * 24 * time.Hour}

type controller struct {
	dependencies.Deps
	signerSecrets corev1informers.SecretInformer
	pkis          configv1alpha1informers.PKIInformer
	validity      Validity
}

// New returns the controller that maintains a signer, its CA bundle and the Secret serving-cert with the operand's
// certificate, and reverts other clients' changes. Errors become ServingCertificateDegraded.
//
// signerSecrets watches the operator's namespace, and pkis the PKI configuration while its feature gate is enabled.
func New(
	d dependencies.Deps, signerSecrets corev1informers.SecretInformer, pkis configv1alpha1informers.PKIInformer,
	validity Validity,
) factory.Controller {
	dependencies.Require(d, signerSecrets, pkis, validity)
	target := d.Target.Core().V1()
	f := factory.New().
		WithFilteredEventsInformers(factory.NamesFilter(SignerSecret), signerSecrets.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.ServingCertSecret), target.Secrets().Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.ServingCAConfigMap), target.ConfigMaps().Informer()).
		WithInformers(ondemand.Informer{SharedIndexInformer: pkis.Informer()})
	return reconciler.From(f, "ServingCertificate", d.Operator, d.Recorder,
		newController(d, signerSecrets, pkis, validity).sync)
}

func newController(
	d dependencies.Deps, signerSecrets corev1informers.SecretInformer, pkis configv1alpha1informers.PKIInformer,
	validity Validity,
) *controller {
	validity.Signer = cmp.Or(validity.Signer, defaultValidity.Signer)
	validity.Leaf = cmp.Or(validity.Leaf, defaultValidity.Leaf)
	return &controller{Deps: d, signerSecrets: signerSecrets, pkis: pkis, validity: validity}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	if managed, _, err := observedplatform.Managed(c.Operator); err != nil || !managed {
		return err
	}
	policy, err := c.readKeyPolicy(ctx)
	if err != nil {
		return err
	}
	next, err := c.rotate(ctx, syncCtx.Recorder(), policy)
	if err != nil {
		return err
	}
	syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next.Sub(c.Clock.Now()))
	return policy.unsupported
}

func (c *controller) rotate(
	ctx context.Context, recorder events.Recorder, policy *keyPolicy,
) (next time.Time, err error) {
	signer, signerDue, err := c.ensureSigner(ctx, recorder, policy)
	if err != nil {
		return time.Time{}, fmt.Errorf("maintaining secret/%s in %s: %w", SignerSecret, operatorclient.OperatorNamespace, err)
	}
	// Clients must trust a signer before the operand serves a certificate of it.
	bundle, err := c.ensureBundle(ctx, recorder, signer)
	if err != nil {
		return time.Time{}, fmt.Errorf("maintaining configmap/%s in %s: %w",
			operand.ServingCAConfigMap, operand.Namespace, err)
	}
	leafDue, err := c.ensureLeaf(ctx, recorder, signer, bundle, policy)
	if err != nil {
		return time.Time{}, fmt.Errorf("maintaining secret/%s in %s: %w", operand.ServingCertSecret, operand.Namespace, err)
	}
	return earliest(signerDue, leafDue), nil
}

func (c *controller) ensureSigner(
	ctx context.Context, recorder events.Recorder, policy *keyPolicy,
) (*crypto.CA, time.Time, error) {
	current, err := operatorclient.Find(c.signerSecrets.Lister().Secrets(operatorclient.OperatorNamespace), "secret",
		operatorclient.OperatorNamespace, SignerSecret)
	if err != nil {
		return nil, time.Time{}, err
	}
	now := c.Clock.Now()
	pair, reason := readPair(current, now)
	key := policy.keyFor(pki.CertificateTypeSigner, "cloud-controller-manager.serving-signer", pair)
	if reason == "" && !pair.Certs[0].IsCA {
		reason = "the previous one is not a CA certificate"
	}
	if reason == "" && !now.Before(signerDue(pair.Certs[0], c.validity.Signer)) {
		reason = "half of the previous one's validity has passed"
	}
	if reason != "" {
		if pair, err = makeSigner(c.Clock.Now, c.validity.Signer, key); err != nil {
			return nil, time.Time{}, fmt.Errorf("making a signer: %w", err)
		}
	}
	meta := objectMeta(operatorclient.OperatorNamespace, SignerSecret, "signer",
		"Signs the serving certificate of the cloud-controller-manager.")
	if err := c.writePair(ctx, recorder, current, pair, meta, c.validity.Signer); err != nil {
		return nil, time.Time{}, err
	}
	if reason != "" {
		recorder.Eventf("ServingSignerIssued", "secret/%s in %s has a new signer, because %s",
			SignerSecret, operatorclient.OperatorNamespace, reason)
	}
	signer := &crypto.CA{Config: pair, SerialGenerator: &crypto.RandomSerialGenerator{}}
	return signer, signerDue(pair.Certs[0], c.validity.Signer), nil
}

func (c *controller) ensureBundle(
	ctx context.Context, recorder events.Recorder, signer *crypto.CA,
) ([]*x509.Certificate, error) {
	current, err := c.ConfigMap(operand.ServingCAConfigMap)
	if err != nil {
		return nil, err
	}
	existing := ptr.Deref(current, corev1.ConfigMap{})
	bundle := withSigner(existing.Data[CAKey], signer.Config.Certs[0], c.Clock.Now())
	text, err := crypto.EncodeCertificates(bundle...)
	if err != nil {
		return nil, fmt.Errorf("encoding certificates: %w", err)
	}
	meta := objectMeta(operand.Namespace, operand.ServingCAConfigMap, "ca-bundle",
		"Verifies the serving certificate of the cloud-controller-manager.")
	data := map[string]string{CAKey: string(text)}
	desired, modified := existing.DeepCopy(), false
	resourcemerge.EnsureObjectMeta(&modified, &desired.ObjectMeta, meta)
	if !modified && maps.Equal(existing.Data, data) {
		return bundle, nil
	}
	if current == nil {
		if err := c.confirmSigner(ctx, signer); err != nil {
			return nil, err
		}
	}
	client := c.Kube.CoreV1().ConfigMaps(operand.Namespace)
	isFixed := ptr.Deref(existing.Immutable, false)
	if isFixed {
		if err := makeWay(ctx, client.Delete, "configmap", &desired.ObjectMeta); err != nil {
			return nil, err
		}
	}
	desired.Data, desired.BinaryData, desired.Immutable = data, nil, nil
	return bundle, write(ctx, recorder, client, desired, current == nil || isFixed)
}

// confirmSigner returns a conflict unless the API server has this signer. The caches of the signer and of the bundle
// come from two watches: after both were deleted, the cache may still have the signer but not the bundle, and a new
// bundle would trust the deleted signer until it expires.
func (c *controller) confirmSigner(ctx context.Context, signer *crypto.CA) error {
	current, err := c.Kube.CoreV1().Secrets(operatorclient.OperatorNamespace).Get(ctx, SignerSecret, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading secret/%s in %s: %w", SignerSecret, operatorclient.OperatorNamespace, err)
	}
	pair, reason := readPair(current, c.Clock.Now())
	if err == nil && reason == "" && pair.Certs[0].Equal(signer.Config.Certs[0]) {
		return nil
	}
	return apierrors.NewConflict(corev1.Resource("secrets"), SignerSecret, errors.New("it is not the one in the cache"))
}

func (c *controller) ensureLeaf(
	ctx context.Context, recorder events.Recorder, signer *crypto.CA, bundle []*x509.Certificate, policy *keyPolicy,
) (time.Time, error) {
	current, err := c.Secret(operand.ServingCertSecret)
	if err != nil {
		return time.Time{}, err
	}
	now := c.Clock.Now()
	pair, reason := readPair(current, now)
	key := policy.keyFor(pki.CertificateTypeServing, "cloud-controller-manager.serving", pair)
	if reason == "" {
		reason = rejection(pair.Certs[0], bundle)
	}
	if reason == "" && !now.Before(leafDue(pair.Certs[0], signer.Config.Certs[0], c.validity.Leaf)) {
		reason = "half of the previous one's validity has passed"
	}
	if reason != "" {
		if pair, err = makeLeaf(signer, now, c.validity.Leaf, key); err != nil {
			return time.Time{}, fmt.Errorf("making a certificate: %w", err)
		}
	}
	meta := objectMeta(operand.Namespace, operand.ServingCertSecret, "target",
		"Serves health and metrics of the cloud-controller-manager on port 10258.")
	if err := c.writePair(ctx, recorder, current, pair, meta, c.validity.Leaf); err != nil {
		return time.Time{}, err
	}
	if reason != "" {
		recorder.Eventf("ServingCertificateIssued", "secret/%s in %s has a new certificate, because %s",
			operand.ServingCertSecret, operand.Namespace, reason)
	}
	return leafDue(pair.Certs[0], signer.Config.Certs[0], c.validity.Leaf), nil
}

func (c *controller) writePair(
	ctx context.Context, recorder events.Recorder, current *corev1.Secret,
	pair *crypto.TLSCertificateConfig, meta metav1.ObjectMeta, validity time.Duration,
) error {
	certificate, key, err := pair.GetPEMBytes()
	if err != nil {
		return fmt.Errorf("encoding a certificate: %w", err)
	}
	data := map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	annotate(meta, pair.Certs[0], validity)
	existing := ptr.Deref(current, corev1.Secret{})
	desired, modified := existing.DeepCopy(), false
	resourcemerge.EnsureObjectMeta(&modified, &desired.ObjectMeta, meta)
	isFixed := current != nil && (current.Type != corev1.SecretTypeTLS || ptr.Deref(current.Immutable, false))
	if !modified && !isFixed && maps.EqualFunc(existing.Data, data, bytes.Equal) {
		return nil
	}
	client := c.Kube.CoreV1().Secrets(meta.Namespace)
	if isFixed {
		if err := makeWay(ctx, client.Delete, "secret", &desired.ObjectMeta); err != nil {
			return err
		}
	}
	desired.Type, desired.Data, desired.Immutable = corev1.SecretTypeTLS, data, nil
	return write(ctx, recorder, client, desired, current == nil || isFixed)
}

// makeWay deletes an object of another type or an immutable one, which the API server does not update, if it is still
// the one in the cache, and makes its metadata those of a new object. It fails while finalizers keep the object.
func makeWay(
	ctx context.Context, remove func(context.Context, string, metav1.DeleteOptions) error, kind string,
	meta *metav1.ObjectMeta,
) error {
	if err := operatorclient.Held(meta); err != nil {
		return err
	}
	seen := metav1.Preconditions{UID: ptr.To(meta.UID), ResourceVersion: ptr.To(meta.ResourceVersion)}
	err := operatorclient.Delete(ctx, remove, kind, meta.Namespace, meta.Name, metav1.DeleteOptions{Preconditions: &seen})
	*meta = metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations,
	}
	return err
}

type writer[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// write replaces only the state that was checked: a concurrent write causes a conflict, which the reconciler retries.
// Package adminevents drops its event.
func write[T runtime.Object](
	ctx context.Context, recorder events.Recorder, client writer[T], object T, isNew bool,
) error {
	if isNew {
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		resourcehelper.ReportCreateEvent(recorder, object, err)
		return err
	}
	_, err := client.Update(ctx, object, metav1.UpdateOptions{})
	resourcehelper.ReportUpdateEvent(recorder, object, err)
	return err
}
