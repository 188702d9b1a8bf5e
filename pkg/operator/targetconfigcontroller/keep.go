package targetconfigcontroller

import (
	"context"
	"fmt"
	"strings"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// copiedFromAnnotation marks the copies of inputs that earlier versions of the operator made.
const copiedFromAnnotation = "cloud-controller-manager.openshift.io/copied-from"

// keep writes the accepted inputs. It adds a warning for inputs that do not fit.
func (c *controller) keep(ctx context.Context, recorder events.Recorder, chosen *candidate) error {
	secret, omitted, err := chosen.accepted.Secret(chosen.platform)
	if err != nil {
		return err
	}
	if len(omitted) > 0 {
		chosen.warnings = append(chosen.warnings, diagnostic.Diagnostic{
			Cause:  diagnostic.Configuration,
			Object: fmt.Sprintf("secret/%s in %s", secret.Name, secret.Namespace),
			Message: fmt.Sprintf("no room to store %s; if a later version is rejected, the content of the latest revision is used instead",
				strings.Join(omitted, " and ")),
		})
	}
	if _, _, err := resourceapply.ApplySecret(ctx, c.Secrets, recorder, secret); err != nil {
		return fmt.Errorf("secret/%s in %s: %w", secret.Name, secret.Namespace, err)
	}
	return nil
}

// deleteCopies deletes the copies of inputs that earlier versions of the operator made.
func (c *controller) deleteCopies(ctx context.Context, recorder events.Recorder) error {
	for _, name := range []string{"raw-cloud-config", "raw-trusted-ca"} {
		copied, err := c.configMaps.Get(name)
		if apierrors.IsNotFound(err) || err == nil && !isCopy(copied) {
			continue
		}
		if err == nil {
			_, _, err = resourceapply.DeleteConfigMap(ctx, c.ConfigMaps, recorder, &corev1.ConfigMap{ObjectMeta: inTarget(name)})
		}
		if err != nil {
			return fmt.Errorf("configmap/%s in %s: %w", name, operatorclient.TargetNamespace, err)
		}
	}
	const name = "raw-cloud-credentials"
	copied, err := c.secrets.Get(name)
	if apierrors.IsNotFound(err) || err == nil && !isCopy(copied) {
		return nil
	}
	if err == nil {
		_, _, err = resourceapply.DeleteSecret(ctx, c.Secrets, recorder, &corev1.Secret{ObjectMeta: inTarget(name)})
	}
	if err != nil {
		return fmt.Errorf("secret/%s in %s: %w", name, operatorclient.TargetNamespace, err)
	}
	return nil
}

func isCopy(object metav1.Object) bool { return object.GetAnnotations()[copiedFromAnnotation] != "" }

func inTarget(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: operatorclient.TargetNamespace, Name: name}
}
