package operand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Objects are objects of the operand's namespace: the last candidate, and the revisions.
type Objects struct {
	ConfigMaps []*corev1.ConfigMap
	Secrets    []*corev1.Secret
}

// ConfigMap returns a ConfigMap, nil if it does not exist.
func (o Objects) ConfigMap(name string) *corev1.ConfigMap { return find(o.ConfigMaps, name) }

// Secret returns a Secret, nil if it does not exist.
func (o Objects) Secret(name string) *corev1.Secret { return find(o.Secrets, name) }

func find[T interface{ GetName() string }](objects []T, name string) (found T) {
	if i := slices.IndexFunc(objects, func(o T) bool { return o.GetName() == name }); i >= 0 {
		return objects[i]
	}
	return found
}

// Candidate stands for the last candidate, which has no number yet, in parameters for a revision.
const Candidate = 0

// Changes returns the digests in which the start of a revision differs from the former one. There are none if the
// former revision was pruned, because the operator cannot go back to it.
func (o Objects) Changes(revision, former int32) StartDigests {
	before := o.StartDigests(former)
	if len(before) == 0 {
		return nil
	}
	return o.StartDigests(revision).Changed(before)
}
