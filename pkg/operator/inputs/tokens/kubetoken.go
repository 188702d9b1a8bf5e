package tokens

import (
	"context"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// defaultKubeTokenLifetime is the requested lifetime. It must outlast a period without refreshes: a stopped operator,
// or a control plane that is switched off overnight.
const defaultKubeTokenLifetime = 48 * time.Hour

const kubeTokenKey = "token"

type kubeToken struct {
	dependencies.Deps
	issuer Issuer
}

func (k *kubeToken) sync(ctx context.Context, syncCtx factory.SyncContext, account *corev1.ServiceAccount) error {
	if account == nil {
		return nil
	}
	current, err := k.Secret(operand.KubeTokenSecret)
	if err != nil {
		return err
	}
	wait, reason := k.due(current, account)
	if reason != "" {
		if current, err = live(ctx, k.Kube, operand.KubeTokenSecret); err != nil {
			return err
		}
		wait, reason = k.due(current, account)
	}
	if reason == "" {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, wait)
		return nil
	}
	token, record, err := k.issuer.Issue(ctx, account, "")
	if err != nil {
		return err
	}
	data, records := map[string][]byte{kubeTokenKey: token}, Records{kubeTokenKey: record}
	if err := apply(ctx, k.Kube.CoreV1(), syncCtx.Recorder(), operand.KubeTokenSecret, data, records); err != nil {
		return err
	}
	syncCtx.Recorder().Eventf("KubeTokenIssued", "secret/%s in %s has a new token, valid until %s, because %s",
		operand.KubeTokenSecret, operand.Namespace, record.ExpiresAt, reason)
	return nil
}

func (k *kubeToken) due(current *corev1.Secret, account *corev1.ServiceAccount) (wait time.Duration, reason string) {
	if current == nil {
		return 0, "there was none"
	}
	return k.issuer.Due(RecordsOf(current)[kubeTokenKey], current.Data[kubeTokenKey], account, "")
}
