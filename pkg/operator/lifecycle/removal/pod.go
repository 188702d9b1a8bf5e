package removal

import (
	"context"
	"fmt"
	"net/url"
	"path"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	// binary is the path of the operator in its image.
	binary = "/usr/bin/cluster-cloud-controller-manager-operator"

	kubernetesDir = "/etc/kubernetes"
	resourceDir   = kubernetesDir + "/static-pod-resources"
	manifestDir   = kubernetesDir + "/manifests"

	// serviceAccount is that of the installer pods.
	serviceAccount = "installer-sa"

	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
)

func podName(node string) string { return "removal-" + node }

// createPod creates the removal pod of a node, and returns what the node waits for.
func (c *controller) createPod(
	ctx context.Context, spec *operatorv1.StaticPodOperatorSpec, node string,
) (waiting string, err error) {
	// After a removal, staticresources creates it again.
	account, err := operatorclient.Find(c.accounts, "serviceaccount", operand.Namespace, serviceAccount)
	if err != nil {
		return "", err
	}
	if account == nil {
		return "serviceaccount/" + serviceAccount, nil
	}
	observed, err := observedplatform.Config(&spec.OperatorSpec)
	if err != nil {
		return "", err
	}
	server, err := observed.APIServer()
	if err != nil {
		return "", err
	}
	pod := newPod(node, c.OperatorImage, loglevel.LogLevelToVerbosity(spec.LogLevel), server)
	_, err = c.Kube.CoreV1().Pods(operand.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
	}
	return "pod/" + pod.Name, nil
}

// newPod returns the removal pod of a node. It is like library-go's installer pod, as the staticpod package adapts that
// one: it needs neither a pod network nor a service network, and it has the rights of the installers, of which it uses
// the read of the mirror pod and the event. It may write to the host.
func newPod(node, image string, verbosity int, server *url.URL) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace,
			Name:      podName(node),
			Labels:    map[string]string{"app": appRemoval},
			Annotations: map[string]string{
				"openshift.io/required-scc":               "privileged",
				"target.workload.openshift.io/management": `{"effect": "PreferredDuringScheduling"}`,
			},
		},
		Spec: corev1.PodSpec{
			NodeName:                     node,
			ServiceAccountName:           serviceAccount,
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
			Containers: []corev1.Container{newContainer(image, verbosity, server)},
			Volumes: []corev1.Volume{
				{Name: "kubelet-dir", VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: kubernetesDir, Type: ptr.To(corev1.HostPathDirectory)},
				}},
				{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: apiAccess()}},
			},
		},
	}
}

func newContainer(image string, verbosity int, server *url.URL) corev1.Container {
	return corev1.Container{
		Name:            appRemoval,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{binary, "remove"},
		Args: []string{
			fmt.Sprintf("-v=%d", verbosity),
			"--resource-dir=" + resourceDir,
			"--cert-dir=" + path.Join(resourceDir, operand.CertDir),
			"--pod-manifest-dir=" + manifestDir,
		},
		Env: append([]corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: field("metadata.name")},
			{Name: "NODE_NAME", ValueFrom: field("spec.nodeName")},
		}, operand.APIServerEnv(server)...),
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

// apiAccess returns the files that the kubelet would mount by itself, with a token of one hour.
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
