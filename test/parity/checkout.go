package parity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

// predecessors are the platforms of the predecessor.
var predecessors = []struct {
	// name is that of our platform.
	name string
	// dir is the package in pkg/cloud.
	dir string
	// request is the end of the name of the CredentialsRequest's file, kind the lower-case type of the platform.
	request, kind string
}{
	{"aws", "aws", "aws", "aws"},
	{"azure", "azure", "azure", "azure"},
	{"azurestack", "azurestack", "azure", "azure"},
	{"gcp", "gcp", "gcp", "gcp"},
	{"ibmcloud", "ibm", "ibm", "ibmcloud"},
	{"nutanix", "nutanix", "nutanix", "nutanix"},
	{"openstack", "openstack", "openstack", "openstack"},
	{"powervs", "powervs", "powervs", "powervs"},
	{"vsphere", "vsphere", "vsphere", "vsphere"},
}

// The sources of facts that are Go code in the predecessor.
var (
	embedded      = regexp.MustCompile(`EmbedFsPath: "(assets/[^"]+)"`)
	constant      = regexp.MustCompile(`(?m)^\s*(?:const )?(\w+) +=\s+"([^"]*)"$`)
	usedImage     = regexp.MustCompile(`(\w+): +config\.ImagesReference\.(\w+),`)
	imageField    = regexp.MustCompile("(\\w+) +string `json:\"(\\w+)\"`")
	generatedKind = regexp.MustCompile(`Kind: +"(\w+)"`)
	generatedName = regexp.MustCompile(`Sprintf\("(%s-[^"]+)"`)
)

// checkout is a working tree of the predecessor.
type checkout struct {
	root string
	// imageTags are the tags of images by the name of their field in Go.
	imageTags map[string]string
	// requests are permissions by the end of the name of the CredentialsRequest's file.
	requests map[string][]string
	roles    map[string][]rbacv1.PolicyRule
	granted  []rights.Right
}

// ReadCheckout reads the facts about the predecessor from a checkout of it.
func ReadCheckout(root string) (Facts, error) {
	c := &checkout{
		root: root, imageTags: map[string]string{}, requests: map[string][]string{}, roles: map[string][]rbacv1.PolicyRule{},
	}
	facts := Facts{}
	dirs, err := c.platforms()
	if err != nil {
		return nil, err
	}
	if err := c.readManifests(facts); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range predecessors {
		if !dirs[p.dir] {
			continue
		}
		names = append(names, p.name)
		if err := c.readPlatform(facts, p.name, p.dir); err != nil {
			return nil, fmt.Errorf("platform %s: %w", p.name, err)
		}
		for _, permission := range c.requests[p.request] {
			facts.add(p.name, permissionSection, permission, present)
		}
		if err := c.readGenerated(facts, p.name, p.kind); err != nil {
			return nil, err
		}
	}
	facts.addRights(names, c.granted)
	return facts, nil
}

// platforms returns the packages of platforms.
func (c *checkout) platforms() (map[string]bool, error) {
	found, err := filepath.Glob(filepath.Join(c.root, "pkg", "cloud", "*", "assets"))
	if err != nil {
		return nil, fmt.Errorf("listing the platforms: %w", err)
	}
	dirs, known := map[string]bool{}, map[string]bool{}
	for _, p := range predecessors {
		known[p.dir] = true
	}
	for _, assets := range found {
		dir := filepath.Base(filepath.Dir(assets))
		if !known[dir] {
			return nil, fmt.Errorf("pkg/cloud/%s is a platform without an entry in predecessors", dir)
		}
		dirs[dir] = true
	}
	return dirs, nil
}

func (c *checkout) readManifests(facts Facts) error {
	files, err := filepath.Glob(filepath.Join(c.root, "manifests", "*"))
	if err != nil {
		return fmt.Errorf("listing the manifests: %w", err)
	}
	if len(files) == 0 {
		return errors.New("there are no manifests")
	}
	var all []object
	for _, file := range files {
		objects, err := readFiles(file)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := facts.addManifest(o); err != nil {
				return err
			}
			if o.Kind == "CredentialsRequest" {
				if err := c.readRequest(file, o); err != nil {
					return err
				}
			}
			if o.Kind == "ConfigMap" {
				if err := c.readImages(o); err != nil {
					return err
				}
			}
		}
		all = append(all, objects...)
	}
	if err := addRoles(all, c.roles); err != nil {
		return err
	}
	c.granted, err = grant(all, nil, c.roles)
	return err
}

func (c *checkout) readRequest(file string, o object) error {
	_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_credentialsrequest-")
	for _, p := range predecessors {
		if p.request == name {
			permissions, err := o.permissions()
			c.requests[name] = permissions
			return err
		}
	}
	return fmt.Errorf("%s is of a platform without an entry in predecessors", filepath.Base(file))
}

// readImages reads the tags of images from the ConfigMap for the operator, by the fields that pkg/config decodes.
func (c *checkout) readImages(o object) error {
	var images corev1.ConfigMap
	if err := o.into(&images); err != nil {
		return err
	}
	var byKey map[string]string
	if err := json.Unmarshal([]byte(images.Data["images.json"]), &byKey); err != nil {
		return fmt.Errorf("decoding the images of %s: %w", o, err)
	}
	source, err := os.ReadFile(filepath.Join(c.root, "pkg", "config", "config.go"))
	if err != nil {
		return fmt.Errorf("reading the fields of images: %w", err)
	}
	for _, field := range imageField.FindAllStringSubmatch(string(source), -1) {
		c.imageTags[field[1]] = strings.TrimPrefix(imageTag(byKey[field[2]]), "origin-")
	}
	return nil
}

// readPlatform reads the assets that a platform's package renders.
func (c *checkout) readPlatform(facts Facts, name, dir string) error {
	folder := filepath.Join(c.root, "pkg", "cloud", dir)
	source, err := os.ReadFile(filepath.Join(folder, dir+".go"))
	if err != nil {
		return fmt.Errorf("reading the templates: %w", err)
	}
	values := c.values(string(source))
	var all []object
	for _, path := range embedded.FindAllStringSubmatch(string(source), -1) {
		objects, err := renderAsset(filepath.Join(folder, path[1]), values)
		if err != nil {
			return err
		}
		all = append(all, objects...)
	}
	for _, o := range all {
		facts.add(name, objectSection, o.String(), present)
		if o.Kind == "Deployment" || o.Kind == "DaemonSet" {
			if err := facts.addDeployed(name, o); err != nil {
				return err
			}
		}
	}
	if err := addRoles(all, c.roles); err != nil {
		return err
	}
	granted, err := grant(all, []string{name}, c.roles)
	c.granted = append(c.granted, granted...)
	return err
}

// values are those of templates. What depends on the cluster is as in the golden files of pkg/operand.
func (c *checkout) values(source string) map[string]any {
	constants, images := map[string]string{}, map[string]string{}
	for _, found := range constant.FindAllStringSubmatch(source, -1) {
		constants[found[1]] = found[2]
	}
	for _, used := range usedImage.FindAllStringSubmatch(source, -1) {
		images[used[1]] = c.imageTags[used[2]]
	}
	return map[string]any{
		"images":                     images,
		"cloudproviderName":          "platform",
		"infrastructureName":         "demo-x7k2p",
		"tlsCipherSuites":            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"tlsMinVersion":              "VersionTLS12",
		"featureGates":               "(gates-that-are-on)",
		"globalCredsSecretNamespace": "openshift-cloud-controller-manager",
		"globalCredsSecretName":      constants["globalCredsSecretName"],
		// With the feature gate VSphereMixedNodeEnv.
		"additionalLabels": constants["vSpherePlatformTypeLabel"],
		// The code of IBM Cloud knows no case in which this is true.
		"enablePublicEndpoint": "false",
	}
}

func renderAsset(file string, values map[string]any) ([]object, error) {
	parsed, err := template.ParseFiles(file)
	if err != nil {
		return nil, fmt.Errorf("parsing an asset: %w", err)
	}
	var rendered bytes.Buffer
	if err := parsed.Option("missingkey=error").Execute(&rendered, values); err != nil {
		return nil, fmt.Errorf("rendering an asset: %w", err)
	}
	objects, err := decode(rendered.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return objects, nil
}

// readGenerated reads what the predecessor's code writes for each platform.
func (c *checkout) readGenerated(facts Facts, name, kind string) error {
	source, err := os.ReadFile(filepath.Join(c.root, "pkg", "cloud", "common", "resources.go"))
	if err != nil {
		return fmt.Errorf("reading what is common to the platforms: %w", err)
	}
	const in = " in openshift-cloud-controller-manager"
	names := generatedName.FindAllStringSubmatch(string(source), -1)
	for i, generated := range generatedKind.FindAllStringSubmatch(string(source), -1) {
		if i >= len(names) {
			return fmt.Errorf("pkg/cloud/common/resources.go: %s has no name", generated[1])
		}
		facts.add(name, objectSection, generated[1]+"/"+fmt.Sprintf(names[i][1], kind)+in, present)
	}
	for file, constantName := range map[string]string{
		"common_consts.go": "syncedCloudConfigMapName", "trusted_ca_bundle_controller.go": "trustedCAConfigMapName",
	} {
		source, err := os.ReadFile(filepath.Join(c.root, "pkg", "controllers", file))
		if err != nil {
			return fmt.Errorf("reading the names of ConfigMaps: %w", err)
		}
		found := false
		for _, value := range constant.FindAllStringSubmatch(string(source), -1) {
			if value[1] == constantName {
				found = true
				facts.add(name, objectSection, "ConfigMap/"+value[2]+in, present)
			}
		}
		if !found {
			return fmt.Errorf("pkg/controllers/%s has no constant %s", file, constantName)
		}
	}
	source, err = os.ReadFile(filepath.Join(c.root, "pkg", "cloud", "common", "substitution.go"))
	if err != nil {
		return fmt.Errorf("reading the substitutions: %w", err)
	}
	if strings.Contains(string(source), proxySuffix+`"`) {
		facts.add(name, environmentSection, proxyItem, proxyValue)
		if facts[name][nodeManager+podSection] != nil {
			facts.add(name, nodeManager+environmentSection, proxyItem, proxyValue)
		}
	}
	return nil
}
