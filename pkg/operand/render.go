package operand

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// Render returns a complete candidate. If it rejects the inputs, it returns an *InputError with all errors. Any other
// error is a defect of the assets.
func Render(in Inputs) (*Resources, error) {
	base, config, checked, err := prepare(&in, "render")
	if err != nil {
		return nil, err
	}
	if len(checked.diagnostics) > 0 {
		return nil, &InputError{Diagnostics: checked.diagnostics, Warnings: checked.warnings}
	}

	if in.Former != nil && in.Former.Image {
		in.Images.Operand = operandContainer(in.Former.pod).Image
	}
	files, err := deliver(in, config.APIServerInternalURI, checked)
	if err != nil {
		return nil, err
	}
	resources := &Resources{Config: config.merged, Kept: checked.cloud.Kept, Warnings: checked.warnings}
	if in.Phase.Files.onHost() && in.Platform.NodeManagerImage != "" {
		// Before the operator runs, the cloud-node-manager alone initializes the nodes: since v1.27, cloud-provider-azure
		// starts its cloud-node-controller without workers (kubernetes-sigs/cloud-provider-azure#6498).
		resources.ConfigMaps = []*corev1.ConfigMap{newConfigMap(TrustedCAConfigMap, files)}
		return resources.withNodeManager(in, config, checked)
	}
	resources.Tokens, resources.Untried = checked.cloud.Tokens, checked.cloud.Untried
	if resources.Pod, err = buildPod(in, base, config, files); err != nil {
		return nil, fmt.Errorf("building the pod of platform %s in phase %s: %w", in.Platform.Name, in.Phase.Name, err)
	}
	if in.Phase.Files != nil {
		resources.Files = in.Phase.Files.files(files)
		return resources, nil
	}
	if resources, err = resources.withObjects(in, files); err != nil {
		return nil, err
	}
	return resources.withNodeManager(in, config, checked)
}

// Check makes the same checks as Render, and returns all diagnostics but no pod.
func Check(in Inputs) (*Checked, error) {
	_, _, c, err := prepare(&in, "check")
	if err != nil {
		return nil, err
	}
	checked := &Checked{Cloud: c.cloud, Diagnostics: c.diagnostics, Warnings: c.warnings}
	for _, d := range c.cloud.Diagnostics {
		if d.Kind.IsChange() {
			checked.Changes = append(checked.Changes, located(d, in))
		}
	}
	return checked, nil
}

// prepare returns the platform's pod, merges the configuration and checks every input. On a platform without an image
// in the release, it sets the operand's image from spec.custom. The configuration is nil if it is rejected. An error is
// a defect of the assets, or a platform without anything to do.
func prepare(in *Inputs, do string) (base *corev1.Pod, merged *config, checked *checkedInputs, err error) {
	if !in.Platform.Managed() {
		return nil, nil, nil, fmt.Errorf("platform %q has no cloud-controller-manager to %s", in.Platform.Name, do)
	}
	if base, err = basePod(*in); err != nil {
		return nil, nil, nil, fmt.Errorf("the pod of platform %s in phase %s: %w", in.Platform.Name, in.Phase.Name, err)
	}
	config, rejected := mergeConfig(*in)
	if rejected == nil && config.Custom != nil && config.Custom.Image != "" && in.Platform.Image == "" {
		in.Images.Operand = config.Custom.Image
	}
	checked = check(*in, base, config)
	if rejected != nil {
		key := ""
		if _, _, overrides := mergeAndDecode(in.Overrides); overrides != nil {
			key = "spec.unsupportedConfigOverrides"
		}
		checked.reject(diagnostic.Configuration, configurationSource, key, "%v", rejected)
	}
	return base, config, checked, nil
}

// configurationSource is the object of diagnostics about the operand's configuration as a whole.
const configurationSource = customccm.Object

// mergeConfig merges, in this order: defaults, platform, phase, the platform in this phase, observed configuration,
// overrides, and what the phase pins.
func mergeConfig(in Inputs) (*config, error) {
	layers := [][]byte{
		bindata.MustRead("assets/config/default.yaml"), platformAsset(in.Platform.Name, "config.yaml"), in.Phase.Config,
		platformAsset(in.Platform.Name, in.Phase.Name+"-config.yaml"), in.Config,
	}
	pinned, err := pinnedBy(in, append(layers, in.Overrides))
	if err != nil {
		return nil, err
	}
	merged, decoded, err := mergeAndDecode(append(layers, in.Overrides, pinned)...)
	if err != nil {
		return nil, err
	}
	if err := operandconfig.Required(decoded); err != nil {
		return nil, err
	}
	if decoded.Platform != in.Platform.Name {
		return nil, fmt.Errorf("the configuration is for platform %q, the candidate for %q", decoded.Platform,
			in.Platform.Name)
	}
	decoded.Cluster.Name = decoded.InfrastructureName
	c := &config{Config: decoded, merged: merged, pinned: pinned}
	if len(in.Overrides) > 0 {
		c.compareWithout(append(layers, pinned))
	}
	return c, nil
}

func mergeAndDecode(layers ...[]byte) ([]byte, *operandconfig.Config, error) {
	merged, err := operandconfig.Merge(layers...)
	if err != nil {
		return nil, nil, err
	}
	decoded, err := operandconfig.DecodeJSON(merged)
	return merged, decoded, err
}

// pinnedBy returns what the phase pins over the layers of a candidate. A platform may pin more in a file. That file
// applies only if the candidate starts the controllers that it names, so that it rejects no other candidate.
func pinnedBy(in Inputs, layers [][]byte) ([]byte, error) {
	onPlatform := platformAsset(in.Platform.Name, in.Phase.Name+"-pinned.yaml")
	if onPlatform == nil {
		return in.Phase.Pinned, nil
	}
	_, candidate, err := mergeAndDecode(layers...)
	if err != nil {
		return nil, err
	}
	pinned, tried, err := mergeAndDecode(in.Phase.Pinned, onPlatform)
	if err != nil {
		return nil, err
	}
	for _, controller := range tried.ExtendedArguments["controllers"] {
		if !starts(candidate.ExtendedArguments["controllers"], controller) {
			return in.Phase.Pinned, nil
		}
	}
	return pinned, nil
}

// aliases are the short names of controllers that a platform's preflight starts (k8s.io/cloud-provider/names).
var aliases = map[string]string{"cloud-node-controller": "cloud-node", "service-lb-controller": "service"}

// starts reports whether the flag --controllers starts a controller. Without a value, it starts all controllers.
func starts(flag []string, controller string) bool {
	isNamed := func(prefix string) bool {
		return slices.Contains(flag, prefix+controller) || slices.Contains(flag, prefix+aliases[controller])
	}
	return isNamed("") || !isNamed("-") && (len(flag) == 0 || slices.Contains(flag, "*"))
}

// compareWithout records which protected settings the overrides change. It compares decoded values, because the decoder
// ignores the case of field names.
func (c *config) compareWithout(layers [][]byte) {
	below := &operandconfig.Config{}
	if _, decoded, err := mergeAndDecode(layers...); err == nil {
		below = decoded
	}
	c.overridesCustom = !equality.Semantic.DeepEqual(below.Custom, c.Custom)
	former, present := arguments(&config{Config: below}), arguments(c)
	for _, flag := range protectedFlags {
		if !customccm.SameValue(valueOf(flag, former), valueOf(flag, present)) {
			c.overriddenFlags = append(c.overriddenFlags, flag)
		}
	}
}

// protectedFlags are the flags that overrides cannot change. With other values, CCMs that do not know each other would
// act on the same cloud, or a CCM would act on another cluster or with other rights.
var protectedFlags = []string{
	"kubeconfig", "master", "authentication-kubeconfig", "authorization-kubeconfig", "use-service-account-credentials",
	"leader-elect", "leader-elect-resource-lock", "leader-elect-resource-name", "leader-elect-resource-namespace",
}

// valueOf returns the value of a flag in args, in any spelling. An argument with too many dashes, with which the CCM
// exits, is not equal to any value.
func valueOf(flag string, args []string) string {
	isInvalid := func(arg string) bool {
		name, _ := customccm.FlagOf(arg)
		return name == flag && strings.HasPrefix(arg, "---")
	}
	if i := slices.IndexFunc(args, isInvalid); i >= 0 {
		return args[i]
	}
	value, given := customccm.FlagValue(args, flag)
	if !given && flag == "leader-elect-resource-lock" {
		return "leases" // the default in k8s.io/component-base/config
	}
	return value
}

// platformAsset returns an embedded file of a platform, nil if the platform needs none.
func platformAsset(platform, file string) []byte {
	data, _ := bindata.Read("assets/platforms/" + platform + "/" + file)
	return data
}

type checkedInputs struct {
	cloud       clouds.Result
	trust       []byte
	diagnostics []diagnostic.Diagnostic
	warnings    []diagnostic.Diagnostic
}

func (c *checkedInputs) reject(cause diagnostic.Cause, object, key, format string, args ...any) {
	c.diagnostics = append(c.diagnostics, diagnostic.Diagnostic{
		Cause: cause, Object: object, Key: key, Message: fmt.Sprintf(format, args...),
	})
}

// check checks every input strictly and returns all errors and warnings. If config is nil, it was rejected itself, and
// the inputs that depend on it are not checked.
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
		c.checkFlags(in, config)
		c.checkCustom(in, base, config)
	}
	return c
}

func (c *checkedInputs) checkImages(in Inputs, base *corev1.Pod) {
	source := cmp.Or(in.Images.Source, "the release payload")
	switch {
	case in.Images.Operand != "":
	case in.Platform.Image == "":
		c.reject(diagnostic.Image, configurationSource, "spec.custom.image",
			"no release ships a cloud-controller-manager for platform %s; name its image here", in.Platform.Name)
	default:
		c.reject(diagnostic.Image, source, in.Platform.Image,
			"there is no image of the cloud-controller-manager for platform %s; the release must name it", in.Platform.Name)
	}
	if in.Platform.NodeManagerImage != "" && in.Images.NodeManager == "" {
		c.reject(diagnostic.Image, source, in.Platform.NodeManagerImage,
			"there is no image of the cloud-node-manager for platform %s; the release must name it", in.Platform.Name)
	}
	if users := containersWith(base, operatorImage); in.Images.Operator == "" && len(users) > 0 {
		c.reject(diagnostic.Image, source, "cluster-cloud-controller-manager-operator",
			"there is no image of the operator for container %s; the release must name it", strings.Join(users, ", "))
	}
}

func (c *checkedInputs) checkCloudConfig(in Inputs, cluster clouds.Cluster) {
	if in.delivered != nil {
		c.cloud = in.delivered.cloud
		return
	}
	if in.CloudConfig.Diagnostic != "" {
		c.reject(diagnostic.CloudConfig, in.CloudConfig.Source, in.CloudConfig.Key, "%s", in.CloudConfig.Diagnostic)
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
			Config: cloudConfigDir, Credentials: credentialsDir, Tokens: tokensDir, CABundle: cloudCAFile,
			Kubeconfig: kubeconfigFile,
		},
	})
	for _, d := range result.Errors(in.Policy) {
		if in.stands(d) {
			d.Severity = diagnostic.Warning
			c.warnings = append(c.warnings, located(d, in))
			continue
		}
		c.diagnostics = append(c.diagnostics, located(d, in))
	}
	for _, d := range result.Warnings(in.Policy) {
		c.warnings = append(c.warnings, located(d, in))
	}
	if former := in.configured; former != nil {
		result.Config, result.Files, result.Kept = former.cloud.Config, former.cloud.Files, former.cloud.Kept
	}
	c.cloud = result
}

// stands reports whether the accepted cloud configuration contradicts Infrastructure in the same way: such a difference
// may be intended. Other likely mistakes must be corrected with the next change of the file.
func (in Inputs) stands(d diagnostic.Diagnostic) bool {
	isSame := func(former diagnostic.Diagnostic) bool { return former.Kind == d.Kind && former.Message == d.Message }
	return d.Kind == diagnostic.Contradictory && slices.ContainsFunc(in.AcceptedWarnings, isSame)
}

// located returns the diagnostic with the object that the administrator must correct.
func located(d diagnostic.Diagnostic, in Inputs) diagnostic.Diagnostic {
	if d.Cause == diagnostic.Credentials {
		d.Object = in.Credentials.sourceOf(d.Key)
		return d
	}
	if d.Object == "" {
		d.Object, d.Key = in.CloudConfig.Source, cmp.Or(d.Key, in.CloudConfig.Key)
	}
	return d
}

func (c *checkedInputs) hasRejected(d diagnostic.Diagnostic) bool {
	return slices.ContainsFunc(c.diagnostics, func(r diagnostic.Diagnostic) bool {
		return r.Object == d.Object && r.Key == d.Key && r.Line == d.Line
	})
}

func (c *checkedInputs) checkTrust(in Inputs) {
	sources := append([]TrustSource{}, in.Trust...)
	if len(in.CloudConfig.CABundle) > 0 {
		sources = append(sources, TrustSource{Source: in.CloudConfig.Source, Key: cloudCAKey,
			Data: in.CloudConfig.CABundle})
	}
	bundle, diagnostics := mergeTrust(sources)
	c.warnings = append(c.warnings, slices.DeleteFunc(diagnostics, c.hasRejected)...)
	if len(bundle) > customccm.MaxBytes {
		c.reject(diagnostic.TrustedCA, sources[0].Source, sources[0].Key,
			"the trusted CAs have %d bytes in total; the limit is %d; remove some", len(bundle), customccm.MaxBytes)
	}
	c.trust = bundle
}
