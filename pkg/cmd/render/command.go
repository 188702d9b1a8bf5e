// Package render is the command that bootkube.sh runs to get the bootstrap node's cloud-controller-manager: flags and
// files only. What the files mean is decided where the operator decides it, in configobservation and operand.
//
// Everything is read and checked before anything is written, the same input gives the same bytes, and a failed run
// leaves the output folder as it was.
package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// options are the flags. Their names are those of the sibling operators' render commands.
type options struct {
	assetOutputDir        string
	configOutputFile      string
	configOverrideFiles   []string
	renderedManifestFiles []string
	payloadVersion        string
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

	// notices are what the flags themselves give rise to.
	notices []string
}

// ignoredFlags are those of the siblings that mean nothing here, and why.
var ignoredFlags = map[string]string{
	"templates-input-dir":               "the templates are part of this program",
	"manifest-config-file-name":         "the pod is configured by its arguments",
	"manifest-cloud-provider-host-path": "the cloud configuration is delivered among the secrets",
}

// NewCommand returns the render command. It exits by itself when it fails: the last line on stderr is then the message,
// whatever the root command makes of errors.
func NewCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Render the cloud-controller-manager of the bootstrap node",
		Long: "Render reads the installer's manifests and writes what the bootstrap node needs to initialise the cluster's first\n" +
			"nodes: a static pod, its files and the manifests that are needed early. It uses neither the API nor the network.",
		Run: func(cmd *cobra.Command, args []string) {
			o.noteIgnored(cmd)
			if len(args) > 0 {
				exit(cmd.ErrOrStderr(), fmt.Errorf("unexpected argument %q: every input is given by a flag", args[0]))
			}
			if err := o.run(cmd.ErrOrStderr()); err != nil {
				exit(cmd.ErrOrStderr(), err)
			}
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		exit(cmd.ErrOrStderr(), err)
		return nil
	})
	o.addFlags(cmd)
	return cmd
}

// exit ends the process with the error on one line: bootkube's failure report keeps the last lines only.
func exit(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, "render: %s\n", printable.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")))
	os.Exit(1)
}

func (o *options) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.assetOutputDir, "asset-output-dir", "",
		"Folder for bootstrap-manifests/, manifests/, config/ and tls/. Required.")
	fs.StringVar(&o.configOutputFile, "config-output-file", "",
		"File for the merged configuration of the operand (default <asset-output-dir>/config/"+operand.Name+"-config.yaml).")
	fs.StringSliceVar(&o.configOverrideFiles, "config-override-files", nil,
		"Sparse configurations of the operand, laid over the observed one in the given order.")
	fs.StringSliceVar(&o.renderedManifestFiles, "rendered-manifest-files", nil,
		"Files or folders with the manifests that will be created in the cluster.")
	fs.StringVar(&o.payloadVersion, "payload-version", "", "Version of the release, whose entry in the FeatureGate counts.")
	fs.StringVar(&o.infraConfigFile, "infra-config-file", "",
		"File with the Infrastructure; without it one of the rendered manifests has to be it.")
	fs.StringVar(&o.cloudConfigFile, "cloud-config-file", "",
		"File with the ConfigMap that cluster-config-operator rendered; without data in it the Infrastructure's own counts.")
	fs.StringVar(&o.imageReferences, "image-references", "", "File with the release's image-references.")
	fs.StringVar(&o.systemTrustBundle, "system-trust-bundle", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"File with the CAs that are trusted besides the cluster's own.")

	fs.StringVar(&o.image, "manifest-image", "", "Image of the cloud-controller-manager; without it the one in --image-references.")
	fs.StringVar(&o.operatorImage, "manifest-operator-image", "", "Image of this operator.")
	fs.StringVar(&o.imagePullPolicy, "manifest-image-pull-policy", "IfNotPresent", "Always, IfNotPresent or Never.")
	fs.StringVar(&o.namespace, "manifest-namespace", operand.Namespace, "Namespace of the static pod.")
	fs.StringVar(&o.configHostPath, "manifest-config-host-path", "/etc/kubernetes/bootstrap-configs",
		"Folder on the host where the files of config/ will be.")
	fs.StringVar(&o.secretsHostPath, "manifest-secrets-host-path", "/etc/kubernetes/bootstrap-secrets",
		"Folder on the host where the files of tls/ will be.")

	fs.String("asset-input-dir", "", "Folder with certificates and keys; nothing in it is needed.")
	for name, reason := range ignoredFlags {
		fs.String(name, "", "Ignored: "+reason+".")
	}
}

// noteIgnored says of every ignored flag that was given why it has no effect.
func (o *options) noteIgnored(cmd *cobra.Command) {
	for name, reason := range ignoredFlags {
		if cmd.Flags().Changed(name) {
			o.notices = append(o.notices, fmt.Sprintf("--%s is ignored: %s", name, reason))
		}
	}
	slices.Sort(o.notices)
}

func (o *options) validate() error {
	if o.assetOutputDir == "" {
		return errors.New("--asset-output-dir is required: give the folder to write to")
	}
	if o.infraConfigFile == "" && len(o.renderedManifestFiles) == 0 {
		return errors.New("--infra-config-file or --rendered-manifest-files is required: the Infrastructure tells the platform")
	}
	if policies := []string{"Always", "IfNotPresent", "Never"}; !slices.Contains(policies, o.imagePullPolicy) {
		return fmt.Errorf("--manifest-image-pull-policy is %q: give Always, IfNotPresent or Never", o.imagePullPolicy)
	}
	for flag, value := range map[string]string{
		"manifest-config-host-path": o.configHostPath, "manifest-secrets-host-path": o.secretsHostPath,
	} {
		if !filepath.IsAbs(value) {
			return fmt.Errorf("--%s is %q: give an absolute path", flag, value)
		}
	}
	if o.namespace == "" {
		return errors.New("--manifest-namespace is empty: give a namespace or leave the flag out")
	}
	if o.configOutputFile == "" {
		o.configOutputFile = filepath.Join(o.assetOutputDir, "config", operand.Name+"-config.yaml")
	}
	return nil
}

// run renders and writes. Remarks go to stderr, one per line.
func (o *options) run(stderr io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	outputs, err := o.render()
	for _, notice := range o.notices {
		fmt.Fprintf(stderr, "render: %s\n", printable.Line(notice))
	}
	if err != nil {
		return err
	}
	stale, err := staleOutputs(o.assetOutputDir, outputs)
	if err != nil {
		return err
	}
	return write(osDisk(), outputs, stale)
}
