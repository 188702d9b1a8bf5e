// Package customccm implements the custom cloud-controller-manager that spec.custom describes and no release ships.
//
// It checks spec.custom, applies it to the operand's container, and gathers the data of its Secrets. pkg/operand passes
// in the container and the delivered paths.
package customccm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const (
	// Object is the name of the operator's resource in messages.
	Object = "cloudcontrollermanager.operator.openshift.io/cluster"

	// Field is the field of Object that describes the custom cloud-controller-manager.
	Field = "spec.custom"
)

// CCM is a custom cloud-controller-manager.
type CCM struct {
	// Spec is spec.custom, nil if unset.
	Spec *operatorv1.CustomCloudControllerManager

	// Fixed are the names of the flags that Spec cannot change.
	Fixed []string
}

// timeZone is the variable by which the Go runtime chooses the zone of the times in klog's lines.
const timeZone = "TZ"

// Overlay applies Spec to the operand's container, which has the operator's arguments and environment.
func (c CCM) Overlay(container *corev1.Container) {
	if c.Spec == nil {
		return
	}
	if len(c.Spec.Command) > 0 {
		container.Command = c.withoutFixed(c.Spec.Command, container.Args)
	}
	container.Args = c.arguments(container.Args)
	// The operator compares the times in the log with the kubelet's, see operandlog.Genuine.
	container.Env = append(container.Env, corev1.EnvVar{Name: timeZone, Value: "UTC"})
	for _, variable := range c.Spec.Env {
		isSame := func(v corev1.EnvVar) bool { return v.Name == variable.Name }
		container.Env = append(slices.DeleteFunc(container.Env, isSame),
			corev1.EnvVar{Name: variable.Name, Value: ptr.Deref(variable.Value, "")})
	}
	if c.Spec.Probe == nil {
		return
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		probe.HTTPGet = &corev1.HTTPGetAction{
			Scheme: corev1.URIScheme(cmp.Or(c.Spec.Probe.Scheme, operatorv1.CustomCloudControllerManagerProbeSchemeHTTPS)),
			Path:   cmp.Or(ptr.Deref(c.Spec.Probe.Path, ""), probe.HTTPGet.Path),
			Port:   intstr.FromInt32(cmp.Or(c.Spec.Probe.Port, probe.HTTPGet.Port.IntVal)),
		}
	}
}

// arguments returns the container's arguments. With ArgsPolicy Extend, an argument of the form --name=value replaces
// the operator's argument of that name. Any other argument is appended.
func (c CCM) arguments(defaults []string) []string {
	if c.Spec.ArgsPolicy == operatorv1.CustomCloudControllerManagerArgsPolicyReplace {
		return slices.Clone(c.Spec.Args)
	}
	args := slices.Clone(defaults)
	for _, arg := range c.withoutFixed(c.Spec.Args, defaults) {
		name, _ := FlagOf(arg)
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+name+"=") })
		if name != "" && strings.HasPrefix(arg, "--") && i >= 0 {
			args[i] = arg
			continue
		}
		args = append(args, arg)
	}
	return args
}

// withoutFixed omits the fixed flags, also those whose value is the next word. In defaults each has its value, which
// shows whether it is boolean: then the next word is not its value.
func (c CCM) withoutFixed(words, defaults []string) []string {
	isValue := false
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		if isValue {
			isValue = false
			return true
		}
		flag, _, hasValue := strings.Cut(word, "=")
		isFixed := strings.HasPrefix(flag, "-") && slices.Contains(c.Fixed, nameOf(flag))
		isValue = isFixed && !hasValue && !isBoolean(nameOf(flag), defaults)
		return isFixed
	})
}

func isBoolean(name string, defaults []string) bool {
	value, _ := FlagValue(defaults, name)
	_, err := strconv.ParseBool(value)
	return err == nil
}

type value struct{ field, value string }

func (c CCM) values() []value {
	all := []value{{at("image"), c.Spec.Image}}
	for i, word := range c.Spec.Command {
		all = append(all, value{at("command[%d]", i), word})
	}
	for i, arg := range c.Spec.Args {
		all = append(all, value{at("args[%d]", i), arg})
	}
	for _, variable := range c.Spec.Env {
		all = append(all, value{at("env[%s]", variable.Name), ptr.Deref(variable.Value, "")})
	}
	if c.Spec.Probe != nil {
		all = append(all, value{at("probe.path"), ptr.Deref(c.Spec.Probe.Path, "")})
	}
	return all
}

func at(format string, args ...any) string { return Field + "." + fmt.Sprintf(format, args...) }

// nameOf returns the name of a flag with leading dashes. Like the parser of Kubernetes, it takes an underscore for a
// dash.
func nameOf(flag string) string { return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "_", "-") }

// FlagOf splits an argument of the form --name=value. It returns empty strings for any other argument.
func FlagOf(arg string) (name, value string) {
	name, value, found := strings.Cut(arg, "=")
	if !found || !strings.HasPrefix(name, "-") {
		return "", ""
	}
	return nameOf(name), value
}

// FlagValue returns the last value of a flag in args, also as a separate argument, and whether args has the flag.
func FlagValue(args []string, name string) (value string, found bool) {
	for i, arg := range args {
		if n, v := FlagOf(arg); n == name {
			value, found = v, true
		}
		if !strings.HasPrefix(arg, "-") || nameOf(arg) != name {
			continue
		}
		// A boolean flag needs no value.
		value, found = "true", true
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
	}
	return value, found
}

// SameValue reports whether two values of a flag are equal. A boolean has several spellings.
func SameValue(a, b string) bool {
	left, leftErr := strconv.ParseBool(a)
	right, rightErr := strconv.ParseBool(b)
	return a == b || leftErr == nil && rightErr == nil && left == right
}
