package operand

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// CustomCredentials returns the credentials that the Secrets of spec.custom deliver.
func CustomCredentials(s customccm.Secrets) Credentials {
	if s.ReadOnce == nil {
		return Credentials{}
	}
	return Credentials{Source: customccm.Object, Data: s.ReadOnce, Sources: s.Sources}
}

// customCCM returns the custom cloud-controller-manager of a candidate. Its Spec is nil if spec.custom is unset.
func customCCM(in Inputs, c *config) customccm.CCM {
	return customccm.CCM{Spec: c.Custom, Fixed: in.Phase.FixedArguments}
}

// checkCustom checks spec.custom and its Secrets. It runs last, because the other inputs determine which files exist.
func (c *checkedInputs) checkCustom(in Inputs, base *corev1.Pod, config *config) {
	c.diagnostics = append(c.diagnostics, in.Custom.Diagnostics...)
	if config.overridesCustom {
		c.diagnostics = append(c.diagnostics, customccm.Overridden(overridden(in, "custom"), in.Platform))
		return
	}
	if config.Custom == nil {
		return
	}
	container := *operandContainer(base)
	container.Args = arguments(config)
	candidate := customccm.Candidate{
		Platform:  in.Platform,
		Container: container,
		Lease:     fmt.Sprintf("lease/%s in %s", Lease, Namespace),
		Paths:     c.paths(in),

		CloudConfig: in.CloudConfig.Data,
		Source: diagnostic.Diagnostic{
			Cause: diagnostic.CloudConfig, Object: in.CloudConfig.Source, Key: in.CloudConfig.Key,
		},
	}
	if in.Identity != nil {
		candidate.ServiceAccount = fmt.Sprintf("serviceaccount/%s in %s", Name, Namespace)
	}
	diagnostics, warnings := customCCM(in, config).Check(candidate)
	c.diagnostics = append(c.diagnostics, diagnostics...)
	c.warnings = append(c.warnings, warnings...)
}

func overridden(in Inputs, field string) string {
	if in.Phase.Files != nil {
		return field // a field of a file in --config-override-files
	}
	return "spec.unsupportedConfigOverrides." + field
}

func (c *checkedInputs) checkFlags(in Inputs, config *config) {
	key := overridden(in, "extendedArguments")
	if len(config.overriddenFlags) > 0 {
		c.reject(diagnostic.Configuration, configurationSource, key, "%s cannot be overridden, because the operator "+
			"relies on it; remove it", strings.Join(config.overriddenFlags, ", "))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(config.ExtendedArguments)) {
		if bare := strings.TrimLeft(name, "-"); bare != name {
			c.reject(diagnostic.Configuration, configurationSource, key, "the operator adds the dashes before the name of a "+
				"flag, and with more of them the cloud-controller-manager would exit: write %q instead of %q", bare, name)
		}
	}
}

func (c *checkedInputs) paths(in Inputs) customccm.Paths {
	paths := customccm.Paths{Roots: []string{resourceDir, certDir}}
	for _, o := range Delivered() {
		if o.Name != FileSyncerTokenSecret {
			dir := path.Dir(deliveredFile{kind: o.Kind, object: o.Name, key: "key"}.path())
			paths.Directories = append(paths.Directories, dir)
		}
	}
	if len(c.diagnostics) == 0 && !in.Credentials.Unknown && len(in.Custom.Missing) == 0 {
		paths.Files = c.filesOnNode(in)
	}
	return paths
}

func (c *checkedInputs) filesOnNode(in Inputs) []string {
	files := []string{kubeconfigFile}
	// Without the server, the kubeconfigs have the wrong content but the right names.
	delivered, err := deliver(in, "", c)
	if err != nil {
		return nil
	}
	for _, f := range delivered {
		if !f.forFileSyncer() {
			files = append(files, f.path())
		}
	}
	for key := range in.Custom.Reloaded {
		files = append(files, deliveredFile{kind: Secret, object: CloudTokensSecret, key: key}.path())
	}
	if in.Phase.Files == nil {
		// The file-syncer writes these.
		for _, f := range []deliveredFile{
			{kind: ConfigMap, object: ClientCAConfigMap, key: "ca-bundle.crt"},
			{kind: ConfigMap, object: RequestHeaderClientCAConfigMap, key: "ca-bundle.crt"},
			{kind: Secret, object: KubeTokenSecret, key: "token"},
			{kind: Secret, object: ServingCertSecret, key: "tls.crt"},
			{kind: Secret, object: ServingCertSecret, key: "tls.key"},
		} {
			files = append(files, f.path())
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
