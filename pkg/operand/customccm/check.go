package customccm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// electionFlags determine which lease the leader renews.
var electionFlags = []string{"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace"}

// Candidate is the candidate that a custom cloud-controller-manager is checked against.
type Candidate struct {
	Platform platform.Platform

	// Container is the operand's container without spec.custom.
	Container corev1.Container

	// Lease is the lease by which the operator judges whether a leader is active, "lease/<name> in <namespace>".
	Lease string

	// ServiceAccount is the one that the pod runs as, "serviceaccount/<name> in <namespace>". It is empty where the phase
	// brings a kubeconfig of its own.
	ServiceAccount string

	Paths Paths
}

// Paths are the paths that exist for the containers below some directories.
type Paths struct {
	// Roots are the directories below which only Files and Directories exist.
	Roots []string

	// Files are the delivered files. No path is checked if it is nil: then another input is missing or rejected.
	Files []string

	// Directories exist even if no file is delivered into them.
	Directories []string
}

// Check returns what the API server cannot reject, and what it has not seen of a manifest that was not applied yet.
func (c CCM) Check(candidate Candidate) (problems, warnings []diagnostic.Diagnostic) {
	if c.Spec == nil {
		return nil, nil
	}
	f := &findings{}
	if !candidate.Platform.Custom {
		f.checkBuiltIn(c.Spec, candidate.Platform)
		return f.problems, f.warnings
	}
	if c.Spec.Platform != "" {
		f.reject(at("platform"), "platform %s cannot run here; correct it, or remove it and say what runs",
			c.Spec.Platform)
		return f.problems, f.warnings
	}
	f.checkEnums(c.Spec)
	f.checkArguments(c.Spec, candidate.Container.Args)
	f.checkElection(c, candidate)
	f.checkEnvironment(c.Spec, candidate.Container.Env)
	f.checkProbe(c.Spec, candidate.Container.Args)
	f.checkPaths(c, candidate.Paths)
	if candidate.ServiceAccount != "" {
		f.warn(Field, "the cloud-controller-manager runs as %s with the rights that all of them need; "+
			"what it needs besides has to be bound to it", candidate.ServiceAccount)
	}
	return f.problems, f.warnings
}

// Overridden returns the problem of overrides that change spec.custom. The API server validates nothing there, and they
// would replace the payload's image. field is where the overrides have it.
func Overridden(field string, p platform.Platform) diagnostic.Diagnostic {
	if p.Image != "" {
		return newDiagnostic(field, "platform %s runs the cloud-controller-manager of the release payload, "+
			"which nothing can replace; remove it", p.Name)
	}
	return newDiagnostic(field, "%[1]s cannot be overridden; remove it and change %[1]s", Field)
}

type findings struct {
	problems []diagnostic.Diagnostic
	warnings []diagnostic.Diagnostic
}

func (f *findings) reject(field, format string, args ...any) {
	f.problems = append(f.problems, newDiagnostic(field, format, args...))
}

func (f *findings) warn(field, format string, args ...any) {
	f.warnings = append(f.warnings, newDiagnostic(field, format, args...))
}

func newDiagnostic(field, format string, args ...any) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		Cause: diagnostic.Configuration, Object: Object, Key: field, Message: fmt.Sprintf(format, args...),
	}
}

// checkBuiltIn checks spec.custom of a platform that the operator knows how to run: it may set the image only where the
// release ships none.
func (f *findings) checkBuiltIn(spec *operatorv1.CustomCloudControllerManager, p platform.Platform) {
	if spec.Platform != "" && !strings.EqualFold(string(spec.Platform), p.Name) {
		f.reject(at("platform"), "it is %s, but infrastructure.config.openshift.io/cluster says %s; remove it",
			spec.Platform, p.Name)
	}
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"image", spec.Image != "" && p.Image != ""},
		{"command", len(spec.Command) > 0},
		{"args", len(spec.Args) > 0},
		{"argsPolicy", spec.ArgsPolicy != ""},
		{"env", len(spec.Env) > 0},
		{"secrets", len(spec.Secrets) > 0},
		{"probe", spec.Probe != nil},
	} {
		if field.set {
			f.reject(at("%s", field.name), "platform %s has this built in; remove it", p.Name)
		}
	}
}

// checkEnums repeats the CRD's validation for manifests.
func (f *findings) checkEnums(spec *operatorv1.CustomCloudControllerManager) {
	if !slices.Contains([]operatorv1.ArgsPolicy{"", operatorv1.ExtendArgs, operatorv1.ReplaceArgs}, spec.ArgsPolicy) {
		f.reject(at("argsPolicy"), "it is %q; give Extend or Replace", spec.ArgsPolicy)
	}
	deliveries := []operatorv1.SecretDelivery{"", operatorv1.ReadOnceSecret, operatorv1.ReloadedSecret}
	for _, s := range spec.Secrets {
		if !slices.Contains(deliveries, s.Delivery) {
			f.reject(at("secrets[%s].delivery", s.Name), "it is %q; give ReadOnce or Reloaded", s.Delivery)
		}
	}
	if spec.Probe == nil {
		return
	}
	if !slices.Contains([]string{"", string(corev1.URISchemeHTTP), string(corev1.URISchemeHTTPS)}, spec.Probe.Scheme) {
		f.reject(at("probe.scheme"), "it is %q; give HTTP or HTTPS", spec.Probe.Scheme)
	}
	if spec.Probe.Path != "" && !strings.HasPrefix(spec.Probe.Path, "/") {
		f.reject(at("probe.path"), "it is %q; begin it with a slash", spec.Probe.Path)
	}
	if spec.Probe.Port < 0 || spec.Probe.Port > 65535 {
		f.reject(at("probe.port"), "it is %d; give a port from 1 to 65535", spec.Probe.Port)
	}
}

// checkArguments rejects a flag of the operator whose value is the next argument, because Overlay could not replace it.
func (f *findings) checkArguments(spec *operatorv1.CustomCloudControllerManager, defaults []string) {
	if spec.ArgsPolicy == operatorv1.ReplaceArgs {
		return
	}
	for i, arg := range spec.Args {
		known := slices.ContainsFunc(defaults, func(a string) bool {
			name, _ := flagOf(a)
			return arg == "--"+name
		})
		if known {
			f.reject(at("args[%d]", i), "the operator sets %[1]s too; write it with its value, as %[1]s=value", arg)
		}
	}
}

// checkElection rejects another lease than the operator's, or none: the operator would never report Available.
func (f *findings) checkElection(c CCM, candidate Candidate) {
	for _, name := range electionFlags {
		want, required := flagValue(candidate.Container.Args, name)
		if !required || slices.Contains(c.Fixed, name) {
			continue
		}
		got, given := flagValue(c.Spec.Args, name)
		if given && !sameValue(got, want) {
			f.reject(at("args"), "--%s is %s, but the operator judges by %s whether anybody leads; "+
				"leave it out or give --%s=%s", name, got, candidate.Lease, name, want)
		}
		isReplaced := c.Spec.ArgsPolicy == operatorv1.ReplaceArgs
		if !given && isReplaced && name == "leader-elect-resource-namespace" {
			f.warn(at("args"), "there is no --%s=%s; the operator judges by %s whether anybody leads, "+
				"so it has to be renewed", name, want, candidate.Lease)
		}
	}
}

// checkEnvironment rejects a variable that the pod sets. Those of the cluster's proxy are not among them.
func (f *findings) checkEnvironment(spec *operatorv1.CustomCloudControllerManager, reserved []corev1.EnvVar) {
	seen := map[string]bool{}
	for _, variable := range spec.Env {
		field := at("env[%s]", variable.Name)
		if slices.ContainsFunc(reserved, func(v corev1.EnvVar) bool { return v.Name == variable.Name }) {
			f.reject(field, "the operator sets this variable: remove it; a CA to trust belongs in the ConfigMap that "+
				"spec.trustedCA of proxy.config.openshift.io/cluster names")
		}
		if seen[variable.Name] {
			f.reject(field, "there are two of this name; remove one")
		}
		seen[variable.Name] = true
	}
}

// checkProbe rejects a port that the cloud-controller-manager moved away from.
func (f *findings) checkProbe(spec *operatorv1.CustomCloudControllerManager, defaults []string) {
	served, _ := flagValue(defaults, "secure-port")
	moved, given := flagValue(spec.Args, "secure-port")
	if given && moved != served && (spec.Probe == nil || spec.Probe.Port == 0) {
		f.reject(at("probe.port"), "--secure-port is %s, but nothing is said here, so port %s would be probed and the "+
			"cloud-controller-manager restarted for ever; give the port where it answers", moved, served)
	}
}

// checkPaths rejects the path of a file that is not delivered, which would end in a crash loop on the node.
func (f *findings) checkPaths(c CCM, paths Paths) {
	if len(f.problems) > 0 || paths.Files == nil {
		return
	}
	for _, v := range c.values() {
		for _, named := range paths.in(v.value) {
			if !paths.exists(named) {
				f.reject(v.field, "nothing is delivered as %s%s", named, paths.near(named))
			}
		}
	}
}

// in returns the paths below the roots that a value contains.
func (p Paths) in(value string) []string {
	var found []string
	isSeparator := func(r rune) bool { return strings.ContainsRune(" \t\n=,;:\"'", r) }
	for _, word := range strings.FieldsFunc(value, isSeparator) {
		word = path.Clean(word)
		for _, root := range p.Roots {
			if strings.HasPrefix(word, root+"/") {
				found = append(found, word)
			}
		}
	}
	return found
}

// exists reports whether a path is a delivered file or a directory.
func (p Paths) exists(named string) bool {
	isWithin := func(file string) bool { return file == named || strings.HasPrefix(file, named+"/") }
	return slices.Contains(p.Directories, named) || slices.ContainsFunc(p.Files, isWithin)
}

// near returns the advice for a path that does not exist: the files in its directory, if there are any.
func (p Paths) near(named string) string {
	var names []string
	for _, file := range p.Files {
		if path.Dir(file) == path.Dir(named) {
			names = append(names, path.Base(file))
		}
	}
	if len(names) == 0 {
		return "; correct the path, or add the key to a Secret of " + at("secrets")
	}
	return ", there is " + strings.Join(names, ", ") + " in that folder; correct the path"
}
