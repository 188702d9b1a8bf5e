package targetconfigcontroller

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// candidate is the rendered operand with the diagnostics about its inputs.
type candidate struct {
	// resources is nil if the last candidate stays unchanged.
	resources *operand.Resources
	inputs    operand.Inputs
	// accepted has the inputs to store in accepted-inputs.
	accepted inputs.Accepted

	errors, warnings []diagnostic.Diagnostic
	// fallbacks describes, for each cause, what is used instead of a rejected input.
	fallbacks map[diagnostic.Cause]string
}

// attempt is a set of inputs to render.
type attempt struct {
	operand.Inputs
	// proxy is the trusted CA that is rendered as the Proxy's, nil if there is none.
	proxy *operand.TrustSource
	// replaced are the causes whose current input is not used.
	replaced  []diagnostic.Cause
	fallbacks map[diagnostic.Cause]string
}

// choose renders the current inputs, with accepted versions of rejected ones. All diagnostics are about the current
// inputs.
func (c *controller) choose(in *gathered) (*candidate, error) {
	var err error
	current := c.current(in)
	if current.AcceptedWarnings, err = c.acceptedWarnings(in, current); err != nil {
		return nil, err
	}
	resources, rejected, err := render(c.rendered, current.Inputs, in.errors)
	if err != nil {
		return nil, err
	}
	if rejected == nil {
		rejected, err = c.contradictions(in, current, resources)
	}
	if err != nil {
		return nil, err
	}
	if rejected == nil {
		return c.chosen(in, current, resources, nil), nil
	}
	next, err := c.replaced(in, current, rejected)
	if err != nil {
		return nil, err
	}
	return next, in.nameAcceptance(next, current.Inputs, resources != nil)
}

// acceptedWarnings returns the warnings about the accepted cloud configuration if the current one is a change of it.
func (c *controller) acceptedWarnings(in *gathered, current *attempt) ([]diagnostic.Diagnostic, error) {
	if current.Policy != diagnostic.Strict || in.accepted.CloudConfig == nil {
		return nil, nil
	}
	checked, err := operand.Check(c.withAccepted(in, current, []diagnostic.Cause{diagnostic.CloudConfig}).Inputs)
	if err != nil {
		return nil, fmt.Errorf("checking the accepted cloud configuration: %w", err)
	}
	return checked.Warnings, nil
}

// contradictions returns the likely mistakes that new credentials cause in an unchanged cloud configuration, such as
// another region. They reject the credentials, as they would reject a changed cloud configuration.
func (c *controller) contradictions(
	in *gathered, current *attempt, resources *operand.Resources,
) (*operand.InputError, error) {
	kept := in.accepted.Credentials
	isAccepted := operatorclient.IsAccepted(in.acceptance, in.contradictionValue(current.Inputs))
	isSame := kept != nil && maps.EqualFunc(kept.Input.Data, current.Credentials.Data, bytes.Equal)
	if in.First || kept == nil || isSame || isAccepted {
		return nil, nil
	}
	withFormer := c.withAccepted(in, current, []diagnostic.Cause{diagnostic.Credentials}).Inputs
	former, rejected, err := render(operand.Render, withFormer, nil)
	if err != nil || rejected != nil {
		return nil, err // The accepted credentials cannot be rendered either.
	}
	found := &operand.InputError{Warnings: resources.Warnings}
	for _, d := range resources.Warnings {
		if d.Kind.Severity(diagnostic.Strict) != diagnostic.Error || slices.Contains(former.Warnings, d) {
			continue
		}
		d.Cause, d.Object, d.Key, d.Line, d.Column = diagnostic.Credentials, current.Credentials.Source, "", 0, 0
		found.Diagnostics = append(found.Diagnostics, d)
	}
	if len(found.Diagnostics) == 0 {
		return nil, nil
	}
	found.Warnings = former.Warnings
	return found, nil
}

// replaced renders the accepted versions of rejected inputs. The result has no resources if that is not possible.
func (c *controller) replaced(in *gathered, current *attempt, rejected *operand.InputError) (*candidate, error) {
	for _, a := range c.replacements(in, current, rejected.Diagnostics) {
		others := slices.DeleteFunc(slices.Clone(in.errors), func(d diagnostic.Diagnostic) bool {
			return slices.Contains(a.replaced, d.Cause)
		})
		resources, stillRejected, err := render(operand.Render, a.Inputs, others)
		if err != nil {
			return nil, err
		}
		if stillRejected != nil {
			continue
		}
		// An accepted version is stored before it is applied, so it may have failed.
		if !slices.ContainsFunc(in.failed, resources.StartDigests().Matches) {
			return c.chosen(in, a, resources, rejected.Diagnostics), nil
		}
		in.dropFailed(resources)
	}
	return &candidate{
		errors: rejected.Diagnostics, warnings: rejected.Warnings, fallbacks: in.acceptedFallbacks(current),
	}, nil
}

// current adds the accepted trusted CA to a current one without a usable certificate, which Render omits.
func (c *controller) current(in *gathered) *attempt {
	a := &attempt{Inputs: in.Inputs, proxy: in.proxy, fallbacks: map[diagnostic.Cause]string{}}
	a.Policy = in.policy(a.Inputs)
	if in.proxy == nil || in.proxy.IsUsable() {
		return a
	}
	a.proxy, a.fallbacks[diagnostic.TrustedCA] = c.acceptedTrust(in)
	if a.proxy != nil {
		a.Trust = c.withSystemTrust([]operand.TrustSource{*in.proxy, *a.proxy})
	}
	return a
}

func (c *controller) acceptedTrust(in *gathered) (*operand.TrustSource, string) {
	if kept := in.accepted.TrustedCA; kept != nil {
		return &kept.Input, trustFallback(kept.Source, kept.Since)
	}
	revision := in.copies()
	if in.accepted.Known && !in.accepted.TrustOmitted || revision == nil {
		return nil, ""
	}
	trust := revision.Trust()
	return &trust, trustFallback(trust.Source, time.Time{})
}

// replacements returns the attempts to make for rejected inputs, the closest to the current inputs first.
func (c *controller) replacements(in *gathered, current *attempt, diagnostics []diagnostic.Diagnostic) []*attempt {
	var rejected []diagnostic.Cause // causes whose accepted version may be stored
	for _, cause := range []diagnostic.Cause{diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA} {
		if slices.ContainsFunc(diagnostics, func(d diagnostic.Diagnostic) bool { return d.Cause == cause }) {
			rejected = append(rejected, cause)
		}
	}
	if len(rejected) == 0 {
		if current.Former != nil {
			return []*attempt{current} // Its former pod replaces the rejected image or flags.
		}
		return nil
	}
	// A new cloud configuration may need new credentials, and vice versa.
	withCloud := sets.List(sets.New(rejected...).Insert(diagnostic.CloudConfig, diagnostic.Credentials))
	var attempts []*attempt
	for _, causes := range [][]diagnostic.Cause{rejected, withCloud} {
		if a := c.withAccepted(in, current, causes); a != nil {
			a.nameHeldBack(rejected)
			attempts = append(attempts, a)
		}
	}
	revision := in.copies()
	if revision == nil {
		return attempts
	}
	config := sets.List(sets.New(rejected...).Insert(diagnostic.CloudConfig))
	// A revision that has failed goes back as a whole first.
	now, isPossible := revision.WithConfig(current.Inputs)
	if isPossible && !in.goesBack && !slices.Contains(config, diagnostic.Credentials) {
		attempts = append(attempts, c.withRevision(current, now, config, revision))
	}
	return append(attempts, c.withRevision(current, revision.WithCloud(current.Inputs), withCloud, revision))
}

// withAccepted replaces inputs with their accepted versions. It returns nil if one of them is not stored.
func (c *controller) withAccepted(in *gathered, current *attempt, causes []diagnostic.Cause) *attempt {
	a := &attempt{
		Inputs: current.Inputs, proxy: current.proxy, replaced: causes, fallbacks: in.acceptedFallbacks(current),
	}
	for _, cause := range causes {
		switch kept := in.accepted; {
		case cause == diagnostic.CloudConfig && kept.CloudConfig != nil:
			a.CloudConfig = kept.CloudConfig.Input
		case cause == diagnostic.Credentials && kept.Credentials != nil:
			a.Credentials, a.Custom = kept.Credentials.Input.Credentials, kept.Credentials.Input.Custom(in.Custom)
		case cause == diagnostic.TrustedCA && kept.TrustedCA != nil:
			a.proxy, a.Trust = &kept.TrustedCA.Input, c.withSystemTrust([]operand.TrustSource{kept.TrustedCA.Input})
		default:
			return nil
		}
	}
	a.Policy = in.policy(a.Inputs)
	return a
}

// acceptedFallbacks adds descriptions of all accepted inputs to the current fallbacks.
func (g *gathered) acceptedFallbacks(current *attempt) map[diagnostic.Cause]string {
	fallbacks := maps.Clone(current.fallbacks)
	if kept := g.accepted.CloudConfig; kept != nil {
		fallbacks[diagnostic.CloudConfig] = fallbackText(kept.Since)
	}
	if kept := g.accepted.Credentials; kept != nil {
		fallbacks[diagnostic.Credentials] = fallbackText(kept.Since)
	}
	if kept := g.accepted.TrustedCA; kept != nil {
		fallbacks[diagnostic.TrustedCA] = trustFallback(kept.Source, kept.Since)
	}
	return fallbacks
}

// nameHeldBack adds to a rejected input's fallback that it also holds back a valid input.
func (a *attempt) nameHeldBack(rejected []diagnostic.Cause) {
	for cause, name := range map[diagnostic.Cause]string{
		diagnostic.CloudConfig: "cloud configuration", diagnostic.Credentials: "credentials",
	} {
		if !slices.Contains(a.replaced, cause) || slices.Contains(rejected, cause) {
			continue
		}
		for _, other := range rejected {
			a.fallbacks[other] += fmt.Sprintf("; the current %s cannot be used with the accepted version: "+
				"for the %s too, %s", name, name, a.fallbacks[cause])
		}
	}
}

// withRevision returns an attempt with inputs that have parts of a revision.
func (c *controller) withRevision(
	current *attempt, in operand.Inputs, causes []diagnostic.Cause, revision *operand.Revision,
) *attempt {
	a := &attempt{Inputs: in, proxy: current.proxy, replaced: causes, fallbacks: maps.Clone(current.fallbacks)}
	for _, cause := range causes {
		a.fallbacks[cause] = fmt.Sprintf("until then, the content of revision %d stays in use", revision.Number)
	}
	if slices.Contains(causes, diagnostic.TrustedCA) {
		trust := revision.Trust()
		a.proxy, a.Trust = &trust, c.withSystemTrust([]operand.TrustSource{trust})
		a.fallbacks[diagnostic.TrustedCA] = trustFallback(trust.Source, time.Time{})
	}
	return a
}

func (c *controller) chosen(
	in *gathered, a *attempt, resources *operand.Resources, errors []diagnostic.Diagnostic,
) *candidate {
	next, now := in.accepted, c.Clock.Now()
	if a.Former != nil && a.Former.Flags {
		resources.NodeManager = nil // The cloud-node-manager's configuration is the same.
	}
	if !slices.Contains(a.replaced, diagnostic.CloudConfig) {
		next.CloudConfig = inputs.AcceptCloudConfig(next.CloudConfig, a.CloudConfig, now)
	}
	if !slices.Contains(a.replaced, diagnostic.Credentials) {
		next.Credentials = inputs.AcceptCredentials(next.Credentials, a.Inputs, now)
	}
	if a.proxy == nil {
		next.TrustedCA = nil
	} else {
		next.TrustedCA = inputs.AcceptTrustedCA(next.TrustedCA, *a.proxy, now)
	}
	return &candidate{
		resources: resources, inputs: a.Inputs, accepted: next,
		errors: errors, warnings: resources.Warnings, fallbacks: a.fallbacks,
	}
}

// acceptedInputs adds a warning for accepted inputs that do not fit in the Secret.
func (c *candidate) acceptedInputs() (*corev1.Secret, error) {
	secret, omitted, err := c.accepted.Secret(c.inputs.Platform.Name)
	if err != nil || len(omitted) == 0 {
		return secret, err
	}
	c.warnings = append(c.warnings, diagnostic.Diagnostic{
		Cause:  diagnostic.Configuration,
		Object: fmt.Sprintf("secret/%s in %s", secret.Name, secret.Namespace),
		Message: fmt.Sprintf("no room to store %s; if a later version is rejected, the content of the latest "+
			"revision is used instead", strings.Join(omitted, " and ")),
	})
	return secret, nil
}

// policy is Strict only for a change that no administrator has accepted: likely typos reject no accepted input.
func (g *gathered) policy(in operand.Inputs) diagnostic.Policy {
	digest := operand.InputDigest(in)
	isFormer := g.former != nil && g.former.Annotations[operand.AcceptedInputAnnotation] == digest
	kept := g.accepted.CloudConfig
	isKept := kept != nil && operand.InputDigest(operand.Inputs{CloudConfig: kept.Input}) == digest
	if g.First || isFormer || isKept || operatorclient.IsAccepted(g.acceptance, g.checkedValue(in)) {
		return diagnostic.Lenient
	}
	return diagnostic.Strict
}

// copies returns the revision that replaces inputs without an accepted version, nil if it is missing or incomplete.
func (g *gathered) copies() *operand.Revision {
	if g.revision == 0 {
		return nil
	}
	revision, err := g.objects.Revision(g.revision)
	if err != nil {
		klog.InfoS("Cannot use a revision instead of a rejected input", "revision", g.revision, "reason", err.Error())
		return nil
	}
	return revision
}

func fallbackText(since time.Time) string {
	return fmt.Sprintf("until then, the version accepted at %s stays in use", since.UTC().Format(time.RFC3339))
}

// trustFallback names the revision's object if the trusted CA was taken from one.
func trustFallback(source string, since time.Time) string {
	if strings.HasSuffix(source, " in "+operand.Namespace) {
		return fmt.Sprintf("until then, the content of %s stays in use", source)
	}
	return fallbackText(since)
}
