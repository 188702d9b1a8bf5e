package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// ServiceAccount is the operand's ServiceAccount.
const ServiceAccount = "cloud-controller-manager"

// Record is stored beside a token. A token that does not match its record is replaced. Times are in RFC 3339 format.
type Record struct {
	IssuedAt  string `json:"issuedAt"`
	ExpiresAt string `json:"expiresAt"`
	// Owner is the UID of the ServiceAccount.
	Owner string `json:"owner"`
	// SHA256 identifies the token without disclosing it: its signature has too many bits for a brute-force search.
	SHA256 string `json:"sha256"`
	// Audience is empty for the API server.
	Audience string `json:"audience,omitempty"`
}

// Issuer requests tokens.
type Issuer struct {
	Client corev1client.ServiceAccountsGetter
	Clock  clock.PassiveClock
	// Lifetime is the requested lifetime; the returned expiry applies.
	Lifetime time.Duration
}

// Issue returns a token of the account for the audience, or for the API server if the audience is empty. The token is
// not bound to an object: deleting its Secret must not invalidate the token of running operands.
func (i Issuer) Issue(ctx context.Context, account *corev1.ServiceAccount, audience string) ([]byte, Record, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(i.Lifetime.Seconds())),
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	now := i.Clock.Now()
	accounts := i.Client.ServiceAccounts(account.Namespace)
	answer, err := accounts.CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, Record{}, fmt.Errorf("requesting a token of serviceaccount/%s in %s: %w",
			account.Name, account.Namespace, err)
	}
	expires := answer.Status.ExpirationTimestamp.Time
	if !expires.After(now) {
		return nil, Record{}, fmt.Errorf("the new token of serviceaccount/%s in %s expires at %s, but the operator's "+
			"clock shows %s; synchronize the clocks of the control plane",
			account.Name, account.Namespace, expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	token := []byte(answer.Status.Token)
	return token, Record{
		IssuedAt:  now.UTC().Format(time.RFC3339),
		ExpiresAt: expires.UTC().Format(time.RFC3339),
		Owner:     string(account.UID),
		SHA256:    digest.Hex(token),
		Audience:  audience,
	}, nil
}

// Due returns the time until a token must be replaced, or the reason to replace it now.
func (i Issuer) Due(
	r Record, token []byte, account *corev1.ServiceAccount, audience string,
) (wait time.Duration, reason string) {
	issued, issuedErr := time.Parse(time.RFC3339, r.IssuedAt)
	expires, expiresErr := time.Parse(time.RFC3339, r.ExpiresAt)
	now := i.Clock.Now()
	wait = issued.Add(expires.Sub(issued) / 3).Sub(now)
	switch {
	case r.Owner != string(account.UID):
		return 0, "the previous one belongs to another serviceaccount"
	case r.SHA256 != digest.Hex(token):
		return 0, "another client changed the previous one"
	case r.Audience != audience:
		return 0, fmt.Sprintf("the previous one is for the audience %q", r.Audience)
	case issuedErr != nil:
		return 0, "the issue time of the previous one is invalid"
	case expiresErr != nil:
		return 0, "the expiry time of the previous one is invalid"
	case issued.After(now):
		return 0, "the clock was set back, so the previous one may not be valid yet"
	case wait <= 0:
		return 0, "a third of the previous one's lifetime has passed"
	}
	return wait, ""
}

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

// live reads a Secret from the API, nil if it does not exist: the cache may not have the last token yet.
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
