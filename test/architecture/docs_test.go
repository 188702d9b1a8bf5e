package architecture

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

func TestTheDocumentedDeliveryIsThatOfTheCode(t *testing.T) {
	want := make([]string, 0, len(operand.Delivered()))
	for _, o := range operand.Delivered() {
		want = append(want, fmt.Sprintf("| %s | `%s` | %s | %s |", o.Kind, o.Name, o.Delivery, o.Why))
	}
	var documented []string
	for line := range strings.Lines(string(read(t, "docs/architecture.md"))) {
		if strings.HasPrefix(line, "| ConfigMap |") || strings.HasPrefix(line, "| Secret |") {
			documented = append(documented, strings.TrimSpace(line))
		}
	}
	require.Equal(t, want, documented)
}

// A selector that matches nothing makes "oc delete pods -l" succeed without a deletion.
func TestTheDocumentedSelectorsMatchTheNodeManagersPods(t *testing.T) {
	var daemonSet appsv1.DaemonSet
	require.NoError(t, yaml.UnmarshalStrict(read(t, "bindata/assets/node-manager/daemonset.yaml"), &daemonSet))
	selectors := regexp.MustCompile(`-l ([^ =`+"`"+`]+)=(azure-cloud-node-manager)\b`).FindAllStringSubmatch(string(read(t, "docs/operations.md")), -1)
	require.NotEmpty(t, selectors)
	for _, selector := range selectors {
		require.Equal(t, selector[2], daemonSet.Spec.Template.Labels[selector[1]], "docs/operations.md: %s", selector[0])
	}
}

func TestEveryControllersFolderIsDocumented(t *testing.T) {
	text := string(read(t, "docs/architecture.md"))
	for _, p := range packages(t) {
		dir, ok := strings.CutPrefix(p.relative(), "pkg/operator/")
		if _, name, nested := strings.Cut(dir, "/"); ok && nested && !strings.Contains(name, "/") {
			require.Contains(t, text, "| `"+dir+"` |")
		}
	}
}

// A call needs an import of one of the packages by the other, also through others.
func TestTheDocumentedWalksAreThoseOfTheCode(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range packages(t) {
		imports[p.relative()] = []string{}
		for _, imported := range p.Imports {
			if path, ours := strings.CutPrefix(imported, module+"/"); ours {
				imports[p.relative()] = append(imports[p.relative()], path)
			}
		}
	}
	dependsOn := func(from, to string) bool {
		seen, left := map[string]bool{}, []string{from}
		for ; len(left) > 0; left = left[1:] {
			if !seen[left[0]] {
				seen[left[0]] = true
				left = append(left, imports[left[0]]...)
			}
		}
		return seen[to]
	}
	_, text, found := strings.Cut(string(read(t, "docs/architecture.md")), "\n## Five walks\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	walks := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]*[→⇒][^|]*) \| (\d) \|$`).FindAllStringSubmatch(text, -1)
	require.Len(t, walks, 5)
	for _, walk := range walks {
		entered := map[string]bool{}
		former := ""
		for _, step := range regexp.MustCompile("([→⇒]?) ?`([a-z/]+)`").FindAllStringSubmatch(walk[2], -1) {
			dir := "pkg/" + step[2]
			if step[2] == "manifests" {
				dir = step[2]
			}
			require.Contains(t, imports, dir)
			if step[1] == "→" {
				require.True(t, dependsOn(former, dir) || dependsOn(dir, former), "%s: no import between %s and %s", walk[1], former, dir)
			}
			entered[dir], former = true, dir
		}
		require.Equal(t, walk[3], fmt.Sprint(strings.Count(walk[2], "`")/2-len(entered)), "returns of %s", walk[1])
	}
}

func TestTheDocumentedBootkubeStepIsTheTestedOne(t *testing.T) {
	_, step, found := strings.Cut(string(read(t, "bootstrap/bootkube-step.sh")), "#!/usr/bin/env bash\n")
	require.True(t, found)
	require.Equal(t, 1, strings.Count(string(read(t, "docs/installing.md")), "```sh\n"+step+"```\n"))
	require.NotContains(t, step, "{{", "bootkube.sh is a template")
}

func TestTheDocumentedImageIsThatOfTheStep(t *testing.T) {
	const line = "```sh\nCLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE=$(image_for " + operatorImageTag + ")\n```\n"
	require.Contains(t, string(read(t, "docs/installing.md")), line)
	require.Contains(t, string(read(t, "bootstrap/bootkube-step.sh")), `"${CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE}"`)
}

func TestTheReadmeListsTheMakefilesTargets(t *testing.T) {
	var targets []string
	for line := range strings.Lines(string(read(t, "Makefile"))) {
		if target, _, ok := strings.Cut(line, ": ## "); ok {
			targets = append(targets, target)
		}
	}
	require.Equal(t, []string{"run", "test", "verify", "bench", "build", "tests-ext", "images", "vendor", "update-golden"}, targets)
	readme := string(read(t, "README.md"))
	for _, target := range targets {
		require.Contains(t, readme, "| `"+target+"` |")
	}
}

// A claim is the name of a test.
func TestTheClaimsNameTestsThatExist(t *testing.T) {
	_, table, found := strings.Cut(string(read(t, "docs/claims.md")), "| claim | test |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	named := regexp.MustCompile("`(Test\\w+)` in `([\\w/]+)`").FindAllStringSubmatch(table, -1)
	require.GreaterOrEqual(t, len(named), 5)
	for _, claim := range named {
		require.True(t, hasTest(t, claim[2], claim[1]), "%s has no %s", claim[2], claim[1])
	}
}

// A document or a comment that names a test of the past sends its reader in vain.
func TestEachNamedTestExists(t *testing.T) {
	declaration, name := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile(`\bTest[A-Z]\w{8,}`)
	exists, named := map[string]bool{}, map[string]string{}
	for _, file := range slices.Concat(
		filesUnder(t, "bootstrap", ".go"), filesUnder(t, "cmd", ".go"), filesUnder(t, "pkg", ".go"), filesUnder(t, "test", ".go"),
	) {
		text := string(read(t, file))
		for _, found := range declaration.FindAllStringSubmatch(text, -1) {
			exists[found[1]] = true
		}
		for line := range strings.Lines(text) {
			if _, comment, ok := strings.Cut(line, "// "); ok {
				for _, test := range name.FindAllString(comment, -1) {
					named[test] = file
				}
			}
		}
	}
	for _, file := range append(filesUnder(t, "docs", ".md"), "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		for _, test := range name.FindAllString(string(read(t, file)), -1) {
			named[test] = file
		}
	}
	require.Greater(t, len(named), 100)
	for test, file := range named {
		require.True(t, exists[test], "%s names %s", file, test)
	}
}

// Who looks for the place of a line begins with the tables.
func TestTheArchitectureNamesEachPackage(t *testing.T) {
	text := string(read(t, "docs/architecture.md"))
	for _, parent := range []string{"pkg", "pkg/internal"} {
		entries, err := os.ReadDir(filepath.Join(root, parent))
		require.NoError(t, err)
		for _, entry := range entries {
			isHarness := parent == "pkg/internal" && strings.HasSuffix(entry.Name(), "test")
			require.True(t, isHarness || strings.Contains(text, "`"+parent+"/"+entry.Name()+"`"), "%s/%s", parent, entry.Name())
		}
	}
}

// A workaround without a text for upstream stays for ever, and one whose library has changed is dead code.
func TestEachAdaptationOfLibraryGoHasATextForUpstream(t *testing.T) {
	const dir = "pkg/operator/rollout/staticpod/"
	// These are the operator's own: they would stay with any library.
	own := []string{"candidate.go", "revision.go"}
	// The tests of the other files show the workarounds, those of this one what library-go does without them.
	contract := string(read(t, dir+"librarygo_test.go"))
	table, _, found := strings.Cut(string(read(t, "docs/upstream/README.md")), "\n## ")
	require.True(t, found)
	var listed, adaptations []string
	for line := range strings.Lines(table) {
		columns := strings.Split(line, "|")
		if len(columns) != 5 || !strings.Contains(columns[1], ".go`") {
			continue
		}
		require.Regexp(t, `\]\([a-z-]+\.md`, columns[2], "docs/upstream/README.md: %s has no text", columns[1])
		for _, name := range regexp.MustCompile("`([a-z]+\\.go)`").FindAllStringSubmatch(columns[1], -1) {
			listed = append(listed, name[1])
		}
		test := strings.Trim(strings.TrimSpace(columns[3]), "`")
		require.Contains(t, contract, "\nfunc "+test+"(t *testing.T) {", "docs/upstream/README.md: %s", columns[1])
	}
	files, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	for _, file := range files {
		if name := file.Name(); !strings.HasSuffix(name, "_test.go") && !slices.Contains(own, name) {
			adaptations = append(adaptations, name)
		}
	}
	slices.Sort(listed)
	require.ElementsMatch(t, adaptations, slices.Compact(listed))
}

// The contract tests of library-go have names of one form.
func TestEachAdaptationElsewhereHasAContractTest(t *testing.T) {
	text := string(read(t, "docs/upstream/README.md"))
	for _, link := range regexp.MustCompile(`\]\(([a-z-]+\.md)(#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
		target := string(read(t, "docs/upstream/"+link[1]))
		if anchor := strings.TrimPrefix(link[2], "#"); anchor != "" {
			require.Contains(t, anchors(target), anchor, "docs/upstream/%s", link[1])
		}
	}
	_, table, found := strings.Cut(text, "\n## Elsewhere\n")
	require.True(t, found)
	rows := 0
	for line := range strings.Lines(table) {
		columns := strings.Split(line, "|")
		if len(columns) != 5 || !strings.Contains(columns[1], ".go`") {
			continue
		}
		rows++
		file := regexp.MustCompile("`(\\S+\\.go)`").FindStringSubmatch(columns[1])
		_ = read(t, file[1])
		test := regexp.MustCompile("`(Test\\w+)` in `(\\S+)`").FindStringSubmatch(columns[3])
		if test == nil {
			require.Contains(t, []string{"the same", "none: the compiler"}, strings.TrimSpace(columns[3]), file[1])
			continue
		}
		require.True(t, hasTest(t, test[2], test[1]), "docs/upstream/README.md: %s has no %s", test[2], test[1])
	}
	require.GreaterOrEqual(t, rows, 10)
	for _, p := range packages(t) {
		tests, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		require.NoError(t, err)
		for _, file := range tests {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, test := range regexp.MustCompile(`\nfunc (TestWhat\w+By(?:Itself|Themselves))\(`).FindAllSubmatch(content, -1) {
				require.Contains(t, text, "`"+string(test[1])+"`", "%s is not in docs/upstream/README.md", file)
			}
		}
	}
}

// A heading that moves to another document leaves links behind.
func TestEachLinkOfTheDocumentsHasItsTarget(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?m:^\[[^\]]+\]: (\S+))`)
	checked := 0
	for _, file := range append(filesUnder(t, "docs", ".md"), "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		for _, found := range link.FindAllStringSubmatch(string(read(t, file)), -1) {
			path, anchor, _ := strings.Cut(found[1]+found[2], "#")
			if strings.Contains(path, ":") {
				continue // It leads to the web.
			}
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			_, err := os.Stat(filepath.Join(root, target))
			require.NoError(t, err, "%s links to %s", file, path)
			if anchor != "" {
				require.Contains(t, anchors(string(read(t, target))), anchor, "%s links to %s", file, target)
			}
			checked++
		}
	}
	require.Greater(t, checked, 300)
}

// anchors returns the fragments by which GitHub addresses the headings of a document, and those that it has itself.
func anchors(text string) []string {
	var all []string
	for _, id := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(text, -1) {
		all = append(all, id[1])
	}
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			slug := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			all = append(all, strings.ReplaceAll(slug, " ", "-"))
		}
	}
	return all
}

func hasTest(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(content), "\nfunc "+test+"(t *testing.T) {")
	})
}

func TestEachDecisionIsARecordOfOnePage(t *testing.T) {
	index := string(read(t, "docs/architecture.md"))
	files := filesUnder(t, "docs/decisions", ".md")
	require.NotEmpty(t, files)
	for i, file := range files {
		text := string(read(t, file))
		title, _, _ := strings.Cut(text, "\n")
		number := fmt.Sprintf("%d. ", i+1)
		require.Contains(t, index, "\n"+number+"["+strings.TrimPrefix(title, "# "+number)+"]("+strings.TrimPrefix(file, "docs/")+")\n")
		var headings []string
		for line := range strings.Lines(text) {
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				headings = append(headings, strings.TrimSpace(heading))
			}
		}
		require.Equal(t, []string{"Context", "Decision", "Consequences"}, headings, file)
		require.Less(t, strings.Count(text, "\n"), 60, "%s: a page has less than 60 lines", file)
	}
}

// Two documents fit side by side. What cannot wrap may be longer: tables, code, and an entry that is one link or name.
// docs/platforms.md has each message of a conversion on one line.
func TestDocumentsHaveLinesOfAtMost100Columns(t *testing.T) {
	single := regexp.MustCompile("^(\\d+\\. |- )?(\\[.*\\]\\(\\S*\\)\\.?|`[^`]*`[.,;]?)$")
	for _, file := range append(filesUnder(t, "docs", ".md"), "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		isCode := file == "docs/platforms.md"
		for number, line := range strings.Split(string(read(t, file)), "\n") {
			text := strings.TrimSpace(line)
			if strings.HasPrefix(text, "```") {
				isCode = !isCode
			}
			mayBeLong := isCode || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "<") ||
				strings.HasPrefix(text, "![") || single.MatchString(text) || !strings.Contains(text, " ")
			columns := utf8.RuneCountInString(line)
			require.True(t, mayBeLong || columns <= 100, "%s:%d has %d columns", file, number+1, columns)
		}
	}
}
