package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each of these bounds may fall, and none may rise: an options struct hides what a controller needs, and a type that
// embeds an interface of another module changes a method of it that a reader does not see at the call.
const (
	maxOptions       = 9
	maxOptionsFields = 8
	maxForeign       = 26
)

func TestFewOptionsAndFewTypesThatEmbedAnInterfaceOfOthers(t *testing.T) {
	var options, foreign []string
	fields := 0
	for _, file := range productFiles(t) {
		if strings.HasPrefix(file, "pkg/apis/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			declared, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			structure, ok := declared.Type.(*ast.StructType)
			if !ok {
				return true
			}
			name := filepath.Dir(file) + "." + declared.Name.Name
			if declared.Name.Name == "Options" {
				options = append(options, name)
				fields = max(fields, structure.Fields.NumFields())
			}
			if slices.ContainsFunc(structure.Fields.List, func(f *ast.Field) bool { return isForeign(parsed, f) }) {
				foreign = append(foreign, name)
			}
			return true
		})
	}
	require.LessOrEqual(t, len(options), maxOptions, "%q", options)
	require.LessOrEqual(t, fields, maxOptionsFields)
	require.LessOrEqual(t, len(foreign), maxForeign, "%q", foreign)
}

// isForeign reports whether a field embeds a type of another module.
func isForeign(file *ast.File, field *ast.Field) bool {
	selector, ok := field.Type.(*ast.SelectorExpr)
	if !ok || len(field.Names) > 0 {
		return false
	}
	from := selector.X.(*ast.Ident).Name
	return slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool {
		path := strings.Trim(s.Path.Value, `"`)
		named := s.Name != nil && s.Name.Name == from || s.Name == nil && filepath.Base(path) == from
		return named && strings.Contains(path, ".") && !strings.HasPrefix(path, module)
	})
}
