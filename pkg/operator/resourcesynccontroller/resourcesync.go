// Package resourcesynccontroller keeps raw copies of what users edit in the operand's namespace, where
// targetconfigcontroller checks them before anything is revisioned.
//
// library-go's controller of this name would watch the Secrets of every namespace that it copies from, the pull secrets
// in openshift-config among them, and would copy labels that make other operators write into the copy.
package resourcesynccontroller

import (
	"context"
	"errors"
	"fmt"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/configmaps"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The raw copies in the operand's namespace. A copy whose source does not exist does not exist either.
const (
	// RawCloudConfig is a ConfigMap, the cloud configuration.
	RawCloudConfig = "raw-cloud-config"
	// RawCloudCredentials is a Secret, the cloud credentials.
	RawCloudCredentials = "raw-cloud-credentials"
	// RawTrustedCA is a ConfigMap, the CAs that the Proxy adds.
	RawTrustedCA = "raw-trusted-ca"
)

// SourceAnnotation on a copy names where it was copied from, as <namespace>/<name>.
const SourceAnnotation = "cloud-controller-manager.openshift.io/copied-from"

// Options are what the controller works with. All fields are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient

	// UserConfig and ManagedConfig are the ConfigMaps of openshift-config and of openshift-config-managed; of the
	// latter only operatorclient.ManagedCloudConfig is needed.
	UserConfig, ManagedConfig coreinformers.ConfigMapInformer

	// TargetConfigMaps and TargetSecrets are those of the operand's namespace.
	TargetConfigMaps coreinformers.ConfigMapInformer
	TargetSecrets    coreinformers.SecretInformer

	// ConfigMaps and Secrets write to the operand's namespace and read from the caches of TargetConfigMaps and
	// TargetSecrets.
	ConfigMaps corev1client.ConfigMapsGetter
	Secrets    corev1client.SecretsGetter

	Recorder events.Recorder
}

type controller struct {
	operator         v1helpers.StaticPodOperatorClient
	sources          Sources
	targetConfigMaps corelisters.ConfigMapNamespaceLister
	targetSecrets    corelisters.SecretNamespaceLister
	configMaps       corev1client.ConfigMapsGetter
	secrets          corev1client.SecretsGetter
}

// New returns the controller. It copies data only, never labels or annotations, and deletes a copy whose source is
// gone. While the platform is not known, or is one that runs nothing, it leaves everything as it is. An error of the
// API is reported as ResourceSyncControllerDegraded.
func New(o Options) factory.Controller {
	c := &controller{
		operator: o.Operator,
		sources: Sources{
			UserConfig:    o.UserConfig.Lister(),
			ManagedConfig: o.ManagedConfig.Lister(),
			Secrets:       o.TargetSecrets.Lister().Secrets(operatorclient.TargetNamespace),
		},
		targetConfigMaps: o.TargetConfigMaps.Lister().ConfigMaps(operatorclient.TargetNamespace),
		targetSecrets:    o.TargetSecrets.Lister().Secrets(operatorclient.TargetNamespace),
		configMaps:       o.ConfigMaps,
		secrets:          o.Secrets,
	}
	return factory.New().
		WithInformers(
			o.Operator.Informer(),
			o.UserConfig.Informer(),
			o.ManagedConfig.Informer(),
			o.TargetConfigMaps.Informer(),
			o.TargetSecrets.Informer(),
		).
		WithSync(writeconflict.Retried(c.sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController("ResourceSyncController", o.Recorder.WithComponentSuffix("resource-sync-controller"))
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	spec, _, _, err := c.operator.GetOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	current, known := platform.ByName(observed.Platform)
	if !known || !current.Managed() {
		return nil
	}
	return errors.Join(
		c.syncCloudConfig(ctx, syncCtx.Recorder(), current, observed),
		c.syncTrustedCA(ctx, syncCtx.Recorder(), observed),
		c.syncSecrets(ctx, syncCtx.Recorder(), current, observed),
	)
}

func (c *controller) syncCloudConfig(ctx context.Context, recorder events.Recorder, current platform.Platform, observed *operandconfig.Config) error {
	source, err := c.sources.CloudConfig(current, observed)
	if err != nil {
		return err
	}
	return c.copyConfigMap(ctx, recorder, source, RawCloudConfig)
}

func (c *controller) syncTrustedCA(ctx context.Context, recorder events.Recorder, observed *operandconfig.Config) error {
	source, err := c.sources.TrustedCA(observed)
	if err != nil {
		return err
	}
	return c.copyConfigMap(ctx, recorder, source, RawTrustedCA)
}

// syncSecrets copies the Secret of the platform, or the Secrets that spec.external names where the platform has none.
func (c *controller) syncSecrets(ctx context.Context, recorder events.Recorder, current platform.Platform, observed *operandconfig.Config) error {
	if current.Credentials.Secret == "" && observed.External != nil && len(observed.External.Secrets) > 0 {
		return c.syncExternal(ctx, recorder, observed.External)
	}
	return c.syncCredentials(ctx, recorder, current.Credentials.Secret)
}

func (c *controller) syncCredentials(ctx context.Context, recorder events.Recorder, name string) error {
	source, err := c.sources.Secret(name)
	if err != nil {
		return err
	}
	if source == nil {
		return c.deleteSecret(ctx, recorder, RawCloudCredentials)
	}
	_, _, err = resourceapply.ApplySecret(ctx, c.secrets, recorder, &corev1.Secret{
		ObjectMeta: copiedFrom(source, RawCloudCredentials),
		Type:       corev1.SecretTypeOpaque,
		Data:       source.Data,
	})
	return wrapWrite("secret", RawCloudCredentials, err)
}

// copyConfigMap makes the copy equal to source; without a source there is no copy.
func (c *controller) copyConfigMap(ctx context.Context, recorder events.Recorder, source *corev1.ConfigMap, name string) error {
	if source == nil {
		return c.deleteConfigMap(ctx, recorder, name)
	}
	err := configmaps.Apply(ctx, c.configMaps, recorder, &corev1.ConfigMap{
		ObjectMeta: copiedFrom(source, name),
		Data:       source.Data,
		BinaryData: source.BinaryData,
	})
	return wrapWrite("configmap", name, err)
}

func copiedFrom(source metav1.Object, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   operatorclient.TargetNamespace,
		Name:        name,
		Annotations: map[string]string{SourceAnnotation: sourceOf(source)},
	}
}

func (c *controller) deleteConfigMap(ctx context.Context, recorder events.Recorder, name string) error {
	if _, err := c.targetConfigMaps.Get(name); apierrors.IsNotFound(err) {
		return nil
	}
	_, _, err := resourceapply.DeleteConfigMap(ctx, c.configMaps, recorder, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorclient.TargetNamespace, Name: name},
	})
	return wrapWrite("configmap", name, err)
}

func (c *controller) deleteSecret(ctx context.Context, recorder events.Recorder, name string) error {
	if _, err := c.targetSecrets.Get(name); apierrors.IsNotFound(err) {
		return nil
	}
	_, _, err := resourceapply.DeleteSecret(ctx, c.secrets, recorder, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorclient.TargetNamespace, Name: name},
	})
	return wrapWrite("secret", name, err)
}

func wrapWrite(kind, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s/%s in %s: %w", kind, name, operatorclient.TargetNamespace, err)
	}
	return nil
}
