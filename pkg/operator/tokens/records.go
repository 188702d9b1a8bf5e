package tokens

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// recordsAnnotation is the annotation of a Secret with its tokens' Records by key, as JSON.
const recordsAnnotation = "cloud-controller-manager.openshift.io/token-records"

// Records are the Records of a Secret's tokens by key.
type Records map[string]Record

// RecordsOf reads the Records of a Secret. It returns none if they are invalid; the tokens are then replaced.
func RecordsOf(secret *corev1.Secret) Records {
	records := Records{}
	if err := json.Unmarshal([]byte(secret.Annotations[recordsAnnotation]), &records); err != nil {
		return Records{}
	}
	return records
}

// Annotations returns the annotations of a Secret with these records.
func (r Records) Annotations() (map[string]string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing the annotation %s: %w", recordsAnnotation, err)
	}
	return map[string]string{recordsAnnotation: string(text)}, nil
}
