// Package trustedca reports certificates among the user's trusted CAs that have expired or will expire soon. An
// expired CA does no harm, but certificates that it issued are no longer trusted.
package trustedca

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// ConditionType is the condition of this package. The ClusterOperator does not aggregate its suffix.
	ConditionType = "TrustedCANotices"

	name = "TrustedCAExpiryController"

	// ahead is how long before its expiry a certificate is reported.
	ahead = 30 * 24 * time.Hour
)

type controller struct {
	dependencies.Deps
	reader inputs.Reader
}

// New returns the controller that reports expired and expiring certificates in TrustedCANotices, and in an event when
// the message changes. It reads the ConfigMaps of openshift-config, and operatorclient.ManagedCloudConfig in
// openshift-config-managed. targetconfigcontroller reports certificates that do not parse.
func New(d dependencies.Deps, userConfig, managedConfig corev1informers.ConfigMapInformer) factory.Controller {
	dependencies.Require(d, userConfig, managedConfig)
	c := &controller{
		Deps: d, reader: inputs.Listers{UserConfig: userConfig.Lister(), ManagedConfig: managedConfig.Lister()},
	}
	return reconciler.New(name, d.Operator, d.Recorder, c.sync, userConfig.Informer(), managedConfig.Informer())
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	platform, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known || !platform.Managed() {
		return err
	}
	spec, status, _, err := c.Operator.GetOperatorState()
	if err != nil {
		return err
	}
	config, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil //nolint:nilerr // targetconfigcontroller reports schema errors.
	}
	gathered, err := inputs.Gather(c.reader, config, platform)
	if err != nil {
		return err
	}
	expiring, next := c.inspect(gathered.Bundles()...)
	reconciler.After(syncCtx, next)
	message := operatorclient.Bounded(diagnostic.JoinFew(expiring, "\n", "\nand %d more"))
	err = operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.Problem(ConditionType, "CertificatesExpire", message))
	if err != nil {
		return err
	}
	previous := v1helpers.FindOperatorCondition(status.Conditions, ConditionType)
	if message != "" && (previous == nil || previous.Message != message) {
		syncCtx.Recorder().Warning("TrustedCAExpiry", message)
	}
	return nil
}

// inspect returns the messages about the bundles' certificates, and the time until they change, 0 for never.
func (c *controller) inspect(bundles ...operand.TrustSource) (expiring []string, next time.Duration) {
	now := c.Clock.Now()
	for _, bundle := range bundles {
		certificates, err := certutil.ParseCertsPEM(bundle.Data)
		if err != nil {
			continue // targetconfigcontroller reports what does not parse.
		}
		for _, certificate := range certificates {
			expiry := certificate.NotAfter
			left, verb := expiry.Sub(now), "expires"
			switch {
			case left <= 0:
				verb = "expired"
			case left > ahead:
				next = patience.Sooner(next, left-ahead)
				continue
			default:
				next = patience.Sooner(next, left)
			}
			expiring = append(expiring, fmt.Sprintf("%s, key %s: the certificate %q %s on %s; replace it",
				bundle.Source, bundle.Key, certificate.Subject, verb, expiry.UTC().Format(time.DateOnly)))
		}
	}
	return expiring, next
}
