package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/codes"
)

// reasonLike matches a string that could be a reason.
var reasonLike = regexp.MustCompile(`^[A-Z][a-z]+[A-Za-z]*$`)

// noReasons are strings of pkg/operator that look like a reason and are none.
var noReasons = []string{
	// Names of controllers, and parts of names.
	"Controller", "Degraded", "NodeManager",
	"RevisionController", "RolloutProgressController",
	// Conditions of others, and conditions with other suffixes.
	"CloudConfigController", "CloudControllerOwner", "TakingOver", "TrustedCABundleControllerController",
	// Feature gates, kinds, values of annotations, and what kubelets report.
	"Allowed", "CloudControllerManagerWatchBasedRoutesReconciliation", "CloudControllerManagerWebhook", "ClusterRole",
	"ConfigMap", "ConfigurablePKI", "Confirmed", "ContainerCreating", "ControllerManagerReleaseLeaderElectionLockOnExit",
	"CrashLoopBackOff", "DeadlineExceeded", "ErrImageNeverPull", "Failed", "ImagePullBackOff", "InvalidImageName",
	"Image", "Node", "NotSettled", "PodInitializing", "RegistryUnavailable", "Secret", "Service", "Unknown",
	// The reasons of events.
	"DeletingNode", "NodeCurrentRevisionChanged", "NodeNotInitialized",
	// The results of a preflight, and a class of its failures.
	"Crash", "Hang", "Inconclusive", "Killed", "Successful",
	// A doubt that no condition shows.
	"TooEarly",
	// A header of HTTP.
	"Accept",
}

// oc get clusteroperator prints reasons, so each is explained.
func TestEveryReasonHasACode(t *testing.T) {
	var coded, used []string
	for _, code := range codes.All() {
		if code.Reason != "" {
			coded = append(coded, code.Reason)
		}
	}
	for _, p := range packages(t) {
		// adminevents has reasons of events.
		if setsConditions(p.relative()) && p.Name != "adminevents" && !strings.HasSuffix(p.Name, "test") {
			for _, file := range p.GoFiles {
				used = append(used, reasonsIn(t, filepath.Join(p.Dir, file))...)
			}
		}
	}
	// Why nothing runs is a reason of the summary conditions.
	used = append(used, reasonsIn(t, filepath.Join(root, "pkg/platform/absence.go"))...)
	slices.Sort(used)
	slices.Sort(coded)
	require.Equal(t, slices.Compact(used), coded, "pkg/codes has the table")
}

func TestEveryKindAndCauseOfAFindingHasACode(t *testing.T) {
	var coded, kinds, causes []string
	for _, code := range codes.All() {
		if code.Finding != "" {
			coded = append(coded, code.Finding)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "pkg/diagnostic/diagnostic.go"), nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, is := node.(*ast.ValueSpec); is {
			name, _ := spec.Type.(*ast.Ident)
			switch {
			case name == nil:
			case name.Name == "Kind":
				kinds = append(kinds, textOf(spec.Values[0]))
			case name.Name == "Cause":
				causes = append(causes, textOf(spec.Values[0]))
			}
		}
		return true
	})
	require.Equal(t, slices.Concat(kinds, causes), coded, "pkg/codes has the table, in the order of the constants")
}

// The document is written from the table, so that it and the command explain say the same.
func TestTheDocumentOfCodesIsThatOfTheTable(t *testing.T) {
	const name = "docs/reasons.md"
	before := string(read(t, name))
	head, _, found := strings.Cut(before, "\n| code |")
	require.True(t, found)
	all := codes.All()
	slices.SortStableFunc(all, func(a, b codes.Code) int { return strings.Compare(a.Reason, b.Reason) })
	findings := slices.IndexFunc(all, func(c codes.Code) bool { return c.Reason != "" })
	var text strings.Builder
	text.WriteString(head + "\n| code | reason | condition | meaning | do |\n|---|---|---|---|---|\n")
	for _, c := range all[findings:] {
		fmt.Fprintf(&text, "| %s | `%s` | %s | %s | %s |\n", anchored(c.ID), c.Reason, quoted(c.Conditions), c.Means, linked(c.Do))
	}
	text.WriteString("\n## Findings\n\n`validate`, `convert` and `render` print the code of a finding at its end. A likely mistake is an\n" +
		"error or a warning, see\n" +
		"[commands.md](commands.md#checking-a-cloud-configuration-without-a-cluster).\n\n| code | meaning | do |\n|---|---|---|\n")
	for _, c := range all[:findings] {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", anchored(c.ID), c.Means, linked(c.Do))
	}
	if os.Getenv("UPDATE_GOLDEN") != "" && before != text.String() {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text.String()), 0o644))
		assert.Fail(t, "the document is rewritten, look at the difference and run again without UPDATE_GOLDEN")
		return
	}
	require.Equal(t, text.String(), before, "make update-golden writes the golden document")
}

// anchored returns a code with the anchor that explain prints.
func anchored(id string) string { return fmt.Sprintf("<a id=%q></a>%s", strings.ToLower(id), id) }

// quoted marks names of conditions as code.
func quoted(conditions string) string {
	return regexp.MustCompile(`[A-Z]\w+(Degraded|Available|Progressing|Notices)\b|\b(Removing|TakingOver)\b`).
		ReplaceAllString(conditions, "`$0`")
}

// linked makes links of documents. A placeholder such as <node> is text.
func linked(text string) string {
	text = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text)
	return regexp.MustCompile(`docs/(\w+\.md)(#\w+)?`).ReplaceAllString(text, "[$1]($1$2)")
}

// setsConditions reports whether the package is a controller, or has reasons that controllers share.
func setsConditions(dir string) bool {
	return slices.ContainsFunc([]string{
		"pkg/operator", "pkg/internal", "pkg/configobservation", "pkg/controlplane", "pkg/operatorclient",
		"pkg/predecessor",
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
		return slices.Contains(controllers, text)
	})
}
