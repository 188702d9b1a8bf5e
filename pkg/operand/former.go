package operand

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// Former is the static pod of the former candidate. Parts of it replace what was rejected.
type Former struct {
	pod        *corev1.Pod
	renderedBy string

	// Image reports whether its image is used. Flags reports whether everything else of it is used: the flags of another
	// version may need other mounts.
	Image, Flags bool
}

// FormerOf returns the static pod of a pod ConfigMap. The caller sets Image and Flags.
func FormerOf(podConfigMap *corev1.ConfigMap) (*Former, error) {
	pod, err := StaticPodOf(podConfigMap)
	if err != nil {
		return nil, err
	}
	if operandContainer(pod) == nil {
		return nil, fmt.Errorf("configmap/%s in %s, key %s: no container %s", podConfigMap.Name, Namespace, manifestKey, Name)
	}
	return &Former{pod: pod, renderedBy: podConfigMap.Annotations[RenderedByAnnotation]}, nil
}

// instead returns the pod that replaces the rendered one, with the rendered image. A preflight keeps its own volumes,
// what its phase pins, and the platform's changes in this phase.
func (f *Former) instead(in Inputs, c *config, rendered *corev1.Pod) (*corev1.Pod, error) {
	container, former := operandContainer(rendered), operandContainer(f.pod)
	if in.Phase.Files != nil {
		pinned, err := operandconfig.Decode(c.pinned)
		if err != nil {
			return nil, fmt.Errorf("decoding what phase %s pins: %w", in.Phase.Name, err)
		}
		container.Args = withPinned(former.Args, container.Args, pinned.ExtendedArguments)
		container.Command, container.Env = former.Command, former.Env
		return inPhase(in, rendered)
	}
	pod := f.pod.DeepCopy()
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if containers[i].Image == former.Image {
				containers[i].Image = container.Image
			}
		}
	}
	return pod, nil
}

func inPhase(in Inputs, pod *corev1.Pod) (*corev1.Pod, error) {
	base, err := yaml.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("encoding the pod of phase %s: %w", in.Phase.Name, err)
	}
	patched := &corev1.Pod{}
	return patched, merge("pod", patched, base, in.Phase.PodPatch,
		platformAsset(in.Platform.Name, in.Phase.Name+"-patch.yaml"))
}

// withPinned returns the former arguments, but the pinned flags from the rendered ones, sorted like rendered arguments:
// two preflights that differ only in the former's pinned flags are equal.
func withPinned(former, rendered []string, pinned map[string][]string) []string {
	nameOf := func(arg string) string {
		name, _ := customccm.FlagOf(arg)
		return name
	}
	isPinned := func(arg string) bool { return pinned[nameOf(arg)] != nil }
	isOther := func(arg string) bool { return !isPinned(arg) }
	args := slices.Concat(slices.DeleteFunc(slices.Clone(former), isPinned),
		slices.DeleteFunc(slices.Clone(rendered), isOther))
	slices.SortStableFunc(args, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return args
}

// renderedBy returns the value of RenderedByAnnotation. A candidate with a former image or former flags keeps the
// former value, because an upgrade to this operator's version has not completed.
func (in Inputs) renderedBy() string {
	if in.Former != nil {
		return in.Former.renderedBy
	}
	return RenderedBy(in.Version, in.Images.Operator)
}
