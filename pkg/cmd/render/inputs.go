package render

import (
	"fmt"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

type files struct {
	*offline.Cluster
	images map[string]string
	// overrides is the merged content of --config-override-files.
	overrides []byte
}

func (o *options) readInputs() (*files, error) {
	in := &files{}
	var err error
	in.Cluster, err = offline.Read(offline.Files{
		Manifests: o.renderedManifestFiles, Infrastructure: o.infraConfigFile,
		ManagedCloudConfig: o.cloudConfigFile, SystemTrust: o.systemTrustBundle,
	})
	if err != nil {
		return nil, err
	}
	if in.images, err = readImages(o.imageReferences); err != nil {
		return nil, err
	}
	in.overrides, err = readOverrides(o.configOverrideFiles)
	return in, err
}

func readImages(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	objects, err := offline.ReadObjects(file)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 || objects[0].GVK.Kind != "ImageStream" {
		return nil, fmt.Errorf("%s must have exactly one ImageStream: specify the release's image-references", file)
	}
	var stream struct {
		Spec struct {
			Tags []struct {
				Name string `json:"name"`
				From struct {
					Name string `json:"name"`
				} `json:"from"`
			} `json:"tags"`
		} `json:"spec"`
	}
	if err := objects[0].Decode(&stream); err != nil {
		return nil, err
	}
	images := map[string]string{}
	for _, tag := range stream.Spec.Tags {
		images[tag.Name] = tag.From.Name
	}
	return images, nil
}

// readOverrides checks each file separately, so that an error names the file.
func readOverrides(files []string) ([]byte, error) {
	layers := make([][]byte, 0, len(files))
	for _, file := range files {
		data, err := offline.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if _, err := operandconfig.Decode(data); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := offline.CheckSingle(file, data); err != nil {
			return nil, err
		}
		layers = append(layers, data)
	}
	if len(layers) == 0 {
		return nil, nil
	}
	return operandconfig.Merge(layers...)
}
