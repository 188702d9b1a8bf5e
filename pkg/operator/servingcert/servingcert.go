// Package servingcert keeps the certificate with which the operand serves its health and metrics. The operator signs
// it itself: the cluster's service CA runs only once nodes work, and for that the operand has to run.
package servingcert

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/certrotation"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

const (
	// SignerSecret in the operator's namespace holds the signer's key. The cert-syncer reads every Secret of the
	// operand's namespace, so it must not be there.
	SignerSecret = "cloud-controller-manager-serving-signer"

	// CAConfigMap in the operand's namespace holds the signers' certificates in ca-bundle.crt, for clients.
	CAConfigMap = "serving-ca"

	component = "Cloud Compute / Cloud Controller Manager"
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
	Recorder   events.Recorder

	// Validity is DefaultValidity if zero.
	Validity Validity
}

type controller struct {
	operator v1helpers.OperatorClient
	rotation certrotation.CertRotationController
}

// New returns the controller that keeps a signer, its CA bundle and the Secret serving-cert with the operand's
// certificate. It works on listers: while nothing is due it sends no request. Errors become
// ServingCertificateDegraded.
func New(o Options) factory.Controller {
	validity := o.Validity
	if validity == (Validity{}) {
		validity = DefaultValidity
	}
	c := &controller{operator: o.Operator, rotation: rotation(o, validity)}
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(SignerSecret), o.SignerSecrets.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.ServingCertSecret), o.Secrets.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(CAConfigMap), o.ConfigMaps.Informer()).
		// Rotation judges by the wall clock and does not tell when it wants to be asked again.
		ResyncEvery(recheck(validity)).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController("ServingCertificate", o.Recorder)
}

// recheck is a minute, less only for certificates so short-lived that a minute matters.
func recheck(v Validity) time.Duration {
	return min(time.Minute, v.Leaf/20, v.Signer/20)
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known || !managed {
		return err
	}
	if err := c.rotation.SyncWorker(ctx); err != nil {
		return fmt.Errorf("rotating secret/%s in %s: %w", operand.ServingCertSecret, operand.Namespace, err)
	}
	return nil
}

func rotation(o Options, validity Validity) certrotation.CertRotationController {
	return certrotation.CertRotationController{
		Name: "ServingCertificate",
		RotatedSigningCASecret: certrotation.RotatedSigningCASecret{
			Namespace:             operatorclient.OperatorNamespace,
			Name:                  SignerSecret,
			Validity:              validity.Signer,
			Refresh:               validity.Signer / 2,
			AdditionalAnnotations: annotations("Signs the serving certificate of the cloud-controller-manager."),
			Informer:              o.SignerSecrets,
			Lister:                o.SignerSecrets.Lister(),
			Client:                o.Client,
			EventRecorder:         o.Recorder,
		},
		CABundleConfigMap: certrotation.CABundleConfigMap{
			Namespace:             operand.Namespace,
			Name:                  CAConfigMap,
			AdditionalAnnotations: annotations("Verifies the serving certificate of the cloud-controller-manager."),
			Informer:              o.ConfigMaps,
			Lister:                o.ConfigMaps.Lister(),
			Client:                o.Client,
			EventRecorder:         o.Recorder,
		},
		RotatedSelfSignedCertKeySecret: certrotation.RotatedSelfSignedCertKeySecret{
			Namespace:             operand.Namespace,
			Name:                  operand.ServingCertSecret,
			Validity:              validity.Leaf,
			Refresh:               validity.Leaf / 2,
			AdditionalAnnotations: annotations("Serves health and metrics of the cloud-controller-manager on port 10258."),
			CertCreator:           &certrotation.ServingRotation{Hostnames: hostnames},
			Informer:              o.Secrets,
			Lister:                o.Secrets.Lister(),
			Client:                o.Client,
			EventRecorder:         o.Recorder,
		},
	}
}

// hostnames are the names that do not depend on the node: the same certificate serves on all of them.
func hostnames() []string {
	service := operand.Name + "." + operand.Namespace + ".svc"
	return []string{"localhost", "127.0.0.1", "::1", service, service + ".cluster.local"}
}

func annotations(description string) certrotation.AdditionalAnnotations {
	return certrotation.AdditionalAnnotations{JiraComponent: component, Description: description}
}
