// Package drift compares what the code assumes about other repositories with checkouts of them. What the code assumes
// is read from the code: nothing is listed twice.
package drift

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
)

// Row is a difference.
type Row struct {
	// Kind is what differs, such as "feature gate".
	Kind string
	// Here is what the code assumes, and There what the checkout has.
	Here, There string
	// Place is the file and the line, in the checkout if it has one.
	Place string
}

func (r Row) String() string {
	return strings.Join([]string{r.Kind, r.Here, r.There, r.Place}, "\t")
}

const (
	gatesFile  = "features/features.go"
	typesFile  = "config/v1/types_infrastructure.go"
	nodesFile  = "operator/v1/types.go"
	crdFile    = "manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml"
	gatesTable = "pkg/featuregate/featuregate.go"
)

// comparison compares what the code below root assumes with a file or a directory of a checkout.
type comparison func(root, path string) ([]Row, error)

// comparisons returns what is compared, by the path in the checkout.
func comparisons() map[string]comparison {
	all := map[string]comparison{
		gatesFile: gates, typesFile: infrastructure, nodesFile: nodeStatus, "manifests": annotations,
	}
	for _, file := range roleFiles {
		all[file] = rights
	}
	for file, cloud := range configurations {
		all[file] = func(root, path string) ([]Row, error) { return keys(root, cloud, path) }
	}
	return all
}

// Compare returns the differences between the repository at root and others, which are checkouts or programs. A
// checkout is compared in what it has; the messages of the cloud-controller-managers, with all checkouts together.
func Compare(root string, others ...string) ([]Row, error) {
	var rows []Row
	var checkouts []string
	compared := 0
	for _, other := range others {
		all := map[string]comparison{"": flags}
		if info, err := os.Stat(other); err != nil {
			return nil, err
		} else if info.IsDir() {
			all = comparisons()
			checkouts = append(checkouts, other)
		}
		for file, compare := range all {
			path := filepath.Join(other, file)
			if _, err := os.Stat(path); os.IsNotExist(err) {
				continue
			}
			found, err := compare(root, path)
			if err != nil {
				return nil, err
			}
			compared++
			rows = append(rows, found...)
		}
	}
	found, contain, err := messages(root, checkouts)
	if err != nil {
		return nil, err
	}
	if !contain && compared == 0 {
		return nil, fmt.Errorf("nothing to compare in %s", strings.Join(others, ", "))
	}
	rows = append(rows, found...)
	return merged(rows), nil
}

// merged sorts the rows. Those that several checkouts have become one, and so do the rights to one resource.
func merged(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.String(), b.String()) })
	rows = slices.CompactFunc(rows, func(a, b Row) bool {
		b.Place = a.Place
		return a == b
	})
	of := map[string]int{}
	var all []Row
	for _, row := range rows {
		first, seen := of[row.There]
		if row.Kind == right && seen {
			all[first].Here += ", " + row.Here
			continue
		}
		if row.Kind == right {
			of[row.There] = len(all)
		}
		all = append(all, row)
	}
	return all
}

var registered = regexp.MustCompile(`newFeatureGate\("([^"]+)"\)`)

// gate is a registration in openshift/api.
type gate struct {
	isDefault bool
	line      int
}

func registeredGates(content string) map[string]gate {
	known, last := map[string]gate{}, ""
	for i, line := range strings.Split(content, "\n") {
		if match := registered.FindStringSubmatch(line); match != nil {
			last = match[1]
			known[last] = gate{line: i + 1}
		}
		if last != "" && strings.Contains(line, "inDefault()") {
			known[last] = gate{isDefault: true, line: known[last].line}
		}
	}
	return known
}

// gates compares pkg/featuregate with the registrations of openshift/api.
func gates(_, path string) ([]Row, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := registeredGates(string(content))
	var rows []Row
	for _, ours := range featuregate.Gates {
		there, exists := known[ours.Name]
		place := fmt.Sprintf("%s:%d", path, there.line)
		here := ours.Name + ", off by default"
		if ours.OnIfAbsent {
			here = ours.Name + ", on by default"
		}
		switch {
		case exists && ours.Upstream:
			rows = append(rows, Row{"feature gate", ours.Name + ", of Kubernetes only", "registered", place})
		case exists && there.isDefault != ours.OnIfAbsent:
			rows = append(rows, Row{"feature gate", here, "the other way", place})
		case !exists && !ours.Upstream && ours.Removed == "":
			rows = append(rows, Row{"feature gate", here, "removed", gatesTable})
		}
	}
	return rows, nil
}

// infrastructure compares the values of enums.
func infrastructure(root, path string) ([]Row, error) {
	types, err := platformTypes(root, path)
	if err != nil {
		return nil, err
	}
	others, err := enums(root, path)
	return append(types, others...), err
}

// enums returns the values of each enum of Infrastructure that the code does not name, if it names another one.
func enums(root, path string) ([]Row, error) {
	here := map[string]bool{}
	err := walk(filepath.Join(root, "pkg"), func(_, content string) {
		for _, match := range configValue.FindAllStringSubmatch(content, -1) {
			here[match[1]] = true
		}
	})
	if err != nil {
		return nil, err
	}
	file, files, err := parse(path)
	if err != nil {
		return nil, err
	}
	missing, named := map[string][]Row{}, map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		of, ok := spec.Type.(*ast.Ident)
		if !ok {
			return false
		}
		for _, name := range spec.Names {
			if here[name.Name] {
				named[of.Name] = true
			} else {
				missing[of.Name] = append(missing[of.Name], Row{of.Name, "not named", name.Name, at(files, name.Pos())})
			}
		}
		return false
	})
	var rows []Row
	for of, values := range missing {
		if named[of] && of != "PlatformType" {
			rows = append(rows, values...)
		}
	}
	return rows, nil
}

var configValue = regexp.MustCompile(`\bconfigv1\.([A-Z]\w+)`)

// platformTypes compares the values of Infrastructure that pkg/platform names.
func platformTypes(root, path string) ([]Row, error) {
	here := map[string]bool{}
	named := regexp.MustCompile(`\bconfigv1\.(\w+PlatformType)\b`)
	err := walk(filepath.Join(root, "pkg/platform"), func(_, content string) {
		for _, match := range named.FindAllStringSubmatch(content, -1) {
			here[match[1]] = true
		}
	})
	if err != nil {
		return nil, err
	}
	there, err := matches(path, regexp.MustCompile(`^\s+(\w+PlatformType)\s+PlatformType\s+=`))
	return difference("platform type", here, there, path, "pkg/platform"), err
}

// nodeStatus compares the fields of NodeStatus with those of our CRD.
func nodeStatus(root, path string) ([]Row, error) {
	crd, err := os.ReadFile(filepath.Join(root, crdFile))
	if err != nil {
		return nil, err
	}
	there := map[string]int{}
	file, files, err := parse(path)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "NodeStatus" {
			return true
		}
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range fields.Fields.List {
				if match := jsonName.FindStringSubmatch(field.Tag.Value); match != nil {
					there[match[1]] = files.Position(field.Pos()).Line
				}
			}
		}
		return false
	})
	return difference("field of NodeStatus", nodeStatusOf(string(crd)), there, path, crdFile), nil
}

// nodeStatusOf returns the fields of nodeStatuses in a CRD.
func nodeStatusOf(crd string) map[string]bool {
	_, statuses, _ := strings.Cut(crd, "\n              nodeStatuses:\n")
	here := map[string]bool{}
	for line := range strings.Lines(statuses) {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if indent < 16 && !strings.HasPrefix(text, "-") {
			break // the next field of the status
		}
		if indent == 20 && strings.HasSuffix(text, ":\n") {
			here[strings.TrimSuffix(text, ":\n")] = true
		}
	}
	return here
}

var jsonName = regexp.MustCompile(`json:"(\w+)`)

var payloadAnnotation = regexp.MustCompile(`^\s+((?:[\w-]+\.)*(?:release|alpha|beta)\.openshift\.io/[\w.-]+):`)

// annotations compares what the payload of a sibling tells the cluster-version-operator and the platform with ours.
func annotations(root, path string) ([]Row, error) {
	keys := func(dir string) (map[string]bool, map[string]string, error) {
		all, places := map[string]bool{}, map[string]string{}
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		for _, file := range files {
			found, err := matches(file, payloadAnnotation)
			if err != nil {
				return nil, nil, err
			}
			for key, line := range found {
				all[key], places[key] = true, fmt.Sprintf("%s:%d", file, line)
			}
		}
		return all, places, err
	}
	here, _, err := keys(filepath.Join(root, "manifests"))
	if err != nil {
		return nil, err
	}
	there, places, err := keys(path)
	var rows []Row
	for key := range there {
		if !here[key] {
			rows = append(rows, Row{"annotation of a payload", "not used", key, places[key]})
		}
	}
	return rows, err
}

// difference returns a row for each name that only one side has.
func difference(kind string, here map[string]bool, there map[string]int, path, ours string) []Row {
	var rows []Row
	for name, line := range there {
		if !here[name] {
			rows = append(rows, Row{kind, "not known", name, fmt.Sprintf("%s:%d", path, line)})
		}
	}
	for name := range here {
		if _, exists := there[name]; !exists {
			rows = append(rows, Row{kind, name, "removed", ours})
		}
	}
	return rows
}

// matches returns the first group of each line that matches, with the number of the first such line.
func matches(path string, expression *regexp.Regexp) (map[string]int, error) {
	content, err := os.ReadFile(path)
	found := map[string]int{}
	for i, line := range strings.Split(string(content), "\n") {
		if match := expression.FindStringSubmatch(line); len(match) > 1 && found[match[1]] == 0 {
			found[match[1]] = i + 1
		}
	}
	return found, err
}

func parse(path string) (*ast.File, *token.FileSet, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	return file, files, err
}

// walk calls visit for each Go file that is no test.
func walk(dir string, visit func(path, content string)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := root.ReadFile(path)
		if err == nil {
			visit(path, string(content))
		}
		return err
	})
}
