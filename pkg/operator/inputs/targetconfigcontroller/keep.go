package targetconfigcontroller

import (
	"context"
	"fmt"
	"strings"

	"github.com/openshift/library-go/pkg/operator/events"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

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
