package targetconfigcontroller

import (
	"context"
	"fmt"
	"strings"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
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
			Message: fmt.Sprintf("no room to store %s; if a later version is rejected, the content of the latest "+
				"revision is used instead", strings.Join(omitted, " and ")),
		})
	}
	return c.applySecret(ctx, recorder, secret)
}

// deleteCopies deletes the copies of inputs that earlier versions of the operator made.
func (c *controller) deleteCopies(ctx context.Context, recorder events.Recorder) error {
	for _, name := range []string{"raw-cloud-config", "raw-trusted-ca"} {
		copied, err := operatorclient.Find(c.configMaps, "configmap", operatorclient.TargetNamespace, name)
		if err != nil {
			return err
		}
		if copied == nil || !isCopy(copied) {
			continue
		}
		if _, _, err := resourceapply.DeleteConfigMap(ctx, c.ConfigMaps, recorder, copied); err != nil {
			return fmt.Errorf("deleting configmap/%s in %s: %w", name, operatorclient.TargetNamespace, err)
		}
	}
	const name = "raw-cloud-credentials"
	copied, err := operatorclient.Find(c.secrets, "secret", operatorclient.TargetNamespace, name)
	if err != nil || copied == nil || !isCopy(copied) {
		return err
	}
	if _, _, err := resourceapply.DeleteSecret(ctx, c.Secrets, recorder, copied); err != nil {
		return fmt.Errorf("deleting secret/%s in %s: %w", name, operatorclient.TargetNamespace, err)
	}
	return nil
}

func isCopy(object metav1.Object) bool { return object.GetAnnotations()[copiedFromAnnotation] != "" }
