package operand

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// Objects are objects of the operand's namespace: the last candidate, and the revisions.
type Objects struct {
	ConfigMaps []*corev1.ConfigMap
	Secrets    []*corev1.Secret
}

// ConfigMap returns a ConfigMap, nil if it does not exist.
func (o Objects) ConfigMap(name string) *corev1.ConfigMap { return find(o.ConfigMaps, name) }

// Secret returns a Secret, nil if it does not exist.
func (o Objects) Secret(name string) *corev1.Secret { return find(o.Secrets, name) }

func find[T interface{ GetName() string }](objects []T, name string) (found T) {
	if i := slices.IndexFunc(objects, func(o T) bool { return o.GetName() == name }); i >= 0 {
		return objects[i]
	}
	return found
}

// Candidate stands for the last candidate, which has no number yet, in parameters for a revision.
const Candidate = 0

// Changes returns the digests in which the start of a revision differs from the former one. There are none if the
// former revision was pruned, because the operator cannot go back to it.
func (o Objects) Changes(revision, former int32) StartDigests {
	before := o.StartDigests(former)
	if len(before) == 0 {
		return nil
	}
	return o.StartDigests(revision).Changed(before)
}

// digestKey is the key of the pod ConfigMap with the digest of the whole candidate.
const digestKey = "digest"

func (r *Resources) withObjects(in Inputs, files []deliveredFile) (*Resources, error) {
	installedPod, err := r.installedPod()
	if err != nil {
		return nil, err
	}
	for _, name := range DeliveredBy(ConfigMap, Revisioned) {
		if name != PodConfigMap {
			r.ConfigMaps = append(r.ConfigMaps, newConfigMap(name, files))
		}
	}
	for _, name := range DeliveredBy(Secret, Revisioned) {
		r.Secrets = append(r.Secrets, newSecret(name, dataOf(Secret, name, files)))
	}
	podConfigMap := newConfigMap(PodConfigMap, nil)
	// Strings can be encoded.
	tokens, _ := json.Marshal(r.Tokens)
	kept, _ := json.Marshal(r.Kept)
	// library-go merges annotations: an omitted one would keep the value of an earlier candidate.
	podConfigMap.Annotations = map[string]string{
		AcceptedInputAnnotation:      InputDigest(in),
		customccm.ReloadedAnnotation: customccm.AnnotationOf(in.Custom.Reloaded),
		keptAnnotation:               string(kept),
		TokensAnnotation:             string(tokens),
		credentialsAnnotation:        usedCredentials(in),
		RenderedByAnnotation:         in.renderedBy(),
	}
	podConfigMap.Data[manifestKey] = string(installedPod)
	podConfigMap.Data["forceRedeploymentReason"] = in.ForceRedeploymentReason
	r.ConfigMaps = append(r.ConfigMaps, podConfigMap)

	r.Digest = digestOf(r.ConfigMaps, r.Secrets, "")
	podConfigMap.Data[digestKey] = r.Digest
	return r, nil
}

func newConfigMap(name string, files []deliveredFile) *corev1.ConfigMap {
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: string(ConfigMap)},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Data:       map[string]string{},
	}
	for key, data := range dataOf(ConfigMap, name, files) {
		object.Data[key] = string(data)
	}
	return object
}

func newSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: string(Secret)},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}

func dataOf(kind Kind, object string, files []deliveredFile) map[string][]byte {
	data := map[string][]byte{}
	for _, f := range files {
		if f.kind == kind && f.object == object {
			data[f.key] = f.data
		}
	}
	return data
}

// installedPod returns the pod as JSON for the installer, and for library-go's missing-static-pod controller.
func (r *Resources) installedPod() ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Pod)
	if err != nil {
		return nil, fmt.Errorf("writing pod.yaml: %w", err)
	}
	delete(object, "status")
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(object); err != nil {
		return nil, fmt.Errorf("writing pod.yaml: %w", err)
	}
	return data.Bytes(), nil
}

// PodYAML returns the static pod as YAML.
func (r *Resources) PodYAML() ([]byte, error) {
	data, err := r.installedPod()
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(data)
}

// InputDigest returns the digest of the cloud configuration. A likely mistake is rejected only in a changed
// configuration, and equal bytes are not a change, even after a restart or an upgrade.
func InputDigest(in Inputs) string {
	if former := cmp.Or(in.delivered, in.configured); former != nil {
		return former.inputDigest
	}
	return digest.Of(in.CloudConfig.Data)
}

// CredentialsDigest returns the digest of the credentials.
func CredentialsDigest(in Inputs) string {
	return digestOf(nil, []*corev1.Secret{{Data: in.Credentials.Data}}, "")
}

func usedCredentials(in Inputs) string {
	if in.delivered == nil && len(in.Credentials.Data) == 0 {
		return ""
	}
	return in.Credentials.Source
}

// UsesCredentials reports whether a candidate was accepted with keys of the Secret source. podConfigMap may be nil.
func UsesCredentials(podConfigMap *corev1.ConfigMap, source string) bool {
	return podConfigMap != nil && podConfigMap.Annotations[credentialsAnnotation] == source
}

// CopiesMatch returns an error unless the objects of a revision, or of the Candidate, are complete: they must match the
// digest in their pod ConfigMap.
func (o Objects) CopiesMatch(revision int32) error {
	suffix := suffixOf(revision)
	configMaps, err := pick(ConfigMap, o.ConfigMap, suffix)
	if err != nil {
		return err
	}
	secrets, err := pick(Secret, o.Secret, suffix)
	if err != nil {
		return err
	}
	// The pod ConfigMap is the first of Delivered.
	stated := configMaps[0].Data[digestKey]
	if actual := digestOf(configMaps, secrets, suffix); actual != stated {
		return fmt.Errorf("the objects have digest %q, but configmap/%s has %q: the candidate is not fully applied",
			actual, PodConfigMap+suffix, stated)
	}
	return nil
}

func suffixOf(revision int32) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", revision)
}

// NameIn returns the name of an object in a revision, or in the candidate for revision 0.
func NameIn(name string, revision int32) string { return name + suffixOf(revision) }

// DigestOf returns the digest of the candidate or revision of a pod ConfigMap.
func DigestOf(podConfigMap *corev1.ConfigMap) string { return podConfigMap.Data[digestKey] }

// TokensOf returns the federated tokens that the candidate of a pod ConfigMap needs.
func TokensOf(podConfigMap *corev1.ConfigMap) ([]clouds.Token, error) {
	if podConfigMap == nil {
		return nil, nil
	}
	var tokens []clouds.Token
	if text := podConfigMap.Annotations[TokensAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &tokens); err != nil {
			return nil, fmt.Errorf("annotation %s of configmap/%s in %s: %w", TokensAnnotation, podConfigMap.Name,
				podConfigMap.Namespace, err)
		}
	}
	return tokens, nil
}

func pick[T any](kind Kind, get func(name string) *T, suffix string) ([]*T, error) {
	var picked []*T
	for _, name := range DeliveredBy(kind, Revisioned) {
		object := get(name + suffix)
		if object == nil {
			return nil, fmt.Errorf("%s/%s in %s does not exist: the candidate is not fully applied",
				strings.ToLower(string(kind)), name+suffix, Namespace)
		}
		picked = append(picked, object)
	}
	return picked, nil
}

// digestOf returns the digest of the kind, name and data of every object, independent of their order. It excludes the
// suffix of a name, and the digest in the pod ConfigMap.
func digestOf(configMaps []*corev1.ConfigMap, secrets []*corev1.Secret, suffix string) string {
	var lines []string
	add := func(kind Kind, name, key string, data []byte) {
		if name = strings.TrimSuffix(name, suffix); name == PodConfigMap && key == digestKey {
			return
		}
		lines = append(lines, fmt.Sprintf("%s/%s/%s %s\n", kind, name, key, digest.Hex(data)))
	}
	for _, o := range configMaps {
		for key, value := range o.Data {
			add(ConfigMap, o.Name, key, []byte(value))
		}
	}
	for _, o := range secrets {
		for key, value := range o.Data {
			add(Secret, o.Name, key, value)
		}
	}
	slices.Sort(lines)
	return digest.Of(strings.Join(lines, ""))
}
