package offline

import (
	"errors"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Request selects the files to check.
type Request struct {
	// Infrastructure is the file with the Infrastructure. If it is empty, Manifests must contain the object.
	Infrastructure string
	// CloudConfig is the file with the cloud configuration in a ConfigMap of any name. If it is empty, the ConfigMap that
	// the cluster uses is looked up in Manifests.
	CloudConfig string
	// Manifests are files and directories with other objects. Without them, credentials are not checked.
	Manifests []string
	// PayloadVersion selects the FeatureGate's entry. If it is empty, the only entry is used.
	PayloadVersion string
	Occasion       Occasion
}

func (r Request) check() error {
	if r.Infrastructure == "" && len(r.Manifests) == 0 {
		return errors.New("--infra-config-file is required: the Infrastructure determines the platform")
	}
	return r.checkStdin()
}

func (r Request) checkStdin() error {
	files := append([]string{r.Infrastructure, r.CloudConfig}, r.Manifests...)
	if first := slices.Index(files, Stdin); first >= 0 && slices.Contains(files[first+1:], Stdin) {
		return errors.New("- is there several times, but standard input can be read once only: keep one")
	}
	return nil
}

// Occasion is when a cluster gets a configuration. It decides whether a likely mistake is an error. Empty means Change.
type Occasion string

const (
	// Change is a change of a cluster's configuration. The operator rejects likely mistakes.
	Change Occasion = "change"
	// Installation is a first installation. Likely mistakes are warnings: there is no accepted version to fall back to.
	Installation Occasion = "installation"
	// Takeover is an upgrade from a release without this operator. Likely mistakes are warnings, as the cluster works.
	Takeover Occasion = "takeover"
)

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
	// Managed reports whether this operator runs a cloud-controller-manager there. If not, nothing is checked.
	Managed bool
	// Diagnostics are all errors and warnings, sorted by file and line, those of CloudConfig's file first.
	Diagnostics []diagnostic.Diagnostic
	// Changes explain, in the same order, how what the cloud-controller-manager gets differs from the inputs.
	Changes []diagnostic.Diagnostic
	// Remarks are about the check: what was not checked and why, and the diagnostics that depend on the Occasion.
	Remarks     []string
	CloudConfig operand.CloudConfig
	Credentials operand.Credentials
	// Cloud is what the cloud-controller-manager gets. It is empty if there are errors.
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

// Check checks the files as render and the operator do. On the Occasion Change, likely mistakes are errors. It returns
// an error only if the files are unusable.
func Check(request Request) (*Report, error) {
	if err := request.check(); err != nil {
		return nil, err
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
		k.add(c.platformKind.Severity(request.Occasion.policy()), []diagnostic.Diagnostic{{
			Kind: c.platformKind, Object: c.Infrastructure.Source(), Key: "status.platformStatus.type",
			Message: c.UnknownPlatform,
		}})
		return k.report, nil
	}
	if !p.Managed() {
		absence := platform.AbsenceOf(&config.Cluster.Status)
		k.addRemark(nothingToCheck(c.PlatformName, absence))
		return k.report, k.warnWithoutEffect(absence)
	}
	k.add(diagnostic.Typo.Severity(request.Occasion.policy()), c.TLSProfile(request.Occasion))
	err = k.run(request, observed)
	for _, message := range c.Ignored() {
		k.addRemark(message)
	}
	return k.report, err
}

func nothingToCheck(platformName string, reason platform.Absence) string {
	if reason == platform.NotDeclared {
		return "platform " + platformName + " has a cloud-controller-manager that the administrator runs: " +
			"nothing is checked; to have this operator run it, specify the manifest of cloudcontrollermanager/cluster with " +
			"spec.custom"
	}
	return "platform " + platformName + " has no cloud-controller-manager: nothing is checked"
}

// warnWithoutEffect warns about a custom cloud-controller-manager on a cluster that was installed without one.
func (k *check) warnWithoutEffect(absence platform.Absence) error {
	spec, err := k.cluster.spec()
	if err != nil || spec.Custom == nil || absence != platform.NotAsked {
		return err
	}
	k.doubt(k.cluster.Infrastructure.Source(), "status.platformStatus.external.cloudControllerManager.state",
		"it is not External, so spec.custom of cloudcontrollermanager/cluster has no effect; a cluster gets a "+
			"cloud-controller-manager if it is installed with platform.external.cloudControllerManager: External")
	return nil
}

func readGiven(file string) (*Manifest, error) {
	if file == "" {
		return nil, nil
	}
	found, err := onlyObject(file, "one ConfigMap with the cloud configuration", func(m Manifest) bool {
		return m.GVK.Group == "" && m.GVK.Kind == configMapKind
	})
	if errors.Is(err, errNoObject) {
		return nil, fmt.Errorf("%w; specify the ConfigMap that has the cloud configuration, not the configuration "+
			"itself", err)
	}
	return found, err
}

func (c *Cluster) observed(payloadVersion string) ([]byte, *operandconfig.Config, error) {
	if payloadVersion == "" {
		gate := &configv1.FeatureGate{}
		if _, err := c.config("FeatureGate", gate); err != nil {
			return nil, nil, err
		}
		if entries := gate.Status.FeatureGates; len(entries) == 1 {
			payloadVersion = entries[0].Version
		}
	}
	observed, err := c.Observe(payloadVersion)
	if err != nil {
		return nil, nil, err
	}
	config, err := operandconfig.Decode(observed)
	return observed, config, err
}
