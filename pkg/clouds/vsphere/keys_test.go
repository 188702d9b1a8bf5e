package vsphere

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

// The file is what test/conformance compares with the types of the real provider, which this module cannot import: the keys
// that it reads and that a rewritten configuration may have, in both formats.
func TestVSphereSchemaGolden(t *testing.T) {
	kinds := map[confdoc.Type]string{confdoc.Text: "text", confdoc.Bool: "bool", confdoc.Int: "uint", confdoc.List: "list"}
	var b strings.Builder
	for _, s := range sections {
		scope := map[bool]string{true: "vcenter.*", false: s.yaml}[s.yaml == "vcenter"]
		for _, f := range s.fields {
			fmt.Fprintf(&b, "%s.%s: %s = [%s] %s\n", scope, f.Name, kinds[f.Is], s.ini, iniName(f.Name))
		}
	}
	cloudtest.RequireText(t, filepath.Join("testdata", "vsphere-keys.golden"), b.String())
}
