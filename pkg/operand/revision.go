package operand

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// Revision is the cloud configuration, the credentials and the trusted CAs of a revision. It replaces rejected inputs
// that have no accepted version.
type Revision struct {
	Number int32

	inputDigest string
	cloud       clouds.Result
	caBundle    []byte
	credentials Credentials
	reloaded    map[string][]byte
	trust       []byte
}

// Revision reads the copies of a revision, which must be a complete candidate. The Secret NodeManagerConfigSecret has
// no copies, so its current data is used.
func (o Objects) Revision(number int32) (*Revision, error) {
	if err := o.CopiesMatch(number); err != nil {
		return nil, fmt.Errorf("revision %d: %w", number, err)
	}
	configMap := func(name string) *corev1.ConfigMap { return o.ConfigMap(NameIn(name, number)) }
	secret := func(name string) map[string][]byte { return o.Secret(NameIn(name, number)).Data }
	pod := configMap(PodConfigMap)
	tokens, err := TokensOf(pod)
	if err != nil {
		return nil, err
	}
	revision := &Revision{
		Number:      number,
		inputDigest: pod.Annotations[AcceptedInputAnnotation],
		cloud: clouds.Result{
			Config: secret(CloudConfigSecret)[cloudConfKey], Files: maps.Clone(secret(CloudConfigSecret)),
			Credentials: secret(CloudCredentialsSecret), Tokens: tokens, Kept: KeptOf(pod),
		},
		credentials: Credentials{
			Source: pod.Annotations[credentialsAnnotation], Data: secret(CloudCredentialsSecret),
		},
		reloaded: map[string][]byte{},
		trust:    []byte(configMap(TrustedCAConfigMap).Data[trustKey]),
	}
	if nodeManager := o.Secret(NodeManagerConfigSecret); nodeManager != nil {
		revision.cloud.NodeManager = nodeManager.Data
	}
	delete(revision.cloud.Files, cloudConfKey)
	if bundle, exists := configMap(CloudConfigConfigMap).Data[cloudCAKey]; exists {
		revision.caBundle = []byte(bundle)
	}
	for _, key := range customccm.ReloadedBy(pod) {
		revision.reloaded[key] = nil
	}
	return revision, nil
}

// WithCloud returns in with the cloud configuration and the credentials of the revision, as they were rendered.
func (r *Revision) WithCloud(in Inputs) Inputs {
	in.delivered = r
	in.CloudConfig = CloudConfig{Source: fmt.Sprintf("secret/%s-%d in %s", CloudConfigSecret, r.Number, Namespace),
		CABundle: r.caBundle}
	in.Credentials = r.credentials
	in.Custom.ReadOnce, in.Custom.Sources, in.Custom.Reloaded = r.credentials.Data, r.credentials.Sources, r.reloaded
	return in
}

// WithConfig returns in with only the cloud configuration of the revision, as it was rendered. It returns false where
// that has the credentials in it.
func (r *Revision) WithConfig(in Inputs) (Inputs, bool) {
	in.configured, in.CloudConfig.CABundle = r, r.caBundle
	return in, len(r.credentials.Data) > 0
}

// Trust returns the trusted CAs of the revision.
func (r *Revision) Trust() TrustSource {
	return TrustSource{Source: fmt.Sprintf("configmap/%s-%d in %s", TrustedCAConfigMap, r.Number, Namespace),
		Key: trustKey, Data: r.trust}
}

// KeptOf returns the decoded keptAnnotation of a pod ConfigMap, nil if it is invalid.
func KeptOf(podConfigMap *corev1.ConfigMap) map[string]string {
	var kept map[string]string
	if err := json.Unmarshal([]byte(podConfigMap.Annotations[keptAnnotation]), &kept); err != nil {
		return nil
	}
	return kept
}

// Remembered returns the annotations of the pod ConfigMap that a removal preserves on the operator's resource: with
// which input the cluster was installed, and which settings are not in effect. It returns nil if nothing was accepted.
func Remembered(annotations map[string]string) map[string]string {
	if annotations[AcceptedInputAnnotation] == "" {
		return nil
	}
	return map[string]string{
		AcceptedInputAnnotation: annotations[AcceptedInputAnnotation],
		keptAnnotation:          annotations[keptAnnotation],
	}
}
