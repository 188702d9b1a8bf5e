package trial_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// ofFormerRelease returns the Secret as a release without the record has written it.
func ofFormerRelease(data map[string][]byte) *corev1.Secret {
	const prefix = "cloud-controller-manager.openshift.io/"
	secret := operand.PreflightSecret()
	secret.Data = data
	secret.Annotations = map[string]string{
		prefix + "preflight-digest":      "sha256:1",
		prefix + "preflight-inputs":      `{"Credentials":"new"}`,
		prefix + "preflight-credentials": "new",
		prefix + "preflight-rejections":  `[{"inputs":{"Image":"old"},"verdict":{"digest":"sha256:0","result":"Failed","ended":null,"took":"0s","tries":1}}]`,
		prefix + "preflight-verdict": `{"digest":"sha256:1","result":"Failed","class":"Unauthenticated",` +
			`"ended":"2026-11-25T20:00:00Z","took":"9s","tries":2}`,
		prefix + "leading": `{"revision":4,"former":3,"node":"m1","state":"Proven","began":null,"since":null}`,
	}
	return secret
}

func TestTheAnnotationsOfAFormerReleaseAreReadAndReplaced(t *testing.T) {
	verdict := trial.Verdict{
		Result: trial.Failed, Class: trial.RejectedLogin, Tries: 2, Took: metav1.Duration{Duration: 9 * time.Second},
		Ended: metav1.NewTime(time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC).Local()),
	}
	old := trial.Rejection{
		Inputs: operand.StartDigests{diagnostic.Image: "old"}, Verdict: trial.Verdict{Result: trial.Failed, Tries: 1},
	}
	want := trial.Record{
		Digest: "sha256:1", Inputs: operand.StartDigests{diagnostic.Credentials: "new"}, Credentials: "new", Verdict: &verdict,
		Rejected: []trial.Rejection{old, {
			Inputs: operand.StartDigests{diagnostic.Credentials: "new"}, Verdict: verdict, Credentials: "new",
		}},
		Proof: &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: trial.Proven},
	}
	kube := fake.NewClientset(ofFormerRelease(nil))
	read := func() *trial.Record {
		secret, err := kube.CoreV1().Secrets(operand.Namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
		require.NoError(t, err)
		return trial.Of(secret)
	}
	record := read()
	require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	require.Len(t, record.Secret.Annotations, 1, "a former release finds nothing that is outdated")
	saved := read()
	for _, r := range []*trial.Record{record, saved} {
		r.Secret = nil
		require.Equal(t, &want, r)
	}
	// The release that was upgraded from has run again, and has written its annotations beside the record.
	both := ofFormerRelease(nil)
	both.Annotations[trial.Annotation] = `{"digest":"sha256:2"}`
	require.Equal(t, "sha256:1", trial.Of(both).Digest)

	running := trial.Of(ofFormerRelease(map[string][]byte{"pod.yaml": nil}))
	require.True(t, running.Runs())
	require.Equal(t, &verdict, running.Verdict, "the former one, while it is repeated")
	require.Equal(t, []trial.Rejection{old}, running.Rejected)
}

func TestARecordIsWrittenOnlyIfItHasChanged(t *testing.T) {
	kube := fake.NewClientset()
	record := trial.Of(nil)
	require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	require.Empty(t, kube.Actions(), "an empty one has no Secret")
	record.Digest = "sha256:1"
	for range 2 {
		require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	}
	record.Again = true
	require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	empty := &trial.Record{Secret: record.Secret}
	require.NoError(t, empty.Save(t.Context(), kube.CoreV1()))
	var verbs []string
	for _, action := range kube.Actions() {
		verbs = append(verbs, action.GetVerb())
	}
	require.Equal(t, []string{"create", "update", "delete"}, verbs)
}

func TestARecordThatHasChangedSinceItWasReadIsAConflict(t *testing.T) {
	kube := fake.NewClientset(operand.PreflightSecret())
	kube.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(corev1.Resource("secrets"), operand.PreflightName, nil)
	})
	record := trial.Of(operand.PreflightSecret())
	record.Digest = "sha256:1"
	require.True(t, apierrors.IsConflict(record.Save(t.Context(), kube.CoreV1())))
}

func TestARecordThatCannotBeDecodedIsEmpty(t *testing.T) {
	secret := operand.PreflightSecret()
	secret.Annotations = map[string]string{trial.Annotation: "{"}
	require.Equal(t, &trial.Record{Secret: secret}, trial.Of(secret))
}
