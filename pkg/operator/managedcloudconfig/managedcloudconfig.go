// Package managedcloudconfig writes the cloud configuration that the cluster's other components read, on the platforms where
// a feature gate makes that this operator's matter. cluster-config-operator steps back there.
package managedcloudconfig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/configmaps"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// acceptedAnnotation is the digest of the user's configuration that the ConfigMap was made from: what was accepted once is
	// not refused later for what only looks like a mistake.
	acceptedAnnotation = "cloud-controller-manager.openshift.io/accepted-input"

	// mostProblems is how many problems the condition lists.
	mostProblems = 5
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient

	// UserConfig and ManagedConfig are the ConfigMaps of openshift-config and of openshift-config-managed; of the
	// latter only operatorclient.ManagedCloudConfig is needed.
	UserConfig, ManagedConfig coreinformers.ConfigMapInformer

	Client   corev1client.ConfigMapsGetter
	Recorder events.Recorder
}

type controller struct {
	operator v1helpers.OperatorClient
	reader   inputs.Reader
	client   corev1client.ConfigMapsGetter
}

// New returns the controller that keeps configmap/kube-cloud-config in openshift-config-managed equal to what the platform's
// ManagedConfig makes of the user's configuration, with the keys that stand beside it. It does nothing on a platform that has
// no ManagedConfig and while the feature gate is off. A configuration that is refused, or that is gone, leaves the ConfigMap
// as it is; where there never was one, Infrastructure says enough. Errors become ManagedCloudConfigDegraded.
func New(o Options) factory.Controller {
	return newController(o).factory(o).ToController("ManagedCloudConfig", o.Recorder.WithComponentSuffix("managed-cloud-config"))
}

func newController(o Options) *controller {
	return &controller{
		operator: o.Operator,
		reader:   inputs.Listers{UserConfig: o.UserConfig.Lister(), ManagedConfig: o.ManagedConfig.Lister()},
		client:   o.Client,
	}
}

func (c *controller) factory(o Options) *factory.Factory {
	return factory.New().
		WithInformers(o.Operator.Informer(), o.UserConfig.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operatorclient.ManagedCloudConfig), o.ManagedConfig.Informer()).
		WithSync(writeconflict.Retried(c.sync)).
		WithSyncDegradedOnError(o.Operator)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	spec, _, _, err := c.operator.GetOperatorState()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
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
		// In a new cluster nobody may have needed it.
		source.Problem = ""
	}
	if source.Problem != "" {
		return keptBecause(diagnostic.Diagnostic{Object: source.Source, Key: source.Key, Message: source.Problem})
	}
	wanted, err := render(managed.Rewrite, observed, source, current)
	if err != nil {
		return err
	}
	return c.apply(ctx, syncCtx.Recorder(), current, wanted)
}

// observe returns the observed configuration and what to write; Rewrite is nil where that is nothing, or not known.
func observe(spec *operatorv1.OperatorSpec) (*operandconfig.Config, platform.ManagedConfig, error) {
	current, known, err := observedplatform.Of(spec)
	if err != nil || !known || !current.WritesManagedConfig() {
		return nil, platform.ManagedConfig{}, err
	}
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil, platform.ManagedConfig{}, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	if !slices.Contains(observed.Cluster.FeatureGates, current.ManagedConfig.FeatureGate) {
		return nil, platform.ManagedConfig{}, nil
	}
	observed.Cluster.Name = observed.InfrastructureName
	return observed, current.ManagedConfig, nil
}

// render makes the ConfigMap, or says why the source is refused.
func render(rewrite clouds.Rewrite, observed *operandconfig.Config, s inputs.UserConfig, current *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	result := rewrite(clouds.Source{
		Config:             s.Data,
		CredentialsUnknown: true, // each component has its own
		Cluster:            observed.Cluster,
	})
	accepted := digest(s.Data)
	policy := diagnostic.Lenient
	if current != nil && current.Annotations[acceptedAnnotation] != "" && current.Annotations[acceptedAnnotation] != accepted {
		policy = diagnostic.Strict
	}
	var problems []diagnostic.Diagnostic
	for _, f := range result.Errors(policy) {
		problems = append(problems, diagnostic.Diagnostic{
			Object: s.Source, Key: s.Key, Line: f.Line, Column: f.Column, Message: f.Message, SeeLine: f.SeeLine,
		})
	}
	if len(problems) > 0 {
		return nil, keptBecause(problems...)
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

// keptBecause says why the ConfigMap is left as it is.
func keptBecause(problems ...diagnostic.Diagnostic) error {
	var lines []string
	for i, p := range problems {
		if i == mostProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		lines = append(lines, p.String())
	}
	return fmt.Errorf("configmap/%s in %s is left as it is, for all who read it: %s",
		operatorclient.ManagedCloudConfig, operatorclient.ManagedConfigNamespace, strings.Join(lines, "\n"))
}

func digest(config []byte) string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:])
}

// apply writes the ConfigMap where it differs. Nothing is asked of the API server while it does not.
func (c *controller) apply(ctx context.Context, recorder events.Recorder, current, wanted *corev1.ConfigMap) error {
	if current != nil && equality.Semantic.DeepEqual(current.Data, wanted.Data) && equality.Semantic.DeepEqual(current.BinaryData, wanted.BinaryData) &&
		current.Annotations[acceptedAnnotation] == wanted.Annotations[acceptedAnnotation] {
		return nil
	}
	if err := configmaps.Apply(ctx, c.client, recorder, wanted); err != nil {
		return fmt.Errorf("configmap/%s in %s: %w", wanted.Name, wanted.Namespace, err)
	}
	return nil
}
