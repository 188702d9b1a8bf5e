package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/ote/internal/extension"
)

const (
	vspherePrefix = "[OCPFeatureGate:" + featuregate.MixedNodes + "][platform:vsphere]" +
		"[Suite:openshift/conformance/parallel] vSphere hybrid environment "
	// platformType is the label that the cloud-controller-manager sets on Nodes of its machines.
	platformType = "node.openshift.io/platform-type"
)

// vsphereTests are those of the predecessor's image, by name.
func vsphereTests() []spec {
	test := func(name string, run func(context.Context, *cluster) error) spec {
		return spec{
			name: vspherePrefix + name, labels: []string{"vSphere", conformance}, lifecycle: extension.Informing,
			include: `platform=="vsphere"`,
			run: func(ctx context.Context, c *cluster) error {
				if err := c.requireGate(ctx, featuregate.MixedNodes); err != nil {
					return err
				}
				return run(ctx, c)
			},
		}
	}
	return []spec{
		test("should have --node-labels parameter in cloud-controller-manager pod", hasNodeLabels),
		test("should apply platform-type label to nodes", labelsNodes),
	}
}

// requireGate skips a test on clusters where the feature gate is off. A gate that the cluster does not list may be on
// for all.
func (c *cluster) requireGate(ctx context.Context, name string) error {
	gates, err := c.config.ConfigV1().FeatureGates().Get(ctx, "cluster", metav1.GetOptions{})
	if err != nil {
		return err
	}
	version, err := c.config.ConfigV1().ClusterVersions().Get(ctx, "version", metav1.GetOptions{})
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, details := range gates.Status.FeatureGates {
		if details.Version != version.Status.Desired.Version {
			continue
		}
		for _, gate := range details.Enabled {
			listed[string(gate.Name)] = true
		}
		for _, gate := range details.Disabled {
			listed[string(gate.Name)] = false
		}
	}
	if !featuregate.Enabled(name, listed) {
		return extension.Skip("the feature gate %s is off", name)
	}
	return nil
}

func hasNodeLabels(ctx context.Context, c *cluster) error {
	ours := metav1.ListOptions{LabelSelector: "app=" + operand.Name}
	pods, err := c.kube.CoreV1().Pods(operand.Namespace).List(ctx, ours)
	if err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return errors.New("there is no pod with the label app=" + operand.Name)
	}
	for _, pod := range pods.Items {
		i := slices.IndexFunc(pod.Spec.Containers[0].Args, func(a string) bool {
			return strings.HasPrefix(a, "--node-labels=")
		})
		if i < 0 || !strings.Contains(pod.Spec.Containers[0].Args[i], platformType+"=vsphere") {
			return fmt.Errorf("pod/%s: the argument --node-labels does not have %s=vsphere: %q", pod.Name, platformType,
				pod.Spec.Containers[0].Args)
		}
	}
	return nil
}

// labelsNodes requires the label on every control-plane Node and on one worker. Other workers may be no machines of
// vSphere.
func labelsNodes(ctx context.Context, c *cluster) error {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	workers, labelled := 0, 0
	for _, node := range nodes.Items {
		value, has := node.Labels[platformType]
		_, master := node.Labels[controlPlane]
		switch {
		case has && value != "vsphere":
			errs = append(errs, fmt.Errorf("node/%s has %s=%s, not vsphere", node.Name, platformType, value))
		case master && !has:
			errs = append(errs, fmt.Errorf("the control-plane node/%s does not have %s", node.Name, platformType))
		case !master:
			workers++
			if has {
				labelled++
			}
		}
	}
	if workers > 0 && labelled == 0 {
		errs = append(errs, fmt.Errorf("none of %d workers has %s", workers, platformType))
	}
	return errors.Join(errs...)
}
