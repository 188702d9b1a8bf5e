package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// OpenCCM opens the cloud-controller-manager of Options.CCM and compares it with the pod that the operator renders on
// the platform. It returns nil if Options names none.
func OpenCCM(ctx context.Context, options Options) (*ccm.Program, error) {
	options, err := options.withDefaults()
	if err != nil || options.CCM.Empty() {
		return nil, err
	}
	c := &Cluster{options: options, progress: newProgress(options.Progress)}
	err = c.openCCM(ctx)
	return c.given, err
}

// openCCM opens what the user gives instead of the built cloud-controller-manager.
func (c *Cluster) openCCM(ctx context.Context) error {
	if c.options.CCM.Empty() {
		c.sayWhatRuns()
		return nil
	}
	if !c.Managed() {
		return fmt.Errorf("%s: no cloud-controller-manager runs on platform %s: set PLATFORM to the platform of yours",
			ccm.BinaryVariable, c.options.Platform)
	}
	command, args, err := Arguments(c.options.Repository, c.registered())
	if err != nil {
		return err
	}
	program, err := ccm.Open(ctx, c.options.CCM, command, filepath.Join(c.options.Repository, "_output", "ccm"))
	if err != nil {
		return err
	}
	if err := program.Check(ctx, c.registered().Name, args); err != nil {
		return err
	}
	if err := c.openNodeManager(ctx); err != nil {
		return err
	}
	c.given, c.command = program, command
	c.sayWhatRuns()
	return nil
}

// openNodeManager opens what the user gives instead of the built cloud-node-manager, if anything.
func (c *Cluster) openNodeManager(ctx context.Context) error {
	if c.options.CCM.NodeManager == "" {
		return nil
	}
	program, err := ccm.OpenNodeManager(ctx, c.options.CCM)
	if err != nil {
		return err
	}
	rendered, err := renderExample(c.options.Repository, c.registered(), operand.OperatorPhase())
	if err != nil {
		return err
	}
	if rendered.NodeManager == nil {
		return fmt.Errorf("%s: no cloud-node-manager runs on platform %s: unset it", program.Source, c.options.Platform)
	}
	container := rendered.NodeManager.Spec.Template.Spec.Containers[0]
	if err := program.Check(ctx, c.registered().Name, container.Args); err != nil {
		return err
	}
	c.nodeManager = program
	return nil
}

// sayWhatRuns reports what the cluster cannot show.
func (c *Cluster) sayWhatRuns() {
	if c.given != nil {
		fmt.Fprintln(c.progress, "the cloud-controller-manager is", c.given)
	}
	if c.nodeManager != nil {
		fmt.Fprintln(c.progress, "the cloud-node-manager is", c.nodeManager)
	}
	if c.given != nil && c.registered().Name == external {
		fmt.Fprintln(c.progress, "it starts with the arguments of OpenStack's, whose stand-in is the cloud here, so set "+
			"spec.custom of cloudcontrollermanager/cluster to those of yours (docs/external.md)")
	}
	if c.Managed() && c.options.Nodes > 0 && !c.HasOperand() {
		fmt.Fprintf(c.progress, "no cloud-controller-manager runs on %s: its source is in no Go module that can be "+
			"downloaded; set %s to its binary (docs/hacking.md, \"A CCM that is not built here\")\n", c.options.Platform,
			ccm.BinaryVariable)
	}
}

// Arguments returns the path of the cloud-controller-manager in its image, and the arguments that the operator passes
// to it on a cluster with the platform's example, in any phase.
func Arguments(repository string, p platform.Platform) (command string, args []string, err error) {
	for _, phase := range []operand.Phase{operand.OperatorPhase(), operand.BootstrapPhase()} {
		if phase.Files != nil && p.NodeManagerImage != "" {
			continue // the cloud-node-manager runs instead
		}
		rendered, err := renderExample(repository, p, phase)
		if err != nil {
			return "", nil, err
		}
		container := rendered.Pod.Spec.Containers[0]
		if len(container.Command) == 0 {
			return "", nil, fmt.Errorf("platform %s has no command for its cloud-controller-manager", p.Name)
		}
		command = container.Command[0]
		args = append(append(args, container.Command[1:]...), container.Args...)
	}
	return command, args, nil
}

// renderExample returns what the operator renders of the platform's example.
func renderExample(repository string, p platform.Platform, phase operand.Phase) (*operand.Resources, error) {
	in, err := exampleInputs(repository, p, phase)
	if err != nil {
		return nil, err
	}
	rendered, err := operand.Render(in)
	if err != nil {
		return nil, fmt.Errorf("rendering the example of platform %s: %w", p.Name, err)
	}
	return rendered, nil
}

// exampleInputs returns the inputs of a cluster with the platform's example and the feature gates of a development
// cluster.
func exampleInputs(repository string, p platform.Platform, phase operand.Phase) (operand.Inputs, error) {
	examples := filepath.Join(repository, examplesDir)
	example, err := seed.ReadExample(filepath.Join(examples, p.Name))
	if err != nil {
		return operand.Inputs{}, err
	}
	observed, errObserved := os.ReadFile(filepath.Join(examples, p.Name, "observed.yaml"))
	authority, errAuthority := os.ReadFile(filepath.Join(examples, "system-ca.pem"))
	gates, errGates := seed.EnabledGates(Version)
	enabled, errMarshal := yaml.Marshal(map[string]any{"cluster": map[string]any{"featureGates": gates}})
	if err := errors.Join(errObserved, errAuthority, errGates, errMarshal); err != nil {
		return operand.Inputs{}, fmt.Errorf("example of platform %s: %w", p.Name, err)
	}
	if observed, err = operandconfig.Merge(observed, enabled); err != nil {
		return operand.Inputs{}, fmt.Errorf("example of platform %s: %w", p.Name, err)
	}
	in := operand.Inputs{
		Phase: phase, Platform: p, Config: observed, Policy: diagnostic.Strict,
		Images: operand.Images{Operand: "example/operand", NodeManager: "example/node-manager",
			Operator: "example/operator"},
		Credentials: operand.Credentials{Source: "secret/" + p.Credentials.Secret, Data: example.Credentials},
		CloudConfig: operand.CloudConfig{Source: "the example", Key: seed.CloudConfigKey, Keys: map[string][]byte{},
			CABundle: authority},
	}
	for key, value := range example.CloudConfig {
		if key == seed.CloudConfigKey {
			in.CloudConfig.Data = []byte(value)
		} else {
			in.CloudConfig.Keys[key] = []byte(value)
		}
	}
	if phase.Files == nil {
		in.Identity = &operand.Identity{CABundle: authority, FileSyncerToken: []byte("an example")}
	}
	return in, nil
}

// OperandTag returns the tag of the cloud-controller-manager's image: the payload's, or one that is in no release.
func (c *Cluster) OperandTag() string {
	if tag := c.registered().Image; tag != "" {
		return tag
	}
	return c.registered().Name + "-cloud-controller-manager"
}

// OperandPath returns the path of the cloud-controller-manager's program in its image.
func (c *Cluster) OperandPath() string { return c.operands()[c.OperandTag()].Path }

// programFiles returns the files of the image with a tag, whose program the target is.
func (c *Cluster) programFiles(tag string, target build.Target) map[string]string {
	if c.given != nil && tag == c.OperandTag() {
		return c.given.Files(target.Path)
	}
	if c.nodeManager != nil && tag == c.registered().NodeManagerImage {
		return c.nodeManager.Files(target.Path)
	}
	return map[string]string{target.Path: filepath.Join(c.BinDir(), target.Name)}
}

// CCM returns the cloud-controller-manager that the user gave, nil if the built one runs.
func (c *Cluster) CCM() *ccm.Program { return c.given }

// NodeManager returns the cloud-node-manager that the user gave, nil if the built one runs, or none.
func (c *Cluster) NodeManager() *ccm.Program { return c.nodeManager }
