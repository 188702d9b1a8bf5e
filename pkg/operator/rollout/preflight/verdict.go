package preflight

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Result is how a preflight ended.
type Result string

const (
	// Successful is a preflight whose cloud-controller-manager led and looked up its nodes.
	Successful Result = "Successful"
	// Failed is one whose cloud-controller-manager cannot work with what the candidate has.
	Failed Result = "Failed"
	// Inconclusive is one that shows nothing about the candidate: the cloud may be down, or the pod did not run.
	Inconclusive Result = "Inconclusive"
)

// Verdict is what a preflight shows about a candidate. PreflightVerdictAnnotation has it as JSON.
type Verdict struct {
	Result Result `json:"result"`
	// Class is why, for Failed and Inconclusive: the name of a nodecause.Class, Crash or NotStarted.
	Class string `json:"class,omitempty"`
	// Message has the cause, the last words of the cloud-controller-manager without secrets, and the action.
	Message string `json:"message,omitempty"`
	// Node is where the preflight ran, Ended when it ended, and Took how long it ran.
	Node  string          `json:"node,omitempty"`
	Ended metav1.Time     `json:"ended"`
	Took  metav1.Duration `json:"took"`
}

// VerdictOf returns the verdict in the Secret of a candidate, nil if there is none yet.
func VerdictOf(candidate *corev1.Secret) (*Verdict, error) {
	text := candidate.Annotations[operand.PreflightVerdictAnnotation]
	if text == "" {
		return nil, nil
	}
	verdict := &Verdict{}
	if err := json.Unmarshal([]byte(text), verdict); err != nil {
		return nil, fmt.Errorf("annotation %s of secret/%s in %s: %w; delete the Secret to repeat the preflight",
			operand.PreflightVerdictAnnotation, candidate.Name, candidate.Namespace, err)
	}
	return verdict, nil
}

// describe returns the verdict for a condition or an event.
func (v *Verdict) describe() string {
	return fmt.Sprintf("a cloud-controller-manager with the changed inputs, on node/%s for %s at %s: %s", v.Node,
		v.Took.Round(time.Second), v.Ended.UTC().Format(time.RFC3339), v.Message)
}
