package targetconfigcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// holdTime is how long a candidate waits for the verdict of its preflight. Then it becomes a revision without one: a
// preflight whose pod does not start must not hold up anything.
const holdTime = 20 * time.Second

// digestLength is how much of a digest an administrator has to repeat.
const digestLength = 12

// gate lets a candidate that changes what the cloud-controller-manager starts with wait for the verdict of a preflight,
// while a former one works. It returns the candidate to apply: nil while the verdict is awaited, or one with the
// accepted inputs instead of those with which the cloud-controller-manager has failed.
func (c *controller) gate(ctx context.Context, syncCtx factory.SyncContext,
	status *operatorv1.StaticPodOperatorStatus, in *gathered, chosen *candidate,
) (*candidate, error) {
	t, err := c.propose(ctx, syncCtx.Recorder(), status, chosen)
	if err != nil {
		return nil, err
	}
	if t != nil {
		if t.verdict, err = operand.PreflightVerdictOf(t.former); err != nil {
			return nil, err
		}
		if t.verdict == nil {
			return c.await(syncCtx, digestOf(t.former), chosen), nil
		}
	}
	c.held = patience.Since[string]{} // The same change waits again after it was undone.
	if t == nil {
		return chosen, nil
	}
	return c.judge(ctx, syncCtx, status, in, t)
}

// propose gives a candidate to a preflight and returns it with the Secret. It returns nil if there is nothing to try.
// If the candidate is applied already, the verdict stays for the notice.
func (c *controller) propose(
	ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate,
) (*tried, error) {
	causes, err := c.changes(chosen)
	if err != nil {
		return nil, err
	}
	former, err := operatorclient.Find(c.secrets, "secret", operatorclient.TargetNamespace, operand.PreflightName)
	if err != nil || former == nil && len(causes) == 0 {
		return nil, err
	}
	next, err := c.preflightOf(chosen)
	if err != nil {
		return nil, err
	}
	if former == nil || next == nil || digestOf(former) != digestOf(next) {
		if former, err = c.submit(ctx, recorder, status, former, next, causes); err != nil {
			return nil, err
		}
	}
	if former == nil || len(causes) == 0 {
		return nil, nil
	}
	return &tried{chosen: chosen, next: next, former: former, causes: causes}, nil
}

// submit replaces a former candidate by the next one, or withdraws it if the next one changes nothing or cannot be
// tried. It returns the Secret that is there then.
func (c *controller) submit(ctx context.Context, recorder events.Recorder,
	status *operatorv1.StaticPodOperatorStatus, former, next *corev1.Secret, causes []diagnostic.Cause,
) (*corev1.Secret, error) {
	works, err := c.Works(status)
	if err != nil {
		return nil, err
	}
	if next == nil || len(causes) == 0 || !works {
		return nil, c.withdraw(ctx, recorder, former)
	}
	return next, c.applySecret(ctx, recorder, next)
}

// await returns nil while a candidate waits for its verdict.
func (c *controller) await(syncCtx factory.SyncContext, digest string, chosen *candidate) *candidate {
	now := c.Clock.Now()
	left := c.held.See(digest, now).Add(holdTime).Sub(now)
	if left <= 0 {
		return chosen
	}
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), left)
	return nil
}

// tried is a candidate that a preflight tries or has tried.
type tried struct {
	chosen *candidate
	// next is the Secret of a preflight of the candidate, former the one that is there.
	next, former *corev1.Secret
	verdict      *operand.PreflightVerdict
	causes       []diagnostic.Cause
}

// judge returns the candidate to apply after a verdict. A preflight that did not succeed is repeated after a pause.
func (c *controller) judge(ctx context.Context, syncCtx factory.SyncContext,
	status *operatorv1.StaticPodOperatorStatus, in *gathered, t *tried,
) (*candidate, error) {
	digest := strings.TrimPrefix(digestOf(t.former), "sha256:")[:digestLength]
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return nil, fmt.Errorf("reading cloudcontrollermanager/cluster: %w", err)
	}
	if t.verdict.Result != operand.Failed || meta.Annotations[operatorclient.PreflightAnnotation] == digest {
		return t.chosen, nil
	}
	pause := t.verdict.RepeatIn(c.Clock.Now())
	if pause > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), pause)
	} else if !operand.PreflightRuns(t.former) {
		t.next.Annotations[operand.PreflightVerdictAnnotation] = t.former.Annotations[operand.PreflightVerdictAnnotation]
		if err := c.applySecret(ctx, syncCtx.Recorder(), t.next); err != nil {
			return nil, err
		}
	}
	rejections := t.rejections(in, digest)
	if len(t.chosen.errors) > 0 {
		// It has accepted inputs already, instead of others that a parser has rejected. Nothing changes.
		stays := *t.chosen
		stays.resources, stays.errors = nil, slices.Concat(stays.errors, rejections)
		return &stays, nil
	}
	return c.withoutFailed(in, rejections, status.LatestAvailableRevision)
}

// rejections returns a diagnostic for each input that the candidate changes. Only the cloud knows which of them it is.
func (t *tried) rejections(in *gathered, digest string) []diagnostic.Diagnostic {
	message := fmt.Sprintf("%s; to use it nevertheless, set the annotation %s of cloudcontrollermanager/cluster to %q",
		t.verdict.Describe(), operatorclient.PreflightAnnotation, digest)
	var found []diagnostic.Diagnostic
	for _, cause := range t.causes {
		d := diagnostic.Diagnostic{Cause: cause, Message: message}
		switch cause {
		case diagnostic.CloudConfig:
			d.Object, d.Key = in.CloudConfig.Source, in.CloudConfig.Key
		case diagnostic.Credentials:
			d.Object = in.Credentials.Source
		case diagnostic.TrustedCA:
			d.Object = "the trusted CAs"
			if in.proxy != nil {
				d.Object = in.proxy.Source
			}
		case diagnostic.Image:
			d.Object = in.Images.Source
		case diagnostic.Configuration:
			d.Object = "cloudcontrollermanager/cluster"
		}
		found = append(found, d)
	}
	return found
}

// withoutFailed returns the candidate with the accepted inputs instead of the rejected ones. An image or arguments that
// were changed with them are used nevertheless: they are not known to be wrong. Without an accepted input that makes a
// difference, everything stays.
func (c *controller) withoutFailed(
	in *gathered, rejections []diagnostic.Diagnostic, latestRevision int32,
) (*candidate, error) {
	current, err := c.current(in, latestRevision)
	if err != nil {
		return nil, err
	}
	replaced, err := c.replaced(in, current, &operand.InputError{Diagnostics: rejections}, latestRevision)
	if err != nil || replaced.resources == nil {
		return replaced, err
	}
	causes, err := c.changes(replaced)
	if err != nil {
		return nil, err
	}
	if len(causes) == len(rejections) {
		replaced.resources = nil
		return replaced, nil
	}
	replaced.errors = slices.DeleteFunc(slices.Clone(replaced.errors), func(d diagnostic.Diagnostic) bool {
		return slices.Contains(causes, d.Cause)
	})
	return replaced, nil
}

// withdraw deletes a candidate that no longer is one.
func (c *controller) withdraw(ctx context.Context, recorder events.Recorder, former *corev1.Secret) error {
	if former == nil {
		return nil
	}
	if _, _, err := resourceapply.DeleteSecret(ctx, c.Secrets, recorder, former); err != nil {
		return fmt.Errorf("deleting secret/%s in %s: %w", former.Name, former.Namespace, err)
	}
	return nil
}

func digestOf(secret *corev1.Secret) string {
	return secret.Annotations[operand.PreflightDigestAnnotation]
}

// changes returns the causes of the inputs by which the cloud-controller-manager starts with something else than that
// of the last candidate. At a first installation there is none.
func (c *controller) changes(chosen *candidate) ([]diagnostic.Cause, error) {
	if chosen.inputs.First {
		return nil, nil
	}
	configMaps, err := c.configMaps.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing configmaps in %s: %w", operatorclient.TargetNamespace, err)
	}
	secrets, err := c.secrets.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing secrets in %s: %w", operatorclient.TargetNamespace, err)
	}
	return chosen.resources.Changes(configMaps, secrets)
}

// preflightOf returns the Secret with the preflight of a candidate, nil if none can be made: on this platform, or for a
// candidate that needs other federated tokens than there are.
func (c *controller) preflightOf(chosen *candidate) (*corev1.Secret, error) {
	if !chosen.inputs.Platform.Preflight {
		return nil, nil
	}
	live, err := operatorclient.Find(c.configMaps, "configmap", operatorclient.TargetNamespace, operand.PodConfigMap)
	if err != nil || live == nil {
		return nil, err
	}
	tokens, err := operand.TokensOf(live)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(tokens, chosen.resources.Tokens) {
		klog.InfoS("No preflight: the candidate needs federated tokens that do not exist yet")
		return nil, nil
	}
	secret, err := operand.PreflightCandidate(chosen.inputs)
	if err != nil {
		return nil, fmt.Errorf("rendering the preflight: %w", err)
	}
	if secret == nil {
		klog.InfoS("No preflight: the candidate does not fit in one Secret")
	}
	return secret, nil
}
