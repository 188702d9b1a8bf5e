package operand_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

func openStackInputs(t *testing.T) operand.Inputs {
	t.Helper()
	p, known := platform.ByName("openstack")
	require.True(t, known)
	return inputs(t, p, operand.OperatorPhase())
}

func TestCheckFindsWhatRenderFinds(t *testing.T) {
	for name, mutate := range map[string]func(*operand.Inputs){
		"nothing at all":           func(*operand.Inputs) {},
		"a section not closed":     func(in *operand.Inputs) { in.CloudConfig.Data = []byte("[Global\n") },
		"no image":                 func(in *operand.Inputs) { in.Images.Operand = "" },
		"a rejected configuration": func(in *operand.Inputs) { in.Config = []byte("platform: openstack\ncolor: red\n") },
		"a likely typo": func(in *operand.Inputs) {
			in.CloudConfig.Data, in.Policy = []byte("[Global]\nregoin = a\n"), diagnostic.Strict
		},
		"a CA that cannot be read": func(in *operand.Inputs) { in.Trust[0].Data = []byte("-----BEGIN CERTIFICATE-----\n") },
	} {
		t.Run(name, func(t *testing.T) {
			in := openStackInputs(t)
			mutate(&in)
			checked, err := operand.Check(in)
			require.NoError(t, err)
			resources, err := operand.Render(in)
			var rejected *operand.InputError
			if err == nil {
				require.Empty(t, checked.Diagnostics)
				require.Equal(t, resources.Warnings, checked.Warnings)
				return
			}
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, rejected.Diagnostics, checked.Diagnostics)
			require.Equal(t, rejected.Warnings, checked.Warnings)
		})
	}
}

func TestCheckReportsThePlaceAndReasonOfEveryChange(t *testing.T) {
	in := openStackInputs(t)
	in.CloudConfig.Data = []byte("[Global]\nsecret-name = openstack-credentials\nregion = one\n")
	checked, err := operand.Check(in)
	require.NoError(t, err)
	require.Contains(t, checked.Changes, diagnostic.Diagnostic{
		Cause: diagnostic.CloudConfig, Object: in.CloudConfig.Source, Key: in.CloudConfig.Key, Line: 2, Column: 1,
		Kind:    diagnostic.Adapted,
		Message: "secret-name in [Global] is dropped: the cloud-controller-manager reads its credentials from a file",
	})
	require.Contains(t, string(checked.Cloud.Config), "region = one\n")
}

// The image does not depend on the configuration, so both are reported together.
func TestAMissingImageIsReportedWithARejectedConfiguration(t *testing.T) {
	in := openStackInputs(t)
	in.Config, in.Images.Operand = []byte("platform: openstack\ncolor: red\n"), ""
	checked, err := operand.Check(in)
	require.NoError(t, err)
	require.Len(t, checked.Diagnostics, 2)
	require.Equal(t, diagnostic.Image, checked.Diagnostics[0].Cause)
	require.Equal(t, diagnostic.Configuration, checked.Diagnostics[1].Cause)
}

func TestACloudWithoutAPrivateCAIsNoProblem(t *testing.T) {
	in := openStackInputs(t)
	in.CloudConfig.CABundle = nil
	checked, err := operand.Check(in)
	require.NoError(t, err)
	require.Empty(t, checked.Warnings)
}

func TestASourceOfTrustIsUsableIfItHasACertificate(t *testing.T) {
	ca := read(t, "system-ca.pem")
	for name, tc := range map[string]struct {
		source operand.TrustSource
		want   bool
	}{
		"a certificate":          {operand.TrustSource{Data: ca}, true},
		"none":                   {operand.TrustSource{Data: []byte("hello")}, false},
		"one that was not found": {operand.TrustSource{Data: ca, Diagnostic: "it does not exist"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.source.IsUsable()) })
	}
}

func TestCheckRejectsAnUnmanagedPlatform(t *testing.T) {
	none, _ := platform.ByName(platform.None)
	_, err := operand.Check(operand.Inputs{Platform: none})
	require.EqualError(t, err, `platform "none" has no cloud-controller-manager to check`)
}

func TestAnUnusedImageMayBeMissing(t *testing.T) {
	azure, _ := platform.ByName("azure")
	for name, tc := range map[string]struct {
		phase  operand.Phase
		change func(*operand.Images)
		want   string
	}{
		"the operator's, at bootstrap": {operand.BootstrapPhase(),
			func(i *operand.Images) { i.Operator = "" }, ""},
		"not the cloud-node-manager's": {
			operand.BootstrapPhase(), func(i *operand.Images) { i.NodeManager = "" },
			"the release payload, key azure-cloud-node-manager: there is no image of the cloud-node-manager for " +
				"platform azure; the release must name it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, azure, tc.phase)
			tc.change(&in.Images)
			_, err := operand.Render(in)
			if tc.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.want)
			}
		})
	}
}
