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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Request is what somebody wants to know about, before there is a cluster or beside one.
type Request struct {
	// Infrastructure is a file with the Infrastructure; without it one of Manifests has to be it.
	Infrastructure string
	// CloudConfig is a file with a ConfigMap of any name that holds the cloud configuration; without it the cluster's own is
	// looked for in Manifests.
	CloudConfig string
	// Manifests are files and folders with further objects; without them nothing is known about credentials.
	Manifests []string
	// PayloadVersion is the release whose entry in the FeatureGate counts; without it the only entry does.
	PayloadVersion string
}

// Report is the answer.
type Report struct {
	// Platform is the name of the platform in the registry.
	Platform string
	// Managed tells whether a cloud-controller-manager runs there. Where none does there is nothing to find.
	Managed bool
	// Diagnostics are all errors and warnings, those on the cloud configuration's file first, each file's in the order of its
	// lines.
	Diagnostics []diagnostic.Diagnostic
	// Changes tell, in the same order, what the cloud-controller-manager gets differently and why.
	Changes []diagnostic.Diagnostic
	// Unchecked say what was not checked and why.
	Unchecked []string
	// CloudConfig and Credentials are what was checked.
	CloudConfig operand.CloudConfig
	Credentials operand.Credentials
	// Cloud is what the cloud-controller-manager gets; only when there are no errors.
	Cloud clouds.Result
}

// Count returns how many diagnostics have the severity.
func (r *Report) Count(severity diagnostic.Severity) int {
	count := 0
	for _, f := range r.Diagnostics {
		if f.Severity == severity {
			count++
		}
	}
	return count
}

// Check makes the check that render and the operator make, where a likely typo is an error. It fails only where the files
// cannot be used at all.
func Check(request Request) (*Report, error) {
	if request.Infrastructure == "" && len(request.Manifests) == 0 {
		return nil, errors.New("--infra-config-file is required: the Infrastructure tells the platform")
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
	k := &check{cluster: c, platform: p, config: config, given: given, places: places{otherwise: c.Infrastructure}}
	k.report = &Report{Platform: p.Name, Managed: p.Managed()}
	if given != nil {
		k.places.manifests = append(k.places.manifests, *given)
	}
	k.places.manifests = append(k.places.manifests, c.objects...)
	k.report.Diagnostics = append(k.report.Diagnostics, unknownFields...)
	if c.UnknownPlatform != "" {
		k.find(diagnostic.Error, []diagnostic.Diagnostic{{
			Object: c.Infrastructure.Source(), Key: "status.platformStatus.type", Message: c.UnknownPlatform,
		}})
		return k.report, nil
	}
	if !p.Managed() {
		k.remark(nothingToCheck(c.PlatformName, platform.AbsenceOf(&config.Cluster.Status)))
		return k.report, nil
	}
	return k.report, k.run(request, observed)
}

// nothingToCheck says why there is nothing to check.
func nothingToCheck(platformName string, reason platform.Absence) string {
	switch reason {
	case platform.NotDeclared:
		return "platform " + platformName + " has a cloud-controller-manager that the administrator runs: nothing is checked; to have this operator run it, " +
			"give the manifest of cloudcontrollermanager/cluster with spec.custom"
	default:
		return "platform " + platformName + " has no cloud-controller-manager: nothing is checked"
	}
}

// readGiven reads the one ConfigMap of a file; nil without a file.
func readGiven(file string) (*Manifest, error) {
	if file == "" {
		return nil, nil
	}
	objects, err := ReadObjects(file)
	var noObject *noObjectError
	if errors.As(err, &noObject) {
		return nil, fmt.Errorf("%w; give the ConfigMap that holds the cloud configuration, not the text in it", err)
	}
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 || objects[0].GVK.Group != "" || objects[0].GVK.Kind != configMapKind {
		return nil, fmt.Errorf("%s has to hold exactly one ConfigMap with the cloud configuration, but holds %s", file, held(objects))
	}
	return &objects[0], nil
}

// observed runs the observers.
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

// onlyVersion is the version of the FeatureGate's entry where it has just one.
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

// check is one run.
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
	in := operand.Inputs{Phase: operand.OperatorPhase(), Platform: k.platform, Config: observed, Policy: diagnostic.Strict}
	// Which images a release has is no matter of the cluster's configuration.
	in.Images = operand.Images{Operand: "in the release", NodeManager: "in the release", Operator: "in the release"}
	if k.platform.Image == "" && len(request.Manifests) > 0 {
		in.Images.Operand = ""
	}
	gathered, err := k.gather(request)
	if err != nil {
		return err
	}
	in.CloudConfig, in.Credentials, in.Custom, in.Trust = gathered.CloudConfig, gathered.Credentials, gathered.Custom, gathered.Trust
	checked, err := operand.Check(in)
	if err != nil {
		return err
	}
	k.fill(in, checked)
	return nil
}

// findUnobserved reports what the Infrastructure lacks.
func (k *check) findUnobserved(err error) {
	missing := []error{err}
	if aggregate, is := err.(utilerrors.Aggregate); is { //nolint:errorlint // Only the error itself is a list.
		missing = aggregate.Errors()
	}
	for _, err := range missing {
		k.report.Diagnostics = append(k.report.Diagnostics, k.places.finding(diagnostic.Error, diagnostic.Diagnostic{
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

// leaveOutUnknown is for Secrets of which nobody knows whether there are any: without manifests, and where the manifests
// have none, because the cloud-credential-operator or the administrator may bring them later.
func (k *check) leaveOutUnknown(request Request, gathered *inputs.Gathered) {
	unknown := operand.Credentials{Source: "the credentials Secret", Unknown: true}
	names := k.platform.Credentials
	switch {
	case len(request.Manifests) == 0:
		if names.Secret != "" {
			k.remark("no Secret was given: credentials are not checked; give the manifests of the Secrets with --rendered-manifest-files")
		}
		gathered.Custom, gathered.Credentials = customccm.Secrets{}, unknown
	case names.Secret == "":
		k.leaveOutMissing(&gathered.Custom)
	case gathered.Credentials.Data == nil && !names.Optional:
		k.remark(NoneOf(names) + " is among the manifests: credentials are not checked")
		gathered.Credentials = unknown
	}
}

// leaveOutMissing makes remarks of the problems with Secrets that are not among the manifests: nobody keeps them in one
// place with the rest.
func (k *check) leaveOutMissing(custom *customccm.Secrets) {
	custom.Diagnostics = slices.DeleteFunc(custom.Diagnostics, func(p diagnostic.Diagnostic) bool {
		return p.Key == "" && slices.Contains(custom.Missing, p.Object)
	})
	for _, missing := range custom.Missing {
		k.remark("no " + missing + " is among the manifests: it is not checked")
	}
}

func (k *check) remark(text string) { k.report.Unchecked = append(k.report.Unchecked, text) }

// fill puts what was found at its places.
func (k *check) fill(in operand.Inputs, checked *operand.Checked) {
	k.report.CloudConfig, k.report.Credentials = in.CloudConfig, in.Credentials
	k.find(diagnostic.Error, checked.Diagnostics)
	k.find(diagnostic.Warning, checked.Warnings)
	if isWrittenAnew(in.CloudConfig.Data, checked.Cloud.Config) {
		checked.Changes = append(checked.Changes, diagnostic.Diagnostic{
			Object: in.CloudConfig.Source, Key: in.CloudConfig.Key,
			Message: "the text is written anew: its format, comments, blanks, the case of names and keys without a value are not kept",
		})
	}
	for _, p := range checked.Changes {
		k.report.Changes = append(k.report.Changes, k.places.finding(diagnostic.Change, p))
	}
	k.sort(k.report.Diagnostics)
	k.sort(k.report.Changes)
	if k.report.Count(diagnostic.Error) == 0 {
		k.report.Cloud = checked.Cloud
	}
}

// isWrittenAnew tells whether lines differ in nothing that has a meaning, or the whole text does.
func isWrittenAnew(before, after []byte) bool {
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

// words are the names and values of a text in whichever format, in no order.
func words(text []byte) []string {
	found := strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./@%+-", r)
	})
	found = slices.DeleteFunc(found, func(word string) bool { return strings.Trim(word, "-") == "" })
	slices.Sort(found)
	return found
}

// find adds findings for problems.
func (k *check) find(severity diagnostic.Severity, problems []diagnostic.Diagnostic) {
	for _, p := range problems {
		k.report.Diagnostics = append(k.report.Diagnostics, k.places.finding(severity, p))
	}
}

func (k *check) sort(findings []diagnostic.Diagnostic) {
	later := func(f diagnostic.Diagnostic) int {
		if k.given != nil && f.File == k.given.File {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(findings, func(a, b diagnostic.Diagnostic) int {
		return cmp.Or(
			cmp.Compare(later(a), later(b)), strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		)
	})
}

// NoneOf names the Secrets that may hold a platform's credentials, as the beginning of a sentence that says that none does;
// it is empty where the platform has no Secret.
func NoneOf(c platform.Credentials) string {
	var names []string
	for _, s := range []Manifest{{Namespace: operand.Namespace, Name: c.Secret}, {Namespace: inputs.RootSecretNamespace, Name: c.RootSecret}} {
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
