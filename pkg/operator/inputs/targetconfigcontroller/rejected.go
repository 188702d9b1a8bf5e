package targetconfigcontroller

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// logsInAnew reports whether the candidate has another login than the revision whose login was rejected, and the cloud
// has not rejected that, too: the former one may have been revoked while the revision rolled out, and what it changes
// was not to blame.
func (g *gating) logsInAnew(r *trial.Rejection) bool {
	if r.Verdict.Revision == 0 || r.Verdict.Class != trial.RejectedLogin {
		return false
	}
	login := diagnostic.Credentials
	if !g.in.hasCredentialsApart() {
		login = diagnostic.CloudConfig
	}
	had := g.in.objects.StartDigests(r.Verdict.Revision)[login]
	return had != "" && had != g.digests[login] && !slices.ContainsFunc(g.record.Rejected, func(r trial.Rejection) bool {
		return r.Verdict.Revision == 0 && r.Verdict.Class == trial.RejectedLogin && r.Credentials == loginOf(g.full) &&
			!g.accept(r.Inputs)
	})
}

// hasCredentialsApart reports whether the cloud-controller-manager has its credentials beside its cloud configuration.
func (g *gathered) hasCredentialsApart() bool {
	secret := g.objects.Secret(operand.CloudCredentialsSecret)
	return secret != nil && len(secret.Data) > 0
}

// formerRevision returns the revision to go back to if the latest one has failed on its first node, 0 otherwise. Other
// inputs may be wanted already, and be rejected too.
func (g *gating) formerRevision() int32 {
	last := g.in.objects.StartDigests(g.lastComplete())
	for _, r := range slices.Concat(g.active, g.failed) {
		if r.IsFor(g.latest) && (g.digests.Matches(r.Inputs) || last.Matches(r.Inputs)) {
			return r.Verdict.Former
		}
	}
	return 0
}

// withoutRejected replaces rejected inputs by accepted ones, and a rejected image or flags by the last candidate's. If
// the latest revision has failed on its first node, it returns what the other nodes run.
func (g *gating) withoutRejected() (*candidate, error) {
	if len(g.active) == 0 {
		return g.full, nil
	}
	back := g.formerRevision()
	if back != 0 {
		g.in.revision, g.in.goesBack = back, true
	}
	current := g.current(g.in)
	rejected := &operand.InputError{Diagnostics: g.full.errors, Warnings: g.full.warnings}
	var waiting []diagnostic.Diagnostic
	for _, r := range g.active {
		found := g.in.rejections(&r)
		if r.Waits() {
			waiting = append(waiting, found...)
		}
		rejected.Diagnostics = slices.Concat(rejected.Diagnostics, found)
	}
	for _, r := range slices.Concat(g.active, g.failed) {
		g.in.failed = append(g.in.failed, failedOf(&r)...)
	}
	var err error
	if current.Former, err = g.formerPod(back, current); err != nil {
		return nil, err
	}
	next, err := g.replaced(g.in, current, rejected)
	if err != nil {
		return nil, err
	}
	// A waiting input has no error. The preflight's notice reports it.
	next.errors = slices.DeleteFunc(slices.Clone(next.errors), func(d diagnostic.Diagnostic) bool {
		return slices.Contains(waiting, d)
	})
	return next, nil
}

// failedOf returns the digests that a replacement must not match: after a preflight all of them together, after a
// revision each of them, so that its first node gets what works on the others.
func failedOf(r *trial.Rejection) []operand.StartDigests {
	if r.Verdict.Revision == 0 {
		return []operand.StartDigests{r.Inputs}
	}
	var each []operand.StartDigests
	for cause, digest := range r.Inputs {
		each = append(each, operand.StartDigests{cause: digest})
	}
	return each
}

// formerPod returns the pod whose image or flags replace rejected ones, nil if none are rejected or if a copy was
// edited manually. The pod comes from the revision to go back to. If that is 0, it comes from lastComplete.
func (g *gating) formerPod(revision int32, current *attempt) (*operand.Former, error) {
	isRejected := func(cause diagnostic.Cause) bool {
		return slices.ContainsFunc(g.active, func(r trial.Rejection) bool { return r.Inputs[cause] != "" })
	}
	image, flags := isRejected(diagnostic.Image), isRejected(diagnostic.Configuration)
	if !image && !flags {
		return nil, nil
	}
	if revision == 0 {
		revision = g.lastComplete()
	}
	if mismatch := g.in.objects.CopiesMatch(revision); mismatch != nil {
		klog.InfoS("Cannot use a pod that was edited instead of a rejected one", "reason", mismatch.Error())
		return nil, nil
	}
	configMap := g.in.objects.ConfigMap(operand.NameIn(operand.PodConfigMap, revision))
	if configMap == nil {
		return nil, nil
	}
	former, err := operand.FormerOf(configMap)
	if err != nil {
		return nil, err
	}
	former.Image, former.Flags = image, flags
	if image {
		current.fallbacks[diagnostic.Image] = "until then, the former image stays in use"
	}
	if flags {
		current.fallbacks[diagnostic.Configuration] = "until then, the former flags stay in use"
	}
	return former, nil
}

func (g *gathered) rejections(r *trial.Rejection) []diagnostic.Diagnostic {
	message := fmt.Sprintf("%s%s; to use it nevertheless, run: %s", r.Verdict.Describe(), r.Verdict.NextTry(),
		operatorclient.AcceptCommand(g.acceptance, r.Inputs.Value()))
	var found []diagnostic.Diagnostic
	for _, cause := range g.blamed(r) {
		d := diagnostic.Diagnostic{Cause: cause, Message: message}
		switch cause {
		case diagnostic.CloudConfig:
			d.Object, d.Key = g.CloudConfig.Source, g.changedKey()
		case diagnostic.Credentials:
			d.Object = g.Credentials.Source
		case diagnostic.TrustedCA:
			d.Object = "the trusted CAs"
			if g.proxy != nil {
				d.Object = g.proxy.Source
			}
		case diagnostic.Image:
			d.Object = g.Images.Source
		case diagnostic.Configuration:
			d.Object = "cloudcontrollermanager/cluster"
		}
		found = append(found, d)
	}
	return found
}

// blamed returns the causes of a rejection. If the cloud configuration of the cloud-controller-manager contains the
// credentials, and only they have changed, they are the cause.
func (g *gathered) blamed(r *trial.Rejection) []diagnostic.Cause {
	causes, config, credentials := r.Inputs.Causes(), g.accepted.CloudConfig, g.accepted.Credentials
	i := slices.Index(causes, diagnostic.CloudConfig)
	if g.hasCredentialsApart() || i < 0 || config == nil || credentials == nil ||
		maps.EqualFunc(credentials.Input.Data, g.Credentials.Data, bytes.Equal) {
		return causes
	}
	if bytes.Equal(config.Input.Data, g.CloudConfig.Data) && bytes.Equal(config.Input.CABundle, g.CloudConfig.CABundle) {
		causes[i] = diagnostic.Credentials
	} else {
		causes = slices.Insert(causes, i+1, diagnostic.Credentials)
	}
	return slices.Compact(causes)
}

// changedKey returns the key of the cloud configuration's object that has changed, "" if its configuration and its CA
// bundle both have.
func (g *gathered) changedKey() string {
	kept := g.accepted.CloudConfig
	switch {
	case kept == nil || bytes.Equal(kept.Input.CABundle, g.CloudConfig.CABundle):
		return g.CloudConfig.Key
	case bytes.Equal(kept.Input.Data, g.CloudConfig.Data):
		return diagnostic.CABundleKey
	default:
		return ""
	}
}

// unproved is the suffix of the value with which an administrator accepts a likely mistake that no preflight tests.
const unproved = "-unproved"

// checkedValue is the value with which an administrator accepts likely mistakes in the inputs: our checks may be older
// than the cloud-controller-manager. A preflight tests them then, if the platform has one.
func (g *gathered) checkedValue(in operand.Inputs) string {
	return g.valueOf(operand.StartDigests{diagnostic.CloudConfig: operand.InputDigest(in)})
}

// contradictionValue is the same for a contradiction between the cloud configuration and the credentials.
func (g *gathered) contradictionValue(in operand.Inputs) string {
	return g.valueOf(operand.StartDigests{
		diagnostic.CloudConfig: operand.InputDigest(in), diagnostic.Credentials: operand.CredentialsDigest(in),
	})
}

func (g *gathered) valueOf(inputs operand.StartDigests) string {
	if g.Platform.Preflight {
		return inputs.CheckedValue()
	}
	return inputs.CheckedValue() + unproved
}

// nameAcceptance adds to the fallbacks how to accept rejected inputs, if all their errors are likely mistakes.
func (g *gathered) nameAcceptance(next *candidate, in operand.Inputs, isContradiction bool) error {
	value := g.contradictionValue(in)
	if !isContradiction {
		value, in.Policy = g.checkedValue(in), diagnostic.Lenient
		if _, rejected, err := render(operand.Render, in, g.errors); err != nil || rejected != nil {
			return err
		}
	}
	what := "; to let a preflight judge it, run: "
	if !g.Platform.Preflight {
		what = "; to use it although nothing proves it, run: "
	}
	if next.fallbacks == nil {
		next.fallbacks = map[diagnostic.Cause]string{}
	}
	for _, d := range next.errors {
		if text := next.fallbacks[d.Cause]; !strings.Contains(text, value) {
			next.fallbacks[d.Cause] = strings.TrimPrefix(text+what+operatorclient.AcceptCommand(g.acceptance, value), "; ")
		}
	}
	return nil
}
