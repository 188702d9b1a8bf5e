package staticpod

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	revisionStatus = "revision-status"

	// readyAnnotation marks a revision-status ConfigMap, with the value true, once the revision is complete.
	readyAnnotation = "operator.openshift.io/revision-ready"
)

// revisionClient is the operator client of the revision controller. That controller takes the latest revision from its
// cache of ConfigMaps. After a restore of etcd, the cache has revisions that exist no more until its watch notices.
// Their number is not written, because the validation of the resource does not let it decrease.
type revisionClient struct {
	v1helpers.StaticPodOperatorClient
	configMaps corev1client.ConfigMapsGetter
}

// ApplyOperatorStatus omits a latest revision that does not exist, unless the status claims it already. An event of the
// cache brings the controller back.
func (c revisionClient) ApplyOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	if status != nil && status.LatestAvailableRevision != nil {
		known, err := c.knows(ctx, *status.LatestAvailableRevision)
		if err != nil {
			return err
		}
		if !known {
			klog.V(2).InfoS("The latest revision in the cache exists no more", "revision", *status.LatestAvailableRevision)
			return nil
		}
	}
	return c.StaticPodOperatorClient.ApplyOperatorStatus(ctx, fieldManager, status)
}

// knows reports whether a revision exists or is claimed by the status.
func (c revisionClient) knows(ctx context.Context, revision int32) (bool, error) {
	known, err := isRevision(ctx, c.configMaps, revision)
	if err != nil || known {
		return known, err
	}
	_, current, _, err := c.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return false, err
	}
	return claimed(current) >= revision, nil
}

// claimed returns the latest revision that the status names. A controller whose cache is behind may write, after a
// restore of etcd, that a node is at a revision that exists no more.
func claimed(status *operatorv1.StaticPodOperatorStatus) int32 {
	latest := status.LatestAvailableRevision
	for _, node := range status.NodeStatuses {
		latest = max(latest, node.CurrentRevision, node.TargetRevision)
	}
	return latest
}

// isRevision reads live whether a revision exists.
func isRevision(ctx context.Context, configMaps corev1client.ConfigMapsGetter, revision int32) (bool, error) {
	name := copyName(revisionStatus, revision)
	status, err := configMaps.ConfigMaps(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err := ignoreNotFound("configmap", revisionStatus, revision, err); err != nil {
		return false, err
	}
	return err == nil && status.Annotations[readyAnnotation] == "true", nil
}

// lostRevisions are the ConfigMaps of the revision controller. If the latest revision that the status claims was lost
// with a restore of etcd, they list it nevertheless, so the controller finds its objects missing and creates the next
// one. Otherwise it would try forever to decrease the latest revision, and library-go's installer controller would
// never install a revision that is older than a node's.
type lostRevisions struct {
	// ConfigMapsGetter reads from a cache, and live is not.
	corev1client.ConfigMapsGetter
	live     corev1client.ConfigMapsGetter
	operator v1helpers.StaticPodOperatorClient
}

// ConfigMaps implements corev1client.ConfigMapsGetter.
func (l lostRevisions) ConfigMaps(namespace string) corev1client.ConfigMapInterface {
	return namespacedLostRevisions{ConfigMapInterface: l.ConfigMapsGetter.ConfigMaps(namespace), lostRevisions: l}
}

type namespacedLostRevisions struct {
	corev1client.ConfigMapInterface
	lostRevisions
}

func (l namespacedLostRevisions) List(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error) {
	list, err := l.ConfigMapInterface.List(ctx, options)
	if err != nil {
		return nil, err
	}
	lost, err := l.lost(ctx, list)
	if err != nil || lost == 0 {
		return list, err
	}
	klog.InfoS("The latest revision was lost; creating the next one", "revision", lost)
	list = list.DeepCopy()
	list.Items = append(list.Items, corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace, Name: copyName(revisionStatus, lost),
			Annotations: map[string]string{readyAnnotation: "true"},
		},
		Data: map[string]string{"revision": strconv.Itoa(int(lost))},
	})
	return list, nil
}

// lost returns the latest revision that the status claims if it exists neither in the cache nor in the API, 0
// otherwise. Either cache may be behind.
func (l lostRevisions) lost(ctx context.Context, cached *corev1.ConfigMapList) (int32, error) {
	_, status, _, err := l.operator.GetStaticPodOperatorState()
	if err != nil {
		return 0, err
	}
	latest := claimed(status)
	name := copyName(revisionStatus, latest)
	for i := range cached.Items {
		if cached.Items[i].Name == name {
			return 0, nil
		}
	}
	if latest == 0 {
		return 0, nil
	}
	_, current, _, err := l.operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return 0, err
	}
	if claimed(current) != latest {
		return 0, nil
	}
	_, err = l.live.ConfigMaps(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return latest, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading configmap/%s in %s: %w", name, operand.Namespace, err)
	}
	return 0, nil
}

// lateSecrets are the Secrets of the revision controller. That controller takes the latest revision from its cache of
// ConfigMaps. While the watch of Secrets is late, that revision's Secrets seem to be missing, and the controller would
// create the next revision, whose Secrets are missing too, ten of them in a second.
type lateSecrets struct {
	// SecretsGetter reads from a cache, and live does not.
	corev1client.SecretsGetter
	live corev1client.SecretsGetter
}

// Secrets implements corev1client.SecretsGetter.
func (l lateSecrets) Secrets(namespace string) corev1client.SecretInterface {
	return namespacedLateSecrets{SecretInterface: l.SecretsGetter.Secrets(namespace), live: l.live.Secrets(namespace)}
}

type namespacedLateSecrets struct {
	corev1client.SecretInterface
	live corev1client.SecretInterface
}

// Get reads a copy live that the cache does not have, unless there is nothing to copy.
func (l namespacedLateSecrets) Get(
	ctx context.Context, name string, options metav1.GetOptions,
) (*corev1.Secret, error) {
	secret, err := l.SecretInterface.Get(ctx, name, options)
	at := strings.LastIndex(name, "-")
	if !apierrors.IsNotFound(err) || at < 0 {
		return secret, err
	}
	if _, sourceErr := l.SecretInterface.Get(ctx, name[:at], options); sourceErr != nil {
		return secret, err
	}
	secret, err = l.live.Get(ctx, name, options)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading secret/%s: %w", name, err)
	}
	return secret, err
}
