// Package hostpod builds the pods that run this operator's image on a control-plane node, to change its files.
package hostpod

import (
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// ServiceAccount is the installer pods' ServiceAccount.
	ServiceAccount = "installer-sa"

	// ResourceDir contains the revisions on a node.
	ResourceDir = kubernetesDir + "/static-pod-resources"
	// ManifestDir contains the manifests of the static pods on a node.
	ManifestDir = kubernetesDir + "/manifests"

	// Binary is the path of the operator in its image.
	Binary = "/usr/bin/cluster-cloud-controller-manager-operator"

	kubernetesDir = "/etc/kubernetes"
	tokenDir      = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// Annotations returns the annotations of every pod that writes to the host: the security context constraints, which its
// ServiceAccount may use, and workload partitioning.
func Annotations() map[string]string {
	return map[string]string{
		"openshift.io/required-scc":               "privileged",
		"target.workload.openshift.io/management": `{"effect": "PreferredDuringScheduling"}`,
	}
}

// Options are required by New.
type Options struct {
	// Name is the name of the pod, App its label app, and Node its node.
	Name, App, Node string
	// Image is this operator's image, Command its subcommand, and Args the arguments of the subcommand.
	Image, Command string
	Args           []string
	Verbosity      int
	// Server is the URL of the API server for components on nodes.
	Server *url.URL
}

// New returns a pod that may write to the host. It matches library-go's installer pod as package staticpod adapts it:
// it needs neither the pod network nor the service network, and has the rights of the installers.
func New(o Options) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   operand.Namespace,
			Name:        o.Name,
			Labels:      map[string]string{"app": o.App},
			Annotations: Annotations(),
		},
		Spec: corev1.PodSpec{
			NodeName:                     o.Node,
			ServiceAccountName:           ServiceAccount,
			AutomountServiceAccountToken: ptr.To(false),
			HostNetwork:                  true,
			DNSPolicy:                    corev1.DNSDefault,
			RestartPolicy:                corev1.RestartPolicyNever,
			PriorityClassName:            "system-node-critical",
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser:      ptr.To[int64](0),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{newContainer(o)},
			Volumes: []corev1.Volume{
				{Name: "kubelet-dir", VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: kubernetesDir, Type: ptr.To(corev1.HostPathDirectory)},
				}},
				{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: apiAccess()}},
			},
		},
	}
}

func newContainer(o Options) corev1.Container {
	return corev1.Container{
		Name:            o.App,
		Image:           o.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{Binary, o.Command},
		Args:            append([]string{fmt.Sprintf("-v=%d", o.Verbosity)}, o.Args...),
		Env: append([]corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: field("metadata.name")},
			{Name: "NODE_NAME", ValueFrom: field("spec.nodeName")},
		}, operand.APIServerEnv(o.Server)...),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("50Mi"),
		}},
		SecurityContext: &corev1.SecurityContext{
			Privileged:             ptr.To(true),
			ReadOnlyRootFilesystem: ptr.To(true),
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "kubelet-dir", MountPath: kubernetesDir},
			{Name: "kube-api-access", MountPath: tokenDir, ReadOnly: true},
		},
	}
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

// apiAccess returns the volume that the kubelet would mount by default, but with a token of one hour.
func apiAccess() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
			Path: "token", ExpirationSeconds: ptr.To[int64](3600),
		}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
		}}},
	}}
}
