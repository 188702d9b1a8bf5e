package operand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/lru"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
)

// The placeholders for images in the assets.
const (
	operandImage  = "operand"
	operatorImage = "operator"
)

// basePods caches the pods of the assets, by platform and phase.
var basePods = lru.New(16)

func basePod(in Inputs) (*corev1.Pod, error) {
	key := in.Platform.Name + "/" + in.Phase.Name
	if known, found := basePods.Get(key); found {
		return known.(*corev1.Pod).DeepCopy(), nil
	}
	pod := &corev1.Pod{}
	err := merge("pod", pod, bindata.MustRead("assets/pod/pod.yaml"), platformAsset(in.Platform.Name, "pod-patch.yaml"),
		in.Phase.PodPatch, platformAsset(in.Platform.Name, in.Phase.Name+"-patch.yaml"))
	if err != nil {
		return nil, err
	}
	basePods.Add(key, pod.DeepCopy())
	return pod, nil
}

func containersWith(pod *corev1.Pod, image string) []string {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Image == image {
			names = append(names, c.Name)
		}
	}
	return names
}

func buildPod(in Inputs, pod *corev1.Pod, c *config, files []deliveredFile) (*corev1.Pod, error) {
	if err := setImages(pod, in.Images); err != nil {
		return nil, err
	}
	container := operandContainer(pod)
	container.Args = arguments(c)
	customCCM(in, c).Overlay(container)
	for _, variable := range proxyEnv(c) {
		// spec.custom takes precedence.
		if !slices.ContainsFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == variable.Name }) {
			container.Env = append(container.Env, variable)
		}
	}
	if in.Phase.Files != nil {
		in.Phase.Files.mount(pod, container, files)
	}
	for i := range pod.Spec.InitContainers {
		init := &pod.Spec.InitContainers[i]
		init.VolumeMounts = append(init.VolumeMounts, mountsNamedBy(init, container.VolumeMounts)...)
	}
	if in.Former != nil && in.Former.Flags {
		return in.Former.instead(in, c, pod)
	}
	return pod, nil
}

// operandContainer returns the container of the cloud-controller-manager, nil if a person removed it.
func operandContainer(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == Name {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

// mountsNamedBy returns the operand's mounts that appear in an init container's arguments. Such a container prepares
// files for the operand, and gets only the mounts that it needs.
func mountsNamedBy(init *corev1.Container, mounts []corev1.VolumeMount) []corev1.VolumeMount {
	var named []corev1.VolumeMount
	for _, mount := range mounts {
		if slices.ContainsFunc(init.Args, func(arg string) bool {
			_, file, found := strings.Cut(arg, mount.MountPath)
			return found && (file == "" || file[0] == '/')
		}) {
			named = append(named, mount)
		}
	}
	return named
}

func proxyEnv(c *config) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(c.Proxy)) {
		env = append(env, corev1.EnvVar{Name: name, Value: c.Proxy[name]})
	}
	return env
}

// merge applies strategic merge patches in order and decodes the result into the empty object into. It decodes
// strictly, so that a misspelled field of a patch is an error.
func merge(what string, into any, base []byte, patches ...[]byte) error {
	merged, err := yaml.YAMLToJSONStrict(base)
	if err != nil {
		return fmt.Errorf("the base %s: %w", what, err)
	}
	for _, patch := range patches {
		if len(patch) == 0 {
			continue
		}
		patchJSON, err := yaml.YAMLToJSONStrict(patch)
		if err != nil {
			return fmt.Errorf("a patch of the %s: %w", what, err)
		}
		if merged, err = strategicpatch.StrategicMergePatch(merged, patchJSON, into); err != nil {
			return fmt.Errorf("patching the %s: %w", what, err)
		}
	}
	if err := yaml.UnmarshalStrict(merged, into); err != nil {
		return fmt.Errorf("the patched %s: %w", what, err)
	}
	return nil
}

func setImages(pod *corev1.Pod, images Images) error {
	specs := map[string]string{operandImage: images.Operand, operatorImage: images.Operator}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			spec, known := specs[containers[i].Image]
			if !known {
				return fmt.Errorf("container %s has image %q, which is neither operand nor operator",
					containers[i].Name, containers[i].Image)
			}
			containers[i].Image = spec
		}
	}
	return nil
}

// arguments returns the operand's flags, sorted, so that equal configurations produce equal bytes.
func arguments(c *config) []string {
	flags := map[string][]string{}
	for name, values := range c.ExtendedArguments {
		flags[name] = values
	}
	if c.ServingInfo.MinTLSVersion != "" {
		flags["tls-min-version"] = []string{c.ServingInfo.MinTLSVersion}
	}
	// Go does not support a choice of cipher suites for TLS 1.3, and the flag rejects an empty list.
	if len(c.ServingInfo.CipherSuites) > 0 && c.ServingInfo.MinTLSVersion != "VersionTLS13" {
		flags["tls-cipher-suites"] = c.ServingInfo.CipherSuites
	}
	if c.CurvePreferences {
		flags["tls-curve-preferences"] = c.ServingInfo.CurvePreferences
	}
	if _, overridden := flags["feature-gates"]; !overridden {
		flags["feature-gates"] = enabledGates(c)
	}
	for gate, gated := range c.GatedArguments {
		if slices.Contains(c.Cluster.FeatureGates, gate) {
			maps.Copy(flags, gated)
		}
	}
	for _, name := range c.WithoutArguments {
		delete(flags, name)
	}
	args := make([]string, 0, len(flags))
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if len(flags[name]) > 0 {
			args = append(args, "--"+name+"="+strings.Join(flags[name], ","))
		}
	}
	return args
}

// enabledGates returns the enabled feature gates that the platform's cloud-controller-manager knows. Disabled gates are
// omitted, because that is their default.
func enabledGates(c *config) []string {
	var gates []string
	for _, gate := range c.FeatureGates {
		if slices.Contains(c.Cluster.FeatureGates, gate) {
			gates = append(gates, gate+"=true")
		}
	}
	return gates
}
