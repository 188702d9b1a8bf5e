package trial_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// A former leader that ends for the proof must be able to start again.
func TestARevisionIsProvedUnlessItMayReplaceWhatIsNotValidAnyMore(t *testing.T) {
	for name, tc := range map[string]struct {
		change map[string]string
		want   bool
	}{
		"nothing":                        {nil, false},
		"the cloud configuration":        {map[string]string{operand.CloudConfigSecret: "other"}, true},
		"the image":                      {map[string]string{operand.PodConfigMap: "other"}, true},
		"the credentials":                {map[string]string{operand.CloudCredentialsSecret: "other"}, false},
		"the trusted CA":                 {map[string]string{operand.TrustedCAConfigMap: "other"}, false},
		"the credentials and the image":  {map[string]string{operand.CloudCredentialsSecret: "other", operand.PodConfigMap: "other"}, true},
		"the credentials and trusted CA": {map[string]string{operand.CloudCredentialsSecret: "other", operand.TrustedCAConfigMap: "other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			configMaps, secrets := startOf("1", nil)
			nextConfigMaps, nextSecrets := startOf("2", tc.change)
			got := (*trial.Proof)(nil).NeedsProof(operand.Objects{
				ConfigMaps: append(configMaps, nextConfigMaps...), Secrets: append(secrets, nextSecrets...),
			}, 2, 1)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestASecondProofIsNamed(t *testing.T) {
	p := &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: trial.ProofAwaited, Again: true}
	require.Equal(t, "the cloud-controller-manager on node/m1 is to lead with revision 4 once more, to prove it", p.Describe())
	p.State = trial.ProofLeads
	require.Equal(t, "the cloud-controller-manager on node/m1 leads with revision 4 once more to prove it", p.Describe())
}

// startOf returns the objects of a revision whose content is the same but for some names.
func startOf(revision string, change map[string]string) (configMaps []*corev1.ConfigMap, secrets []*corev1.Secret) {
	content := func(name string) string { return name + change[name] }
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name + "-" + revision} }
	pod := `{"spec": {"containers": [{"name": "cloud-controller-manager", "image": "` + content(operand.PodConfigMap) + `"}]}}`
	return []*corev1.ConfigMap{
			{ObjectMeta: meta(operand.PodConfigMap), Data: map[string]string{"pod.yaml": pod}},
			{ObjectMeta: meta(operand.TrustedCAConfigMap), Data: map[string]string{"ca": content(operand.TrustedCAConfigMap)}},
		}, []*corev1.Secret{
			{ObjectMeta: meta(operand.CloudConfigSecret), Data: map[string][]byte{"c": []byte(content(operand.CloudConfigSecret))}},
			{ObjectMeta: meta(operand.CloudCredentialsSecret), Data: map[string][]byte{"c": []byte(content(operand.CloudCredentialsSecret))}},
		}
}
