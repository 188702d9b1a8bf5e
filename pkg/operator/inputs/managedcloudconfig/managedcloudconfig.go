// Package managedcloudconfig writes the cloud configuration that the cluster's other components read. It does so only
// on platforms where a feature gate moves this task from cluster-config-operator to this operator.
package managedcloudconfig

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/configmaps"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// acceptedAnnotation has the digest of the user's configuration that was rendered: likely mistakes reject only changes.
const acceptedAnnotation = "cloud-controller-manager.openshift.io/accepted-input"

type controller struct {
	dependencies.Deps
	reader inputs.Reader
}

// New returns the controller that renders configmap/kube-cloud-config in openshift-config-managed from the user's
// configuration, or from Infrastructure if there is none, and copies the user's other keys. It does nothing on a
// platform without ManagedConfig, or while the feature gate is off. If the configuration is rejected or was deleted,
// the ConfigMap stays unchanged. Errors become ManagedCloudConfigDegraded.
func New(d dependencies.Deps, userConfig, managedConfig coreinformers.ConfigMapInformer) factory.Controller {
	dependencies.Require(d, userConfig, managedConfig)
	f := factory.New().
		WithInformers(userConfig.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operatorclient.ManagedCloudConfig), managedConfig.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.PodConfigMap), d.Target.Core().V1().ConfigMaps().Informer())
	return reconciler.From(f, "ManagedCloudConfig", d.Operator, d.Recorder.WithComponentSuffix("managed-cloud-config"),
		newController(d, userConfig, managedConfig).sync)
}

func newController(d dependencies.Deps, userConfig, managedConfig coreinformers.ConfigMapInformer) *controller {
	reader := inputs.Listers{UserConfig: userConfig.Lister(), ManagedConfig: managedConfig.Lister()}
	return &controller{Deps: d, reader: reader}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	spec, _, _, err := c.Operator.GetOperatorState()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	observed, managed, err := observe(spec)
	if err != nil || managed.Rewrite == nil {
		return err
	}
	current, err := c.reader.ConfigMap(operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
	if err != nil {
		return err
	}
	source, err := inputs.UserCloudConfig(c.reader, observed)
	if err != nil {
		return err
	}
	if source.Object == nil && current == nil {
		// A new cluster may not need a user's configuration.
		source.Diagnostic = ""
	}
	if source.Diagnostic != "" {
		return notUpdated(diagnostic.Diagnostic{Object: source.Source, Key: source.Key, Message: source.Diagnostic})
	}
	candidate, err := c.ConfigMap(operand.PodConfigMap)
	if err != nil {
		return err
	}
	wanted, err := render(managed.Rewrite, observed, source, current, candidate)
	if err != nil {
		return err
	}
	return c.apply(ctx, syncCtx.Recorder(), current, wanted)
}

// observe returns a nil Rewrite if the platform is unknown or has nothing to write.
func observe(spec *operatorv1.OperatorSpec) (*operandconfig.Config, platform.ManagedConfig, error) {
	current, known, err := observedplatform.Of(spec)
	if err != nil || !known || !current.WritesManagedConfig() {
		return nil, platform.ManagedConfig{}, err
	}
	observed, err := observedplatform.Config(spec)
	if err != nil {
		return nil, platform.ManagedConfig{}, err
	}
	if !slices.Contains(observed.Cluster.FeatureGates, current.ManagedConfig.FeatureGate) {
		return nil, platform.ManagedConfig{}, nil
	}
	observed.Cluster.Name = observed.InfrastructureName
	return observed, current.ManagedConfig, nil
}

func render(
	rewrite clouds.Rewrite, observed *operandconfig.Config, s inputs.UserConfig, current, candidate *corev1.ConfigMap,
) (*corev1.ConfigMap, error) {
	result := rewrite(clouds.Source{
		Config:             s.Data,
		CredentialsUnknown: true, // each component has its own credentials
		Cluster:            observed.Cluster,
	})
	accepted := digest.Hex(s.Data)
	policy := diagnostic.Lenient
	// What the cloud-controller-manager has may have likely mistakes that an administrator accepted.
	isInUse := candidate != nil && candidate.Annotations[operand.AcceptedInputAnnotation] == digest.Of(s.Data)
	if current != nil && !isInUse && !slices.Contains([]string{"", accepted}, current.Annotations[acceptedAnnotation]) {
		policy = diagnostic.Strict
	}
	var diagnostics []diagnostic.Diagnostic
	for _, d := range result.Errors(policy) {
		diagnostics = append(diagnostics, diagnostic.Diagnostic{
			Object: s.Source, Key: s.Key, Line: d.Line, Column: d.Column, Message: d.Message, SeeLine: d.SeeLine,
		})
	}
	if len(diagnostics) > 0 {
		return nil, notUpdated(diagnostics...)
	}
	data, binary := map[string]string{}, map[string][]byte{}
	if s.Object != nil {
		maps.Copy(data, s.Object.Data)
		maps.Copy(binary, s.Object.BinaryData)
	}
	delete(data, s.Key)
	delete(binary, operatorclient.ManagedCloudConfigKey)
	data[operatorclient.ManagedCloudConfigKey] = string(result.Config)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   operatorclient.ManagedConfigNamespace,
			Name:        operatorclient.ManagedCloudConfig,
			Annotations: map[string]string{acceptedAnnotation: accepted},
		},
		Data:       data,
		BinaryData: binary,
	}, nil
}

func notUpdated(diagnostics ...diagnostic.Diagnostic) error {
	var lines []string
	for _, d := range diagnostics {
		lines = append(lines, d.String())
	}
	return fmt.Errorf("configmap/%s in %s is not updated: %s",
		operatorclient.ManagedCloudConfig, operatorclient.ManagedConfigNamespace,
		diagnostic.JoinFew(lines, "\n", "\nand %d more"))
}

func (c *controller) apply(ctx context.Context, recorder events.Recorder, current, wanted *corev1.ConfigMap) error {
	if current != nil && maps.Equal(current.Data, wanted.Data) &&
		maps.EqualFunc(current.BinaryData, wanted.BinaryData, bytes.Equal) &&
		current.Annotations[acceptedAnnotation] == wanted.Annotations[acceptedAnnotation] {
		return nil
	}
	return configmaps.Apply(ctx, c.Kube.CoreV1(), recorder, wanted)
}
