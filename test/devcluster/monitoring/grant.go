package monitoring

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// grants is the name of the ClusterRole of Prometheus and of its binding.
const grants = "prometheus-k8s"

// grant lets Prometheus read the metrics of every server, as the cluster-monitoring-operator does in OpenShift.
func grant(ctx context.Context, kube kubernetes.Interface) error {
	meta := metav1.ObjectMeta{Name: grants}
	_, err := kube.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: meta,
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{
				Kind: rbacv1.ServiceAccountKind, Namespace: "openshift-monitoring", Name: "prometheus-k8s",
			}},
		}, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("rights of Prometheus: %w", err)
	}
	return nil
}

// revoke takes back what grant gave.
func revoke(ctx context.Context, kube kubernetes.Interface) error {
	for _, err := range []error{
		kube.RbacV1().ClusterRoleBindings().Delete(ctx, grants, metav1.DeleteOptions{}),
		kube.RbacV1().ClusterRoles().Delete(ctx, grants, metav1.DeleteOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("rights of Prometheus: %w", err)
		}
	}
	return nil
}

// servingCA returns what the operator publishes for the cloud-controller-managers' certificates. In OpenShift, the
// Prometheus operator reads it.
func servingCA(ctx context.Context, kube kubernetes.Interface) (string, error) {
	published, err := kube.CoreV1().ConfigMaps("openshift-cloud-controller-manager").
		Get(ctx, "serving-ca", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("the CA of the cloud-controller-managers' certificates: %w", err)
	}
	return published.Data["ca-bundle.crt"], nil
}
