// Package trustedca reports certificates among the user's trusted CAs that have expired or will expire soon. An
// expired CA does no harm, but certificates that it issued are no longer trusted.
package trustedca

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
)

const (
	// ConditionType is the condition that this package writes. It has none of the suffixes that the ClusterOperator
	// aggregates, so it appears only on the operator resource.
	ConditionType = "TrustedCANotices"

	name = "TrustedCAExpiryController"

	// ahead is how long before its expiry a certificate is reported.
	ahead = 30 * 24 * time.Hour

	// maxDiagnostics limits the certificates in the message.
	maxDiagnostics = 5
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// UserConfig and ManagedConfig are the ConfigMaps of openshift-config and of openshift-config-managed. Of the
	// latter, the controller reads only operatorclient.ManagedCloudConfig.
	UserConfig, ManagedConfig corev1informers.ConfigMapInformer

	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	operator v1helpers.OperatorClient
	reader   inputs.Reader
	clock    clock.PassiveClock
}

// New returns the controller that reports expired and expiring certificates in TrustedCANotices, and in an event when
// that changes. It reads the user's objects. targetconfigcontroller reports certificates that do not parse.
func New(o Options) factory.Controller {
	c := &controller{
		operator: o.Operator,
		reader:   inputs.Listers{UserConfig: o.UserConfig.Lister(), ManagedConfig: o.ManagedConfig.Lister()},
		clock:    o.Clock,
	}
	return factory.New().
		WithInformers(o.Operator.Informer(), o.UserConfig.Informer(), o.ManagedConfig.Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	platform, known, err := observedplatform.Get(c.operator)
	if err != nil || !known || !platform.Managed() {
		return err
	}
	spec, status, _, err := c.operator.GetOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	config, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil //nolint:nilerr // targetconfigcontroller reports schema errors.
	}
	gathered, err := inputs.Gather(c.reader, config, platform)
	if err != nil {
		return err
	}
	expiring, next := c.inspectAll(bundles(gathered))
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	required := condition(expiring)
	apply := applyoperatorv1.OperatorStatus().WithConditions(required)
	if err := c.operator.ApplyOperatorStatus(ctx, factory.ControllerFieldManager(name, "condition"), apply); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	previous := v1helpers.FindOperatorCondition(status.Conditions, ConditionType)
	if len(expiring) > 0 && (previous == nil || previous.Message != *required.Message) {
		syncCtx.Recorder().Warning("TrustedCAExpiry", *required.Message)
	}
	return nil
}

// inspectAll inspects all bundles.
func (c *controller) inspectAll(all []operand.TrustSource) (expiring []string, next time.Duration) {
	for _, bundle := range all {
		found, in := c.inspect(bundle)
		expiring = append(expiring, found...)
		next = minPositive(next, in)
	}
	return expiring, next
}

// minPositive returns the smaller of two durations, where 0 means never.
func minPositive(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// bundles returns the user's trusted CAs: the Proxy's and the cloud configuration's.
func bundles(gathered *inputs.Gathered) []operand.TrustSource {
	config := gathered.CloudConfig
	return append(slices.Clone(gathered.Trust), operand.TrustSource{Source: config.Source, Key: inputs.CloudCAKey, Data: config.CABundle})
}

// inspect returns the messages about a bundle's certificates, and the time until they change, 0 for never.
func (c *controller) inspect(bundle operand.TrustSource) (expiring []string, next time.Duration) {
	certificates, err := certutil.ParseCertsPEM(bundle.Data)
	if err != nil {
		return nil, 0 // targetconfigcontroller reports what does not parse.
	}
	now := c.clock.Now()
	for _, certificate := range certificates {
		expiry := certificate.NotAfter
		verb := "expires"
		turns := expiry.Sub(now)
		switch {
		case turns <= 0:
			verb, turns = "expired", 0
		case turns > ahead:
			verb, turns = "", turns-ahead
		}
		next = minPositive(next, turns)
		if verb != "" {
			expiring = append(expiring, fmt.Sprintf("%s, key %s: the certificate %q %s on %s; replace it",
				bundle.Source, bundle.Key, certificate.Subject, verb, expiry.UTC().Format(time.DateOnly)))
		}
	}
	return expiring, next
}

func condition(expiring []string) *applyoperatorv1.OperatorConditionApplyConfiguration {
	c := applyoperatorv1.OperatorCondition().WithType(ConditionType)
	if len(expiring) == 0 {
		return c.WithStatus(operatorv1.ConditionFalse).WithReason("AsExpected")
	}
	if more := len(expiring) - maxDiagnostics; more > 0 {
		expiring = append(expiring[:maxDiagnostics:maxDiagnostics], fmt.Sprintf("and %d more", more))
	}
	return c.WithStatus(operatorv1.ConditionTrue).WithReason("CertificatesExpire").WithMessage(strings.Join(expiring, "\n"))
}
