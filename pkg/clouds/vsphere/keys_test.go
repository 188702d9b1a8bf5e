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
	kinds := map[confdoc.Type]string{confdoc.Text: "text", confdoc.Bool: "bool", confdoc.Int: "uint", confdoc.List: "list"}
	var b strings.Builder
	for _, g := range groups {
		scope := map[bool]string{true: "vcenter.*", false: g.yaml}[g.yaml == "vcenter"]
		for _, s := range g.settings {
			fmt.Fprintf(&b, "%s.%s: %s = [%s] %s\n", scope, s.Name, kinds[s.Is], g.ini, s.ini)
		}
	}
	cloudtest.RequireText(t, filepath.Join("testdata", "vsphere-keys.golden"), b.String())
}
