package tokens

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

const namespace = "openshift-cloud-controller-manager"

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// world is a controller whose caches read from a fake API.
type world struct {
	*controller
	client    *fake.Clientset
	clock     *clocktesting.FakePassiveClock
	informers informers.SharedInformerFactory

	// rejected is the audience for which the API rejects token requests.
	rejected string
	issued   int
	events   []string
	after    []time.Duration
	// requests are the requests of the last sync, including reads.
	requests []clienttesting.Action
}

func newWorld(t *testing.T, observed string) *world {
	t.Helper()
	w := &world{client: fake.NewClientset(), clock: clocktesting.NewFakePassiveClock(start)}
	w.informers = informers.NewSharedInformerFactory(w.client, 0)
	core := w.informers.Core().V1()
	w.client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		request := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
		require.Equal(t, "token", action.GetSubresource())
		require.Nil(t, request.Spec.BoundObjectRef)
		require.Equal(t, int64(43200), *request.Spec.ExpirationSeconds)
		require.Len(t, request.Spec.Audiences, 1)
		if request.Spec.Audiences[0] == w.rejected {
			return true, nil, errors.New("forbidden")
		}
		w.issued++
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token:               fmt.Sprintf("%s %d", request.Spec.Audiences[0], w.issued),
			ExpirationTimestamp: metav1.NewTime(w.clock.Now().Add(3 * time.Hour)),
		}}, nil
	})
	w.controller = newController(dependencies.Deps{
		Operator: v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
		}}, &operatorv1.StaticPodOperatorStatus{NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1}}}, nil, nil),
		Target: w.informers, Kube: w.client, Clock: w.clock,
	}, 0)
	require.NoError(t, core.ServiceAccounts().Informer().GetStore().Add(&corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-controller-manager", UID: "uid-1"},
	}))
	w.setSecret(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-tokens"}, Type: corev1.SecretTypeOpaque})
	return w
}

// candidate adds a pod ConfigMap that requests tokens. suffix makes it a revision's.
func (w *world) candidate(t *testing.T, suffix, tokens string) {
	t.Helper()
	require.NoError(t, w.informers.Core().V1().ConfigMaps().Informer().GetStore().Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "cloud-controller-manager-pod" + suffix,
		Annotations: map[string]string{"cloud-controller-manager.openshift.io/cloud-tokens": tokens},
	}, Data: map[string]string{"pod.yaml": "the pod" + suffix}}))
}

func (w *world) setSecret(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	_ = w.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, secret.Name)
	require.NoError(t, w.client.Tracker().Add(secret))
	require.NoError(t, w.informers.Core().V1().Secrets().Informer().GetStore().Add(secret))
}

// recordedQueue records the delays that are added to it.
type recordedQueue struct {
	workqueue.TypedRateLimitingInterface[any]
	world *world
}

func (q recordedQueue) AddAfter(_ any, d time.Duration) { q.world.after = append(q.world.after, d) }

type syncContext struct {
	factory.SyncContext
	world *world
}

// Queue implements factory.SyncContext. library-go still requires the deprecated type.
func (s syncContext) Queue() workqueue.RateLimitingInterface { //nolint:staticcheck // The interface is not ours.
	return recordedQueue{world: s.world}
}

// syncOnce runs one sync and updates the cache. It returns the Secret's data and the writes.
func (w *world) syncOnce(t *testing.T) (data map[string]string, writes []string, err error) {
	t.Helper()
	w.client.ClearActions()
	w.events, w.after = nil, nil
	recorder := events.NewInMemoryRecorder("test", w.clock)
	err = w.cloud(t.Context(), syncContext{factory.NewSyncContext("test", recorder), w})
	w.requests = w.client.Actions()
	for _, action := range w.requests {
		if action.GetVerb() != "get" {
			writes = append(writes, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	for _, event := range recorder.Events() {
		w.events = append(w.events, event.Reason+": "+event.Message)
	}
	secret, getErr := w.client.CoreV1().Secrets(namespace).Get(t.Context(), "cloud-tokens", metav1.GetOptions{})
	require.NoError(t, getErr)
	require.NoError(t, w.informers.Core().V1().Secrets().Informer().GetStore().Add(secret))
	data = map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data, writes, err
}

const (
	managed   = `{"platform":"openstack"}`
	oneToken  = `[{"key":"token","audience":"openshift"}]`
	twoTokens = `[{"key":"token","audience":"openshift"},{"key":"sts","audience":"sts.amazonaws.com"}]`
)

func TestATokenIsIssuedOnceAndRefreshedAtAThirdOfItsLife(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", oneToken)

	data, writes, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"token": "openshift 1"}, data)
	require.Equal(t, []string{"create serviceaccounts", "update secrets"}, writes)
	require.Equal(t, []time.Duration{time.Hour}, w.after)
	require.Equal(t, []string{
		"SecretUpdated: Updated Secret/cloud-tokens -n openshift-cloud-controller-manager because it changed",
		`CloudTokenIssued: key token of secret/cloud-tokens in openshift-cloud-controller-manager has a new token for the audience "openshift", ` +
			"valid until 2026-11-21T12:00:00Z, because there was none",
	}, w.events)

	w.clock.SetTime(start.Add(time.Hour - time.Second))
	_, _, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, w.requests, "a token that is fresh costs no request")
	require.Equal(t, []time.Duration{time.Second}, w.after)

	w.clock.SetTime(start.Add(time.Hour))
	data, _, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"token": "openshift 2"}, data)
	require.Equal(t, `CloudTokenIssued: key token of secret/cloud-tokens in openshift-cloud-controller-manager has a new token for the audience "openshift", `+
		"valid until 2026-11-21T13:00:00Z, because a third of the previous one's lifetime has passed", w.events[1])
}

func TestNoTokenIsIssuedAgainWhileTheCacheIsBehind(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", oneToken)
	secrets := w.informers.Core().V1().Secrets().Informer().GetStore()
	former := secrets.List()[0]
	_, _, err := w.syncOnce(t)
	require.NoError(t, err)

	require.NoError(t, secrets.Update(former))
	data, writes, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes)
	require.Equal(t, map[string]string{"token": "openshift 1"}, data)
	require.Equal(t, []time.Duration{time.Hour}, w.after)
}

func TestTheTimerIsSetForTheTokenThatIsRefreshedFirst(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", oneToken)
	_, _, err := w.syncOnce(t)
	require.NoError(t, err)

	w.clock.SetTime(start.Add(20 * time.Minute))
	for range 2 {
		// Keys are processed in their order: sts, which is new, comes before token.
		w.candidate(t, "", twoTokens)
		_, _, err = w.syncOnce(t)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{40 * time.Minute}, w.after)
	}
	w.clock.SetTime(start.Add(time.Hour))
	_, _, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{20 * time.Minute}, w.after, "token is the new one now")
}

func TestAnUnusableTokenIsReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testing.T, *world, *corev1.Secret)
		want   string
	}{
		"one that another client changed": {
			change: func(_ *testing.T, _ *world, s *corev1.Secret) { s.Data["token"] = []byte("other") },
			want:   "another client changed the previous one",
		},
		"one without a record": {
			change: func(_ *testing.T, _ *world, s *corev1.Secret) { s.Annotations = nil },
			want:   "the previous one belongs to another serviceaccount",
		},
		"one with a record that cannot be read": {
			change: func(_ *testing.T, _ *world, s *corev1.Secret) {
				s.Annotations["cloud-controller-manager.openshift.io/token-records"] = "{"
			},
			want: "the previous one belongs to another serviceaccount",
		},
		"one without a readable expiry": {
			change: func(_ *testing.T, _ *world, s *corev1.Secret) {
				const key = "cloud-controller-manager.openshift.io/token-records"
				s.Annotations[key] = strings.Replace(s.Annotations[key], "2026-11-21T12:00:00Z", "noon", 1)
			},
			want: "the expiry time of the previous one is invalid",
		},
		"one of an earlier serviceaccount": {
			change: func(t *testing.T, w *world, _ *corev1.Secret) {
				t.Helper()
				require.NoError(t, w.informers.Core().V1().ServiceAccounts().Informer().GetStore().Add(&corev1.ServiceAccount{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-controller-manager", UID: "uid-2"},
				}))
			},
			want: "the previous one belongs to another serviceaccount",
		},
		"one for another audience": {
			change: func(t *testing.T, w *world, _ *corev1.Secret) {
				t.Helper()
				w.candidate(t, "", `[{"key":"token","audience":"sts.amazonaws.com"}]`)
			},
			want: `the previous one is for the audience "openshift"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed)
			w.candidate(t, "", oneToken)
			_, _, err := w.syncOnce(t)
			require.NoError(t, err)
			secret, err := w.client.CoreV1().Secrets(namespace).Get(t.Context(), "cloud-tokens", metav1.GetOptions{})
			require.NoError(t, err)
			secret = secret.DeepCopy()
			tc.change(t, w, secret)
			w.setSecret(t, secret)

			data, _, err := w.syncOnce(t)
			require.NoError(t, err)
			require.Regexp(t, " 2$", data["token"])
			require.Contains(t, w.events[1], ", because "+tc.want)
		})
	}
}

func TestOnlyWhatNothingAsksForIsRemoved(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", twoTokens)
	w.candidate(t, "-1", twoTokens)
	data, _, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"sts": "sts.amazonaws.com 1", "token": "openshift 2"}, data)

	w.candidate(t, "", oneToken)
	_, writes, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes, "revision 1 may still run")

	w.candidate(t, "-1", oneToken)
	data, writes, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, []string{"update secrets"}, writes)
	require.Equal(t, map[string]string{"token": "openshift 2"}, data)

	w.candidate(t, "", "null")
	w.candidate(t, "-1", "")
	data, _, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, data)
	require.Empty(t, w.after, "nothing is left to refresh")
	_, writes, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes)
}

func TestWhatSpecCustomDeliveredStaysWhileANodeRunsARevisionThatReadsIt(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", "null")
	w.candidate(t, "-1", "null")
	revisions := w.informers.Core().V1().ConfigMaps().Informer().GetStore()
	for _, object := range revisions.List() {
		if configMap := object.(*corev1.ConfigMap); configMap.Name == "cloud-controller-manager-pod-1" {
			configMap.Annotations["cloud-controller-manager.openshift.io/reloaded-secrets"] = "key,session"
		}
	}
	w.setSecret(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-tokens"}, Data: map[string][]byte{"session": []byte("theirs"), "old": []byte("old")},
	})
	data, _, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"session": "theirs"}, data)

	w.candidate(t, "-1", "null")
	data, _, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, data)
}

func TestTheCandidateWins(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "-1", `[{"key":"token","audience":"sts.amazonaws.com"}]`)
	w.candidate(t, "-2", `[{"key":"token","audience":"zzz"}]`)
	w.candidate(t, "", oneToken)
	data, _, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"token": "openshift 1"}, data)
}

func TestARejectedTokenRequestDoesNotBlockTheOthers(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", twoTokens)
	w.rejected = "sts.amazonaws.com"
	data, _, err := w.syncOnce(t)
	require.EqualError(t, err, "issuing key sts of secret/cloud-tokens in openshift-cloud-controller-manager: "+
		"requesting a token of serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager: forbidden")
	require.Equal(t, map[string]string{"token": "openshift 1"}, data)
	require.Equal(t, []time.Duration{time.Hour}, w.after)

	w.rejected = "openshift"
	w.clock.SetTime(start.Add(2 * time.Hour))
	data, _, err = w.syncOnce(t)
	require.ErrorContains(t, err, "forbidden")
	require.Equal(t, map[string]string{"token": "openshift 1", "sts": "sts.amazonaws.com 2"}, data, "an old token is better than none")
}

func TestWhatIsUnknownOrNotOursIsLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		observed string
		change   func(*testing.T, *world)
	}{
		"the platform is not known":          {observed: `{}`},
		"the platform runs nothing":          {observed: `{"platform":"none"}`},
		"there is no candidate":              {observed: managed, change: func(t *testing.T, w *world) { t.Helper(); w.removeCandidate(t) }},
		"a Secret of spec.custom is missing": {observed: `{"platform":"external","custom":{"image":"i","secrets":[{"name":"s","delivery":"Reloaded"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.observed)
			w.candidate(t, "", oneToken)
			w.setSecret(t, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-tokens"}, Data: map[string][]byte{"theirs": []byte("kept")},
			})
			if tc.change != nil {
				tc.change(t, w)
			}
			data, writes, err := w.syncOnce(t)
			require.NoError(t, err)
			require.Empty(t, writes)
			require.Equal(t, map[string]string{"theirs": "kept"}, data)
		})
	}
}

func TestAnAnnotationThatCannotBeReadHoldsUpNoTokenAndRemovesNone(t *testing.T) {
	unreadable := func(name string) string {
		return "annotation cloud-controller-manager.openshift.io/cloud-tokens of configmap/" + name + " in " + namespace +
			": unexpected end of JSON input"
	}
	w := newWorld(t, managed)
	w.setSecret(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-tokens"}, Data: map[string][]byte{"former": []byte("x")},
		Type: corev1.SecretTypeOpaque,
	})
	w.candidate(t, "", oneToken)
	w.candidate(t, "-1", "{")
	w.candidate(t, "-2", "{")
	data, _, err := w.syncOnce(t)
	require.EqualError(t, err, unreadable("cloud-controller-manager-pod-1")+"\n"+unreadable("cloud-controller-manager-pod-2"))
	require.Equal(t, map[string]string{"token": "openshift 1", "former": "x"}, data)

	w.candidate(t, "", "{")
	w.candidate(t, "-1", oneToken)
	w.candidate(t, "-2", oneToken)
	w.clock.SetTime(start.Add(time.Hour))
	data, _, err = w.syncOnce(t)
	require.EqualError(t, err, unreadable("cloud-controller-manager-pod"))
	require.Equal(t, map[string]string{"token": "openshift 2", "former": "x"}, data)
}

func (w *world) removeCandidate(t *testing.T) {
	t.Helper()
	store := w.informers.Core().V1().ConfigMaps().Informer().GetStore()
	for _, object := range store.List() {
		require.NoError(t, store.Delete(object))
	}
}

func TestWithoutAServiceAccountOrASecretItWaits(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", oneToken)
	store := w.informers.Core().V1().ServiceAccounts().Informer().GetStore()
	require.NoError(t, store.Delete(store.List()[0]))
	_, writes, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes)

	w.candidate(t, "", "null")
	w.setSecret(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-tokens"},
		Data: map[string][]byte{"former": []byte("x")}})
	data, _, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, data, "what nothing asks for needs no serviceaccount to be removed")

	w = newWorld(t, managed)
	w.candidate(t, "", oneToken)
	store = w.informers.Core().V1().Secrets().Informer().GetStore()
	require.NoError(t, store.Delete(store.List()[0]))
	_, writes, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes)
}

func TestOnlyTheCandidateAndItsCopiesWakeIt(t *testing.T) {
	for name, want := range map[string]bool{
		"cloud-controller-manager-pod": true, "cloud-controller-manager-pod-12": true, "cloud-config": false, "cloud-controller-manager-podium": false,
	} {
		require.Equal(t, want, isPodConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}), name)
	}
	require.False(t, isPodConfigMap("something else"))
}

func TestSecretsOfSpecCustomThatAreReloadedAreDelivered(t *testing.T) {
	const custom = `{"platform":"external","custom":{"image":"i","secrets":[{"name":"a"},{"name":"b","delivery":"Reloaded"}]}}`
	put := func(t *testing.T, w *world, name string, data map[string][]byte) {
		t.Helper()
		w.setSecret(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
	}
	w := newWorld(t, custom)
	put(t, w, "a", map[string][]byte{"x": []byte("1")})
	put(t, w, "b", map[string][]byte{"y": []byte("2")})
	put(t, w, "cloud-tokens", map[string][]byte{"y": []byte("0"), "former": []byte("f")})
	data, _, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"y": "2", "former": "f"}, data, "without a candidate nothing is removed, and without one it is delivered")

	w.candidate(t, "", "null")
	data, _, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"y": "2"}, data)
	_, writes, err := w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes)

	put(t, w, "a", nil)
	put(t, w, "b", map[string][]byte{"y": []byte("3")})
	data, writes, err = w.syncOnce(t)
	require.NoError(t, err)
	require.Empty(t, writes)
	require.Equal(t, map[string]string{"y": "2"}, data, "an empty Secret changes nothing that was delivered")
}

func TestEachSecretHasItsCondition(t *testing.T) {
	w := newWorld(t, managed)
	w.candidate(t, "", "{")
	recorder := events.NewInMemoryRecorder("test", w.clock)
	w.client.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	const (
		kube  = "requesting a token of serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager: forbidden"
		cloud = "annotation cloud-controller-manager.openshift.io/cloud-tokens of configmap/cloud-controller-manager-pod in " +
			"openshift-cloud-controller-manager: unexpected end of JSON input"
	)
	require.EqualError(t, w.sync(t.Context(), syncContext{factory.NewSyncContext("test", recorder), w}), kube+"\n"+cloud)
	_, status, _, err := w.Operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	got := map[string]string{}
	for _, c := range status.Conditions {
		got[c.Type+" "+string(c.Status)] = c.Message
	}
	require.Equal(t, map[string]string{"KubeTokenDegraded True": kube, "CloudTokensDegraded True": cloud}, got)
}
