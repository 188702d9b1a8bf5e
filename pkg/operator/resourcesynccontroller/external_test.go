package resourcesynccontroller

import (
	"errors"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// podOf is the candidate, or a revision's copy of it, that reads keys of cloud-tokens.
func podOf(name, keys string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: target, Name: name, Annotations: map[string]string{operand.ReloadedAnnotation: keys},
	}, Data: map[string]string{"pod.yaml": name}}
}

func texts(pairs ...string) map[string][]byte {
	data := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i]] = []byte(pairs[i+1])
	}
	return data
}

func TestTheSecretsOfExternal(t *testing.T) {
	const all = `{"platform": "external", "external": {"image": "i", "secrets": [{"name": "a"}, {"name": "b", "delivery": "ReadOnce"}, {"name": "c", "delivery": "Reloaded"}]}}`
	for name, tc := range map[string]struct {
		observed string
		objects  []runtime.Object
		// wantRaw and wantTokens are what becomes of raw-cloud-credentials and of cloud-tokens.
		wantRaw, wantTokens map[string][]byte
	}{
		"those that are read once become credentials, those that are reloaded are delivered": {
			observed: all,
			objects: []runtime.Object{
				secret("a", texts("x", "1")), secret("b", texts("y", "2")), secret("c", texts("x", "3")), secret("d", texts("z", "4")), secret("cloud-tokens", nil),
			},
			wantRaw:    texts("x", "1", "y", "2"),
			wantTokens: texts("x", "3"),
		},
		"a change replaces what was there": {
			observed: all,
			objects: []runtime.Object{
				secret("a", texts("x", "1")), secret("b", texts("y", "2")), secret("c", texts("x", "3")),
				secret("raw-cloud-credentials", texts("x", "0", "old", "0")), secret("cloud-tokens", texts("x", "0", "old", "0")),
			},
			wantRaw:    texts("x", "1", "y", "2"),
			wantTokens: texts("x", "3"),
		},
		"a Secret that is gone takes nothing with it": {
			observed: all,
			objects: []runtime.Object{
				secret("a", texts("x", "1")), secret("b", texts("y", "2")),
				secret("raw-cloud-credentials", texts("x", "0", "y", "0")), secret("cloud-tokens", texts("x", "0")),
			},
			wantRaw:    texts("x", "0", "y", "0"),
			wantTokens: texts("x", "0"),
		},
		"nor does one that is empty": {
			observed: all,
			objects: []runtime.Object{
				secret("a", texts("x", "1")), secret("b", texts("y", "2")), secret("c", nil),
				secret("raw-cloud-credentials", texts("x", "0", "y", "0")), secret("cloud-tokens", texts("x", "0")),
			},
			wantRaw:    texts("x", "0", "y", "0"),
			wantTokens: texts("x", "0"),
		},
		"nor do two with the same key": {
			observed: all,
			objects: []runtime.Object{
				secret("a", texts("x", "1")), secret("b", texts("x", "2")), secret("c", texts("x", "3")),
				secret("raw-cloud-credentials", texts("x", "0")), secret("cloud-tokens", texts("x", "0")),
			},
			wantRaw:    texts("x", "0"),
			wantTokens: texts("x", "0"),
		},
		"the operator's own Secrets are no source": {
			observed:   `{"platform": "external", "external": {"image": "i", "secrets": [{"name": "kube-token"}, {"name": "cloud-tokens", "delivery": "Reloaded"}]}}`,
			objects:    []runtime.Object{secret("kube-token", texts("token", "t")), secret("cloud-tokens", texts("x", "0"))},
			wantTokens: texts("x", "0"),
		},
		"what is no longer named stays for as long as a node runs a revision that reads it": {
			observed: all,
			objects: []runtime.Object{
				secret("a", texts("x", "1")), secret("b", texts("y", "2")), secret("c", texts("x", "3")),
				secret("cloud-tokens", texts("x", "0", "candidate", "0", "revision", "0", "old", "0")),
				podOf("cloud-controller-manager-pod", "candidate"), podOf("cloud-controller-manager-pod-7", "revision,x"),
				podOf("cloud-controller-manager-pod-6", "old"), podOf("another", "old"),
			},
			wantRaw:    texts("x", "1", "y", "2"),
			wantTokens: texts("x", "3", "candidate", "0", "revision", "0"),
		},
		"without any named Secret there are no credentials, and cloud-tokens are somebody else's": {
			observed: `{"platform": "external", "external": {"image": "i"}}`,
			objects:  []runtime.Object{secret("raw-cloud-credentials", texts("x", "0")), secret("cloud-tokens", texts("x", "0"))},

			wantTokens: texts("x", "0"),
		},
		"cloud-tokens that do not exist are waited for": {
			observed: all,
			objects:  []runtime.Object{secret("a", texts("x", "1")), secret("b", texts("y", "2")), secret("c", texts("x", "3"))},
			wantRaw:  texts("x", "1", "y", "2"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(tc.objects...)
			c, recorder := newTestController(t, kube, tc.observed)
			require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", recorder)))
			got := map[string]map[string][]byte{}
			secrets, err := kube.CoreV1().Secrets(target).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, s := range secrets.Items {
				got[s.Name] = s.Data
			}
			require.Equal(t, tc.wantRaw, got["raw-cloud-credentials"])
			require.Equal(t, tc.wantTokens, got["cloud-tokens"])
		})
	}
}

func TestAnEventTellsOfNewKeysOnceTheyAreWritten(t *testing.T) {
	const observed = `{"platform": "external", "external": {"image": "i", "secrets": [{"name": "a", "delivery": "Reloaded"}]}}`
	for name, tc := range map[string]struct {
		fails      error
		wantErr    string
		wantEvents int
	}{
		"written":  {wantEvents: 1},
		"rejected": {fails: errors.New("no quota"), wantErr: "no quota"},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(secret("a", texts("x", "1")), secret("cloud-tokens", texts("x", "0")))
			kube.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return tc.fails != nil, nil, tc.fails
			})
			c, _ := newTestController(t, kube, observed)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			err := c.sync(t.Context(), factory.NewSyncContext("test", recorder))
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.wantErr)
			}
			told := 0
			for _, event := range recorder.Events() {
				if event.Message == "secret/cloud-tokens in openshift-cloud-controller-manager has the present keys of spec.external.secrets" {
					told++
				}
			}
			require.Equal(t, tc.wantEvents, told)
		})
	}
}

func TestTheCredentialsTellWhichSecretsTheyAreFrom(t *testing.T) {
	kube := fake.NewClientset(secret("a", texts("x", "1")), secret("b", texts("y", "2")), secret("c", texts("x", "3")))
	c, recorder := newTestController(t, kube, `{"platform": "external", "external": {"image": "i",
		"secrets": [{"name": "a"}, {"name": "c", "delivery": "Reloaded"}, {"name": "b"}]}}`)
	require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", recorder)))
	require.Equal(t, "openshift-cloud-controller-manager/a,openshift-cloud-controller-manager/b", copies(t, kube)["secret/raw-cloud-credentials"].from)
}

func TestTheCloudConfigThatExternalNamesComesFirst(t *testing.T) {
	mine := map[string]string{"acme": "mine"}
	objects := []runtime.Object{configMap(user, "acme", mine), configMap(managed, "kube-cloud-config", map[string]string{"cloud.conf": "Infrastructure's"})}
	for observed, want := range map[string]string{
		`{"platform": "external", "cloudConfig": {"name": "acme"}, "external": {"image": "i", "cloudConfig": {"name": "acme"}}}`: "openshift-config/acme",
		`{"platform": "external", "cloudConfig": {"name": "acme"}, "external": {"image": "i"}}`:                                  "openshift-config-managed/kube-cloud-config",
	} {
		kube := fake.NewClientset(objects...)
		c, recorder := newTestController(t, kube, observed)
		require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", recorder)))
		require.Equal(t, want, copies(t, kube)["configmap/raw-cloud-config"].from, observed)
	}
}
