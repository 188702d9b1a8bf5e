package offline

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

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
		// The other inputs are still checked. No check of theirs depends on the API server's address.
		observed, err = operandconfig.Merge(observed, []byte(`{"apiServerInternalURI":"https://api-int.invalid:6443"}`))
		if err != nil {
			return err
		}
		if k.config, err = operandconfig.DecodeJSON(observed); err != nil || operandconfig.Required(k.config) != nil {
			return err
		}
	}
	if _, err := k.config.APIServer(); err != nil {
		k.findUnobserved(err)
	}
	in := operand.Inputs{Phase: operand.OperatorPhase(), Platform: k.platform, Config: observed,
		Policy: request.Occasion.policy(), First: request.Occasion.policy() == diagnostic.Lenient}
	// The images of the release are not part of the cluster's configuration.
	in.Images = operand.Images{Operand: "in the release", NodeManager: "in the release", Operator: "in the release"}
	if k.platform.Image == "" && len(request.Manifests) > 0 {
		in.Images.Operand = ""
	}
	gathered, err := k.gather(request)
	if err != nil {
		return err
	}
	spec, err := k.cluster.spec()
	if err != nil {
		return err
	}
	in.Overrides = spec.UnsupportedConfigOverrides.Raw
	in.CloudConfig, in.Credentials, in.Custom, in.Trust = gathered.CloudConfig, gathered.Credentials, gathered.Custom,
		gathered.Trust
	checked, err := operand.Check(in)
	if err != nil {
		return err
	}
	k.checkBundles(gathered)
	k.checkCommas(in.CloudConfig, checked.Diagnostics, checked.Warnings)
	err = k.checkObjects(spec)
	k.fill(in, checked)
	return err
}

func (k *check) findUnobserved(err error) {
	missing := []error{err}
	if aggregate, is := err.(utilerrors.Aggregate); is { //nolint:errorlint // Only the error itself is a list.
		missing = aggregate.Errors()
	}
	for _, err := range missing {
		k.add(diagnostic.Error, []diagnostic.Diagnostic{{
			Kind: diagnostic.Invalid, Object: k.cluster.Infrastructure.Source() + ", status", Message: err.Error(),
		}})
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
		k.warnUnnamed()
		gathered.CloudConfig, err = k.cluster.givenCloudConfig(*k.given, k.config)
	}
	return gathered, err
}

// warnUnnamed warns about a given ConfigMap that is neither the one that Infrastructure names nor the generated one. It
// accepts any name without a namespace.
func (k *check) warnUnnamed() {
	named := Manifest{GVK: k.given.GVK, Namespace: operatorclient.UserConfigNamespace, Name: k.config.CloudConfig.Name}
	isNamed := k.given.Namespace == "" || k.given.String() == named.String()
	if named.Name != "" && !isNamed && !k.given.isManagedCloudConfig() {
		k.warnAbout(*k.given, "name", diagnostic.CloudConfig, fmt.Sprintf("%s is not used: spec.cloudConfig of %s names %s; "+
			"correct the name and the namespace", k.given, clouds.Infrastructure, named))
	}
}

func (k *check) warnAbout(m Manifest, field string, cause diagnostic.Cause, message string) {
	at := m.place("metadata", field)
	k.report.Diagnostics = append(k.report.Diagnostics, diagnostic.Diagnostic{
		File: m.File, Line: at.Line, Column: at.Column, Severity: diagnostic.Warning, Object: m.String(),
		Kind: diagnostic.Doubtful, Cause: cause, Message: message,
	})
}

// leaveOutUnknown excludes Secrets from the check if there are no manifests, or if the manifests do not contain them:
// the cloud-credential-operator or the administrator may create them later.
func (k *check) leaveOutUnknown(request Request, gathered *inputs.Gathered) {
	unknown := operand.Credentials{Source: "the credentials Secret", Unknown: true}
	names := k.platform.Credentials
	if request.Occasion == Takeover && names.Optional && names.Request != "" {
		// The predecessor requests no credentials if the instance's identity suffices.
		k.addRemark(fmt.Sprintf("the take-over changes the CCM's identity from that of its instance to secret/%s in %s: "+
			"where credentials are managed manually, create it before the upgrade from the "+
			"release's CredentialsRequest %s (docs/upgrading.md#before)", names.Secret, operand.Namespace, names.Request))
	}
	switch {
	case len(request.Manifests) == 0:
		if names.Secret != "" {
			k.addRemark("no Secret was given: credentials are not checked; give the manifests of the Secrets with " +
				"--rendered-manifest-files")
		}
		gathered.Custom, gathered.Credentials = customccm.Secrets{}, unknown
	case names.Secret == "":
		k.leaveOutMissing(&gathered.Custom)
	case gathered.Credentials.Data == nil:
		var hint string
		for _, secret := range secretsOf(names) {
			hint = cmp.Or(hint, didYouMean(k.cluster.objects, secret, ""))
			k.warnMisplaced(secret)
		}
		k.warnMisnamed(names.Secret)
		if !names.Optional {
			k.addRemark(NoneOf(names) + " is among the manifests: credentials are not checked" + hint)
			gathered.Credentials = unknown
		}
	}
}

// leaveOutMissing replaces the errors about Secrets that are not among the manifests by remarks that they are not
// checked: administrators rarely keep Secrets with the other manifests.
func (k *check) leaveOutMissing(custom *customccm.Secrets) {
	custom.Diagnostics = slices.DeleteFunc(custom.Diagnostics, func(d diagnostic.Diagnostic) bool {
		return d.Key == "" && slices.Contains(custom.Missing, d.Object)
	})
	for _, missing := range custom.Missing {
		k.addRemark("no " + missing + " is among the manifests: it is not checked")
		k.warnMisplaced(missing)
	}
}

// warnMisplaced warns if a file has the missing Secret in another namespace. It is no error: the cluster may have the
// right Secret, and Secrets of other components may have the same name in their own namespaces.
func (k *check) warnMisplaced(missing string) {
	name, namespace, _ := strings.Cut(strings.TrimPrefix(missing, "secret/"), " in ")
	for _, m := range k.cluster.objects {
		if m.GVK != corev1.SchemeGroupVersion.WithKind(secretKind) || m.Name != name || isOfAnother(m.Namespace) {
			continue
		}
		k.warnAbout(m, "namespace", diagnostic.Credentials, fmt.Sprintf("%s is not used: the cloud-controller-manager's is "+
			"in %s; correct the namespace", m, namespace))
	}
}

// warnMisnamed warns about Secrets beside the missing one, which nothing reads.
func (k *check) warnMisnamed(missing string) {
	for _, m := range k.cluster.objects {
		if m.GVK == corev1.SchemeGroupVersion.WithKind(secretKind) && m.Namespace == operand.Namespace && m.Name != missing {
			k.warnAbout(m, "name", diagnostic.Credentials, fmt.Sprintf("%s is not used: the cloud-controller-manager's is "+
				"secret/%s; correct the name", m, missing))
		}
	}
}

// isOfAnother reports whether a namespace belongs to another component of OpenShift.
func isOfAnother(namespace string) bool {
	ours := []string{operatorclient.UserConfigNamespace, operatorclient.OperatorNamespace}
	return strings.HasPrefix(namespace, "openshift-") && !slices.Contains(ours, namespace) &&
		confdoc.Nearest(namespace, []string{operand.Namespace}) == ""
}

func (k *check) addRemark(text string) { k.report.Remarks = append(k.report.Remarks, text) }

func (k *check) fill(in operand.Inputs, checked *operand.Checked) {
	k.report.CloudConfig, k.report.Credentials = in.CloudConfig, in.Credentials
	k.add(diagnostic.Error, checked.Diagnostics)
	k.add(diagnostic.Warning, checked.Warnings)
	k.remarkOnOccasion(in.Policy, checked)
	if len(in.CloudConfig.Data) > 0 && !bytes.Equal(in.CloudConfig.Data, checked.Cloud.Config) {
		checked.Changes = append(checked.Changes, diagnostic.Diagnostic{
			Kind: diagnostic.Adapted, Object: in.CloudConfig.Source, Key: in.CloudConfig.Key,
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

// NoneOf returns the subject of a message that a platform's Secrets are missing. The platform must have one.
func NoneOf(c platform.Credentials) string {
	names := secretsOf(c)
	if len(names) == 1 {
		return "no " + names[0]
	}
	return "neither " + strings.Join(names, " nor ")
}

func secretsOf(c platform.Credentials) []string {
	var names []string
	for _, s := range []Manifest{{Namespace: operand.Namespace, Name: c.Secret},
		{Namespace: inputs.RootSecretNamespace, Name: c.RootSecret}} {
		if s.Name != "" {
			s.GVK = corev1.SchemeGroupVersion.WithKind(secretKind)
			names = append(names, s.String())
		}
	}
	return names
}
