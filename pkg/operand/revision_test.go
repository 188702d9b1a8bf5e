package operand_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// revisionOf returns the copies of a candidate, and the Secret of the node manager, which has no copies.
func revisionOf(r *operand.Resources, number int32) (configMaps []*corev1.ConfigMap, secrets []*corev1.Secret) {
	for _, object := range r.ConfigMaps {
		copied := object.DeepCopy()
		copied.Name = fmt.Sprintf("%s-%d", object.Name, number)
		configMaps = append(configMaps, copied)
	}
	for _, object := range r.Secrets {
		copied := object.DeepCopy()
		copied.Name = fmt.Sprintf("%s-%d", object.Name, number)
		secrets = append(secrets, copied)
	}
	if r.NodeManagerConfig != nil {
		secrets = append(secrets, r.NodeManagerConfig)
	}
	return configMaps, secrets
}

func TestARevisionReplacesRejectedInputsOnEveryPlatform(t *testing.T) {
	for _, p := range managed() {
		t.Run(p.Name, func(t *testing.T) {
			in := inputs(t, p, operand.OperatorPhase())
			in.Custom.Reloaded = map[string][]byte{"token": []byte("x")}
			rendered, err := operand.Render(in)
			require.NoError(t, err)
			configMaps, secrets := revisionOf(rendered, 7)
			revision, err := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.Revision(7)
			require.NoError(t, err)

			broken := in
			broken.CloudConfig = operand.CloudConfig{Source: "configmap/c in openshift-config",
				Diagnostic: "it does not exist"}
			broken.Credentials, broken.Custom = operand.Credentials{}, customccm.Secrets{}
			broken.Trust = append([]operand.TrustSource{revision.Trust()}, in.Trust[1:]...)
			again, err := operand.Render(revision.WithCloud(broken))
			require.NoError(t, err)
			require.Equal(t, rendered.ConfigMaps, again.ConfigMaps, "annotations included")
			require.Equal(t, rendered.Secrets, again.Secrets)
			require.Equal(t, rendered.NodeManager, again.NodeManager)
			require.Equal(t, rendered.NodeManagerConfig, again.NodeManagerConfig)
			require.Equal(t, "configmap/trusted-ca-7 in openshift-cloud-controller-manager", revision.Trust().Source)
		})
	}
}

func TestAnIncompleteRevisionIsRejected(t *testing.T) {
	in := inputs(t, managed()[0], operand.OperatorPhase())
	rendered, err := operand.Render(in)
	require.NoError(t, err)
	configMaps, secrets := revisionOf(rendered, 7)
	_, err = operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.Revision(8)
	require.EqualError(t, err, "revision 8: configmap/cloud-controller-manager-pod-8 in "+
		"openshift-cloud-controller-manager does not exist: "+
		"the candidate is not fully applied")
	for _, object := range configMaps {
		if object.Name == "cloud-controller-manager-pod-7" {
			object.Annotations[operand.TokensAnnotation] = "{"
		}
	}
	_, err = operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.Revision(7)
	require.ErrorContains(t, err, "annotation cloud-controller-manager.openshift.io/cloud-tokens of "+
		"configmap/cloud-controller-manager-pod-7")
}

func TestWhatARemovalKeepsOfARevision(t *testing.T) {
	const accepted, kept = "cloud-controller-manager.openshift.io/accepted-input", "cloud-controller-manager.openshift.io/kept-settings"
	require.Nil(t, operand.Remembered(map[string]string{kept: `{"a":"b"}`, "other": "annotation"}), "nothing was installed")
	remembered := operand.Remembered(map[string]string{accepted: "digest", kept: `{"a":"b"}`, "other": "annotation"})
	require.Equal(t, map[string]string{accepted: "digest", kept: `{"a":"b"}`}, remembered)

	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: remembered}}
	require.Equal(t, map[string]string{"a": "b"}, operand.KeptOf(configMap))
	configMap.Annotations[kept] = `{"a":"b", "c":1}`
	require.Nil(t, operand.KeptOf(configMap), "somebody has edited it")
}
