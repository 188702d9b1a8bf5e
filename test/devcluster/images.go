package devcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/dockerfile"
)

const operatorTag = "cluster-cloud-controller-manager-operator"

// operatorPrograms are the programs of the operator's image.
var operatorPrograms = []string{operatorTag, "file-syncer", "image-puller"}

// SystemTrust is the path of the system's CA bundle in Debian, which the images have at the path of the product's.
const (
	SystemTrust = "/etc/ssl/certs/ca-certificates.crt"
	imageBundle = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
)

// operator returns the targets of the operator's image, with the tags of the Makefile; the Go command knows whether
// they are up to date.
func operator(version string) []build.Target {
	var targets []build.Target
	for _, name := range operatorPrograms {
		targets = append(targets, build.Target{
			Name:    name,
			Module:  ".",
			Package: "./cmd/" + name,
			Tags:    []string{"grpcnotrace"},
			Variables: []string{"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version.gitVersion=" +
				version},
			Usual: "a minute",
		})
	}
	return targets
}

// BuildOperator builds the operator as its image has it and returns the binary's path. With RACE=1 in the environment
// the binary has the race detector, and another name: it cannot run in the image.
func BuildOperator(ctx context.Context, options Options) (string, error) {
	options, err := options.withDefaults()
	if err != nil {
		return "", err
	}
	c := &Cluster{options: options, progress: newProgress(options.Progress)}
	targets := operator(Version)
	//nolint:forbidigo // Tests have no flags of their own.
	if os.Getenv("RACE") == "1" {
		targets = targets[:1]
		targets[0].Name, targets[0].Race = operatorTag+"-race", true
	}
	return filepath.Join(c.BinDir(), targets[0].Name), c.builder().Local(ctx, targets...)
}

// Images builds the operator and what runs on the platform, as far as it can be built here, and writes one
// docker-archive of each into dir. It returns their paths.
func Images(ctx context.Context, options Options, dir string) ([]string, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, progress: newProgress(options.Progress)}
	return c.buildImages(ctx, dir)
}

func (c *Cluster) buildImages(ctx context.Context, dir string) ([]string, error) {
	builder := c.builder()
	if err := builder.Pinned(ctx, c.operandTargets()...); err != nil {
		return nil, err
	}
	if err := builder.Local(ctx, operator(Version)...); err != nil {
		return nil, err
	}
	return c.imagesInto(dir, c.Release())
}

// writeImages writes the images of the payload into the run's directory.
func (c *Cluster) writeImages() ([]string, error) {
	if c.options.WithoutPayload {
		return nil, nil
	}
	return c.imagesInto(filepath.Join(c.options.Dir, "images"), c.Release())
}

// imagesInto writes the images of a release.
func (c *Cluster) imagesInto(dir string, release Release) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("directory of images: %w", err)
	}
	product, err := dockerfile.Read(filepath.Join(release.dir, dockerfile.Name))
	if err != nil {
		return nil, err
	}
	programs := map[string]map[string]string{operatorTag: {}}
	for _, name := range operatorPrograms {
		programs[operatorTag]["/usr/bin/"+name] = filepath.Join(release.bin, name)
	}
	entrypoints := map[string][]string{operatorTag: product.Entrypoint}
	for tag, target := range c.operands() {
		programs[tag] = c.programFiles(tag, target)
		entrypoints[tag] = []string{target.Path}
	}
	paths := make([]string, 0, len(programs))
	for _, tag := range slices.Sorted(maps.Keys(programs)) {
		files := programs[tag]
		if _, err := os.Stat(SystemTrust); err == nil {
			files[imageBundle] = SystemTrust
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("system CA bundle: %w", err)
		}
		path := filepath.Join(dir, tag+".tar")
		fmt.Fprintf(c.progress, "writing the image %s\n", release.Image(tag))
		if err := node.WriteImage(path, node.ImageSpec{Ref: release.Image(tag), Files: files,
			Entrypoint: entrypoints[tag]}); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
