package admissionpolicies

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/openshift/cluster-cloud-controller-manager-operator/manifests"
)

// purposes are what the policies of the payload do, by name, as the rest of a sentence.
var purposes = map[string]string{
	"openshift-cloud-controller-manager-node-deletion": "holds the cloud-controller-manager's deletions of Nodes",
	"openshift-cloud-controller-manager-operand-events": "keeps others from forging " +
		"the cloud-controller-manager's Events",
	"openshift-cloud-controller-manager-operand-nodes":    "limits what the cloud-controller-manager writes to Nodes",
	"openshift-cloud-controller-manager-operand-services": "limits what the cloud-controller-manager writes to Services",
	"openshift-cloud-controller-manager-operator-nodes":   "limits what this operator writes to Nodes",
	"openshift-cloud-controller-manager-node-manager":     "limits a cloud-node-manager to its own Node",
	"openshift-cloud-controller-manager-cloud-provider-aws": "keeps a Service from changing the type of its load " +
		"balancer",
	"azure-load-balancer-tcp-idle-timeout-annotation-validation-policy": "checks the idle timeout of load balancers",
	"network-tier-annotation-validation-policy":                         "checks the network tier of load balancers",
}

const labelsPurpose = "keeps the labels of a living Node while the cloud-controller-manager is asked for its machine"

// payload has the policies of the release and their bindings, by the policy's name. A policy without a binding is bound
// by the operator, on some platforms.
type payload struct {
	policies []*admissionv1.ValidatingAdmissionPolicy
	bindings map[string]*admissionv1.ValidatingAdmissionPolicyBinding
	// labels is the policy that changes what the cloud-controller-manager writes to Nodes.
	labels        *admissionv1.MutatingAdmissionPolicy
	labelsBinding *admissionv1.MutatingAdmissionPolicyBinding
}

// readPayload decodes the embedded manifests, which are part of every build; it panics on an error.
func readPayload() payload {
	p := payload{bindings: map[string]*admissionv1.ValidatingAdmissionPolicyBinding{}}
	for _, document := range manifests.AdmissionPolicies() {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			panic(fmt.Errorf("decoding an embedded manifest: %w", err))
		}
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			p.policies = append(p.policies, object)
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			p.bindings[object.Spec.PolicyName] = object
		case *admissionv1.MutatingAdmissionPolicy:
			p.labels = object
		case *admissionv1.MutatingAdmissionPolicyBinding:
			p.labelsBinding = object
		default:
			panic(fmt.Errorf("an embedded manifest has the unsupported type %T", object))
		}
	}
	return p
}
