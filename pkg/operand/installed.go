package operand

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"
	"sigs.k8s.io/yaml"
)

const (
	// manifestKey is the key of the pod ConfigMap with the static pod.
	manifestKey = "pod.yaml"
	// revisionVariable is the placeholder of the revision in the static pod's label and in the paths of its volumes.
	revisionVariable = "REVISION"
	// ManifestFile is the name of the static pod's manifest on a node.
	ManifestFile = PodConfigMap + ".yaml"
)

// Installed is what the installer writes to a node for a revision.
type Installed struct {
	// Files are the files of the revision's directory, by their paths in it.
	Files    map[string][]byte
	Manifest []byte
}

// Installed returns what the installer writes for a revision. The objects must be the revision's copies and nothing
// else, and a complete candidate.
func (o Objects) Installed(revision int32) (*Installed, error) {
	if err := o.CopiesMatch(revision); err != nil {
		return nil, err
	}
	installed := &Installed{Files: map[string][]byte{}}
	suffix := fmt.Sprintf("-%d", revision)
	for _, object := range o.ConfigMaps {
		name := strings.TrimSuffix(object.Name, suffix)
		for key, text := range object.Data {
			installed.Files[path.Join("configmaps", name, key)] = []byte(text)
		}
		if name == PodConfigMap {
			manifest, err := installedManifest(object, revision)
			if err != nil {
				return nil, err
			}
			installed.Manifest = manifest
		}
	}
	for _, object := range o.Secrets {
		for key, data := range object.Data {
			installed.Files[path.Join("secrets", strings.TrimSuffix(object.Name, suffix), key)] = data
		}
	}
	// For the administrator: it shows the manifest of a revision.
	installed.Files[ManifestFile] = installed.Manifest
	return installed, nil
}

// StaticPodOf returns the static pod in a pod ConfigMap, with the variables that the installer will replace.
func StaticPodOf(podConfigMap *corev1.ConfigMap) (*corev1.Pod, error) {
	text := podConfigMap.Data[manifestKey]
	if known, found := decodedPods.Get(text); found {
		return known.(*corev1.Pod).DeepCopy(), nil
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		return nil, fmt.Errorf("decoding configmap/%s in %s, key %s: %w", podConfigMap.Name, Namespace, manifestKey, err)
	}
	decodedPods.Add(text, pod.DeepCopy())
	return pod, nil
}

// decodedPods caches static pods by their YAML: several controllers decode them on every sync.
var decodedPods = lru.New(16)

func installedManifest(podConfigMap *corev1.ConfigMap, revision int32) ([]byte, error) {
	pod, err := StaticPodOf(podConfigMap)
	if err != nil {
		return nil, err
	}
	number := fmt.Sprint(revision)
	for key, value := range pod.Labels {
		pod.Labels[key] = strings.ReplaceAll(value, revisionVariable, number)
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.HostPath != nil {
			volume.HostPath.Path = strings.ReplaceAll(volume.HostPath.Path, revisionVariable, number)
		}
	}
	return yaml.Marshal(pod)
}
