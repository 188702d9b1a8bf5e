package operand

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// customPlatform is the platform on which spec.custom brings the cloud-controller-manager.
const customPlatform = "external"

// electionFlags are those that say which lease is renewed. The operator judges by it whether anybody leads.
var electionFlags = []string{"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace"}

// checkCustom refuses what the API server cannot know to be wrong, and what it could not see in a manifest that was not
// created yet. It comes last: which files there are follows from the other inputs.
func (c *checkedInputs) checkCustom(in Inputs, base *corev1.Pod, config *config) {
	for _, p := range in.Custom.Problems {
		c.refuse(p)
	}
	if config.overridesCustom {
		c.refuseOverridden(in)
		return
	}
	if config.Custom == nil {
		return
	}
	if in.Platform.Name != customPlatform {
		c.checkBuiltIn(in, config.Custom)
		return
	}
	if config.Custom.Platform != "" {
		c.refuseCustom("spec.custom.platform", "platform %s cannot run here; correct it, or remove it and say what runs", config.Custom.Platform)
		return
	}
	e := custom{CustomCloudControllerManager: config.Custom, fixed: in.Phase.FixedArguments}
	ours := arguments(config)
	c.checkValues(e)
	c.checkArguments(e, ours)
	c.checkElection(e, ours)
	c.checkEnvironment(e, base)
	c.checkProbe(e, ours)
	c.checkPaths(in, e)
	if in.Identity != nil {
		c.warn(diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: configurationSource, Key: "spec.custom", Message: fmt.Sprintf(
			"the cloud-controller-manager runs as serviceaccount/%s in %s with the rights that all of them need; what it needs besides has to be bound to it",
			Name, Namespace)})
	}
}

func (c *checkedInputs) refuseCustom(field, format string, args ...any) {
	c.refuse(diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: configurationSource, Key: field, Message: fmt.Sprintf(format, args...)})
}

// refuseOverridden rejects spec.custom among the overrides: no API server checks it there, and it would replace the payload's image.
func (c *checkedInputs) refuseOverridden(in Inputs) {
	field := "spec.unsupportedConfigOverrides.custom"
	if in.Phase.Files != nil {
		field = "custom" // of a file that overrides the configuration at bootstrap
	}
	if in.Platform.Image != "" {
		c.refuseCustom(field, "platform %s runs the cloud-controller-manager of the release payload, which nothing can replace; remove it", in.Platform.Name)
		return
	}
	c.refuseCustom(field, "spec.custom cannot be overridden; remove it and change spec.custom")
}

// checkBuiltIn is for a platform that the operator knows how to run.
func (c *checkedInputs) checkBuiltIn(in Inputs, e *operatorv1.CustomCloudControllerManager) {
	if e.Platform != "" && !strings.EqualFold(string(e.Platform), in.Platform.Name) {
		c.refuseCustom("spec.custom.platform", "it is %s, but infrastructure.config.openshift.io/cluster says %s; remove it", e.Platform, in.Platform.Name)
	}
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"image", e.Image != "" && in.Platform.Image != ""},
		{"command", len(e.Command) > 0},
		{"args", len(e.Args) > 0},
		{"argsPolicy", e.ArgsPolicy != ""},
		{"env", len(e.Env) > 0},
		{"secrets", len(e.Secrets) > 0},
		{"probe", e.Probe != nil},
	} {
		if field.set {
			c.refuseCustom("spec.custom."+field.name, "platform %s has this built in; remove it", in.Platform.Name)
		}
	}
}

// checkValues has what the API server checks for a resource and nobody for a manifest.
func (c *checkedInputs) checkValues(e custom) {
	if !slices.Contains([]operatorv1.ArgsPolicy{"", operatorv1.ExtendArgs, operatorv1.ReplaceArgs}, e.ArgsPolicy) {
		c.refuseCustom("spec.custom.argsPolicy", "it is %q; give Extend or Replace", e.ArgsPolicy)
	}
	for _, s := range e.Secrets {
		if !slices.Contains([]operatorv1.SecretDelivery{"", operatorv1.ReadOnceSecret, operatorv1.ReloadedSecret}, s.Delivery) {
			c.refuseCustom("spec.custom.secrets["+s.Name+"].delivery", "it is %q; give ReadOnce or Reloaded", s.Delivery)
		}
	}
	if e.Probe == nil {
		return
	}
	if !slices.Contains([]string{"", string(corev1.URISchemeHTTP), string(corev1.URISchemeHTTPS)}, e.Probe.Scheme) {
		c.refuseCustom("spec.custom.probe.scheme", "it is %q; give HTTP or HTTPS", e.Probe.Scheme)
	}
	if e.Probe.Path != "" && !strings.HasPrefix(e.Probe.Path, "/") {
		c.refuseCustom("spec.custom.probe.path", "it is %q; begin it with a slash", e.Probe.Path)
	}
	if e.Probe.Port < 0 || e.Probe.Port > 65535 {
		c.refuseCustom("spec.custom.probe.port", "it is %d; give a port from 1 to 65535", e.Probe.Port)
	}
}

// checkArguments refuses the form in which nobody could tell where a flag of ours is set again.
func (c *checkedInputs) checkArguments(e custom, ours []string) {
	if e.ArgsPolicy == operatorv1.ReplaceArgs {
		return
	}
	for i, arg := range e.Args {
		known := slices.ContainsFunc(ours, func(a string) bool {
			name, _ := flagOf(a)
			return arg == "--"+name
		})
		if known {
			c.refuseCustom(fmt.Sprintf("spec.custom.args[%d]", i), "the operator sets %s too; write it with its value, as %s=value", arg, arg)
		}
	}
}

// checkElection compares with what the operator would say. Whoever renews another lease, or none, is never available.
func (c *checkedInputs) checkElection(e custom, ours []string) {
	for _, name := range electionFlags {
		want, ruled := flagValue(ours, name)
		if !ruled || slices.Contains(e.fixed, name) {
			continue
		}
		got, given := flagValue(e.Args, name)
		if given && !sameValue(got, want) {
			c.refuseCustom("spec.custom.args", "--%s is %s, but the operator judges by lease/%s in %s whether anybody leads; leave it out or give --%s=%s",
				name, got, Lease, Namespace, name, want)
		}
		if !given && e.ArgsPolicy == operatorv1.ReplaceArgs && name == "leader-elect-resource-namespace" {
			c.warn(diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: configurationSource, Key: "spec.custom.args", Message: fmt.Sprintf(
				"there is no --%s=%s; the operator judges by lease/%s there whether anybody leads, so one has to be renewed", name, want, Lease)})
		}
	}
}

// sameValue compares values of flags, also those that are true or false in many ways.
func sameValue(a, b string) bool {
	left, leftErr := strconv.ParseBool(a)
	right, rightErr := strconv.ParseBool(b)
	return a == b || leftErr == nil && rightErr == nil && left == right
}

// checkEnvironment refuses another value for what the pod itself sets. The cluster's proxy is no part of that.
func (c *checkedInputs) checkEnvironment(e custom, base *corev1.Pod) {
	var reserved []string
	for _, container := range base.Spec.Containers {
		for _, variable := range container.Env {
			if container.Name == Name {
				reserved = append(reserved, variable.Name)
			}
		}
	}
	seen := map[string]bool{}
	for _, variable := range e.Env {
		field := fmt.Sprintf("spec.custom.env[%s]", variable.Name)
		if slices.Contains(reserved, variable.Name) {
			c.refuseCustom(field, "the operator sets this variable: remove it; a CA to trust belongs in the ConfigMap that "+
				"spec.trustedCA of proxy.config.openshift.io/cluster names")
		}
		if seen[variable.Name] {
			c.refuseCustom(field, "there are two of this name; remove one")
		}
		seen[variable.Name] = true
	}
}

// checkProbe refuses a port on which nobody will answer, where that can be told.
func (c *checkedInputs) checkProbe(e custom, ours []string) {
	served, _ := flagValue(ours, "secure-port")
	moved, given := flagValue(e.Args, "secure-port")
	if given && moved != served && (e.Probe == nil || e.Probe.Port == 0) {
		c.refuseCustom("spec.custom.probe.port", "--secure-port is %s, but nothing is said here, so port %s would be probed and the "+
			"cloud-controller-manager restarted for ever; give the port where it answers", moved, served)
	}
}

// checkPaths refuses the name of a file that will not be on the node, which would end in a crash loop there.
func (c *checkedInputs) checkPaths(in Inputs, e custom) {
	if len(c.problems) > 0 || in.Credentials.Unknown || len(in.Custom.Missing) > 0 {
		return
	}
	files := c.pathsOnNode(in)
	for _, t := range e.texts() {
		for _, named := range pathsIn(t.value) {
			within := slices.ContainsFunc(files, func(f string) bool { return f == named || strings.HasPrefix(f, named+"/") })
			if within || isObjectFolder(named) {
				continue
			}
			c.refuseCustom(t.field, "nothing is delivered as %s%s", named, neighbours(files, named))
		}
	}
}

// pathsOnNode are all files that the operand will find.
func (c *checkedInputs) pathsOnNode(in Inputs) []string {
	paths := []string{kubeconfigFile}
	// Without a server the kubeconfigs make no sense, but their names are right.
	files, err := deliver(in, "", c)
	if err != nil {
		return nil
	}
	for _, f := range files {
		if !f.forCertSyncer() {
			paths = append(paths, f.path())
		}
	}
	for key := range in.Custom.Reloaded {
		paths = append(paths, deliveredFile{kind: Secret, object: CloudTokensSecret, key: key}.path())
	}
	if in.Phase.Files == nil {
		// The cert-syncer brings these.
		for _, f := range []deliveredFile{
			{kind: ConfigMap, object: ClientCAConfigMap, key: "ca-bundle.crt"},
			{kind: ConfigMap, object: RequestHeaderClientCAConfigMap, key: "ca-bundle.crt"},
			{kind: Secret, object: KubeTokenSecret, key: "token"},
			{kind: Secret, object: ServingCertSecret, key: "tls.crt"},
			{kind: Secret, object: ServingCertSecret, key: "tls.key"},
		} {
			paths = append(paths, f.path())
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// pathsIn finds the paths below our folders in a text.
func pathsIn(value string) []string {
	var found []string
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n=,;:\"'", r) }) {
		word = path.Clean(word)
		for _, folder := range []string{resourceDir, certDir} {
			if strings.HasPrefix(word, folder+"/") {
				found = append(found, word)
			}
		}
	}
	return found
}

// isObjectFolder tells whether it is the folder of an object, which is there even when it is empty.
func isObjectFolder(named string) bool {
	return slices.ContainsFunc(Delivered(), func(o Object) bool {
		return o.Name != CertSyncerTokenSecret && path.Dir(deliveredFile{kind: o.Kind, object: o.Name, key: "key"}.path()) == named
	})
}

// neighbours says what there is in the folder of a path instead.
func neighbours(files []string, named string) string {
	var names []string
	for _, f := range files {
		if path.Dir(f) == path.Dir(named) {
			names = append(names, path.Base(f))
		}
	}
	if len(names) == 0 {
		return "; correct the path, or add the key to a Secret of spec.custom.secrets"
	}
	return ", there is " + strings.Join(names, ", ") + " in that folder; correct the path"
}
