package tokens

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// DefaultKubeTokenLifetime is the requested lifetime. It must outlast a period without refreshes: a stopped operator,
// or a control plane that is switched off overnight.
const DefaultKubeTokenLifetime = 48 * time.Hour

const kubeTokenKey = "token"

// kubeToken maintains the Secret kube-token.
type kubeToken struct {
	secrets corev1listers.SecretLister
	client  Client
	issuer  Issuer
}

func (k *kubeToken) sync(ctx context.Context, syncCtx factory.SyncContext, account *corev1.ServiceAccount) error {
	if account == nil {
		return nil
	}
	current, err := k.secrets.Secrets(operand.Namespace).Get(operand.KubeTokenSecret)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("secret/%s in %s: %w", operand.KubeTokenSecret, operand.Namespace, err)
	}
	wait, reason := time.Duration(0), "there was none"
	if current != nil {
		wait, reason = k.issuer.Judge(RecordsOf(current)[kubeTokenKey], current.Data[kubeTokenKey], account, "")
	}
	if reason == "" {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, wait)
		return nil
	}
	return k.issue(ctx, syncCtx.Recorder(), account, reason)
}

func (k *kubeToken) issue(ctx context.Context, recorder events.Recorder, account *corev1.ServiceAccount, reason string) error {
	token, record, err := k.issuer.Issue(ctx, account, "")
	if err != nil {
		return err
	}
	annotations, err := Records{kubeTokenKey: record}.Annotations()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.KubeTokenSecret, Annotations: annotations},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{kubeTokenKey: token},
	}
	if _, _, err := resourceapply.ApplySecret(ctx, k.client, recorder, secret); err != nil {
		return fmt.Errorf("secret/%s in %s: %w", secret.Name, secret.Namespace, err)
	}
	recorder.Eventf("KubeTokenIssued", "secret/%s in %s has a new token, valid until %s, because %s",
		secret.Name, secret.Namespace, record.ExpiresAt, reason)
	return nil
}
