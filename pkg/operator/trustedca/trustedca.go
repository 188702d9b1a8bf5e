// Package trustedca reports certificates among the user's trusted CAs that have expired or soon will. An expired one
// harms nobody by being there, but what it used to verify is not trusted any more.
package trustedca

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resourcesynccontroller"
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
	// ConfigMaps watches the operand's namespace.
	ConfigMaps corev1informers.ConfigMapInformer
	Clock      clock.PassiveClock
	Recorder   events.Recorder
}

type controller struct {
	operator   v1helpers.OperatorClient
	configMaps corev1listers.ConfigMapLister
	clock      clock.PassiveClock
}

// New returns the controller that reports expired and expiring certificates as TrustedCANotices and as an event when
// that changes. It reads the raw copies of what the user edits; what does not parse is for target configuration to
// report.
func New(o Options) factory.Controller {
	c := &controller{operator: o.Operator, configMaps: o.ConfigMaps.Lister(), clock: o.Clock}
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(resourcesynccontroller.RawTrustedCA, resourcesynccontroller.RawCloudConfig), o.ConfigMaps.Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known || !managed {
		return err
	}
	spec, status, _, err := c.operator.GetOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	notices, next, err := c.lookAtAll(sources(spec))
	if err != nil {
		return err
	}
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

// lookAtAll is look for all sources together.
func (c *controller) lookAtAll(all []source) (notices []string, next time.Duration, err error) {
	for _, s := range all {
		found, in, err := c.look(s)
		if err != nil {
			return nil, 0, err
		}
		notices = append(notices, found...)
		next = sooner(next, in)
	}
	return notices, next, nil
}

// sooner is the smaller of two durations of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// source is a bundle of trusted CAs.
type source struct {
	// configMap and key are the raw copy.
	configMap, key string
	// edited is the object that the user edits.
	edited string
}

func sources(spec *operatorv1.OperatorSpec) []source {
	// Whoever writes what is not of this schema is told by target configuration.
	config := operandconfig.Config{}
	_ = json.Unmarshal(spec.ObservedConfig.Raw, &config)
	edited := func(name string) string {
		return fmt.Sprintf("configmap/%s in %s", name, operatorclient.UserConfigNamespace)
	}
	return []source{
		{resourcesynccontroller.RawTrustedCA, "ca-bundle.crt", edited(config.TrustedCA)},
		{resourcesynccontroller.RawCloudConfig, "ca-bundle.pem", edited(config.CloudConfig.Name)},
	}
}

// look returns what is to be said about a source, and in how long that changes, 0 for never.
func (c *controller) look(s source) (notices []string, next time.Duration, err error) {
	configMap, err := c.configMaps.ConfigMaps(operand.Namespace).Get(s.configMap)
	if apierrors.IsNotFound(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("configmap/%s in %s: %w", s.configMap, operand.Namespace, err)
	}
	certificates, err := certutil.ParseCertsPEM([]byte(configMap.Data[s.key]))
	if err != nil {
		return nil, 0, nil //nolint:nilerr // Target configuration reports what does not parse.
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
				s.edited, s.key, certificate.Subject, verb, expiry.UTC().Format(time.DateOnly)))
		}
	}
	return notices, next, nil
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
