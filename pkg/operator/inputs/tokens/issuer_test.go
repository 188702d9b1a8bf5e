package tokens

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// issuer returns an Issuer whose API server issues a token that expires at the given time, and the requests that it
// gets.
func issuer(expires time.Time, err error) (Issuer, *authenticationv1.TokenRequestSpec) {
	asked := &authenticationv1.TokenRequestSpec{}
	client := fake.NewClientset()
	client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		*asked = action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest).Spec
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: "token", ExpirationTimestamp: metav1.NewTime(expires),
		}}, err
	})
	return Issuer{Client: client.CoreV1(), Clock: clocktesting.NewFakePassiveClock(now), Lifetime: time.Hour}, asked
}

func TestATokenIsRequestedForItsAudience(t *testing.T) {
	for _, audiences := range [][]string{nil, {"openshift"}} {
		i, asked := issuer(now.Add(3*time.Hour), nil)
		audience := ""
		if audiences != nil {
			audience = audiences[0]
		}
		token, record, err := i.Issue(t.Context(), account(), audience)
		require.NoError(t, err)
		require.Equal(t, audiences, asked.Audiences)
		require.Equal(t, int64(3600), *asked.ExpirationSeconds)
		wait, reason := i.Due(record, token, account(), audience)
		require.Empty(t, reason)
		require.Equal(t, time.Hour, wait, "a third of its life")
	}
}

func TestATokenThatCannotBeHadIsAnError(t *testing.T) {
	i, _ := issuer(now.Add(time.Hour), errors.New("forbidden"))
	_, _, err := i.Issue(t.Context(), account(), "")
	require.EqualError(t, err, "requesting a token of serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager: forbidden")
	i, _ = issuer(now, nil)
	_, _, err = i.Issue(t.Context(), account(), "")
	require.EqualError(t, err, "the new token of serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager expires at 2026-11-21T09:00:00Z, but the operator's clock shows "+
		"2026-11-21T09:00:00Z; synchronize the clocks of the control plane")
}

func TestATokenIsJudgedByItsRecord(t *testing.T) {
	for want, change := range map[string]func(*Record){
		"the previous one belongs to another serviceaccount": func(r *Record) { r.Owner = "uid-0" },
		"another client changed the previous one":            func(r *Record) { r.SHA256 = "other" },
		`the previous one is for the audience "sts"`:         func(r *Record) { r.Audience = "sts" },
		"the issue time of the previous one is invalid":      func(r *Record) { r.IssuedAt = "noon" },
		"the expiry time of the previous one is invalid":     func(r *Record) { r.ExpiresAt = "noon" },
		"the clock was set back, so the previous one may not be valid yet": func(r *Record) {
			r.IssuedAt, r.ExpiresAt = "2027-11-21T09:00:00Z", "2027-11-23T09:00:00Z"
		},
	} {
		i, _ := issuer(now.Add(3*time.Hour), nil)
		token, record, err := i.Issue(t.Context(), account(), "openshift")
		require.NoError(t, err)
		change(&record)
		_, reason := i.Due(record, token, account(), "openshift")
		require.Equal(t, want, reason)
	}
}

func TestASecretExpiresWithTheFirstOfItsTokens(t *testing.T) {
	secret := func(records string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{RecordsAnnotation: records}}}
	}
	require.Equal(t, now, Expiry(secret(`{"a": {"expiresAt": "2026-11-21T10:00:00Z"}, `+
		`"b": {"expiresAt": "2026-11-21T09:00:00Z"}, "c": {"expiresAt": "noon"}}`)))
	require.Zero(t, Expiry(secret(`{}`)))
}
