package operand

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestATokenIsForeignUnlessItIsOfTheAccountThatTheSecretNames(t *testing.T) {
	of := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2lnbmF0dXJl"
	}
	for name, tc := range map[string]struct {
		kind  corev1.SecretType
		token string
		want  bool
	}{
		"its own":            {token: of(`{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:ns:file-syncer"}`)},
		"none yet":           {},
		"another account's":  {token: of(`{"sub":"system:serviceaccount:ns:installer-sa"}`), want: true},
		"without a subject":  {token: of(`{}`), want: true},
		"no JSON":            {token: of(`damaged`), want: true},
		"no base64":          {token: "e30.damaged!.e30", want: true},
		"a text":             {token: "damaged", want: true},
		"an ordinary Secret": {kind: corev1.SecretTypeOpaque, token: "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Annotations: map[string]string{
					corev1.ServiceAccountNameKey: "file-syncer"}},
				Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte(tc.token)},
			}
			if tc.kind != "" {
				secret.Type = tc.kind
			}
			require.Equal(t, tc.want, HasForeignToken(secret))
		})
	}
}
