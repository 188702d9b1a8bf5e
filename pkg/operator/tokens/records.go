package tokens

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// recordsAnnotation on a Secret with tokens holds their Records by key, as JSON.
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
