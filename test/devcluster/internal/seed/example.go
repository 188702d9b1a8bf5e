package seed

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// Example is an installation on a platform with a cloud: everything that the operator reads, with the values of a
// stand-in for the cloud or, where there is none, with fake ones.
type Example struct {
	// Spec and Status are Infrastructure's platformSpec and platformStatus.
	Spec   configv1.PlatformSpec
	Status configv1.PlatformStatus
	// CloudConfig is the data of the ConfigMap with the cloud configuration; nil where there is none.
	CloudConfig map[string]string
	// TrustedCA is the bundle that Proxy names, in PEM; empty where it names none.
	TrustedCA string
	// Credentials is the data of the credentials Secret; nil where there is none.
	Credentials map[string][]byte
	// Custom is spec.custom of the operator's resource; nil where it is not set.
	Custom *ccmv1.CustomCloudControllerManager
	// Rules are what the administrator permits a custom cloud-controller-manager beyond what all need.
	Rules []rbacv1.PolicyRule
}

// The files of an example, which are those that the operator's own rendering is tested with.
const (
	observedFile      = "observed.yaml"
	cloudConfigFile   = "cloud.conf"
	credentialsFolder = "credentials"
	endpointsFile     = "endpoints"
)

// ReadExample reads the example in a directory.
func ReadExample(folder string) (*Example, error) {
	content, err := os.ReadFile(filepath.Join(folder, observedFile))
	if err != nil {
		return nil, fmt.Errorf("example: %w", err)
	}
	observed, err := operandconfig.Decode(content)
	if err != nil {
		return nil, fmt.Errorf("example %s: %w", filepath.Join(folder, observedFile), err)
	}
	example := &Example{Spec: observed.Cluster.Spec, Status: observed.Cluster.Status, Custom: observed.Custom}
	for file, key := range map[string]string{cloudConfigFile: CloudConfigKey, endpointsFile: endpointsFile} {
		content, err := os.ReadFile(filepath.Join(folder, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("example: %w", err)
		}
		if example.CloudConfig == nil {
			example.CloudConfig = map[string]string{}
		}
		example.CloudConfig[key] = string(content)
	}
	example.Credentials, err = readFolder(filepath.Join(folder, credentialsFolder))
	return example, err
}

// readFolder returns the content of every file by name; nil for a directory that does not exist.
func readFolder(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("example: %w", err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			return nil, fmt.Errorf("example: %w", err)
		}
	}
	return files, nil
}

// cloudConfigMap is the ConfigMap that Infrastructure or spec.custom names.
func (e *Example) cloudConfigMap() *corev1.ConfigMap {
	if e.Custom == nil || e.Custom.CloudConfig.Name == "" {
		return cloudConfigMap(e.CloudConfig)
	}
	data := maps.Clone(e.CloudConfig)
	delete(data, CloudConfigKey)
	data[cmp.Or(ptr.Deref(e.Custom.CloudConfig.Key, ""), CloudConfigKey)] = e.CloudConfig[CloudConfigKey]
	named := cloudConfigMap(data)
	named.Name = e.Custom.CloudConfig.Name
	return named
}

// Role returns a ClusterRole with the Rules, and the binding of the operand's ServiceAccount, as docs/external.md has
// them.
func (e *Example) Role() (*rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding) {
	const name, version = "acme-ccm", "rbac.authorization.k8s.io/v1"
	meta := metav1.ObjectMeta{Name: name}
	return &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRole"}, ObjectMeta: meta,
			Rules: e.Rules},
		&rbacv1.ClusterRoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRoleBinding"},
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: TargetNamespace,
				Name: "cloud-controller-manager"}}}
}

// Secret returns a Secret in the namespace that the payload makes.
func Secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: TargetNamespace, Name: name},
		Data:       data,
		Type:       corev1.SecretTypeOpaque,
	}
}
