package operand_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// canary is in every secret of a cluster's inputs. It replaces the same string in all secrets of the testdata.
const (
	canary = "CANARY"
	secret = "correct-horse"
)

// planted returns the platform's inputs with a canary in each of them: the credentials, a comment of the cloud
// configuration, a comment of each CA bundle, and the file-syncer's token.
func planted(t *testing.T, p platform.Platform, phase operand.Phase) operand.Inputs {
	t.Helper()
	in := inputs(t, p, phase)
	found := 0
	for key, value := range in.Credentials.Data {
		in.Credentials.Data[key] = bytes.ReplaceAll(value, []byte(secret), []byte(canary+"-credentials"))
		found += bytes.Count(value, []byte(secret))
	}
	require.NotZero(t, found, "the testdata's credentials hold no %q", secret)
	for key, value := range in.Custom.Reloaded {
		in.Custom.Reloaded[key] = append(value, canary+"-reloaded"...)
	}
	if config := in.CloudConfig.Data; len(config) > 0 && config[0] != '{' {
		in.CloudConfig.Data = append(config, "\n# password = "+canary+"-comment\n"...)
	}
	beside := []byte("the CA of http://user:" + canary + "-bundle@example.com\n")
	in.CloudConfig.CABundle = append(beside, in.CloudConfig.CABundle...)
	for i := range in.Trust {
		in.Trust[i].Data = append(beside, in.Trust[i].Data...)
	}
	if in.Identity != nil {
		in.Identity.FileSyncerToken = []byte(canary + "-token")
	}
	return in
}

func TestASecretIsRenderedOnlyIntoSecretsAndPrivateFiles(t *testing.T) {
	for _, p := range managed() {
		for _, phase := range phases() {
			t.Run(p.Name+" in phase "+phase.Name, func(t *testing.T) {
				resources, err := operand.Render(planted(t, p, phase))
				require.NoError(t, err)
				require.Empty(t, canaries(t, resources))
			})
		}
	}
}

func TestARejectedInputIsNotQuoted(t *testing.T) {
	for name, spoil := range map[string]func(in *operand.Inputs){
		"a cloud configuration that is cut off": func(in *operand.Inputs) {
			in.CloudConfig.Data = append(in.CloudConfig.Data[:len(in.CloudConfig.Data)/2],
				"\n\"password = "+canary+"-broken"...)
		},
		"credentials that are cut off": func(in *operand.Inputs) {
			for key, value := range in.Credentials.Data {
				in.Credentials.Data[key] = append([]byte(canary+"-broken: [{'"), value[:len(value)/2]...)
			}
		},
		"a trust bundle that is cut off": func(in *operand.Inputs) {
			in.Trust[0].Data = []byte("-----BEGIN CERTIFICATE-----\n" + canary + "-broken\n")
			in.CloudConfig.CABundle = []byte("-----BEGIN CERTIFICATE-----\n" + canary + "-broken\n")
		},
	} {
		for _, p := range managed() {
			t.Run(name+" on "+p.Name, func(t *testing.T) {
				in := planted(t, p, operand.OperatorPhase())
				spoil(&in)
				resources, err := operand.Render(in)
				if err != nil {
					require.NotContains(t, err.Error(), canary)
					return
				}
				require.Empty(t, canaries(t, resources))
			})
		}
	}
}

// The CCM gets a proxy's password in its environment, as every operator of the cluster does. The password is in the pod
// and in the DaemonSet, and nowhere else.
func TestTheProxysPasswordIsOnlyInTheEnvironment(t *testing.T) {
	const proxy = "http://user:" + canary + "-proxy@proxy.example.com:3128"
	for _, p := range managed() {
		t.Run(p.Name, func(t *testing.T) {
			in := inputs(t, p, operand.OperatorPhase())
			in.Config = withProxy(t, in.Config, proxy)
			resources, err := operand.Render(in)
			require.NoError(t, err)
			for _, found := range canaries(t, resources) {
				require.Contains(t, []string{"pod", "configmap/" + operand.PodConfigMap, "daemonset"}, found)
			}
			pod, err := json.Marshal(resources.Pod)
			require.NoError(t, err)
			require.NotZero(t, strings.Count(string(pod), canary))
			require.Equal(t, strings.Count(string(pod), canary),
				strings.Count(string(pod), `_PROXY","value":"`+proxy+`"`))
		})
	}
}

func withProxy(t *testing.T, config []byte, proxy string) []byte {
	t.Helper()
	observed, err := operandconfig.Decode(config)
	require.NoError(t, err)
	observed.Proxy = map[string]string{"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy}
	content, err := yaml.Marshal(observed)
	require.NoError(t, err)
	return content
}

// canaries returns the places of a canary that can be read without permission for Secrets and without root.
func canaries(t *testing.T, r *operand.Resources) []string {
	t.Helper()
	places := map[string]any{"pod": r.Pod, "daemonset": r.NodeManager}
	for _, object := range r.ConfigMaps {
		places["configmap/"+object.Name] = object
	}
	for _, object := range r.Secrets {
		metadata := object.DeepCopy()
		metadata.Data = nil
		places["metadata of secret/"+object.Name] = metadata
	}
	for _, file := range r.Files {
		if !file.Secret {
			places["file "+file.Name] = string(file.Data)
		}
	}
	for i, warning := range r.Warnings {
		places[fmt.Sprintf("warning %d", i)] = warning.String()
	}
	var found []string
	for place, value := range places {
		content, err := json.Marshal(value)
		require.NoError(t, err)
		if bytes.Contains(content, []byte(canary)) {
			found = append(found, place)
		}
	}
	return found
}

func TestOnlyTheCertificatesOfACABundleAreDelivered(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	certificate := string(read(t, "cloud-ca.pem"))
	for name, tc := range map[string]struct{ bundle, want string }{
		"a bundle of certificates keeps its bytes": {certificate + "\n\r\n" + certificate, certificate + "\n\r\n" +
			certificate},
		"line ends of Windows stay": {strings.ReplaceAll(certificate, "\n", "\r\n"),
			strings.ReplaceAll(certificate, "\n", "\r\n")},
		"a comment is dropped": {"# password\n" + certificate + "the end", certificate},
		"a private key is dropped": {"-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE " +
			"KEY-----\n" + certificate, certificate},
		"a certificate with headers is dropped": {"-----BEGIN CERTIFICATE-----\nA: secret\n\naGVsbG8=\n-----END " +
			"CERTIFICATE-----\n" + certificate, certificate},
		"what begins and does not end is dropped": {certificate + "-----BEGIN CERTIFICATE-----\nsecret\n",
			certificate},
		"what begins twice counts from the second": {"-----BEGIN CERTIFICATE-----\nsecret\n" + certificate,
			certificate},
		"a certificate without a last line end too": {strings.TrimSuffix(certificate, "\n"),
			strings.TrimSuffix(certificate, "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, openstack, operand.OperatorPhase())
			in.CloudConfig.CABundle = []byte(tc.bundle)
			resources, err := operand.Render(in)
			require.NoError(t, err)
			for _, object := range resources.ConfigMaps {
				if object.Name == operand.CloudConfigConfigMap {
					require.Equal(t, tc.want, object.Data["ca-bundle.pem"])
				}
			}
		})
	}
}
