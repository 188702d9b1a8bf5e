package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator"
)

// Condition names are an API: alerts, runbooks and must-gather tools read them.

// conditionName matches the conditions of the operator resource.
var conditionName = regexp.MustCompile(`^[A-Z][A-Za-z]+(Degraded|Available|Progressing|Upgradeable|Notices)$`)

// documentedCondition matches a condition in a document. An ellipsis matches any letters.
var documentedCondition = regexp.MustCompile(
	"`([A-Z][A-Za-z…]+(?:Degraded|Available|Progressing|Upgradeable|Notices))`")

// conditionsOfLibraryGo are documented conditions that library-go's controllers write.
var conditionsOfLibraryGo = []string{
	condition.StaticPodsDegradedConditionType,
	condition.NodeInstallerDegradedConditionType,
	condition.NodeInstallerProgressingConditionType,
	condition.InstallerControllerDegradedConditionType,
	condition.NodeControllerDegradedConditionType,
	condition.ConfigObservationDegradedConditionType,
	condition.UnsupportedConfigOverridesUpgradeableConditionType,
	"MissingStaticPodControllerDegraded",
	"InstallerPodPendingDegraded",
	"InstallerPodContainerWaitingDegraded",
	"InstallerPodNetworkingDegraded",
}

// Another condition would be removed as one of another release, and written again, without end.
func TestEveryConditionThatIsWrittenStays(t *testing.T) {
	explicit, _ := ownConditions(t)
	stay := operator.Conditions()
	for _, name := range append(explicit, conditionsOfLibraryGo...) {
		if !slices.Contains(stay, name) {
			t.Errorf("pkg/operator does not list %s, which a controller writes", name)
		}
	}
}

func TestEveryDocumentedConditionIsOneThatIsWritten(t *testing.T) {
	explicit, ofControllers := ownConditions(t)
	written := slices.Concat(explicit, ofControllers, conditionsOfLibraryGo)
	for _, file := range filesUnder(t, "docs", ".md") {
		if strings.HasPrefix(file, "docs/upstream/") { // these documents are about what library-go writes by itself
			continue
		}
		for _, match := range documentedCondition.FindAllStringSubmatch(string(read(t, file)), -1) {
			pattern := regexp.MustCompile("^" + strings.ReplaceAll(match[1], "…", "[A-Za-z]*") + "$")
			// The last row of the conditions table covers all others.
			if match[1] != "…Degraded" && !slices.ContainsFunc(written, pattern.MatchString) {
				t.Errorf("%s: no controller writes a condition %s", file, match[1])
			}
		}
	}
}

func TestEveryConditionOfItsOwnIsDocumented(t *testing.T) {
	text := string(read(t, "docs/operations.md"))
	explicit, _ := ownConditions(t)
	for _, name := range explicit {
		// Progressing conditions and the constant CloudControllerManagerUpgradeable need no row.
		if strings.HasSuffix(name, "Progressing") || name == "CloudControllerManagerUpgradeable" {
			continue
		}
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/operations.md does not say what %s means", name)
		}
	}
}

// A condition whose controller has waited would wait for the default inertia again, unnoticed.
func TestEveryDegradedConditionDeclaresItsInertia(t *testing.T) {
	explicit, _ := ownConditions(t)
	declared := operator.Inertia()
	for _, name := range explicit {
		if _, found := declared[name]; !found && strings.HasSuffix(name, "Degraded") {
			t.Errorf("the package that writes %s does not declare its inertia, or pkg/operator does not collect it", name)
		}
	}
}

// ownConditions returns the conditions that packages of pkg write: explicit ones, by a literal or a cause, and those
// in which controllers report their errors.
func ownConditions(t *testing.T) (explicit, ofControllers []string) {
	t.Helper()
	for _, p := range packages(t) {
		if !within(p.relative(), "pkg") || within(p.relative(), "pkg/codes") { // that one only names conditions
			continue
		}
		for _, file := range p.GoFiles {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, 0)
			require.NoError(t, err)
			ast.Inspect(parsed, func(node ast.Node) bool {
				if name := conditionOf(node); name != "" {
					explicit = append(explicit, name)
				}
				if name := controllerOf(node); name != "" {
					ofControllers = append(ofControllers, name+"Degraded")
				}
				return true
			})
		}
	}
	slices.Sort(explicit)
	explicit = slices.DeleteFunc(slices.Compact(explicit), func(name string) bool {
		return slices.Contains(conditionsOfLibraryGo, name)
	})
	require.Contains(t, explicit, "CloudConfigDegraded")
	require.Contains(t, ofControllers, "ManagedCloudConfigDegraded")
	return explicit, ofControllers
}

// conditionOf returns the condition that an AST node names.
func conditionOf(node ast.Node) string {
	switch n := node.(type) {
	case *ast.BasicLit:
		if value := textOf(n); conditionName.MatchString(value) {
			return value
		}
	case *ast.ValueSpec:
		if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "Cause" && len(n.Values) == 1 {
			return textOf(n.Values[0]) + "Degraded"
		}
	}
	return ""
}

// controllerOf returns the controller name that an AST node defines.
func controllerOf(node ast.Node) string {
	switch n := node.(type) {
	case *ast.ValueSpec:
		if len(n.Names) == 1 && n.Names[0].Name == "name" && len(n.Values) == 1 {
			return textOf(n.Values[0])
		}
	case *ast.CallExpr:
		function, _ := n.Fun.(*ast.SelectorExpr)
		if function == nil {
			return ""
		}
		if of, ok := function.X.(*ast.Ident); ok && of.Name == "reconciler" {
			for _, argument := range n.Args {
				if name := textOf(argument); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// textOf returns the value of a string literal, "" for other nodes.
func textOf(expression ast.Expr) string {
	literal, ok := expression.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}
