package render

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bootstrap"
	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The folders below --asset-output-dir, and the start of the names of our files in them.
const (
	podDir      = "bootstrap-manifests"
	manifestDir = "manifests"
	configDir   = "config"
	secretDir   = "tls"
	filePrefix  = operand.Name + "-"
	podFile     = operand.Name + "-pod.yaml"
)

// render reads and checks every input and returns every output in the order of writing. The pod comes last, when all
// that it mounts is there.
func (o *options) render() ([]output, error) {
	in, err := o.readInputs()
	if err != nil {
		return nil, err
	}
	if disabled, err := in.WithoutCapability(); err != nil || disabled != nil {
		if disabled != nil {
			o.notice("%s disables the capability %s: nothing is written", disabled.Source(), configv1.ClusterVersionCapabilityCloudControllerManager)
		}
		return nil, err
	}
	observed, err := in.Observe(o.payloadVersion)
	if err != nil {
		return nil, err
	}
	resources, err := o.renderOperand(in, observed)
	if err != nil {
		return nil, o.explain(in, err)
	}
	if resources == nil {
		// Nothing runs, but what was observed is still worth a look.
		config, err := operandconfig.Merge(observed, in.overrides)
		if err != nil {
			return nil, err
		}
		resources = &operand.Resources{Config: config}
	}
	for _, warning := range resources.Warnings {
		o.notice("%s", text(in.Located(warning)))
	}
	return o.outputs(resources)
}

// noticeUnmanaged says why a known platform gets no pod.
func (o *options) noticeUnmanaged(in *files, config *operandconfig.Config) {
	if platform.AbsenceOf(&config.Cluster.Status) == platform.NotDeclared {
		o.notice("platform %s has a cloud-controller-manager that the administrator runs: no pod is written; to have one, "+
			"add the manifest of cloudcontrollermanager/cluster with spec.custom", in.PlatformName)
		return
	}
	o.notice("platform %s has no cloud-controller-manager: no pod is written", in.PlatformName)
}

// renderOperand returns nil and leaves a notice where no cloud-controller-manager can run.
func (o *options) renderOperand(in *files, observed []byte) (*operand.Resources, error) {
	config, err := operandconfig.Decode(observed)
	if err != nil {
		return nil, err
	}
	p, known := platform.ByName(config.Platform)
	if !known {
		return nil, fmt.Errorf("platform %q is not in the registry", config.Platform)
	}
	if in.UnknownPlatform != "" {
		// A newer release may know it. The API server rejects a misspelled one.
		o.notice("status.platformStatus.type of %s: %s: no pod is written", in.Infrastructure.Source(), in.UnknownPlatform)
		return nil, nil
	}
	if !p.Managed() {
		o.noticeUnmanaged(in, config)
		return nil, nil
	}
	if config.Custom != nil && config.Custom.ArgsPolicy == ccmv1.ReplaceArgs {
		o.notice("spec.custom.argsPolicy is Replace, so nobody can keep the cloud-controller-manager from doing more on the bootstrap node "+
			"than to initialise nodes: %s", noPod)
		return nil, nil
	}
	gathered, err := in.Gather(config, p)
	if err != nil || !o.hasSecrets(p, gathered) {
		return nil, err
	}
	candidate, err := o.candidate(in, p, config, gathered)
	if err != nil {
		return nil, err
	}
	candidate.Config = observed
	resources, err := operand.Render(candidate)
	if err == nil && len(resources.Tokens) > 0 {
		o.notice("%s asks for a login with tokens of a ServiceAccount, and before the API runs nobody can issue one: %s", candidate.Credentials.Source, noPod)
		return nil, nil
	}
	return resources, err
}

// noPod is what becomes of an installation without a pod on the bootstrap node.
const noPod = "no pod is written, and nodes stay uninitialized until the cluster's own cloud-controller-manager runs"

// hasSecrets leaves a notice where a Secret is missing.
func (o *options) hasSecrets(p platform.Platform, gathered *inputs.Gathered) bool {
	custom := gathered.Custom
	if missing := custom.Missing; len(missing) > 0 && len(missing) == len(custom.Problems) {
		o.notice("spec.custom names %s, but not every one of them is among the manifests, so no identity can serve on the bootstrap node: %s",
			strings.Join(missing, " and "), noPod)
		return false
	}
	if p.Credentials.Secret != "" && !p.Credentials.Optional && gathered.Credentials.Data == nil {
		o.notice("%s is among the manifests, so no identity can serve on the bootstrap node: %s", offline.NoneOf(p.Credentials), noPod)
		return false
	}
	return true
}

// candidate is what operand.Render reads, but for the configuration.
func (o *options) candidate(in *files, p platform.Platform, config *operandconfig.Config, gathered *inputs.Gathered) (operand.Inputs, error) {
	if err := operandconfig.Required(config); err != nil {
		return operand.Inputs{}, fmt.Errorf("%s: %w", in.Infrastructure.Source(), err)
	}
	images, err := o.images(in, p, config.Custom)
	if err != nil {
		return operand.Inputs{}, err
	}
	if len(in.SystemTrust) == 0 {
		o.notice("%s does not exist, so the cloud-controller-manager trusts only the CAs of the cluster's configuration", o.systemTrustBundle)
	}
	phase := operand.BootstrapPhase()
	phase.Files = &operand.FileLayout{SecretsDir: o.secretsHostPath, ConfigDir: o.configHostPath, Prefix: filePrefix}
	return operand.Inputs{
		Phase:       phase,
		Platform:    p,
		Overrides:   in.overrides,
		Images:      images,
		CloudConfig: gathered.CloudConfig,
		Credentials: gathered.Credentials,
		Custom:      gathered.Custom,
		Trust:       gathered.Trust,
		// There is no good revision that a typo could replace, and an installation is not to fail over one.
		Policy: diagnostic.Lenient,
	}, nil
}

// images finds the operand's image. Two sources that differ are a mistake that would be found on the node otherwise.
func (o *options) images(in *files, p platform.Platform, custom *ccmv1.CustomCloudControllerManager) (operand.Images, error) {
	if custom != nil && custom.Image != "" && o.image != "" && o.image != custom.Image {
		return operand.Images{}, fmt.Errorf("--manifest-image is %s, but spec.custom of cloudcontrollermanager/cluster has %s: give one of them, or the same",
			o.image, custom.Image)
	}
	referenced := in.images[p.Image]
	if o.image != "" && referenced != "" && o.image != referenced {
		return operand.Images{}, fmt.Errorf("--manifest-image is %s, but %s has %s for %s: give one of them, or the same",
			o.image, o.imageReferences, referenced, p.Image)
	}
	images := operand.Images{Operand: referenced, Operator: o.operatorImage, Source: o.imageReferences}
	if o.image != "" {
		images.Operand, images.Source = o.image, "--manifest-image"
	}
	if images.Source == "" {
		images.Source = "--manifest-image or --image-references"
	}
	return images, nil
}

// outputs lists every file with its content. The configuration and the pod have the URLs of proxies, in which there may be
// a password.
func (o *options) outputs(r *operand.Resources) ([]output, error) {
	var outputs []output
	for _, file := range r.Files {
		if file.Secret {
			outputs = append(outputs, output{filepath.Join(o.assetOutputDir, secretDir, file.Name), secretMode, file.Data})
		} else {
			outputs = append(outputs, output{filepath.Join(o.assetOutputDir, configDir, file.Name), publicMode, file.Data})
		}
	}
	config, err := yaml.JSONToYAML(r.Config)
	if err != nil {
		return nil, fmt.Errorf("writing the operand's configuration: %w", err)
	}
	outputs = append(outputs, output{o.configOutputFile, secretMode, config})
	for _, m := range bootstrap.Manifests() {
		outputs = append(outputs, output{filepath.Join(o.assetOutputDir, manifestDir, m.Name), publicMode, m.Data})
	}
	if r.Pod == nil {
		return outputs, nil
	}
	r.Pod.Namespace = o.namespace
	for _, containers := range [][]corev1.Container{r.Pod.Spec.InitContainers, r.Pod.Spec.Containers} {
		for i := range containers {
			containers[i].ImagePullPolicy = corev1.PullPolicy(o.imagePullPolicy)
		}
	}
	pod, err := r.PodYAML()
	if err != nil {
		return nil, err
	}
	return append(outputs, output{filepath.Join(o.assetOutputDir, podDir, podFile), secretMode, pod}), nil
}

func (o *options) notice(format string, args ...any) {
	o.notices = append(o.notices, fmt.Sprintf(format, args...))
}

// explain puts every problem of refused inputs on one line.
func (o *options) explain(in *files, err error) error {
	var refused *operand.InputError
	if !errors.As(err, &refused) {
		return err
	}
	problems := make([]string, 0, len(refused.Problems))
	for _, p := range refused.Problems {
		located := in.Located(p)
		if located.Object == p.Object && p.Cause == diagnostic.Configuration && len(o.configOverrideFiles) > 0 {
			// There is no resource of the operator yet: this is what overrides its configuration here.
			located.Object = strings.Join(o.configOverrideFiles, " or ")
		}
		problems = append(problems, text(located))
	}
	return errors.New(strings.Join(problems, "; "))
}

// text is a problem with its place. A line of a value is not the line of the file that holds the value.
func text(p diagnostic.Diagnostic) string {
	if p.Key == "" || p.Line == 0 {
		return p.String()
	}
	return fmt.Sprintf("%s, line %d:%d of the value of key %s: %s", p.Object, p.Line, p.Column, p.Key, p.Text())
}
