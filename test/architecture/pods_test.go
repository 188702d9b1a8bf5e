package architecture

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// podOf is a pod or a patch's part of one.
type podOf struct {
	name        string
	annotations map[string]string
	spec        corev1.PodSpec
	// partial marks a patch.
	partial bool
	// scheduled marks a pod that is created through the API.
	scheduled bool
}

func TestNoPodRunsAShell(t *testing.T) {
	shell := regexp.MustCompile(`^(ba|da|z|k)?sh$`)
	for _, pod := range pods(t) {
		for _, container := range containersOf(pod) {
			for _, word := range append(append([]string{}, container.Command...), container.Args...) {
				require.False(t, shell.MatchString(path.Base(word)), "%s: container %s runs %s", pod.name, container.Name, word)
				require.NotContains(t, word, "\n", "%s: container %s has a script for an argument", pod.name, container.Name)
			}
		}
	}
}

func TestEveryContainerAsksForWhatItNeedsAndHasNoLimit(t *testing.T) {
	for _, pod := range pods(t) {
		for _, container := range containersOf(pod) {
			require.Empty(t, container.Resources.Limits, "%s: container %s: a limit can stall the control plane", pod.name, container.Name)
			if pod.partial && container.Image == "" {
				continue
			}
			require.Contains(t, container.Resources.Requests, corev1.ResourceCPU, "%s: container %s", pod.name, container.Name)
			require.Contains(t, container.Resources.Requests, corev1.ResourceMemory, "%s: container %s", pod.name, container.Name)
		}
	}
}

func TestEveryContainerIsLockedDown(t *testing.T) {
	for _, pod := range pods(t) {
		for _, container := range containersOf(pod) {
			security := container.SecurityContext
			if pod.partial && container.Image == "" {
				require.Nil(t, security, "%s: a patch leaves the security of container %s alone", pod.name, container.Name)
				continue
			}
			require.Equal(t, &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				ReadOnlyRootFilesystem:   ptr.To(true),
			}, security, "%s: container %s", pod.name, container.Name)
			require.Equal(t, corev1.TerminationMessageFallbackToLogsOnError, container.TerminationMessagePolicy, "%s: container %s", pod.name, container.Name)
			require.Equal(t, corev1.PullIfNotPresent, container.ImagePullPolicy, "%s: container %s", pod.name, container.Name)
		}
		if !pod.partial {
			require.Equal(t, &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}, pod.spec.SecurityContext.SeccompProfile, pod.name)
		}
	}
}

// Without run-level labels, security context constraints apply, and workload partitioning requires the annotation.
func TestEveryPodIsAdmittedAsItIsMeant(t *testing.T) {
	for _, pod := range pods(t) {
		if pod.partial {
			continue
		}
		requireAdmitted(t, pod, pod.annotations["openshift.io/required-scc"])
		require.JSONEq(t, `{"effect": "PreferredDuringScheduling"}`, pod.annotations["target.workload.openshift.io/management"], pod.name)
		require.Equal(t, "system-node-critical", pod.spec.PriorityClassName, pod.name)
		require.True(t, pod.spec.HostNetwork, "%s: a pod network may need the cloud-controller-manager first", pod.name)
	}
}

// requireAdmitted checks that the pod needs the constraints that it names, and no more.
func requireAdmitted(t *testing.T, pod podOf, name string) {
	t.Helper()
	security, volumes := pod.spec.SecurityContext, map[securityv1.FSType]bool{}
	for _, volume := range pod.spec.Volumes {
		volumes[typeOf(volume)] = true
	}
	if !pod.scheduled {
		require.Equal(t, "privileged", name, "%s writes to the host as root", pod.name)
		return
	}
	constraints := constraintsNamed(t, name)
	require.False(t, constraints.AllowPrivilegedContainer, pod.name)
	require.Equal(t, volumes[securityv1.FSTypeHostPath], constraints.AllowHostDirVolumePlugin, pod.name)
	require.Subset(t, constraints.Volumes, slices.Collect(maps.Keys(volumes)), pod.name)
	if constraints.RunAsUser.Type == securityv1.RunAsUserStrategyMustRunAs {
		require.Equal(t, constraints.RunAsUser.UID, security.RunAsUser, pod.name)
	}
}

// constraintsNamed returns the security context constraints of that name in the payload.
func constraintsNamed(t *testing.T, name string) *securityv1.SecurityContextConstraints {
	t.Helper()
	for _, m := range objectsIn(t, "manifests") {
		if constraints, is := m.object.(*securityv1.SecurityContextConstraints); is && constraints.Name == name {
			return constraints
		}
	}
	require.Fail(t, "the payload has no such security context constraints", name)
	return nil
}

// typeOf returns the type of a volume by its name in security context constraints.
func typeOf(volume corev1.Volume) securityv1.FSType {
	switch {
	case volume.HostPath != nil:
		return securityv1.FSTypeHostPath
	case volume.EmptyDir != nil:
		return securityv1.FSTypeEmptyDir
	case volume.ConfigMap != nil:
		return securityv1.FSTypeConfigMap
	case volume.Secret != nil:
		return securityv1.FSTypeSecret
	default:
		return securityv1.FSTypeNone
	}
}

// The kubelet rejects a static pod that refers to an object of the API. A leftover pod of the predecessor that
// declares the same port would block the admission of ours.
func TestTheStaticPodNeedsNothingFromTheAPI(t *testing.T) {
	for _, pod := range pods(t) {
		if pod.scheduled {
			continue
		}
		require.Empty(t, pod.spec.ServiceAccountName, pod.name)
		require.Empty(t, pod.spec.ImagePullSecrets, pod.name)
		for _, volume := range pod.spec.Volumes {
			require.True(t, volume.HostPath != nil || volume.EmptyDir != nil || volume.DownwardAPI != nil, "%s: volume %s", pod.name, volume.Name)
		}
		for _, container := range containersOf(pod) {
			require.Empty(t, container.Ports, "%s: container %s", pod.name, container.Name)
			require.Empty(t, container.EnvFrom, "%s: container %s", pod.name, container.Name)
			for _, variable := range container.Env {
				if source := variable.ValueFrom; source != nil {
					require.True(t, source.FieldRef != nil || source.FileKeyRef != nil, "%s: container %s: variable %s", pod.name, container.Name, variable.Name)
				}
			}
		}
	}
}

func pods(t *testing.T) []podOf {
	t.Helper()
	var found []podOf
	for _, folder := range allDirs {
		for _, m := range objectsIn(t, folder) {
			switch object := m.object.(type) {
			case *corev1.Pod:
				found = append(found, podOf{name: m.file, annotations: object.Annotations, spec: object.Spec})
			case *appsv1.Deployment:
				found = append(found, podOf{name: folder + "/Deployment", annotations: object.Spec.Template.Annotations, spec: object.Spec.Template.Spec, scheduled: true})
			case *appsv1.DaemonSet:
				found = append(found, podOf{name: m.file, annotations: object.Spec.Template.Annotations, spec: object.Spec.Template.Spec, scheduled: true})
			}
		}
		for _, file := range filesUnder(t, folder, "-patch.yaml") {
			if path.Base(file) == nodeManagerPatch {
				var daemonSet appsv1.DaemonSet
				require.NoError(t, yaml.UnmarshalStrict(read(t, file), &daemonSet), file)
				template := daemonSet.Spec.Template
				found = append(found, podOf{name: file, annotations: template.Annotations, spec: template.Spec, partial: true, scheduled: true})
				continue
			}
			var pod corev1.Pod
			require.NoError(t, yaml.UnmarshalStrict(withoutDirectives(read(t, file)), &pod), file)
			// The kubelet gives a pod of the API its token; a static pod has no ServiceAccount.
			scheduled := path.Base(file) == "preflight-patch.yaml"
			found = append(found, podOf{name: file, annotations: pod.Annotations, spec: pod.Spec, partial: true, scheduled: scheduled})
		}
	}
	require.NotEmpty(t, found)
	return found
}

// withoutDirectives returns a strategic merge patch as far as it has fields.
func withoutDirectives(patch []byte) []byte {
	return bytes.ReplaceAll(patch, []byte("$patch: delete\n"), []byte("\n"))
}

func containersOf(pod podOf) []corev1.Container {
	return append(append([]corev1.Container{}, pod.spec.InitContainers...), pod.spec.Containers...)
}
