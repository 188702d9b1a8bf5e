package operand

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// maxSecretBytes leaves room in a Secret's 1 MiB for its metadata.
const maxSecretBytes = 1<<20 - 16<<10

// CustomSecrets is what the Secrets of spec.custom deliver.
type CustomSecrets struct {
	// ReadOnce are the keys of those that are read once, the operand's credentials.
	ReadOnce Credentials

	// Reloaded are the keys of those that are reloaded. Their names are part of the candidate, their content is not: it is
	// in the Secret cloud-tokens. A phase that delivers files delivers these too.
	Reloaded map[string][]byte

	// Problems say why what there is may not be delivered: then neither of the two replaces what was delivered before.
	Problems []diagnostic.Diagnostic

	// Missing are those of the Secrets that do not exist. There is a problem for each.
	Missing []string
}

// SourceSecret is a Secret that spec.custom names.
type SourceSecret struct {
	// Source is the object, for example "secret/acme in openshift-cloud-controller-manager".
	Source string
	// Data is nil when there is no such Secret.
	Data map[string][]byte
}

// GatherSecrets reads the Secrets of spec.custom with get and puts together what each kind of delivery delivers.
func GatherSecrets(e *operatorv1.CustomCloudControllerManager, get func(name string) (SourceSecret, error)) (CustomSecrets, error) {
	gathered := CustomSecrets{ReadOnce: Credentials{Source: configurationSource, Data: map[string][]byte{}}, Reloaded: map[string][]byte{}}
	if e == nil {
		return gathered, nil
	}
	sources := map[operatorv1.SecretDelivery]map[string]string{operatorv1.ReadOnceSecret: {}, operatorv1.ReloadedSecret: {}}
	for _, wanted := range e.Secrets {
		if ownSecret(wanted.Name) {
			gathered.Problems = append(gathered.Problems, diagnostic.Diagnostic{
				Cause: diagnostic.Configuration, Object: configurationSource, Key: "spec.custom.secrets[" + wanted.Name + "]",
				Message: "this name is the operator's own; put the keys into a Secret of another name",
			})
			continue
		}
		secret, err := get(wanted.Name)
		if err != nil {
			return CustomSecrets{}, err
		}
		delivery, into := operatorv1.ReadOnceSecret, gathered.ReadOnce.Data
		if wanted.Delivery == operatorv1.ReloadedSecret {
			delivery, into = operatorv1.ReloadedSecret, gathered.Reloaded
		}
		gathered.add(secret, into, sources[delivery])
	}
	gathered.ReadOnce.Sources = sources[operatorv1.ReadOnceSecret]
	gathered.checkSize()
	for _, key := range sortedKeys(gathered.Reloaded) {
		// Those that are read once are checked with all credentials.
		if line, column, name, found := confdoc.Placeholders(gathered.Reloaded[key]); found {
			gathered.Problems = append(gathered.Problems, diagnostic.Diagnostic{
				Cause: diagnostic.Credentials, Object: sources[operatorv1.ReloadedSecret][key], Key: key, Line: line, Column: column,
				Message: placeholderMessage(name),
			})
		}
	}
	return gathered, nil
}

// add puts the keys of one Secret into those that are delivered alike. sources tells for each where it is from.
func (s *CustomSecrets) add(secret SourceSecret, into map[string][]byte, sources map[string]string) {
	problem := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Object: secret.Source}
	switch {
	case secret.Data == nil:
		s.Missing = append(s.Missing, secret.Source)
		problem.Message = "it does not exist, but spec.custom.secrets of cloudcontrollermanager/cluster names it; create it, or remove it there"
		s.Problems = append(s.Problems, problem)
	case len(secret.Data) == 0:
		problem.Message = "it has no keys, so it delivers no file; add one, or remove it from spec.custom.secrets of cloudcontrollermanager/cluster"
		s.Problems = append(s.Problems, problem)
	}
	for _, key := range sortedKeys(secret.Data) {
		if other, taken := sources[key]; taken {
			problem.Key = key
			problem.Message = fmt.Sprintf("%s has this key too, and both are delivered alike; rename it in one of them", other)
			s.Problems = append(s.Problems, problem)
			continue
		}
		into[key], sources[key] = bytes.Clone(secret.Data[key]), secret.Source
	}
}

func (s *CustomSecrets) checkSize() {
	for delivery, data := range map[operatorv1.SecretDelivery]map[string][]byte{
		operatorv1.ReadOnceSecret: s.ReadOnce.Data, operatorv1.ReloadedSecret: s.Reloaded,
	} {
		size := 0
		for key, value := range data {
			size += len(key) + len(value)
		}
		if size > maxSecretBytes {
			s.Problems = append(s.Problems, diagnostic.Diagnostic{
				Cause: diagnostic.Credentials, Object: configurationSource, Key: "spec.custom.secrets",
				Message: fmt.Sprintf("all Secrets that are %s are %d bytes together, more than the %d that fit into one; remove some", delivery, size, maxSecretBytes),
			})
		}
	}
	slices.SortStableFunc(s.Problems, func(a, b diagnostic.Diagnostic) int { return strings.Compare(string(a.Cause), string(b.Cause)) })
}

// revisionSuffix ends the name of a revision's copy.
var revisionSuffix = regexp.MustCompile(`-\d+$`)

// ownSecret tells whether the operator itself, or one of its pods, uses a Secret of this name in the operand's namespace.
func ownSecret(name string) bool {
	// The last one is what an earlier version of the operator left.
	if slices.Contains([]string{AcceptedInputsSecret, "cert-syncer-identity", "raw-cloud-credentials"}, name) {
		return true
	}
	base := revisionSuffix.ReplaceAllString(name, "")
	return slices.ContainsFunc(Delivered(), func(o Object) bool { return o.Kind == Secret && (o.Name == name || o.Name == base) })
}
