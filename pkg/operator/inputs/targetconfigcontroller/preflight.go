package targetconfigcontroller

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// submit gives a candidate to a preflight if it changes what the cloud-controller-manager starts with, while a former
// one works. It withdraws a former candidate that no longer is one.
func (c *controller) submit(
	ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate,
) error {
	changes, err := c.changes(chosen)
	if err != nil || !changes {
		return err
	}
	former, err := operatorclient.Find(c.secrets, "secret", operatorclient.TargetNamespace, operand.PreflightName)
	if err != nil {
		return err
	}
	secret, err := c.preflightOf(status, chosen)
	switch {
	case err != nil:
		return err
	case secret == nil && former == nil:
		return nil
	case secret == nil:
		if _, _, err := resourceapply.DeleteSecret(ctx, c.Secrets, recorder, former); err != nil {
			return fmt.Errorf("deleting secret/%s in %s: %w", former.Name, former.Namespace, err)
		}
		return nil
	case former != nil && digestOf(former) == digestOf(secret):
		return nil
	}
	return c.applySecret(ctx, recorder, secret)
}

func digestOf(secret *corev1.Secret) string {
	return secret.Annotations[operand.PreflightDigestAnnotation]
}

// changes reports whether the cloud-controller-manager starts with something else than that of the last candidate. At a
// first installation there is none.
func (c *controller) changes(chosen *candidate) (bool, error) {
	if chosen.inputs.First {
		return false, nil
	}
	configMaps, err := c.configMaps.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("listing configmaps in %s: %w", operatorclient.TargetNamespace, err)
	}
	secrets, err := c.secrets.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("listing secrets in %s: %w", operatorclient.TargetNamespace, err)
	}
	alike, err := chosen.resources.StartsAlike(configMaps, secrets)
	return !alike, err
}

// preflightOf returns the Secret with the preflight of a candidate, nil if none is made: on this platform, without a
// cloud-controller-manager that works, or for a candidate that needs other federated tokens than there are.
func (c *controller) preflightOf(
	status *operatorv1.StaticPodOperatorStatus, chosen *candidate,
) (*corev1.Secret, error) {
	if !chosen.inputs.Platform.Preflight {
		return nil, nil
	}
	if works, err := c.Works(status); err != nil || !works {
		return nil, err
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
