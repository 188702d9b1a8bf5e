package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/admissiontest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// policies are the ValidatingAdmissionPolicies that the API has, evaluated by the API server's own code.
type policies struct {
	world  *world
	rights *rights

	mutex sync.Mutex
	// compiled are the policies, nil for one that does not compile, and bound the bindings with the names of theirs.
	compiled map[string]*admissiontest.Policy
	bound    map[string]string
	// denied counts the requests that a policy has denied.
	denied int
}

// known has the policies that some world has compiled, by their specs: that takes longer than an installation.
var known sync.Map

func newPolicies(w *world, r *rights) *policies {
	p := &policies{
		world: w, rights: r, compiled: map[string]*admissiontest.Policy{}, bound: map[string]string{},
	}
	w.api.Observe(p.see)
	return p
}

// see is an observer of the API.
func (p *policies) see(c apitest.Change) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch name := strings.TrimPrefix(c.Key, "/"); c.Resource.Resource {
	case "validatingadmissionpolicies":
		delete(p.compiled, name)
		if c.After != nil {
			p.compiled[name] = p.compile(name, apitest.Load[admissionv1.ValidatingAdmissionPolicy](c.After).Spec)
		}
	case "validatingadmissionpolicybindings":
		delete(p.bound, name)
		if c.After != nil {
			p.bound[name] = apitest.Load[admissionv1.ValidatingAdmissionPolicyBinding](c.After).Spec.PolicyName
		}
	}
}

// admit returns why a policy denies a write. The API calls it with its lock.
func (p *policies) admit(by string, q apitest.Request, before, after object) error {
	r := admissiontest.Request{
		Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace, Name: q.Name,
		Old: unstructuredOf(before), New: unstructuredOf(after),
	}
	name, _, _ := strings.Cut(by, "#")
	r.By = &user.DefaultInfo{Name: name}
	for _, o := range []object{before, after} {
		if o != nil {
			r.Kind = schema.FromAPIVersionAndKind(fmt.Sprint(o["apiVersion"]), fmt.Sprint(o["kind"]))
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, name := range p.bound {
		policy := p.compiled[name]
		if policy == nil || !policy.Matches(r) {
			continue
		}
		denials, err := policy.Denials(context.Background(), r, authorizer.AuthorizerFunc(p.allows))
		if err != nil {
			p.world.violate("a policy fails", "%s: %v", name, err)
		}
		if len(denials) > 0 {
			p.denied++
			if isOperator(by) {
				p.world.violate("a policy denies a request of the operator", "%s %s: %v", q.Verb, q.Name, denials)
			}
			return errors.New(denials[0].Message)
		}
	}
	return nil
}

func (p *policies) compile(name string, spec admissionv1.ValidatingAdmissionPolicySpec) *admissiontest.Policy {
	key := spec.String()
	if policy, found := known.Load(key); found {
		return policy.(*admissiontest.Policy) //nolint:forcetypeassert // Nothing else is stored.
	}
	policy, err := admissiontest.Compile(spec)
	if err != nil {
		p.world.violate("a policy fails", "%s does not compile: %v", name, err)
		return nil
	}
	known.Store(key, policy)
	return policy
}

// allows answers the questions of the policies themselves.
func (p *policies) allows(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	namespace, account, _ := strings.Cut(strings.TrimPrefix(a.GetUser().GetName(), serviceAccount), ":")
	q := apitest.Request{
		Verb: a.GetVerb(), Namespace: a.GetNamespace(), Name: a.GetName(), Subresource: a.GetSubresource(),
		Resource: schema.GroupVersionResource{Group: a.GetAPIGroup(), Resource: a.GetResource()},
	}
	if p.rights.grant(namespace, account, q) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func unstructuredOf(o object) runtime.Object {
	if o == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: o}
}
