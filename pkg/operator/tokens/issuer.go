package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	// ServiceAccount is the operand's identity in its own namespace.
	ServiceAccount = "cloud-controller-manager"

	// aged is the reason for replacing a token that is still good.
	aged = "a third of its life has passed"
)

// Record is what is remembered of a token beside it. Where it does not fit the token, that is replaced. Times are in the
// form of RFC 3339.
type Record struct {
	IssuedAt  string `json:"issuedAt"`
	ExpiresAt string `json:"expiresAt"`
	// Owner is the UID of the ServiceAccount.
	Owner string `json:"owner"`
	// SHA256 is the digest of the token.
	SHA256 string `json:"sha256"`
	// Audience is whom the token is for; empty for the API server.
	Audience string `json:"audience,omitempty"`
}

// refreshAt returns the time from which on a token is to be refreshed, or why it cannot be used.
func (r Record) refreshAt(token []byte, account *corev1.ServiceAccount, audience string) (refreshAt time.Time, reason string) {
	if r.Owner != string(account.UID) {
		return time.Time{}, "it does not belong to the present serviceaccount"
	}
	if r.SHA256 != digest(token) {
		return time.Time{}, "another client changed it"
	}
	if r.Audience != audience {
		return time.Time{}, fmt.Sprintf("it is for the audience %q", r.Audience)
	}
	issued, err := time.Parse(time.RFC3339, r.IssuedAt)
	if err != nil {
		return time.Time{}, "the time of its issue is not readable"
	}
	expires, err := time.Parse(time.RFC3339, r.ExpiresAt)
	if err != nil {
		return time.Time{}, "the time of its expiry is not readable"
	}
	return issued.Add(expires.Sub(issued) / 3), ""
}

// Issuer requests tokens.
type Issuer struct {
	Client corev1client.ServiceAccountsGetter
	Clock  clock.PassiveClock
	// Lifetime is what is asked for; whatever the API server answers counts.
	Lifetime time.Duration
}

// Issue returns a token of the account for the audience, the API server if that is empty. It is not bound to an object:
// deleting the Secret that keeps it must not cut off operands that run.
func (i Issuer) Issue(ctx context.Context, account *corev1.ServiceAccount, audience string) ([]byte, Record, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(i.Lifetime.Seconds())),
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	now := i.Clock.Now()
	answer, err := i.Client.ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, Record{}, fmt.Errorf("requesting a token of serviceaccount/%s in %s: %w", account.Name, account.Namespace, err)
	}
	expires := answer.Status.ExpirationTimestamp.Time
	if !expires.After(now) {
		return nil, Record{}, fmt.Errorf("the token of serviceaccount/%s in %s expires at %s, but here it is %s already; correct the clocks of the control plane",
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

// Judge returns for how long a token is left alone, or why it is replaced.
func (i Issuer) Judge(record Record, token []byte, account *corev1.ServiceAccount, audience string) (wait time.Duration, reason string) {
	refreshAt, reason := record.refreshAt(token, account, audience)
	if reason != "" {
		return 0, reason
	}
	if wait := refreshAt.Sub(i.Clock.Now()); wait > 0 {
		return wait, ""
	}
	return 0, aged
}

// digest identifies a token without giving it away: its signature alone has more bits than anyone can try.
func digest(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}
