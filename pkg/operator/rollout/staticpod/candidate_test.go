package staticpod

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// candidate returns a complete candidate; the objects' names end in suffix.
func candidate(t *testing.T, suffix string) ([]*corev1.ConfigMap, []*corev1.Secret) {
	t.Helper()
	openStack, known := platform.ByName("openstack")
	require.True(t, known)
	resources, err := operand.Render(operand.Inputs{
		Phase:    operand.OperatorPhase(),
		Platform: openStack,
		Config:   []byte(`{"platform": "openstack", "infrastructureName": "ci", "apiServerInternalURI": "https://api-int:6443"}`),
		Images:   operand.Images{Operand: "openstack", Operator: "operator"},
		CloudConfig: operand.CloudConfig{
			Source: "configmap/cloud-provider-config in openshift-config", Key: "config", Data: []byte("[Global]\n"),
		},
		Credentials: operand.Credentials{Data: map[string][]byte{"clouds.yaml": []byte(`clouds: {openstack: {auth: {auth_url: "https://keystone/v3",
  application_credential_id: id, application_credential_secret: hidden}}}`)}},
		Identity: &operand.Identity{CABundle: []byte("ca"), FileSyncerToken: []byte("token")},
	})
	require.NoError(t, err)
	for _, object := range resources.ConfigMaps {
		object.Name += suffix
	}
	for _, object := range resources.Secrets {
		object.Name += suffix
	}
	return resources.ConfigMaps, resources.Secrets
}

func TestOnlyAWholeCandidateBecomesARevision(t *testing.T) {
	for name, tc := range map[string]struct {
		change func([]*corev1.ConfigMap, []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret)
		want   bool
	}{
		"a whole one": {
			change: func(c []*corev1.ConfigMap, s []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) { return c, s },
			want:   true,
		},
		"one of which a secret is that of another": {
			change: func(c []*corev1.ConfigMap, s []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) {
				s[0].Data["cloud.conf"] = []byte("[Global]\nregion = other\n")
				return c, s
			},
		},
		"one of which a configmap is not there": {
			change: func(c []*corev1.ConfigMap, s []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) {
				return c[1:], s
			},
		},
		"none at all": {
			change: func([]*corev1.ConfigMap, []*corev1.Secret) ([]*corev1.ConfigMap, []*corev1.Secret) { return nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			configMaps, secrets := tc.change(candidate(t, ""))
			got, err := heldBack(operand.Objects{ConfigMaps: configMaps, Secrets: secrets})
			require.NoError(t, err)
			require.Equal(t, tc.want, got == "", got)
		})
	}
}

func TestACandidateWaitsForItsTokens(t *testing.T) {
	holding := func(data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-tokens"}, Data: data}
	}
	token := func(payload string) *corev1.Secret {
		return holding(map[string][]byte{"token": []byte("e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".signature")})
	}
	const asked = `[{"key":"token","audience":"openshift"}]`
	for name, tc := range map[string]struct {
		asked   string
		theirs  string
		secret  *corev1.Secret
		want    bool
		wantErr string
	}{
		"it asks for none":                       {asked: "null", want: true},
		"there is no secret":                     {asked: asked},
		"the secret is empty":                    {asked: asked, secret: holding(nil)},
		"the token is for another audience":      {asked: `[{"key":"token","audience":"sts.amazonaws.com"}]`, secret: token(`{"aud":["openshift"]}`)},
		"the token is there for its audience":    {asked: asked, secret: token(`{"aud":["other","openshift"]}`), want: true},
		"the token names no audience":            {asked: asked, secret: token(`{}`)},
		"the token has no readable claims":       {asked: asked, secret: token(`{`)},
		"the token is not of the API server":     {asked: asked, secret: holding(map[string][]byte{"token": []byte("t")})},
		"the token is not encoded":               {asked: asked, secret: holding(map[string][]byte{"token": []byte("a.%.c")})},
		"what spec.custom delivers is not there": {theirs: "session,key", secret: holding(map[string][]byte{"key": nil})},
		"what spec.custom delivers is there":     {theirs: "session,key", secret: holding(map[string][]byte{"key": nil, "session": nil}), want: true},
		"what it asks for cannot be read": {
			asked: "{",
			wantErr: "annotation cloud-controller-manager.openshift.io/cloud-tokens of configmap/cloud-controller-manager-pod in " +
				"openshift-cloud-controller-manager: unexpected end of JSON input",
		},
	} {
		t.Run(name, func(t *testing.T) {
			configMaps, secrets := candidate(t, "")
			for _, object := range configMaps {
				if object.Name == "cloud-controller-manager-pod" {
					object.Annotations[operand.TokensAnnotation] = tc.asked
					object.Annotations[customccm.ReloadedAnnotation] = tc.theirs
				}
			}
			if tc.secret != nil {
				secrets = append(secrets, tc.secret)
			}
			got, err := heldBack(operand.Objects{ConfigMaps: configMaps, Secrets: secrets})
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			require.Equal(t, tc.want, err == nil && got == "", got)
		})
	}
}

func TestThePodIsTheFirstOfTheRevisionedObjects(t *testing.T) {
	require.Equal(t, "cloud-controller-manager-pod", revisioned(operand.ConfigMap)[0].Name)
	for _, kind := range []operand.Kind{operand.ConfigMap, operand.Secret} {
		for _, object := range revisioned(kind) {
			require.False(t, object.Optional, object.Name)
		}
		for _, object := range synced(kind) {
			require.False(t, object.Optional, object.Name)
		}
	}
}
