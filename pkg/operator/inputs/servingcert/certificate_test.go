package servingcert

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestACertificateIsRenewedBeforeItsLastFifth(t *testing.T) {
	issued := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	require.Equal(t, issued.Add(8*time.Hour), latestRenewal(&x509.Certificate{NotBefore: issued, NotAfter: issued.Add(10 * time.Hour)}))
}

func TestALeafWaitsForItsSignerButNotUntilItsLastFifth(t *testing.T) {
	issued := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	leaf := &x509.Certificate{NotBefore: issued, NotAfter: issued.Add(100 * time.Hour)}
	for name, tc := range map[string]struct {
		signed, want time.Duration
	}{
		"an old signer":                         {signed: 0, want: 50 * time.Hour},
		"one that clients have yet to learn of": {signed: 60 * time.Hour, want: 65 * time.Hour},
		"one that is too new to wait for":       {signed: 79 * time.Hour, want: 80 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			signer := &x509.Certificate{NotBefore: issued.Add(tc.signed)}
			require.Equal(t, issued.Add(tc.want), leafDue(leaf, signer, 100*time.Hour))
		})
	}
}

func TestASecretExpiresWithItsCertificate(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	signer, err := makeSigner(func() time.Time { return now }, time.Hour, nil)
	require.NoError(t, err)
	certificate, key, err := signer.GetPEMBytes()
	require.NoError(t, err)
	data := map[string][]byte{"tls.crt": certificate, "tls.key": key}
	require.Equal(t, now.Add(time.Hour).UTC(), Expiry(&corev1.Secret{Data: data}).UTC())
	require.Zero(t, Expiry(&corev1.Secret{}))
}
