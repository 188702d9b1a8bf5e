package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// cloudTokenLifetime is the requested lifetime; the returned expiry applies. Clouds reject tokens for more than a day;
// 12 hours tolerate any clock skew. Without the operator, the cloud stays usable for eight hours.
const cloudTokenLifetime = 12 * time.Hour

type wanted struct {
	// audiences are the tokens' audiences by key. If a revision differs from the candidate, the candidate wins.
	audiences map[string]string
	// delivered are the current keys from spec.custom's Secrets.
	delivered map[string][]byte
	// kept are other keys that stay unchanged because a pod may read them.
	kept []string
}

// syncCloud maintains the Secret cloud-tokens: the federated tokens of the candidate, the reloaded keys of the Secrets
// of spec.custom, and the keys of revisions that are installed or may be rolled back to.
func (c *controller) syncCloud(ctx context.Context, syncCtx factory.SyncContext, account *corev1.ServiceAccount) error {
	current, err := c.Secret(operand.CloudTokensSecret)
	if err != nil || current == nil {
		// staticresources creates the Secret and reports errors; the Secret's event requeues.
		return err
	}
	wanted, unreadable := c.wanted(current)
	if wanted == nil || account == nil && len(wanted.audiences) > 0 {
		return unreadable
	}
	for key, audience := range wanted.audiences {
		if _, reason := c.cloudDue(current, key, account, audience); reason == "" {
			continue
		}
		if current, err = live(ctx, c.Kube, operand.CloudTokensSecret); err != nil || current == nil {
			return errors.Join(unreadable, err)
		}
		break
	}
	next, err := c.update(ctx, syncCtx.Recorder(), current, account, wanted)
	reconciler.After(syncCtx, next)
	return errors.Join(unreadable, err)
}

// wanted returns the required content, nil if it is unknown. An error beside the content is about a part of it.
func (c *controller) wanted(current *corev1.Secret) (*wanted, error) {
	spec, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return nil, err
	}
	delivered, complete, err := c.delivered(&spec.OperatorSpec)
	if err != nil || !complete {
		return nil, err
	}
	objects, err := c.Objects()
	if err != nil {
		return nil, err
	}
	audiences, known, unreadable := audiencesOf(objects.ConfigMaps)
	w := &wanted{
		audiences: audiences, delivered: delivered,
		kept: customccm.ReloadedByPods(operand.PodConfigMap, objects.ConfigMaps, status.NodeStatuses),
	}
	if !known {
		w.kept = slices.Collect(maps.Keys(current.Data)) // A pod may read any of them.
	}
	return w, unreadable
}

// delivered returns the keys from spec.custom's Secrets. complete is false if one of these has an error, which
// targetconfigcontroller reports. The previous files stay then: a stale file is better than a missing one.
func (c *controller) delivered(spec *operatorv1.OperatorSpec) (delivered map[string][]byte, complete bool, err error) {
	observed, err := observedplatform.Config(spec)
	if err != nil {
		return nil, false, err
	}
	custom, err := inputs.CustomSecrets(inputs.Listers{Secrets: c.Target.Core().V1().Secrets().Lister()}, observed)
	if err != nil {
		return nil, false, err
	}
	return custom.Reloaded, len(custom.Diagnostics) == 0, nil
}

// audiencesOf returns the tokens' audiences by key, and whether they are all known: a candidate must exist, and every
// annotation must be readable.
func audiencesOf(all []*corev1.ConfigMap) (audiences map[string]string, known bool, unreadable error) {
	audiences, candidate, errs := map[string]string{}, map[string]string{}, []error(nil)
	for _, configMap := range all {
		if !isPodConfigMap(configMap) {
			continue
		}
		tokens, err := operand.TokensOf(configMap)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		into := audiences
		if configMap.Name == operand.PodConfigMap {
			into, known = candidate, true
		}
		for _, token := range tokens {
			// The order of revisions is random; the maximum makes the choice between two audiences stable.
			into[token.Key] = max(into[token.Key], token.Audience)
		}
	}
	maps.Copy(audiences, candidate)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return audiences, known && len(errs) == 0, errors.Join(errs...)
}

// cloudDue returns the reason to issue a token now, or the time until then.
func (c *controller) cloudDue(
	current *corev1.Secret, key string, account *corev1.ServiceAccount, audience string,
) (wait time.Duration, reason string) {
	token, exists := current.Data[key]
	if !exists {
		return 0, "there was none"
	}
	return c.cloudIssuer.Due(RecordsOf(current)[key], token, account, audience)
}

// update returns the time until the next change, 0 for never. If a token cannot be issued, the previous one stays.
func (c *controller) update(
	ctx context.Context, recorder events.Recorder, current *corev1.Secret, account *corev1.ServiceAccount, w *wanted,
) (time.Duration, error) {
	data, records := w.otherKeys(current), Records{}
	old := RecordsOf(current)
	var next time.Duration
	var errs []error
	var issued []string
	for _, key := range slices.Sorted(maps.Keys(w.audiences)) {
		audience := w.audiences[key]
		if token, exists := current.Data[key]; exists {
			data[key], records[key] = token, old[key]
		}
		wait, reason := c.cloudDue(current, key, account, audience)
		if reason != "" {
			token, record, err := c.cloudIssuer.Issue(ctx, account, audience)
			if err != nil {
				errs = append(errs, fmt.Errorf("issuing key %s of secret/%s in %s: %w",
					key, current.Name, current.Namespace, err))
				continue
			}
			data[key], records[key] = token, record
			wait, _ = c.cloudIssuer.Due(record, token, account, audience)
			issued = append(issued, fmt.Sprintf("key %s of secret/%s in %s has a new token for the audience %q, "+
				"valid until %s, because %s", key, current.Name, current.Namespace, audience, record.ExpiresAt, reason))
		}
		next = patience.Sooner(next, wait)
	}
	if !maps.EqualFunc(data, current.Data, bytes.Equal) {
		if err := apply(ctx, c.Kube.CoreV1(), recorder, operand.CloudTokensSecret, data, records); err != nil {
			return 0, errors.Join(append(errs, err)...)
		}
		for _, message := range issued {
			recorder.Event("CloudTokenIssued", message)
		}
	}
	return next, errors.Join(errs...)
}

// otherKeys returns the required content of the Secret except for tokens.
func (w *wanted) otherKeys(current *corev1.Secret) map[string][]byte {
	data := map[string][]byte{}
	for _, key := range w.kept {
		if value, exists := current.Data[key]; exists {
			data[key] = value
		}
	}
	maps.Copy(data, w.delivered)
	return data
}
