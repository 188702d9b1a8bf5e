package payload

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
)

// Drift returns what the cluster-version-operator would write at its next sync, one line per object, although nobody
// has changed the applied manifests. It does so if a manifest omits what the API server defaults and the
// cluster-version-operator does not.
//
// The rules are those of its lib/resourcemerge for kinds with a typed builder. For any other kind it compares
// everything but metadata and status (pkg/cvo/internal/generic.go).
func Drift(ctx context.Context, client *objects.Client, manifests []Manifest) ([]string, error) {
	var drift []string
	for _, manifest := range manifests {
		if manifest.Deleted() || manifest.Object.GetAnnotations()[createOnlyAnnotation] == "true" {
			continue
		}
		resource, err := client.Resource(manifest.Object)
		if err != nil {
			return nil, fmt.Errorf("payload: %s: %w", manifest, err)
		}
		live, err := resource.Get(ctx, manifest.Object.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("payload: %s: %w", manifest, err)
		}
		fields, err := drifted(manifest.Object, live)
		if err != nil {
			return nil, fmt.Errorf("payload: %s: %w", manifest, err)
		}
		if len(fields) > 0 {
			drift = append(drift, fmt.Sprintf("%s: %s", manifest, strings.Join(fields, ", ")))
		}
	}
	return drift, nil
}

// drifted returns the fields that the cluster-version-operator would write.
func drifted(required, live *unstructured.Unstructured) ([]string, error) {
	switch required.GetKind() {
	case "ClusterOperator": // it only creates one
		return nil, nil
	case "Namespace", "ServiceAccount":
		return metadataDrift(required, live), nil
	case "ConfigMap":
		return append(metadataDrift(required, live), subsetDrift("data", required, live)...), nil
	case "ClusterRole", "Role":
		return append(metadataDrift(required, live), wholeDrift(required, live, "rules", "aggregationRule")...), nil
	case "ClusterRoleBinding", "RoleBinding":
		return append(metadataDrift(required, live), wholeDrift(required, live, "subjects", "roleRef")...), nil
	case "CustomResourceDefinition":
		// The decoder of the cluster-version-operator defaults this one.
		required = required.DeepCopy()
		if _, set, _ := unstructured.NestedMap(required.Object, "spec", "conversion"); !set {
			_ = unstructured.SetNestedField(required.Object, "None", "spec", "conversion", "strategy")
		}
		return append(metadataDrift(required, live), wholeDrift(required, live, "spec")...), nil
	case "Service":
		return serviceDrift(required, live)
	case "Deployment":
		return deploymentDrift(required, live)
	}
	return wholeDrift(required, live, slices.Sorted(maps.Keys(required.Object))...), nil
}

// metadataDrift compares the labels and annotations of the manifest. Others may be added to the object.
func metadataDrift(required, live *unstructured.Unstructured) []string {
	return append(subsetDrift("metadata.labels", required, live), subsetDrift("metadata.annotations", required, live)...)
}

func subsetDrift(field string, required, live *unstructured.Unstructured) []string {
	wanted, _, _ := unstructured.NestedStringMap(required.Object, strings.Split(field, ".")...)
	existing, _, _ := unstructured.NestedStringMap(live.Object, strings.Split(field, ".")...)
	var fields []string
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if value, exists := existing[key]; !exists || value != wanted[key] {
			fields = append(fields, field+"["+key+"]")
		}
	}
	return fields
}

// wholeDrift compares fields with everything below them.
func wholeDrift(required, live *unstructured.Unstructured, fields ...string) []string {
	var different []string
	for _, field := range fields {
		if slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field) {
			continue
		}
		if !equality.Semantic.DeepEqual(normalized(required.Object[field]), normalized(live.Object[field])) {
			different = append(different, field)
		}
	}
	return different
}

// normalized returns a value with the number types of encoding/json.
func normalized(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return value
	}
	return decoded
}

// decodeBoth decodes the manifest and the object into their type.
func decodeBoth[T any](required, live *unstructured.Unstructured) (wanted, existing T, err error) {
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(normalized(required.Object).(map[string]any),
		&wanted); err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(normalized(live.Object).(map[string]any), &existing)
	}
	return wanted, existing, err
}

func serviceDrift(required, live *unstructured.Unstructured) ([]string, error) {
	wanted, existing, err := decodeBoth[corev1.Service](required, live)
	if err != nil {
		return nil, err
	}
	for i := range wanted.Spec.Ports {
		port := &wanted.Spec.Ports[i]
		setDefault(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort.String() == "" || port.TargetPort.IntValue() == 0 && port.TargetPort.StrVal == "" {
			port.TargetPort.IntVal = port.Port
		}
	}
	setDefault(&wanted.Spec.Type, corev1.ServiceTypeClusterIP)
	return append(metadataDrift(required, live), differing([]part{
		{"spec.ports", wanted.Spec.Ports, existing.Spec.Ports},
		{"spec.type", wanted.Spec.Type, existing.Spec.Type},
		{"spec.selector", wanted.Spec.Selector, existing.Spec.Selector},
	})...), nil
}

func deploymentDrift(required, live *unstructured.Unstructured) ([]string, error) {
	wanted, existing, err := decodeBoth[appsv1.Deployment](required, live)
	if err != nil {
		return nil, err
	}
	pod, livePod := &wanted.Spec.Template.Spec, &existing.Spec.Template.Spec
	if wanted.Spec.Replicas == nil {
		wanted.Spec.Replicas = ptr.To(int32(1))
	}
	if pod.TerminationGracePeriodSeconds == nil {
		pod.TerminationGracePeriodSeconds = ptr.To(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	setDefault(&pod.DNSPolicy, corev1.DNSClusterFirst)
	for i := range pod.Volumes {
		setVolumeDefaults(&pod.Volumes[i])
	}
	parts := []part{
		{"spec.replicas", wanted.Spec.Replicas, existing.Spec.Replicas},
		{"spec.selector", wanted.Spec.Selector, existing.Spec.Selector},
		{"spec.paused", wanted.Spec.Paused, existing.Spec.Paused},
		{"spec.minReadySeconds", wanted.Spec.MinReadySeconds, existing.Spec.MinReadySeconds},
		{"spec.strategy", wanted.Spec.Strategy, existing.Spec.Strategy},
		{"spec.template.metadata.labels", wanted.Spec.Template.Labels, existing.Spec.Template.Labels},
		{"spec.template.metadata.annotations", wanted.Spec.Template.Annotations, existing.Spec.Template.Annotations},
		{"volumes", pod.Volumes, livePod.Volumes},
		{"automountServiceAccountToken", pod.AutomountServiceAccountToken, livePod.AutomountServiceAccountToken},
		{"serviceAccountName", pod.ServiceAccountName, livePod.ServiceAccountName},
		{"hostNetwork", pod.HostNetwork, livePod.HostNetwork},
		{"hostUsers", pod.HostUsers, livePod.HostUsers},
		{"nodeSelector", pod.NodeSelector, livePod.NodeSelector},
		{"securityContext", pod.SecurityContext, livePod.SecurityContext},
		{"affinity", pod.Affinity, livePod.Affinity},
		{"tolerations", pod.Tolerations, livePod.Tolerations},
		{"priorityClassName", pod.PriorityClassName, livePod.PriorityClassName},
		{"priority", pod.Priority, livePod.Priority},
		{"shareProcessNamespace", pod.ShareProcessNamespace, livePod.ShareProcessNamespace},
		{"dnsPolicy", pod.DNSPolicy, livePod.DNSPolicy},
		{"terminationGracePeriodSeconds", pod.TerminationGracePeriodSeconds, livePod.TerminationGracePeriodSeconds},
	}
	if pod.RestartPolicy != "" {
		parts = append(parts, part{"restartPolicy", pod.RestartPolicy, livePod.RestartPolicy})
	}
	parts = append(parts, containerParts("initContainers", pod.InitContainers, livePod.InitContainers, pod.HostNetwork)...)
	parts = append(parts, containerParts("containers", pod.Containers, livePod.Containers, pod.HostNetwork)...)
	return append(metadataDrift(required, live), differing(parts)...), nil
}

// containerParts sets the cluster-version-operator's defaults in the containers and returns what it compares.
func containerParts(field string, wanted, existing []corev1.Container, hostNetwork bool) []part {
	if len(wanted) != len(existing) {
		return []part{{field, len(wanted), len(existing)}}
	}
	var parts []part
	for i := range wanted {
		w, e := &wanted[i], existing[i]
		for j := range w.Ports {
			setDefault(&w.Ports[j].Protocol, corev1.ProtocolTCP)
			if hostNetwork {
				setDefault(&w.Ports[j].HostPort, w.Ports[j].ContainerPort)
			}
		}
		for j := range w.Env {
			if source := w.Env[j].ValueFrom; source != nil && source.FieldRef != nil {
				setDefault(&source.FieldRef.APIVersion, "v1")
			}
		}
		setProbeDefaults(w.LivenessProbe)
		setProbeDefaults(w.ReadinessProbe)
		name := field + "[" + w.Name + "]."
		parts = append(parts, part{name + "name", w.Name, e.Name}, part{name + "image", w.Image, e.Image},
			part{name + "command", w.Command, e.Command}, part{name + "args", w.Args, e.Args},
			part{name + "env", w.Env, e.Env}, part{name + "envFrom", w.EnvFrom, e.EnvFrom},
			part{name + "workingDir", w.WorkingDir, e.WorkingDir}, part{name + "resources", w.Resources, e.Resources},
			part{name + "ports", w.Ports, e.Ports}, part{name + "volumeMounts", w.VolumeMounts, e.VolumeMounts},
			part{name + "livenessProbe", w.LivenessProbe, e.LivenessProbe},
			part{name + "readinessProbe", w.ReadinessProbe, e.ReadinessProbe},
			part{name + "securityContext", w.SecurityContext, e.SecurityContext})
	}
	return parts
}

func setProbeDefaults(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	setDefault(&probe.TimeoutSeconds, 1)
	setDefault(&probe.PeriodSeconds, 10)
	setDefault(&probe.SuccessThreshold, 1)
	setDefault(&probe.FailureThreshold, 3)
	if probe.HTTPGet != nil {
		setDefault(&probe.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}
}

func setVolumeDefaults(volume *corev1.Volume) {
	switch {
	case volume.HostPath != nil && volume.HostPath.Type == nil:
		volume.HostPath.Type = ptr.To(corev1.HostPathUnset)
	case volume.Secret != nil && volume.Secret.DefaultMode == nil:
		volume.Secret.DefaultMode = ptr.To(corev1.SecretVolumeSourceDefaultMode)
	case volume.ConfigMap != nil && volume.ConfigMap.DefaultMode == nil:
		volume.ConfigMap.DefaultMode = ptr.To(corev1.ConfigMapVolumeSourceDefaultMode)
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// part is a part of an object that the cluster-version-operator compares as a whole.
type part struct {
	name             string
	wanted, existing any
}

func differing(parts []part) []string {
	var names []string
	for _, p := range parts {
		if !equality.Semantic.DeepEqual(p.wanted, p.existing) {
			names = append(names, p.name)
		}
	}
	return names
}
