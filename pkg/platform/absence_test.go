package platform

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
)

func TestWhyNothingRuns(t *testing.T) {
	external := func(state configv1.CloudControllerManagerState) configv1.PlatformStatus {
		return configv1.PlatformStatus{Type: configv1.ExternalPlatformType, External: &configv1.ExternalPlatformStatus{
			CloudControllerManager: configv1.CloudControllerManagerStatus{State: state},
		}}
	}
	for name, tc := range map[string]struct {
		status configv1.PlatformStatus
		want   Absence
	}{
		"bare metal": {status: configv1.PlatformStatus{Type: configv1.BareMetalPlatformType},
			want: NotNeeded},
		"an unknown platform": {status: configv1.PlatformStatus{Type: "Moonbase"}, want: NotNeeded},
		"External, without a word about a CCM": {status: configv1.PlatformStatus{Type: configv1.ExternalPlatformType},
			want: NotAsked},
		"External, with an empty state": {status: external(""), want: NotAsked},
		"External, whose nodes wait for no CCM": {status: external(configv1.CloudControllerManagerNone),
			want: NotAsked},
		"External, whose nodes wait for a CCM": {status: external(configv1.CloudControllerManagerExternal),
			want: NotDeclared},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, AbsenceOf(&tc.status))
		})
	}
}

func TestEveryTypeOfTheAPIIsKnown(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-m", "-f", "{{.Dir}}",
		"github.com/openshift/api").Output()
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(output)), "config", "v1",
		"types_infrastructure.go"))
	require.NoError(t, err)
	var types []configv1.PlatformType
	for _, found := range regexp.MustCompile(`PlatformType +PlatformType = "(\w+)"`).FindAllSubmatch(source, -1) {
		types = append(types, configv1.PlatformType(found[1]))
	}
	require.ElementsMatch(t, types, apiTypes)
}

func TestATypeThatTheAPIDoesNotHaveIsUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		status         *configv1.PlatformStatus
		unknown, meant string
		known          bool
	}{
		"no status":         {known: true},
		"no type yet":       {status: &configv1.PlatformStatus{}, known: true},
		"a type of the API": {status: &configv1.PlatformStatus{Type: "oVirt"}, known: true},
		"another case": {status: &configv1.PlatformStatus{Type: "Openstack"}, unknown: "Openstack",
			meant: "OpenStack"},
		"a dash": {status: &configv1.PlatformStatus{Type: "alibaba-cloud"},
			unknown: "alibaba-cloud", meant: "AlibabaCloud"},
		"nothing that the API knows": {status: &configv1.PlatformStatus{Type: "Moonbase"}, unknown: "Moonbase"},
	} {
		t.Run(name, func(t *testing.T) {
			infrastructure := &configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: tc.status}}
			unknown, meant, known := UnknownType(infrastructure)
			require.Equal(t, []any{tc.unknown, tc.meant, tc.known}, []any{unknown, meant, known})
		})
	}
}
