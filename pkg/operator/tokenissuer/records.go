package tokenissuer

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
)

// recordsAnnotation on a Secret with several tokens holds their Records by key, as JSON.
const recordsAnnotation = "cloud-controller-manager.openshift.io/token-records"

// Records are those of a Secret's tokens by key.
type Records map[string]Record

// RecordsOf reads them from a Secret. What cannot be read is like what is not there: the tokens are replaced.
func RecordsOf(secret *corev1.Secret) Records {
	records := Records{}
	if err := json.Unmarshal([]byte(secret.Annotations[recordsAnnotation]), &records); err != nil {
		return Records{}
	}
	return records
}

// Annotations are what a Secret with these records carries.
func (r Records) Annotations() (map[string]string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing the annotation %s: %w", recordsAnnotation, err)
	}
	return map[string]string{recordsAnnotation: string(text)}, nil
}

// Missing are the keys of the tokens that secret does not hold for their audience.
func Missing(secret *corev1.Secret, tokens []clouds.Token) []string {
	records := RecordsOf(secret)
	var missing []string
	for _, token := range tokens {
		if len(secret.Data[token.Key]) == 0 || records[token.Key].Audience != token.Audience {
			missing = append(missing, token.Key)
		}
	}
	return missing
}
