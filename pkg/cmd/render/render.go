package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// The directories below --asset-output-dir, and the prefix of this operator's files there.
const (
	podDir      = "bootstrap-manifests"
	manifestDir = "manifests"
	configDir   = "config"
	secretDir   = "tls"
	filePrefix  = operand.Name + "-"
	podFile     = operand.Name + "-pod.yaml"
	// manifestPrefix is the prefix of this operator's early manifests. No manifest of the payload has it.
	manifestPrefix = "0000_26_cloud-controller-manager_"
)

// render checks every input and returns the outputs in the order of writing: the pod after the files that it mounts.
func (o *options) render() ([]output, error) {
	in, err := o.readInputs()
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, message := range in.Ignored() {
			o.warn("%s", message)
		}
	}()
	if enabled, err := o.enabled(in); err != nil || !enabled {
		return nil, err
	}
	if err := o.warnUnknownFields(in); err != nil {
		return nil, err
	}
	observed, err := in.Observe(o.knownVersion(in))
	if err != nil {
		return nil, err
	}
	for _, warning := range in.TLSProfile(offline.Installation) {
		o.warn("%s", text(in.Located(warning)))
	}
	resources, err := o.renderOperand(in, observed)
	if err != nil {
		return nil, err
	}
	if resources == nil {
		// Nothing runs, but the observed configuration helps to debug.
		config, err := operandconfig.Merge(observed, in.overrides)
		if err != nil {
			return nil, err
		}
		resources = &operand.Resources{Config: config}
	}
	for _, warning := range resources.Warnings {
		o.warn("%s", text(in.Located(warning)))
	}
	return o.outputs(resources)
}

// knownVersion returns the version whose feature gates apply. If the FeatureGate has none for this release, it adds a
// warning and returns an empty string: no feature gate matters to a cloud-controller-manager that only initializes
// nodes.
func (o *options) knownVersion(in *files) string {
	if o.payloadVersion == "" {
		return ""
	}
	if _, err := in.WithoutGate("", o.payloadVersion); err != nil {
		o.warn("%v: until then, no feature gate is on", err)
		return ""
	}
	return o.payloadVersion
}

func (o *options) warnUnknownFields(in *files) error {
	unknown, err := in.UnknownFields()
	for _, d := range unknown {
		o.warn("%s: %s", d.Place(), d.Message)
	}
	return err
}

// enabled reports whether the cluster has this operator's feature gate and capability, and adds a warning if not.
func (o *options) enabled(in *files) (bool, error) {
	if o.featureGate != "" {
		reason, err := in.WithoutGate(configv1.FeatureGateName(o.featureGate), o.payloadVersion)
		if err != nil {
			return false, err
		}
		if reason != "" {
			o.warn("%s: no files are written", reason)
			return false, nil
		}
	}
	disabled, err := in.WithoutCapability()
	if err != nil {
		return false, err
	}
	if disabled != nil {
		o.warn("%s disables the capability %s: no files are written", disabled.Source(),
			configv1.ClusterVersionCapabilityCloudControllerManager)
	}
	return disabled == nil, nil
}

func (o *options) warnUnmanaged(in *files, config *operandconfig.Config) {
	if platform.AbsenceOf(&config.Cluster.Status) == platform.NotDeclared {
		o.warn("platform %s has a cloud-controller-manager that the administrator runs: no pod is written; to have one, "+
			"add the manifest of cloudcontrollermanager/cluster with spec.custom", in.PlatformName)
		return
	}
	o.warn("platform %s has no cloud-controller-manager: no pod is written", in.PlatformName)
}

// renderOperand returns nil and adds a warning if no cloud-controller-manager can run.
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
		// A newer release may know the type. The API server rejects a misspelled one.
		o.warn("status.platformStatus.type of %s: %s: no pod is written", in.Infrastructure.Source(), in.UnknownPlatform)
		return nil, nil
	}
	if !p.Managed() {
		o.warnUnmanaged(in, config)
		return nil, nil
	}
	if config.Custom != nil && config.Custom.ArgsPolicy == ccmv1.CustomCloudControllerManagerArgsPolicyReplace {
		o.warn("spec.custom.argsPolicy is Replace, so the bootstrap node's cloud-controller-manager cannot be limited to "+
			"initializing nodes: %s", noPod)
		return nil, nil
	}
	gathered := o.gather(in, config, p)
	if gathered == nil {
		return nil, nil
	}
	candidate, err := o.candidate(in, p, config, gathered)
	if err != nil {
		return nil, err
	}
	candidate.Config = observed
	resources, err := operand.Render(candidate)
	if rejected := (*operand.InputError)(nil); errors.As(err, &rejected) {
		// The operator reports the same in the cluster, where it can be corrected. During bootstrap it cannot.
		o.warn("%s: %s", o.located(in, rejected), noPod)
		return nil, nil
	}
	if err == nil && len(resources.Tokens) > 0 {
		o.warn("%s requires ServiceAccount tokens, which cannot be issued before the API server runs: %s",
			candidate.Credentials.Source, noPod)
		return nil, nil
	}
	return resources, err
}

// gather returns nil and adds a warning if an input is missing or cannot be read.
func (o *options) gather(in *files, config *operandconfig.Config, p platform.Platform) *inputs.Gathered {
	gathered, err := in.Gather(config, p)
	if err != nil {
		o.warn("%v: %s", err, noPod)
		return nil
	}
	if !o.hasSecrets(p, gathered) {
		return nil
	}
	if err := operandconfig.Required(config); err != nil {
		o.warn("%s: %v: %s", in.Infrastructure.Source(), err, noPod)
		return nil
	}
	return gathered
}

const noPod = "no pod is written, and nodes stay uninitialized until the cluster's own cloud-controller-manager runs"

// hasSecrets reports whether all required Secrets exist, and adds a warning if not.
func (o *options) hasSecrets(p platform.Platform, gathered *inputs.Gathered) bool {
	custom := gathered.Custom
	if missing := custom.Missing; len(missing) > 0 && len(missing) == len(custom.Diagnostics) {
		o.warn("spec.custom names %s, but the manifests do not contain all of them, so the bootstrap node has no "+
			"credentials: %s", strings.Join(missing, " and "), noPod)
		return false
	}
	if p.Credentials.Secret != "" && !p.Credentials.Optional && gathered.Credentials.Data == nil {
		o.warn("%s is among the manifests, so the bootstrap node has no credentials: %s", offline.NoneOf(p.Credentials),
			noPod)
		return false
	}
	return true
}

// candidate returns the inputs of operand.Render except for the configuration.
func (o *options) candidate(
	in *files, p platform.Platform, config *operandconfig.Config, gathered *inputs.Gathered,
) (operand.Inputs, error) {
	images, err := o.images(in, p, config.Custom)
	if err != nil {
		return operand.Inputs{}, err
	}
	if len(in.SystemTrust) == 0 {
		o.warn("%s does not exist, so the cloud-controller-manager trusts only the CAs in the cluster's configuration",
			o.systemTrustBundle)
	}
	phase := operand.BootstrapPhase()
	phase.Files = &operand.FileLayout{SecretsDir: o.secretsHostPath, ConfigDir: o.configHostPath, Prefix: filePrefix}
	return operand.Inputs{
		Version:     o.payloadVersion,
		Phase:       phase,
		Platform:    p,
		Overrides:   in.overrides,
		Images:      images,
		CloudConfig: gathered.CloudConfig,
		Credentials: gathered.Credentials,
		Custom:      gathered.Custom,
		Trust:       gathered.Trust,
		// A likely mistake must not fail an installation, and there is no accepted version to keep.
		Policy: diagnostic.Lenient,
	}, nil
}

// images returns the images. It rejects two different images of the operand, a mistake that would show on the node.
func (o *options) images(
	in *files, p platform.Platform, custom *ccmv1.CustomCloudControllerManager,
) (operand.Images, error) {
	if custom != nil && custom.Image != "" && o.image != "" && o.image != custom.Image {
		return operand.Images{}, fmt.Errorf("--manifest-image is %s, but spec.custom of cloudcontrollermanager/cluster "+
			"has %s: specify only one, or the same image", o.image, custom.Image)
	}
	referenced := in.images[p.Image]
	if o.image != "" && referenced != "" && o.image != referenced {
		return operand.Images{}, fmt.Errorf("--manifest-image is %s, but %s has %s for %s: specify only one, or the same "+
			"image", o.image, o.imageReferences, referenced, p.Image)
	}
	images := operand.Images{
		Operand: referenced, NodeManager: in.images[p.NodeManagerImage], Operator: o.operatorImage,
		Source: cmp.Or(o.imageReferences, "--manifest-image or --image-references"),
	}
	if o.image != "" {
		images.Operand, images.Source = o.image, "--manifest-image"
	}
	return images, nil
}

// outputs returns every file. The configuration and the pod are secret because proxy URLs may contain passwords.
func (o *options) outputs(r *operand.Resources) ([]output, error) {
	var outputs []output
	for _, file := range r.Files {
		if file.Secret {
			outputs = append(outputs, o.output(secretDir, file.Name, secretMode, file.Data))
		} else {
			outputs = append(outputs, o.output(configDir, file.Name, publicMode, file.Data))
		}
	}
	config, err := yaml.JSONToYAML(r.Config)
	if err != nil {
		return nil, fmt.Errorf("writing the operand's configuration: %w", err)
	}
	outputs = append(outputs, output{Path: o.configOutputFile, Mode: secretMode, Data: config})
	for _, m := range bootstrap.Manifests() {
		outputs = append(outputs, o.output(manifestDir, m.Name, publicMode, m.Data))
	}
	if r.NodeManager != nil {
		manifests, err := o.nodeManagerManifests(r)
		return append(outputs, manifests...), err
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
	return append(outputs, o.output(podDir, podFile, secretMode, pod)), nil
}

func (o *options) output(dir, name string, mode os.FileMode, data []byte) output {
	return output{Path: filepath.Join(o.assetOutputDir, dir, name), Mode: mode, Data: data}
}

// nodeManagerManifests returns the objects that make a cloud-node-manager initialize every node that registers. The
// operator adopts them later.
func (o *options) nodeManagerManifests(r *operand.Resources) ([]output, error) {
	var outputs []output
	add := func(name string, mode os.FileMode, data []byte) {
		outputs = append(outputs, o.output(manifestDir, name, mode, data))
	}
	for _, m := range bootstrap.NodeManagerManifests() {
		add(m.Name, publicMode, m.Data)
	}
	identity := operand.NodeManagerManifests()
	for _, name := range slices.Sorted(maps.Keys(identity)) {
		add(manifestPrefix+name, publicMode, identity[name])
	}
	var errs []error
	addObject := func(name string, mode os.FileMode, object runtime.Object) {
		data, err := manifest(object)
		errs = append(errs, err)
		add(manifestPrefix+name+".yaml", mode, data)
	}
	for _, configMap := range r.ConfigMaps {
		addObject("02_configmap-"+configMap.Name, publicMode, configMap)
	}
	if r.NodeManagerConfig != nil {
		addObject("02_secret-"+r.NodeManagerConfig.Name, secretMode, r.NodeManagerConfig)
	}
	// A proxy URL in its environment may contain a password.
	addObject("03_daemonset-"+r.NodeManager.Name, secretMode, r.NodeManager)
	return outputs, errors.Join(errs...)
}

func manifest(object runtime.Object) ([]byte, error) {
	document, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("writing a manifest: %w", err)
	}
	delete(document, "status")
	data, err := yaml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("writing a manifest: %w", err)
	}
	return data, nil
}

func (o *options) warn(format string, args ...any) {
	o.warnings = append(o.warnings, fmt.Sprintf(format, args...))
}

// located returns the diagnostics of rejected inputs with their files, on one line.
func (o *options) located(in *files, rejected *operand.InputError) string {
	messages := make([]string, 0, len(rejected.Diagnostics))
	for _, d := range rejected.Diagnostics {
		located := in.Located(d)
		if located.Object == d.Object && d.Cause == diagnostic.Configuration && len(o.configOverrideFiles) > 0 {
			// The operator's resource does not exist yet; the overrides are in these files.
			located.Object = strings.Join(o.configOverrideFiles, " or ")
		}
		messages = append(messages, text(located))
	}
	return strings.Join(messages, "; ")
}

// text returns a diagnostic with its code and, for a key's value, the line there, which differs from the file's.
func text(d diagnostic.Diagnostic) string {
	if d.Key == "" || d.Line == 0 {
		return d.Coded(d.String())
	}
	return d.Coded(fmt.Sprintf("%s, line %d:%d of the value of key %s: %s", d.Object, d.Line, d.Column, d.Key, d.Text()))
}
