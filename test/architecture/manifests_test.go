package architecture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	openshiftapi "github.com/openshift/api"
	operatorv1alpha1 "github.com/openshift/api/operator/v1alpha1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// credentialsRequest has the fields of cloudcredential.openshift.io/v1 that we use. Its Go module would add the whole
// operator as a dependency.
type credentialsRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretRef    corev1.ObjectReference `json:"secretRef"`
		ProviderSpec runtime.RawExtension   `json:"providerSpec"`
		// TokenPath and ServiceAccountNames are for federated tokens.
		CloudTokenPath      string   `json:"cloudTokenPath,omitempty"`
		ServiceAccountNames []string `json:"serviceAccountNames,omitempty"`
	} `json:"spec"`
}

// DeepCopyObject is enough for a scheme that only decodes.
func (c *credentialsRequest) DeepCopyObject() runtime.Object { return c }

// cloudControllerManager makes the type a runtime.Object; the operator's own clients are dynamic.
type cloudControllerManager struct {
	operatorv1.CloudControllerManager `json:",inline"`
}

// DeepCopyObject is enough for a scheme that only decodes.
func (c *cloudControllerManager) DeepCopyObject() runtime.Object { return c }

var knownTypes = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(openshiftapi.Install(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(operatorv1.Kind, &cloudControllerManager{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "cloudcredential.openshift.io", Version: "v1", Kind: "CredentialsRequest"}, &credentialsRequest{})
	monitoring := schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}
	scheme.AddKnownTypeWithName(monitoring.WithKind("ServiceMonitor"), &serviceMonitor{})
	scheme.AddKnownTypeWithName(monitoring.WithKind("PrometheusRule"), &prometheusRule{})
	return scheme
}()

// manifest is an object of the repository and the file that holds it.
type manifest struct {
	file   string
	object runtime.Object
}

func (m manifest) meta(t *testing.T) metav1.Object {
	t.Helper()
	object, err := meta.Accessor(m.object)
	require.NoError(t, err, m.file)
	return object
}

// name returns the object's name in messages.
func (m manifest) name(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%s: %s/%s", m.file, m.object.GetObjectKind().GroupVersionKind().Kind, m.meta(t).GetName())
}

// payload returns the objects that the cluster-version-operator applies, in its order.
func payload(t *testing.T) []manifest {
	t.Helper()
	found := objectsIn(t, "manifests")
	require.NotEmpty(t, found)
	return found
}

// deleteAnnotation makes the cluster-version-operator delete an object.
const deleteAnnotation = "release.openshift.io/delete"

// objectsIn decodes every manifest below a directory. It omits fragments of objects, and objects that are deleted.
func objectsIn(t *testing.T, dir string) []manifest {
	t.Helper()
	var found []manifest
	for _, file := range filesUnder(t, dir, ".yaml") {
		if isFragment(file) {
			continue
		}
		for _, m := range decodeFile(t, file) {
			if m.meta(t).GetAnnotations()[deleteAnnotation] == "" {
				found = append(found, m)
			}
		}
	}
	return found
}

// deleted returns the objects that the cluster-version-operator deletes.
func deleted(t *testing.T) []manifest {
	t.Helper()
	var found []manifest
	for _, file := range filesUnder(t, "manifests", ".yaml") {
		for _, m := range decodeFile(t, file) {
			if m.meta(t).GetAnnotations()[deleteAnnotation] != "" {
				found = append(found, m)
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// nodeManagerPatch is a fragment of a DaemonSet; all other patches are for pods.
const nodeManagerPatch = "node-manager-patch.yaml"

// isFragment reports whether a file is merged into an object by rendering.
func isFragment(file string) bool {
	name := path.Base(file)
	return strings.HasSuffix(name, "-patch.yaml") || path.Dir(file) == "bindata/assets/config" || name == "config.yaml" || strings.HasSuffix(name, "-config.yaml") ||
		strings.HasSuffix(name, "-pinned.yaml")
}

func decodeFile(t *testing.T, file string) []manifest {
	t.Helper()
	decoder := serializer.NewCodecFactory(knownTypes, serializer.EnableStrict).UniversalDeserializer()
	var found []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(read(t, file))))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err, file)
		object, _, err := decoder.Decode(document, nil, nil)
		require.NoError(t, err, file)
		found = append(found, manifest{file, object})
	}
}

func TestYAMLDecodesStrictly(t *testing.T) {
	for _, dir := range []string{"manifests", "bindata", "bootstrap"} {
		objectsIn(t, dir)
		for _, file := range filesUnder(t, dir, ".yml") {
			t.Errorf("%s: name it .yaml", file)
		}
		for _, file := range filesUnder(t, dir, ".yaml") {
			if !isFragment(file) {
				continue
			}
			if path.Base(file) == nodeManagerPatch {
				require.NoError(t, yaml.UnmarshalStrict(read(t, file), &appsv1.DaemonSet{}), file)
				continue
			}
			if strings.HasSuffix(file, "-patch.yaml") {
				require.NoError(t, yaml.UnmarshalStrict(withoutDirectives(read(t, file)), &corev1.Pod{}), file)
				continue
			}
			_, err := operandconfig.Decode(read(t, file))
			require.NoError(t, err, file)
		}
	}
}

func TestTheOperatorsConfigurationDecodesStrictly(t *testing.T) {
	for _, m := range payload(t) {
		configMap, ok := m.object.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		require.NoError(t, yaml.UnmarshalStrict([]byte(configMap.Data["config.yaml"]), &operatorv1alpha1.GenericOperatorConfig{}), m.name(t))
	}
}
