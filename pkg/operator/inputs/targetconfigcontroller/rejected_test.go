package targetconfigcontroller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

func TestARejectionNamesTheObjectOfEachInput(t *testing.T) {
	in := &gathered{}
	in.CloudConfig.Source, in.CloudConfig.Key = "configmap/cloud-provider-config", "config"
	in.Credentials.Source, in.Images.Source = "secret/credentials", "the release payload"
	rejection := &trial.Rejection{Inputs: operand.StartDigests{
		diagnostic.CloudConfig: "a", diagnostic.Credentials: "b", diagnostic.TrustedCA: "c", diagnostic.Image: "d", diagnostic.Configuration: "e",
	}}
	objects := func() (names []string) {
		for _, d := range in.rejections(rejection) {
			names = append(names, d.Object)
		}
		return names
	}
	require.Equal(t, []string{
		"configmap/cloud-provider-config", "secret/credentials", "the trusted CAs", "the release payload", "cloudcontrollermanager/cluster",
	}, objects())
	require.Equal(t, "config", in.rejections(rejection)[0].Key)
	in.proxy = &operand.TrustSource{Source: "configmap/user-ca-bundle"}
	require.Equal(t, "configmap/user-ca-bundle", objects()[2])
}

// Azure's credentials are in the cloud configuration that the cloud-controller-manager gets.
func TestAnAzureLoginThatTheCloudRejectsIsThatOfTheSecret(t *testing.T) {
	f := newAzureFixture(t)
	f.works = true
	f.settle(t)
	f.refresh(t)
	credentials, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), "azure-cloud-credentials", metav1.GetOptions{})
	require.NoError(t, err)
	credentials.Data["azure_client_secret"] = []byte("correct-horse-2")
	f.put(t, credentials)
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.Equal(t, "CredentialsDegraded: secret/azure-cloud-credentials in openshift-cloud-controller-manager: "+
		"a cloud-controller-manager with the changed inputs, on node/m1 for 0s at 2026-11-20T13:00:45Z: it failed; it is "+
		"tried again at 2026-11-20T13:05:45Z; to use it nevertheless, run: oc annotate --overwrite cloudcontrollermanager "+
		"cluster cloudcontrollermanager.operator.openshift.io/accepted-preflight=e223a7d4fc37\n"+
		"until then, the version accepted at 2026-11-20T13:00:00Z stays in use", f.trueConditions(t)[0])
	require.Equal(t, []string{"CredentialsDegraded", "TrustedCADegraded"}, f.degraded(t))

	f.OperandImages["azure-cloud-controller-manager"] = "registry/azure@sha256:9"
	f.sees(t)
	require.True(t, f.record(t).Runs(), "another image is tried with the former credentials")
}

// An upgrade whose credentials were revoked while it rolled out is tried again with others.
func TestAnAzureRevisionWhoseLoginIsRejectedIsTriedAgainWithOtherCredentials(t *testing.T) {
	f := newAzureFixture(t)
	f.works = true
	f.settle(t)
	f.refresh(t)
	secret := func(value string) {
		credentials, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), "azure-cloud-credentials", metav1.GetOptions{})
		require.NoError(t, err)
		credentials.Data["azure_client_secret"] = []byte(value)
		f.put(t, credentials)
	}
	const image = "registry/azure@sha256:9"
	f.rolls(t, func() { f.OperandImages["azure-cloud-controller-manager"] = image })
	f.failsAs(t, trial.RejectedLogin)
	f.sees(t)
	require.NotContains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), image)
	f.makeRevisionOf(t, 3)

	secret("wrong")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.NotContains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), image,
		"those credentials say nothing about it")

	secret("right")
	f.sees(t)
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.delivered(t, operand.ConfigMap, operand.PodConfigMap, "pod.yaml"), image)
}

func TestAnAzureLoginMayBeRejectedForTheSecretOrTheCloudConfiguration(t *testing.T) {
	f := newAzureFixture(t)
	f.works = true
	f.settle(t)
	f.refresh(t)
	credentials, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), "azure-cloud-credentials", metav1.GetOptions{})
	require.NoError(t, err)
	credentials.Data["azure_client_secret"] = []byte("wrong")
	f.put(t, credentials)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": strings.Replace(azureConfig(t),
		`"cloudProviderBackoffDuration": 6`, `"cloudProviderBackoffDuration": 7`, 1)}))
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded", "CredentialsDegraded", "TrustedCADegraded"}, f.degraded(t))
	f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
	f.sees(t)
	require.Equal(t, "another token", f.delivered(t, operand.Secret, "file-syncer-token", "token"), "nothing else waits")
}
