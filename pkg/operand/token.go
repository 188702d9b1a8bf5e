package operand

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// HasForeignToken reports whether kube-controller-manager has not written the token in a Secret for one: it is no JSON
// Web Token, or that of another ServiceAccount. kube-controller-manager fills a Secret without a token, and leaves one
// with another. The signature is not checked: the API server rejects a token that differs from its Secret's.
func HasForeignToken(secret *corev1.Secret) bool {
	token := secret.Data[corev1.ServiceAccountTokenKey]
	user := "system:serviceaccount:" + secret.Namespace + ":" + secret.Annotations[corev1.ServiceAccountNameKey]
	var claims struct {
		Subject string `json:"sub"`
	}
	return secret.Type == corev1.SecretTypeServiceAccountToken && len(token) > 0 &&
		(!ReadClaims(token, &claims) || claims.Subject != user)
}

// ReadClaims decodes the claims of a JSON Web Token, and reports whether it is one.
func ReadClaims(token []byte, claims any) bool {
	parts := bytes.Split(token, []byte("."))
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(string(parts[1]))
	return err == nil && json.Unmarshal(payload, claims) == nil
}
