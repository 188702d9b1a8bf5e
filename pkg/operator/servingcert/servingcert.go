// Package servingcert keeps the certificate with which the operand serves its health and metrics. The operator signs
// it itself: the cluster's service CA runs only once nodes work, and for that the operand has to run.
//
// The objects, their annotations and the times of rotation are those of library-go's pkg/operator/certrotation, which is
// not used: it prints differences with go-cmp, and go-cmp looks methods up by name, for which the linker has to keep every
// method of every type. That made the binary 28 MB and each of its processes 11 MiB larger.
package servingcert

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/crypto"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourcehelper"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
)

const (
	// SignerSecret in the operator's namespace holds the signer's key. The cert-syncer reads every Secret of the
	// operand's namespace, so it must not be there.
	SignerSecret = "cloud-controller-manager-serving-signer"

	// CAConfigMap in the operand's namespace holds the signers' certificates in ca-bundle.crt, for clients.
	CAConfigMap = "serving-ca"

	bundleKey = "ca-bundle.crt"
)

// Validity tells how long certificates are valid from their issue. Each is replaced when half of it has passed.
type Validity struct {
	Signer, Leaf time.Duration
}

// DefaultValidity is used where Options has none: the same as for the certificates of other operands.
var DefaultValidity = Validity{Signer: 60 * 24 * time.Hour, Leaf: 30 * 24 * time.Hour}

// Client is what the controller writes with.
type Client interface {
	corev1client.SecretsGetter
	corev1client.ConfigMapsGetter
}

// Options are the dependencies of New; all but Validity are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// SignerSecrets watches Secrets in the operator's namespace.
	SignerSecrets corev1informers.SecretInformer
	// Secrets and ConfigMaps watch the operand's namespace.
	Secrets    corev1informers.SecretInformer
	ConfigMaps corev1informers.ConfigMapInformer
	Client     Client
	Clock      clock.PassiveClock
	Recorder   events.Recorder

	// Validity is, where zero, that of DefaultValidity.
	Validity Validity
}

type controller struct {
	operator      v1helpers.OperatorClient
	signerSecrets corev1listers.SecretLister
	secrets       corev1listers.SecretLister
	configMaps    corev1listers.ConfigMapLister
	client        Client
	clock         clock.PassiveClock
	validity      Validity
}

// New returns the controller that keeps a signer, its CA bundle and the Secret serving-cert with the operand's
// certificate. It works on listers: while nothing is due it sends no request. A certificate is judged by its content,
// so that one that somebody changed is replaced. Errors become ServingCertificateDegraded.
func New(o Options) factory.Controller {
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(SignerSecret), o.SignerSecrets.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.ServingCertSecret), o.Secrets.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(CAConfigMap), o.ConfigMaps.Informer()).
		WithSync(writeconflict.Retried(newController(o).sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController("ServingCertificate", o.Recorder)
}

func newController(o Options) *controller {
	c := &controller{
		operator:      o.Operator,
		signerSecrets: o.SignerSecrets.Lister(),
		secrets:       o.Secrets.Lister(),
		configMaps:    o.ConfigMaps.Lister(),
		client:        o.Client,
		clock:         o.Clock,
		validity:      o.Validity,
	}
	if c.validity.Signer == 0 {
		c.validity.Signer = DefaultValidity.Signer
	}
	if c.validity.Leaf == 0 {
		c.validity.Leaf = DefaultValidity.Leaf
	}
	return c
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known || !managed {
		return err
	}
	next, err := c.rotate(ctx, syncCtx.Recorder())
	if behind(err) {
		// What the caches lack is on its way and brings us back here.
		return nil
	}
	if err != nil {
		return err
	}
	syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next.Sub(c.clock.Now()))
	return nil
}

// rotate does what is due and returns when the next is.
func (c *controller) rotate(ctx context.Context, recorder events.Recorder) (next time.Time, err error) {
	signer, signerDue, err := c.ensureSigner(ctx, recorder)
	if err != nil {
		return time.Time{}, fmt.Errorf("secret/%s in %s: %w", SignerSecret, operatorclient.OperatorNamespace, err)
	}
	// Clients have to know a signer before a certificate of it is served.
	bundle, err := c.ensureBundle(ctx, recorder, signer)
	if err != nil {
		return time.Time{}, fmt.Errorf("configmap/%s in %s: %w", CAConfigMap, operand.Namespace, err)
	}
	leafDue, err := c.ensureLeaf(ctx, recorder, signer, bundle)
	if err != nil {
		return time.Time{}, fmt.Errorf("secret/%s in %s: %w", operand.ServingCertSecret, operand.Namespace, err)
	}
	return earliest(signerDue, leafDue), nil
}

func (c *controller) ensureSigner(ctx context.Context, recorder events.Recorder) (*crypto.CA, time.Time, error) {
	current, err := c.signerSecrets.Secrets(operatorclient.OperatorNamespace).Get(SignerSecret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, time.Time{}, err
	}
	now := c.clock.Now()
	pair, reason := readPair(current, now)
	if reason == "" && !pair.Certs[0].IsCA {
		reason = "it is not that of a signer"
	}
	if reason == "" && !now.Before(signerDue(pair.Certs[0], c.validity.Signer)) {
		reason = "half of its life has passed"
	}
	if reason != "" {
		if pair, err = makeSigner(c.clock.Now, c.validity.Signer); err != nil {
			return nil, time.Time{}, fmt.Errorf("making a signer: %w", err)
		}
	}
	if err := c.writePair(ctx, recorder, current, pair, signerMeta(pair.Certs[0], c.validity.Signer)); err != nil {
		return nil, time.Time{}, err
	}
	if reason != "" {
		recorder.Eventf("ServingSignerIssued", "secret/%s in %s has a new signer, because of the former: %s",
			SignerSecret, operatorclient.OperatorNamespace, reason)
	}
	signer := &crypto.CA{Config: pair, SerialGenerator: &crypto.RandomSerialGenerator{}}
	return signer, signerDue(pair.Certs[0], c.validity.Signer), nil
}

// ensureBundle adds the signer to those that clients trust, and forgets those that have expired.
func (c *controller) ensureBundle(ctx context.Context, recorder events.Recorder, signer *crypto.CA) ([]*x509.Certificate, error) {
	current, err := c.configMaps.ConfigMaps(operand.Namespace).Get(CAConfigMap)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	var trusted string
	if current != nil {
		trusted = current.Data[bundleKey]
	}
	bundle := withSigner(trusted, signer.Config.Certs[0], c.clock.Now())
	text, err := crypto.EncodeCertificates(bundle...)
	if err != nil {
		return nil, fmt.Errorf("encoding certificates: %w", err)
	}
	desired := &corev1.ConfigMap{ObjectMeta: bundleMeta(), Data: map[string]string{bundleKey: string(text)}}
	if current == nil {
		_, err := c.client.ConfigMaps(operand.Namespace).Create(ctx, desired, metav1.CreateOptions{})
		if !behind(err) {
			resourcehelper.ReportCreateEvent(recorder, desired, err)
		}
		return bundle, err
	}
	if carries(current.ObjectMeta, desired.ObjectMeta) && equality.Semantic.DeepEqual(current.Data, desired.Data) {
		return bundle, nil
	}
	desired.ObjectMeta = merged(current.ObjectMeta, desired.ObjectMeta)
	_, err = c.client.ConfigMaps(operand.Namespace).Update(ctx, desired, metav1.UpdateOptions{})
	if !behind(err) {
		resourcehelper.ReportUpdateEvent(recorder, desired, err)
	}
	return bundle, err
}

func (c *controller) ensureLeaf(ctx context.Context, recorder events.Recorder, signer *crypto.CA, bundle []*x509.Certificate) (time.Time, error) {
	current, err := c.secrets.Secrets(operand.Namespace).Get(operand.ServingCertSecret)
	if err != nil && !apierrors.IsNotFound(err) {
		return time.Time{}, err
	}
	now := c.clock.Now()
	pair, reason := readPair(current, now)
	if reason == "" {
		reason = unserviceable(pair.Certs[0], bundle)
	}
	if reason == "" && !now.Before(leafDue(pair.Certs[0], signer.Config.Certs[0], c.validity.Leaf)) {
		reason = "half of its life has passed"
	}
	if reason != "" {
		if pair, err = makeLeaf(signer, now, c.validity.Leaf); err != nil {
			return time.Time{}, fmt.Errorf("making a certificate: %w", err)
		}
	}
	if err := c.writePair(ctx, recorder, current, pair, leafMeta(pair.Certs[0], c.validity.Leaf)); err != nil {
		return time.Time{}, err
	}
	if reason != "" {
		recorder.Eventf("ServingCertificateIssued", "secret/%s in %s has a new certificate, because of the former: %s",
			operand.ServingCertSecret, operand.Namespace, reason)
	}
	return leafDue(pair.Certs[0], signer.Config.Certs[0], c.validity.Leaf), nil
}

// writePair makes the Secret what pair and meta say, if it is not. Only the state that was judged is replaced: whoever
// wrote in the meantime causes a conflict.
func (c *controller) writePair(ctx context.Context, recorder events.Recorder, current *corev1.Secret, pair *crypto.TLSCertificateConfig, meta metav1.ObjectMeta) error {
	certificate, key, err := pair.GetPEMBytes()
	if err != nil {
		return fmt.Errorf("encoding a certificate: %w", err)
	}
	desired := &corev1.Secret{
		ObjectMeta: meta,
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}
	if current == nil {
		_, err := c.client.Secrets(meta.Namespace).Create(ctx, desired, metav1.CreateOptions{})
		if !behind(err) {
			resourcehelper.ReportCreateEvent(recorder, desired, err)
		}
		return err
	}
	if carries(current.ObjectMeta, meta) && equality.Semantic.DeepEqual(current.Data, desired.Data) {
		return nil
	}
	desired.ObjectMeta = merged(current.ObjectMeta, meta)
	_, err = c.client.Secrets(meta.Namespace).Update(ctx, desired, metav1.UpdateOptions{})
	if !behind(err) {
		resourcehelper.ReportUpdateEvent(recorder, desired, err)
	}
	return err
}

// behind tells whether a write failed only because the caches are behind the API server.
func behind(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// carries tells whether current has the labels and annotations of desired.
func carries(current, desired metav1.ObjectMeta) bool {
	return contains(current.Labels, desired.Labels) && contains(current.Annotations, desired.Annotations)
}

func contains(all, some map[string]string) bool {
	for key, value := range some {
		if have, found := all[key]; !found || have != value {
			return false
		}
	}
	return true
}

// merged keeps what others wrote into the metadata of an object.
func merged(current, desired metav1.ObjectMeta) metav1.ObjectMeta {
	result := *current.DeepCopy()
	result.Labels, result.Annotations = union(result.Labels, desired.Labels), union(result.Annotations, desired.Annotations)
	return result
}

func union(all, some map[string]string) map[string]string {
	result := maps.Clone(all)
	if result == nil {
		result = map[string]string{}
	}
	maps.Copy(result, some)
	return result
}
