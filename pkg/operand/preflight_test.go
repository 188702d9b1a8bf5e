package operand_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

func preflighted() []platform.Platform {
	return slices.DeleteFunc(managed(), func(p platform.Platform) bool { return !p.Preflight })
}

func preflightOf(t *testing.T, in operand.Inputs) (*corev1.Secret, *corev1.Pod) {
	t.Helper()
	secret, err := operand.PreflightCandidate(in)
	require.NoError(t, err)
	require.NotNil(t, secret)
	pod, err := operand.PreflightPodOf(secret)
	require.NoError(t, err)
	return secret, pod
}

// pinned are the flags of a preflight that differ from the candidate's.
var pinned = map[string]string{
	"controllers":                 "cloud-node-controller",
	"leader-elect":                "true",
	"leader-elect-lease-duration": "15s",
	"leader-elect-renew-deadline": "10s",
	"leader-elect-resource-name":  "cloud-controller-manager-preflight",
	"leader-elect-retry-period":   "2s",
	"secure-port":                 "0",
	"vmodule":                     "node_controller=5",
}

// pinnedOn are those of a platform besides, and other values of the same ones.
var pinnedOn = map[string]map[string]string{
	"openstack": {"controllers": "cloud-node-controller,service-lb-controller", "concurrent-service-syncs": "0"},
}

// withoutFlags returns the arguments of other flags.
func withoutFlags(args []string, flags map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		return flags[name] != ""
	})
}

// omitted are the variables that a preflight does not have.
var omitted = map[string][]string{
	"digitalocean": {"DO_CLUSTER_ID", "PUBLIC_ACCESS_FIREWALL_NAME", "PUBLIC_ACCESS_FIREWALL_TAGS"},
}

// logsMore is the variable with which Azure's SDK says why it repeats a request.
const logsMore = "AZURE_SDK_GO_LOGGING"

// oneProcessor keeps the lines of the log in order.
var oneProcessor = corev1.EnvVar{Name: "GOMAXPROCS", Value: "1"}

// unmounted are containers without their mounts: a preflight has the same files in another volume.
func unmounted(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		containers[i].VolumeMounts = nil
	}
	return containers
}

func TestAPreflightStartsWithWhatTheCandidateHas(t *testing.T) {
	var names []string
	for _, p := range preflighted() {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"aws", "azure", "digitalocean", "gcp", "ibmcloud", "nutanix", "openstack", "vsphere"}, names)
	for _, p := range preflighted() {
		t.Run(p.Name, func(t *testing.T) {
			in := inputs(t, p, operand.OperatorPhase())
			in.Overrides = []byte(`extendedArguments: {controllers: ["*"], v: ["4"]}`)
			candidate, err := operand.Render(in)
			require.NoError(t, err)
			secret, pod := preflightOf(t, in)
			want, got := candidate.Pod.Spec.Containers[0], pod.Spec.Containers[0]
			require.Len(t, pod.Spec.Containers, 1)
			require.Equal(t, want.Image, got.Image)
			require.Equal(t, want.Command, got.Command)
			require.Equal(t,
				slices.DeleteFunc(want.Env, func(v corev1.EnvVar) bool { return slices.Contains(omitted[p.Name], v.Name) }),
				slices.DeleteFunc(slices.Clone(got.Env), func(v corev1.EnvVar) bool { return v.Name == logsMore || v == oneProcessor }))
			require.Contains(t, got.Env, oneProcessor)
			require.Equal(t, unmounted(candidate.Pod.Spec.InitContainers), unmounted(pod.Spec.InitContainers))
			flags := maps.Clone(pinned)
			maps.Copy(flags, pinnedOn[p.Name])
			require.Equal(t, withoutFlags(want.Args, flags), withoutFlags(got.Args, flags))
			for flag, value := range flags {
				require.Contains(t, got.Args, "--"+flag+"="+value)
			}
			requireSameFiles(t, candidate, secret, pod)
		})
	}
}

// What a candidate does not start must not reject it, and what it starts must be tried.
func TestAPreflightStartsNoControllerThatTheCandidateDoesNotStart(t *testing.T) {
	const both, nodes = "--controllers=cloud-node-controller,service-lb-controller", "--controllers=cloud-node-controller"
	for name, tc := range map[string]struct{ controllers, want string }{
		"all of them":                          {`["*"]`, both},
		"no value, which means all":            {`[]`, both},
		"all but routes":                       {`["*", -node-route-controller]`, both},
		"the two by name":                      {`[cloud-node-controller, service-lb-controller]`, both},
		"the two by their short names":         {`[cloud-node, service]`, both},
		"no Services":                          {`["*", -service-lb-controller]`, nodes},
		"no Services, by the short name":       {`["*", -service]`, nodes},
		"only the nodes":                       {`[cloud-node-controller]`, nodes},
		"everything but what is deleted there": {`[cloud-node-lifecycle-controller]`, nodes},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, openstack(), operand.OperatorPhase())
			in.Overrides = []byte(`extendedArguments: {controllers: ` + tc.controllers + `}`)
			_, pod := preflightOf(t, in)
			require.Contains(t, pod.Spec.Containers[0].Args, tc.want)
			require.Equal(t, tc.want == both, slices.Contains(pod.Spec.Containers[0].Args, "--concurrent-service-syncs=0"))
		})
	}
}

// What DigitalOcean's provider has these for, it does whatever the flag --controllers says.
func TestAPreflightHasNothingThatMakesItsProviderWrite(t *testing.T) {
	for _, p := range preflighted() {
		_, pod := preflightOf(t, inputs(t, p, operand.OperatorPhase()))
		for _, variable := range pod.Spec.Containers[0].Env {
			require.NotEqual(t, "DO_CLUSTER_ID", variable.Name)
			require.NotContains(t, variable.Name, "PUBLIC_ACCESS_FIREWALL")
		}
	}
}

// requireSameFiles compares the files that the static pod's container reads with those of the preflight.
func requireSameFiles(t *testing.T, candidate *operand.Resources, secret *corev1.Secret, pod *corev1.Pod) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, o := range candidate.ConfigMaps {
		for key, value := range o.Data {
			if o.Name != operand.PodConfigMap {
				want["configmaps/"+o.Name+"/"+key] = value
			}
		}
	}
	for _, o := range candidate.Secrets {
		for key, value := range o.Data {
			if o.Name != operand.FileSyncerTokenSecret {
				want["secrets/"+o.Name+"/"+key] = string(value)
			}
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == operand.PreflightName {
			for _, item := range v.Secret.Items {
				got[item.Path] = string(secret.Data[item.Key])
			}
		}
	}
	require.Equal(t, want, got)
}

func TestAPreflightIsNoStaticPodAndTouchesNoHost(t *testing.T) {
	for _, p := range preflighted() {
		_, pod := preflightOf(t, inputs(t, p, operand.OperatorPhase()))
		require.Equal(t, "cloud-controller-manager-preflight", pod.Labels["app"])
		require.NotContains(t, pod.Labels, "revision")
		require.Equal(t, "cloud-controller-manager-preflight", pod.Spec.ServiceAccountName)
		require.Equal(t, "hostnetwork-v2", pod.Annotations["openshift.io/required-scc"])
		require.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
		require.EqualValues(t, 1380, *pod.Spec.ActiveDeadlineSeconds)
		require.Nil(t, pod.Spec.Priority)
		require.Nil(t, pod.Spec.SecurityContext.RunAsUser)
		container := pod.Spec.Containers[0]
		require.Nil(t, container.LivenessProbe)
		require.Nil(t, container.ReadinessProbe)
		require.Nil(t, container.StartupProbe)
		require.Equal(t, corev1.TerminationMessageFallbackToLogsOnError, container.TerminationMessagePolicy)
		for _, volume := range pod.Spec.Volumes {
			require.Nil(t, volume.HostPath, volume.Name)
		}
	}
}

func TestTheDigestOfAPreflightFollowsWhatItTries(t *testing.T) {
	in := inputs(t, openstack(), operand.OperatorPhase())
	digest := func() string {
		secret, _ := preflightOf(t, in)
		return secret.Annotations[operand.PreflightDigestAnnotation]
	}
	first := digest()
	require.Equal(t, first, digest())
	in.ForceRedeploymentReason, in.Images.Operator = "again", "another"
	require.Equal(t, first, digest(), "the cloud-controller-manager has neither")
	in.Images.Operand = "another"
	require.NotEqual(t, first, digest())
}

func TestACandidateThatDoesNotFitInASecretHasNoPreflight(t *testing.T) {
	in := inputs(t, openstack(), operand.OperatorPhase())
	for key, value := range in.Credentials.Data {
		in.Credentials.Data[key] = slices.Concat(value, []byte("\n# "), bytes.Repeat([]byte("x"), 1<<20))
	}
	secret, err := operand.PreflightCandidate(in)
	require.NoError(t, err)
	require.Nil(t, secret)
}

func TestACandidateThatJustFitsInASecretHasAPreflight(t *testing.T) {
	in := inputs(t, openstack(), operand.OperatorPhase())
	size := func() (sum int) {
		secret, _ := preflightOf(t, in)
		for _, data := range secret.Data {
			sum += len(data)
		}
		return sum
	}
	key := slices.Sorted(maps.Keys(in.Credentials.Data))[0]
	pad := func(text []byte) { in.Credentials.Data[key] = append(in.Credentials.Data[key], text...) }
	pad([]byte("\n# "))
	pad(bytes.Repeat([]byte("x"), customccm.MaxBytes-size()))
	require.Equal(t, customccm.MaxBytes, size())
	pad([]byte("x"))
	secret, err := operand.PreflightCandidate(in)
	require.NoError(t, err)
	require.Nil(t, secret)
}

func TestNothingStartsWithoutObjects(t *testing.T) {
	digests := operand.Objects{}.StartDigests(0)
	require.Empty(t, digests)
}

func TestOnlyWhatTheCloudControllerManagerStartsWithIsAChange(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*operand.Inputs)
		want   []diagnostic.Cause
	}{
		"nothing":                {func(*operand.Inputs) {}, nil},
		"the operator's image":   {func(in *operand.Inputs) { in.Images.Operator = "another" }, nil},
		"the reason to redeploy": {func(in *operand.Inputs) { in.ForceRedeploymentReason = "again" }, nil},
		"the API server's CA":    {func(in *operand.Inputs) { in.Identity.CABundle = in.CloudConfig.CABundle }, nil},
		"the image":              {func(in *operand.Inputs) { in.Images.Operand = "another" }, []diagnostic.Cause{diagnostic.Image}},
		"a flag":                 {func(in *operand.Inputs) { in.Overrides = []byte(`extendedArguments: {v: ["4"]}`) }, []diagnostic.Cause{diagnostic.Configuration}},
		"the cloud configuration": {func(in *operand.Inputs) {
			in.CloudConfig.Data = append(in.CloudConfig.Data, "\nmax-shared-lb = 3\n"...)
		}, []diagnostic.Cause{diagnostic.CloudConfig}},
		"the trusted CA":           {func(in *operand.Inputs) { in.Trust = nil }, []diagnostic.Cause{diagnostic.TrustedCA}},
		"the credentials":          {func(in *operand.Inputs) { in.Credentials.Data = rotated(in.Credentials.Data) }, []diagnostic.Cause{diagnostic.Credentials}},
		"a proxy for the cloud":    {func(in *operand.Inputs) { in.Overrides = []byte(`proxy: {HTTPS_PROXY: "http://other:1"}`) }, []diagnostic.Cause{diagnostic.Configuration}},
		"the token of file-syncer": {func(in *operand.Inputs) { in.Identity.FileSyncerToken = []byte("other") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			former, err := operand.Render(inputs(t, openstack(), operand.OperatorPhase()))
			require.NoError(t, err)
			in := inputs(t, openstack(), operand.OperatorPhase())
			tc.change(&in)
			present, err := operand.Render(in)
			require.NoError(t, err)
			was := former.StartDigests()
			is := present.StartDigests()
			require.Equal(t, tc.want, is.Changed(was).Causes())
			require.True(t, is.Matches(is.Changed(was)))
			require.Equal(t, len(tc.want) == 0, was.Matches(is))
			require.Equal(t, []diagnostic.Cause{
				diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA, diagnostic.Image, diagnostic.Configuration,
			}, is.Changed(nil).Causes(), "nothing was there")
		})
	}
}

func rotated(data map[string][]byte) map[string][]byte {
	changed := map[string][]byte{}
	for key, value := range data {
		changed[key] = append(bytes.Clone(value), "\n# rotated\n"...)
	}
	return changed
}

func openstack() platform.Platform {
	p, _ := platform.ByName("openstack")
	return p
}
