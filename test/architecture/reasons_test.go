package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentedReason matches a row of docs/reasons.md.
var documentedReason = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| .+ \\| .+ \\|$")

// reasonLike matches a string that could be a reason.
var reasonLike = regexp.MustCompile(`^[A-Z][a-z]+[A-Za-z]*$`)

// noReasons are strings of pkg/operator that look like a reason and are none.
var noReasons = []string{
	// Names of controllers, and parts of names.
	"Controller", "Degraded", "HeldBackRevisionController", "ImagePullController", "NodeManager",
	"RolloutProgressController",
	// Conditions of others, and conditions with other suffixes.
	"CloudConfigController", "CloudControllerOwner", "TakingOver", "TrustedCABundleControllerController",
	// Feature gates, kinds, values of annotations, and what kubelets report.
	"Allowed", "CloudControllerManagerWatchBasedRoutesReconciliation", "CloudControllerManagerWebhook", "ClusterRole",
	"ConfigurablePKI", "Confirmed", "ContainerCreating", "ControllerManagerReleaseLeaderElectionLockOnExit",
	"CrashLoopBackOff", "Failed",
	"Image", "Node", "NotSettled", "PodInitializing", "RegistryUnavailable", "Secret", "Service", "Unknown",
	// The reason of an event.
	"NodeCurrentRevisionChanged", "NodeNotInitialized",
	// The results of a preflight, and a class of its failures.
	"Crash", "Inconclusive", "Successful",
	// A doubt that no condition shows.
	"TooEarly",
}

// oc get clusteroperator prints reasons, so each has to be found in a document.
func TestEveryReasonIsDocumented(t *testing.T) {
	var documented, used []string
	for _, row := range documentedReason.FindAllStringSubmatch(string(read(t, "docs/reasons.md")), -1) {
		documented = append(documented, row[1])
	}
	for _, p := range packages(t) {
		// adminevents has reasons of events.
		if setsConditions(p.relative()) && p.Name != "adminevents" && !strings.HasSuffix(p.Name, "test") {
			for _, file := range p.GoFiles {
				used = append(used, reasonsIn(t, filepath.Join(p.Dir, file))...)
			}
		}
	}
	slices.Sort(used)
	require.True(t, slices.IsSorted(documented))
	require.Equal(t, slices.Compact(used), documented)
}

// setsConditions reports whether the package is a controller, or has reasons that controllers share.
func setsConditions(dir string) bool {
	return slices.ContainsFunc([]string{
		"pkg/operator", "pkg/configobservation", "pkg/controlplane", "pkg/operatorclient", "pkg/predecessor",
	}, func(parent string) bool { return within(dir, parent) })
}

// reasonsIn returns the strings of a file that look like reasons, except for those of events.
func reasonsIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ofEvents, controllers := map[ast.Node]bool{}, []string{}
	var reasons []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		if call, is := node.(*ast.CallExpr); is && len(call.Args) > 0 {
			function, _ := call.Fun.(*ast.SelectorExpr)
			if function != nil && slices.Contains([]string{"Event", "Eventf", "Warning", "Warningf"}, function.Sel.Name) {
				ofEvents[call.Args[0]] = true
			}
		}
		if name := controllerOf(node); name != "" {
			controllers = append(controllers, name)
		}
		text := ""
		if literal, is := node.(*ast.BasicLit); is && !ofEvents[node] {
			text = textOf(literal)
		}
		if reasonLike.MatchString(text) && !conditionName.MatchString(text) && !strings.HasSuffix(text, "Degraded") &&
			!slices.Contains(noReasons, text) {
			reasons = append(reasons, text)
		}
		return true
	})
	return slices.DeleteFunc(reasons, func(text string) bool {
		return text != "Unmanaged" && slices.Contains(controllers, text) // that one is both
	})
}
