package staticpod

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/revisioncontroller"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// A reason returns why the live objects must not become a revision, or "" if they may.
type reason func() (string, error)

// incomplete holds a revision back while the live objects are not one complete candidate. A partially written
// candidate never becomes a revision.
func incomplete(configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister) reason {
	return func() (string, error) {
		liveConfigMaps, err := operatorclient.All(configMaps, "the live configmaps")
		if err != nil {
			return "", err
		}
		liveSecrets, err := operatorclient.All(secrets, "the live secrets")
		if err != nil {
			return "", err
		}
		if mismatch := operand.CopiesMatch(liveConfigMaps, liveSecrets, 0); mismatch != nil {
			return mismatch.Error(), nil //nolint:nilerr // The mismatch is the reason.
		}
		return "", nil
	}
}

// missingTokens holds a revision back while the Secret cloud-tokens lacks keys that the candidate reads. The
// file-syncer delivers that Secret. A pod without its tokens could not log in, and the rollout would fail because of
// a good revision.
func missingTokens(configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister) reason {
	return func() (string, error) {
		candidate, err := configMaps.Get(operand.PodConfigMap)
		if err != nil {
			return "", fmt.Errorf("reading configmap/%s in %s: %w", operand.PodConfigMap, operand.Namespace, err)
		}
		needed, err := operand.TokensOf(candidate)
		if err != nil {
			return "", err
		}
		secret, err := secrets.Get(operand.CloudTokensSecret)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("reading secret/%s in %s: %w", operand.CloudTokensSecret, operand.Namespace, err)
		}
		if secret == nil {
			secret = &corev1.Secret{}
		}
		var missing []string
		for _, token := range needed {
			if !slices.Contains(audiencesOf(secret.Data[token.Key]), token.Audience) {
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
}

// audiencesOf returns the audiences of a token, nil for a value that is not a token of the API server.
func audiencesOf(token []byte) []string {
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Audiences []string `json:"aud"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil
	}
	return claims.Audiences
}

// firstOf combines reasons: it returns the first non-empty one and does not evaluate the others.
func firstOf(reasons ...reason) reason {
	return func() (string, error) {
		for _, r := range reasons {
			if text, err := r(); err != nil || text != "" {
				return text, err
			}
		}
		return "", nil
	}
}

// unless returns a precondition that holds while the reason is empty.
func unless(r reason) revisioncontroller.PreconditionFunc {
	return func(context.Context) (bool, error) {
		text, err := r()
		if err != nil {
			return false, err
		}
		if text != "" {
			klog.V(2).InfoS("Not creating a revision yet", "reason", text)
		}
		return text == "", nil
	}
}

// completeRevision returns a readiness check: the copies of a revision must be one complete candidate. Until then the
// revision controller keeps copying.
//
// The check reads live objects, because the caches may not have copies that were written a moment ago.
func completeRevision(client corev1client.CoreV1Interface) revisioncontroller.ReadinessCheckFunc {
	return func(ctx context.Context, revision int32) (bool, error) {
		var configMaps []*corev1.ConfigMap
		for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
			copied, err := client.ConfigMaps(operand.Namespace).Get(ctx, copyName(name, revision), metav1.GetOptions{})
			if err := ignoreNotFound("configmap", name, revision, err); err != nil {
				return false, err
			}
			configMaps = append(configMaps, copied)
		}
		var secrets []*corev1.Secret
		for _, name := range operand.DeliveredBy(operand.Secret, operand.Revisioned) {
			copied, err := client.Secrets(operand.Namespace).Get(ctx, copyName(name, revision), metav1.GetOptions{})
			if err := ignoreNotFound("secret", name, revision, err); err != nil {
				return false, err
			}
			secrets = append(secrets, copied)
		}
		if err := operand.CopiesMatch(configMaps, secrets, revision); err != nil {
			klog.V(2).InfoS("The revision is not ready yet", "revision", revision, "reason", err.Error())
			return false, nil
		}
		return true, nil
	}
}

func copyName(name string, revision int32) string { return fmt.Sprintf("%s-%d", name, revision) }

func ignoreNotFound(kind, name string, revision int32, err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("reading %s/%s in %s: %w", kind, copyName(name, revision), operand.Namespace, err)
}
