package customccm

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

var electionFlags = []string{"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace"}

// Candidate is the candidate that a custom cloud-controller-manager is checked against.
type Candidate struct {
	Platform platform.Platform

	// Container is the operand's container without spec.custom.
	Container corev1.Container

	// Lease is the lease by which the operator detects the leader, as "lease/<name> in <namespace>".
	Lease string

	// ServiceAccount is "serviceaccount/<name> in <namespace>", empty if the phase has its own kubeconfig.
	ServiceAccount string

	Paths Paths

	// CloudConfig is the content of cloud.conf. Source is its place for diagnostics.
	CloudConfig []byte
	Source      diagnostic.Diagnostic
}

// Paths are the paths that exist for the containers below Roots.
type Paths struct {
	// Roots are the directories below which only Files and Directories exist.
	Roots []string

	// Files are the delivered files. If it is nil, another input is missing or rejected, and paths are not checked.
	Files []string

	// Directories exist even if no file is delivered into them.
	Directories []string
}

// Check returns the errors that the API server cannot detect. It also repeats the CRD's validation for manifests, which
// the API server has not seen yet.
func (c CCM) Check(candidate Candidate) (diagnostics, warnings []diagnostic.Diagnostic) {
	if c.Spec == nil {
		return nil, nil
	}
	r := &report{}
	r.checkImage(c.Spec)
	if !candidate.Platform.Custom {
		r.checkBuiltIn(c.Spec, candidate.Platform)
		return r.diagnostics, r.warnings
	}
	if c.Spec.Platform != "" {
		r.reject(at("platform"), "platform %s is not supported on this cluster; correct it, or remove it and set "+
			"spec.custom.image",
			c.Spec.Platform)
		return r.diagnostics, r.warnings
	}
	r.checkEnums(c.Spec)
	r.checkArguments(c.Spec, candidate.Container.Args)
	words := slices.Concat(c.Spec.Command, c.arguments(candidate.Container.Args))
	r.checkElection(c, words, candidate)
	r.checkEnvironment(c.Spec, candidate.Container.Env)
	r.checkProbe(c.Spec, words, candidate.Container.Args)
	r.checkPaths(c, candidate)
	if candidate.ServiceAccount != "" {
		r.warn(Field, "the cloud-controller-manager runs as %s, which has only the permissions that all "+
			"cloud-controller-managers need; bind a role to it if it needs more", candidate.ServiceAccount)
	}
	return r.diagnostics, r.warnings
}

// Overridden returns the error for overrides that change spec.custom: the API server does not validate overrides, and
// they would replace the payload's image. field is the field of the overrides.
func Overridden(field string, p platform.Platform) diagnostic.Diagnostic {
	if p.Image != "" {
		return newDiagnostic(field, "platform %s runs the cloud-controller-manager of the release payload, "+
			"which cannot be replaced; remove the field", p.Name)
	}
	return newDiagnostic(field, "%[1]s cannot be overridden; remove the field and change %[1]s instead", Field)
}

type report struct {
	diagnostics []diagnostic.Diagnostic
	warnings    []diagnostic.Diagnostic
}

func (r *report) reject(field, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, newDiagnostic(field, format, args...))
}

func (r *report) warn(field, format string, args ...any) {
	r.warnings = append(r.warnings, newDiagnostic(field, format, args...))
}

func newDiagnostic(field, format string, args ...any) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		Cause: diagnostic.Configuration, Object: Object, Key: field, Message: fmt.Sprintf(format, args...),
	}
}

// imageName matches the images that the kubelet accepts. It does not limit the length of a digest.
var imageName = regexp.MustCompile(`^(([\w.-]+|\[[0-9a-fA-F:]+\])(:\d+)?/)?[a-z0-9]([a-z0-9._/-]*[a-z0-9])?` +
	`(:[\w.-]{1,128})?(@[\w.+-]+:[0-9a-fA-F]+)?$`)

func (r *report) checkImage(spec *operatorv1.CustomCloudControllerManager) {
	if spec.Image != "" && !imageName.MatchString(spec.Image) {
		r.reject(at("image"), "it is %q, which the kubelet rejects: write it without a scheme and whitespace, and "+
			"in lower case between the registry and the tag, such as registry.example.com/acme/ccm:v1", spec.Image)
	}
}

// checkBuiltIn checks spec.custom on a built-in platform: it may only set an image, and only if the release has none.
func (r *report) checkBuiltIn(spec *operatorv1.CustomCloudControllerManager, p platform.Platform) {
	if spec.Platform != "" && !strings.EqualFold(string(spec.Platform), p.Name) {
		r.reject(at("platform"), "it is %s, but infrastructure.config.openshift.io/cluster has %s; remove the field",
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
			r.reject(at("%s", field.name), "the operator sets this on platform %s; remove the field", p.Name)
		}
	}
}

// Names that the CRD accepts, see the rules of CustomCloudControllerManager.
var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secretName   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
)

// checkEnums repeats the CRD's validation for manifests.
func (r *report) checkEnums(spec *operatorv1.CustomCloudControllerManager) {
	r.checkEnum(at("argsPolicy"), string(spec.ArgsPolicy), "Extend", "Replace")
	for _, v := range spec.Env {
		if !variableName.MatchString(v.Name) {
			r.reject(at("env[%s]", v.Name), "the name must consist of letters, digits and underscores, and not start with a "+
				"digit")
		}
	}
	names := sets.New[string]()
	for _, s := range spec.Secrets {
		if !secretName.MatchString(s.Name) {
			r.reject(at("secrets[%s]", s.Name), "it cannot be the name of a Secret; write a name without namespace")
		}
		if names.Has(s.Name) {
			r.reject(at("secrets[%s]", s.Name), "duplicate name; remove one of the entries")
		}
		names.Insert(s.Name)
		r.checkEnum(at("secrets[%s].delivery", s.Name), string(s.Delivery), "ReadOnce", "Reloaded")
	}
	if spec.Probe != nil {
		r.checkProbeFields(spec.Probe)
	}
}

func (r *report) checkEnum(field, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		r.reject(field, "it is %q; use %s", value, strings.Join(allowed, " or "))
	}
}

func (r *report) checkProbeFields(probe *operatorv1.CustomCloudControllerManagerProbe) {
	r.checkEnum(at("probe.scheme"), string(probe.Scheme), "HTTP", "HTTPS")
	if path := ptr.Deref(probe.Path, ""); path != "" && !strings.HasPrefix(path, "/") {
		r.reject(at("probe.path"), "it is %q; start it with a slash", path)
	}
	if probe.Port < 0 || probe.Port > 65535 {
		r.reject(at("probe.port"), "it is %d; use a port from 1 to 65535", probe.Port)
	}
}

// mistakes are arguments that do not reach the cloud-controller-manager as their author meant them.
var mistakes = []struct {
	pattern *regexp.Regexp
	message string
}{
	{regexp.MustCompile(`^--[\w-]+(=\S*)?\s+--\w`), "it has more than one flag, but reaches the " +
		"cloud-controller-manager as one argument: write each flag as an item of its own"},
	{regexp.MustCompile(`^--[\w-]+\s+[^-\s]`), "flag and value reach the cloud-controller-manager as one argument: " +
		"write --flag=value"},
	{regexp.MustCompile(`^(-?–|—)`), "it starts with the dash of a text, not of a flag: write --"},
	{regexp.MustCompile(`^[a-z]+(-[a-z]+)+=\S`), "it has no dashes: write --flag=value"},
	{regexp.MustCompile(`^--cloud-provider=external$`), "external is the kubelet's value, with which a " +
		"cloud-controller-manager exits: write the name of its provider"},
	{regexp.MustCompile(`(^|[^$])\$(\{|[A-Za-z_])`), "no shell expands the variable: write $(NAME)"},
	{regexp.MustCompile(`^--[\w-]+=("[^"]*"|'[^']*')$|^[“”]|[“”]$`), "no shell removes the quotes: write the value " +
		"without them"},
	{regexp.MustCompile(`^\s|\s$`), "the whitespace at its start or end is a part of it: remove it"},
	{regexp.MustCompile(`^-[A-Za-z]\w*-[\w-]+(=|$)`), "most cloud-controller-managers expect a flag of one letter after " +
		"one dash: write --"},
}

// checkArguments rejects a flag of the operator whose value is a separate argument, because Overlay cannot replace it.
func (r *report) checkArguments(spec *operatorv1.CustomCloudControllerManager, defaults []string) {
	for i, arg := range spec.Args {
		for _, m := range mistakes {
			if m.pattern.MatchString(arg) && !slices.Contains(spec.Command, "-c") { // a shell has rules of its own
				r.warn(at("args[%d]", i), "%s", m.message)
			}
		}
	}
	if len(spec.Command) == 1 && strings.Contains(spec.Command[0], " -") {
		r.warn(at("command[0]"), "the kubelet takes all of it for the name of a program: write each word as an item of its "+
			"own")
	}
	if spec.ArgsPolicy == operatorv1.CustomCloudControllerManagerArgsPolicyReplace {
		return
	}
	for i, arg := range spec.Args {
		known := slices.ContainsFunc(defaults, func(a string) bool {
			name, _ := FlagOf(a)
			return arg == "--"+name
		})
		if known {
			r.reject(at("args[%d]", i), "the operator also sets %[1]s; write flag and value as one argument: "+
				"%[1]s=value", arg)
		}
	}
}

// checkElection rejects other leases than the operator's: the operator would never report Available. words are what the
// container runs.
func (r *report) checkElection(c CCM, words []string, candidate Candidate) {
	for _, name := range electionFlags {
		want, required := FlagValue(candidate.Container.Args, name)
		if !required || slices.Contains(c.Fixed, name) {
			continue
		}
		got, given := FlagValue(words, name)
		if given && !SameValue(got, want) {
			field := at("args")
			if _, isArg := FlagValue(c.Spec.Args, name); !isArg {
				field = at("command")
			}
			r.reject(field, "--%s is %s, but the operator detects the leader by %s; "+
				"remove the flag or use --%s=%s", name, got, candidate.Lease, name, want)
		}
		if !given && name == "leader-elect-resource-namespace" {
			r.warn(at("args"), "--%s=%s is not set, but the operator detects the leader by %s; "+
				"set it unless the cloud-controller-manager renews this lease by default", name, want, candidate.Lease)
		}
	}
	const lock = "leader-elect-resource-lock"
	if got, _ := FlagValue(words, lock); slices.Contains([]string{"configmaps", "endpoints"}, got) {
		r.reject(at("args"), "--%s is %s, which Kubernetes has removed, and the operator detects the leader by %s; remove "+
			"the flag or use --%[1]s=leases", lock, got, candidate.Lease)
	}
}

// checkEnvironment rejects variables that the operator sets, except for the cluster's proxy.
func (r *report) checkEnvironment(spec *operatorv1.CustomCloudControllerManager, reserved []corev1.EnvVar) {
	seen := map[string]bool{}
	for _, variable := range spec.Env {
		field := at("env[%s]", variable.Name)
		if slices.ContainsFunc(reserved, func(v corev1.EnvVar) bool { return v.Name == variable.Name }) {
			r.reject(field, "the operator sets this variable; remove it; to trust a CA, add it to the ConfigMap in "+
				"spec.trustedCA of proxy.config.openshift.io/cluster")
		}
		if seen[variable.Name] {
			r.reject(field, "duplicate name; remove one of the variables")
		}
		seen[variable.Name] = true
		zone := ptr.Deref(variable.Value, "")
		if variable.Name == timeZone && !slices.Contains([]string{"", "UTC", "Etc/UTC"}, zone) {
			r.warn(field, "the times in the log will be those of %q, so the operator takes no line of it for genuine, and "+
				"names no causes; remove the variable", zone)
		}
	}
}

func (r *report) checkProbe(spec *operatorv1.CustomCloudControllerManager, words, defaults []string) {
	served, _ := FlagValue(defaults, "secure-port")
	moved, given := FlagValue(words, "secure-port")
	if given && moved != served && (spec.Probe == nil || spec.Probe.Port == 0) {
		r.reject(at("probe.port"), "--secure-port is %s, but the default probe uses port %s and would restart the "+
			"cloud-controller-manager repeatedly; set the probe's port", moved, served)
	}
	bound, _ := FlagValue(words, "bind-address")
	isProbed := spec.Probe == nil || spec.Probe.Port == 0 || fmt.Sprint(spec.Probe.Port) == cmp.Or(moved, served)
	if address, err := netip.ParseAddr(bound); err == nil && address.IsLoopback() && isProbed {
		r.reject(at("args"), "--bind-address is %s, but the kubelet probes the node's IP and would restart the "+
			"cloud-controller-manager repeatedly; remove the flag", bound)
	}
}

// checkPaths rejects paths of files that are not delivered, which would cause a crash loop on the node. It only warns
// about paths in the cloud configuration, where they may be in a comment.
func (r *report) checkPaths(c CCM, candidate Candidate) {
	paths := candidate.Paths
	if len(r.diagnostics) > 0 || paths.Files == nil {
		return
	}
	for _, v := range c.values() {
		for _, named := range paths.in(v.value) {
			if !paths.exists(named) {
				r.reject(v.field, "the file %s does not exist%s", named, paths.near(named))
			}
		}
		name, file := FlagOf(v.value)
		isFile := slices.Contains([]string{"cloud-config", "kubeconfig"}, name) && !slices.Contains(c.Fixed, name)
		if isFile && path.IsAbs(file) && len(paths.in(file)) == 0 {
			r.warn(v.field, "the pod mounts nothing at %s, unless the image has this file%s", file, paths.near(file))
		}
	}
	for _, named := range paths.in(string(candidate.CloudConfig)) {
		if !paths.exists(named) {
			candidate.Source.Message = fmt.Sprintf("the file %s does not exist%s", named, paths.near(named))
			r.warnings = append(r.warnings, candidate.Source)
		}
	}
}

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

func (p Paths) exists(named string) bool {
	isWithin := func(file string) bool { return file == named || strings.HasPrefix(file, named+"/") }
	return slices.Contains(p.Directories, named) || slices.ContainsFunc(p.Files, isWithin)
}

// near returns the end of a message about a missing path: the files in its directory, if any, and the action.
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
	return "; its directory has " + strings.Join(names, ", ") + "; correct the path"
}
