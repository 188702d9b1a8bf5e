package inputs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func someAccepted() Accepted {
	return Accepted{
		Known: true,
		CloudConfig: AcceptCloudConfig(nil, operand.CloudConfig{
			Source: "configmap/c", Key: "config", Data: []byte("[Global]\n"), CABundle: []byte("ca"), Keys: map[string][]byte{"a.b": []byte("x")},
		}, noon),
		Credentials: AcceptCredentials(nil, operand.Inputs{
			Credentials: operand.Credentials{Source: "secret/s", Data: map[string][]byte{"k": []byte("v")}, Sources: map[string]string{"k": "secret/k"}},
			Custom:      customccm.Secrets{Reloaded: map[string][]byte{"token": []byte("not kept")}},
		}, noon),
		TrustedCA: AcceptTrustedCA(nil, operand.TrustSource{Source: "configmap/t", Key: "ca-bundle.crt", Data: []byte("pem")}, noon),
	}
}

func TestAcceptedInputsAreReadAsTheyWereWritten(t *testing.T) {
	for name, change := range map[string]func(*Accepted){
		"all of them": func(*Accepted) {},
		"nothing":     func(a *Accepted) { *a = Accepted{Known: true} },
		"no cloud configuration": func(a *Accepted) {
			a.CloudConfig = AcceptCloudConfig(nil, operand.CloudConfig{Source: "infrastructure"}, noon)
		},
		"an empty cloud configuration": func(a *Accepted) {
			a.CloudConfig = AcceptCloudConfig(nil, operand.CloudConfig{Source: "configmap/c", Data: []byte{}}, noon)
		},
		"no credentials": func(a *Accepted) {
			a.Credentials = AcceptCredentials(nil, operand.Inputs{Credentials: operand.Credentials{Source: "secret/s"}}, noon)
		},
		"credentials without keys": func(a *Accepted) {
			a.Credentials = AcceptCredentials(nil, operand.Inputs{Credentials: operand.Credentials{Source: "secret/s", Data: map[string][]byte{}}}, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			accepted := someAccepted()
			change(&accepted)
			secret, leftOut, err := accepted.Secret("openstack")
			require.NoError(t, err)
			require.Empty(t, leftOut)
			require.Equal(t, accepted, ReadAccepted(secret, "openstack"))
		})
	}
}

func TestTheBytesOfTheSourcesAreKeptAsTheyAre(t *testing.T) {
	secret, _, err := someAccepted().Secret("openstack")
	require.NoError(t, err)
	require.Equal(t, "accepted-inputs", secret.Name)
	require.JSONEq(t, `{"platform": "openstack",
		"cloudConfig": {"source": "configmap/c", "key": "config", "since": "2026-11-20T12:00:00Z",
			"digest": "`+digestOf(map[string][]byte{
		"cloud-config": []byte("[Global]\n"), "cloud-config.ca-bundle.pem": []byte("ca"), "cloud-config.beside.a.b": []byte("x"),
	})+`"},
		"credentials": {"source": "secret/s", "since": "2026-11-20T12:00:00Z", "sources": {"k": "secret/k"}, "reloaded": ["token"],
			"digest": "`+digestOf(map[string][]byte{"credentials.k": []byte("v")})+`"},
		"trustedCA": {"source": "configmap/t", "key": "ca-bundle.crt", "since": "2026-11-20T12:00:00Z",
			"digest": "`+digestOf(map[string][]byte{"trusted-ca": []byte("pem")})+`"}}`, string(secret.Data["inputs.json"]))
	delete(secret.Data, "inputs.json")
	require.Equal(t, map[string][]byte{
		"cloud-config": []byte("[Global]\n"), "cloud-config.ca-bundle.pem": []byte("ca"), "cloud-config.beside.a.b": []byte("x"),
		"credentials.k": []byte("v"), "trusted-ca": []byte("pem"),
	}, secret.Data)
}

func TestWhatIsNotAcceptedInputsIsNone(t *testing.T) {
	for name, tc := range map[string]struct {
		platform string
		change   func(*corev1.Secret)
		want     func(*Accepted)
	}{
		"of another platform": {platform: "aws", change: func(*corev1.Secret) {}, want: func(a *Accepted) { *a = Accepted{} }},
		"no JSON":             {change: func(s *corev1.Secret) { s.Data["inputs.json"] = []byte("{") }, want: func(a *Accepted) { *a = Accepted{} }},
		"a changed cloud configuration": {
			change: func(s *corev1.Secret) { s.Data["cloud-config"] = []byte("x") }, want: func(a *Accepted) { a.CloudConfig = nil },
		},
		"one key more of the credentials": {
			change: func(s *corev1.Secret) { s.Data["credentials.more"] = nil }, want: func(a *Accepted) { a.Credentials = nil },
		},
		"no bytes of the trusted CA": {
			change: func(s *corev1.Secret) { delete(s.Data, "trusted-ca") }, want: func(a *Accepted) { a.TrustedCA = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := someAccepted()
			secret, _, err := want.Secret("openstack")
			require.NoError(t, err)
			tc.change(secret)
			tc.want(&want)
			if tc.platform == "" {
				tc.platform = "openstack"
			}
			require.Equal(t, want, ReadAccepted(secret, tc.platform))
		})
	}
	require.Equal(t, Accepted{}, ReadAccepted(nil, "openstack"))
}

func TestIdenticalBytesKeepTheirTime(t *testing.T) {
	config := operand.CloudConfig{Source: "configmap/c", Data: []byte("a")}
	first := AcceptCloudConfig(nil, config, noon)
	config.Source = "configmap/renamed"
	second := AcceptCloudConfig(first, config, noon.Add(time.Hour))
	require.Equal(t, noon, second.Since)
	require.Equal(t, "configmap/renamed", second.Source)
	config.Keys = map[string][]byte{"beside": nil}
	require.Equal(t, noon.Add(time.Hour), AcceptCloudConfig(second, config, noon.Add(time.Hour)).Since)
}

func TestTheLastTenVersionsAreRemembered(t *testing.T) {
	config := func(text string) operand.CloudConfig {
		return operand.CloudConfig{Source: "configmap/c", Data: []byte(text)}
	}
	version := AcceptCloudConfig(nil, config("0"), noon)
	first := FormerVersion{Since: noon, Digest: version.digest}
	version = AcceptCloudConfig(version, config("1"), noon.Add(time.Minute))
	require.Equal(t, []FormerVersion{first}, version.Former)
	version = AcceptCloudConfig(version, config("1"), noon.Add(2*time.Minute))
	require.Equal(t, []FormerVersion{first}, version.Former, "identical bytes are no change")
	for i := range 10 {
		version = AcceptCloudConfig(version, config(strings.Repeat("x", i+2)), noon.Add(time.Hour))
	}
	require.Len(t, version.Former, 10)
	require.NotContains(t, version.Former, first, "the oldest is forgotten")

	secret, _, err := Accepted{Known: true, CloudConfig: version}.Secret("openstack")
	require.NoError(t, err)
	require.Equal(t, version, ReadAccepted(secret, "openstack").CloudConfig)
}

func TestWhatDoesNotFitIsLeftOut(t *testing.T) {
	bulk := []byte(strings.Repeat("x", 600<<10))
	for name, tc := range map[string]struct {
		change func(*Accepted)
		want   []string
	}{
		"the last of all": {
			change: func(a *Accepted) {
				a.CloudConfig.Input.Data, a.TrustedCA.Input.Data = bulk, bulk
			},
			want: []string{"the trusted CA"},
		},
		"the credentials, before a smaller trusted CA": {
			change: func(a *Accepted) {
				a.CloudConfig.Input.Data, a.Credentials.Input.Data = bulk, map[string][]byte{"k": bulk}
			},
			want: []string{"the credentials"},
		},
		"a key that would be too long": {
			change: func(a *Accepted) { a.CloudConfig.Input.Keys = map[string][]byte{strings.Repeat("k", 250): nil} },
			want:   []string{"the cloud configuration"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			accepted := someAccepted()
			tc.change(&accepted)
			secret, leftOut, err := accepted.Secret("openstack")
			require.NoError(t, err)
			require.Equal(t, tc.want, leftOut)
			size := 0
			for key, data := range secret.Data {
				require.LessOrEqual(t, len(key), 253)
				size += len(data)
			}
			require.Less(t, size, corev1.MaxSecretSize)
			read := ReadAccepted(secret, "openstack")
			require.Equal(t, tc.want[0] == "the trusted CA", read.TrustOmitted)
			require.Equal(t, tc.want[0] == "the trusted CA", read.TrustedCA == nil)
			require.Equal(t, tc.want[0] == "the credentials", read.Credentials == nil)
			require.Equal(t, tc.want[0] == "the cloud configuration", read.CloudConfig == nil)
		})
	}
}

func TestAcceptedCredentialsReplaceWhatSecretsOfSpecCustomDeliver(t *testing.T) {
	other := diagnostic.Diagnostic{Cause: diagnostic.Configuration, Message: "unrelated to the credentials"}
	got := someAccepted().Credentials.Input.Custom(customccm.Secrets{
		Reloaded: map[string][]byte{"other": nil}, Missing: []string{"secret/gone"},
		Diagnostics: []diagnostic.Diagnostic{other, {Cause: diagnostic.Credentials, Message: "it does not exist"}},
	})
	require.Equal(t, map[string][]byte{"token": nil}, got.Reloaded)
	require.Equal(t, []diagnostic.Diagnostic{other}, got.Diagnostics)
	require.Empty(t, got.Missing)
	require.Equal(t, []byte("v"), got.ReadOnce["k"])
}
