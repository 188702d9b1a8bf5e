package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// resource is the operator's resource among the manifests, or nil.
func (c *Cluster) resource() *Manifest {
	return c.objects.find(ccmv1.GroupVersion.Group, ccmv1.Kind.Kind, "", operatorclient.Instance)
}

// custom is spec.custom of the operator's resource, nil where no manifest sets it. It is read strictly: no API server
// has dropped yet what it has no field for, and nobody would miss a misspelt argument.
func (c *Cluster) custom() (*ccmv1.CustomCloudControllerManager, error) {
	found := c.resource()
	if found == nil {
		return nil, nil
	}
	var resource struct {
		Spec struct {
			Custom json.RawMessage `json:"custom"`
		} `json:"spec"`
	}
	if err := found.Decode(&resource); err != nil {
		return nil, err
	}
	if text := string(resource.Spec.Custom); text == "" || text == "null" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(resource.Spec.Custom)))
	decoder.DisallowUnknownFields()
	custom := &ccmv1.CustomCloudControllerManager{}
	err := decoder.Decode(custom)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return nil, fmt.Errorf("%s, spec.custom.%s: it cannot be a %s", found.Source(), wrongType.Field, wrongType.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, spec.custom: %s", found.Source(), strings.TrimPrefix(err.Error(), "json: "))
	}
	return custom, nil
}

// Located names the file of the operator's resource in a problem with spec.custom.
func (c *Cluster) Located(p diagnostic.Diagnostic) diagnostic.Diagnostic {
	found := c.resource()
	if found != nil && p.Object == found.String() && (strings.HasPrefix(p.Key, "spec.custom") || strings.HasPrefix(p.Message, "spec.custom")) {
		p.Object = found.Source()
	}
	return p
}
