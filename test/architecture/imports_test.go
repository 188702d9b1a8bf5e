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

// layer says what the packages below a folder may import.
type layer struct {
	// folder is a package, and with it every package below it that has no layer of its own.
	folder string
	// ours are the folders of this module that may be imported, besides those below folder itself.
	ours []string
	// pure packages get everything as a parameter: no clients, clock, environment, network or disk.
	pure bool
}

// layers is the direction of the data: what comes later may know what comes earlier. A new package needs a line here.
var layers = []layer{
	{folder: "pkg/version"},
	{folder: "pkg/logging"},
	{folder: "pkg/apis"},
	{folder: "bindata"},
	{folder: "bootstrap"},
	{folder: "pkg/diagnostic", pure: true},
	{folder: "pkg/confdoc", pure: true, ours: []string{"pkg/diagnostic"}},
	// The contract between the clouds and the rest. layerOf gives each cloud below it a layer of its own.
	{folder: "pkg/clouds", pure: true, ours: []string{"pkg/confdoc", "pkg/diagnostic"}},
	{folder: "pkg/clouds/cloudtest", ours: []string{"pkg/clouds", "pkg/confdoc", "pkg/diagnostic"}},
	{folder: "pkg/platform", pure: true, ours: []string{"pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/apis"}},
	{folder: "pkg/operandconfig", pure: true, ours: []string{"pkg/platform", "pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/apis"}},
	// What pkg/operand needs to know of spec.custom. It knows nothing of pkg/operand.
	{folder: "pkg/operand/customccm", pure: true, ours: []string{"pkg/platform", "pkg/confdoc", "pkg/diagnostic", "pkg/apis"}},
	{folder: "pkg/operand", pure: true, ours: []string{"pkg/operandconfig", "pkg/platform", "pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/apis", "bindata", "bootstrap"}},

	{folder: "pkg/operator/operatorclient", ours: []string{"pkg/apis", "pkg/operand"}},
	// The observers run on the bootstrap node too, so they know nothing of the operator but its names.
	{folder: "pkg/operator/configobservation", ours: []string{"pkg/operator/operatorclient", "pkg/operandconfig", "pkg/platform", "pkg/apis"}},

	{folder: "pkg/inputs", pure: true, ours: []string{"pkg/operator/operatorclient", "pkg/diagnostic", "pkg/operand", "pkg/operandconfig", "pkg/platform"}},

	// The wiring knows everybody. Its sub-folders, the controllers, are in the layers that layerOf gives them.
	{folder: "pkg/operator", ours: []string{"pkg", "bindata"}},
	{folder: "pkg/cmd/operator", ours: []string{"pkg/operator", "pkg/operand", "pkg/platform", "pkg/version"}},
	{folder: "pkg/regularfile"},
	{folder: "pkg/printable", pure: true},
	{folder: "pkg/cmd/envfile", ours: []string{"pkg/regularfile", "pkg/printable"}},
	// What the commands without a cluster share.
	{folder: "pkg/offline", ours: []string{
		"pkg/inputs", "pkg/operator/configobservation", "pkg/operator/operatorclient", "pkg/operandconfig", "pkg/operand", "pkg/platform", "pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/apis",
		"pkg/regularfile",
	}},
	{folder: "pkg/cmd/findings", ours: []string{"pkg/offline", "pkg/diagnostic", "pkg/printable"}},
	{folder: "pkg/cmd/validate", ours: []string{"pkg/cmd/findings", "pkg/offline", "pkg/diagnostic", "pkg/printable"}},
	{folder: "pkg/cmd/convert", ours: []string{"pkg/cmd/findings", "pkg/offline", "pkg/diagnostic", "pkg/printable"}},
	{folder: "pkg/cmd/render", ours: []string{"pkg/offline", "pkg/inputs", "pkg/printable", "pkg/operandconfig", "pkg/operand", "pkg/platform", "pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/apis", "bootstrap"}},
	{folder: "cmd", ours: []string{"pkg/cmd", "pkg/operator/staticpod", "pkg/operand", "pkg/logging", "pkg/version"}},
	{folder: "test/dockerfile"},
	{folder: "test/rights", ours: []string{"pkg/platform"}},
	{folder: "test/architecture", ours: []string{"pkg", "bindata", "bootstrap"}},
}

// controllerMayImport are the contracts between the stages, and what several controllers do alike. A controller never knows
// another one.
var controllerMayImport = []string{
	"pkg/operator/operatorclient", "pkg/operator/observedplatform", "pkg/operator/ondemand", "pkg/operator/terminationmessage",
	"pkg/operator/configmaps", "pkg/operator/writeconflict",
	"pkg/inputs", "pkg/operand", "pkg/operandconfig", "pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/platform", "pkg/apis", "bindata",
}

// forbiddenInPure are the imports with which a package could reach out by itself.
var forbiddenInPure = []string{
	"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2",
	"k8s.io/client-go", "k8s.io/klog/v2", "k8s.io/utils/clock",
	"github.com/openshift/client-go", "github.com/openshift/library-go",
}

// allowedInPure are exceptions to forbiddenInPure, all of them types and functions without effects.
var allowedInPure = []string{
	"k8s.io/client-go/tools/clientcmd/api/v1",
	"k8s.io/client-go/listers/core/v1",
	"github.com/openshift/library-go/pkg/operator/resource/resourcemerge",
	"github.com/openshift/library-go/pkg/operator/resource/resourceread",
}

func TestImportsFollowTheDirectionOfTheData(t *testing.T) {
	for _, p := range packages(t) {
		found, ok := layerOf(p.relative())
		if !ok {
			t.Errorf("%s is in no layer: say in layers what it may import", p.relative())
			continue
		}
		for _, path := range p.Imports {
			if reason := found.refuses(path); reason != "" {
				t.Errorf("%s imports %s: %s", p.relative(), path, reason)
			}
		}
	}
}

func TestLayersRefuseWhatTheyShould(t *testing.T) {
	for name, tc := range map[string]struct{ from, path, want string }{
		"rendering may not use a client":      {"pkg/operand", "k8s.io/client-go/kubernetes", "a pure package gets this as a parameter"},
		"rendering may build a kubeconfig":    {"pkg/operand", "k8s.io/client-go/tools/clientcmd/api/v1", ""},
		"rendering may not observe":           {"pkg/operand", module + "/pkg/operator/configobservation", "not in its layer"},
		"a controller may not know another":   {"pkg/operator/staticpod", module + "/pkg/operator/targetconfigcontroller", "not in its layer"},
		"the wiring knows every controller":   {"pkg/operator", module + "/pkg/operator/targetconfigcontroller", ""},
		"without a cluster observers run too": {"pkg/offline", module + "/pkg/operator/configobservation", ""},
		"render may not wire the operator":    {"pkg/cmd/render", module + "/pkg/operator", "not in its layer"},
		"a sub-package may know its parent":   {"pkg/confdoc/gcfg", module + "/pkg/confdoc", ""},
		"a cloud may not know another one":    {"pkg/clouds/aws", module + "/pkg/clouds/gcp", "only pkg/platform imports a cloud"},
		"a cloud may read documents":          {"pkg/clouds/aws", module + "/pkg/confdoc", ""},
		"a cloud may not know the registry":   {"pkg/clouds/aws", module + "/pkg/platform", "not in its layer"},
		"a custom CCM is not rendered there":  {"pkg/operand/customccm", module + "/pkg/operand", "not in its layer"},
		"rendering knows custom CCMs":         {"pkg/operand", module + "/pkg/operand/customccm", ""},
		"rendering may not know a cloud":      {"pkg/operand", module + "/pkg/clouds/aws", "only pkg/platform imports a cloud"},
		"the registry knows every cloud":      {"pkg/platform", module + "/pkg/clouds/aws", ""},
		"a prefix of a name is not a folder":  {"pkg/operand", module + "/pkg/operandextra", "not in its layer"},
		"code may not import a test's module": {"pkg/operator", module + "/test/architecture", "not in its layer"},
	} {
		t.Run(name, func(t *testing.T) {
			found, ok := layerOf(tc.from)
			require.True(t, ok)
			require.Equal(t, tc.want, found.refuses(tc.path))
		})
	}
}

func TestEveryLayerHasAPackage(t *testing.T) {
	existing := packages(t)
	for _, l := range layers {
		require.True(t, slices.ContainsFunc(existing, func(p goPackage) bool { return within(p.relative(), l.folder) }),
			"nothing is in layer %s: remove it", l.folder)
	}
}

func TestPackageNamesSayWhatIsInside(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range append(strings.Split(p.relative(), "/"), p.Name) {
			require.NotContains(t, []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}, name, "package %s", p.relative())
		}
	}
}

// Everybody else asks pkg/platform, so that a new platform is one entry there.
func TestOnlyTheRegistryInspectsThePlatformType(t *testing.T) {
	for _, p := range packages(t) {
		if p.relative() == "pkg/platform" {
			continue
		}
		for _, file := range p.GoFiles {
			for _, use := range platformTypes(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%s inspects the platform type: let pkg/platform decide", use)
			}
		}
	}
}

// platformTypes returns the positions at which a file names a platform type or reads one.
func platformTypes(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		// As a text, in a message, the type decides nothing.
		if call, ok := node.(*ast.CallExpr); ok && len(call.Args) == 1 {
			if conversion, ok := call.Fun.(*ast.Ident); ok && conversion.Name == "string" {
				return false
			}
		}
		if selector, ok := node.(*ast.SelectorExpr); ok && isPlatformType(selector) {
			found = append(found, files.Position(selector.Pos()).String())
		}
		return true
	})
	return found
}

func isPlatformType(selector *ast.SelectorExpr) bool {
	if strings.HasSuffix(selector.Sel.Name, "PlatformType") {
		return true
	}
	inner, ok := selector.X.(*ast.SelectorExpr)
	return ok && inner.Sel.Name == "PlatformStatus" && selector.Sel.Name == "Type"
}

func layerOf(folder string) (layer, bool) {
	var best layer
	for _, l := range layers {
		if within(folder, l.folder) && len(l.folder) > len(best.folder) {
			best = l
		}
	}
	if controller, ok := strings.CutPrefix(folder, "pkg/operator/"); ok && best.folder == "pkg/operator" {
		name, _, _ := strings.Cut(controller, "/")
		return layer{folder: "pkg/operator/" + name, ours: controllerMayImport}, true
	}
	if name, ok := strings.CutPrefix(folder, cloudsFolder); ok && best.folder == "pkg/clouds" {
		name, _, _ = strings.Cut(name, "/")
		return layer{folder: cloudsFolder + name, pure: true, ours: []string{"pkg/clouds", "pkg/confdoc", "pkg/diagnostic"}}, true
	}
	return best, best.folder != ""
}

// cloudsFolder has one folder per cloud.
const cloudsFolder = "pkg/clouds/"

// refuses returns why a package of the layer may not import path, or nothing if it may.
func (l layer) refuses(path string) string {
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		if strings.HasPrefix(ours, cloudsFolder) && l.folder != "pkg/platform" && l.folder != "test/architecture" && !within(ours, l.folder) {
			return "only pkg/platform imports a cloud"
		}
		for _, allowed := range append(l.ours, l.folder) {
			if within(ours, allowed) {
				return ""
			}
		}
		return "not in its layer"
	}
	if !l.pure || slices.Contains(allowedInPure, path) {
		return ""
	}
	for _, forbidden := range forbiddenInPure {
		if path == forbidden || strings.Contains(forbidden, ".") && within(path, forbidden) {
			return "a pure package gets this as a parameter"
		}
	}
	return ""
}

func within(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}
