package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
)

// testMetrics reads the metrics of the operator and of a cloud-controller-manager with a token, like Prometheus. Both
// authenticate and authorize the token through the API server.
func (s *suite) testMetrics(t *testing.T) {
	pods, err := s.kube.CoreV1().Pods(operatorNamespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "status.phase=Running"})
	require.NoError(t, err)
	require.Len(t, pods.Items, 1)
	urls := []string{
		"https://" + s.Nodes()[0].IP() + ":10258/metrics",
		"https://" + s.Node(pods.Items[0].Spec.NodeName).IP() + ":9258/metrics",
	}
	outsider, reader := s.tokenClient(t, "outsider"), s.tokenClient(t, "reader")
	s.allowMetrics(t, "reader")
	for _, url := range urls {
		_, err := operandprobe.Get(t.Context(), outsider, url)
		require.ErrorContains(t, err, "403 Forbidden", url)
		s.await(t, "the metrics at "+url, briefly, func(ctx context.Context) error {
			metrics, err := operandprobe.Get(ctx, reader, url)
			if err == nil && !strings.Contains(metrics, "process_resident_memory_bytes") {
				err = errors.New("these are no metrics")
			}
			return err
		})
	}
}

// tokenClient returns a client with the token of a new ServiceAccount.
func (s *suite) tokenClient(t *testing.T, name string) *http.Client {
	t.Helper()
	accounts := s.kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return &http.Client{Transport: transport.NewBearerAuthRoundTripper(token.Status.Token, &http.Transport{
		// The operator's certificate is self-signed here; requireOneLeader verifies the operand's.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	})}
}

func (s *suite) allowMetrics(t *testing.T, account string) {
	t.Helper()
	name := fmt.Sprintf("e2e-metrics-%s", account)
	_, err := s.kube.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = s.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault,
			Name: account}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
