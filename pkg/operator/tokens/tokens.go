// Package tokens maintains the Secrets that the operand reloads from files: kube-token for the API server, and
// cloud-tokens for the cloud. The file-syncer delivers both to every node. No other package writes them.
package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
)

const (
	name = "Tokens"

	// The conditions, one for each Secret.
	kubeTokenDegraded   = "KubeTokenDegraded"
	cloudTokensDegraded = "CloudTokensDegraded"
)

// Client writes the Secrets and requests tokens.
type Client interface {
	corev1client.SecretsGetter
	corev1client.ServiceAccountsGetter
}

// Options are the dependencies of New; all but KubeTokenLifetime are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// ServiceAccounts, ConfigMaps and Secrets watch the operand's namespace.
	ServiceAccounts corev1informers.ServiceAccountInformer
	ConfigMaps      corev1informers.ConfigMapInformer
	Secrets         corev1informers.SecretInformer
	Client          Client
	Clock           clock.PassiveClock
	Recorder        events.Recorder

	// KubeTokenLifetime is the requested lifetime, DefaultKubeTokenLifetime if zero. The API server rejects less than
	// ten minutes. The returned expiry applies.
	KubeTokenLifetime time.Duration
}

type controller struct {
	operator        v1helpers.StaticPodOperatorClient
	kube, cloud     factory.SyncFunc
	kubeToken       *kubeToken
	cloudTokens     *cloudTokens
	serviceAccounts corev1listers.ServiceAccountLister
}

// New returns the controller that maintains both Secrets. It replaces a token when a third of its lifetime has
// passed, when another client changed the Secret, and when the ServiceAccount was recreated. Tokens are not bound to
// their Secret: deleting the Secret must not invalidate the token of running operands. Errors become
// KubeTokenDegraded and CloudTokensDegraded.
func New(o Options) factory.Controller {
	c := newController(o)
	return factory.New().
		WithInformers(o.Operator.Informer(), o.Secrets.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(ServiceAccount), o.ServiceAccounts.Informer()).
		WithFilteredEventsInformers(isPodConfigMap, o.ConfigMaps.Informer()).
		WithSync(c.sync).
		ToController(name, o.Recorder)
}

func newController(o Options) *controller {
	c := &controller{
		operator: o.Operator,
		kubeToken: &kubeToken{
			secrets: o.Secrets.Lister(), client: o.Client,
			issuer: Issuer{Client: o.Client, Clock: o.Clock, Lifetime: cmp.Or(o.KubeTokenLifetime, DefaultKubeTokenLifetime)},
		},
		cloudTokens: &cloudTokens{
			operator: o.Operator, configMaps: o.ConfigMaps.Lister(), secrets: o.Secrets.Lister(), client: o.Client,
			issuer: Issuer{Client: o.Client, Clock: o.Clock, Lifetime: CloudTokenLifetime},
		},
		serviceAccounts: o.ServiceAccounts.Lister(),
	}
	// Each sync retries its own conflicts, independently of the other.
	c.kube = writeconflict.Retried(c.withAccount(c.kubeToken.sync))
	c.cloud = writeconflict.Retried(c.withAccount(c.cloudTokens.sync))
	return c
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	kube, cloud := c.kube(ctx, syncCtx), c.cloud(ctx, syncCtx)
	status := applyoperatorv1.OperatorStatus().WithConditions(condition(kubeTokenDegraded, kube), condition(cloudTokensDegraded, cloud))
	err := c.operator.ApplyOperatorStatus(ctx, factory.ControllerFieldManager(name, "conditions"), status)
	if err != nil {
		err = fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	return errors.Join(kube, cloud, err)
}

func condition(conditionType string, err error) *applyoperatorv1.OperatorConditionApplyConfiguration {
	c := applyoperatorv1.OperatorCondition().WithType(conditionType)
	if err == nil {
		return c.WithStatus(operatorv1.ConditionFalse).WithReason("AsExpected")
	}
	return c.WithStatus(operatorv1.ConditionTrue).WithReason("SyncError").WithMessage(err.Error())
}

// withAccount calls sync on a managed platform with the operand's ServiceAccount, nil if it does not exist.
// staticresources creates it and reports errors; its event requeues.
func (c *controller) withAccount(sync func(context.Context, factory.SyncContext, *corev1.ServiceAccount) error) factory.SyncFunc {
	return func(ctx context.Context, syncCtx factory.SyncContext) error {
		managed, known, err := observedplatform.Managed(c.operator)
		if err != nil || !known || !managed {
			return err
		}
		account, err := c.serviceAccounts.ServiceAccounts(operand.Namespace).Get(ServiceAccount)
		if apierrors.IsNotFound(err) {
			account, err = nil, nil
		}
		if err != nil {
			return fmt.Errorf("serviceaccount/%s in %s: %w", ServiceAccount, operand.Namespace, err)
		}
		return sync(ctx, syncCtx, account)
	}
}

// isPodConfigMap reports whether obj is the candidate or a revision's copy of it.
func isPodConfigMap(obj any) bool {
	configMap, ok := obj.(*corev1.ConfigMap)
	return ok && (configMap.Name == operand.PodConfigMap || strings.HasPrefix(configMap.Name, operand.PodConfigMap+"-"))
}
