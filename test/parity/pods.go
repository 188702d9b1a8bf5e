package parity

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// addPod adds the facts about the pods of a workload. prefix is that of the sections, main the name of the container
// that runs the cloud's program.
func (f Facts) addPod(platform, prefix, workload string, pod corev1.PodSpec, main string) error {
	var container *corev1.Container
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.Name == main {
			container = &c
			continue
		}
		line, err := readCommand(c)
		if err != nil {
			return err
		}
		f.add(platform, prefix+containerSection, c.Name, strings.TrimPrefix(line.program, "/"))
	}
	if container == nil {
		return fmt.Errorf("%s has no container %s", workload, main)
	}
	if err := f.addContainer(platform, prefix, pod, *container); err != nil {
		return fmt.Errorf("container %s of %s: %w", main, workload, err)
	}
	add := func(item, value string) {
		if value != "" {
			f.add(platform, prefix+podSection, item, value)
		}
	}
	add("workload", workload)
	add("host network", strconv.FormatBool(pod.HostNetwork))
	add("DNS policy", cmp.Or(string(pod.DNSPolicy), string(corev1.DNSClusterFirst)))
	add("priority class", pod.PriorityClassName)
	grace := ptr.Deref(pod.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	add("grace period", fmt.Sprintf("%d s", grace))
	add("ServiceAccount", cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount))
	selector := make([]string, 0, len(pod.NodeSelector))
	for label, value := range pod.NodeSelector {
		selector = append(selector, label+"="+value)
	}
	slices.Sort(selector)
	add("node selector", strings.Join(selector, ", "))
	add("tolerations", tolerations(pod.Tolerations))
	add("security", security(pod, *container))
	return nil
}

func (f Facts) addContainer(platform, prefix string, pod corev1.PodSpec, c corev1.Container) error {
	line, err := readCommand(c)
	if err != nil {
		return err
	}
	environment := f.addEnvironment(platform, prefix+environmentSection, c.Env)
	for _, file := range line.sourced {
		f.add(platform, prefix+environmentSection, "variables in "+file, "if the file exists")
	}
	for _, argument := range line.arguments {
		if !strings.HasPrefix(argument, "-") {
			return fmt.Errorf("argument %q is not a flag", argument)
		}
		flag, value, valued := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		if !valued {
			value = "true"
		}
		f.add(platform, prefix+flagSection, flag, variable.ReplaceAllStringFunc(value, func(reference string) string {
			return cmp.Or(environment[variable.FindStringSubmatch(reference)[1]], reference)
		}))
	}
	f.addMounts(platform, prefix+mountSection, pod, c)
	for name, probe := range map[string]*corev1.Probe{
		"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe, "startup": c.StartupProbe,
	} {
		if probe != nil {
			f.add(platform, prefix+probeSection, name, describeProbe(*probe))
		}
	}
	for name, quantity := range c.Resources.Requests {
		f.add(platform, prefix+resourceSection, string(name)+" request", quantity.String())
	}
	for name, quantity := range c.Resources.Limits {
		f.add(platform, prefix+resourceSection, string(name)+" limit", quantity.String())
	}
	f.add(platform, prefix+podSection, "program", line.program)
	f.add(platform, prefix+podSection, "image", imageTag(c.Image))
	for _, port := range c.Ports {
		f.add(platform, prefix+podSection, "declared port", strconv.Itoa(int(port.ContainerPort)))
	}
	return nil
}

// addEnvironment adds variables and returns those with a literal value.
func (f Facts) addEnvironment(platform, section string, variables []corev1.EnvVar) map[string]string {
	literal := map[string]string{}
	for _, v := range variables {
		switch {
		case strings.HasSuffix(v.Name, proxySuffix):
			f.add(platform, section, proxyItem, proxyValue)
		case v.ValueFrom != nil && v.ValueFrom.FieldRef != nil:
			f.add(platform, section, v.Name, "field "+v.ValueFrom.FieldRef.FieldPath)
		default:
			literal[v.Name] = v.Value
			f.add(platform, section, v.Name, v.Value)
		}
	}
	return literal
}

// The proxy's variables depend on the cluster, so they are one item.
const (
	proxySuffix = "_PROXY"
	proxyItem   = "HTTP_PROXY, HTTPS_PROXY, NO_PROXY"
	proxyValue  = "those that Proxy/cluster sets"
)

// variable matches a variable that Kubernetes expands in arguments.
var variable = regexp.MustCompile(`\$\((\w+)\)`)

// command is what a container executes.
type command struct {
	program   string
	arguments []string
	// sourced are the files whose variables the container's script adds to the environment.
	sourced []string
}

// readCommand reads the command of a container, or that in its script: the predecessor starts programs from bash.
func readCommand(c corev1.Container) (command, error) {
	words := slices.Concat(c.Command, c.Args)
	if len(words) == 0 {
		return command{}, fmt.Errorf("container %s has no command", c.Name)
	}
	if path.Base(words[0]) != "bash" {
		return command{program: words[0], arguments: words[1:]}, nil
	}
	var found command
	script := strings.ReplaceAll(words[len(words)-1], "\\\n", " ")
	for line := range strings.Lines(script) {
		fields := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		switch {
		case len(fields) > 1 && fields[0] == "exec":
			found.program, found.arguments = fields[1], fields[2:]
		case len(fields) == 2 && fields[0] == "source":
			found.sourced = append(found.sourced, fields[1])
		}
	}
	if found.program == "" {
		return command{}, fmt.Errorf("the script of container %s executes nothing", c.Name)
	}
	return found, nil
}

func (f Facts) addMounts(platform, section string, pod corev1.PodSpec, c corev1.Container) {
	mounted := map[string]bool{}
	for _, other := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, mount := range other.VolumeMounts {
			mounted[mount.Name] = true
		}
	}
	sources := map[string]string{}
	for _, volume := range pod.Volumes {
		sources[volume.Name] = source(volume)
		if !mounted[volume.Name] {
			f.add(platform, section, "volume "+volume.Name+", not mounted", source(volume))
		}
	}
	for _, mount := range c.VolumeMounts {
		value := sources[mount.Name]
		if !mount.ReadOnly {
			value += ", writable"
		}
		f.add(platform, section, mount.MountPath, value)
	}
}

// source describes the source of a volume's files. The API server makes a volume without a source an emptyDir.
func source(volume corev1.Volume) string {
	switch {
	case volume.ConfigMap != nil:
		return "ConfigMap/" + volume.ConfigMap.Name + keys(volume.ConfigMap.Items)
	case volume.Secret != nil:
		return "Secret/" + volume.Secret.SecretName + keys(volume.Secret.Items)
	case volume.HostPath != nil:
		return "the host's " + volume.HostPath.Path
	case volume.Projected != nil:
		var sources []string
		for _, s := range volume.Projected.Sources {
			if s.ServiceAccountToken != nil {
				sources = append(sources, "token for "+s.ServiceAccountToken.Audience)
			}
		}
		return strings.Join(sources, ", ")
	}
	return "emptyDir"
}

func keys(items []corev1.KeyToPath) string {
	names := make([]string, 0, len(items))
	for _, item := range items {
		name := item.Key
		if item.Path != item.Key {
			name += " as " + item.Path
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// describeProbe describes a probe with the defaults of the API server.
func describeProbe(p corev1.Probe) string {
	target := "other than HTTP"
	if get := p.HTTPGet; get != nil {
		scheme := strings.ToLower(string(cmp.Or(get.Scheme, corev1.URISchemeHTTP)))
		target = fmt.Sprintf("%s://%s:%s%s", scheme, cmp.Or(get.Host, "<pod IP>"), get.Port.String(), get.Path)
	}
	return fmt.Sprintf("%s from %d s, every %d s, timeout %d s, %d failures", target, p.InitialDelaySeconds,
		cmp.Or(p.PeriodSeconds, 10), cmp.Or(p.TimeoutSeconds, 1), cmp.Or(p.FailureThreshold, 3))
}

func tolerations(all []corev1.Toleration) string {
	described := make([]string, 0, len(all))
	for _, t := range all {
		text := cmp.Or(t.Key, "all")
		if t.Effect != "" {
			text += ":" + string(t.Effect)
		}
		if t.TolerationSeconds != nil {
			text += fmt.Sprintf(" for %d s", *t.TolerationSeconds)
		}
		described = append(described, text)
	}
	slices.Sort(described)
	return strings.Join(described, ", ")
}

// security describes what restricts the processes of a container.
func security(pod corev1.PodSpec, c corev1.Container) string {
	var described []string
	if s := pod.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			described = append(described, fmt.Sprintf("user %d", *s.RunAsUser))
		}
		if s.SeccompProfile != nil {
			described = append(described, "seccomp "+string(s.SeccompProfile.Type))
		}
	}
	if s := c.SecurityContext; s != nil {
		if s.Capabilities != nil && slices.Contains(s.Capabilities.Drop, "ALL") {
			described = append(described, "no capabilities")
		}
		if ptr.Deref(s.ReadOnlyRootFilesystem, false) {
			described = append(described, "read-only root file system")
		}
		if !ptr.Deref(s.AllowPrivilegeEscalation, true) {
			described = append(described, "no privilege escalation")
		}
	}
	return strings.Join(described, ", ")
}

func imageTag(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	return name
}
