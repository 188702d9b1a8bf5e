package offline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Request selects the files to check.
type Request struct {
	// Infrastructure is the file with the Infrastructure. If it is empty, Manifests must have the object.
	Infrastructure string
	// CloudConfig is the file with the cloud configuration in a ConfigMap of any name. If it is empty, the cluster's
	// ConfigMap is searched in Manifests.
	CloudConfig string
	// Manifests are files and directories with other objects. Without them, credentials are not checked.
	Manifests []string
	// PayloadVersion is the release whose entry in the FeatureGate is used. If it is empty, the only entry is used.
	PayloadVersion string
	// Occasion is when the cluster gets the configuration. The zero value is Change.
	Occasion Occasion
}

// Occasion is when a cluster gets a configuration. It decides whether a likely mistake is an error.
type Occasion string

const (
	// Change is a change of a cluster's configuration. The operator rejects likely mistakes.
	Change Occasion = "change"
	// Installation is a first installation. Likely mistakes are warnings: there is nothing else to run with.
	Installation Occasion = "installation"
	// Takeover is an upgrade from a release without this operator. Likely mistakes are warnings: the cluster already
	// works with them.
	Takeover Occasion = "takeover"
)

// Occasions are all values of Occasion.
var Occasions = []Occasion{Change, Installation, Takeover}

// policy returns the policy under which the operator checks on this occasion.
func (o Occasion) policy() diagnostic.Policy {
	if o == Installation || o == Takeover {
		return diagnostic.Lenient
	}
	return diagnostic.Strict
}

// Report is the result of Check.
type Report struct {
	// Platform is the name of the platform in the registry.
	Platform string
	// Managed reports whether the platform has a cloud-controller-manager. Otherwise nothing is checked.
	Managed bool
	// Diagnostics are all errors and warnings, sorted by file and line. Those of the cloud configuration's file come
	// first.
	Diagnostics []diagnostic.Diagnostic
	// Changes explain, in the same order, the differences between the inputs and what the cloud-controller-manager
	// gets.
	Changes []diagnostic.Diagnostic
	// Remarks are messages about the check itself: what was not checked and why, and which diagnostics have another
	// severity on another Occasion.
	Remarks []string
	// CloudConfig and Credentials are the checked inputs.
	CloudConfig operand.CloudConfig
	Credentials operand.Credentials
	// Cloud is what the cloud-controller-manager gets. It is set only if there are no errors.
	Cloud clouds.Result
}

// Count returns the number of diagnostics of the severity.
func (r *Report) Count(severity diagnostic.Severity) int {
	count := 0
	for _, d := range r.Diagnostics {
		if d.Severity == severity {
			count++
		}
	}
	return count
}

// Check makes the same check as render and the operator, but a likely typo is an error. It returns an error only if the
// files are unusable.
func Check(request Request) (*Report, error) {
	if request.Infrastructure == "" && len(request.Manifests) == 0 {
		return nil, errors.New("--infra-config-file is required: the Infrastructure determines the platform")
	}
	c, err := Read(Files{Manifests: request.Manifests, Infrastructure: request.Infrastructure})
	if err != nil {
		return nil, err
	}
	given, err := readGiven(request.CloudConfig)
	if err != nil {
		return nil, err
	}
	unknownFields, err := c.UnknownFields()
	if err != nil {
		return nil, err
	}
	observed, config, err := c.observed(request.PayloadVersion)
	if err != nil {
		return nil, err
	}
	p, known := platform.ByName(config.Platform)
	if !known {
		return nil, fmt.Errorf("platform %q is not in the registry", config.Platform)
	}
	k := &check{cluster: c, platform: p, config: config, given: given, places: places{fallback: c.Infrastructure}}
	k.report = &Report{Platform: p.Name, Managed: p.Managed()}
	if given != nil {
		k.places.manifests = append(k.places.manifests, *given)
	}
	k.places.manifests = append(k.places.manifests, c.objects...)
	k.report.Diagnostics = append(k.report.Diagnostics, unknownFields...)
	if c.UnknownPlatform != "" {
		k.add(diagnostic.Error, []diagnostic.Diagnostic{{
			Object: c.Infrastructure.Source(), Key: "status.platformStatus.type", Message: c.UnknownPlatform,
		}})
		return k.report, nil
	}
	if !p.Managed() {
		k.addRemark(nothingToCheck(c.PlatformName, platform.AbsenceOf(&config.Cluster.Status)))
		return k.report, nil
	}
	err = k.run(request, observed)
	for _, message := range c.Ignored() {
		k.addRemark(message)
	}
	return k.report, err
}

// nothingToCheck returns the reason why nothing is checked.
func nothingToCheck(platformName string, reason platform.Absence) string {
	switch reason {
	case platform.NotDeclared:
		return "platform " + platformName + " has a cloud-controller-manager that the administrator runs: " +
			"nothing is checked; to have this operator run it, specify the manifest of cloudcontrollermanager/cluster with " +
			"spec.custom"
	default:
		return "platform " + platformName + " has no cloud-controller-manager: nothing is checked"
	}
}

// readGiven returns the only ConfigMap of a file, nil without a file.
func readGiven(file string) (*Manifest, error) {
	if file == "" {
		return nil, nil
	}
	objects, err := ReadObjects(file)
	var noObject *noObjectError
	if errors.As(err, &noObject) {
		return nil, fmt.Errorf("%w; specify the ConfigMap that has the cloud configuration, not the configuration "+
			"itself", err)
	}
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 || objects[0].GVK.Group != "" || objects[0].GVK.Kind != configMapKind {
		return nil, fmt.Errorf("%s must have exactly one ConfigMap with the cloud configuration, but has %s", file,
			held(objects))
	}
	return &objects[0], nil
}

// observed returns the observed configuration.
func (c *Cluster) observed(payloadVersion string) ([]byte, *operandconfig.Config, error) {
	if payloadVersion == "" {
		version, err := c.onlyVersion()
		if err != nil {
			return nil, nil, err
		}
		payloadVersion = version
	}
	observed, err := c.Observe(payloadVersion)
	if err != nil {
		return nil, nil, err
	}
	config, err := operandconfig.Decode(observed)
	return observed, config, err
}

// onlyVersion returns the version in the FeatureGate if it has exactly one entry.
func (c *Cluster) onlyVersion() (string, error) {
	found := c.objects.find(configv1.GroupName, "FeatureGate", "", operatorclient.Instance)
	if found == nil {
		return "", nil
	}
	gate := &configv1.FeatureGate{}
	if err := found.Decode(gate); err != nil || len(gate.Status.FeatureGates) != 1 {
		return "", err
	}
	return gate.Status.FeatureGates[0].Version, nil
}

// check is the state of one Check.
type check struct {
	cluster  *Cluster
	platform platform.Platform
	config   *operandconfig.Config
	given    *Manifest
	report   *Report
	places   places
}

func (k *check) run(request Request, observed []byte) error {
	if err := operandconfig.Required(k.config); err != nil {
		k.findUnobserved(err)
		return nil
	}
	in := operand.Inputs{Phase: operand.OperatorPhase(), Platform: k.platform, Config: observed,
		Policy: request.Occasion.policy(), First: request.Occasion.policy() == diagnostic.Lenient}
	// The cluster's configuration does not determine the images of the release.
	in.Images = operand.Images{Operand: "in the release", NodeManager: "in the release", Operator: "in the release"}
	if k.platform.Image == "" && len(request.Manifests) > 0 {
		in.Images.Operand = ""
	}
	gathered, err := k.gather(request)
	if err != nil {
		return err
	}
	if in.Overrides, err = k.cluster.overrides(); err != nil {
		return err
	}
	in.CloudConfig, in.Credentials, in.Custom, in.Trust = gathered.CloudConfig, gathered.Credentials, gathered.Custom,
		gathered.Trust
	checked, err := operand.Check(in)
	if err != nil {
		return err
	}
	k.fill(in, checked)
	return nil
}

// findUnobserved adds an error for each missing field of the Infrastructure.
func (k *check) findUnobserved(err error) {
	missing := []error{err}
	if aggregate, is := err.(utilerrors.Aggregate); is { //nolint:errorlint // Only the error itself is a list.
		missing = aggregate.Errors()
	}
	for _, err := range missing {
		k.report.Diagnostics = append(k.report.Diagnostics, k.places.locate(diagnostic.Error, diagnostic.Diagnostic{
			Object: k.cluster.Infrastructure.Source() + ", status", Message: err.Error(),
		}))
	}
}

func (k *check) gather(request Request) (*inputs.Gathered, error) {
	reference := k.config.CloudConfig
	if k.given == nil && reference.Name != "" && len(request.Manifests) == 0 {
		return nil, fmt.Errorf("--cloud-config-file is required: %s names configmap/%s in spec.cloudConfig",
			k.cluster.Infrastructure.Source(), reference.Name)
	}
	gathered, err := k.cluster.Gather(k.config, k.platform)
	if err != nil {
		return nil, err
	}
	k.leaveOutUnknown(request, gathered)
	if k.given != nil {
		gathered.CloudConfig, err = k.cluster.GivenCloudConfig(*k.given, k.config)
	}
	return gathered, err
}

// leaveOutUnknown excludes Secrets from the check if there are no manifests, or if the manifests do not have them: the
// cloud-credential-operator or the administrator may create them later.
func (k *check) leaveOutUnknown(request Request, gathered *inputs.Gathered) {
	unknown := operand.Credentials{Source: "the credentials Secret", Unknown: true}
	names := k.platform.Credentials
	switch {
	case len(request.Manifests) == 0:
		if names.Secret != "" {
			k.addRemark("no Secret was given: credentials are not checked; give the manifests of the Secrets with " +
				"--rendered-manifest-files")
		}
		gathered.Custom, gathered.Credentials = customccm.Secrets{}, unknown
	case names.Secret == "":
		k.leaveOutMissing(&gathered.Custom)
	case gathered.Credentials.Data == nil && !names.Optional:
		k.addRemark(NoneOf(names) + " is among the manifests: credentials are not checked")
		gathered.Credentials = unknown
	}
}

// leaveOutMissing removes the errors for Secrets that are not among the manifests and reports the Secrets as unchecked:
// administrators rarely keep Secrets with the other manifests.
func (k *check) leaveOutMissing(custom *customccm.Secrets) {
	custom.Diagnostics = slices.DeleteFunc(custom.Diagnostics, func(d diagnostic.Diagnostic) bool {
		return d.Key == "" && slices.Contains(custom.Missing, d.Object)
	})
	for _, missing := range custom.Missing {
		k.addRemark("no " + missing + " is among the manifests: it is not checked")
	}
}

func (k *check) addRemark(text string) { k.report.Remarks = append(k.report.Remarks, text) }

// fill adds the results to the report.
func (k *check) fill(in operand.Inputs, checked *operand.Checked) {
	k.report.CloudConfig, k.report.Credentials = in.CloudConfig, in.Credentials
	k.add(diagnostic.Error, checked.Diagnostics)
	k.add(diagnostic.Warning, checked.Warnings)
	k.remarkOnOccasion(in.Policy, checked)
	if isReformatted(in.CloudConfig.Data, checked.Cloud.Config) {
		checked.Changes = append(checked.Changes, diagnostic.Diagnostic{
			Object: in.CloudConfig.Source, Key: in.CloudConfig.Key,
			Message: "the configuration is rewritten: format, comments, whitespace, the case of names and keys " +
				"without a value are not kept",
		})
	}
	for _, d := range checked.Changes {
		k.report.Changes = append(k.report.Changes, k.places.locate(diagnostic.Change, d))
	}
	k.sort(k.report.Diagnostics)
	k.sort(k.report.Changes)
	if k.report.Count(diagnostic.Error) == 0 {
		k.report.Cloud = checked.Cloud
	}
}

// remarkOnOccasion says how many likely mistakes have another severity under the other policy.
func (k *check) remarkOnOccasion(policy diagnostic.Policy, checked *operand.Checked) {
	likely := 0
	for _, d := range slices.Concat(checked.Diagnostics, checked.Warnings) {
		if d.Kind.Severity(diagnostic.Strict) != d.Kind.Severity(diagnostic.Lenient) {
			likely++
		}
	}
	switch {
	case likely == 0:
	case policy == diagnostic.Strict:
		k.addRemark(fmt.Sprintf("%d of the errors would be only warnings with --for=%s or --for=%s", likely, Installation,
			Takeover))
	default:
		k.addRemark(fmt.Sprintf("%d of the warnings would be errors with --for=%s", likely, Change))
	}
}

// isReformatted reports whether single lines, or the whole configuration, differ only in formatting.
func isReformatted(before, after []byte) bool {
	const comments, meaningless = "#;", "\ufeff \t\r\"'"
	bare := func(line string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(meaningless, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, line)
	}
	kept, keptBare := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(string(after), "\n") {
		kept[line], keptBare[bare(line)] = true, true
	}
	for line := range strings.SplitSeq(string(before), "\n") {
		text := bare(line)
		comment := strings.IndexAny(text, comments)
		hasNoValue := strings.HasSuffix(strings.TrimRight(text, ","), ":null")
		if !kept[line] && (hasNoValue || keptBare[text] || comment == 0 || comment > 0 && keptBare[text[:comment]]) {
			return true
		}
	}
	return !bytes.Equal(before, after) && slices.Equal(words(before), words(after))
}

// words returns the names and values in a configuration of any format, sorted.
func words(text []byte) []string {
	found := strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./@%+-", r)
	})
	found = slices.DeleteFunc(found, func(word string) bool { return strings.Trim(word, "-") == "" })
	slices.Sort(found)
	return found
}

// add adds diagnostics to the report.
func (k *check) add(severity diagnostic.Severity, diagnostics []diagnostic.Diagnostic) {
	for _, d := range diagnostics {
		k.report.Diagnostics = append(k.report.Diagnostics, k.places.locate(severity, d))
	}
}

func (k *check) sort(diagnostics []diagnostic.Diagnostic) {
	later := func(d diagnostic.Diagnostic) int {
		if k.given != nil && d.File == k.given.File {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(diagnostics, func(a, b diagnostic.Diagnostic) int {
		return cmp.Or(
			cmp.Compare(later(a), later(b)), strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		)
	})
}

// NoneOf returns the beginning of a message that all Secrets for a platform's credentials are missing. It is empty if
// the platform has no Secret.
func NoneOf(c platform.Credentials) string {
	var names []string
	for _, s := range []Manifest{{Namespace: operand.Namespace, Name: c.Secret},
		{Namespace: inputs.RootSecretNamespace, Name: c.RootSecret}} {
		if s.Name != "" {
			s.GVK = corev1.SchemeGroupVersion.WithKind(secretKind)
			names = append(names, s.String())
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "no " + names[0]
	}
	return "neither " + strings.Join(names, " nor ")
}
