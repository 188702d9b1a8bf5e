package operand

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

const (
	// PreflightName is the name of a preflight's ServiceAccount, of its lease and of the Secret with the candidate, and
	// the label app of its pod.
	PreflightName = "cloud-controller-manager-preflight"

	// PreflightPod is the name of a preflight's pod.
	PreflightPod = "preflight"

	// PreflightPodKey is the key of the Secret with the pod, which contains no secret value.
	PreflightPodKey = manifestKey

	// PreflightProofAnnotation on the pod is ProvenByStart if the cloud-controller-manager looks up no Node.
	PreflightProofAnnotation = "cloud-controller-manager.openshift.io/preflight-proof"
	// ProvenByStart means that the only proof is that the provider logs in and reads from its cloud when it starts.
	ProvenByStart = "start"

	// PreflightDigestAnnotation contains the digest of the candidate, on the pod and on the Secret that PreflightCandidate
	// returns. The stored Secret has the digest in its record.
	PreflightDigestAnnotation = "cloud-controller-manager.openshift.io/preflight-digest"

	// PreflightAgainAnnotation on the pod means that an earlier pod of the candidate ended while no operator watched it.
	PreflightAgainAnnotation = "cloud-controller-manager.openshift.io/preflight-again"
)

// PreflightCandidate returns the Secret with the pod and the files of a candidate's preflight. Render must have
// accepted the candidate in the operator's phase. It returns nil if the candidate is too large for one Secret.
func PreflightCandidate(in Inputs) (*corev1.Secret, error) {
	in.Phase = PreflightPhase()
	resources, err := Render(in)
	if err != nil {
		return nil, err
	}
	pod, err := resources.PodYAML()
	if err != nil {
		return nil, err
	}
	secret := PreflightSecret()
	secret.Data = map[string][]byte{manifestKey: pod}
	size := len(pod)
	for _, file := range resources.Files {
		secret.Data[file.Name] = file.Data
		size += len(file.Data)
	}
	if size > customccm.MaxBytes {
		return nil, nil
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, PreflightDigestAnnotation,
		digestOf(nil, []*corev1.Secret{secret}, ""))
	return secret, nil
}

// PreflightSecret returns the Secret of preflights without any content.
func PreflightSecret() *corev1.Secret { return newSecret(PreflightName, nil) }

// PreflightPodOf returns the pod of the candidate in the Secret.
func PreflightPodOf(candidate *corev1.Secret) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(candidate.Data[manifestKey], pod); err != nil {
		return nil, fmt.Errorf("decoding secret/%s in %s, key %s: %w", candidate.Name, Namespace, manifestKey, err)
	}
	return pod, nil
}

// StartDigests are the digests of what a candidate's cloud-controller-manager starts with, by the input's cause.
type StartDigests map[diagnostic.Cause]string

// StartDigests returns the digests of a candidate, without the file-syncer's files and the API server's address and CA.
func (r *Resources) StartDigests() StartDigests {
	return Objects{r.ConfigMaps, r.Secrets}.StartDigests(Candidate)
}

// StartDigests returns the digests of a revision, or of the Candidate, as far as its objects exist and are valid.
func (o Objects) StartDigests(revision int32) StartDigests {
	suffix, digests := suffixOf(revision), StartDigests{}
	for cause, of := range map[diagnostic.Cause]struct{ configMap, secret string }{
		diagnostic.CloudConfig: {CloudConfigConfigMap, CloudConfigSecret},
		diagnostic.Credentials: {secret: CloudCredentialsSecret},
		diagnostic.TrustedCA:   {configMap: TrustedCAConfigMap},
	} {
		configMap, secret := present(o.ConfigMap(of.configMap+suffix)), present(o.Secret(of.secret+suffix))
		if len(configMap)+len(secret) > 0 {
			digests[cause] = digestOf(configMap, secret, suffix)
		}
	}
	podConfigMap := o.ConfigMap(PodConfigMap + suffix)
	if podConfigMap == nil {
		return digests
	}
	pod, err := StaticPodOf(podConfigMap)
	if err != nil || operandContainer(pod) == nil {
		return digests // it was edited by hand; the next revision replaces it
	}
	container := *operandContainer(pod)
	digests[diagnostic.Image] = container.Image
	container.Image = ""
	// A decoded container can be encoded.
	data, _ := json.Marshal(append([]corev1.Container{container}, pod.Spec.InitContainers...))
	digests[diagnostic.Configuration] = digestOf(nil, []*corev1.Secret{{Data: map[string][]byte{"": data}}}, "")
	return digests
}

func present[T any](object *T) []*T {
	if object == nil {
		return nil
	}
	return []*T{object}
}

// Changed returns the digests that differ from the former ones.
func (d StartDigests) Changed(former StartDigests) StartDigests {
	changed := StartDigests{}
	for cause, present := range d {
		if former[cause] != present {
			changed[cause] = present
		}
	}
	return changed
}

// Matches reports whether all other digests are among these.
func (d StartDigests) Matches(others StartDigests) bool { return len(others.Changed(d)) == 0 }

// Causes returns the causes in their order.
func (d StartDigests) Causes() []diagnostic.Cause {
	var causes []diagnostic.Cause
	for _, cause := range []diagnostic.Cause{
		diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA, diagnostic.Image, diagnostic.Configuration,
	} {
		if d[cause] != "" {
			causes = append(causes, cause)
		}
	}
	return causes
}

// Value is what an administrator enters to accept these inputs, and no others.
func (d StartDigests) Value() string { return d.acceptance("") }

// CheckedValue is what an administrator enters to accept inputs that a check rejects, so that a preflight tries them.
// It differs from Value, which accepts the same inputs without a preflight.
func (d StartDigests) CheckedValue() string { return d.acceptance("checked") }

func (d StartDigests) acceptance(of string) string {
	var text strings.Builder
	for _, cause := range d.Causes() {
		fmt.Fprintln(&text, cause, d[cause])
	}
	return digest.Hex(text.String() + of)[:12]
}
