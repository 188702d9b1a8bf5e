package operand_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// TestThePlatformsAreDocumented generates docs/platforms.md from the registry, the assets and the rendered fixture of
// each platform.
func TestThePlatformsAreDocumented(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(platformsIntroduction)
	for _, p := range managed() {
		fmt.Fprintf(&out, "| [%s](#%s) | %s | %s | %s | %s | %s | %s |\n", p.Name, p.Name,
			strings.Join(infrastructuresOf(t, p), "; "),
			cmp.Or(code(p.Image), "`spec.custom.image`"), configFormat(t, p), credentialsOf(p), tokensOf(t, p),
			cmp.Or(code(p.NodeManagerImage), "–"))
	}
	fmt.Fprintf(&out, "| none | %s | – | – | – | – | – |\n", strings.Join(unmanagedTypes(t), ", "))
	writeConcurrency(t, &out)
	for _, p := range managed() {
		describePlatform(t, &out, p)
	}
	compareGolden(t, "../../docs/platforms.md", out.Bytes())
}

const platformsIntroduction = `<!-- Generated from the registry, the assets and the fixtures by make update-golden. -->
# Platforms

For each platform: which image runs, which configuration and credentials it gets, and what the operator changes in that
configuration. The changes are those of an example, ` + "`pkg/operand/testdata/<platform>`" + `; ` + "`convert --diff`" + ` shows them for yours.
Elsewhere: [the endpoints that each cloud-controller-manager asks](operations.md#endpoints-of-the-clouds), and
[how a platform is added](adding-a-platform.md).

An image is a tag of the release payload. Credentials are a Secret in ` + "`openshift-cloud-controller-manager`" + `. The Secret in
brackets is the root Secret in ` + "`kube-system`" + `: the bootstrap node uses it if the other one does not exist yet.

| platform | Infrastructure | image | cloud configuration | credentials | federated tokens | node manager |
|---|---|---|---|---|---|---|
`

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// infrastructure is an Infrastructure that the API allows, with its special case.
type infrastructure struct {
	label  string
	status configv1.PlatformStatus
	custom *operatorv1.CustomCloudControllerManager
}

func infrastructures() []infrastructure {
	var all []infrastructure
	for _, platformType := range []configv1.PlatformType{
		configv1.AWSPlatformType, configv1.GCPPlatformType, configv1.IBMCloudPlatformType, configv1.PowerVSPlatformType,
		configv1.VSpherePlatformType, configv1.NutanixPlatformType, configv1.OpenStackPlatformType,
		configv1.AlibabaCloudPlatformType,
		configv1.NonePlatformType, configv1.BareMetalPlatformType, configv1.LibvirtPlatformType,
		configv1.OvirtPlatformType,
		configv1.KubevirtPlatformType, configv1.EquinixMetalPlatformType,
	} {
		all = append(all, infrastructure{label: string(platformType),
			status: configv1.PlatformStatus{Type: platformType}})
	}
	azure := func(cloud configv1.AzureCloudEnvironment) configv1.PlatformStatus {
		return configv1.PlatformStatus{Type: configv1.AzurePlatformType,
			Azure: &configv1.AzurePlatformStatus{CloudName: cloud}}
	}
	waiting := configv1.PlatformStatus{Type: configv1.ExternalPlatformType, External: &configv1.ExternalPlatformStatus{
		CloudControllerManager: configv1.CloudControllerManagerStatus{State: configv1.CloudControllerManagerExternal},
	}}
	return append(all,
		infrastructure{label: "Azure", status: azure(configv1.AzurePublicCloud)},
		infrastructure{label: "Azure with the cloud AzureStackCloud", status: azure(configv1.AzureStackCloud)},
		infrastructure{label: "External without a cloud-controller-manager, or without `spec.custom`", status: waiting},
		infrastructure{label: "External with `spec.custom.image`", status: waiting,
			custom: &operatorv1.CustomCloudControllerManager{Image: "image"}},
		infrastructure{label: "External with `spec.custom.platform` DigitalOcean", status: waiting,
			custom: &operatorv1.CustomCloudControllerManager{Platform: operatorv1.CustomCloudControllerManagerPlatformDigitalOcean, Image: "image"}},
		infrastructure{label: "External with `spec.custom.platform` AlibabaCloud", status: waiting,
			custom: &operatorv1.CustomCloudControllerManager{Platform: operatorv1.CustomCloudControllerManagerPlatformAlibabaCloud, Image: "image"}},
		infrastructure{label: "every other type", status: configv1.PlatformStatus{Type: "SomethingNew"}},
	)
}

func infrastructuresOf(t *testing.T, p platform.Platform) []string {
	t.Helper()
	var labels []string
	for _, i := range infrastructures() {
		infrastructure := &configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: &i.status}}
		found, err := platform.Of(infrastructure, i.custom)
		require.NoError(t, err)
		if found.Name == p.Name {
			labels = append(labels, i.label)
		}
	}
	require.NotEmpty(t, labels, "no Infrastructure is on platform %s", p.Name)
	return labels
}

func unmanagedTypes(t *testing.T) []string {
	t.Helper()
	none, _ := platform.ByName(platform.None)
	return infrastructuresOf(t, none)
}

func configFormat(t *testing.T, p platform.Platform) string {
	t.Helper()
	before, after := formatOf(readIfExists(t, p.Name, "cloud.conf")), formatOf(fixture(t, p, "credentials").Config)
	switch {
	case before == "" && after == "":
		return "none"
	case before == after:
		return before
	}
	return cmp.Or(before, "none") + ", made " + after
}

func formatOf(text []byte) string {
	switch text := bytes.TrimSpace(text); {
	case len(text) == 0:
		return ""
	case text[0] == '[':
		return "INI"
	case text[0] == '{':
		return "JSON"
	}
	return "YAML"
}

func credentialsOf(p platform.Platform) string {
	if p.Credentials.Secret == "" {
		if p.Name == "external" {
			return "the Secrets in `spec.custom.secrets`"
		}
		return "the instance's identity"
	}
	text := code(p.Credentials.Secret)
	if p.Credentials.RootSecret != "" {
		text += " (" + code(p.Credentials.RootSecret) + ")"
	}
	if p.Credentials.Optional {
		text += ", or the instance's identity"
	}
	return text
}

// fixture returns the rewritten fixture of the platform, with the credentials in that directory.
func fixture(t *testing.T, p platform.Platform, credentials string) clouds.Result {
	t.Helper()
	in := inputs(t, p, operand.OperatorPhase())
	in.Credentials.Data = readFolder(t, p.Name, credentials)
	observed, err := operandconfig.Decode(in.Config)
	require.NoError(t, err)
	observed.Cluster.Name = observed.InfrastructureName
	result := p.Rewrite(clouds.Source{
		Config: in.CloudConfig.Data, Keys: in.CloudConfig.Keys, Credentials: in.Credentials.Data,
		CABundle: in.CloudConfig.CABundle, Cluster: observed.Cluster,
		Paths: clouds.Paths{
			Config: "cloud-config", Credentials: "cloud-credentials", Tokens: "cloud-tokens",
			CABundle: "cloud-config/ca-bundle.pem", Kubeconfig: "cloud-controller-manager.kubeconfig",
		},
	})
	require.Empty(t, result.Errors(diagnostic.Strict), "%s with %s", p.Name, credentials)
	return result
}

func tokensOf(t *testing.T, p platform.Platform) string {
	t.Helper()
	if readFolder(t, p.Name, "federated") == nil {
		return "–"
	}
	var audiences []string
	for _, token := range fixture(t, p, "federated").Tokens {
		audiences = append(audiences, "for `"+token.Audience+"`")
	}
	require.NotEmpty(t, audiences, "the federated credentials of %s ask for no token", p.Name)
	return strings.Join(audiences, ", ")
}

// describePlatform writes the platform's section.
func describePlatform(t *testing.T, out *bytes.Buffer, p platform.Platform) {
	t.Helper()
	fmt.Fprintf(out, "\n## %s\n\n", p.Name)
	resources, err := operand.Render(inputs(t, p, operand.OperatorPhase()))
	require.NoError(t, err)
	container := resources.Pod.Spec.Containers[0]
	if len(container.Command) > 0 {
		fmt.Fprintf(out, "- runs `%s`\n", strings.Join(container.Command, " "))
	}
	describeFlags(t, out, p)
	if variables := environment(container); variables != "" {
		fmt.Fprintf(out, "- variables: %s\n", variables)
	}
	result := fixture(t, p, "credentials")
	if len(result.Files) > 0 {
		fmt.Fprintf(out, "- files beside `cloud.conf`: %s\n", codes(slices.Sorted(maps.Keys(result.Files))))
	}
	if len(result.Credentials) > 0 {
		fmt.Fprintf(out, "- files of credentials: %s\n", codes(slices.Sorted(maps.Keys(result.Credentials))))
	} else if p.Credentials.Secret != "" {
		out.WriteString("- no files of credentials: they are in `cloud.conf`, or read through the API\n")
	}
	if p.Name == "alibabacloud" {
		out.WriteString("- kubelets have to register with `--provider-id`: " +
			"[which versions need it, and how](operations.md#nodes-on-alibaba-cloud)\n")
	}
	if p.Preflight {
		out.WriteString("- a change is tried first: [what proves it](preflight.md#what-proves-a-change-on-each-platform)\n")
	} else {
		out.WriteString("- a change is not tried: [why](preflight.md#platforms-without-a-preflight)\n")
	}
	var reasons []string
	for _, f := range result.Diagnostics {
		reasons = append(reasons, "  - "+f.Message)
	}
	slices.Sort(reasons)
	if reasons = slices.Compact(reasons); len(reasons) > 0 {
		fmt.Fprintf(out, "- what is rewritten in the example, and why:\n%s\n", strings.Join(reasons, "\n"))
	} else {
		out.WriteString("- nothing is rewritten\n")
	}
}

func describeFlags(t *testing.T, out *bytes.Buffer, p platform.Platform) {
	t.Helper()
	asset, err := bindata.Read("assets/platforms/" + p.Name + "/config.yaml")
	if err != nil {
		return // a platform may do without
	}
	var config operandconfig.Config
	require.NoError(t, yaml.UnmarshalStrict(asset, &config))
	if flags := flagList(config.ExtendedArguments); flags != "" {
		fmt.Fprintf(out, "- flags of its own: %s\n", flags)
	}
	if len(config.WithoutArguments) > 0 {
		fmt.Fprintf(out, "- without the common flags %s\n", codes(config.WithoutArguments))
	}
	if config.CurvePreferences {
		out.WriteString("- serves with the groups of a custom TLS profile: `--tls-curve-preferences`\n")
	}
	for _, gate := range slices.Sorted(maps.Keys(config.GatedArguments)) {
		fmt.Fprintf(out, "- with the feature gate %s: %s\n", gate, flagList(config.GatedArguments[gate]))
	}
}

func flagList(arguments map[string][]string) string {
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		flags = append(flags, "--"+name+"="+strings.Join(arguments[name], ","))
	}
	return codes(flags)
}

func codes(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for _, text := range texts {
		quoted = append(quoted, code(text))
	}
	return strings.Join(quoted, ", ")
}

// environment returns the variables that only some platforms have.
func environment(container corev1.Container) string {
	var names []string
	for _, variable := range container.Env {
		if variable.Name == "SSL_CERT_FILE" || strings.HasSuffix(variable.Name, "_PROXY") {
			continue
		}
		text := variable.Name
		if variable.Value != "" {
			text += "=" + variable.Value
		}
		names = append(names, text)
	}
	return codes(names)
}
