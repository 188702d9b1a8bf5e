package drift

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var (
	arguments = regexp.MustCompile(`(?m)^ +- args:\n((?: +- --.*\n)+) +command:\n +- (\S+)$`)
	argument  = regexp.MustCompile(`(?m)^ +- --([\w-]+)(?:=(.*))?$`)
	helpFlag  = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)(?:.*\(default "?([^")]*)"?\)$)?`)
	helpGate  = regexp.MustCompile(`\b([A-Z]\w+)=true\|false()`)
	// remains is the comment of a configuration in bindata about a flag whose default the code relies on.
	remains    = regexp.MustCompile(`(?m)^ +# ([\w-]+) remains (\w+):`)
	helpTime   = 20 * time.Second
	goldenPods = "pkg/operand/testdata/*/*.golden.yaml"
	rightsFile = "manifests/0000_26_cloud-controller-manager-operator_05_operand.rbac.yaml"
	literal    = regexp.MustCompile(`"([\w-]+)"`)
	keyTag     = regexp.MustCompile(`(?:gcfg|yaml|json):"([\w-]+)`)
	spelling   = strings.NewReplacer("-", "", "_", "")
)

// flags compares the arguments of our pods with what a cloud-controller-manager lists.
func flags(root, program string) ([]Row, error) {
	there, err := listedBy(program)
	if err != nil {
		return nil, err
	}
	pods, err := filepath.Glob(filepath.Join(root, goldenPods))
	if err != nil {
		return nil, err
	}
	var rows []Row
	platforms := map[string]bool{}
	for _, pod := range pods {
		content, err := os.ReadFile(pod)
		if err != nil {
			return nil, err
		}
		for _, container := range arguments.FindAllStringSubmatch(string(content), -1) {
			if filepath.Base(container[2]) != filepath.Base(program) {
				continue
			}
			platforms[filepath.Base(filepath.Dir(pod))] = true
			for _, match := range argument.FindAllStringSubmatch(container[1], -1) {
				for _, name := range append(gatesOf(match[1], match[2]), match[1]) {
					if _, known := there[name]; !known {
						place := fmt.Sprintf("%s:%d", pod, lineOf(string(content), match[0]))
						rows = append(rows, Row{"flag or gate", name, "not known to " + program, place})
					}
				}
			}
		}
	}
	if len(platforms) == 0 {
		return nil, fmt.Errorf("no pod of ours runs %s", filepath.Base(program))
	}
	others, err := defaults(root, platforms, there)
	return append(rows, others...), err
}

// defaults compares the defaults that the code relies on with those of a program, which runs on these platforms.
func defaults(root string, platforms map[string]bool, there map[string]string) ([]Row, error) {
	paths := []string{filepath.Join(root, "bindata/assets/config/default.yaml")}
	for platform := range platforms {
		paths = append(paths, filepath.Join(root, "bindata/assets/platforms", platform, "config.yaml"))
	}
	var rows []Row
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, match := range remains.FindAllStringSubmatch(string(content), -1) {
			if value, known := there[match[1]]; known && value != match[2] {
				place := fmt.Sprintf("%s:%d", path, lineOf(string(content), match[0]))
				rows = append(rows, Row{"default of a flag", match[1] + "=" + match[2], value, place})
			}
		}
	}
	return rows, nil
}

// listedBy returns the feature gates that a program lists, and its flags with their defaults.
func listedBy(program string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), helpTime)
	defer cancel()
	// Some exit with 2 after their help.
	help, err := exec.CommandContext(ctx, program, "--help").CombinedOutput()
	listed := map[string]string{}
	for _, expression := range []*regexp.Regexp{helpFlag, helpGate} {
		for _, match := range expression.FindAllStringSubmatch(string(help), -1) {
			listed[match[1]] = match[2]
		}
	}
	if err != nil && len(listed) == 0 {
		return nil, fmt.Errorf("%s --help: %w", program, err)
	}
	return listed, nil
}

func gatesOf(flag, value string) []string {
	if flag != "feature-gates" {
		return nil
	}
	var names []string
	for gate := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(gate, "=")
		names = append(names, name)
	}
	return names
}

func lineOf(content, text string) int {
	before, _, _ := strings.Cut(content, text)
	return strings.Count(before, "\n") + 1
}

// configurations are the files of the providers whose structs are their configuration, and our package that knows its
// keys.
var configurations = map[string]string{
	"pkg/openstack/openstack.go":                           "openstack",
	"pkg/client/client.go":                                 "openstack",
	"pkg/common/config/types_yaml.go":                      "vsphere",
	"pkg/common/config/types_ini_legacy.go":                "vsphere",
	"pkg/cloudprovider/vsphere/config/types_ini_legacy.go": "vsphere",
	"pkg/cloudprovider/vsphere/config/types_yaml.go":       "vsphere",
	"pkg/provider/config/azure.go":                         "azure",
	"pkg/provider/config/azure_auth.go":                    "azure",
	"pkg/provider/config/multi_slb.go":                     "azure",
	"pkg/azclient/auth_conf.go":                            "azure",
	"pkg/azclient/arm_conf.go":                             "azure",
	"pkg/providers/v1/config/config.go":                    "aws",
	"providers/gce/gce.go":                                 "gcp",
	"ibm/ibm.go":                                           "ibm",
	"pkg/provider/config/config.go":                        "nutanix",
}

// normalized is a key in one spelling: vSphere's files have caFile or ca-file.
func normalized(key string) string { return strings.ToLower(spelling.Replace(key)) }

// keys compares the keys of a provider's configuration with those that our package names.
func keys(root, cloud, path string) ([]Row, error) {
	here := map[string]bool{}
	err := walk(filepath.Join(root, "pkg/clouds", cloud), func(_, content string) {
		for _, match := range literal.FindAllStringSubmatch(content, -1) {
			here[normalized(match[1])] = true
		}
	})
	if err != nil {
		return nil, err
	}
	file, files, err := parse(path)
	if err != nil {
		return nil, err
	}
	var rows []Row
	ast.Inspect(file, func(node ast.Node) bool {
		field, ok := node.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		if match := keyTag.FindStringSubmatch(field.Tag.Value); len(match) > 1 && !here[normalized(match[1])] {
			rows = append(rows, Row{"key of " + cloud, "not known", match[1], at(files, field.Pos())})
		}
		return true
	})
	return rows, nil
}

func at(files *token.FileSet, position token.Pos) string {
	place := files.Position(position)
	return fmt.Sprintf("%s:%d", place.Filename, place.Line)
}

// right is the kind of a row about a right that is not granted: Here is the verb, There the resource.
const right = "right not granted"

// helperRoles are the names of our roles that are not a cloud-controller-manager's.
var helperRoles = regexp.MustCompile(`:cloud-controller-manager:(installer|file-syncer|node-manager|preflight)`)

// roleFiles are the manifests of roles that providers ship.
var roleFiles = []string{
	"deploy/packages/default/manifest.yaml",
	"deploy/v2/cloud-controller-manager.yaml",
	"examples/existing-cluster/base/cluster-role.yaml",
	"examples/out-of-tree/cloud-controller-manager.yaml",
	"manifests/controller-manager/cloud-controller-manager-roles.yaml",
	"manifests/rbac.yaml",
}

// rights compares the rights that a provider asks for with those that our payload grants a cloud-controller-manager.
func rights(root, path string) ([]Row, error) {
	granted, err := rulesOf(filepath.Join(root, rightsFile))
	if err != nil {
		return nil, err
	}
	asked, err := rulesOf(path)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for resource, verbs := range asked {
		for _, verb := range verbs {
			if !slices.Contains(granted[resource], verb) {
				rows = append(rows, Row{right, verb, resource, path})
			}
		}
	}
	return rows, nil
}

// rulesOf returns the verbs of each resource in the roles of a file, sorted.
func rulesOf(path string) (map[string][]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	verbs := map[string][]string{}
	for document := range strings.SplitSeq(string(content), "\n---") {
		var roles struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Rules []rbacv1.PolicyRule `json:"rules"`
			Items []struct {
				Rules []rbacv1.PolicyRule `json:"rules"`
			} `json:"items"`
		}
		if err := yaml.Unmarshal([]byte(document), &roles); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if helperRoles.MatchString(roles.Metadata.Name) {
			continue
		}
		rules := roles.Rules
		for _, item := range roles.Items {
			rules = append(rules, item.Rules...)
		}
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					name := strings.TrimSuffix(resource+"."+group, ".")
					verbs[name] = append(verbs[name], rule.Verbs...)
				}
			}
		}
	}
	for name := range verbs {
		slices.Sort(verbs[name])
		verbs[name] = slices.Compact(verbs[name])
	}
	return verbs, nil
}
