// Package admissionpolicies reports when the API server does not enforce the payload's admission policies, which hold,
// limit or check what RBAC cannot. The cluster-version-operator owns most of them, and restores them within minutes.
package admissionpolicies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissioninformers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes/scheme"
	admissionv1client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/manifests"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// ConditionType is the condition of this package.
	ConditionType = "AdmissionPoliciesDegraded"

	// Selector selects the policies of the payload and their bindings, including those that staticresources applies.
	Selector = "app.kubernetes.io/part-of=cloud-controller-manager-operator"

	name = "AdmissionPolicyController"

	// syncDelay is how long to wait for the informers, which send no event if there is no object.
	syncDelay = time.Second

	// retryDelay is how long to wait after a binding could not be created.
	retryDelay = 10 * time.Second

	// lookDelay is how often the objects without an informer are read.
	lookDelay = 5 * time.Minute
)

// The reasons of the condition, the most severe first.
const (
	policyMissing  = "PolicyMissing"
	bindingMissing = "BindingMissing"
	policyChanged  = "PolicyChanged"
)

var reasons = []string{policyMissing, bindingMissing, policyChanged}

// Inertia tolerates a changed policy during an upgrade: the payload's policies come before their operator.
var Inertia = operatorclient.Inertia{
	ConditionType:                       operatorclient.AtOnce,
	ConditionType + "/" + policyChanged: 10 * time.Minute,
}

type controller struct {
	dependencies.Deps
	policies admissioninformers.ValidatingAdmissionPolicyInformer
	bindings admissioninformers.ValidatingAdmissionPolicyBindingInformer
	// rights lists what the operator binds on a platform, including policies that the payload does not bind.
	rights  func(platform.Platform) ([]configv1.ObjectReference, error)
	payload payload
	synced  func() bool
}

// New returns the controller that sets AdmissionPoliciesDegraded while a policy that the platform needs, or its binding
// in the payload, is missing or differs. It recreates a missing binding: the right to create bindings, which
// staticresources needs, can only forbid more. With the right to update bindings, the operator could release itself;
// with the right to create policies, it could lock everybody out.
//
// The informers have at least the objects that match Selector, and run on managed platforms.
func New(
	d dependencies.Deps, policies admissioninformers.ValidatingAdmissionPolicyInformer,
	bindings admissioninformers.ValidatingAdmissionPolicyBindingInformer,
	rights func(platform.Platform) ([]configv1.ObjectReference, error),
) factory.Controller {
	dependencies.Require(d, policies, bindings, rights)
	c := &controller{
		Deps: d, policies: policies, bindings: bindings, rights: rights, payload: readPayload(),
		synced: func() bool { return policies.Informer().HasSynced() && bindings.Informer().HasSynced() },
	}
	return reconciler.New(name, d.Operator, d.Recorder, c.sync,
		ondemand.Informer{SharedIndexInformer: policies.Informer()},
		ondemand.Informer{SharedIndexInformer: bindings.Informer()})
}

func (c *controller) client() admissionv1client.AdmissionregistrationV1Interface {
	return c.Kube.AdmissionregistrationV1()
}

// finding is a policy that is not, or may not be, enforced.
type finding struct{ reason, message string }

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.OfNodePods(c.Operator)
	if err != nil || !known {
		return err
	}
	if !observed.Managed() {
		return c.report(ctx, nil)
	}
	if !c.synced() {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), syncDelay)
		return nil
	}
	needed, err := c.needed(observed)
	if err != nil {
		return err
	}
	var findings []finding
	var errs []error
	add := func(found []finding, err error) { findings, errs = append(findings, found...), append(errs, err) }
	for _, policy := range needed {
		add(c.compare(ctx, policy))
	}
	add(c.compareLabels(ctx))
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), lookDelay)
	if slices.ContainsFunc(findings, func(f finding) bool { return f.reason == bindingMissing }) {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), retryDelay)
	}
	err = errors.Join(errs...)
	if err != nil && len(findings) == 0 {
		return err // what could not be read may be wrong
	}
	return errors.Join(err, c.report(ctx, findings))
}

// needed returns the policies of the payload that the payload binds, or the operator on this platform.
func (c *controller) needed(observed platform.Platform) ([]*admissionv1.ValidatingAdmissionPolicy, error) {
	rights, err := c.rights(observed)
	if err != nil {
		return nil, fmt.Errorf("listing the policies of platform %s: %w", observed.Name, err)
	}
	return slices.DeleteFunc(slices.Clone(c.payload.policies), func(p *admissionv1.ValidatingAdmissionPolicy) bool {
		return c.payload.bindings[p.Name] == nil &&
			!slices.Contains(rights, configv1.ObjectReference{
				Group: admissionv1.GroupName, Resource: "validatingadmissionpolicies", Name: p.Name,
			})
	}), nil
}

// compare compares a policy and its binding in the payload with those of the cluster. staticresources applies the other
// bindings, and reports its errors. An object that the cache lacks may only have lost its label.
func (c *controller) compare(ctx context.Context, policy *admissionv1.ValidatingAdmissionPolicy) ([]finding, error) {
	o := object{"validatingadmissionpolicy", policy.Name, purposes[policy.Name], policyMissing}
	policies := operatorclient.Cached(c.policies.Lister().Get, c.client().ValidatingAdmissionPolicies().Get)
	findings, err := assess(ctx, o, policies, policy, func(p *admissionv1.ValidatingAdmissionPolicy) any { return p.Spec })
	binding := c.payload.bindings[policy.Name]
	if err != nil || binding == nil {
		return findings, err
	}
	o = object{"validatingadmissionpolicybinding", binding.Name, o.purpose, bindingMissing}
	bindings := operatorclient.Cached(c.bindings.Lister().Get, c.client().ValidatingAdmissionPolicyBindings().Get)
	if _, err := bindings(ctx, binding.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		if err := c.bind(ctx, binding); err != nil {
			findings = append(findings, finding{bindingMissing, fmt.Sprintf("nothing %s, because %s/%s does not exist, and the "+
				"operator cannot create it: %v; %s", o.purpose, o.kind, o.name, err, restored)})
		}
		return findings, nil
	}
	found, err := assess(ctx, o, bindings, binding,
		func(b *admissionv1.ValidatingAdmissionPolicyBinding) any { return b.Spec })
	return append(findings, found...), err
}

// compareLabels compares the MutatingAdmissionPolicy and its binding. It reads them from the API: an informer would
// never sync where the API server does not serve them.
func (c *controller) compareLabels(ctx context.Context) ([]finding, error) {
	want, binding := c.payload.labels, c.payload.labelsBinding
	findings, err := assess(ctx, object{"mutatingadmissionpolicy", want.Name, labelsPurpose, policyMissing},
		c.client().MutatingAdmissionPolicies().Get, want,
		func(p *admissionv1.MutatingAdmissionPolicy) any { return p.Spec })
	if err != nil {
		return nil, err
	}
	found, err := assess(ctx, object{"mutatingadmissionpolicybinding", binding.Name, labelsPurpose, bindingMissing},
		c.client().MutatingAdmissionPolicyBindings().Get, binding,
		func(b *admissionv1.MutatingAdmissionPolicyBinding) any { return b.Spec })
	return append(findings, found...), err
}

type object struct{ kind, name, purpose, missing string }

// assess returns what is wrong with an object. A resource that is not served, whose 404 is no Status, is no finding.
func assess[T any](
	ctx context.Context, o object, get operatorclient.GetFunc[*T], want *T, spec func(*T) any,
) ([]finding, error) {
	live, err := get(ctx, o.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, nil
	case apierrors.IsNotFound(err):
		return []finding{{o.missing, fmt.Sprintf("nothing %s, because %s/%s does not exist; %s", o.purpose, o.kind, o.name,
			restored)}}, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s/%s: %w", o.kind, o.name, err)
	case !equality.Semantic.DeepEqual(spec(live), spec(want)):
		return []finding{{policyChanged, fmt.Sprintf("perhaps nothing %s, because spec of %s/%s is not that of this "+
			"release; %s", o.purpose, o.kind, o.name, restored)}}, nil
	}
	return nil, nil
}

// restored is how a finding is fixed, and what prevents that.
const restored = "the cluster-version-operator restores it within minutes, unless spec.overrides of " +
	"clusterversion/version excludes it"

func (c *controller) bind(ctx context.Context, binding *admissionv1.ValidatingAdmissionPolicyBinding) error {
	_, err := c.client().ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Recorder.Warningf("AdmissionPolicyBound", "validatingadmissionpolicybinding/%s was missing, without which nothing "+
		"%s; the operator created it again", binding.Name, purposes[binding.Spec.PolicyName])
	return nil
}

func (c *controller) report(ctx context.Context, findings []finding) error {
	slices.SortStableFunc(findings, func(a, b finding) int {
		return cmp.Compare(slices.Index(reasons, a.reason), slices.Index(reasons, b.reason))
	})
	reason, messages := "", []string(nil)
	for _, f := range findings {
		reason, messages = cmp.Or(reason, f.reason), append(messages, f.message)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.Problem(ConditionType, reason, strings.Join(messages, "\n")))
}

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

// payload has the policies of the release, and their bindings by the policy's name. The operator binds the others.
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
