package report

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Input is one of the inputs that an administrator, or another operator, writes.
type Input struct {
	Name string `json:"name"`
	// Source is the object to edit.
	Source string `json:"source"`
	// Rejected reports that the present content is not used.
	Rejected bool `json:"rejected"`
	// Since is when the content in use was accepted if that is known, or when the present one was rejected.
	Since   time.Time `json:"since,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	// Code is the stable code of the reason.
	Code string `json:"code,omitempty"`
}

// Expiry is when a token or certificate expires.
type Expiry struct {
	What   string    `json:"what"`
	Object string    `json:"object"`
	At     time.Time `json:"at"`
}

// inputCauses are the causes whose conditions are shown with the inputs.
var inputCauses = []diagnostic.Cause{diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA}

func isInput(conditionType string) bool {
	return slices.ContainsFunc(inputCauses, func(c diagnostic.Cause) bool { return string(c)+"Degraded" == conditionType })
}

const none = "-"

// nothing is a Reader without objects: Gather then returns the names of the sources, which is all that is shown.
type nothing struct{}

func (nothing) ConfigMap(string, string) (*corev1.ConfigMap, error) { return nil, nil }
func (nothing) Secret(string, string) (*corev1.Secret, error)       { return nil, nil }
func (nothing) Name(object string) string                           { return object }

func inputsOf(
	s *snapshot.Snapshot, config *operandconfig.Config, p platform.Platform, operator *ccmv1.CloudControllerManager,
) []Input {
	gathered, err := inputs.Gather(nothing{}, config, p)
	if err != nil {
		return nil
	}
	accepted := inputs.SummariesOf(s.Secret(operand.AcceptedInputsSecret), p.Name)
	trust := none
	if len(gathered.Trust) > 0 {
		trust = gathered.Trust[0].Source
	}
	var found []Input
	for i, input := range []struct {
		name, source string
		accepted     *inputs.Summary
	}{
		{"cloud config", gathered.CloudConfig.Source, accepted.CloudConfig},
		{"credentials", cmp.Or(gathered.Credentials.Source, none), accepted.Credentials},
		{"trusted CA", trust, accepted.TrustedCA},
	} {
		in := Input{Name: input.name, Source: input.source}
		condition := conditionOf(operator, string(inputCauses[i])+"Degraded")
		switch {
		case condition.Status == string(operatorv1.ConditionTrue):
			in.Rejected, in.Since = true, condition.Since
			in.Reason, in.Message, in.Code = condition.Reason, condition.Message, condition.Code
		case input.source == none:
		case input.accepted != nil:
			in.Since = input.accepted.Since.UTC()
		}
		found = append(found, in)
	}
	return found
}

func expiriesOf(s *snapshot.Snapshot) []Expiry {
	var found []Expiry
	for _, from := range []struct{ name, what string }{
		{operand.KubeTokenSecret, "token for the API server"}, {operand.CloudTokensSecret, "token for the cloud"},
	} {
		records := tokens.RecordsOf(cmp.Or(s.Secret(from.name), &corev1.Secret{}))
		for _, key := range slices.Sorted(maps.Keys(records)) {
			if at, err := time.Parse(time.RFC3339, records[key].ExpiresAt); err == nil {
				found = append(found, Expiry{from.what, fmt.Sprintf("secret/%s, key %s", from.name, key), at.UTC()})
			}
		}
	}
	if secret := s.Secret(operand.ServingCertSecret); secret != nil {
		if at := servingcert.Expiry(secret); !at.IsZero() {
			found = append(found, Expiry{"serving certificate", "secret/" + operand.ServingCertSecret, at.UTC()})
		}
	}
	if bundle := s.ConfigMap(operand.ServingCAConfigMap); bundle != nil {
		if signers, err := cert.ParseCertsPEM([]byte(bundle.Data["ca-bundle.crt"])); err == nil {
			last := slices.MaxFunc(signers, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
			found = append(found, Expiry{"its signer", "configmap/" + operand.ServingCAConfigMap, last.NotAfter.UTC()})
		}
	}
	slices.SortStableFunc(found, func(a, b Expiry) int { return a.At.Compare(b.At) })
	return found
}
