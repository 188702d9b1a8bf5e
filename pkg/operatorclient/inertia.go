package operatorclient

import (
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// Inertia is how long a Degraded condition must last before the ClusterOperator shows it, by "Type", or by
// "Type/Reason", which has precedence. The package that writes a condition declares it.
type Inertia map[string]time.Duration

const (
	// AtOnce is for an invalid configuration, which does not recover by itself, and for a condition whose controller has
	// already waited.
	AtOnce time.Duration = 0

	// DefaultInertia gives an error of a controller the time to resolve itself.
	DefaultInertia = 2 * time.Minute
)

// Of returns the inertia of a condition, DefaultInertia if none is declared.
func (i Inertia) Of(c operatorv1.OperatorCondition) time.Duration {
	for _, key := range []string{c.Type + "/" + c.Reason, c.Type} {
		if inertia, declared := i[key]; declared {
			return inertia
		}
	}
	return DefaultInertia
}
