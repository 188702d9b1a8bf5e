package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// RecordsAnnotation is the annotation of a Secret with its tokens' Records by key, as JSON.
const RecordsAnnotation = "cloud-controller-manager.openshift.io/token-records"

// Records are the Records of a Secret's tokens by key.
type Records map[string]Record

// RecordsOf reads the Records of a Secret. It returns none if they are invalid; the tokens are then replaced.
func RecordsOf(secret *corev1.Secret) Records {
	records := Records{}
	if err := json.Unmarshal([]byte(secret.Annotations[RecordsAnnotation]), &records); err != nil {
		return Records{}
	}
	return records
}

// Expiry returns when the first of a Secret's tokens expires, zero if it has none.
func Expiry(secret *corev1.Secret) time.Time {
	var first time.Time
	for _, record := range RecordsOf(secret) {
		expires, err := time.Parse(time.RFC3339, record.ExpiresAt)
		if err == nil && (first.IsZero() || expires.Before(first)) {
			first = expires
		}
	}
	return first
}

// live reads a Secret before a token is issued, nil if it does not exist: the cache may not have the last token yet.
func live(ctx context.Context, client kubernetes.Interface, name string) (*corev1.Secret, error) {
	secret, err := client.CoreV1().Secrets(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading secret/%s in %s: %w", name, operand.Namespace, err)
	}
	return secret, nil
}

// apply writes a Secret with tokens, other data and the tokens' records.
func apply(
	ctx context.Context, client corev1client.SecretsGetter, recorder events.Recorder,
	name string, data map[string][]byte, records Records,
) error {
	text, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("writing the annotation %s: %w", RecordsAnnotation, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace, Name: name, Annotations: map[string]string{RecordsAnnotation: string(text)},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
	if _, _, err := resourceapply.ApplySecret(ctx, client, recorder, secret); err != nil {
		return fmt.Errorf("applying secret/%s in %s: %w", name, operand.Namespace, err)
	}
	return nil
}
