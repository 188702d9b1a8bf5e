package operand_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// plainHTTP are the platforms whose cloud-controller-manager serves only its health, without TLS.
var plainHTTP = []string{"alibabacloud"}

// invariants apply to every platform in every phase. test/architecture checks that manifests/ has every image and
// Secret.
var invariants = map[string]func(*testing.T, rendering){
	"it needs neither a scheduler nor a pod network":          requireNoCluster,
	"it needs no service network":                             requireNoServiceNetwork,
	"it refers to no object of the API":                       requireNoAPIReferences,
	"no container has a shell, a right, a limit or a port":    requireLockedDown,
	"its probes ask for its health":                           requireProbes,
	"one of them leads, under our lease":                      requireLeaderElection,
	"its clients' CAs and its certificate are files":          requireServingFiles,
	"it trusts the bundle":                                    requireTrust,
	"no secret is in the pod or in a ConfigMap":               requireNoSecrets,
	"every file that anything names is delivered":             requireDelivered,
	"each container sees the files that it needs and no more": requireNarrowMounts,
	"the first container is the operand's, whose image it is": requireOperandFirst,
}

// rendering is one platform in one phase.
type rendering struct {
	platform platform.Platform
	phase    operand.Phase
	in       operand.Inputs
	*operand.Resources
}

// installed reports whether the installer writes the pod to a node of the cluster.
func (r rendering) installed() bool { return r.phase.Files == nil }

// operand returns the cloud-controller-manager's container.
func (r rendering) operand() corev1.Container { return r.Pod.Spec.Containers[0] }

// flags returns the arguments of the form --name=value.
func (r rendering) flags() map[string]string {
	flags := map[string]string{}
	for _, arg := range r.operand().Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flags[name] = value
	}
	return flags
}

// containers returns all containers of the pod, including init containers.
func (r rendering) containers() []corev1.Container {
	return slices.Concat(r.Pod.Spec.InitContainers, r.Pod.Spec.Containers)
}

// everyRendering renders every platform in every phase, also with federated credentials if the fixture has some.
func everyRendering(t *testing.T, check func(*testing.T, rendering)) {
	t.Helper()
	for _, p := range managed() {
		for _, phase := range podPhases(p) {
			in := inputs(t, p, phase)
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) { check(t, rendered(t, in)) })
			if in.Credentials.Data = readFolder(t, p.Name, "federated"); in.Credentials.Data != nil {
				t.Run(p.Name+" with federated credentials in phase "+phase.Name, func(t *testing.T) {
					r := rendered(t, in)
					require.NotEmpty(t, r.Tokens)
					check(t, r)
				})
			}
		}
	}
}

func rendered(t *testing.T, in operand.Inputs) rendering {
	t.Helper()
	resources, err := operand.Render(in)
	require.NoError(t, err)
	return rendering{in.Platform, in.Phase, in, resources}
}

// TestOnlyAnOptionalSecretMayBeMissing compares the registry with each platform's check.
func TestOnlyAnOptionalSecretMayBeMissing(t *testing.T) {
	for _, p := range managed() {
		for _, phase := range phases() {
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) {
				in := inputs(t, p, phase)
				in.Credentials.Data = nil
				_, err := operand.Render(in)
				if p.Credentials.Optional || p.Credentials.Secret == "" {
					require.NoError(t, err)
					return
				}
				var rejected *operand.InputError
				require.ErrorAs(t, err, &rejected)
				for _, d := range rejected.Diagnostics {
					require.Equal(t, diagnostic.Credentials, d.Cause, d)
				}
			})
		}
	}
}

func TestAnInitContainerNeedsTheOperatorsImage(t *testing.T) {
	digitalocean, _ := platform.ByName("digitalocean")
	for phase, container := range map[string]string{"operator": "cloud-env, file-syncer", "bootstrap": "cloud-env"} {
		t.Run("in phase "+phase, func(t *testing.T) {
			all := phases()
			in := inputs(t, digitalocean, all[slices.IndexFunc(all,
				func(p operand.Phase) bool { return p.Name == phase })])
			in.Images.Operator = ""
			_, err := operand.Render(in)
			require.EqualError(t, err, "the release payload, key cluster-cloud-controller-manager-operator: there is "+
				"no image of the operator "+
				"for container "+container+"; the release must name it")
		})
	}
}

func TestInvariants(t *testing.T) {
	for name, invariant := range invariants {
		t.Run(name, func(t *testing.T) { everyRendering(t, invariant) })
	}
}

func requireOperandFirst(t *testing.T, r rendering) {
	require.Equal(t, "cloud-controller-manager", r.operand().Name,
		"library-go reads the operand's image from the first container")
	want := r.in.Images.Operand
	if r.platform.Image == "" {
		require.Empty(t, want, "no release has an image")
		want = "registry.example.com/clouds/"
	}
	require.True(t, strings.HasPrefix(r.operand().Image, want), "%s does not start with %s", r.operand().Image, want)
	for _, c := range r.containers()[1:] {
		require.Contains(t, []string{r.operand().Image, r.in.Images.Operator}, c.Image, c.Name)
	}
}

func requireNoCluster(t *testing.T, r rendering) {
	spec := r.Pod.Spec
	require.True(t, spec.HostNetwork, "it starts before there is a pod network")
	require.Empty(t, spec.NodeName)
	require.Empty(t, spec.NodeSelector)
	require.Nil(t, spec.Affinity)
	require.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, spec.Tolerations)
	require.Equal(t, "system-node-critical", spec.PriorityClassName)
	require.Equal(t, int32(2000001000), *spec.Priority, "a kubelet without an API resolves no class")
	require.NotEmpty(t, r.Pod.Annotations["target.workload.openshift.io/management"])
}

func requireNoServiceNetwork(t *testing.T, r rendering) {
	require.Equal(t, corev1.DNSDefault, r.Pod.Spec.DNSPolicy, "the cluster's DNS is a Service")
	require.False(t, *r.Pod.Spec.EnableServiceLinks)
	require.Equal(t, kubeconfigs+"/cloud-controller-manager.kubeconfig", r.flags()["kubeconfig"],
		"without a kubeconfig it would ask the Service kubernetes")
	for _, c := range r.containers() {
		for _, e := range c.Env {
			require.NotContains(t, e.Name, "KUBERNETES_SERVICE", c.Name)
		}
	}
	if r.installed() {
		require.Contains(t, r.delivered()[kubeconfigs+"/cloud-controller-manager.kubeconfig"],
			"server: https://api-int.demo.example.com:6443\n")
	}
}

func requireNoAPIReferences(t *testing.T, r rendering) {
	require.Empty(t, r.Pod.Spec.ServiceAccountName)
	require.Empty(t, r.Pod.Spec.ImagePullSecrets)
	inMemory := map[string]bool{}
	for _, v := range r.Pod.Spec.Volumes {
		require.True(t, v.HostPath != nil || v.EmptyDir != nil, "volume %s", v.Name)
		if v.EmptyDir != nil {
			require.Equal(t, corev1.StorageMediumMemory, v.EmptyDir.Medium,
				"volume %s: what is written there may be secret", v.Name)
			inMemory[v.Name] = true
		}
	}
	for _, c := range r.containers() {
		require.Empty(t, c.EnvFrom)
		for _, e := range c.Env {
			switch {
			case e.ValueFrom == nil:
			case e.ValueFrom.FileKeyRef != nil:
				require.True(t, inMemory[e.ValueFrom.FileKeyRef.VolumeName], "variable %s", e.Name)
			default:
				require.NotNil(t, e.ValueFrom.FieldRef, "variable %s", e.Name)
				field := e.ValueFrom.FieldRef.FieldPath
				require.True(t, strings.HasPrefix(field, "metadata.") || field == "spec.nodeName",
					"variable %s: a node without addresses has no status fields", e.Name)
			}
		}
	}
}

func requireLockedDown(t *testing.T, r rendering) {
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, r.Pod.Spec.SecurityContext.SeccompProfile.Type)
	for _, c := range r.containers() {
		requireHardened(t, c)
	}
}

// requireHardened checks the security context of a container of any of our pods.
func requireHardened(t *testing.T, c corev1.Container) {
	t.Helper()
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, c.Name)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, c.Name)
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, c.Name)
	require.Contains(t, c.Resources.Requests, corev1.ResourceCPU, c.Name)
	require.Contains(t, c.Resources.Requests, corev1.ResourceMemory, c.Name)
	require.Empty(t, c.Resources.Limits, c.Name)
	require.Empty(t, c.Ports, "%s: a declared port would collide with a leftover pod of the predecessor", c.Name)
	require.Equal(t, corev1.TerminationMessageFallbackToLogsOnError, c.TerminationMessagePolicy, c.Name)
	require.NotEmpty(t, c.Command, "%s: the entrypoint of an image can be a shell", c.Name)
	for _, word := range slices.Concat(c.Command, c.Args) {
		require.NotRegexp(t, `(^|/)(ba|da|z|k)?sh$`, word, c.Name)
		require.NotContains(t, word, "\n", c.Name)
	}
}

func requireProbes(t *testing.T, r rendering) {
	c, scheme := r.operand(), corev1.URISchemeHTTPS
	if slices.Contains(plainHTTP, r.platform.Name) {
		scheme = corev1.URISchemeHTTP
		require.Equal(t, ":10258", r.flags()["health-probe-bind-addr"])
	} else {
		require.Equal(t, "10258", r.flags()["secure-port"])
	}
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		require.NotNil(t, probe, name)
		require.Equal(t, "/healthz", probe.HTTPGet.Path, name)
		require.Equal(t, 10258, probe.HTTPGet.Port.IntValue(), name)
		require.Equal(t, scheme, probe.HTTPGet.Scheme, name)
		require.Empty(t, probe.HTTPGet.Host, name)
	}
}

func requireLeaderElection(t *testing.T, r rendering) {
	flags := r.flags()
	if !r.installed() {
		require.Equal(t, "false", flags["leader-elect"], "the bootstrap node waits for nobody's lease")
		return
	}
	for flag, want := range map[string]string{
		"leader-elect":                    "true",
		"leader-elect-resource-name":      "cloud-controller-manager",
		"leader-elect-resource-namespace": "openshift-cloud-controller-manager",
		"leader-elect-lease-duration":     "137s",
		"leader-elect-renew-deadline":     "107s",
		"leader-elect-retry-period":       "26s",
	} {
		require.Equal(t, want, flags[flag], flag)
	}
}

func requireServingFiles(t *testing.T, r rendering) {
	flags := r.flags()
	files := []string{"client-ca-file", "requestheader-client-ca-file", "tls-cert-file", "tls-private-key-file"}
	for _, flag := range files {
		if !r.installed() || slices.Contains(plainHTTP, r.platform.Name) {
			require.NotContains(t, flags, flag)
			continue
		}
		require.True(t, strings.HasPrefix(flags[flag], certs+"/"), "%s is reloaded, so it is synced: %s", flag,
			flags[flag])
	}
	switch {
	case slices.Contains(plainHTTP, r.platform.Name):
	case r.installed():
		require.Contains(t, r.delivered()[kubeconfigs+"/cloud-controller-manager.kubeconfig"],
			"certificate-authority: "+kubeconfigs+"/ca-bundle.crt\n")
		require.Contains(t, r.delivered()[kubeconfigs+"/ca-bundle.crt"], "BEGIN CERTIFICATE")
	default:
		require.Equal(t, "true", flags["authentication-skip-lookup"], "a start may not need the API")
	}
}

func requireTrust(t *testing.T, r rendering) {
	file := resourceDir + "/configmaps/trusted-ca/ca-bundle.crt"
	require.Contains(t, r.operand().Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: file})
	require.Equal(t, 3, strings.Count(r.delivered()[file], "BEGIN CERTIFICATE"),
		"the proxy's, the system's and the cloud's, each once")
}

// secretMark is in every secret of the fixtures, and nowhere else.
const secretMark = "correct-horse"

// syncerToken is the file-syncer's token.
const syncerToken = "the token of the file-syncer"

func requireNoSecrets(t *testing.T, r rendering) {
	pod, err := r.PodYAML()
	require.NoError(t, err)
	public := string(pod)
	for _, o := range r.ConfigMaps {
		public += fmt.Sprint(o.Annotations) + strings.Join(slices.Collect(maps.Values(o.Data)), "\n")
	}
	for _, f := range r.Files {
		if !f.Secret {
			public += string(f.Data)
		}
	}
	if r.NodeManager != nil {
		daemonSet, err := yaml.Marshal(r.NodeManager)
		require.NoError(t, err)
		public += string(daemonSet)
	}
	require.NotContains(t, public, secretMark)
	require.NotContains(t, public, syncerToken)
	marked := 0
	for key, value := range r.in.Credentials.Data {
		if strings.Contains(string(value), secretMark) {
			marked++
			require.NotContains(t, public, base64.StdEncoding.EncodeToString(value), "credentials key %s", key)
		}
	}
	require.Equal(t, r.in.Credentials.Data != nil && len(r.Tokens) == 0, marked > 0,
		"a fixture has a secret that can be looked for")
}

// The directories of the files in the containers.
const (
	resourceDir = "/etc/kubernetes/static-pod-resources"
	certs       = "/etc/kubernetes/static-pod-certs"
	kubeconfigs = resourceDir + "/configmaps/kubeconfigs"
)

// delivered returns the content of every revisioned file by its path in the container.
func (r rendering) delivered() map[string]string {
	files := map[string]string{}
	for _, o := range r.ConfigMaps {
		for key, value := range o.Data {
			files[resourceDir+"/configmaps/"+o.Name+"/"+key] = value
		}
	}
	for _, o := range r.Secrets {
		for key, value := range o.Data {
			files[resourceDir+"/secrets/"+o.Name+"/"+key] = string(value)
		}
	}
	for _, f := range r.Files {
		files[r.mountOf(f)] = string(f.Data)
	}
	return files
}

// mountOf returns the path in the container of a single file of the host.
func (r rendering) mountOf(f operand.File) string {
	folder := r.phase.Files.ConfigDir
	if f.Secret {
		folder = r.phase.Files.SecretsDir
	}
	for _, v := range r.Pod.Spec.Volumes {
		if v.HostPath == nil || v.HostPath.Path != folder+"/"+f.Name {
			continue
		}
		for _, m := range r.operand().VolumeMounts {
			if m.Name == v.Name {
				return m.MountPath
			}
		}
	}
	return ""
}

var pathOfOurs = regexp.MustCompile(`/etc/kubernetes/static-pod-(resources|certs)[A-Za-z0-9_./-]*[A-Za-z0-9_-]`)

// requireDelivered checks that every path in a flag, a variable or a delivered file exists.
func requireDelivered(t *testing.T, r rendering) {
	files := r.delivered()
	text := strings.Join(slices.Collect(maps.Values(r.flags())), "\n")
	for _, c := range r.containers() {
		text += "\n" + strings.Join(slices.Concat(c.Command, c.Args), "\n")
		for _, e := range c.Env {
			text += "\n" + e.Value
		}
	}
	for name, content := range files {
		if path.Base(name) != "pod.yaml" {
			text += "\n" + content
		}
	}
	for _, named := range pathOfOurs.FindAllString(text, -1) {
		if r.synced(named) || slices.ContainsFunc(r.operand().VolumeMounts,
			func(m corev1.VolumeMount) bool { return m.MountPath == named }) {
			continue
		}
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(files)),
			func(f string) bool { return f == named || strings.HasPrefix(f, named+"/") }),
			"%s is named and not delivered", named)
	}
}

// requireNarrowMounts checks that every path in a container's arguments and variables is in a mount of that container,
// and that no container can read another container's credentials. The operand's kubeconfig and cloud configuration name
// the other files that it reads.
func requireNarrowMounts(t *testing.T, r rendering) {
	for _, c := range r.containers() {
		text := strings.Join(slices.Concat(c.Command, c.Args), "\n")
		for _, e := range c.Env {
			text += "\n" + e.Value
		}
		if c.Name == r.operand().Name {
			text += "\n" + r.delivered()[kubeconfigs+"/cloud-controller-manager.kubeconfig"] + "\n" +
				r.delivered()[resourceDir+"/secrets/cloud-config/cloud.conf"]
		}
		for _, named := range pathOfOurs.FindAllString(text, -1) {
			// On the bootstrap node, files are mounted one by one, optional files may be missing, and there are no
			// tokens.
			optional := !r.installed() && (c.Name == "cloud-env" || strings.Contains(named, "/cloud-tokens/"))
			require.True(t, sees(c, named) || optional, "container %s names %s and does not see it", c.Name, named)
		}
		require.Equal(t, c.Name == "file-syncer", sees(c, resourceDir+"/secrets/file-syncer-token/token"),
			"container %s", c.Name)
		if c.Name == "file-syncer" {
			require.True(t, sees(c, kubeconfigs+"/ca-bundle.crt"))
			require.Subset(t, c.Args, []string{
				"--configmaps=" + strings.Join(operand.DeliveredBy(operand.ConfigMap, operand.Synced), ","),
				"--secrets=" + strings.Join(operand.DeliveredBy(operand.Secret, operand.Synced), ","),
			})
		}
		for _, m := range c.VolumeMounts {
			writes := m.Name == "cert-dir" && c.Name == "file-syncer" || m.Name == "cloud-env"
			require.Equal(t, !writes, m.ReadOnly, "container %s, mount %s", c.Name, m.MountPath)
			if strings.HasPrefix(m.MountPath, certs) {
				require.Equal(t, certs, m.MountPath,
					"container %s: the file-syncer swaps the directories inside, which a mount of one does not follow",
					c.Name)
			}
		}
	}
	for _, v := range r.Pod.Spec.Volumes {
		if inside, ok := strings.CutPrefix(ptr.Deref(v.HostPath, corev1.HostPathVolumeSource{}).Path, resourceDir+"/cloud-controller-manager-pod-REVISION"); ok {
			if v.Name == "cloud-credentials" {
				// It may have no files, and then the installer makes no directory.
				require.Equal(t, corev1.HostPathDirectoryOrCreate, *v.HostPath.Type, v.Name)
				continue
			}
			require.Equal(t, corev1.HostPathDirectory, *v.HostPath.Type, v.Name)
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(r.delivered())),
				func(f string) bool { return strings.HasPrefix(f, resourceDir+inside+"/") }), "the installer makes no %s", inside)
		}
	}
}

// sees reports whether a file is below a mount of the container, or a directory has a mount below it.
func sees(c corev1.Container, file string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return file == m.MountPath || strings.HasPrefix(file, m.MountPath+"/") ||
			strings.HasPrefix(m.MountPath, file+"/")
	})
}

// synced reports whether a path is a file that the file-syncer updates.
func (r rendering) synced(named string) bool {
	object, isSynced := strings.CutPrefix(named, certs+"/")
	if !isSynced {
		return false
	}
	kind, rest, _ := strings.Cut(object, "/")
	name, key, _ := strings.Cut(rest, "/")
	if name == operand.CloudTokensSecret {
		for _, token := range r.Tokens {
			if token.Key == key {
				return true
			}
		}
		return false
	}
	kinds := map[string]operand.Kind{"secrets": operand.Secret, "configmaps": operand.ConfigMap}
	return slices.Contains(operand.DeliveredBy(kinds[kind], operand.Synced), name)
}

// mayDiffer are the fields of the pod that differ between the phases. All other fields are the same.
var mayDiffer = []*regexp.Regexp{
	regexp.MustCompile(`^metadata\.labels\.revision$`),
	// On the bootstrap node it serves no requests, initializes nodes and has no other candidate for the lease.
	regexp.MustCompile(`^spec\.containers\[cloud-controller-manager\]\.args\[--(authentication-kubeconfig|authorization-kubeconfig|client-ca-file|requestheader-client-ca-file)\]$`),
	regexp.MustCompile(`^spec\.containers\[cloud-controller-manager\]\.args\[--(tls-cert-file|tls-private-key-file|authentication-skip-lookup|controllers)\]$`),
	regexp.MustCompile(`^spec\.containers\[cloud-controller-manager\]\.args\[--leader-elect(-resource-name|-resource-namespace|-lease-duration|-renew-deadline|-retry-period)?\]$`),
	regexp.MustCompile(`^spec\.containers\[file-syncer\]`),
	// The operator's pod mounts directories of a revision, the bootstrap pod mounts single files.
	regexp.MustCompile(`^spec\.(initContainers|containers)\[[a-z-]+\]\.volumeMounts\[/etc/kubernetes/static-pod-`),
	regexp.MustCompile(`^spec\.volumes\[(config|kubeconfigs|cloud-config|cloud-credentials|file-syncer-token|cert-dir|revision|manifests|kubeconfig|file-\d+)\]`),
}

// inBothPhases returns the platforms whose static pod also runs on the bootstrap node.
func inBothPhases() []platform.Platform {
	return slices.DeleteFunc(managed(), func(p platform.Platform) bool { return len(podPhases(p)) == 1 })
}

// TestParity checks that the pods of the two phases differ only in the listed fields.
func TestParity(t *testing.T) {
	used := map[int]bool{}
	for _, p := range inBothPhases() {
		t.Run(p.Name, func(t *testing.T) {
			var pods []map[string]string
			for _, phase := range phases() {
				resources, err := operand.Render(inputs(t, p, phase))
				require.NoError(t, err)
				object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(resources.Pod)
				require.NoError(t, err)
				leaves := map[string]string{}
				flatten("", object, leaves)
				pods = append(pods, leaves)
			}
			for place := range merged(pods[0], pods[1]) {
				if pods[0][place] == pods[1][place] {
					continue
				}
				i := slices.IndexFunc(mayDiffer, func(r *regexp.Regexp) bool { return r.MatchString(place) })
				if i < 0 {
					t.Errorf("%s is %q in phase %s and %q in phase %s", place, pods[0][place], phases()[0].Name,
						pods[1][place], phases()[1].Name)
					continue
				}
				used[i] = true
			}
		})
	}
	require.Len(t, used, len(mayDiffer), "a place in which no platform differs is no exception")
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// flatten returns the leaves of an object by their path. A list element is identified by its merge key.
func flatten(place string, value any, into map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			flatten(strings.TrimPrefix(place+"."+key, "."), v, into)
		}
	case []any:
		for i, v := range value {
			flatten(fmt.Sprintf("%s[%s]", place, nameOf(i, v)), v, into)
		}
	default:
		into[place] = fmt.Sprint(value)
	}
}

func nameOf(i int, member any) string {
	switch member := member.(type) {
	case map[string]any:
		for _, key := range []string{"mountPath", "name"} {
			if name, ok := member[key]; ok {
				return fmt.Sprint(name)
			}
		}
	case string:
		if name, _, isFlag := strings.Cut(member, "="); isFlag && strings.HasPrefix(name, "--") && name != "--set" {
			return name
		}
	}
	return fmt.Sprint(i)
}

// TestBothPhasesDeliverTheSame compares the files that the operand reads, except for its API credentials.
func TestBothPhasesDeliverTheSame(t *testing.T) {
	for _, p := range inBothPhases() {
		t.Run(p.Name, func(t *testing.T) {
			var contents []map[string]string
			for _, phase := range phases() {
				in := inputs(t, p, phase)
				resources, err := operand.Render(in)
				require.NoError(t, err)
				files := rendering{p, phase, in, resources}.delivered()
				maps.DeleteFunc(files, func(name, _ string) bool {
					return slices.ContainsFunc([]string{"/configmaps/kubeconfigs/",
						"/configmaps/cloud-controller-manager-pod/", "/secrets/file-syncer-token/"},
						func(ours string) bool { return strings.Contains(name, ours) })
				})
				contents = append(contents, files)
			}
			require.Equal(t, contents[0], contents[1])
		})
	}
}
