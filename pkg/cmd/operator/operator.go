// Package operator implements the subcommand that runs the operator: its flags, its environment and the node's files.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/operatorlock"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version"
)

const (
	// component is the name of the operator's Deployment, and the prefix of its lock's name.
	component = "cluster-cloud-controller-manager-operator"

	// startLimit is how long the process waits for the API server before it exits, as in library-go.
	startLimit = 30 * time.Second

	// apiServerURLFile is written by the machine-config-operator on every node.
	apiServerURLFile = "/etc/kubernetes/apiserver-url.env"

	// systemTrustFile is the trust bundle of an image of Red Hat Enterprise Linux.
	systemTrustFile = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
)

// NewCommand returns the subcommand. The Deployment's environment has images, see platform.ImageEnv, and versions.
func NewCommand(ctx context.Context) *cobra.Command {
	options := operator.Options{}
	pod := operatorlock.Pod{Name: os.Getenv("POD_NAME"), UID: types.UID(os.Getenv("POD_UID"))}
	remember(&pod, &options)
	run := func(ctx context.Context, cc *controllercmd.ControllerContext) error {
		return operator.Run(ctx, options, cc)
	}
	start := func(ctx context.Context, cc *controllercmd.ControllerContext) error {
		return operatorlock.Run(ctx, component, pod, cc, run)
	}

	config := controllercmd.NewControllerCommandConfig(component, version.Get(), start, clock.RealClock{})
	config.DisableLeaderElection = true // operatorlock elects
	cmd := config.NewCommandWithContext(ctx)
	cmd.Use = "operator"
	cmd.Short = "Run the operator in the cluster"
	cmd.Args = cobra.NoArgs
	for _, flag := range []struct {
		value       *time.Duration
		name, usage string
	}{
		{&options.TokenLifetime, "token-lifetime", "requested lifetime of the operand's token"},
		{&options.Validity.Signer, "signer-validity", "validity of the signer of the operand's serving certificate"},
		{&options.Validity.Leaf, "serving-cert-validity", "validity of the operand's serving certificate"},
		{&options.UninitializedThreshold, "uninitialized-threshold", "how long a node may stay uninitialized"},
	} {
		cmd.Flags().DurationVar(flag.value, flag.name, 0, flag.usage+", for tests")
		// The flag exists, so there is no error.
		_ = cmd.Flags().MarkHidden(flag.name)
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := useAPIServerURL(apiServerURLFile); err != nil {
			return err
		}
		if err := complete(&options); err != nil {
			return err
		}
		return awaitAPIServer(ctx, cmd.Flag("kubeconfig").Value.String(), startLimit)
	}
	return cmd
}

// remember lets the operator and its lock share what is kept for the next process, in this pod or another one.
func remember(pod *operatorlock.Pod, o *operator.Options) {
	if pod.UID != "" {
		// The Deployment's volume for temporary files lives as long as the pod.
		memory := leadership.NewMemory(filepath.Join(os.TempDir(), "leader-"+string(pod.UID)+".json"))
		pod.Memory, o.LeaderMemory = memory, memory
	}
}

func complete(o *operator.Options) error {
	o.OperatorImage = os.Getenv("OPERATOR_IMAGE")
	o.OperatorVersion = os.Getenv("OPERATOR_IMAGE_VERSION")
	o.OperandVersion = os.Getenv("OPERAND_IMAGE_VERSION")
	for _, required := range []struct{ name, value, meaning string }{
		{"OPERATOR_IMAGE", o.OperatorImage, "operator's image"},
		{"OPERATOR_IMAGE_VERSION", o.OperatorVersion, "release version"},
		{"OPERAND_IMAGE_VERSION", o.OperandVersion, "release version"},
	} {
		if required.value == "" {
			return fmt.Errorf("environment variable %s is not set: set it to the %s in the operator's Deployment",
				required.name, required.meaning)
		}
	}
	o.OperandImages = map[string]string{}
	for _, p := range platform.All() {
		for _, tag := range p.Images() {
			o.OperandImages[tag] = os.Getenv(platform.ImageEnv(tag))
		}
	}
	trust, err := regularfile.Read(systemTrustFile, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the trust bundle of the operator's image: %w", err)
	}
	o.SystemTrust = operand.TrustSource{Source: systemTrustFile + " of the operator's image", Data: trust}
	return nil
}
