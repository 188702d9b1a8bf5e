package tokens

import (
	"errors"
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
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

const (
	oldTokenDigest = "9bdf10a691a1cfda89d9ff66629d1609ab176cec9b6a3146a8929f28937a9fce"
	newTokenDigest = "348e9df2a42bd6e3c6356ca9c95c5f1fe9a6b3e5cd25f4ae58df0f09049c3209"
)

func account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: "openshift-cloud-controller-manager", Name: "cloud-controller-manager", UID: "uid-1",
	}}
}

// oldSecret returns a Secret with a token that was issued at 08:00 for three hours.
func oldSecret(change func(*corev1.Secret)) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-cloud-controller-manager", Name: "kube-token",
			Annotations: map[string]string{
				"cloud-controller-manager.openshift.io/token-records": `{"token":{"issuedAt":"2026-11-21T08:00:00Z","expiresAt":"2026-11-21T11:00:00Z",` +
					`"owner":"uid-1","sha256":"` + oldTokenDigest + `"}}`,
			},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"token": []byte("old-token")},
	}
	change(secret)
	return secret
}

// rerecord replaces strings in the token's record.
func rerecord(s *corev1.Secret, oldnew ...string) {
	const key = "cloud-controller-manager.openshift.io/token-records"
	s.Annotations[key] = strings.NewReplacer(oldnew...).Replace(s.Annotations[key])
}

type fixture struct {
	platform string
	account  *corev1.ServiceAccount
	secret   *corev1.Secret
	// behind keeps the Secret out of the cache.
	behind     bool
	granted    time.Duration
	requestErr error
	at         time.Time
	lifetime   time.Duration
}

// outcome is the result of one sync.
type outcome struct {
	requested []int64
	written   *corev1.Secret
	verbs     []string
	events    []string
	after     []time.Duration
}

func run(t *testing.T, f fixture) (outcome, error) {
	t.Helper()
	var seen outcome
	client := fake.NewClientset()
	kube := informers.NewSharedInformerFactory(client, 0)
	if f.account != nil {
		require.NoError(t, kube.Core().V1().ServiceAccounts().Informer().GetIndexer().Add(f.account))
	}
	if f.secret != nil {
		if !f.behind {
			require.NoError(t, kube.Core().V1().Secrets().Informer().GetIndexer().Add(f.secret))
		}
		require.NoError(t, client.Tracker().Add(f.secret))
	}
	client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		request := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
		require.Equal(t, "token", action.GetSubresource())
		require.Equal(t, "cloud-controller-manager", action.(clienttesting.CreateActionImpl).Name)
		require.Nil(t, request.Spec.BoundObjectRef)
		require.Empty(t, request.Spec.Audiences)
		seen.requested = append(seen.requested, *request.Spec.ExpirationSeconds)
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: "new-token", ExpirationTimestamp: metav1.NewTime(f.at.Add(f.granted)),
		}}, f.requestErr
	})
	clock := clocktesting.NewFakePassiveClock(f.at)
	recorder := events.NewInMemoryRecorder("test", clock)
	w := &world{}
	c := newController(dependencies.Deps{
		Operator: v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"` + f.platform + `"}`)},
		}}, &operatorv1.StaticPodOperatorStatus{}, nil, nil),
		Target: kube, Kube: client, Clock: clock, Recorder: recorder,
	}, f.lifetime)
	err := c.kube(t.Context(), syncContext{factory.NewSyncContext("test", recorder), w})

	for _, action := range client.Actions() {
		seen.verbs = append(seen.verbs, action.GetVerb()+" "+action.GetResource().Resource)
		switch a := action.(type) {
		case clienttesting.UpdateActionImpl:
			seen.written = a.GetObject().(*corev1.Secret)
		case clienttesting.CreateActionImpl:
			if secret, ok := a.GetObject().(*corev1.Secret); ok {
				seen.written = secret
			}
		}
	}
	if seen.written != nil {
		// Merging leaves empty maps, which are not serialized.
		require.Empty(t, seen.written.Labels)
		require.Empty(t, seen.written.OwnerReferences)
		seen.written = seen.written.DeepCopy()
		seen.written.Labels, seen.written.OwnerReferences = nil, nil
	}
	for _, event := range recorder.Events() {
		seen.events = append(seen.events, event.Reason+": "+event.Message)
	}
	seen.after = w.after
	return seen, err
}

func TestTheKubeToken(t *testing.T) {
	issued := func(expires string) *corev1.Secret {
		return oldSecret(func(s *corev1.Secret) {
			s.Data["token"] = []byte("new-token")
			rerecord(s, "2026-11-21T08:00:00Z", "2026-11-21T09:00:00Z", "2026-11-21T11:00:00Z", expires, oldTokenDigest, newTokenDigest)
		})
	}
	update := []string{"get secrets", "create serviceaccounts", "get secrets", "update secrets"}
	event := func(why string) []string {
		return []string{
			"SecretUpdated: Updated Secret/kube-token -n openshift-cloud-controller-manager because it changed",
			"KubeTokenIssued: secret/kube-token in openshift-cloud-controller-manager has a new token, valid until 2026-11-23T09:00:00Z, because " + why,
		}
	}
	unchanged := func(*corev1.Secret) {}

	for name, tc := range map[string]struct {
		fixture
		want    outcome
		wantErr string
	}{
		"without a Secret one is made": {
			fixture: fixture{account: account(), granted: 48 * time.Hour},
			want: outcome{requested: []int64{172800}, verbs: []string{"get secrets", "create serviceaccounts", "get secrets", "create secrets"}, written: issued("2026-11-23T09:00:00Z"), events: []string{
				"SecretCreated: Created Secret/kube-token -n openshift-cloud-controller-manager because it was missing",
				"KubeTokenIssued: secret/kube-token in openshift-cloud-controller-manager has a new token, valid until 2026-11-23T09:00:00Z, because there was none",
			}},
		},
		"a token that the cache does not have yet is not issued again": {
			fixture: fixture{account: account(), secret: oldSecret(unchanged), behind: true, granted: 48 * time.Hour, at: now.Add(-time.Second)},
			want:    outcome{verbs: []string{"get secrets"}, after: []time.Duration{time.Second}},
		},
		"a young token is left alone until a third of its life has passed": {
			fixture: fixture{account: account(), secret: oldSecret(unchanged), at: now.Add(-time.Second)},
			want:    outcome{after: []time.Duration{time.Second}},
		},
		"after a third of its life it is replaced": {
			fixture: fixture{account: account(), secret: oldSecret(unchanged), granted: 48 * time.Hour},
			want:    outcome{requested: []int64{172800}, verbs: update, written: issued("2026-11-23T09:00:00Z"), events: event("a third of the previous one's lifetime has passed")},
		},
		"the returned expiry counts, not the one that was asked for": {
			fixture: fixture{account: account(), secret: oldSecret(unchanged), granted: time.Hour, lifetime: 10 * time.Minute},
			want: outcome{requested: []int64{600}, verbs: update, written: issued("2026-11-21T10:00:00Z"), events: []string{
				"SecretUpdated: Updated Secret/kube-token -n openshift-cloud-controller-manager because it changed",
				"KubeTokenIssued: secret/kube-token in openshift-cloud-controller-manager has a new token, valid until 2026-11-21T10:00:00Z, because a third of the previous one's lifetime has passed",
			}},
		},
		"a token of an earlier serviceaccount is replaced": {
			fixture: fixture{account: account(), granted: 48 * time.Hour, secret: oldSecret(func(s *corev1.Secret) {
				rerecord(s, "uid-1", "uid-0")
			})},
			want: outcome{requested: []int64{172800}, verbs: update, written: issued("2026-11-23T09:00:00Z"), events: event("the previous one belongs to another serviceaccount")},
		},
		"a garbled token is replaced": {
			fixture: fixture{account: account(), granted: 48 * time.Hour, secret: oldSecret(func(s *corev1.Secret) { s.Data["token"] = []byte("old-tokem") })},
			want:    outcome{requested: []int64{172800}, verbs: update, written: issued("2026-11-23T09:00:00Z"), events: event("another client changed the previous one")},
		},
		"an emptied Secret is filled again": {
			fixture: fixture{account: account(), granted: 48 * time.Hour, secret: oldSecret(func(s *corev1.Secret) { s.Data = nil })},
			want:    outcome{requested: []int64{172800}, verbs: update, written: issued("2026-11-23T09:00:00Z"), events: event("another client changed the previous one")},
		},
		"an unreadable time of issue is no time": {
			fixture: fixture{account: account(), granted: 48 * time.Hour, secret: oldSecret(func(s *corev1.Secret) {
				rerecord(s, "2026-11-21T08:00:00Z", "yesterday")
			})},
			want: outcome{requested: []int64{172800}, verbs: update, written: issued("2026-11-23T09:00:00Z"), events: event("the issue time of the previous one is invalid")},
		},
		"an unreadable expiry is no expiry": {
			fixture: fixture{account: account(), granted: 48 * time.Hour, secret: oldSecret(func(s *corev1.Secret) {
				rerecord(s, "2026-11-21T11:00:00Z", "")
			})},
			want: outcome{requested: []int64{172800}, verbs: update, written: issued("2026-11-23T09:00:00Z"), events: event("the expiry time of the previous one is invalid")},
		},
		"a rejected request is reported and the old token stays": {
			fixture: fixture{account: account(), secret: oldSecret(unchanged), granted: time.Hour, requestErr: errors.New("forbidden")},
			want:    outcome{requested: []int64{172800}, verbs: []string{"get secrets", "create serviceaccounts"}},
			wantErr: "requesting a token of serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager: forbidden",
		},
		"a token that has already expired shows wrong clocks": {
			fixture: fixture{account: account(), secret: oldSecret(unchanged), granted: -time.Hour},
			want:    outcome{requested: []int64{172800}, verbs: []string{"get secrets", "create serviceaccounts"}},
			wantErr: "the new token of serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager expires at 2026-11-21T08:00:00Z, " +
				"but the operator's clock shows 2026-11-21T09:00:00Z; synchronize the clocks of the control plane",
		},
		"without the serviceaccount nothing is asked for": {fixture: fixture{secret: oldSecret(unchanged)}},
		"on a platform that runs nothing, nothing":        {fixture: fixture{platform: "none", account: account()}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tc.fixture
			if f.platform == "" {
				f.platform = "openstack"
			}
			if f.at.IsZero() {
				f.at = now
			}
			got, err := run(t, f)
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			require.Equal(t, tc.want, got)
		})
	}
}
