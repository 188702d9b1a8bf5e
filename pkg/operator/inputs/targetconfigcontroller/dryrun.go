package targetconfigcontroller

import (
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// DryRun has a cluster's objects, before or after a change, of which Run makes a candidate without writing.
type DryRun struct {
	// Spec, Status and Annotations are the operator resource's. ObservedConfig is what the observers make of the objects.
	Spec        operatorv1.StaticPodOperatorSpec
	Status      operatorv1.StaticPodOperatorStatus
	Annotations map[string]string

	Inputs func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error)

	// The objects named operand.PodConfigMap, operand.AcceptedInputsSecret and operand.PreflightName, nil if absent.
	Live                *corev1.ConfigMap
	Accepted, Preflight *corev1.Secret
}

// DryRunResult is what the controller would do.
type DryRunResult struct {
	// Managed reports whether the platform has a cloud-controller-manager. The other fields are empty if not.
	Managed bool
	// Resources are rendered from Inputs. They are nil if a rejected input has no accepted version.
	Resources *operand.Resources
	Inputs    operand.Inputs
	// Errors reject inputs, and Fallbacks has what is used instead. Warnings do not reject.
	Errors, Warnings []diagnostic.Diagnostic
	Fallbacks        map[diagnostic.Cause]string
}

// standInImage stands for the images of the release, which are the same in every dry run.
const standInImage = "that of the release"

// Run does what the controller does, but does not wait for absent inputs or use a revision's copies for rejected ones.
func (t DryRun) Run() (*DryRunResult, error) {
	p, known, err := observedplatform.Effective(&t.Spec.OperatorSpec, &t.Status.OperatorStatus)
	if err != nil || !known || !p.Managed() {
		return &DryRunResult{}, err
	}
	c := &controller{
		Deps:        dependencies.Deps{Clock: clock.RealClock{}},
		Options:     Options{OperandImages: map[string]string{}, OperatorImage: standInImage},
		inputs:      t.Inputs,
		annotations: func() (map[string]string, error) { return t.Annotations, nil },
	}
	for _, image := range []string{p.Image, p.NodeManagerImage} {
		if image != "" {
			c.OperandImages[image] = standInImage
		}
	}
	in, err := c.gather(&t.Spec, p, t.objects(), 0)
	if err != nil {
		return nil, err
	}
	chosen, err := c.choose(in)
	if err != nil {
		return nil, err
	}
	if chosen, err = t.withoutRejected(c, in, chosen); err != nil {
		return nil, err
	}
	return &DryRunResult{
		Managed: true, Resources: chosen.resources, Inputs: chosen.inputs,
		Errors: chosen.errors, Warnings: chosen.warnings, Fallbacks: chosen.fallbacks,
	}, nil
}

// withoutRejected replaces the inputs with which a preflight has failed. It cannot know rejected images and trust
// bundles of the operator's image: the digests of their stand-ins differ.
func (t DryRun) withoutRejected(c *controller, in *gathered, chosen *candidate) (*candidate, error) {
	if t.Preflight == nil || chosen.resources == nil {
		return chosen, nil
	}
	digests := chosen.resources.StartDigests()
	rejected := &operand.InputError{Diagnostics: chosen.errors, Warnings: chosen.warnings}
	for _, r := range trial.Of(t.Preflight).Rejected {
		if !r.Waits() && digests.Matches(r.Inputs) && !operatorclient.IsAccepted(in.acceptance, r.Inputs.Value()) {
			rejected.Diagnostics = slices.Concat(rejected.Diagnostics, in.rejections(&r))
		}
	}
	if len(rejected.Diagnostics) == len(chosen.errors) {
		return chosen, nil
	}
	return c.replaced(in, c.current(in), rejected)
}

// objects returns those of the operand's namespace, with stand-ins for those that kube-controller-manager writes.
func (t DryRun) objects() (o operand.Objects) {
	ca, token := &corev1.ConfigMap{Data: map[string]string{rootCAKey: "CA"}}, &corev1.Secret{
		Data: map[string][]byte{corev1.ServiceAccountTokenKey: []byte("token")},
	}
	ca.Name, token.Name = rootCA, fileSyncerIdentity
	o.ConfigMaps, o.Secrets = []*corev1.ConfigMap{ca}, []*corev1.Secret{token}
	if t.Live != nil {
		o.ConfigMaps = append(o.ConfigMaps, t.Live)
	}
	if t.Accepted != nil {
		o.Secrets = append(o.Secrets, t.Accepted)
	}
	return o
}
