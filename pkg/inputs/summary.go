package inputs

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Summary is what is recorded about an accepted input besides its content.
type Summary struct {
	Source string
	Since  time.Time
}

// Summaries are nil for inputs without an accepted version.
type Summaries struct{ CloudConfig, Credentials, TrustedCA *Summary }

// WithoutContent returns a copy of the Secret operand.AcceptedInputsSecret with only the records of the inputs that
// ReadAccepted would return. It omits their digests, because a short secret can be guessed from its digest.
func WithoutContent(secret *corev1.Secret) (*corev1.Secret, error) {
	var stored records
	if err := json.Unmarshal(secret.Data[recordsKey], &stored); err != nil {
		stored = records{} // ReadAccepted ignores it too
	}
	accepted := ReadAccepted(secret, stored.Platform)
	kept := records{Platform: stored.Platform}
	if v := accepted.CloudConfig; v != nil {
		kept.CloudConfig = &record{Source: v.Source, Since: v.Since}
	}
	if v := accepted.Credentials; v != nil {
		kept.Credentials = &record{Source: v.Source, Since: v.Since}
	}
	if v := accepted.TrustedCA; v != nil {
		kept.TrustedCA = &record{Source: v.Source, Since: v.Since}
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("writing %s of secret/%s in %s: %w", recordsKey, secret.Name, secret.Namespace, err)
	}
	return &corev1.Secret{
		TypeMeta:   secret.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: operand.AcceptedInputsSecret},
		Data:       map[string][]byte{recordsKey: data},
	}, nil
}

// SummariesOf reads the result of WithoutContent for a platform; secret may be nil.
func SummariesOf(secret *corev1.Secret, platform string) Summaries {
	var r records
	if secret == nil || json.Unmarshal(secret.Data[recordsKey], &r) != nil || r.Platform != platform {
		return Summaries{}
	}
	summary := func(r *record) *Summary {
		if r == nil || strings.TrimSpace(r.Source) == "" {
			return nil
		}
		return &Summary{Source: r.Source, Since: r.Since}
	}
	return Summaries{summary(r.CloudConfig), summary(r.Credentials), summary(r.TrustedCA)}
}
