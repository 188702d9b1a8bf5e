package tokenissuer

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
)

func TestATokenIsMissingUntilItIsThereForItsAudience(t *testing.T) {
	annotations, err := Records{"token": {Audience: "openshift"}, "empty": {Audience: "openshift"}, "sts": {Audience: "openshift"}}.Annotations()
	require.NoError(t, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
		Data:       map[string][]byte{"token": []byte("t"), "empty": nil, "sts": []byte("t"), "unrecorded": []byte("t")},
	}
	require.Equal(t, []string{"empty", "sts", "unrecorded", "nowhere"}, Missing(secret, []clouds.Token{
		{Key: "token", Audience: "openshift"},
		{Key: "empty", Audience: "openshift"},
		{Key: "sts", Audience: "sts.amazonaws.com"},
		{Key: "unrecorded", Audience: "openshift"},
		{Key: "nowhere", Audience: "openshift"},
	}))
	require.Empty(t, Missing(secret, nil))
	require.Equal(t, []string{"token"}, Missing(&corev1.Secret{}, []clouds.Token{{Key: "token", Audience: "openshift"}}))
}
