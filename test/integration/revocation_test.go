package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deleting the objects in docs/operations.md invalidates the credential, and the operator issues another one.
func TestADeletedCredentialIsRevokedAndReplaced(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	revision := c.awaitRevision(t, 1)
	secrets, configMaps := c.kube.CoreV1().Secrets(targetNamespace), c.kube.CoreV1().ConfigMaps(targetNamespace)

	t.Run("the CCM's token with its ServiceAccount", func(t *testing.T) {
		old := c.token(t, "kube-token")
		require.NoError(t, c.kube.CoreV1().ServiceAccounts(targetNamespace).Delete(t.Context(), "cloud-controller-manager", metav1.DeleteOptions{}))
		c.awaitRevoked(t, old)
		c.awaitReplaced(t, "kube-token", old)
		require.Equal(t, revision, c.awaitRevision(t, revision), "a token that is reloaded makes no revision")
	})
	t.Run("the file-syncer's token with its Secret", func(t *testing.T) {
		old := c.token(t, "file-syncer-identity")
		require.NoError(t, secrets.Delete(t.Context(), "file-syncer-identity", metav1.DeleteOptions{}))
		c.awaitRevoked(t, old)
		c.awaitReplaced(t, "file-syncer-identity", old)
		revision = c.awaitRevision(t, revision+1)
		c.awaitReplaced(t, fmt.Sprintf("file-syncer-token-%d", revision), old)
	})
	t.Run("the serving certificate with its signer", func(t *testing.T) {
		bundle, err := configMaps.Get(t.Context(), "serving-ca", metav1.GetOptions{})
		require.NoError(t, err)
		old := strings.TrimSpace(bundle.Data["ca-bundle.crt"])
		require.NotEmpty(t, old)
		require.NoError(t, c.kube.CoreV1().Secrets(operatorNamespace).Delete(t.Context(), "cloud-controller-manager-serving-signer", metav1.DeleteOptions{}))
		require.NoError(t, configMaps.Delete(t.Context(), "serving-ca", metav1.DeleteOptions{}))
		require.NoError(t, secrets.Delete(t.Context(), "serving-cert", metav1.DeleteOptions{}))
		await(t, "a bundle without the old signer, and a certificate", func(ctx context.Context) error {
			bundle, err := configMaps.Get(ctx, "serving-ca", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if strings.Contains(bundle.Data["ca-bundle.crt"], old) {
				return errors.New("the old signer is trusted")
			}
			_, err = secrets.Get(ctx, "serving-cert", metav1.GetOptions{})
			return err
		})
	})
	t.Run("the tokens of installers and pruners with their ServiceAccount", func(t *testing.T) {
		c.revokesWithServiceAccount(t, "installer-sa")
	})
	c.noRequestDenied(t)
}

// revokesWithServiceAccount deletes the ServiceAccount and requires that its tokens become invalid and that the
// operator recreates it.
func (c *cluster) revokesWithServiceAccount(t *testing.T, name string) {
	t.Helper()
	accounts := c.kube.CoreV1().ServiceAccounts(targetNamespace)
	old, err := accounts.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.True(t, c.authenticates(t.Context(), request.Status.Token))
	require.NoError(t, accounts.Delete(t.Context(), name, metav1.DeleteOptions{}))
	await(t, "another serviceaccount/"+name, func(ctx context.Context) error {
		account, err := accounts.Get(ctx, name, metav1.GetOptions{})
		if err == nil && account.UID == old.UID {
			err = errors.New("it is the old one")
		}
		return err
	})
	c.awaitRevoked(t, request.Status.Token)
}

// token returns a valid token.
func (c *cluster) token(t *testing.T, secret string) string {
	t.Helper()
	object, err := c.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), secret, metav1.GetOptions{})
	require.NoError(t, err)
	token := string(object.Data["token"])
	require.True(t, c.authenticates(t.Context(), token))
	return token
}

func (c *cluster) authenticates(ctx context.Context, token string) bool {
	review, err := c.kube.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	return err == nil && review.Status.Authenticated
}

func (c *cluster) awaitRevoked(t *testing.T, token string) {
	t.Helper()
	await(t, "the API server to reject the token", func(ctx context.Context) error {
		if c.authenticates(ctx, token) {
			return errors.New("it accepts the token")
		}
		return nil
	})
}

// awaitReplaced waits until the Secret has another valid token.
func (c *cluster) awaitReplaced(t *testing.T, secret, old string) {
	t.Helper()
	await(t, "another token in secret/"+secret, func(ctx context.Context) error {
		object, err := c.kube.CoreV1().Secrets(targetNamespace).Get(ctx, secret, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if token := string(object.Data["token"]); token == old || !c.authenticates(ctx, token) {
			return errors.New("there is none that works")
		}
		return nil
	})
}
