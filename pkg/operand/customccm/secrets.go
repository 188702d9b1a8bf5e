package customccm

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// MaxBytes is how much data one ConfigMap or Secret is given: the API server's 1 MiB without room for the metadata.
const MaxBytes = 1<<20 - 16<<10

// Secrets is what the Secrets of spec.custom deliver.
type Secrets struct {
	// ReadOnce has the keys of those that are read once, the operand's credentials.
	ReadOnce map[string][]byte

	// Sources names the Secret of each key in ReadOnce.
	Sources map[string]string

	// Reloaded has the keys of those that are reloaded. Their names are part of the candidate, their content is not: it is
	// in the Secret cloud-tokens. A phase that delivers files delivers these too.
	Reloaded map[string][]byte

	// Problems are why the Secrets are rejected. If there are any, neither ReadOnce nor Reloaded replaces what was
	// delivered before.
	Problems []diagnostic.Diagnostic

	// Missing names the Secrets that do not exist. There is a problem for each.
	Missing []string
}

// SourceSecret is a Secret that spec.custom names.
type SourceSecret struct {
	// Source is the object, for example "secret/acme in openshift-cloud-controller-manager".
	Source string
	// Data is nil if the Secret does not exist.
	Data map[string][]byte
}

// Reader gets the Secrets of spec.custom.
type Reader struct {
	// IsReserved reports whether a name is that of one of the operator's own Secrets.
	IsReserved func(name string) bool
	// Get returns the Secret of that name in the operand's namespace.
	Get func(name string) (SourceSecret, error)
}

// Gather reads the Secrets of spec.custom and merges those that are delivered alike. spec may be nil.
func Gather(spec *operatorv1.CustomCloudControllerManager, r Reader) (Secrets, error) {
	s := Secrets{ReadOnce: map[string][]byte{}, Sources: map[string]string{}, Reloaded: map[string][]byte{}}
	if spec == nil {
		return s, nil
	}
	reloadedSources := map[string]string{}
	for _, wanted := range spec.Secrets {
		if r.IsReserved(wanted.Name) {
			s.Problems = append(s.Problems, newDiagnostic(at("secrets[%s]", wanted.Name),
				"this name is the operator's own; put the keys into a Secret of another name"))
			continue
		}
		secret, err := r.Get(wanted.Name)
		if err != nil {
			return Secrets{}, err
		}
		if wanted.Delivery == operatorv1.ReloadedSecret {
			s.add(secret, s.Reloaded, reloadedSources)
		} else {
			s.add(secret, s.ReadOnce, s.Sources)
		}
	}
	s.checkSize(operatorv1.ReadOnceSecret, s.ReadOnce)
	s.checkSize(operatorv1.ReloadedSecret, s.Reloaded)
	slices.SortStableFunc(s.Problems, func(a, b diagnostic.Diagnostic) int {
		return strings.Compare(string(a.Cause), string(b.Cause))
	})
	return s, nil
}

// add copies the keys of a Secret into those that are delivered alike, and records the Secret in their sources.
func (s *Secrets) add(secret SourceSecret, into map[string][]byte, sources map[string]string) {
	problem := diagnostic.Diagnostic{Cause: diagnostic.Credentials, Object: secret.Source}
	const named = "spec.custom.secrets of cloudcontrollermanager/cluster"
	switch {
	case secret.Data == nil:
		s.Missing = append(s.Missing, secret.Source)
		problem.Message = "it does not exist, but " + named + " names it; create it, or remove it there"
		s.Problems = append(s.Problems, problem)
	case len(secret.Data) == 0:
		problem.Message = "it has no keys, so it delivers no file; add one, or remove it from " + named
		s.Problems = append(s.Problems, problem)
	}
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		if other, taken := sources[key]; taken {
			problem.Key = key
			problem.Message = other + " has this key too, and both are delivered alike; rename it in one of them"
			s.Problems = append(s.Problems, problem)
			continue
		}
		into[key], sources[key] = bytes.Clone(secret.Data[key]), secret.Source
	}
}

// checkSize rejects more data than the one Secret that delivers it can hold.
func (s *Secrets) checkSize(delivery operatorv1.SecretDelivery, data map[string][]byte) {
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	if size > MaxBytes {
		s.Problems = append(s.Problems, diagnostic.Diagnostic{
			Cause: diagnostic.Credentials, Object: Object, Key: at("secrets"),
			Message: fmt.Sprintf("all Secrets that are %s are %d bytes together, more than the %d that fit into one; "+
				"remove some", delivery, size, MaxBytes),
		})
	}
}
