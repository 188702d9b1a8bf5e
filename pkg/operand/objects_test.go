package operand_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/external"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// candidate returns a rendered candidate with the suffix at each name, as in the API.
func candidate(t *testing.T, suffix string) ([]*corev1.ConfigMap, []*corev1.Secret) {
	t.Helper()
	openstack, _ := platform.ByName("openstack")
	resources, err := operand.Render(inputs(t, openstack, operand.OperatorPhase()))
	require.NoError(t, err)
	for _, o := range resources.ConfigMaps {
		o.Name += suffix
	}
	for _, o := range resources.Secrets {
		o.Name += suffix
	}
	return resources.ConfigMaps, resources.Secrets
}

func TestCopiesMatch(t *testing.T) {
	for name, tc := range map[string]struct {
		suffix   string
		revision int32
		change   func([]*corev1.ConfigMap, []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret)
		want     string
	}{
		"a whole candidate matches":                                 {},
		"the copies of a revision match under their suffixed names": {suffix: "-7", revision: 7},
		"objects that belong to no candidate are passed over": {
			change: func(cms []*corev1.ConfigMap, secrets []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) {
				return append(cms, &corev1.ConfigMap{Data: map[string]string{"a": "b"}}), secrets
			},
		},
		"a missing object is named": {
			suffix: "-7", revision: 7,
			change: func(cms []*corev1.ConfigMap, secrets []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) {
				return cms, secrets[1:]
			},
			want: "secret/cloud-config-7 in openshift-cloud-controller-manager does not exist: the candidate is not " +
				"fully applied",
		},
		"an object of another candidate does not match": {
			change: func(cms []*corev1.ConfigMap, secrets []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) {
				secrets[0].Data["cloud.conf"] = []byte("[Global]\n")
				return cms, secrets
			},
			want: "configmap/cloud-controller-manager-pod has",
		},
		"an additional key does not match": {
			change: func(cms []*corev1.ConfigMap, secrets []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) {
				secrets[1].Data["more"] = nil
				return cms, secrets
			},
			want: "the candidate is not fully applied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cms, secrets := candidate(t, tc.suffix)
			if tc.change != nil {
				cms, secrets = tc.change(cms, secrets)
			}
			err := operand.Objects{ConfigMaps: cms, Secrets: secrets}.CopiesMatch(tc.revision)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestTheInstalledPodIsAPodAfterTheInstallerHasReplacedTheRevision(t *testing.T) {
	configMaps, _ := candidate(t, "")
	installed := strings.ReplaceAll(configMaps[len(configMaps)-1].Data["pod.yaml"], "REVISION", "7")
	pod := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(installed), pod))
	require.Equal(t, map[string]string{"app": "cloud-controller-manager", "revision": "7"}, pod.Labels)
}

func TestEveryRevisionedObjectIsRendered(t *testing.T) {
	cms, secrets := candidate(t, "")
	var configMapNames, secretNames []string
	for _, o := range cms {
		configMapNames = append(configMapNames, o.Name)
	}
	for _, o := range secrets {
		secretNames = append(secretNames, o.Name)
	}
	require.Equal(t, []string{"cloud-config", "trusted-ca", "kubeconfigs", "cloud-controller-manager-pod"},
		configMapNames,
		"the pod comes last, so that an incomplete candidate does not match its digest")
	require.Equal(t, []string{"cloud-config", "cloud-credentials", "file-syncer-token"}, secretNames)
}

func TestOnlyARevisionedChangeMakesARevision(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	base := inputs(t, openstack, operand.OperatorPhase())
	first, err := operand.Render(base)
	require.NoError(t, err)
	for name, change := range map[string]func(*operand.Inputs){
		"a reason to redeploy": func(in *operand.Inputs) { in.ForceRedeploymentReason = "because" },
		"another image":        func(in *operand.Inputs) { in.Images.Operand += "0" },
		"another credential": func(in *operand.Inputs) {
			in.Credentials.Data["clouds.yaml"] = append(in.Credentials.Data["clouds.yaml"], '\n')
		},
		"another trusted CA":               func(in *operand.Inputs) { in.Trust = in.Trust[1:] },
		"another CA of the API":            func(in *operand.Inputs) { in.Identity.CABundle = read(t, "proxy-ca.pem") },
		"another token of the file-syncer": func(in *operand.Inputs) { in.Identity.FileSyncerToken = []byte("other") },
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, openstack, operand.OperatorPhase())
			change(&in)
			second, err := operand.Render(in)
			require.NoError(t, err)
			require.NotEqual(t, first.Digest, second.Digest)
		})
	}
	t.Run("a comment in the cloud configuration does not", func(t *testing.T) {
		in := inputs(t, openstack, operand.OperatorPhase())
		in.CloudConfig.Data = append([]byte("; a comment on its own line\n"), in.CloudConfig.Data...)
		second, err := operand.Render(in)
		require.NoError(t, err)
		require.Equal(t, first.Digest, second.Digest)
		require.NotEqual(t, operand.InputDigest(base), operand.InputDigest(in))
	})
}

func TestAPodConfigMapNamesItsCredentials(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	in := inputs(t, openstack, operand.OperatorPhase())
	for name, tc := range map[string]struct {
		change func(*operand.Inputs)
		uses   bool
	}{
		"with keys": {change: func(*operand.Inputs) {}, uses: true},
		"without keys": {change: func(in *operand.Inputs) {
			in.Platform,
				in.Credentials.Data = withoutCredentials(in.Platform), nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := in
			tc.change(&in)
			pod := rendered(t, in).ConfigMaps
			live := pod[len(pod)-1]
			require.Equal(t, operand.PodConfigMap, live.Name)
			require.Equal(t, tc.uses, operand.UsesCredentials(live, in.Credentials.Source))
			require.False(t, operand.UsesCredentials(live, "secret/other in openshift-cloud-controller-manager"))
		})
	}
	require.False(t, operand.UsesCredentials(nil, in.Credentials.Source), "there is no candidate")
}

// withoutCredentials returns a platform that needs no credentials, because it rewrites nothing.
func withoutCredentials(p platform.Platform) platform.Platform {
	p.Rewrite = external.Rewrite
	return p
}

func TestEmptyInputsAreNotRendered(t *testing.T) {
	openstack, _ := platform.ByName("openstack")
	in := inputs(t, openstack, operand.OperatorPhase())
	in.CloudConfig.CABundle = nil
	in.CloudConfig.Data = []byte("[Global]\nregion = regionOne\n")
	in.Overrides = []byte(`{"servingInfo": {"minTLSVersion": "VersionTLS12", "cipherSuites": []}, "extendedArguments": {"tls-cipher-suites": ["A"]}}`)
	r := rendered(t, in)
	require.Equal(t, "A", r.flags()["tls-cipher-suites"], "an empty list does not override the configured suites")
	for _, o := range r.ConfigMaps {
		if o.Name == operand.CloudConfigConfigMap {
			require.Empty(t, o.Data)
		}
	}
}
