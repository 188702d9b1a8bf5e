package operator

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// A constructor without the check would accept a dependency that is nil.
func TestEveryConstructorRefusesAMissingDependency(t *testing.T) {
	files, err := filepath.Glob("*/*/*.go")
	require.NoError(t, err)
	checked := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(function.Name.Name, "New") || len(function.Type.Params.List) == 0 {
				continue
			}
			first := formatted(t, function.Type.Params.List[0].Type)
			if !strings.HasSuffix(first, "Options") && first != "dependencies.Deps" {
				continue
			}
			checked++
			var parameters []string
			for _, parameter := range function.Type.Params.List {
				for _, name := range parameter.Names {
					parameters = append(parameters, name.Name)
				}
			}
			require.Equal(t, "dependencies.Require("+strings.Join(parameters, ", ")+")", formatted(t, function.Body.List[0]),
				"%s, the first statement of %s", name, function.Name.Name)
		}
	}
	require.Greater(t, checked, 20)
}

func formatted(t *testing.T, node ast.Node) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, format.Node(&b, token.NewFileSet(), node))
	return b.String()
}

// A reader who knows a controller's directory knows where it is wired.
func TestAFunctionWiresTheControllersOfTheDirectoryWithItsName(t *testing.T) {
	controllers, err := parser.ParseFile(token.NewFileSet(), "controllers.go", nil, 0)
	require.NoError(t, err)
	groups := []string{"inputs", "leader", "lifecycle", "nodes", "resources", "rollout", "services", "status"}
	checked := 0
	for _, declaration := range controllers.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || !slices.Contains(groups, function.Name.Name) {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			constructor, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || constructor.Sel.Name != "New" {
				return true
			}
			controller := constructor.X.(*ast.Ident).Name
			if group, err := filepath.Glob(filepath.Join("*", controller)); err == nil && len(group) == 1 {
				checked++
				require.Equal(t, function.Name.Name, filepath.Dir(group[0]), controller)
			}
			return true
		})
	}
	require.Greater(t, checked, 20)
}

func TestTheObserversSeeWhetherThePredecessorHasADeployment(t *testing.T) {
	o, cc := assemble(t, apitest.Start(t, addToScheme))
	w, err := newWiring(o, cc)
	require.NoError(t, err)
	deployments := w.informers.target.Apps().V1().Deployments().Informer().GetStore()
	require.NoError(t, deployments.Add(&appsv1.Deployment{ObjectMeta: target("another")}))
	found, err := w.observed().Predecessor()
	require.NoError(t, err)
	require.False(t, found)

	require.NoError(t, deployments.Add(&appsv1.Deployment{ObjectMeta: target("azure-cloud-controller-manager")}))
	found, err = w.observed().Predecessor()
	require.NoError(t, err)
	require.True(t, found)
}
