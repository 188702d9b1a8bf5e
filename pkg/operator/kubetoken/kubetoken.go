// Package kubetoken keeps the token with which the operand reaches the API server: a Secret whose content the
// cert-syncer carries to every node.
package kubetoken

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/tokenissuer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
)

const (
	// DefaultLifetime is what is asked for. It has to outlast a time in which nobody can refresh the token: the
	// operator down, the control plane switched off over night.
	DefaultLifetime = 48 * time.Hour

	// Annotations on the Secret. All of them are about the token in it; where they do not fit it, it is replaced.
	issuedAtAnnotation  = "cloud-controller-manager.openshift.io/token-issued-at"
	expiresAtAnnotation = "cloud-controller-manager.openshift.io/token-expires-at"
	ownerAnnotation     = "cloud-controller-manager.openshift.io/token-service-account-uid"
	digestAnnotation    = "cloud-controller-manager.openshift.io/token-sha256"

	tokenKey = "token"
)

// Client is what the controller writes with.
type Client interface {
	corev1client.SecretsGetter
	corev1client.ServiceAccountsGetter
}

// Options are the dependencies of New; all but Lifetime are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// ServiceAccounts and Secrets watch the operand's namespace.
	ServiceAccounts corev1informers.ServiceAccountInformer
	Secrets         corev1informers.SecretInformer
	Client          Client
	Clock           clock.PassiveClock
	Recorder        events.Recorder

	// Lifetime is what is asked for, DefaultLifetime if zero; the API server refuses less than ten minutes. Whatever
	// it answers counts.
	Lifetime time.Duration
}

type controller struct {
	operator        v1helpers.OperatorClient
	serviceAccounts corev1listers.ServiceAccountLister
	secrets         corev1listers.SecretLister
	client          Client
	issuer          tokenissuer.Issuer
}

// New returns the controller that keeps a token of the ServiceAccount cloud-controller-manager in the Secret
// kube-token. A token is replaced when a third of its life has passed, when the Secret was changed by someone else,
// and when the ServiceAccount was made anew. It is not bound to the Secret: deleting the Secret must not cut off
// operands that run. Errors become KubeTokenDegraded.
func New(o Options) factory.Controller {
	c := &controller{
		operator:        o.Operator,
		serviceAccounts: o.ServiceAccounts.Lister(),
		secrets:         o.Secrets.Lister(),
		client:          o.Client,
		issuer:          tokenissuer.Issuer{Client: o.Client, Clock: o.Clock, Lifetime: cmp.Or(o.Lifetime, DefaultLifetime)},
	}
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(tokenissuer.ServiceAccount), o.ServiceAccounts.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.KubeTokenSecret), o.Secrets.Informer()).
		WithSync(writeconflict.Retried(c.sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController("KubeToken", o.Recorder)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known || !managed {
		return err
	}
	account, err := c.serviceAccounts.ServiceAccounts(operand.Namespace).Get(tokenissuer.ServiceAccount)
	if apierrors.IsNotFound(err) {
		// The static resources create it and report when they cannot; its arrival brings us back here.
		return nil
	}
	if err != nil {
		return fmt.Errorf("serviceaccount/%s in %s: %w", tokenissuer.ServiceAccount, operand.Namespace, err)
	}
	current, err := c.secrets.Secrets(operand.Namespace).Get(operand.KubeTokenSecret)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("secret/%s in %s: %w", operand.KubeTokenSecret, operand.Namespace, err)
	}
	refreshAt, reason := judge(current, account)
	if reason == "" {
		if wait := refreshAt.Sub(c.issuer.Clock.Now()); wait > 0 {
			syncCtx.Queue().AddAfter(factory.DefaultQueueKey, wait)
			return nil
		}
		reason = tokenissuer.Aged
	}
	return c.issue(ctx, syncCtx.Recorder(), account, reason)
}

// judge returns when the token in secret is to be refreshed, or why it cannot be used any more.
func judge(secret *corev1.Secret, account *corev1.ServiceAccount) (refreshAt time.Time, reason string) {
	if secret == nil {
		return time.Time{}, "there is none"
	}
	record := tokenissuer.Record{
		IssuedAt:  secret.Annotations[issuedAtAnnotation],
		ExpiresAt: secret.Annotations[expiresAtAnnotation],
		Owner:     secret.Annotations[ownerAnnotation],
		SHA256:    secret.Annotations[digestAnnotation],
	}
	return record.Judge(secret.Data[tokenKey], account, "")
}

func (c *controller) issue(ctx context.Context, recorder events.Recorder, account *corev1.ServiceAccount, reason string) error {
	token, record, err := c.issuer.Issue(ctx, account, "")
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace,
			Name:      operand.KubeTokenSecret,
			Annotations: map[string]string{
				issuedAtAnnotation:  record.IssuedAt,
				expiresAtAnnotation: record.ExpiresAt,
				ownerAnnotation:     record.Owner,
				digestAnnotation:    record.SHA256,
			},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{tokenKey: token},
	}
	if _, _, err := resourceapply.ApplySecret(ctx, c.client, recorder, secret); err != nil {
		return fmt.Errorf("secret/%s in %s: %w", secret.Name, secret.Namespace, err)
	}
	recorder.Eventf("KubeTokenIssued", "secret/%s in %s has a new token, valid until %s, because %s",
		secret.Name, secret.Namespace, record.ExpiresAt, reason)
	return nil
}
