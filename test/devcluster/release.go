package devcluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/payload"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/dockerfile"
)

// Release is a release of the payload.
type Release struct {
	// Version is its version.
	Version string
	// dir has its sources and manifests, bin the operator's programs.
	dir, bin string
}

// Image returns the local image of a tag of the release.
func (r Release) Image(tag string) string { return "localhost/openshift/" + tag + ":" + r.Version }

// releaseSources are the parts of the repository from which the operator's programs are built.
var releaseSources = []string{"bindata", "bootstrap", "cmd", "manifests", "pkg", "go.mod", "go.sum", dockerfile.Name}

// Release returns the release that InstallPayload applies.
func (c *Cluster) Release() Release {
	return Release{Version: Version, dir: c.options.Repository, bin: c.BinDir()}
}

// NextRelease builds another release and loads its images on the nodes. edit changes a copy of the repository, from
// which the operator is built and whose manifests are applied; the cloud-controller-managers are the same programs in
// images of their own.
func (c *Cluster) NextRelease(ctx context.Context, version string, edit func(dir string) error) (Release, error) {
	dir := filepath.Join(c.options.Dir, "releases", version)
	r := Release{Version: version, dir: dir, bin: filepath.Join(dir, "_output", "bin")}
	for _, name := range releaseSources {
		if err := copyTree(filepath.Join(c.options.Repository, name), filepath.Join(dir, name)); err != nil {
			return r, fmt.Errorf("release %s: %w", version, err)
		}
	}
	if err := edit(dir); err != nil {
		return r, fmt.Errorf("release %s: %w", version, err)
	}
	builder := c.builder()
	builder.Repository, builder.BinDir = r.dir, r.bin
	if err := builder.Local(ctx, operator(version)...); err != nil {
		return r, err
	}
	images, err := c.imagesInto(filepath.Join(dir, "images"), r)
	if err != nil {
		return r, err
	}
	for _, n := range c.Nodes() {
		if err := n.LoadImages(ctx, images...); err != nil {
			return r, err
		}
	}
	return r, nil
}

// ApplyRelease applies the manifests of a release, as the cluster-version-operator does in an upgrade.
func (c *Cluster) ApplyRelease(ctx context.Context, r Release) error {
	fmt.Fprintf(c.progress, "applying the operator's manifests of %s\n", r.Version)
	client, err := objects.NewClient(c.config)
	if err != nil {
		return err
	}
	manifests, err := payload.Read(filepath.Join(r.dir, "manifests"), payload.Release{Version: r.Version, Image: r.Image})
	if err != nil {
		return err
	}
	if len(manifests) == 0 {
		return fmt.Errorf("payload: manifests of %s: %w", r.Version, fs.ErrNotExist)
	}
	return payload.Apply(ctx, client, manifests)
}

// CompleteRelease does what the cluster-version-operator does after ApplyRelease: it waits at the ClusterOperator until
// the operator reports the payload's version and Available, and then deletes the objects with the annotation
// release.openshift.io/delete that follow it.
func (c *Cluster) CompleteRelease(ctx context.Context, r Release) error {
	client, err := objects.NewClient(c.config)
	if err != nil {
		return err
	}
	clusterOperator := &unstructured.Unstructured{}
	clusterOperator.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterOperator"))
	resource, err := client.Resource(clusterOperator)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		reported := &configv1.ClusterOperator{}
		object, err := resource.Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, reported)
		}
		return err == nil && isAt(&reported.Status, r.Version), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for clusteroperator/cloud-controller-manager at %s: %w", r.Version, err)
	}
	manifests, err := payload.Read(filepath.Join(r.dir, "manifests"), payload.Release{Version: r.Version, Image: r.Image})
	if err != nil {
		return err
	}
	return payload.Delete(ctx, client, manifests)
}

func isAt(status *configv1.ClusterOperatorStatus, version string) bool {
	return slices.ContainsFunc(status.Versions, func(v configv1.OperandVersion) bool {
		return v.Name == "operator" && v.Version == version
	}) && slices.ContainsFunc(status.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool {
		return c.Type == configv1.OperatorAvailable && c.Status == configv1.ConditionTrue
	})
}

// copyTree copies a file or a directory.
func copyTree(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// Drift returns what the cluster-version-operator would write at its next sync of the release, although nobody has
// changed what it applied: one line for each object that is in the payload in another form than in the API server.
func (c *Cluster) Drift(ctx context.Context, r Release) ([]string, error) {
	client, err := objects.NewClient(c.config)
	if err != nil {
		return nil, err
	}
	manifests, err := payload.Read(filepath.Join(r.dir, "manifests"), payload.Release{Version: r.Version, Image: r.Image})
	if err != nil {
		return nil, err
	}
	return payload.Drift(ctx, client, manifests)
}
