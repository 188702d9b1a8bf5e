package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// TestNoCodeOutsideTheRegistryNamesAPlatform holds the code to "a platform is data": what differs between platforms is a
// field of platform.Platform or a file in bindata, never a comparison with a platform's name or type.
func TestNoCodeOutsideTheRegistryNamesAPlatform(t *testing.T) {
	named := map[string]bool{}
	for _, p := range platform.All() {
		named[p.Name] = true
	}
	require.True(t, named["openstack"])
	for _, p := range packages(t) {
		relative := p.relative()
		if !within(relative, "pkg") && !within(relative, "cmd") {
			continue
		}
		if within(relative, "pkg/platform") || within(relative, "pkg/clouds") || within(relative, "pkg/apis") {
			continue
		}
		for _, file := range p.GoFiles {
			for _, found := range platformsIn(t, filepath.Join(p.Dir, file), named) {
				t.Errorf("%s: it names a platform: make what differs there a field of platform.Platform", found)
			}
		}
	}
}

// platformsIn returns the places of literals and constants in a file that name a platform.
func platformsIn(t *testing.T, path string, named map[string]bool) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, nil, 0)
	require.NoError(t, err)
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && named[strings.ToLower(text)] {
				found = append(found, files.Position(n.Pos()).String()+" "+n.Value)
			}
		case *ast.SelectorExpr:
			if strings.HasSuffix(n.Sel.Name, "PlatformType") {
				found = append(found, files.Position(n.Pos()).String()+" "+n.Sel.Name)
			}
		}
		return true
	})
	return found
}
