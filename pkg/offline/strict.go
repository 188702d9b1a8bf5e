package offline

import (
	"encoding/json"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// dropMisspelt drops what spec.custom has no field for, as the API server would, and returns a problem for each. With them
// observing would fail, and nothing else would be found.
func (c *Cluster) dropMisspelt() ([]diagnostic.Diagnostic, error) {
	found := c.resource()
	if found == nil {
		return nil, nil
	}
	resource := &ccmv1.CloudControllerManager{}
	strict, err := kjson.UnmarshalStrict(found.json, resource, kjson.DisallowUnknownFields)
	if err != nil {
		// To say what is wrong is for those who observe.
		return nil, nil //nolint:nilerr // Said above.
	}
	var problems []diagnostic.Diagnostic
	for _, mistake := range strict {
		// As in: unknown field "spec.custom.secrets[0].nam".
		_, field, _ := strings.Cut(mistake.Error(), `"`)
		field = strings.TrimSuffix(field, `"`)
		if !strings.HasPrefix(field, "spec.custom.") {
			continue
		}
		problems = append(problems, diagnostic.Diagnostic{
			Object: found.Source(), Key: field,
			Message: fmt.Sprintf("there is no field %s: correct its name or remove it", field[strings.LastIndex(field, ".")+1:]),
		})
	}
	if len(problems) == 0 {
		return nil, nil
	}
	if found.json, err = json.Marshal(resource); err != nil {
		return nil, fmt.Errorf("%s: %w", found.Source(), err)
	}
	return problems, nil
}
