package operand

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// external is what spec.external says about the operand's container.
type external struct {
	*operatorv1.External
}

// overlay lays it over the container that the assets and the configuration describe.
func (e external) overlay(container *corev1.Container) {
	if len(e.Command) > 0 {
		container.Command = e.Command
	}
	if e.ArgsPolicy == operatorv1.ReplaceArgs {
		container.Args = nil
	}
	container.Args = withArgs(container.Args, e.Args)
	for _, variable := range e.Env {
		container.Env = append(slices.DeleteFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == variable.Name }),
			corev1.EnvVar{Name: variable.Name, Value: variable.Value})
	}
	if e.Probe == nil {
		return
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		probe.HTTPGet = &corev1.HTTPGetAction{
			Scheme: corev1.URIScheme(cmp.Or(e.Probe.Scheme, string(corev1.URISchemeHTTPS))),
			Path:   cmp.Or(e.Probe.Path, probe.HTTPGet.Path),
			Port:   intstr.FromInt32(cmp.Or(e.Probe.Port, probe.HTTPGet.Port.IntVal)),
		}
	}
}

// withArgs puts each argument of the form --name=value in the place of the one of that name, and every other at the end.
func withArgs(args, more []string) []string {
	for _, arg := range more {
		name, _, hasValue := strings.Cut(arg, "=")
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, name+"=") })
		if hasValue && strings.HasPrefix(name, "--") && i >= 0 {
			args[i] = arg
			continue
		}
		args = append(args, arg)
	}
	return args
}
