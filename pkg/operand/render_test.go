package operand_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// phases returns both phase overlays.
func phases() []operand.Phase {
	return []operand.Phase{operand.OperatorPhase(), operand.BootstrapPhase()}
}

// podPhases returns the phases in which a static pod runs on the platform: none at bootstrap if the nodes have a
// cloud-node-manager.
func podPhases(p platform.Platform) []operand.Phase {
	if p.NodeManagerImage != "" {
		return []operand.Phase{operand.OperatorPhase()}
	}
	return phases()
}

// managed returns the platforms with a cloud-controller-manager.
func managed() []platform.Platform {
	return slices.DeleteFunc(platform.All(), func(p platform.Platform) bool { return !p.Managed() })
}

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	require.NoError(t, err)
	return data
}

// inputs returns the inputs of a good cluster on the platform. testdata/<platform> has its cloud configuration with the
// other keys, its credentials and the observed configuration.
func inputs(t testing.TB, p platform.Platform, phase operand.Phase) operand.Inputs {
	t.Helper()
	in := operand.Inputs{
		Phase:    phase,
		Platform: p,
		Config:   read(t, p.Name, "observed.yaml"),
		Images: operand.Images{
			Operand:     pullSpec(p.Image),
			NodeManager: pullSpec(p.NodeManagerImage),
			Operator:    pullSpec("cluster-cloud-controller-manager-operator"),
		},
		CloudConfig: operand.CloudConfig{
			Source:   "configmap/cloud-provider-config in openshift-config",
			Key:      "config",
			Data:     readIfExists(t, p.Name, "cloud.conf"),
			CABundle: read(t, "cloud-ca.pem"),
		},
		Credentials: operand.Credentials{
			Source: "secret/" + p.Credentials.Secret + " in openshift-cloud-controller-manager",
			Data:   readFolder(t, p.Name, "credentials"),
		},
		Trust: []operand.TrustSource{
			{Source: "configmap/user-ca-bundle in openshift-config", Key: "ca-bundle.crt",
				Data: read(t, "proxy-ca.pem")},
			{Source: "the system's trust bundle", Data: slices.Concat(read(t, "system-ca.pem"),
				read(t, "proxy-ca.pem"))},
		},
	}
	if endpoints := readIfExists(t, p.Name, "endpoints"); endpoints != nil {
		in.CloudConfig.Keys = map[string][]byte{"endpoints": endpoints}
	}
	if phase.Files == nil {
		in.Identity = &operand.Identity{CABundle: read(t, "system-ca.pem"), FileSyncerToken: []byte(syncerToken)}
	}
	return in
}

// pullSpec returns the pull specification of an image of the payload, empty without a tag.
func pullSpec(tag string) string {
	if tag == "" {
		return ""
	}
	return "registry.example.com/ocp/" + tag + "@sha256:0123"
}

func readIfExists(t testing.TB, path ...string) []byte {
	t.Helper()
	if _, err := os.Stat(filepath.Join(append([]string{"testdata"}, path...)...)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return read(t, path...)
}

// readFolder returns the files of a directory by name, nil if it does not exist.
func readFolder(t testing.TB, path ...string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(append([]string{"testdata"}, path...)...))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	files := map[string][]byte{}
	for _, entry := range entries {
		files[entry.Name()] = read(t, append(path, entry.Name())...)
	}
	return files
}

func TestGoldens(t *testing.T) {
	for _, p := range managed() {
		for _, phase := range phases() {
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) {
				resources, err := operand.Render(inputs(t, p, phase))
				require.NoError(t, err)
				compareGolden(t, filepath.Join("testdata", p.Name, phase.Name+".golden.yaml"), dump(t, resources))
			})
		}
	}
}

// dump returns the rendered resources as readable YAML documents.
func dump(t *testing.T, r *operand.Resources) []byte {
	t.Helper()
	var out bytes.Buffer
	if r.Pod != nil {
		pod, err := r.PodYAML()
		require.NoError(t, err)
		fmt.Fprintf(&out, "# pod.yaml\n%s", pod)
	}
	document := func(title string, data map[string]string) {
		text, err := yaml.Marshal(data)
		require.NoError(t, err)
		fmt.Fprintf(&out, "---\n# %s\n%s", title, text)
	}
	for _, o := range r.ConfigMaps {
		data := maps.Clone(o.Data)
		delete(data, "pod.yaml")
		document("configmap/"+o.Name, data)
	}
	for _, o := range r.Secrets {
		data := map[string]string{}
		for key, value := range o.Data {
			data[key] = string(value)
		}
		document("secret/"+o.Name, data)
	}
	for _, f := range r.Files {
		document(fmt.Sprintf("file %s, secret: %t", f.Name, f.Secret), map[string]string{"data": string(f.Data)})
	}
	if o := r.NodeManagerConfig; o != nil {
		data := map[string]string{}
		for key, value := range o.Data {
			data[key] = string(value)
		}
		document("secret/"+o.Name, data)
	}
	if r.NodeManager != nil {
		daemonSet, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.NodeManager)
		require.NoError(t, err)
		delete(daemonSet, "status")
		text, err := yaml.Marshal(daemonSet)
		require.NoError(t, err)
		fmt.Fprintf(&out, "---\n# daemonset/%s\n%s", r.NodeManager.Name, text)
	}
	var warnings []string
	for _, w := range r.Warnings {
		warnings = append(warnings, w.String())
	}
	configuration, err := yaml.JSONToYAML(r.Config)
	require.NoError(t, err)
	document("configuration", map[string]string{"config.yaml": string(configuration),
		"warnings": strings.Join(warnings, "\n")})
	return out.Bytes()
}

// compareGolden compares with the golden file. With UPDATE_GOLDEN it writes the file and fails, so that the setting
// cannot be left on.
func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, got, 0o644))
		t.Fatalf("recorded %s; run again without UPDATE_GOLDEN", path)
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "%s differs; make update-golden records the change", path)
}

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	for _, p := range managed() {
		for _, phase := range phases() {
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) {
				first, err := operand.Render(inputs(t, p, phase))
				require.NoError(t, err)
				for range 10 {
					again, err := operand.Render(inputs(t, p, phase))
					require.NoError(t, err)
					require.Equal(t, string(dump(t, first)), string(dump(t, again)))
				}
			})
		}
	}
}

func TestRejectedInputs(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	for name, tc := range map[string]struct {
		change func(*operand.Inputs)
		want   string
	}{
		"a missing operand image names the place and the tag": {
			change: func(in *operand.Inputs) {
				in.Images.Operand = ""
				in.Images.Source = "deployment/x in y"
			},
			want: "deployment/x in y, key openstack-cloud-controller-manager: there is no image of the " +
				"cloud-controller-manager for platform openstack; the release must name it",
		},
		"a missing operator image is found too": {
			change: func(in *operand.Inputs) { in.Images.Operator = "" },
			want: "the release payload, key cluster-cloud-controller-manager-operator: there is no image of the " +
				"operator for container file-syncer; the release must name it",
		},
		"an unknown field among the overrides is named": {
			change: func(in *operand.Inputs) { in.Overrides = []byte(`{"extendedArgument": {}}`) },
			want:   `cloudcontrollermanager.operator.openshift.io/cluster, key spec.unsupportedConfigOverrides: the operand's configuration does not fit its schema: unknown field "extendedArgument"; if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, correct it there`,
		},
		"a configuration without the infrastructure's name is not rendered": {
			change: func(in *operand.Inputs) { in.Overrides = []byte(`{"infrastructureName": ""}`) },
			want:   `cloudcontrollermanager.operator.openshift.io/cluster: infrastructureName is not observed yet: infrastructure.config.openshift.io/cluster has no status.infrastructureName`,
		},
		"a configuration for another platform is not rendered": {
			change: func(in *operand.Inputs) { in.Overrides = []byte(`{"platform": "none"}`) },
			want:   `cloudcontrollermanager.operator.openshift.io/cluster: the configuration is for platform "none", the candidate for "openstack"`,
		},
		"a cloud configuration that is missing is reported as it was found": {
			change: func(in *operand.Inputs) {
				in.CloudConfig = operand.CloudConfig{Source: "configmap/c in openshift-config",
					Diagnostic: "it does not exist; create it"}
			},
			want: "configmap/c in openshift-config: it does not exist; create it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, openstack, operand.OperatorPhase())
			tc.change(&in)
			_, err := operand.Render(in)
			var rejected *operand.InputError
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, tc.want, rejected.Error())
		})
	}
}

func TestALikelyTypoIsJudgedByThePolicy(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	in := inputs(t, openstack, operand.OperatorPhase())
	in.CloudConfig.Data = []byte("[Global]\nregionn = one\n")

	in.Policy = diagnostic.Lenient
	resources, err := operand.Render(in)
	require.NoError(t, err)
	require.Len(t, resources.Warnings, 1)
	require.Equal(t,
		`configmap/cloud-provider-config in openshift-config, key config, line 2:1: unknown key "regionn" in [Global]; did you mean "region"?`,
		resources.Warnings[0].String())

	in.Policy = diagnostic.Strict
	_, err = operand.Render(in)
	require.EqualError(t, err,
		`configmap/cloud-provider-config in openshift-config, key config, line 2:1: unknown key "regionn" in [Global]; did you mean "region"?`)
}

func TestAnUnmanagedPlatformIsNotRendered(t *testing.T) {
	none, _ := platform.ByName("none")
	_, err := operand.Render(operand.Inputs{Platform: none, Phase: operand.OperatorPhase()})
	require.EqualError(t, err, `platform "none" has no cloud-controller-manager to render`)
}

func TestOfThousandsOfBrokenCertificatesAHundredAreReported(t *testing.T) {
	in := openStackInputs(t)
	in.Trust = []operand.TrustSource{{Source: "configmap/user-ca-bundle in openshift-config", Key: "ca-bundle.crt",
		Data: bytes.Repeat([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 5000)}}
	resources, err := operand.Render(in)
	require.NoError(t, err)
	require.Len(t, resources.Warnings, 100)
}

func TestTrust(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	cloudCA, proxyCA, systemCA := read(t, "cloud-ca.pem"), read(t, "proxy-ca.pem"), read(t, "system-ca.pem")
	half := proxyCA[:len(proxyCA)/2]
	const incomplete = "incomplete PEM block, which is ignored; paste the whole certificate"
	user := func(data []byte) []operand.TrustSource {
		return []operand.TrustSource{
			{Source: "configmap/user-ca-bundle in openshift-config", Key: "ca-bundle.crt", Data: data},
			{Source: "the system's trust bundle", Data: systemCA},
		}
	}
	for name, tc := range map[string]struct {
		trust    []operand.TrustSource
		want     []byte
		warnings []string
	}{
		"every certificate is there once, in the order of the sources": {
			trust: user(slices.Concat(proxyCA, systemCA, proxyCA)),
			want:  slices.Concat(proxyCA, systemCA, cloudCA),
		},
		"text that is not PEM is reported and left out": {
			trust: user([]byte("hello")),
			want:  slices.Concat(systemCA, cloudCA),
			warnings: []string{"configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: it has no PEM " +
				"certificate; add the CA certificates in PEM"},
		},
		"a broken certificate is reported by its line and the others stay": {
			trust: user(slices.Concat(proxyCA, []byte("# mine\n-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END "+
				"CERTIFICATE-----\n"))),
			want: slices.Concat(proxyCA, systemCA, cloudCA),
			warnings: []string{fmt.Sprintf("configmap/user-ca-bundle in openshift-config, key ca-bundle.crt, line "+
				"%d:1: this certificate cannot be parsed and is ignored; replace it",
				bytes.Count(proxyCA, []byte("\n"))+2)},
		},
		"a private key is reported and never delivered": {
			trust: user(slices.Concat([]byte("-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n"),
				proxyCA)),
			want: slices.Concat(proxyCA, systemCA, cloudCA),
			warnings: []string{"configmap/user-ca-bundle in openshift-config, key ca-bundle.crt, line 1:1: this PEM " +
				"block is not a certificate and is ignored; remove it"},
		},
		"a block that was cut off is reported": {
			trust: user(proxyCA[:len(proxyCA)/2]),
			want:  slices.Concat(systemCA, cloudCA),
			warnings: []string{"configmap/user-ca-bundle in openshift-config, key ca-bundle.crt, line 1:1: " +
				incomplete},
		},
		"blocks that were cut off or lost a hyphen are reported before and after a whole one": {
			trust: user(slices.Concat(half, []byte("\n"), proxyCA, proxyCA[1:])),
			want:  slices.Concat(proxyCA, systemCA, cloudCA),
			warnings: []string{"configmap/user-ca-bundle in openshift-config, key ca-bundle.crt, line 1:1: " + incomplete,
				"configmap/user-ca-bundle in openshift-config, " +
					fmt.Sprintf("key ca-bundle.crt, line %d:1: ", 2+bytes.Count(half, []byte("\n"))+bytes.Count(proxyCA, []byte("\n"))) +
					incomplete},
		},
		"a source that could not be had is reported with its reason": {
			trust: append([]operand.TrustSource{{Source: "configmap/gone in openshift-config",
				Diagnostic: "it does not exist; create it"}}, user(proxyCA)...),
			want:     slices.Concat(proxyCA, systemCA, cloudCA),
			warnings: []string{"configmap/gone in openshift-config: it does not exist; create it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, openstack, operand.OperatorPhase())
			in.Trust = tc.trust
			resources, err := operand.Render(in)
			require.NoError(t, err)
			i := slices.IndexFunc(resources.ConfigMaps,
				func(o *corev1.ConfigMap) bool { return o.Name == "trusted-ca" })
			require.Equal(t, string(tc.want), resources.ConfigMaps[i].Data["ca-bundle.crt"])
			var warnings []string
			for _, w := range resources.Warnings {
				if w.Cause == diagnostic.TrustedCA {
					warnings = append(warnings, w.String())
				}
			}
			require.Equal(t, tc.warnings, warnings)
		})
	}
}
