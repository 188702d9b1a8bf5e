package targetconfigcontroller

import (
	"testing"

	"github.com/stretchr/testify/require"

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
