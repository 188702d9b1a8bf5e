package seed

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// definitionFiles are the CustomResourceDefinitions of config.openshift.io that the operator or its seeds use, in their
// default variants, and that of the security context constraints, which no admission obeys here. The last three are not
// among the payload manifests of openshift/api.
var definitionFiles = []string{
	"payload-manifests/crds/0000_03_config-operator_01_proxies.crd.yaml",
	"payload-manifests/crds/0000_10_config-operator_01_apiservers-Default.crd.yaml",
	"payload-manifests/crds/0000_10_config-operator_01_featuregates.crd.yaml",
	"payload-manifests/crds/0000_10_config-operator_01_infrastructures-Default.crd.yaml",
	"payload-manifests/crds/0000_10_config-operator_01_networks-Default.crd.yaml",
	"config/v1/zz_generated.crd-manifests/0000_00_cluster-version-operator_01_clusteroperators.crd.yaml",
	"config/v1/zz_generated.crd-manifests/0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml",
	"security/v1/zz_generated.crd-manifests/0000_03_config-operator_01_securitycontextconstraints.crd.yaml",
}

//go:embed credentialsrequests.yaml
var credentialsRequests []byte

//go:embed monitoring.yaml
var monitoring []byte

// Definitions reads the CustomResourceDefinitions from the openshift/api module that the Go module in moduleDir
// requires, and adds those of CredentialsRequest and of cluster monitoring.
func Definitions(ctx context.Context, moduleDir string) ([]*unstructured.Unstructured, error) {
	const module = "github.com/openshift/api"
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = moduleDir
	command.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("find module %s: %w: %s", module, err, strings.TrimSpace(stderr.String()))
	}
	root := strings.TrimSpace(string(out))
	if root == "" {
		return nil, fmt.Errorf("module %s is not in the module cache: run \"go mod download\" in %s", module, moduleDir)
	}
	var definitions []*unstructured.Unstructured
	var errs []error
	for _, file := range definitionFiles {
		definition, err := readDefinition(filepath.Join(root, file))
		errs = append(errs, err)
		definitions = append(definitions, definition)
	}
	requests, err := parseDefinition("credentialsrequests.yaml", credentialsRequests)
	definitions, errs = append(definitions, requests), append(errs, err)
	for document := range bytes.SplitSeq(monitoring, []byte("\n---\n")) {
		definition, err := parseDefinition("monitoring.yaml", document)
		definitions, errs = append(definitions, definition), append(errs, err)
	}
	return definitions, errors.Join(errs...)
}

func readDefinition(path string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	return parseDefinition(path, content)
}

func parseDefinition(path string, content []byte) (*unstructured.Unstructured, error) {
	definition := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(content, &definition.Object); err != nil {
		return nil, fmt.Errorf("definition %s: %w", path, err)
	}
	return definition, nil
}
