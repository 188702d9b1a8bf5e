package operand

import (
	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/bootstrap"
)

// Phase is the overlay for the place where the static pod runs. A phase is data: Render has no other way to tell
// one from another.
type Phase struct {
	// Name tells the phase in errors and golden files.
	Name string

	// Config is laid over the defaults and the platform's configuration and under the observed one. YAML.
	Config []byte

	// PodPatch is a strategic merge patch over the base pod and the platform's patch. YAML.
	PodPatch []byte

	// FixedArguments are flags that spec.custom has no say in.
	FixedArguments []string

	// Files delivers the revisioned objects as single files; nil where library-go's installer writes folders of
	// objects.
	Files *FileLayout
}

// FileLayout is where single files will be on the node.
type FileLayout struct {
	// SecretsDir and ConfigDir are folders on the host.
	SecretsDir, ConfigDir string
	// Prefix makes the file names unique in folders that are shared with other components.
	Prefix string
}

// OperatorPhase is the phase of the static pods that the operator rolls out.
func OperatorPhase() Phase {
	return Phase{
		Name:     "operator",
		Config:   bindata.MustRead("assets/config/operator.yaml"),
		PodPatch: bindata.MustRead("assets/pod/operator-patch.yaml"),
	}
}

// BootstrapPhase is the phase of the static pod on the bootstrap node. cluster-bootstrap fills both folders before
// any static pod starts and removes the one with secrets at the end.
func BootstrapPhase() Phase {
	return Phase{
		Name:     "bootstrap",
		Config:   bootstrap.Config(),
		PodPatch: bootstrap.PodPatch(),
		// Whoever brings a cloud-controller-manager cannot make it do more on the bootstrap node than initialise nodes.
		FixedArguments: []string{"authentication-skip-lookup", "controllers", "leader-elect"},
		Files: &FileLayout{
			SecretsDir: "/etc/kubernetes/bootstrap-secrets",
			ConfigDir:  "/etc/kubernetes/bootstrap-configs",
			Prefix:     "cloud-controller-manager-",
		},
	}
}
