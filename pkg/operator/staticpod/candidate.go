package staticpod

import (
	"context"
	"fmt"
	"strings"

	"github.com/openshift/library-go/pkg/operator/revisioncontroller"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/tokenissuer"
)

// wholeCandidate returns a precondition that holds while the live objects are one whole candidate. A candidate of which
// only some objects could be written never becomes a revision.
func wholeCandidate(configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister) revisioncontroller.PreconditionFunc {
	return func(context.Context) (bool, error) {
		liveConfigMaps, err := configMaps.List(labels.Everything())
		if err != nil {
			return false, fmt.Errorf("listing the live configmaps: %w", err)
		}
		liveSecrets, err := secrets.List(labels.Everything())
		if err != nil {
			return false, fmt.Errorf("listing the live secrets: %w", err)
		}
		if err := operand.CopiesMatch(liveConfigMaps, liveSecrets, 0); err != nil {
			klog.V(2).InfoS("No revision is made yet", "reason", err.Error())
			return false, nil
		}
		return true, nil
	}
}

// tokensAreThere returns a precondition that holds while what the candidate reads from the Secret cloud-tokens is there for
// the cert-syncer to carry. A pod without it would fail to log in, and the revision would be taken for a bad one.
func tokensAreThere(configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister) revisioncontroller.PreconditionFunc {
	return func(context.Context) (bool, error) {
		candidate, err := configMaps.Get(operand.PodConfigMap)
		if err != nil {
			return false, fmt.Errorf("configmap/%s in %s: %w", operand.PodConfigMap, operand.Namespace, err)
		}
		tokens, err := operand.TokensOf(candidate)
		if err != nil {
			return false, err
		}
		secret, err := secrets.Get(operand.CloudTokensSecret)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("secret/%s in %s: %w", operand.CloudTokensSecret, operand.Namespace, err)
		}
		if secret == nil {
			secret = &corev1.Secret{}
		}
		missing := tokenissuer.Missing(secret, tokens)
		for key := range strings.SplitSeq(candidate.Annotations[operand.ReloadedAnnotation], ",") {
			if _, exists := secret.Data[key]; key != "" && !exists {
				missing = append(missing, key)
			}
		}
		if len(missing) > 0 {
			klog.V(2).InfoS("No revision is made yet", "reason", "the operand reads tokens that are not there yet",
				"secret", operand.CloudTokensSecret, "namespace", operand.Namespace, "missingKeys", missing)
			return false, nil
		}
		return true, nil
	}
}

// inOrder returns a precondition that holds while all the given ones do. One that does not keeps those after it from being
// asked.
func inOrder(preconditions ...revisioncontroller.PreconditionFunc) revisioncontroller.PreconditionFunc {
	return func(ctx context.Context) (bool, error) {
		for _, precondition := range preconditions {
			if holds, err := precondition(ctx); err != nil || !holds {
				return false, err
			}
		}
		return true, nil
	}
}

// wholeRevision returns a check that holds when the copies of a revision are one whole candidate. While it does not, the
// revision controller goes on copying.
//
// It reads live: the copies were written a moment ago and the caches may not have them.
func wholeRevision(client corev1client.CoreV1Interface) revisioncontroller.ReadinessCheckFunc {
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
	return fmt.Errorf("%s/%s in %s: %w", kind, copyName(name, revision), operand.Namespace, err)
}
