package operand

import (
	corev1 "k8s.io/api/core/v1"
)

// Render makes a complete candidate out of in. It returns an *InputError with everything that is wrong when it
// refuses the inputs; any other error is a defect of the assets.
func Render(in Inputs) (*Resources, error) { panic("being written") }

// InputDigest identifies the raw inputs that a user can edit: cloud configuration, credentials and trust.
// Identical bytes are never a change, whoever restarts or upgrades.
func InputDigest(in Inputs) string { panic("being written") }

// CopiesMatch tells whether the data of a revision's copies is the candidate whose digest its pod ConfigMap carries.
// The objects are given without their revision suffixes' meaning: names may be suffixed with "-<revision>".
func CopiesMatch(configMaps []*corev1.ConfigMap, secrets []*corev1.Secret, revision int32) error {
	panic("being written")
}

// Error lists the problems in one line each.
func (e *InputError) Error() string { panic("being written") }

// String is the problem as one line: source, key, line:column and message.
func (p Problem) String() string { panic("being written") }
