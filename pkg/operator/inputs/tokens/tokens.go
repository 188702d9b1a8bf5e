// Package tokens maintains the Secrets that the operand reloads from files: kube-token for the API server, and
// cloud-tokens for the cloud. The file-syncer delivers both to every node. No other package writes them.
package tokens

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	name = "Tokens"

	kubeTokenDegraded   = "KubeTokenDegraded"
	cloudTokensDegraded = "CloudTokensDegraded"

	// defaultKubeTokenLifetime is the requested lifetime. It must outlast a period without refreshes: a stopped operator,
	// or a control plane that is switched off overnight.
	defaultKubeTokenLifetime = 48 * time.Hour

	kubeTokenKey = "token"
)

// Inertia declares the inertia of the conditions.
var Inertia = operatorclient.Inertia{
	kubeTokenDegraded:   operatorclient.DefaultInertia,
	cloudTokensDegraded: operatorclient.DefaultInertia,
}

type controller struct {
	dependencies.Deps
	kubeIssuer, cloudIssuer Issuer
	// kube and cloud retry their own conflicts, independently of each other.
	kube, cloud factory.SyncFunc
}

// New returns the controller that maintains both Secrets. It replaces a token after a third of its lifetime, and if
// another client changed the Secret or the ServiceAccount was recreated. Errors become KubeTokenDegraded and
// CloudTokensDegraded.
//
// lifetime is requested for the kube token, defaultKubeTokenLifetime if 0; the returned expiry applies. The API server
// rejects less than ten minutes.
func New(d dependencies.Deps, lifetime time.Duration) factory.Controller {
	dependencies.Require(d, lifetime)
	core := d.Target.Core().V1()
	f := factory.New().
		WithInformers(d.Operator.Informer(), core.Secrets().Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(ServiceAccount), core.ServiceAccounts().Informer()).
		WithFilteredEventsInformers(isPodConfigMap, core.ConfigMaps().Informer())
	return reconciler.Unreported(f, name, d.Recorder, newController(d, lifetime).sync)
}

func newController(d dependencies.Deps, lifetime time.Duration) *controller {
	issuer := Issuer{Client: d.Kube.CoreV1(), Clock: d.Clock}
	c := &controller{Deps: d, kubeIssuer: issuer, cloudIssuer: issuer}
	c.kubeIssuer.Lifetime = cmp.Or(lifetime, defaultKubeTokenLifetime)
	c.cloudIssuer.Lifetime = cloudTokenLifetime
	c.kube = reconciler.Retried(c.withAccount(c.syncKube))
	c.cloud = reconciler.Retried(c.withAccount(c.syncCloud))
	return c
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	kube, cloud := c.kube(ctx, syncCtx), c.cloud(ctx, syncCtx)
	err := operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.Problem(kubeTokenDegraded, "SyncError", text(kube)),
		operatorclient.Problem(cloudTokensDegraded, "SyncError", text(cloud)))
	return errors.Join(kube, cloud, err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// withAccount calls sync on a managed platform with the operand's ServiceAccount, nil if it does not exist.
// staticresources creates it and reports errors; its event requeues.
func (c *controller) withAccount(
	sync func(context.Context, factory.SyncContext, *corev1.ServiceAccount) error,
) factory.SyncFunc {
	return func(ctx context.Context, syncCtx factory.SyncContext) error {
		if managed, _, err := observedplatform.Managed(c.Operator); err != nil || !managed {
			return err
		}
		accounts := c.Target.Core().V1().ServiceAccounts().Lister().ServiceAccounts(operand.Namespace)
		account, err := operatorclient.Find(accounts, "serviceaccount", operand.Namespace, ServiceAccount)
		if err != nil {
			return err
		}
		return sync(ctx, syncCtx, account)
	}
}

func isPodConfigMap(obj any) bool {
	configMap, ok := obj.(*corev1.ConfigMap)
	return ok && (configMap.Name == operand.PodConfigMap || strings.HasPrefix(configMap.Name, operand.PodConfigMap+"-"))
}

func (c *controller) syncKube(ctx context.Context, syncCtx factory.SyncContext, account *corev1.ServiceAccount) error {
	if account == nil {
		return nil
	}
	current, err := c.Secret(operand.KubeTokenSecret)
	if err != nil {
		return err
	}
	wait, reason := c.kubeDue(current, account)
	if reason != "" {
		if current, err = live(ctx, c.Kube, operand.KubeTokenSecret); err != nil {
			return err
		}
		wait, reason = c.kubeDue(current, account)
	}
	if reason == "" {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, wait)
		return nil
	}
	token, record, err := c.kubeIssuer.Issue(ctx, account, "")
	if err != nil {
		return err
	}
	data, records := map[string][]byte{kubeTokenKey: token}, Records{kubeTokenKey: record}
	if err := apply(ctx, c.Kube.CoreV1(), syncCtx.Recorder(), operand.KubeTokenSecret, data, records); err != nil {
		return err
	}
	syncCtx.Recorder().Eventf("KubeTokenIssued", "secret/%s in %s has a new token, valid until %s, because %s",
		operand.KubeTokenSecret, operand.Namespace, record.ExpiresAt, reason)
	return nil
}

// kubeDue returns the reason to issue a token now, or the time until then.
func (c *controller) kubeDue(
	current *corev1.Secret, account *corev1.ServiceAccount,
) (wait time.Duration, reason string) {
	if current == nil {
		return 0, "there was none"
	}
	return c.kubeIssuer.Due(RecordsOf(current)[kubeTokenKey], current.Data[kubeTokenKey], account, "")
}
