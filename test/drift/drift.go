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
	"strconv"
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

// Compare returns the differences between the repository at root and checkouts of others. A checkout is compared in
// what it has; the messages of the cloud-controller-managers, with all checkouts together.
func Compare(root string, checkouts ...string) ([]Row, error) {
	var rows []Row
	compared := 0
	for _, checkout := range checkouts {
		for file, compare := range map[string]func(root, path string) ([]Row, error){
			gatesFile: gates, typesFile: platformTypes, nodesFile: nodeStatus, "manifests": annotations,
		} {
			path := filepath.Join(checkout, file)
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
		return nil, fmt.Errorf("nothing to compare in %s", strings.Join(checkouts, ", "))
	}
	rows = append(rows, found...)
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(rows), nil
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

// constants returns the texts of a file's constants with their lines.
func constants(file *ast.File, files *token.FileSet) map[string]int {
	texts := map[string]int{}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		ast.Inspect(general, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					texts[text] = files.Position(literal.Pos()).Line
				}
			}
			return true
		})
	}
	return texts
}

// messages looks for what pkg/nodecause reads in the log of a cloud-controller-manager. It reports whether a checkout
// has a cloud-controller-manager at all.
func messages(root string, checkouts []string) ([]Row, bool, error) {
	const source = "pkg/nodecause/attempts.go"
	file, files, err := parse(filepath.Join(root, source))
	if err != nil {
		return nil, false, err
	}
	missing := constants(file, files)
	contain := false
	for _, checkout := range checkouts {
		err := walk(checkout, func(_, content string) {
			contain = contain || strings.Contains(content, "k8s.io/cloud-provider/app")
			for text := range missing {
				if strings.Contains(content, text) {
					delete(missing, text)
				}
			}
		})
		if err != nil {
			return nil, false, err
		}
	}
	if !contain {
		return nil, false, nil
	}
	var rows []Row
	for text, line := range missing {
		rows = append(rows, Row{"message", strconv.Quote(text), "in no checkout", fmt.Sprintf("%s:%d", source, line)})
	}
	return rows, true, nil
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
