package cloudconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The file is what test/conformance compares with the types of the real provider, which this module cannot import: the keys
// that it reads and that a rewritten configuration may have, in both formats.
func TestVSphereSchemaGolden(t *testing.T) {
	kinds := map[vSphereKind]string{vSphereText: "text", vSphereFlag: "bool", vSphereNumber: "uint", vSphereList: "list"}
	iniKinds := map[iniType]string{textValue: "text", boolValue: "bool", uintValue: "uint"}
	var b strings.Builder
	for _, section := range []struct {
		yaml, ini string
		fields    []vSphereField
	}{
		{"global", "Global", vSphereGlobalFields}, {"vcenter.*", "VirtualCenter", vSphereConnectionFields},
		{"labels", "Labels", vSphereLabelFields}, {"nodes", "Nodes", vSphereNodeFields},
	} {
		for _, f := range section.fields {
			fmt.Fprintf(&b, "%s.%s: %s = [%s] %s: %s\n", section.yaml, f.yaml, kinds[f.kind], section.ini, f.ini, iniKinds[f.iniKind()])
		}
	}
	file := filepath.Join("testdata", "vsphere-keys.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
		t.Errorf("%s was written: read it, then run the test without UPDATE_GOLDEN", file)
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
