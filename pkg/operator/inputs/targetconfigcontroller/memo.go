package targetconfigcontroller

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// memo keeps the last result of a rendering, which depends on nothing but its inputs. Most syncs follow an event or a
// resync that changes none of them. Inputs are replaced, never changed in place: the memo keeps them without a copy.
type memo[T any] struct {
	inputs operand.Inputs
	result T
	known  bool
}

// of returns the result for the inputs. The caller must not change it. Errors are not kept.
func (m *memo[T]) of(in operand.Inputs, render func(operand.Inputs) (T, error)) (T, error) {
	if m.known && isSame(m.inputs, in) {
		return m.result, nil
	}
	result, err := render(in)
	m.inputs, m.result, m.known = in, result, err == nil
	return result, err
}

// isSame reports whether two inputs are equal. The name of a platform stands for the rest of it, which has functions.
func isSame(a, b operand.Inputs) bool {
	if a.Platform.Name != b.Platform.Name {
		return false
	}
	a.Platform, b.Platform = platform.Platform{}, platform.Platform{}
	return reflect.DeepEqual(a, b)
}

// rendered is operand.Render, whose result the caller may change.
func (c *controller) rendered(in operand.Inputs) (*operand.Resources, error) {
	kept, err := c.lastRendered.of(in, operand.Render)
	if err != nil {
		return nil, err
	}
	own := *kept
	own.Pod, own.NodeManager = kept.Pod.DeepCopy(), kept.NodeManager.DeepCopy()
	own.NodeManagerConfig = kept.NodeManagerConfig.DeepCopy()
	own.ConfigMaps, own.Secrets = slices.Clone(kept.ConfigMaps), slices.Clone(kept.Secrets)
	for i := range own.ConfigMaps {
		own.ConfigMaps[i] = own.ConfigMaps[i].DeepCopy()
	}
	for i := range own.Secrets {
		own.Secrets[i] = own.Secrets[i].DeepCopy()
	}
	own.Warnings = slices.Clone(kept.Warnings)
	return &own, nil
}

// preflightCandidate is operand.PreflightCandidate, whose result the caller may change.
func (c *controller) preflightCandidate(in operand.Inputs) (*corev1.Secret, error) {
	kept, err := c.lastPreflight.of(in, operand.PreflightCandidate)
	return kept.DeepCopy(), err
}
