// Package cloudtokens keeps the federated tokens with which the operand logs in to its cloud: keys of a Secret whose
// content the cert-syncer carries to every node. Static pods cannot project such tokens by themselves.
package cloudtokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/tokenissuer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
)

// DefaultLifetime is what is asked for. Clouds refuse tokens that are valid for longer than a day, so half of one is on
// the safe side of every clock, and at a third of it eight hours are left in which nobody has to refresh it. The one hour
// of a projected token would take the cloud away from the cluster 40 minutes after the operator's end.
const DefaultLifetime = 12 * time.Hour

// name is the controller's; its condition is CloudTokensDegraded.
const name = "CloudTokens"

// Client is what the controller writes with.
type Client interface {
	corev1client.SecretsGetter
	corev1client.ServiceAccountsGetter
}

// Options are the dependencies of New; all but Lifetime are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// ServiceAccounts, ConfigMaps and Secrets watch the operand's namespace.
	ServiceAccounts corev1informers.ServiceAccountInformer
	ConfigMaps      corev1informers.ConfigMapInformer
	Secrets         corev1informers.SecretInformer
	Client          Client
	Clock           clock.PassiveClock
	Recorder        events.Recorder

	// Lifetime is what is asked for, DefaultLifetime if zero. Whatever the API server answers counts.
	Lifetime time.Duration
}

type controller struct {
	operator        v1helpers.StaticPodOperatorClient
	serviceAccounts corev1listers.ServiceAccountLister
	configMaps      corev1listers.ConfigMapLister
	secrets         corev1listers.SecretLister
	client          Client
	issuer          tokenissuer.Issuer
}

// New returns the controller that keeps in the Secret cloud-tokens what the candidate asks for, and what the revisions ask
// for that may still run or be gone back to. A token is replaced when a third of its life has passed, when somebody else
// changed it, and when the ServiceAccount was made anew; a key that nothing asks for is removed.
//
// It leaves the Secret alone while there is no candidate, and where spec.external delivers Secrets: the resource sync
// fills it then, and what it delivered stays for as long as a revision reads it. Errors become CloudTokensDegraded.
func New(o Options) factory.Controller {
	c := &controller{
		operator:        o.Operator,
		serviceAccounts: o.ServiceAccounts.Lister(),
		configMaps:      o.ConfigMaps.Lister(),
		secrets:         o.Secrets.Lister(),
		client:          o.Client,
		issuer:          tokenissuer.Issuer{Client: o.Client, Clock: o.Clock, Lifetime: cmp.Or(o.Lifetime, DefaultLifetime)},
	}
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(tokenissuer.ServiceAccount), o.ServiceAccounts.Informer()).
		WithFilteredEventsInformers(isPodConfigMap, o.ConfigMaps.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.CloudTokensSecret), o.Secrets.Informer()).
		WithSync(writeconflict.Retried(c.sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

// isPodConfigMap selects the candidate and its copies, one per revision.
func isPodConfigMap(obj any) bool {
	configMap, ok := obj.(*corev1.ConfigMap)
	return ok && (configMap.Name == operand.PodConfigMap || strings.HasPrefix(configMap.Name, operand.PodConfigMap+"-"))
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	ours, err := c.ours()
	if err != nil || !ours {
		return err
	}
	wanted, err := c.wanted()
	if err != nil || !wanted.known {
		return err
	}
	current, err := c.secrets.Secrets(operand.Namespace).Get(operand.CloudTokensSecret)
	if apierrors.IsNotFound(err) {
		// The static resources create it and report when they cannot; its arrival brings us back here.
		return nil
	}
	if err != nil {
		return fmt.Errorf("secret/%s in %s: %w", operand.CloudTokensSecret, operand.Namespace, err)
	}
	if len(wanted.audiences) == 0 && len(current.Data) == 0 {
		return nil
	}
	account, err := c.serviceAccounts.ServiceAccounts(operand.Namespace).Get(tokenissuer.ServiceAccount)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serviceaccount/%s in %s: %w", tokenissuer.ServiceAccount, operand.Namespace, err)
	}
	next, err := c.update(ctx, syncCtx.Recorder(), current, account, wanted)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return err
}

// ours tells whether it is known that the Secret is this controller's to fill.
func (c *controller) ours() (bool, error) {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known || !managed {
		return false, err
	}
	spec, _, _, err := c.operator.GetOperatorState()
	if err != nil {
		return false, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return false, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	return observed.External == nil || len(observed.External.Secrets) == 0, nil
}

// wanted is what the candidate and the revisions read from the Secret.
type wanted struct {
	// known tells that there is a candidate.
	known bool
	// audiences are those of the tokens by key. Where a revision differs from the candidate, the candidate has its way.
	audiences map[string]string
	// theirs are keys that spec.external delivered to a pod that may still run.
	theirs []string
}

func (c *controller) wanted() (wanted, error) {
	all, err := c.configMaps.ConfigMaps(operand.Namespace).List(labels.Everything())
	if err != nil {
		return wanted{}, fmt.Errorf("configmaps in %s: %w", operand.Namespace, err)
	}
	_, status, _, err := c.operator.GetStaticPodOperatorState()
	if err != nil {
		return wanted{}, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	found := wanted{audiences: map[string]string{}, theirs: operand.ReloadedByPods(all, status.NodeStatuses)}
	candidate := map[string]string{}
	for _, configMap := range all {
		if !isPodConfigMap(configMap) {
			continue
		}
		tokens, err := operand.TokensOf(configMap)
		if err != nil {
			return wanted{}, err
		}
		into := found.audiences
		if configMap.Name == operand.PodConfigMap {
			into, found.known = candidate, true
		}
		for _, token := range tokens {
			// Revisions come in any order; if two of them differ, one has to be chosen always the same.
			into[token.Key] = max(into[token.Key], token.Audience)
		}
	}
	maps.Copy(found.audiences, candidate)
	return found, nil
}

// update writes the Secret if anything in it has to change, and tells in how long it will have to the next time; 0 if
// never. A token that cannot be had stays as it is.
func (c *controller) update(ctx context.Context, recorder events.Recorder, current *corev1.Secret, account *corev1.ServiceAccount, wanted wanted) (time.Duration, error) {
	data, records := kept(current, wanted.theirs), tokenissuer.Records{}
	old := tokenissuer.RecordsOf(current)
	var next time.Duration
	var errs []error
	var issued []string
	for _, key := range slices.Sorted(maps.Keys(wanted.audiences)) {
		audience := wanted.audiences[key]
		if token, exists := current.Data[key]; exists {
			data[key], records[key] = token, old[key]
		}
		wait, reason := c.judge(data[key], old[key], account, audience)
		if reason != "" {
			token, record, err := c.issuer.Issue(ctx, account, audience)
			if err != nil {
				errs = append(errs, fmt.Errorf("key %s of secret/%s in %s: %w", key, current.Name, current.Namespace, err))
				continue
			}
			data[key], records[key] = token, record
			wait, _ = c.judge(token, record, account, audience)
			issued = append(issued, fmt.Sprintf("key %s of secret/%s in %s has a new token for the audience %q, valid until %s, because %s",
				key, current.Name, current.Namespace, audience, record.ExpiresAt, reason))
		}
		next = min(cmp.Or(next, wait), wait)
	}
	if len(issued) > 0 || len(data) != len(current.Data) {
		if err := c.write(ctx, recorder, data, records); err != nil {
			return 0, errors.Join(append(errs, err)...)
		}
		for _, message := range issued {
			recorder.Event("CloudTokenIssued", message)
		}
	}
	return next, errors.Join(errs...)
}

// kept are the keys of the Secret that are not this controller's to change.
func kept(current *corev1.Secret, keys []string) map[string][]byte {
	data := map[string][]byte{}
	for _, key := range keys {
		if value, exists := current.Data[key]; exists {
			data[key] = value
		}
	}
	return data
}

// judge returns for how long a token is left alone, or why it is replaced.
func (c *controller) judge(token []byte, record tokenissuer.Record, account *corev1.ServiceAccount, audience string) (wait time.Duration, reason string) {
	if token == nil {
		return 0, "there is none"
	}
	refreshAt, reason := record.Judge(token, account, audience)
	if reason != "" {
		return 0, reason
	}
	if wait := refreshAt.Sub(c.issuer.Clock.Now()); wait > 0 {
		return wait, ""
	}
	return 0, tokenissuer.Aged
}

func (c *controller) write(ctx context.Context, recorder events.Recorder, data map[string][]byte, records tokenissuer.Records) error {
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
