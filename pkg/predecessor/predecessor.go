// Package predecessor recognizes the workloads of the Deployment-based operator of the same name, from which this
// operator takes a cluster over: those in its pkg/cloud/*/assets, releases 4.18 to 4.23.
package predecessor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	appslisters "k8s.io/client-go/listers/apps/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// ConditionType is the condition of the take-over, True until nothing of the predecessor runs.
	ConditionType = "TakingOver"

	// InTreeReason is the condition's reason while kube-controller-manager runs the cloud controllers.
	InTreeReason = "WaitingForKubeControllerManager"

	// Label is on the Deployments, ReplicaSets and pods of the predecessor's CCMs. Its value depends on the platform.
	Label = "infrastructure.openshift.io/cloud-controller-manager"
)

// names are the predecessor's Deployments, which the operator may delete.
var names = []string{
	"aws-cloud-controller-manager",
	"azure-cloud-controller-manager",
	"gcp-cloud-controller-manager",
	"ibm-cloud-controller-manager",
	"nutanix-cloud-controller-manager",
	"openstack-cloud-controller-manager",
	"powervs-cloud-controller-manager",
	"vsphere-cloud-controller-manager",
}

// Deployments returns the predecessor's Deployments, sorted by name, including those that are being deleted.
func Deployments(lister appslisters.DeploymentLister) ([]*appsv1.Deployment, error) {
	all, err := lister.Deployments(operand.Namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing deployments in %s: %w", operand.Namespace, err)
	}
	found := slices.DeleteFunc(slices.Clone(all), func(d *appsv1.Deployment) bool {
		return !slices.Contains(names, d.Name)
	})
	slices.SortFunc(found, func(a, b *appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Of returns the predecessor's pods that have not ended, sorted by name.
func Of(pods []*corev1.Pod) []*corev1.Pod {
	found := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return !IsPod(pod) || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// IsPod reports whether obj is a pod of the predecessor's cloud-controller-managers. These belong to Deployments, so a
// mirror pod, which a kubelet may create with any label, is not one.
func IsPod(obj *corev1.Pod) bool {
	_, isLabeled := obj.Labels[Label]
	return isLabeled && obj.Annotations[corev1.MirrorPodAnnotationKey] == ""
}

// servesNothing is the flag of a cloud-controller-manager that listens on no port.
var servesNothing = regexp.MustCompile(`--secure-port[= ]0(\s|"|'|$)`)

// ListensOn10258 reports whether a pod listens on the port of our static pods: those of IBM Cloud and Power VS do, and
// those of every platform before the z-streams of autumn 2025. The declared port proves nothing, because all of them
// declare it.
func ListensOn10258(pod *corev1.PodSpec) bool {
	return !slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
		return servesNothing.MatchString(strings.Join(slices.Concat(c.Command, c.Args), "\n"))
	})
}

// Remains reports whether the operator is taking over from the predecessor.
func Remains(conditions []operatorv1.OperatorCondition) bool {
	return v1helpers.IsOperatorConditionTrue(conditions, ConditionType)
}

// LetsInstall reports whether static pods may be installed: the operator has determined who runs the cloud controllers,
// and it is not kube-controller-manager.
func LetsInstall(conditions []operatorv1.OperatorCondition) bool {
	condition := v1helpers.FindOperatorCondition(conditions, ConditionType)
	return condition != nil && condition.Reason != InTreeReason
}
