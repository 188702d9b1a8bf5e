package operand_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Without them two CCMs act at once, act elsewhere, or act with other rights.
func TestTheFlagsThatTheOperatorReliesOnCannotBeOverridden(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	const object = "cloudcontrollermanager.operator.openshift.io/cluster, key "
	for name, tc := range map[string]struct {
		overrides string
		bootstrap bool
		// flag is the rejected flag, empty if the overrides are accepted.
		flag string
	}{
		"without leader election": {overrides: `{"extendedArguments": {"leader-elect": ["false"]}}`, flag: "leader-elect"},
		"another lease": {
			overrides: `{"extendedArguments": {"leader-elect-resource-name": ["x"]}}`, flag: "leader-elect-resource-name",
		},
		"another kind of lease": {
			overrides: `{"extendedArguments": {"leader-elect-resource-lock": ["x"]}}`, flag: "leader-elect-resource-lock",
		},
		"another kubeconfig":         {overrides: `{"extendedArguments": {"kubeconfig": ["/tmp/x"]}}`, flag: "kubeconfig"},
		"another API server":         {overrides: `{"extendedArguments": {"master": ["https://x"]}}`, flag: "master"},
		"the former name's spelling": {overrides: `{"extendedArguments": {"leader_elect": ["false"]}}`, flag: "leader-elect"},
		"a flag in a flag's name": {
			overrides: `{"extendedArguments": {"leader-elect=false": ["x"]}}`, flag: "leader-elect",
		},
		"with dashes": {
			overrides: `{"extendedArguments": {"--leader-elect": ["false"]}}`, flag: "leader-elect",
		},
		"a flag that is removed": {overrides: `{"withoutArguments": ["leader-elect"]}`, flag: "leader-elect"},
		"a flag that is emptied": {overrides: `{"extendedArguments": {"leader-elect": []}}`, flag: "leader-elect"},
		"a flag behind a gate": {
			overrides: `{"gatedArguments": {"G": {"leader-elect": ["false"]}}, "cluster": {"featureGates": ["G"]}}`,
			flag:      "leader-elect",
		},
		"a case that the decoder ignores": {
			overrides: `{"extendedarguments": {"leader-elect": ["false"]}}`, flag: "leader-elect",
		},
		"the same value": {overrides: `{"extendedArguments": {"leader-elect": ["true"], "v": ["5"]}}`},
		"the same value in the former name's spelling": {overrides: `{"extendedArguments": {"leader_elect": ["true"]}}`},
		"the same value, as a boolean may be written":  {overrides: `{"extendedArguments": {"leader-elect": ["True"]}}`},
		"the default of a flag that is not passed": {
			overrides: `{"extendedArguments": {"leader-elect-resource-lock": ["leases"], "master": [""]}}`,
		},
		"the last of several values counts": {
			overrides: `{"extendedArguments": {"leader-elect": ["true", "false"]}}`, flag: "leader-elect",
		},
		"a value that is no boolean": {overrides: `{"extendedArguments": {"leader-elect": ["yes"]}}`, flag: "leader-elect"},
		"another lease duration":     {overrides: `{"extendedArguments": {"leader-elect-lease-duration": ["200s"]}}`},
		"a flag of the cloud":        {overrides: `{"extendedArguments": {"concurrent-service-syncs": ["1"]}}`},
		"leader election at bootstrap": {
			overrides: `{"extendedArguments": {"leader-elect": ["true"]}}`, bootstrap: true, flag: "leader-elect",
		},
	} {
		t.Run(name, func(t *testing.T) {
			phase, field := operand.OperatorPhase(), "spec.unsupportedConfigOverrides.extendedArguments"
			if tc.bootstrap {
				phase, field = operand.BootstrapPhase(), "extendedArguments"
			}
			in := inputs(t, openstack, phase)
			in.Overrides = []byte(tc.overrides)
			_, err := operand.Render(in)
			if tc.flag == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, object+field+": "+tc.flag+" cannot be overridden, because the operator relies on "+
				"it; remove it")
		})
	}
}

// The library of flags rejects a name that starts with a dash, and the process exits.
func TestAnOverriddenFlagIsNamedWithoutDashes(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	in := inputs(t, openstack, operand.OperatorPhase())
	in.Overrides = []byte(`{"extendedArguments": {"--v": ["4"], "concurrent-service-syncs": ["1"]}}`)
	_, err := operand.Render(in)
	require.EqualError(t, err, "cloudcontrollermanager.operator.openshift.io/cluster, key "+
		"spec.unsupportedConfigOverrides.extendedArguments: the operator adds the dashes before the name of a flag, and "+
		`with more of them the cloud-controller-manager would exit: write "v" instead of "--v"`)
}
