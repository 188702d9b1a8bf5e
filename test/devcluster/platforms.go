package devcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// examplesDir has an installation for every platform of the operator's registry.
const examplesDir = "pkg/operand/testdata"

// Platforms are the platforms of a cluster: platform types and, where a type is several platforms, the names of the
// operator's registry. The CCMs of the first ones run.
var Platforms = []string{"OpenStack", "AWS", "Azure", "AzureStack", "VSphere", "AlibabaCloud", "DigitalOcean",
	"External", "GCP", "IBMCloud", "Nutanix", "PowerVS", "BareMetal", "None"}

// external is the platform in the registry whose cloud-controller-manager spec.custom describes. Its cloud is
// OpenStack's.
const external = "external"

// platformName returns a platform as Platforms has it.
func platformName(given string) (string, error) {
	for _, name := range Platforms {
		if strings.EqualFold(name, given) {
			return name, nil
		}
	}
	return "", fmt.Errorf("platform %q does not exist: write one of %s", given, strings.Join(Platforms, ", "))
}

// registered returns the cluster's platform as the operator will see it. Options.Platform is a platform type or, if a
// type is several platforms, the registry's name in any case: AzureStack, DigitalOcean.
func (c *Cluster) registered() platform.Platform {
	found, known := platform.ByName(strings.ToLower(string(c.options.Platform)))
	if !known {
		found, _ = platform.ByName(platform.None)
	}
	return found
}

// operands are the programs of the platform's images that can be built here or that the user gives, by tag in the
// payload.
func (c *Cluster) operands() map[string]build.Target {
	found := map[string]build.Target{}
	for _, tag := range c.registered().Images() {
		if target, known := build.Operands()[tag]; known {
			found[tag] = target
		}
	}
	if c.registered().Name == external {
		found[c.OperandTag()] = build.OpenStack()
	}
	if c.given != nil {
		found[c.OperandTag()] = build.Target{Name: c.OperandTag(), Path: c.command}
	}
	return found
}

func (c *Cluster) operandTargets() []build.Target {
	operands := c.operands()
	if c.given != nil {
		delete(operands, c.OperandTag())
	}
	if c.nodeManager != nil {
		delete(operands, c.registered().NodeManagerImage)
	}
	targets := make([]build.Target, 0, len(operands))
	for _, tag := range slices.Sorted(maps.Keys(operands)) {
		targets = append(targets, operands[tag])
	}
	return targets
}

// Managed reports whether the operator runs a cloud-controller-manager on the platform.
func (c *Cluster) Managed() bool { return c.registered().Managed() }

// HasOperand reports whether the platform's cloud-controller-manager is given, or can be built here. If not, an
// installer pod waits for a missing image.
func (c *Cluster) HasOperand() bool {
	_, known := c.operands()[c.OperandTag()]
	return known
}

// Overrides returns spec.unsupportedConfigOverrides for a platform, by its name in the registry, nil if none are
// needed. Upstream's cloud-controller-managers are built here, and some of them reject settings of OpenShift's forks.
// Another image is unsupported, which the operator reports in its status.
func Overrides(platform string) map[string]any {
	if platform != "azure" {
		return nil
	}
	// "--concurrent-service-syncs is limited to 1 only": the fork removes this check.
	return map[string]any{"extendedArguments": map[string]any{"concurrent-service-syncs": []any{"1"}}}
}

// override writes the platform's Overrides to the operator resource. A cloud-controller-manager that the user gives has
// the rendered default.
func (c *Cluster) override(ctx context.Context, client *objects.Client) error {
	overrides := Overrides(c.registered().Name)
	if overrides == nil || !c.HasOperand() || c.given != nil {
		return nil
	}
	return client.Merge(ctx, ccmv1.Kind, "cluster",
		map[string]any{"spec": map[string]any{"unsupportedConfigOverrides": overrides}})
}

// deliverCredentials creates the Secrets that the payload's CredentialsRequest and spec.custom request.
func (c *Cluster) deliverCredentials(ctx context.Context, client *objects.Client) error {
	installed := c.installation()
	if c.succeeds || installed == nil { // the predecessor uses the same Secret
		return nil
	}
	if c.registered().Credentials.Secret != "" && installed.Credentials != nil {
		// The installer may have written it for the bootstrap node.
		if err := client.Create(ctx, c.credentialsSecret()); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return c.declareCustom(ctx, client, installed)
}

// credentialsSecret returns the Secret that the cloud-credential-operator writes for the CredentialsRequest.
func (c *Cluster) credentialsSecret() *corev1.Secret {
	return seed.Secret(c.registered().Credentials.Secret, c.installation().Credentials)
}

// declareCustom makes the settings of an External cluster's administrator.
func (c *Cluster) declareCustom(ctx context.Context, client *objects.Client, installed *seed.Example) error {
	custom := installed.Custom
	if custom == nil {
		return nil
	}
	for _, secret := range custom.Secrets {
		if err := client.Create(ctx, seed.Secret(secret.Name, installed.Credentials)); err != nil {
			return err
		}
	}
	if installed.Rules != nil {
		role, binding := installed.Role()
		if err := errors.Join(client.Create(ctx, role), client.Create(ctx, binding)); err != nil {
			return err
		}
	}
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(custom)
	if err != nil {
		return fmt.Errorf("spec.custom: %w", err)
	}
	return client.Merge(ctx, ccmv1.Kind, "cluster", map[string]any{"spec": map[string]any{"custom": value}})
}
