package operand

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

const (
	// PreflightName is the name of what a preflight has for itself: its ServiceAccount, its lease, the Secret with the
	// candidate, and the label app of its pod.
	PreflightName = "cloud-controller-manager-preflight"

	// PreflightPod is the name of the pod of a preflight.
	PreflightPod = "preflight"

	// PreflightDigestAnnotation on the Secret and on the pod has the digest of the candidate.
	PreflightDigestAnnotation = "cloud-controller-manager.openshift.io/preflight-digest"

	// PreflightVerdictAnnotation on the Secret has the verdict about the candidate, empty before there is one. The rollout
	// group writes it.
	PreflightVerdictAnnotation = "cloud-controller-manager.openshift.io/preflight-verdict"
)

// PreflightCandidate returns the Secret with the pod and the files of the preflight of a candidate, which Render has
// accepted in the operator's phase. It is nil for a candidate that is too large for one Secret.
func PreflightCandidate(in Inputs) (*corev1.Secret, error) {
	in.Phase = PreflightPhase()
	resources, err := Render(in)
	if err != nil {
		return nil, err
	}
	pod, err := resources.PodYAML()
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: string(Secret)},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: PreflightName},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{manifestKey: pod},
	}
	size := len(pod)
	for _, file := range resources.Files {
		secret.Data[file.Name] = file.Data
		size += len(file.Data)
	}
	if size > customccm.MaxBytes {
		return nil, nil
	}
	secret.Annotations = map[string]string{
		PreflightDigestAnnotation:  digest(nil, []*corev1.Secret{secret}, ""),
		PreflightVerdictAnnotation: "",
	}
	return secret, nil
}

// PreflightPodOf returns the pod of the candidate in the Secret.
func PreflightPodOf(candidate *corev1.Secret) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(candidate.Data[manifestKey], pod); err != nil {
		return nil, fmt.Errorf("decoding secret/%s in %s, key %s: %w", candidate.Name, Namespace, manifestKey, err)
	}
	pod.Annotations[PreflightDigestAnnotation] = candidate.Annotations[PreflightDigestAnnotation]
	return pod, nil
}

// Changes returns the causes of the inputs by which the cloud-controller-manager of a candidate starts with other
// files, another image, arguments or environment than that of the candidate that the objects are. What only the
// file-syncer uses does not count, and neither does the API server's address or CA.
func (r *Resources) Changes(configMaps []*corev1.ConfigMap, secrets []*corev1.Secret) ([]diagnostic.Cause, error) {
	var changed []diagnostic.Cause
	for _, o := range []struct {
		cause diagnostic.Cause
		kind  Kind
		name  string
	}{
		{diagnostic.CloudConfig, ConfigMap, CloudConfigConfigMap},
		{diagnostic.CloudConfig, Secret, CloudConfigSecret},
		{diagnostic.Credentials, Secret, CloudCredentialsSecret},
		{diagnostic.TrustedCA, ConfigMap, TrustedCAConfigMap},
	} {
		if !slices.Contains(changed, o.cause) && !r.delivers(o.kind, o.name, configMaps, secrets) {
			changed = append(changed, o.cause)
		}
	}
	podConfigMap := find(configMaps, func(o *corev1.ConfigMap) bool { return o.Name == PodConfigMap })
	if podConfigMap == nil {
		return append(changed, diagnostic.Configuration), nil
	}
	former, err := StaticPodOf(podConfigMap)
	if err != nil {
		return nil, err
	}
	was, is := operandContainer(former), *operandContainer(r.Pod)
	if was.Image != is.Image {
		changed = append(changed, diagnostic.Image)
	}
	if is.Image = was.Image; !equality.Semantic.DeepEqual(*was, is) ||
		!equality.Semantic.DeepEqual(former.Spec.InitContainers, r.Pod.Spec.InitContainers) {
		changed = append(changed, diagnostic.Configuration)
	}
	return changed, nil
}

// delivers reports whether an object of the candidate has the data of the one that is there.
func (r *Resources) delivers(kind Kind, name string, configMaps []*corev1.ConfigMap, secrets []*corev1.Secret) bool {
	if kind == ConfigMap {
		named := func(o *corev1.ConfigMap) bool { return o.Name == name }
		former := find(configMaps, named)
		return former != nil && maps.Equal(former.Data, find(r.ConfigMaps, named).Data)
	}
	named := func(o *corev1.Secret) bool { return o.Name == name }
	former := find(secrets, named)
	return former != nil && maps.EqualFunc(former.Data, find(r.Secrets, named).Data, bytes.Equal)
}

// find returns the first object that matches, nil if there is none.
func find[T any](objects []*T, matches func(*T) bool) *T {
	if i := slices.IndexFunc(objects, matches); i >= 0 {
		return objects[i]
	}
	return nil
}
