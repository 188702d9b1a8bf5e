package devcluster

import (
	"context"
	"path/filepath"
)

// Images builds the payload's images and returns the paths of their docker-archives, for a further node.
func (c *Cluster) Images(ctx context.Context) ([]string, error) {
	return Images(ctx, c.options, filepath.Join(c.options.Dir, "images"))
}

// InstallPayload completes a start WithoutPayload: it loads the images on the nodes and applies the manifests.
func (c *Cluster) InstallPayload(ctx context.Context) error {
	images, err := c.Images(ctx)
	if err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := n.LoadImages(ctx, images...); err != nil {
			return err
		}
	}
	c.options.WithoutPayload = false
	return c.applyPayload(ctx)
}
