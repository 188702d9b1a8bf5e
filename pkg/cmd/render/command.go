// Package render implements the command that bootkube.sh runs to render the bootstrap node's cloud-controller-manager.
// It has only flags and files. The operator's packages interpret the files: configobservation and operand.
//
// The command reads and checks all inputs before it writes. Equal inputs yield equal bytes. The outputs change only
// once all of them are on the disk.
package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// options are the flags, with the names of the sibling operators' render commands.
type options struct {
	assetOutputDir        string
	configOutputFile      string
	configOverrideFiles   []string
	renderedManifestFiles []string
	payloadVersion        string
	featureGate           string
	infraConfigFile       string
	cloudConfigFile       string
	imageReferences       string
	systemTrustBundle     string

	image           string
	operatorImage   string
	imagePullPolicy string
	namespace       string
	configHostPath  string
	secretsHostPath string

	warnings []string
}

// ignoredFlags are flags of the sibling operators that have no effect here, with the reason.
var ignoredFlags = map[string]string{
	"templates-input-dir":               "the templates are part of this program",
	"manifest-config-file-name":         "the pod is configured by its arguments",
	"manifest-cloud-provider-host-path": "the cloud configuration is delivered among the secrets",
}

// NewCommand returns the render command. It exits the process itself, so that an error is the last line on stderr.
func NewCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Render the cloud-controller-manager of the bootstrap node",
		Long: "Render reads the installer's manifests and writes what the bootstrap node needs to initialize the\n" +
			"cluster's first nodes: a static pod, its files and the early manifests. It uses neither the API nor\n" +
			"the network.",
		Run: func(cmd *cobra.Command, args []string) {
			o.warnIgnored(cmd)
			if len(args) > 0 {
				usage.Fail(cmd, 1, fmt.Errorf("unexpected argument %q: use flags for all inputs", args[0]))
			}
			if err := o.run(cmd.ErrOrStderr()); err != nil {
				usage.Fail(cmd, 1, err)
			}
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		usage.Fail(cmd, 1, usage.FlagError(err))
		return nil
	})
	o.addFlags(cmd)
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.assetOutputDir, "asset-output-dir", "",
		"Directory for bootstrap-manifests/, manifests/, config/ and tls/. Required.")
	fs.StringVar(&o.configOutputFile, "config-output-file", "",
		"File for the operand's merged configuration (default <asset-output-dir>/config/"+operand.Name+"-config.yaml).")
	fs.StringSliceVar(&o.configOverrideFiles, "config-override-files", nil,
		"Partial configurations of the operand, merged over the observed one in the given order.")
	fs.StringSliceVar(&o.renderedManifestFiles, "rendered-manifest-files", nil,
		"Files or directories with the manifests that will be created in the cluster.")
	fs.StringVar(&o.payloadVersion, "payload-version", "",
		"Version of the release, which selects the FeatureGate's entry.")
	fs.StringVar(&o.featureGate, "feature-gate", "",
		"Feature gate without which nothing is written. Default: none is required.")
	fs.StringVar(&o.infraConfigFile, "infra-config-file", "",
		"File with the Infrastructure. Default: the Infrastructure among the rendered manifests.")
	fs.StringVar(&o.cloudConfigFile, "cloud-config-file", "",
		"File with the ConfigMap that cluster-config-operator rendered. If it has no data, the ConfigMap that "+
			"Infrastructure names is used.")
	fs.StringVar(&o.imageReferences, "image-references", "", "File with the release's image-references.")
	fs.StringVar(&o.systemTrustBundle, "system-trust-bundle", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"File with CAs to trust in addition to the cluster's.")

	fs.StringVar(&o.image, "manifest-image", "",
		"Image of the cloud-controller-manager. Default: the image in --image-references.")
	fs.StringVar(&o.operatorImage, "manifest-operator-image", "", "Image of this operator.")
	fs.StringVar(&o.imagePullPolicy, "manifest-image-pull-policy", "IfNotPresent", "Always, IfNotPresent or Never.")
	fs.StringVar(&o.namespace, "manifest-namespace", operand.Namespace, "Namespace of the static pod.")
	fs.StringVar(&o.configHostPath, "manifest-config-host-path", "/etc/kubernetes/bootstrap-configs",
		"Directory on the host with the files of config/.")
	fs.StringVar(&o.secretsHostPath, "manifest-secrets-host-path", "/etc/kubernetes/bootstrap-secrets",
		"Directory on the host with the files of tls/.")

	fs.String("asset-input-dir", "", "Directory with certificates and keys. Not used.")
	for name, reason := range ignoredFlags {
		fs.String(name, "", "Ignored: "+reason+".")
	}
}

func (o *options) warnIgnored(cmd *cobra.Command) {
	for name, reason := range ignoredFlags {
		if cmd.Flags().Changed(name) {
			o.warnings = append(o.warnings, fmt.Sprintf("--%s is ignored: %s", name, reason))
		}
	}
	slices.Sort(o.warnings)
}

func (o *options) validate() error {
	if o.assetOutputDir == "" {
		return errors.New("--asset-output-dir is required: specify the output directory")
	}
	if o.infraConfigFile == "" && len(o.renderedManifestFiles) == 0 {
		return errors.New("--infra-config-file or --rendered-manifest-files is required: specify the file with the " +
			"Infrastructure")
	}
	if o.featureGate != "" && o.payloadVersion == "" {
		return errors.New("--feature-gate requires --payload-version: specify the release whose gates count")
	}
	if policies := []string{"Always", "IfNotPresent", "Never"}; !slices.Contains(policies, o.imagePullPolicy) {
		return fmt.Errorf("--manifest-image-pull-policy is %q: specify Always, IfNotPresent or Never", o.imagePullPolicy)
	}
	for flag, value := range map[string]string{
		"manifest-config-host-path": o.configHostPath, "manifest-secrets-host-path": o.secretsHostPath,
	} {
		if !filepath.IsAbs(value) {
			return fmt.Errorf("--%s is %q: specify an absolute path", flag, value)
		}
	}
	if o.namespace == "" {
		return errors.New("--manifest-namespace is empty: specify a namespace or omit the flag")
	}
	o.configOutputFile = cmp.Or(o.configOutputFile, filepath.Join(o.assetOutputDir, configDir, filePrefix+"config.yaml"))
	return nil
}

func (o *options) run(stderr io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	outputs, err := o.render()
	for _, warning := range o.warnings {
		fmt.Fprintf(stderr, "render: %s\n", printable.Line(warning))
	}
	if err != nil {
		return err
	}
	stale, err := staleOutputs(o.assetOutputDir, outputs)
	if err != nil {
		return err
	}
	return write(outputs, stale)
}
