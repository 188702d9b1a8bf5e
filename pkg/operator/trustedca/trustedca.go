// Package trustedca reports certificates among the user's trusted CAs that have expired or soon will. An expired one
// harms nobody by being there, but what it used to verify is not trusted any more.
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
	// ConditionType is the condition that this package writes. The ClusterOperator unites conditions by their
	// suffixes; this one has none of them and is for whoever looks at the operator resource.
	ConditionType = "TrustedCANotices"

	name = "TrustedCAExpiryController"

	// ahead is how long before its expiry a certificate is reported.
	ahead = 30 * 24 * time.Hour

	// maxNotices bounds the message.
	maxNotices = 5
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// UserConfig and ManagedConfig are the ConfigMaps of openshift-config and of openshift-config-managed; of the
	// latter only operatorclient.ManagedCloudConfig is needed.
	UserConfig, ManagedConfig corev1informers.ConfigMapInformer

	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	operator v1helpers.OperatorClient
	reader   inputs.Reader
	clock    clock.PassiveClock
}

// New returns the controller that reports expired and expiring certificates as TrustedCANotices and as an event when
// that changes. It reads what the user edits; targetconfigcontroller reports what does not parse.
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
	notices, next := c.lookAtAll(bundles(gathered))
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	required := condition(notices)
	apply := applyoperatorv1.OperatorStatus().WithConditions(required)
	if err := c.operator.ApplyOperatorStatus(ctx, factory.ControllerFieldManager(name, "condition"), apply); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	previous := v1helpers.FindOperatorCondition(status.Conditions, ConditionType)
	if len(notices) > 0 && (previous == nil || previous.Message != *required.Message) {
		syncCtx.Recorder().Warning("TrustedCAExpiry", *required.Message)
	}
	return nil
}

// lookAtAll is look for all bundles together.
func (c *controller) lookAtAll(all []operand.TrustSource) (notices []string, next time.Duration) {
	for _, bundle := range all {
		found, in := c.look(bundle)
		notices = append(notices, found...)
		next = sooner(next, in)
	}
	return notices, next
}

// sooner is the smaller of two durations of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// bundles are the user's trusted CAs: the Proxy's and those beside the cloud configuration.
func bundles(gathered *inputs.Gathered) []operand.TrustSource {
	config := gathered.CloudConfig
	return append(slices.Clone(gathered.Trust), operand.TrustSource{Source: config.Source, Key: inputs.CloudCAKey, Data: config.CABundle})
}

// look returns the notices about a bundle, and in how long they change, 0 for never.
func (c *controller) look(bundle operand.TrustSource) (notices []string, next time.Duration) {
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
		next = sooner(next, turns)
		if verb != "" {
			notices = append(notices, fmt.Sprintf("%s, key %s: the certificate %q %s on %s; replace it",
				bundle.Source, bundle.Key, certificate.Subject, verb, expiry.UTC().Format(time.DateOnly)))
		}
	}
	return notices, next
}

func condition(notices []string) *applyoperatorv1.OperatorConditionApplyConfiguration {
	c := applyoperatorv1.OperatorCondition().WithType(ConditionType)
	if len(notices) == 0 {
		return c.WithStatus(operatorv1.ConditionFalse).WithReason("AsExpected")
	}
	if more := len(notices) - maxNotices; more > 0 {
		notices = append(notices[:maxNotices:maxNotices], fmt.Sprintf("and %d more", more))
	}
	return c.WithStatus(operatorv1.ConditionTrue).WithReason("CertificatesExpire").WithMessage(strings.Join(notices, "\n"))
}
