package targetconfigcontroller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// candidate is what is to run, and what there is to report about the inputs.
type candidate struct {
	// resources are nil if the last candidate stays as it is.
	resources *operand.Resources
	// accepted is what is to be kept of the inputs of the platform.
	accepted inputs.Accepted
	platform string

	problems, warnings []diagnostic.Diagnostic
	// standIns says for each cause what runs in the place of a rejected input.
	standIns map[diagnostic.Cause]string
}

// attempt is a set of inputs to render.
type attempt struct {
	operand.Inputs
	// proxy is the trusted CA that is rendered as the Proxy's; nil for none.
	proxy *operand.TrustSource
	// replaced are the causes whose input is not the present one.
	replaced []diagnostic.Cause
	standIns map[diagnostic.Cause]string
}

// replaceable are the causes that concern an input of which an accepted version is kept.
var replaceable = []diagnostic.Cause{diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA}

// accepted returns what was accepted last on the platform.
func (c *controller) accepted(p platform.Platform) (inputs.Accepted, error) {
	secret, err := c.secrets.Get(operand.AcceptedInputsSecret)
	if err != nil && !apierrors.IsNotFound(err) {
		return inputs.Accepted{}, fmt.Errorf("secret/%s in %s: %w", operand.AcceptedInputsSecret, operatorclient.TargetNamespace, err)
	}
	return inputs.ReadAccepted(secret, p.Name), nil
}

// choose renders the present inputs or, if one of them is rejected, the version that was accepted last in its place. The
// present inputs are reported in any case.
func (c *controller) choose(in *gathered, latestRevision int32) (*candidate, error) {
	present, err := c.present(in, latestRevision)
	if err != nil {
		return nil, err
	}
	resources, refused, err := render(present.Inputs, in.problems)
	if err != nil {
		return nil, err
	}
	if refused == nil {
		return c.chosen(in, present, resources, nil), nil
	}
	attempts, err := c.replacements(in, present, refused.Problems, latestRevision)
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		others := slices.DeleteFunc(slices.Clone(in.problems), func(p diagnostic.Diagnostic) bool { return slices.Contains(a.replaced, p.Cause) })
		resources, stillRefused, err := render(a.Inputs, others)
		if err != nil {
			return nil, err
		}
		if stillRefused == nil {
			return c.chosen(in, a, resources, refused.Problems), nil
		}
	}
	return &candidate{problems: refused.Problems, warnings: refused.Warnings, standIns: in.keptStandIns(present)}, nil
}

// present are the inputs as they are. Render leaves out a trusted CA that adds no trust, so the accepted one goes with it.
func (c *controller) present(in *gathered, latestRevision int32) (*attempt, error) {
	a := &attempt{Inputs: in.Inputs, proxy: in.proxy, standIns: map[diagnostic.Cause]string{}}
	a.Policy = in.policy(a.Inputs)
	if in.proxy == nil || in.proxy.IsUsable() {
		return a, nil
	}
	var err error
	a.proxy, a.standIns[diagnostic.TrustedCA], err = c.acceptedTrust(in, latestRevision)
	if a.proxy != nil {
		a.Trust = c.withSystemTrust([]operand.TrustSource{*in.proxy, *a.proxy})
	}
	return a, err
}

// acceptedTrust returns the trusted CA that stands in for the Proxy's, and what there is to say about it.
func (c *controller) acceptedTrust(in *gathered, latestRevision int32) (*operand.TrustSource, string, error) {
	if kept := in.accepted.TrustedCA; kept != nil {
		return &kept.Input, untilThenTrust(kept), nil
	}
	if in.accepted.Known && !in.accepted.TrustLeftOut {
		return nil, "", nil
	}
	revision, err := c.revision(latestRevision)
	if err != nil || revision == nil {
		return nil, "", err
	}
	trust := revision.Trust()
	return &trust, untilThenTrust(inputs.AcceptTrustedCA(nil, trust, c.Clock.Now())), nil
}

// replacements are the attempts that remain when the present inputs are rejected, the closest to the present ones first.
func (c *controller) replacements(in *gathered, present *attempt, problems []diagnostic.Diagnostic, latestRevision int32) ([]*attempt, error) {
	rejected := slices.DeleteFunc(slices.Clone(replaceable), func(cause diagnostic.Cause) bool {
		return !slices.ContainsFunc(problems, func(p diagnostic.Diagnostic) bool { return p.Cause == cause })
	})
	if len(rejected) == 0 {
		return nil, nil
	}
	// A new cloud configuration may need new credentials, and the other way round.
	withCloud := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(rejected), diagnostic.CloudConfig, diagnostic.Credentials))))
	var attempts []*attempt
	for _, causes := range [][]diagnostic.Cause{rejected, withCloud} {
		if a := c.withAccepted(in, present, causes); a != nil {
			a.nameHeldBack(rejected)
			attempts = append(attempts, a)
		}
	}
	revision, err := c.revision(latestRevision)
	if err != nil || revision == nil {
		return attempts, err
	}
	return append(attempts, c.withRevision(present, withCloud, revision)), nil
}

// withAccepted replaces inputs by their accepted versions; it returns nil if one of them is not kept.
func (c *controller) withAccepted(in *gathered, present *attempt, causes []diagnostic.Cause) *attempt {
	a := &attempt{Inputs: present.Inputs, proxy: present.proxy, replaced: causes, standIns: in.keptStandIns(present)}
	for _, cause := range causes {
		switch cause {
		case diagnostic.CloudConfig:
			kept := in.accepted.CloudConfig
			if kept == nil {
				return nil
			}
			a.CloudConfig = kept.Input
		case diagnostic.Credentials:
			kept := in.accepted.Credentials
			if kept == nil {
				return nil
			}
			a.Credentials, a.Custom = kept.Input.Credentials, kept.Input.Custom(in.Custom)
		case diagnostic.TrustedCA:
			kept := in.accepted.TrustedCA
			if kept == nil {
				return nil
			}
			a.proxy, a.Trust = &kept.Input, c.withSystemTrust([]operand.TrustSource{kept.Input})
		case diagnostic.Image, diagnostic.Configuration: // not replaceable
		}
	}
	a.Policy = in.policy(a.Inputs)
	return a
}

// keptStandIns names the accepted version of each input, besides what stands in already.
func (g *gathered) keptStandIns(present *attempt) map[diagnostic.Cause]string {
	standIns := maps.Clone(present.standIns)
	if kept := g.accepted.CloudConfig; kept != nil {
		standIns[diagnostic.CloudConfig] = untilThen(kept.Since)
	}
	if kept := g.accepted.Credentials; kept != nil {
		standIns[diagnostic.Credentials] = untilThen(kept.Since)
	}
	if kept := g.accepted.TrustedCA; kept != nil {
		standIns[diagnostic.TrustedCA] = untilThenTrust(kept)
	}
	return standIns
}

// nameHeldBack says of an input that is replaced although nothing is wrong with it that another one holds it back.
func (a *attempt) nameHeldBack(rejected []diagnostic.Cause) {
	for cause, name := range map[diagnostic.Cause]string{diagnostic.CloudConfig: "cloud configuration", diagnostic.Credentials: "credentials"} {
		if !slices.Contains(a.replaced, cause) || slices.Contains(rejected, cause) {
			continue
		}
		for _, other := range rejected {
			a.standIns[other] += fmt.Sprintf("; the present %s and the accepted version do not fit together, so of the %s too %s",
				name, name, a.standIns[cause])
		}
	}
}

// withRevision replaces the inputs by what a revision made of them.
func (c *controller) withRevision(present *attempt, causes []diagnostic.Cause, revision *operand.Revision) *attempt {
	a := &attempt{Inputs: revision.WithCloud(present.Inputs), proxy: present.proxy, replaced: causes, standIns: maps.Clone(present.standIns)}
	for _, cause := range causes {
		a.standIns[cause] = untilThenRevision(revision)
	}
	if slices.Contains(causes, diagnostic.TrustedCA) {
		trust := revision.Trust()
		a.proxy, a.Trust = &trust, c.withSystemTrust([]operand.TrustSource{trust})
		a.standIns[diagnostic.TrustedCA] = untilThenTrust(inputs.AcceptTrustedCA(nil, trust, c.Clock.Now()))
	}
	return a
}

// chosen is the candidate that an attempt rendered.
func (c *controller) chosen(in *gathered, a *attempt, resources *operand.Resources, problems []diagnostic.Diagnostic) *candidate {
	next, now := in.accepted, c.Clock.Now()
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
		resources: resources, accepted: next, platform: in.Platform.Name,
		problems: problems, warnings: resources.Warnings, standIns: a.standIns,
	}
}

// policy says how severe a likely typo is: only a change can be refused for it, not what was accepted already.
func (g *gathered) policy(in operand.Inputs) diagnostic.Policy {
	digest := operand.InputDigest(in)
	isLive := g.live != nil && g.live.Annotations[operand.AcceptedInputAnnotation] == digest
	kept := g.accepted.CloudConfig
	isKept := kept != nil && operand.InputDigest(operand.Inputs{CloudConfig: kept.Input}) == digest
	if g.First || isLive || isKept {
		return diagnostic.Lenient
	}
	return diagnostic.Strict
}

// revision returns the latest revision, nil if there is none or if it is not whole.
func (c *controller) revision(number int32) (*operand.Revision, error) {
	if number == 0 {
		return nil, nil
	}
	configMaps, err := c.configMaps.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("configmaps in %s: %w", operatorclient.TargetNamespace, err)
	}
	secrets, err := c.secrets.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("secrets in %s: %w", operatorclient.TargetNamespace, err)
	}
	revision, err := operand.RevisionOf(configMaps, secrets, number)
	if err != nil {
		klog.InfoS("The latest revision cannot stand in for a rejected input", "revision", number, "reason", err.Error())
		return nil, nil
	}
	return revision, nil
}

func untilThen(since time.Time) string {
	return fmt.Sprintf("until then the version that was accepted at %s runs", since.UTC().Format(time.RFC3339))
}

// untilThenTrust names the revision from which the trusted CA was taken, if it was: that is kept, too.
func untilThenTrust(kept *inputs.Version[operand.TrustSource]) string {
	if strings.HasSuffix(kept.Source, " in "+operatorclient.TargetNamespace) {
		return fmt.Sprintf("until then what %s held runs", kept.Source)
	}
	return untilThen(kept.Since)
}

func untilThenRevision(revision *operand.Revision) string {
	return fmt.Sprintf("until then what revision %d holds runs", revision.Number)
}
