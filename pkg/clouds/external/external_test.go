package external_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/external"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestExternalGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "external", external.Rewrite, nil)
}

func TestExternalDeliversAnEmptyFileWithoutAConfiguration(t *testing.T) {
	result := external.Rewrite(clouds.Source{})
	require.Empty(t, result.Diagnostics)
	require.NotNil(t, result.Config)
	require.Empty(t, result.Config)
}
