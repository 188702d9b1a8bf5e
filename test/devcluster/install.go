package devcluster

import (
	"context"
	"path/filepath"
)

// Images builds the payload's images and returns the paths of their docker-archives, for a further node.
func (c *Cluster) Images(ctx context.Context) ([]string, error) {
	return c.buildImages(ctx, filepath.Join(c.options.Dir, "images"))
}

// LoadImages loads the payload's images on the nodes of a cluster WithoutPayload, as a registry would deliver them.
func (c *Cluster) LoadImages(ctx context.Context) error {
	images, err := c.Images(ctx)
	if err != nil {
		return err
	}
	c.images = images
	for _, n := range c.Nodes() {
		if err := n.LoadImages(ctx, images...); err != nil {
			return err
		}
	}
	return nil
}

// InstallPayload completes a start WithoutPayload, after LoadImages: it applies the manifests.
func (c *Cluster) InstallPayload(ctx context.Context) error {
	c.options.WithoutPayload = false
	return c.applyPayload(ctx)
}
