package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// CloudTokenLifetime is what is asked for; whatever the API server answers counts. Clouds refuse tokens that are valid for
// longer than a day, so half of one is on the safe side of every clock, and at a third of it eight hours are left in which
// nobody has to refresh it. The one hour of a projected token would take the cloud away from the cluster 40 minutes after
// the operator's end.
const CloudTokenLifetime = 12 * time.Hour

// cloudTokens keeps the Secret cloud-tokens: the federated tokens that the candidate asks for, and what Secrets of
// spec.custom deliver that are reloaded. What a revision reads that may still run or be gone back to stays. A key that
// nothing asks for is removed.
type cloudTokens struct {
	operator   v1helpers.StaticPodOperatorClient
	configMaps corev1listers.ConfigMapLister
	secrets    corev1listers.SecretLister
	client     Client
	issuer     Issuer
}

// wanted is what the Secret has to hold.
type wanted struct {
	// audiences are those of the tokens by key. Where a revision differs from the candidate, the candidate wins.
	audiences map[string]string
	// delivered is what spec.custom delivers now.
	delivered map[string][]byte
	// kept are further keys that stay as they are, because a pod may read them.
	kept []string
}

func (c *cloudTokens) sync(ctx context.Context, syncCtx factory.SyncContext, account *corev1.ServiceAccount) error {
	current, err := c.secrets.Secrets(operand.Namespace).Get(operand.CloudTokensSecret)
	if apierrors.IsNotFound(err) {
		// The static resources create it and report when they cannot; its arrival requeues.
		return nil
	}
	if err != nil {
		return fmt.Errorf("secret/%s in %s: %w", operand.CloudTokensSecret, operand.Namespace, err)
	}
	wanted, err := c.wanted(current)
	if err != nil || wanted == nil || account == nil && len(wanted.audiences) > 0 {
		return err
	}
	next, err := c.update(ctx, syncCtx.Recorder(), current, account, wanted)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return err
}

// wanted returns nil if nothing is to be changed.
func (c *cloudTokens) wanted(current *corev1.Secret) (*wanted, error) {
	spec, status, _, err := c.operator.GetStaticPodOperatorState()
	if err != nil {
		return nil, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	delivered, complete, err := c.delivered(spec.ObservedConfig.Raw)
	if err != nil || !complete {
		return nil, err
	}
	all, err := c.configMaps.ConfigMaps(operand.Namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("configmaps in %s: %w", operand.Namespace, err)
	}
	audiences, known, err := audiencesOf(all)
	if err != nil || !known && len(delivered) == 0 {
		return nil, err
	}
	w := &wanted{
		audiences: audiences, delivered: delivered,
		kept: customccm.ReloadedByPods(operand.PodConfigMap, all, status.NodeStatuses),
	}
	if !known {
		// Without a candidate nobody knows what it will ask for.
		w.kept = slices.Collect(maps.Keys(current.Data))
	}
	return w, nil
}

// delivered is what the Secrets of spec.custom deliver. It is not complete while anything is wrong with one of them:
// what was delivered last is better than a file that is gone, and targetconfigcontroller reports it.
func (c *cloudTokens) delivered(observedConfig []byte) (delivered map[string][]byte, complete bool, err error) {
	observed, err := operandconfig.Decode(observedConfig)
	if err != nil {
		return nil, false, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	custom, err := inputs.CustomSecrets(inputs.Listers{Secrets: c.secrets}, observed)
	if err != nil {
		return nil, false, err
	}
	return custom.Reloaded, len(custom.Problems) == 0, nil
}

// audiencesOf are the audiences of the tokens by key, and whether there is a candidate.
func audiencesOf(all []*corev1.ConfigMap) (audiences map[string]string, known bool, err error) {
	audiences, candidate := map[string]string{}, map[string]string{}
	for _, configMap := range all {
		if !isPodConfigMap(configMap) {
			continue
		}
		tokens, err := operand.TokensOf(configMap)
		if err != nil {
			return nil, false, err
		}
		into := audiences
		if configMap.Name == operand.PodConfigMap {
			into, known = candidate, true
		}
		for _, token := range tokens {
			// Revisions come in any order; if two of them differ, one has to be chosen always the same.
			into[token.Key] = max(into[token.Key], token.Audience)
		}
	}
	maps.Copy(audiences, candidate)
	return audiences, known, nil
}

// update writes the Secret if anything in it has to change, and returns in how long it will have to the next time; 0 if
// never. A token that cannot be had stays as it is.
func (c *cloudTokens) update(
	ctx context.Context, recorder events.Recorder, current *corev1.Secret, account *corev1.ServiceAccount, w *wanted,
) (time.Duration, error) {
	data, records := w.withoutTokens(current), Records{}
	old := RecordsOf(current)
	var next time.Duration
	var errs []error
	var issued []string
	for _, key := range slices.Sorted(maps.Keys(w.audiences)) {
		audience := w.audiences[key]
		wait, reason := time.Duration(0), "there is none"
		if token, exists := current.Data[key]; exists {
			data[key], records[key] = token, old[key]
			wait, reason = c.issuer.Judge(old[key], token, account, audience)
		}
		if reason != "" {
			token, record, err := c.issuer.Issue(ctx, account, audience)
			if err != nil {
				errs = append(errs, fmt.Errorf("key %s of secret/%s in %s: %w", key, current.Name, current.Namespace, err))
				continue
			}
			data[key], records[key] = token, record
			wait, _ = c.issuer.Judge(record, token, account, audience)
			issued = append(issued, fmt.Sprintf("key %s of secret/%s in %s has a new token for the audience %q, valid until %s, because %s",
				key, current.Name, current.Namespace, audience, record.ExpiresAt, reason))
		}
		if next == 0 || wait < next {
			next = wait
		}
	}
	if !maps.EqualFunc(data, current.Data, bytes.Equal) {
		if err := c.write(ctx, recorder, data, records); err != nil {
			return 0, errors.Join(append(errs, err)...)
		}
		for _, message := range issued {
			recorder.Event("CloudTokenIssued", message)
		}
	}
	return next, errors.Join(errs...)
}

// withoutTokens is what the Secret has to hold besides tokens.
func (w *wanted) withoutTokens(current *corev1.Secret) map[string][]byte {
	data := map[string][]byte{}
	for _, key := range w.kept {
		if value, exists := current.Data[key]; exists {
			data[key] = value
		}
	}
	maps.Copy(data, w.delivered)
	return data
}

func (c *cloudTokens) write(ctx context.Context, recorder events.Recorder, data map[string][]byte, records Records) error {
	annotations, err := records.Annotations()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.CloudTokensSecret, Annotations: annotations},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
	if _, _, err := resourceapply.ApplySecret(ctx, c.client, recorder, secret); err != nil {
		return fmt.Errorf("secret/%s in %s: %w", secret.Name, secret.Namespace, err)
	}
	return nil
}
