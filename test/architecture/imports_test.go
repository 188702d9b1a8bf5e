package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layer defines what the packages below a directory may import.
type layer struct {
	// dir is a package, including every package below it without a layer of its own.
	dir string
	// ours are the directories of this module that may be imported, in addition to those below dir.
	ours []string
	// pure packages get everything as a parameter: no clients, clock, environment, network or disk.
	pure bool
}

// layers follows the data flow: later layers may import earlier ones. A new package needs a line here.
var layers = []layer{
	{dir: "pkg/version"},
	{dir: "pkg/logging", ours: []string{"pkg/redaction"}},
	{dir: "pkg/apis"},
	{dir: "bindata"},
	{dir: "manifests"},
	{dir: "bootstrap"},
	{dir: "pkg/codes", pure: true},
	{dir: "pkg/diagnostic", pure: true, ours: []string{"pkg/codes"}},
	{dir: "pkg/digest", pure: true},
	{dir: "pkg/featuregate", pure: true},
	{dir: "pkg/gcfg", pure: true},
	{dir: "pkg/redaction", pure: true, ours: []string{"pkg/gcfg"}},
	{dir: "pkg/confdoc", pure: true, ours: []string{"pkg/diagnostic", "pkg/redaction", "pkg/gcfg"}},
	// The interface between the clouds and other packages. layerOf gives each cloud its own layer.
	{dir: "pkg/clouds", pure: true, ours: []string{"pkg/confdoc", "pkg/diagnostic"}},
	{dir: "pkg/platform", pure: true, ours: []string{
		"pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/featuregate", "pkg/apis",
	}},
	{
		dir:  "pkg/operandconfig",
		pure: true,
		ours: []string{"pkg/platform", "pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/apis"},
	},
	// pkg/operand imports it, not the other way round.
	{
		dir:  "pkg/operand/customccm",
		pure: true,
		ours: []string{"pkg/platform", "pkg/confdoc", "pkg/diagnostic", "pkg/apis"},
	},
	{
		dir:  "pkg/operand",
		pure: true,
		ours: []string{
			"pkg/operandconfig",
			"pkg/platform",
			"pkg/clouds",
			"pkg/confdoc",
			"pkg/diagnostic",
			"pkg/digest",
			"pkg/apis",
			"bindata",
			"bootstrap",
		},
	},

	{dir: "pkg/patience", pure: true},
	{dir: "pkg/printable", pure: true},
	{dir: "pkg/nodecause", pure: true, ours: []string{"pkg/controlplane", "pkg/operandlog", "pkg/platform", "pkg/printable"}},
	{dir: "pkg/operandlog", ours: []string{"pkg/operand"}},
	{dir: "pkg/operandhealth", ours: []string{"pkg/controlplane", "pkg/operand"}},
	{dir: "pkg/loadbalancer", pure: true},
	{dir: "pkg/terminationmessage", ours: []string{"pkg/operandlog", "pkg/printable", "pkg/redaction"}},
	{dir: "pkg/predecessor", ours: []string{"pkg/operand"}},
	{dir: "pkg/controlplane", ours: []string{"pkg/patience", "pkg/operand", "pkg/predecessor", "pkg/nodefiles", "pkg/apis"}},
	{dir: "pkg/operatorclient", ours: []string{"pkg/apis", "pkg/operand", "pkg/printable"}},
	{dir: "pkg/trial", ours: []string{"pkg/diagnostic", "pkg/operand"}},
	// The observers also run on the bootstrap node, so of the operator they import only its names.
	{
		dir: "pkg/configobservation",
		ours: []string{
			"pkg/featuregate", "pkg/operatorclient", "pkg/operandconfig", "pkg/platform", "pkg/apis",
			"pkg/internal/dependencies", "pkg/internal/eventfilter", "pkg/redaction",
		},
	},

	{
		dir:  "pkg/inputs",
		pure: true,
		ours: []string{"pkg/operatorclient", "pkg/diagnostic", "pkg/digest", "pkg/operand", "pkg/operandconfig", "pkg/platform"},
	},

	// What several controllers share.
	{
		dir: "pkg/internal",
		ours: []string{
			"pkg/controlplane", "pkg/operand", "pkg/operandconfig", "pkg/operatorclient", "pkg/patience", "pkg/platform",
		},
	},
	// The wiring may import every package. layerOf defines the layers of the controllers below it.
	{dir: "pkg/operator", ours: []string{"pkg", "bindata", "manifests"}},
	{dir: "pkg/regularfile"},
	{
		dir:  "pkg/cmd/operator",
		ours: []string{"pkg/operator", "pkg/operand", "pkg/platform", "pkg/regularfile", "pkg/version"},
	},
	{dir: "pkg/nodefiles", ours: []string{"pkg/digest", "pkg/regularfile"}},
	{dir: "pkg/filesyncer", ours: []string{"pkg/nodefiles", "pkg/printable"}},
	{dir: "cmd/file-syncer", ours: []string{"pkg/filesyncer"}},
	{dir: "cmd/image-puller"},
	{dir: "pkg/cmd/nodepod", ours: []string{"pkg/controlplane", "pkg/nodefiles", "pkg/operand", "pkg/printable"}},
	{dir: "pkg/cmd/installer", ours: []string{"pkg/cmd/nodepod", "pkg/controlplane", "pkg/nodefiles", "pkg/operand", "pkg/printable"}},
	{dir: "pkg/cmd/remove", ours: []string{"pkg/cmd/nodepod", "pkg/nodefiles", "pkg/operand", "pkg/printable"}},
	{dir: "pkg/cmd/handover", ours: []string{"pkg/cmd/nodepod", "pkg/controlplane", "pkg/nodefiles", "pkg/operand", "pkg/printable"}},
	{dir: "pkg/cmd/envfile", ours: []string{"pkg/nodefiles", "pkg/regularfile", "pkg/printable"}},
	// The shared code of the offline commands.
	{dir: "pkg/offline", ours: []string{
		"pkg/inputs",
		"pkg/configobservation",
		"pkg/operatorclient",
		"pkg/operandconfig",
		"pkg/operand",
		"pkg/platform",
		"pkg/clouds",
		"pkg/confdoc",
		"pkg/featuregate",
		"pkg/diagnostic",
		"pkg/apis",
		"pkg/regularfile",
	}},
	{dir: "pkg/cmd/usage", ours: []string{"pkg/printable", "pkg/regularfile"}},
	{dir: "pkg/cmd/diagnostics", ours: []string{"pkg/cmd/usage", "pkg/offline", "pkg/diagnostic", "pkg/printable"}},
	{dir: "pkg/cmd/validate", ours: []string{
		"pkg/cmd/usage", "pkg/cmd/diagnostics", "pkg/cmd/source", "pkg/offline", "pkg/preview", "pkg/diagnostic",
		"pkg/printable",
	}},
	{
		dir: "pkg/cmd/convert",
		ours: []string{
			"pkg/cmd/usage", "pkg/cmd/diagnostics", "pkg/offline", "pkg/redaction", "pkg/diagnostic", "pkg/printable",
		},
	},
	{
		dir: "pkg/cmd/render",
		ours: []string{
			"pkg/cmd/usage",
			"pkg/nodefiles",
			"pkg/offline",
			"pkg/regularfile",
			"pkg/inputs",
			"pkg/printable",
			"pkg/operandconfig",
			"pkg/operand",
			"pkg/platform",
			"pkg/clouds",
			"pkg/confdoc",
			"pkg/diagnostic",
			"pkg/apis",
			"bootstrap",
		},
	},
	// What a person asks of a cluster. The controllers whose objects are read say how.
	{dir: "pkg/snapshot", ours: []string{
		"pkg/apis", "pkg/digest", "pkg/inputs", "pkg/internal/listing", "pkg/loadbalancer", "pkg/nodecause", "pkg/operand",
		"pkg/operandlog", "pkg/operatorclient", "pkg/platform", "pkg/printable", "pkg/redaction", "pkg/regularfile", "pkg/terminationmessage",
		"pkg/version", "pkg/operator/inputs/servingcert", "pkg/operator/inputs/tokens", "pkg/operator/nodes/nodedeletion",
		"pkg/operator/nodes/nodeinitialization", "pkg/operator/rollout/maskedpods",
	}},
	{dir: "pkg/report", ours: []string{
		"pkg/snapshot", "pkg/apis", "pkg/codes", "pkg/controlplane", "pkg/diagnostic", "pkg/inputs", "pkg/internal/observedplatform",
		"pkg/loadbalancer", "pkg/nodecause", "pkg/operand",
		"pkg/operandconfig", "pkg/operatorclient", "pkg/platform", "pkg/predecessor", "pkg/printable",
		"pkg/terminationmessage", "pkg/operator/inputs/servingcert", "pkg/operator/inputs/tokens",
		"pkg/operator/leader/availability", "pkg/operator/leader/leadership", "pkg/operator/nodes/nodedeletion", "pkg/operator/nodes/nodeinitialization",
		"pkg/operator/nodes/nodemanager", "pkg/operator/rollout/staticpod",
		"pkg/operator/services/loadbalancers",
	}},
	// What a change would do: the code of the operator, on other objects.
	{dir: "pkg/preview", ours: []string{
		"pkg/snapshot", "pkg/report", "pkg/offline", "pkg/inputs", "pkg/operand", "pkg/operandconfig", "pkg/operatorclient",
		"pkg/platform", "pkg/diagnostic", "pkg/redaction", "pkg/apis", "pkg/trial", "pkg/operator/inputs/targetconfigcontroller",
	}},
	{dir: "pkg/cmd/source", ours: []string{"pkg/snapshot", "pkg/regularfile"}},
	{dir: "pkg/cmd/status", ours: []string{"pkg/cmd/usage", "pkg/cmd/source", "pkg/report", "pkg/snapshot"}},
	{dir: "pkg/cmd/dump", ours: []string{
		"pkg/cmd/usage", "pkg/cmd/source", "pkg/report", "pkg/snapshot", "pkg/version",
	}},
	{dir: "pkg/cmd/explain", ours: []string{
		"pkg/cmd/usage", "pkg/cmd/source", "pkg/codes", "pkg/report", "pkg/snapshot",
	}},
	{dir: "cmd", ours: []string{"pkg/cmd", "pkg/logging", "pkg/version"}},
	{dir: "test/admissiontest"},
	{dir: "test/apitest"},
	{dir: "test/cloudtest", ours: []string{"pkg/clouds", "pkg/confdoc", "pkg/diagnostic"}},
	{dir: "test/controllertest", ours: []string{"pkg/controlplane"}},
	{dir: "test/controlplanetest", ours: []string{"pkg/controlplane"}},
	{dir: "test/snapshottest", ours: []string{"pkg/apis"}},
	{dir: "test/simulation"},
	{dir: "test/transitions"},
	{dir: "test/dockerfile"},
	{dir: "test/rights", ours: []string{"pkg/platform"}},
	{dir: "test/parity", ours: []string{"test/rights", "pkg/platform"}},
	{dir: "test/parity/cmd", ours: []string{"test/parity"}},
	{dir: "test/typecheck"},
	{dir: "test/drift", ours: []string{"pkg/featuregate"}},
	{dir: "test/drift/cmd", ours: []string{"test/drift"}},
	{dir: "test/architecture", ours: []string{"pkg", "bindata", "bootstrap"}},
}

// controllerMayImport are the interfaces between the stages, and helpers of several controllers. A controller never
// imports another one.
var controllerMayImport = []string{
	"pkg/operatorclient",
	"pkg/trial",
	"pkg/internal/observedplatform",
	"pkg/internal/ondemand",
	"pkg/internal/hostpod",
	"pkg/terminationmessage",
	"pkg/nodecause",
	"pkg/operandlog",
	"pkg/patience",
	"pkg/printable",
	"pkg/loadbalancer",
	"pkg/internal/filteredwatch",
	"pkg/internal/eventfilter",
	"pkg/internal/listerview",
	"pkg/internal/listing",
	"pkg/redaction",
	"pkg/internal/configmaps",
	"pkg/internal/dependencies",
	"pkg/internal/reconciler",
	"pkg/controlplane/leaseholder",
	"pkg/predecessor",
	"pkg/controlplane",
	"pkg/filesyncer",
	"pkg/nodefiles",
	"pkg/inputs",
	"pkg/operand",
	"pkg/operandconfig",
	"pkg/clouds",
	"pkg/confdoc",
	"pkg/diagnostic",
	"pkg/digest",
	"pkg/featuregate",
	"pkg/platform",
	"pkg/apis",
	"bindata",
	"manifests",
}

// forbiddenInPure are imports that give access to the outside.
var forbiddenInPure = []string{
	"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2",
	"k8s.io/client-go", "k8s.io/klog/v2", "k8s.io/utils/clock",
	"github.com/openshift/client-go", "github.com/openshift/library-go",
}

// allowedInPure are exceptions to forbiddenInPure: types and functions without side effects.
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
		for _, imported := range p.Imports {
			if reason := found.rejects(imported); reason != "" {
				t.Errorf("%s imports %s: %s", p.relative(), imported, reason)
			}
		}
	}
}

// This is the reason why servingcert does not use certrotation.
func TestWhatCertrotationImportsByItself(t *testing.T) {
	require.Contains(t, dependenciesOf(t, "github.com/openshift/library-go/pkg/operator/certrotation"),
		"github.com/google/go-cmp/cmp")
}

// This is the reason for the table of TLS groups in configobservation.
func TestWhatTheCryptoPackageLacksByItself(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "doc", "-short", "github.com/openshift/library-go/pkg/crypto")
	command.Dir = root
	output, err := command.Output()
	require.NoError(t, err)
	require.Contains(t, string(output), "func CipherSuite")
	require.NotContains(t, string(output), "TLSGroup")
}

// dependenciesOf returns what a package is built from.
func dependenciesOf(t *testing.T, path string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", path)
	command.Dir = root
	output, err := command.Output()
	require.NoError(t, err)
	return strings.Fields(string(output))
}

// Each of these would take several MiB of memory on every control-plane node.
func TestTheFileSyncerDependsOnNothingLarge(t *testing.T) {
	dependencies := dependenciesOf(t, "./cmd/file-syncer")
	require.Contains(t, dependencies, "k8s.io/client-go/dynamic")
	for _, path := range dependencies {
		for _, large := range []string{
			"k8s.io/api",
			"k8s.io/client-go/kubernetes",
			"k8s.io/apiserver",
			"github.com/openshift/library-go",
			"github.com/spf13/cobra",
		} {
			require.False(t, path == large || strings.HasPrefix(path, large+"/"), path)
		}
	}
}

func TestLayersRejectForbiddenImports(t *testing.T) {
	for name, tc := range map[string]struct{ from, path, want string }{
		"rendering may not use a client": {
			"pkg/operand", "k8s.io/client-go/kubernetes", "a pure package gets this as a parameter",
		},
		"rendering may build a kubeconfig": {"pkg/operand", "k8s.io/client-go/tools/clientcmd/api/v1", ""},
		"rendering may not observe": {
			"pkg/operand", module + "/pkg/configobservation", "not in its layer",
		},
		"a controller may not know another": {
			"pkg/operator/rollout/staticpod", module + "/pkg/operator/inputs/targetconfigcontroller", "not in its layer",
		},
		"the wiring knows every controller":   {"pkg/operator", module + "/pkg/operator/inputs/targetconfigcontroller", ""},
		"without a cluster observers run too": {"pkg/offline", module + "/pkg/configobservation", ""},
		"render may not wire the operator":    {"pkg/cmd/render", module + "/pkg/operator", "not in its layer"},
		"a sub-package may know its parent":   {"pkg/apis/operator/v1", module + "/pkg/apis", ""},
		"a cloud may not know another one": {
			"pkg/clouds/aws", module + "/pkg/clouds/gcp", "only pkg/platform imports a cloud",
		},
		"a cloud may read documents":         {"pkg/clouds/aws", module + "/pkg/confdoc", ""},
		"a cloud may not know the registry":  {"pkg/clouds/aws", module + "/pkg/platform", "not in its layer"},
		"a custom CCM is not rendered there": {"pkg/operand/customccm", module + "/pkg/operand", "not in its layer"},
		"rendering knows custom CCMs":        {"pkg/operand", module + "/pkg/operand/customccm", ""},
		"rendering may not know a cloud": {
			"pkg/operand", module + "/pkg/clouds/aws", "only pkg/platform imports a cloud",
		},
		"the registry knows every cloud":        {"pkg/platform", module + "/pkg/clouds/aws", ""},
		"a prefix of a name is not a directory": {"pkg/operand", module + "/pkg/operandextra", "not in its layer"},
		"code may not import a test's module":   {"pkg/operator", module + "/test/architecture", "not in its layer"},
	} {
		t.Run(name, func(t *testing.T) {
			found, ok := layerOf(tc.from)
			require.True(t, ok)
			require.Equal(t, tc.want, found.rejects(tc.path))
		})
	}
}

func TestEveryLayerHasAPackage(t *testing.T) {
	existing := packages(t)
	for _, l := range layers {
		require.True(t, slices.ContainsFunc(existing, func(p goPackage) bool { return within(p.relative(), l.dir) }),
			"nothing is in layer %s: remove it", l.dir)
	}
}

func TestPackageNamesSayWhatIsInside(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range append(strings.Split(p.relative(), "/"), p.Name) {
			vague := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}
			require.NotContains(t, vague, name, "package %s", p.relative())
		}
	}
}

// All other packages use pkg/platform, so that a new platform is one entry there.
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

// platformTypes returns the positions at which a file uses a platform type.
func platformTypes(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		// A conversion to a string, for a message, decides nothing.
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

func layerOf(dir string) (layer, bool) {
	var best layer
	for _, l := range layers {
		if within(dir, l.dir) && len(l.dir) > len(best.dir) {
			best = l
		}
	}
	if controller, ok := strings.CutPrefix(dir, "pkg/operator/"); ok && best.dir == "pkg/operator" {
		wing, name, _ := strings.Cut(controller, "/")
		name, _, _ = strings.Cut(name, "/")
		return layer{dir: path.Join("pkg/operator", wing, name), ours: controllerMayImport}, true
	}
	if name, ok := strings.CutPrefix(dir, cloudsDir); ok && best.dir == "pkg/clouds" {
		name, _, _ = strings.Cut(name, "/")
		ours := []string{"pkg/clouds", "pkg/confdoc", "pkg/diagnostic", "pkg/featuregate"}
		return layer{dir: cloudsDir + name, pure: true, ours: ours}, true
	}
	return best, best.dir != ""
}

// cloudsDir has one directory per cloud.
const cloudsDir = "pkg/clouds/"

// rejects returns why a package of the layer may not import path, "" if it may.
func (l layer) rejects(path string) string {
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		isExempt := l.dir == "pkg/platform" || l.dir == "test/architecture" || within(ours, l.dir)
		if strings.HasPrefix(ours, cloudsDir) && !isExempt {
			return "only pkg/platform imports a cloud"
		}
		for _, allowed := range append(l.ours, l.dir) {
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

func within(dir, parent string) bool {
	return dir == parent || strings.HasPrefix(dir, parent+"/")
}
