package staticpod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// heldBack returns why the candidate must not become a revision now, "" if it may: a partially written one never does.
func heldBack(objects operand.Objects) (string, error) {
	if mismatch := objects.CopiesMatch(operand.Candidate); mismatch != nil {
		return mismatch.Error(), nil //nolint:nilerr // The mismatch is the reason.
	}
	return missingTokens(objects)
}

// missingTokens holds a revision back while the Secret cloud-tokens, which the file-syncer delivers, lacks keys that
// the candidate reads. A pod without its tokens could not log in, and the rollout of a good revision would fail.
func missingTokens(objects operand.Objects) (string, error) {
	candidate, secret := objects.ConfigMap(operand.PodConfigMap), objects.Secret(operand.CloudTokensSecret)
	needed, err := operand.TokensOf(candidate)
	if err != nil {
		return "", err
	}
	if secret == nil {
		secret = &corev1.Secret{}
	}
	var missing []string
	for _, token := range needed {
		var claims struct {
			Audiences []string `json:"aud"`
		}
		if !operand.ReadClaims(secret.Data[token.Key], &claims) || !slices.Contains(claims.Audiences, token.Audience) {
			missing = append(missing, token.Key)
		}
	}
	for _, key := range customccm.ReloadedBy(candidate) {
		if _, exists := secret.Data[key]; !exists {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	return fmt.Sprintf("secret/%s in %s does not have %s, which the cloud-controller-manager reads",
		operand.CloudTokensSecret, operand.Namespace, strings.Join(missing, ", ")), nil
}
