package devcluster

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// podHostPrefix is the length of a node's part of the pod range.
const podHostPrefix = 24

// seed creates the CustomResourceDefinitions and the objects of an installed cluster.
func (c *Cluster) seed(ctx context.Context) error {
	fmt.Fprintln(c.progress, "creating the objects of an installed cluster")
	client, err := objects.NewClient(c.config)
	if err != nil {
		return err
	}
	definitions, err := seed.Definitions(ctx, filepath.Join(c.options.Repository, moduleDir))
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := client.Create(ctx, definition); err != nil {
			return err
		}
	}
	for _, definition := range definitions {
		if err := client.AwaitServed(ctx, definition); err != nil {
			return err
		}
	}
	seeds, err := c.seedCluster().Objects()
	if err != nil {
		return err
	}
	for _, object := range seeds {
		if err := client.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) seedCluster() seed.Cluster {
	return seed.Cluster{
		Platform:     c.options.Platform,
		APIServerURL: c.URL(),
		ServiceCIDR:  c.layout.serviceCIDR,
		PodCIDR:      c.layout.podCIDR,
		HostPrefix:   podHostPrefix,
		SingleNode:   c.options.Nodes == 1,
		Version:      Version,
		Example:      c.installation(),
		Now:          now(),
	}
}

// applyPayload applies manifests/ and then delivers the credentials that the payload's CredentialsRequest asks for.
func (c *Cluster) applyPayload(ctx context.Context) error {
	if c.options.WithoutPayload {
		return nil
	}
	if err := c.ApplyRelease(ctx, c.Release()); err != nil {
		return err
	}
	client, err := objects.NewClient(c.config)
	if err != nil {
		return err
	}
	if err := c.override(ctx, client); err != nil {
		return err
	}
	return c.deliverCredentials(ctx, client)
}

// ImageRef returns the local image of a payload tag, such as openstack-cloud-controller-manager.
func ImageRef(tag string) string { return Release{Version: Version}.Image(tag) }
