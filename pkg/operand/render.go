package operand

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// Render makes a complete candidate out of in. It returns an *InputError with everything that is wrong when it
// refuses the inputs; any other error is a defect of the assets.
func Render(in Inputs) (*Resources, error) {
	if !in.Platform.Managed() {
		return nil, fmt.Errorf("platform %q has no cloud-controller-manager to render", in.Platform.Name)
	}
	base, err := basePod(in)
	if err != nil {
		return nil, fmt.Errorf("the pod of platform %s in phase %s: %w", in.Platform.Name, in.Phase.Name, err)
	}
	config, checked := prepare(&in, base)
	if err := checked.error(); err != nil {
		return nil, err
	}

	files, err := deliver(in, config.APIServerInternalURI, checked)
	if err != nil {
		return nil, err
	}
	pod, err := buildPod(in, base, config, files)
	if err != nil {
		return nil, fmt.Errorf("building the pod of platform %s in phase %s: %w", in.Platform.Name, in.Phase.Name, err)
	}
	resources := &Resources{Pod: pod, Config: config.yaml, Tokens: checked.cloud.Tokens, Kept: checked.cloud.Kept, Warnings: checked.warnings}
	if in.Phase.Files != nil {
		resources.Files = in.Phase.Files.files(files)
		return resources, nil
	}
	if resources, err = resources.withObjects(in, files); err != nil {
		return nil, err
	}
	resources.NodeManagerConfig = nodeManagerConfig(in, checked.cloud.NodeManager)
	resources.NodeManager, err = buildNodeManager(in, config, resources)
	if err != nil {
		return nil, fmt.Errorf("building the cloud-node-manager of platform %s: %w", in.Platform.Name, err)
	}
	return resources, nil
}

// Check is the check that Render makes, for those who want to know everything that it finds and need no pod.
func Check(in Inputs) (*Checked, error) {
	if !in.Platform.Managed() {
		return nil, fmt.Errorf("platform %q has no cloud-controller-manager to check", in.Platform.Name)
	}
	base, err := basePod(in)
	if err != nil {
		return nil, fmt.Errorf("the pod of platform %s in phase %s: %w", in.Platform.Name, in.Phase.Name, err)
	}
	_, c := prepare(&in, base)
	checked := &Checked{Cloud: c.cloud, Problems: c.problems, Warnings: c.warnings}
	for _, finding := range c.cloud.Diagnostics {
		if finding.Kind.IsChange() {
			checked.Changes = append(checked.Changes, located(finding, in))
		}
	}
	return checked, nil
}

// prepare merges the configuration and checks every input; what spec.custom says about the image is then in in. The
// configuration is nil when it is refused.
func prepare(in *Inputs, base *corev1.Pod) (*config, *checkedInputs) {
	config, err := mergeConfig(*in)
	if err == nil && config.Custom != nil && config.Custom.Image != "" && in.Platform.Image == "" {
		in.Images.Operand = config.Custom.Image
	}
	checked := check(*in, base, config)
	if err != nil {
		checked.refuse(diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: configurationSource, Message: err.Error()})
	}
	return config, checked
}

// configurationSource is what the user looks at when the operand's configuration as a whole is at fault.
const configurationSource = customccm.Object

// mergeConfig lays defaults, platform, phase, the platform in this phase, observed configuration and overrides over each other.
func mergeConfig(in Inputs) (*config, error) {
	platformConfig, err := platformAsset(in.Platform.Name, "config.yaml")
	if err != nil {
		return nil, err
	}
	// Only where the platform's cloud-controller-manager has other words for what the phase asks of it.
	inPhase, err := platformAsset(in.Platform.Name, in.Phase.Name+"-config.yaml")
	if err != nil {
		return nil, err
	}
	layers := [][]byte{bindata.MustRead("assets/config/default.yaml"), platformConfig, in.Phase.Config, inPhase, in.Config}
	merged, err := operandconfig.Merge(append(layers, in.Overrides)...)
	if err != nil {
		return nil, err
	}
	decoded, err := operandconfig.Decode(merged)
	if err != nil {
		return nil, err
	}
	if err := operandconfig.Required(decoded); err != nil {
		return nil, err
	}
	if decoded.Platform != in.Platform.Name {
		return nil, fmt.Errorf("the configuration is for platform %q, the candidate for %q", decoded.Platform, in.Platform.Name)
	}
	decoded.Cluster.Name = decoded.InfrastructureName
	return &config{Config: decoded, yaml: merged, overridesCustom: overridesCustom(layers, decoded)}, nil
}

// overridesCustom reports whether the merge has another spec.custom than the layers below the overrides. It compares what was
// decoded, because the decoder accepts a field in any case.
func overridesCustom(layers [][]byte, merged *operandconfig.Config) bool {
	below := &operandconfig.Config{}
	if data, err := operandconfig.Merge(layers...); err == nil {
		if decoded, err := operandconfig.Decode(data); err == nil {
			below = decoded
		}
	}
	return !equality.Semantic.DeepEqual(below.Custom, merged.Custom)
}

// platformAsset reads a file of the platform's folder; a platform may do without it.
func platformAsset(platform, file string) ([]byte, error) {
	data, err := bindata.Read("assets/platforms/" + platform + "/" + file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// checkedInputs is what the check of the inputs found and made of them.
type checkedInputs struct {
	cloud    clouds.Result
	trust    []byte
	problems []diagnostic.Diagnostic
	warnings []diagnostic.Diagnostic
}

func (c *checkedInputs) refuse(p diagnostic.Diagnostic) { c.problems = append(c.problems, p) }
func (c *checkedInputs) warn(p diagnostic.Diagnostic)   { c.warnings = append(c.warnings, p) }

func (c *checkedInputs) error() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &InputError{Problems: c.problems, Warnings: c.warnings}
}

// check reads every input strictly and collects all that is wrong with any of them. The configuration is nil when it is
// refused itself; what depends on it is not checked then.
func check(in Inputs, base *corev1.Pod, config *config) *checkedInputs {
	c := &checkedInputs{}
	if config != nil || in.Platform.Image != "" {
		c.checkImages(in, base)
	}
	if config != nil {
		c.checkCloudConfig(in, config.Cluster)
	}
	c.checkTrust(in)
	if config != nil {
		c.checkCustom(in, base, config)
	}
	return c
}

func (c *checkedInputs) checkImages(in Inputs, base *corev1.Pod) {
	source := cmp.Or(in.Images.Source, "the release payload")
	switch {
	case in.Images.Operand != "":
	case in.Platform.Image == "":
		c.refuse(diagnostic.Diagnostic{
			Cause: diagnostic.Image, Object: configurationSource, Key: "spec.custom.image",
			Message: fmt.Sprintf("no release ships a cloud-controller-manager for platform %s; name its image here", in.Platform.Name),
		})
	default:
		c.refuse(diagnostic.Diagnostic{
			Cause: diagnostic.Image, Object: source, Key: in.Platform.Image,
			Message: fmt.Sprintf("there is no image of the cloud-controller-manager for platform %s; the release must name it", in.Platform.Name),
		})
	}
	if in.Platform.NodeManagerImage != "" && in.Images.NodeManager == "" && in.Phase.Files == nil {
		c.refuse(diagnostic.Diagnostic{
			Cause: diagnostic.Image, Object: source, Key: in.Platform.NodeManagerImage,
			Message: fmt.Sprintf("there is no image of the cloud-node-manager for platform %s; the release must name it", in.Platform.Name),
		})
	}
	if users := containersWith(base, operatorImage); in.Images.Operator == "" && len(users) > 0 {
		c.refuse(diagnostic.Diagnostic{
			Cause: diagnostic.Image, Object: source, Key: "cluster-cloud-controller-manager-operator",
			Message: fmt.Sprintf("there is no image of the operator, which container %s runs from; the release must name it", strings.Join(users, ", ")),
		})
	}
}

func (c *checkedInputs) checkCloudConfig(in Inputs, cluster clouds.Cluster) {
	if in.delivered != nil {
		c.cloud = in.delivered.cloud
		return
	}
	if in.CloudConfig.Problem != "" {
		c.refuse(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Object: in.CloudConfig.Source, Key: in.CloudConfig.Key, Message: in.CloudConfig.Problem})
		return
	}
	result := in.Platform.Rewrite(clouds.Source{
		Config:             in.CloudConfig.Data,
		Keys:               in.CloudConfig.Keys,
		Credentials:        in.Credentials.Data,
		CredentialsUnknown: in.Credentials.Unknown,
		CABundle:           in.CloudConfig.CABundle,
		Cluster:            cluster,
		First:              in.First,
		Kept:               in.Kept,
		Paths: clouds.Paths{
			Config: cloudConfigDir, Credentials: credentialsDir, Tokens: tokensDir, CABundle: cloudCAFile, Kubeconfig: kubeconfigFile,
		},
	})
	for _, finding := range result.Errors(in.Policy) {
		c.refuse(located(finding, in))
	}
	for _, finding := range result.Warnings(in.Policy) {
		c.warn(located(finding, in))
	}
	c.cloud = result
}

// located names the object that the administrator has to look at.
func located(d diagnostic.Diagnostic, in Inputs) diagnostic.Diagnostic {
	if d.Cause == diagnostic.Credentials {
		d.Object = in.Credentials.sourceOf(d.Key)
		return d
	}
	d.Object, d.Key = in.CloudConfig.Source, cmp.Or(d.Key, in.CloudConfig.Key)
	return d
}

func (c *checkedInputs) checkTrust(in Inputs) {
	sources := append([]TrustSource{}, in.Trust...)
	if len(in.CloudConfig.CABundle) > 0 {
		sources = append(sources, TrustSource{Source: in.CloudConfig.Source, Key: cloudCAKey, Data: in.CloudConfig.CABundle})
	}
	bundle, problems := mergeTrust(sources)
	for _, p := range problems {
		c.warn(p)
	}
	if len(bundle) > customccm.MaxBytes {
		c.refuse(diagnostic.Diagnostic{
			Cause: diagnostic.TrustedCA, Object: sources[0].Source, Key: sources[0].Key,
			Message: fmt.Sprintf("all trusted CAs together are %d bytes, more than the %d that fit into a ConfigMap; remove some", len(bundle), customccm.MaxBytes),
		})
	}
	c.trust = bundle
}
