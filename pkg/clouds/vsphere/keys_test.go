package vsphere

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/cloudtest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// The file is what test/conformance compares with the types of the real provider, which this module cannot import: the keys
// that it reads and that a rewritten configuration may have, in both formats.
func TestVSphereSchemaGolden(t *testing.T) {
	kinds := map[vSphereKind]string{vSphereText: "text", flag: "bool", vSphereNumber: "uint", vSphereList: "list"}
	iniKinds := map[confdoc.INIType]string{confdoc.TextValue: "text", confdoc.BoolValue: "bool", confdoc.UintValue: "uint"}
	var b strings.Builder
	for _, section := range []struct {
		yaml, ini string
		fields    []vSphereField
	}{
		{"global", "Global", globalFields}, {"vcenter.*", "VirtualCenter", connectionFields},
		{"labels", "Labels", labelFields}, {"nodes", "Nodes", nodeFields},
	} {
		for _, f := range section.fields {
			fmt.Fprintf(&b, "%s.%s: %s = [%s] %s: %s\n", section.yaml, f.yaml, kinds[f.kind], section.ini, f.ini, iniKinds[f.iniKind()])
		}
	}
	cloudtest.RequireText(t, filepath.Join("testdata", "vsphere-keys.golden"), b.String())
}
