package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// readers are the packages that read files that a person names.
var readers = []string{"pkg/cmd", "pkg/offline", "pkg/preview", "pkg/report", "pkg/snapshot"}

// A pipe has no end, a device none either, and a sparse file fills the memory.
func TestFilesThatAPersonNamesAreReadWithALimit(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.ContainsFunc(readers, func(dir string) bool { return within(p.relative(), dir) }) {
			continue
		}
		for _, file := range p.GoFiles {
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(parsed, func(node ast.Node) bool {
				if selector, ok := node.(*ast.SelectorExpr); ok && readsWithoutLimit(selector) {
					t.Errorf("%s reads a file: use pkg/regularfile, which rejects pipes, devices and large files",
						files.Position(selector.Pos()))
				}
				return true
			})
		}
	}
}

func readsWithoutLimit(selector *ast.SelectorExpr) bool {
	var of string
	switch x := selector.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	switch of {
	case "os":
		return slices.Contains([]string{"Open", "OpenRoot", "ReadFile", "DirFS"}, selector.Sel.Name)
	case "clientcmd":
		return slices.Contains([]string{"LoadFromFile", "BuildConfigFromFlags"}, selector.Sel.Name)
	case "root":
		return slices.Contains([]string{"FS", "Open", "ReadFile"}, selector.Sel.Name)
	}
	return false
}
