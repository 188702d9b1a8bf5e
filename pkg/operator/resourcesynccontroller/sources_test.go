package resourcesynccontroller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestACopyIsOneOfItsSourceWithTheSameData(t *testing.T) {
	type pair struct {
		source, raw *corev1.ConfigMap
	}
	source := configMap("openshift-config", "user-ca-bundle", map[string]string{"ca-bundle.crt": "ca"})
	source.BinaryData = map[string][]byte{"binary": {1}}
	copied := func(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		raw := source.DeepCopy()
		raw.Namespace, raw.Name = target, "raw-trusted-ca"
		raw.Annotations = map[string]string{SourceAnnotation: "openshift-config/user-ca-bundle"}
		change(raw)
		return raw
	}
	same := func(*corev1.ConfigMap) {}
	for name, tc := range map[string]struct {
		pair
		want bool
	}{
		"neither exists":               {want: true},
		"there is no copy yet":         {pair: pair{source: source}},
		"the copy has lost its source": {pair: pair{raw: copied(same)}},
		"all is the same":              {pair: pair{source, copied(same)}, want: true},
		"it is of another source": {pair: pair{source, copied(func(raw *corev1.ConfigMap) {
			raw.Annotations[SourceAnnotation] = "openshift-config/other"
		})}},
		"a text differs":   {pair: pair{source, copied(func(raw *corev1.ConfigMap) { raw.Data = nil })}},
		"its bytes differ": {pair: pair{source, copied(func(raw *corev1.ConfigMap) { raw.BinaryData["binary"] = []byte{2} })}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, ConfigMapIsCopied(tc.source, tc.raw))
			if name != "a text differs" {
				require.Equal(t, tc.want, SecretIsCopied(asSecret(tc.source), asSecret(tc.raw)))
			}
		})
	}
}

// asSecret returns a Secret with the metadata and bytes of a ConfigMap.
func asSecret(c *corev1.ConfigMap) *corev1.Secret {
	if c == nil {
		return nil
	}
	return &corev1.Secret{ObjectMeta: c.ObjectMeta, Data: c.BinaryData}
}
