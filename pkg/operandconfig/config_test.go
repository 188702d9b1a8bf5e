package operandconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct {
		layers []string
		want   string
	}{
		"a later layer wins by key and keeps the others": {
			layers: []string{"extendedArguments: {v: ['2'], a: ['1']}", "", `{"extendedArguments": {"v": ["4"]}}`},
			want:   `{"extendedArguments":{"a":["1"],"v":["4"]}}`,
		},
		"a list is replaced as a whole": {
			layers: []string{"extendedArguments: {controllers: ['*', '-a']}", "extendedArguments: {controllers: [b]}"},
			want:   `{"extendedArguments":{"controllers":["b"]}}`,
		},
		"nothing at all is an empty configuration": {want: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			var layers [][]byte
			for _, l := range tc.layers {
				layers = append(layers, []byte(l))
			}
			got, err := Merge(layers...)
			require.NoError(t, err)
			require.YAMLEq(t, tc.want, string(got))
		})
	}
}

func TestDecode(t *testing.T) {
	_, err := Decode([]byte(`{"platfrom": "openstack"}`))
	require.EqualError(t, err, `the operand's configuration does not fit its schema: unknown field "platfrom"; `+
		`if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, correct it there`)

	_, err = Decode([]byte(`{"extendedArguments": {"v": "secret"}}`))
	require.EqualError(t, err, `the operand's configuration does not fit its schema: in extendedArguments: a string where a list must be; `+
		`if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, correct it there`)

	config, err := Decode([]byte(`{"platform": "openstack", "cloudConfig": {"name": "c", "key": "k"}, "servingInfo": {"minTLSVersion": "VersionTLS12"}}`))
	require.NoError(t, err)
	require.Equal(t, &Config{
		Platform:    "openstack",
		CloudConfig: CloudConfigReference{Name: "c", Key: "k"},
		ServingInfo: ServingInfo{MinTLSVersion: "VersionTLS12"},
	}, config)
}

func TestRequired(t *testing.T) {
	require.NoError(t, Required(&Config{Platform: "p", InfrastructureName: "i", APIServerInternalURI: "u"}))
	require.EqualError(t, Required(&Config{Platform: "p"}), "["+
		"infrastructureName is not observed yet: infrastructure.config.openshift.io/cluster has no status.infrastructureName, "+
		"apiServerInternalURI is not observed yet: infrastructure.config.openshift.io/cluster has no status.apiServerInternalURI]")
}
