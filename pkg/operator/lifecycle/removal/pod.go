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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

func podName(node string) string { return "removal-" + node }

// createPod creates the removal pod of a node, and returns what the node waits for.
func (c *controller) createPod(
	ctx context.Context, spec *operatorv1.StaticPodOperatorSpec, node string,
) (waiting string, err error) {
	// After a removal, staticresources creates it again.
	account, err := operatorclient.Find(c.accounts, "serviceaccount", operand.Namespace, hostpod.ServiceAccount)
	if err != nil {
		return "", err
	}
	if account == nil {
		return "serviceaccount/" + hostpod.ServiceAccount, nil
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

// newPod returns the removal pod of a node. Of the rights of the installers, it uses the read of the mirror pod and the
// event.
func newPod(node, image string, verbosity int, server *url.URL) *corev1.Pod {
	return hostpod.New(hostpod.Options{
		Name: podName(node), App: appRemoval, Node: node, Image: image, Command: "remove",
		Args: []string{
			"--resource-dir=" + hostpod.ResourceDir,
			"--cert-dir=" + path.Join(hostpod.ResourceDir, operand.CertDir),
			"--pod-manifest-dir=" + hostpod.ManifestDir,
		},
		Verbosity: verbosity, Server: server,
	})
}
