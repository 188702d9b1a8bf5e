package operand

import (
	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/bootstrap"
)

// Phase is the overlay for the place where the static pod runs. It is data: Render does not check which phase it is.
type Phase struct {
	Name string

	// Config is merged over the defaults and the platform's configuration, and below the observed one. It is YAML.
	Config []byte

	// Pinned is merged over everything, including the administrator's overrides. It is YAML.
	Pinned []byte

	// PodPatch is a strategic merge patch in YAML. It is applied after the platform's patch.
	PodPatch []byte

	// FixedArguments are the names of the flags that spec.custom cannot change.
	FixedArguments []string

	// Files makes Render deliver single files instead of objects. It is nil if the installer writes the files.
	Files *FileLayout
}

// FileLayout defines where single files are: on the host, or in a Secret.
type FileLayout struct {
	// SecretsDir and ConfigDir are directories on the host.
	SecretsDir, ConfigDir string
	// Volume is the volume of a Secret in Namespace with the files under their names, empty for files on the host.
	Volume string
	// Prefix makes the file names unique in directories that other components share.
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

// BootstrapPhase is the phase of the static pod on the bootstrap node. cluster-bootstrap writes both directories before
// any static pod starts, and removes the directory with the secrets at the end.
func BootstrapPhase() Phase {
	return Phase{
		Name:     "bootstrap",
		Config:   bootstrap.Config(),
		PodPatch: bootstrap.PodPatch(),
		// On the bootstrap node, a custom cloud-controller-manager only initializes nodes.
		FixedArguments: []string{"authentication-skip-lookup", "controllers", "leader-elect"},
		Files: &FileLayout{
			SecretsDir: "/etc/kubernetes/bootstrap-secrets",
			ConfigDir:  "/etc/kubernetes/bootstrap-configs",
			Prefix:     "cloud-controller-manager-",
		},
	}
}

// PreflightPhase is the phase of the pod that tries a candidate before it becomes a revision.
func PreflightPhase() Phase {
	return Phase{
		Name:     "preflight",
		Config:   bindata.MustRead("assets/config/operator.yaml"),
		Pinned:   bindata.MustRead("assets/config/preflight.yaml"),
		PodPatch: bindata.MustRead("assets/pod/preflight-patch.yaml"),
		Files:    &FileLayout{Volume: "candidate"},
	}
}
