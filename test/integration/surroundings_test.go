package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

// podName is the operator's pod in its environment; without it, the operator would search its pod among all pods.
const podName = "POD_NAME=cluster-cloud-controller-manager-operator-0"

const operatorUser = "system:serviceaccount:" + operatorNamespace + ":cluster-cloud-controller-manager"

func TestWhatSurroundsTheStaticPodsIsMadeAndMadeAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t, podName)
	c.awaitRevision(t, 1)
	secrets, configMaps := c.kube.CoreV1().Secrets(targetNamespace), c.kube.CoreV1().ConfigMaps(targetNamespace)

	t.Run("the operand's token is its ServiceAccount's", func(t *testing.T) {
		secret, err := secrets.Get(t.Context(), "kube-token", metav1.GetOptions{})
		require.NoError(t, err)
		review, err := c.kube.AuthenticationV1().TokenReviews().Create(t.Context(),
			&authenticationv1.TokenReview{
				Spec: authenticationv1.TokenReviewSpec{Token: string(secret.Data["token"])},
			}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(
			t, "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager", review.Status.User.Username,
		)
	})
	t.Run("the client CAs are the API server's", func(t *testing.T) {
		source, err := c.kube.CoreV1().ConfigMaps("kube-system").Get(
			t.Context(), "extension-apiserver-authentication", metav1.GetOptions{},
		)
		require.NoError(t, err)
		for target, key := range map[string]string{
			"client-ca": "client-ca-file", "requestheader-client-ca": "requestheader-client-ca-file",
		} {
			copied, err := configMaps.Get(t.Context(), target, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, map[string]string{"ca-bundle.crt": source.Data[key]}, copied.Data)
		}
	})
	t.Run("only the names that the API server allows may speak for users", func(t *testing.T) {
		source, err := c.kube.CoreV1().ConfigMaps("kube-system").Get(
			t.Context(), "extension-apiserver-authentication", metav1.GetOptions{},
		)
		require.NoError(t, err)
		var names []string
		require.NoError(t, json.Unmarshal([]byte(source.Data["requestheader-allowed-names"]), &names))
		require.NotEmpty(t, names)
		pod, err := configMaps.Get(t.Context(), "cloud-controller-manager-pod", metav1.GetOptions{})
		require.NoError(t, err)
		require.Contains(t, pod.Data["pod.yaml"], "--requestheader-allowed-names="+strings.Join(names, ","))
	})
	for _, name := range []string{"kube-token", "serving-cert", "cloud-tokens"} {
		t.Run("secret "+name+" comes back", func(t *testing.T) {
			before, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			require.NoError(t, secrets.Delete(t.Context(), name, metav1.DeleteOptions{}))
			await(t, "secret/"+name, func(ctx context.Context) error {
				after, err := secrets.Get(ctx, name, metav1.GetOptions{})
				if err == nil && after.UID == before.UID {
					return fmt.Errorf("it is still the old one")
				}
				return err
			})
		})
	}
	t.Run("a changed role binding is corrected", func(t *testing.T) {
		bindings := c.kube.RbacV1().ClusterRoleBindings()
		const name = "system:openshift:cloud-controller-manager:operand"
		binding, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		good := binding.Subjects
		binding.Subjects, binding.Labels = nil, nil
		_, err = bindings.Update(t.Context(), binding, metav1.UpdateOptions{})
		require.NoError(t, err)
		await(t, "the binding's subjects", func(ctx context.Context) error {
			binding, err := bindings.Get(ctx, name, metav1.GetOptions{})
			if err == nil && len(binding.Subjects) != len(good) {
				return fmt.Errorf("they are %v", binding.Subjects)
			}
			return err
		})
	})
	t.Run("a new ServiceAccount gets a token of its own", func(t *testing.T) {
		before, err := secrets.Get(t.Context(), "kube-token", metav1.GetOptions{})
		require.NoError(t, err)
		require.NoError(
			t,
			c.kube.CoreV1().ServiceAccounts(targetNamespace).Delete(
				t.Context(), "cloud-controller-manager", metav1.DeleteOptions{},
			),
		)
		await(t, "another token", func(ctx context.Context) error {
			after, err := secrets.Get(ctx, "kube-token", metav1.GetOptions{})
			if err == nil && bytes.Equal(after.Data["token"], before.Data["token"]) {
				return fmt.Errorf("it is still the old one")
			}
			return err
		})
	})
	require.Equal(t, int32(1), c.awaitRevision(t, 1), "none of this is read only once")

	require.NoError(t, secrets.Delete(t.Context(), "file-syncer-identity", metav1.DeleteOptions{}))
	require.Equal(t, int32(2), c.awaitRevision(t, 2), "the file-syncer's token is")
	c.noRequestDenied(t)
}

func TestAPlatformWithoutAnOperandGetsNoneOfItsObjects(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.NonePlatformType)
	c.startOperator(t, podName)
	c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue, "")
	c.awaitClusterOperator(t, configv1.OperatorUpgradeable, configv1.ConditionTrue, "")
	await(t, "versions", func(ctx context.Context) error {
		operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err == nil && len(operator.Status.Versions) != 3 {
			return fmt.Errorf("there are %v", operator.Status.Versions)
		}
		return err
	})
	_, err := c.kube.CoreV1().ServiceAccounts(targetNamespace).Get(
		t.Context(), "cloud-controller-manager", metav1.GetOptions{},
	)
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	c.noRequestDenied(t)
}

// request has the fields of a request in the audit log.
type request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	StageTimestamp time.Time `json:"stageTimestamp"`
}

// noRequestDenied reads the API server's audit log. The operator must also have used the rights that rights.Unused
// names
// the test for.
func (c *cluster) noRequestDenied(t *testing.T) {
	t.Helper()
	requests := c.requests(t)
	require.NotEmpty(t, requests)
	used := make([]rights.Request, 0, len(requests))
	for _, request := range requests {
		o := request.ObjectRef
		used = append(used, rights.Request{
			Identity: operatorUser, Verb: request.Verb, Group: o.APIGroup, Resource: o.Resource,
			Namespace: o.Namespace, Name: o.Name,
		})
		require.NotEqual(
			t, 403, request.ResponseStatus.Code, "%s %s: %s", request.Verb, request.RequestURI, request.ResponseStatus.Message,
		)
	}
	granted, err := rights.Granted(c.Repository())
	require.NoError(t, err)
	require.Empty(
		t, rights.Unexercised(t.Name(), granted, used, rights.Unused), "rights that rights.Unused says this test uses",
	)
}

// requests returns the operator's requests to the API server.
func (c *cluster) requests(t *testing.T) []request {
	t.Helper()
	file, err := os.Open(c.AuditLog())
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	var requests []request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(operatorUser)) {
			continue
		}
		event := request{}
		// The server may be writing the last line.
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.User.Username == operatorUser {
			requests = append(requests, event)
		}
	}
	require.NoError(t, lines.Err())
	return requests
}
