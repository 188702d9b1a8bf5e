package operand

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// custom is what spec.custom says about the operand's container.
type custom struct {
	*operatorv1.CustomCloudControllerManager

	// fixed are the names of flags that the phase has to have its way with.
	fixed []string
}

// overlay lays it over the container that the assets and the configuration describe.
func (e custom) overlay(container *corev1.Container) {
	if len(e.Command) > 0 {
		container.Command = e.Command
	}
	container.Args = e.arguments(container.Args)
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

// arguments are what the container gets in place of ours: each argument of the form --name=value in the place of the one of
// that name, and every other at the end.
func (e custom) arguments(ours []string) []string {
	if e.ArgsPolicy == operatorv1.ReplaceArgs {
		return slices.Clone(e.Args)
	}
	args := slices.Clone(ours)
	for _, arg := range e.Args {
		name, _ := flagOf(arg)
		if slices.Contains(e.fixed, name) {
			continue
		}
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+name+"=") })
		if name != "" && strings.HasPrefix(arg, "--") && i >= 0 {
			args[i] = arg
			continue
		}
		args = append(args, arg)
	}
	return args
}

// flagOf returns the name and the value of an argument of the form --name=value; both are empty for any other.
func flagOf(arg string) (name, value string) {
	name, value, found := strings.Cut(arg, "=")
	if !found || !strings.HasPrefix(name, "-") {
		return "", ""
	}
	return strings.TrimLeft(name, "-"), value
}

// flagValue returns the last value of a flag among args, also of one that has its value in the next argument, or none.
func flagValue(args []string, name string) (value string, found bool) {
	for i, arg := range args {
		if n, v := flagOf(arg); n == name {
			value, found = v, true
		}
		if !strings.HasPrefix(arg, "-") || strings.TrimLeft(arg, "-") != name {
			continue
		}
		// A switch needs no value.
		value, found = "true", true
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
	}
	return value, found
}

// text is one of the texts that spec.custom puts into the pod.
type text struct{ field, value string }

// texts are all of them.
func (e custom) texts() []text {
	all := []text{{"spec.custom.image", e.Image}}
	for i, word := range e.Command {
		all = append(all, text{fmt.Sprintf("spec.custom.command[%d]", i), word})
	}
	for i, arg := range e.Args {
		all = append(all, text{fmt.Sprintf("spec.custom.args[%d]", i), arg})
	}
	for _, variable := range e.Env {
		all = append(all, text{fmt.Sprintf("spec.custom.env[%s]", variable.Name), variable.Value})
	}
	if e.Probe != nil {
		all = append(all, text{"spec.custom.probe.path", e.Probe.Path})
	}
	return all
}

// placeholder finds a text that the installer would replace on the node.
func (e custom) placeholder() error {
	if e.CustomCloudControllerManager == nil {
		return nil
	}
	for _, t := range e.texts() {
		if _, _, name, found := confdoc.Placeholders([]byte(t.value)); found {
			return fmt.Errorf("%s has the text %s in it, which the installer replaces on each node; use another text", t.field, name)
		}
	}
	for _, variable := range e.Env {
		if _, _, name, found := confdoc.Placeholders([]byte(variable.Name)); found {
			return fmt.Errorf("spec.custom.env[%s] has the text %s in its name, which the installer replaces on each node; use another name", variable.Name, name)
		}
	}
	return nil
}
