package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the operator rejects is an error here too.
func TestOverridesThatTheOperatorRejectsAreErrors(t *testing.T) {
	const head = "apiVersion: operator.openshift.io/v1\nkind: CloudControllerManager\nmetadata:\n  name: cluster\n" +
		"spec:\n  managementState: Managed\n"
	for name, test := range map[string]struct{ overrides, want string }{
		"a flag that the operator relies on": {
			"  unsupportedConfigOverrides:\n    extendedArguments:\n      leader-elect: [\"false\"]\n",
			"operator.yaml:8:5: error: spec.unsupportedConfigOverrides.extendedArguments: leader-elect cannot be overridden, " +
				"because the operator relies on it; remove it [CCM0015]",
		},
		"an unknown field": {
			"  unsupportedConfigOverrides:\n    extendedArgument: {}\n",
			`operator.yaml:7:3: error: spec.unsupportedConfigOverrides: the operand's configuration does not fit its ` +
				`schema: unknown field ` +
				`"extendedArgument"; if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, ` +
				"correct it there [CCM0015]",
		},
		"another platform": {
			"  unsupportedConfigOverrides: {platform: none}\n",
			`operator.yaml:1:1: error: the configuration is for platform "none", the candidate for "openstack" [CCM0015]`,
		},
		"a custom image": {
			"  unsupportedConfigOverrides: {custom: {image: registry.example.com/evil:1}}\n",
			"operator.yaml:7:32: error: spec.unsupportedConfigOverrides.custom: platform openstack runs the " +
				"cloud-controller-manager of the release payload, which cannot be replaced; remove the field [CCM0015]",
		},
		"a flag of the cloud": {
			"  unsupportedConfigOverrides: {extendedArguments: {concurrent-service-syncs: [\"1\"]}}\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    region = one\n")
			f.write("operator.yaml", head+test.overrides)
			got := f.run("--rendered-manifest-files=operator.yaml")
			if test.want == "" {
				require.Equal(t, 0, got.code, got.stdout)
				return
			}
			require.Equal(t, 1, got.code, got.stdout)
			first, rest, _ := strings.Cut(got.stdout, "\n")
			require.Equal(t, test.want, first)
			require.Contains(t, rest, "1 error, 0 warnings in cloud.yaml and operator.yaml")
		})
	}
}

// The operator keeps the former profile after a change, and adds the suites at a first installation.
func TestATLSProfileWithWhichNoServerStartsIsAnError(t *testing.T) {
	const message = "spec.tlsSecurityProfile.custom.ciphers: it has neither ECDHE-RSA-AES128-GCM-SHA256 nor " +
		"ECDHE-ECDSA-AES128-GCM-SHA256: below TLS 1.3, HTTP/2 requires one of them, and the cloud-controller-manager " +
		"would exit; add one, or set minTLSVersion to VersionTLS13; until then "
	for occasion, want := range map[string]struct {
		code             int
		severity, effect string
	}{
		"change":       {1, "error", "the former profile is used ["},
		"installation": {0, "warning", "both are added ["},
		"takeover":     {0, "warning", "both are added ["},
	} {
		t.Run(occasion, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("apiserver.yaml", "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata:\n  name: cluster\n"+
				"spec:\n  tlsSecurityProfile:\n    type: Custom\n    custom:\n      ciphers: [ECDHE-RSA-AES256-GCM-SHA384]\n"+
				"      minTLSVersion: VersionTLS12\n")
			got := f.run("--rendered-manifest-files=apiserver.yaml", "--for="+occasion)
			require.Equal(t, want.code, got.code, got.stdout)
			require.Contains(t, got.stdout, "apiserver.yaml:9:7: "+want.severity+": "+message+want.effect)
		})
	}
}
