package resourcesynccontroller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// ExternalSecrets puts together what the Secrets of spec.external deliver, as secrets has them.
func ExternalSecrets(external *operatorv1.External, secrets corelisters.SecretNamespaceLister) (operand.ExternalSecrets, error) {
	return operand.GatherSecrets(external, func(name string) (operand.SourceSecret, error) {
		found := operand.SourceSecret{Source: fmt.Sprintf("secret/%s in %s", name, operatorclient.TargetNamespace)}
		secret, err := secrets.Get(name)
		if apierrors.IsNotFound(err) {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("%s: %w", found.Source, err)
		}
		if found.Data = secret.Data; found.Data == nil {
			found.Data = map[string][]byte{}
		}
		return found, nil
	})
}

// SameData tells whether two Secrets have the same keys and values.
func SameData(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }

// syncExternal writes the keys of those Secrets that are read once into the raw credentials and of those that are reloaded
// into the Secret that the cert-syncer carries to the nodes. While anything is wrong with one of them, both stay as they
// are: what was delivered last is better than a file that is gone.
func (c *controller) syncExternal(ctx context.Context, recorder events.Recorder, external *operatorv1.External) error {
	gathered, err := ExternalSecrets(external, c.targetSecrets)
	if err != nil {
		return err
	}
	if len(gathered.Problems) > 0 {
		// targetconfigcontroller reports them.
		return nil
	}
	_, _, err = resourceapply.ApplySecret(ctx, c.secrets, recorder, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   operatorclient.TargetNamespace,
			Name:        RawCloudCredentials,
			Annotations: map[string]string{SourceAnnotation: sourcesOf(external)},
		},
		Type: corev1.SecretTypeOpaque,
		Data: gathered.ReadOnce.Data,
	})
	return errors.Join(wrapWrite("secret", RawCloudCredentials, err), c.syncReloaded(ctx, recorder, gathered.Reloaded))
}

// sourcesOf names the Secrets that are read once, as <namespace>/<name>, joined by commas.
func sourcesOf(external *operatorv1.External) string {
	var sources []string
	for _, s := range external.Secrets {
		if s.Delivery != operatorv1.ReloadedSecret {
			sources = append(sources, operatorclient.TargetNamespace+"/"+s.Name)
		}
	}
	return strings.Join(sources, ",")
}

// syncReloaded keeps the keys that spec.external no longer names for as long as a pod may read them.
func (c *controller) syncReloaded(ctx context.Context, recorder events.Recorder, reloaded map[string][]byte) error {
	current, err := c.targetSecrets.Get(operand.CloudTokensSecret)
	if apierrors.IsNotFound(err) {
		// The static resources create it; its arrival brings us back here.
		return nil
	}
	if err != nil {
		return fmt.Errorf("secret/%s in %s: %w", operand.CloudTokensSecret, operatorclient.TargetNamespace, err)
	}
	needed, err := c.reloadedByPods()
	if err != nil {
		return err
	}
	data := maps.Clone(reloaded)
	for key, value := range current.Data {
		if _, replaced := data[key]; !replaced && slices.Contains(needed, key) {
			data[key] = value
		}
	}
	if SameData(current.Data, data) {
		return nil
	}
	// Not resourceapply: it would write the metadata of whoever made the Secret anew.
	updated := current.DeepCopy()
	updated.Data = data
	_, err = c.secrets.Secrets(operatorclient.TargetNamespace).Update(ctx, updated, metav1.UpdateOptions{})
	if err == nil {
		recorder.Eventf("SecretUpdated", "secret/%s in %s has the present keys of spec.external.secrets", operand.CloudTokensSecret, operatorclient.TargetNamespace)
	}
	return wrapWrite("secret", operand.CloudTokensSecret, err)
}

// reloadedByPods are the keys that a pod may read.
func (c *controller) reloadedByPods() ([]string, error) {
	configMaps, err := c.targetConfigMaps.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("configmaps in %s: %w", operatorclient.TargetNamespace, err)
	}
	_, status, _, err := c.operator.GetStaticPodOperatorState()
	if err != nil {
		return nil, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	return operand.ReloadedByPods(configMaps, status.NodeStatuses), nil
}
