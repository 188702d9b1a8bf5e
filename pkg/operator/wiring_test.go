package operator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// defaulted are the options that only tests set.
var defaulted = map[string][]string{"targetconfigcontroller": {"GracePeriod"}}

// The compiler accepts Options without all fields, and most controllers fail only when they use a missing one.
func TestEveryControllerGetsAllItsOptions(t *testing.T) {
	controllers, err := parser.ParseFile(token.NewFileSet(), "controllers.go", nil, 0)
	require.NoError(t, err)
	checked := 0
	ast.Inspect(controllers, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		options, ok := literal.Type.(*ast.SelectorExpr)
		if !ok || options.Sel.Name != "Options" {
			return true
		}
		checked++
		controller := options.X.(*ast.Ident).Name
		set := slices.Clone(defaulted[controller])
		for _, element := range literal.Elts {
			set = append(set, element.(*ast.KeyValueExpr).Key.(*ast.Ident).Name)
		}
		slices.Sort(set)
		require.Equal(t, optionsOf(t, controller), set, "controllers.go, %s.Options", controller)
		return true
	})
	require.Greater(t, checked, 10)
}

// optionsOf returns the sorted field names of the type Options of a controller.
func optionsOf(t *testing.T, controller string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("*", controller, "*.go"))
	require.NoError(t, err)
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Options" {
				return true
			}
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				for _, ident := range field.Names {
					names = append(names, ident.Name)
				}
			}
			return false
		})
	}
	slices.Sort(names)
	require.NotEmpty(t, names, controller)
	return names
}
