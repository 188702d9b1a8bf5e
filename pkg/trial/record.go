// Package trial contains the record of a change that is tried before it becomes a revision, and before a second node
// gets it. It decides what is rejected together and for how long that is remembered, when a preflight is repeated, and
// which revisions need a proof. The documentation of package targetconfigcontroller describes what happens to a
// candidate (the gate), and that of package preflight the verdicts and the states of a proof.
package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Annotation on the Secret operand.PreflightName contains the Record as JSON.
const Annotation = "cloud-controller-manager.openshift.io/trial"

// Record is what is known about the change that is being tried, and about earlier ones. Target configuration writes
// what is to be tried, and package preflight the verdicts. Each writes the whole record, at the version that it read.
type Record struct {
	// Digest is the candidate's, Inputs are the digests of its changes, and Credentials that of its login.
	Digest      string               `json:"digest,omitempty"`
	Inputs      operand.StartDigests `json:"inputs,omitempty"`
	Credentials string               `json:"credentials,omitempty"`
	// Again means that its pod runs again, because the former pod ended while no operator watched it.
	Again bool `json:"again,omitempty"`
	// Verdict is about the candidate, nil before there is one. While the preflight is repeated, it is the former verdict.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Rejected are the inputs with which a preflight or a revision did not succeed, each with its own verdict.
	Rejected []Rejection `json:"rejected,omitempty"`
	// Proof is the proof of a revision, nil if there is none. The key is older than the name.
	Proof *Proof `json:"leading,omitempty"`

	// Files are the data of the Secret: the pod and the files of the candidate, until there is a verdict.
	Files map[string][]byte `json:"-"`
	// Secret is the Secret from which the record was read, nil if it does not exist.
	Secret *corev1.Secret `json:"-"`
}

// Of returns the record in the Secret, empty if there is none. secret may be nil.
func Of(secret *corev1.Secret) *Record {
	r := &Record{}
	if secret == nil {
		return r
	}
	if json.Unmarshal([]byte(secret.Annotations[Annotation]), r) != nil {
		r = &Record{} // what cannot be decoded is tried again
	}
	r.Files, r.Secret = secret.Data, secret
	return r
}

// HasRecord filters the events of Secrets: it reports whether one has the record, or may have had it.
func HasRecord(obj any) bool {
	object, ok := obj.(metav1.Object)
	return !ok || object.GetName() == operand.PreflightName
}

// Runs reports whether the candidate waits for its preflight, or is in it.
func (r *Record) Runs() bool { return len(r.Files) > 0 }

// Conclude records the verdict about the candidate. It also applies to each part of it that was rejected before.
func (r *Record) Conclude(verdict *Verdict) {
	r.Verdict, r.Files = verdict, nil
	if len(r.Inputs) == 0 {
		return
	}
	present := Rejection{Inputs: toReject(r.Inputs, verdict), Verdict: *verdict, Credentials: r.Credentials}
	// A preflight does not show why a revision fails, unless the cloud rejects every login.
	concerns := func(other Rejection) bool {
		isLogin := other.Verdict.Revision != 0 && other.Verdict.LeaderRejected
		return r.Inputs.Matches(other.Inputs) && (isLogin || other.Verdict.Revision == verdict.Revision)
	}
	r.Rejected = slices.Clone(r.Rejected)
	switch {
	case verdict.Result == Successful:
		r.Rejected = slices.DeleteFunc(r.Rejected, concerns)
	case !slices.ContainsFunc(r.Rejected, concerns):
		r.Rejected = append(r.Rejected, present)
	}
	for i := range r.Rejected {
		if concerns(r.Rejected[i]) {
			r.Rejected[i].update(&present)
		}
	}
}

// MarkLeaderRejected records that the cloud rejects the running cloud-controller-manager's login too. Candidates whose
// login was rejected are then tried again at once.
func (r *Record) MarkLeaderRejected(latest int32) {
	mark := func(v *Verdict) {
		if v.AwaitsLeader(latest) {
			v.LeaderRejected, v.Tries = true, 0
		}
	}
	if r.Verdict != nil {
		mark(r.Verdict)
	}
	for i := range r.Rejected {
		mark(&r.Rejected[i].Verdict)
	}
}

// IsRejected reports whether a revision is rejected.
func (r *Record) IsRejected(revision int32) bool {
	return slices.ContainsFunc(r.Rejected, func(r Rejection) bool { return r.IsFor(revision) })
}

// InSecret returns the Secret with the record.
func (r *Record) InSecret() (*corev1.Secret, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding the record of secret/%s in %s: %w", operand.PreflightName, operand.Namespace, err)
	}
	secret := operand.PreflightSecret()
	if r.Secret != nil && !ptr.Deref(r.Secret.Immutable, false) {
		secret = r.Secret.DeepCopy()
	}
	secret.Annotations, secret.Data = map[string]string{Annotation: string(text)}, r.Files
	return secret, nil
}

// Save writes the record if it has changed, at the version from which it was read: after a conflict the caller must
// decide again. An empty record has no Secret. An immutable Secret, whose data could never change, is replaced.
func (r *Record) Save(ctx context.Context, client corev1client.SecretsGetter) error {
	next, err := r.InSecret()
	if err != nil {
		return err
	}
	write, isEmpty := client.Secrets(operand.Namespace), next.Annotations[Annotation] == "{}" && !r.Runs()
	if former := r.Secret; former != nil && (isEmpty || ptr.Deref(former.Immutable, false)) {
		r.Secret, err = nil, write.Delete(ctx, former.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &former.UID, ResourceVersion: &former.ResourceVersion},
		})
	}
	switch {
	case err != nil, isEmpty:
	case r.Secret == nil:
		r.Secret, err = write.Create(ctx, next, metav1.CreateOptions{})
	case !equality.Semantic.DeepEqual(next, r.Secret):
		r.Secret, err = write.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing secret/%s in %s: %w", next.Name, next.Namespace, err)
	}
	return nil
}
