package tokens

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	// ServiceAccount is the operand's ServiceAccount.
	ServiceAccount = "cloud-controller-manager"

	// refreshDue is the reason to replace a token that is still valid.
	refreshDue = "a third of the previous one's lifetime has passed"
)

// Record is stored beside a token. A token that does not match its record is replaced. Times are in RFC 3339 format.
type Record struct {
	IssuedAt  string `json:"issuedAt"`
	ExpiresAt string `json:"expiresAt"`
	// Owner is the UID of the ServiceAccount.
	Owner string `json:"owner"`
	// SHA256 is the digest of the token.
	SHA256 string `json:"sha256"`
	// Audience is the token's audience, empty for the API server.
	Audience string `json:"audience,omitempty"`
}

// refreshAt returns when to refresh a token, or the reason to replace it now.
func (r Record) refreshAt(
	token []byte, account *corev1.ServiceAccount, audience string,
) (refreshAt time.Time, reason string) {
	if r.Owner != string(account.UID) {
		return time.Time{}, "the previous one belongs to another serviceaccount"
	}
	if r.SHA256 != digest(token) {
		return time.Time{}, "another client changed the previous one"
	}
	if r.Audience != audience {
		return time.Time{}, fmt.Sprintf("the previous one is for the audience %q", r.Audience)
	}
	issued, err := time.Parse(time.RFC3339, r.IssuedAt)
	if err != nil {
		return time.Time{}, "the issue time of the previous one is invalid"
	}
	expires, err := time.Parse(time.RFC3339, r.ExpiresAt)
	if err != nil {
		return time.Time{}, "the expiry time of the previous one is invalid"
	}
	return issued.Add(expires.Sub(issued) / 3), ""
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
		SHA256:    digest(token),
		Audience:  audience,
	}, nil
}

// Due returns the time until a token must be replaced, or the reason to replace it now.
func (i Issuer) Due(
	record Record, token []byte, account *corev1.ServiceAccount, audience string,
) (wait time.Duration, reason string) {
	refreshAt, reason := record.refreshAt(token, account, audience)
	if reason != "" {
		return 0, reason
	}
	if wait := refreshAt.Sub(i.Clock.Now()); wait > 0 {
		return wait, ""
	}
	return 0, refreshDue
}

// digest identifies a token without disclosing it: its signature alone has too many bits for a brute-force search.
func digest(token []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(token))
}
