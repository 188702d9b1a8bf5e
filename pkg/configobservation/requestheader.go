package configobservation

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// allowedNamesKey is the key of the API server's flag --requestheader-allowed-names, as a list in JSON.
const allowedNamesKey = "requestheader-allowed-names"

// observeRequestHeaderAllowedNames observes which client certificates may name a user in request headers. Those of the
// CA alone would do otherwise, whatever else that CA signs. An empty list allows every name, and the flag is then
// omitted. While the ConfigMap does not exist, which the controller of the client CAs reports, the previous value
// stays.
func observeRequestHeaderAllowedNames(listers Listers, _ map[string]any) (any, error) {
	const namespace, name = operatorclient.KubeSystemNamespace, operatorclient.APIServerAuthentication
	source, err := listers.Authentication.ConfigMaps(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, errUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("reading configmap/%s in %s: %w", name, namespace, err)
	}
	written, exists := source.Data[allowedNamesKey]
	if !exists {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(written), &names); err != nil {
		return nil, fmt.Errorf("configmap/%s in %s, key %s: expected a list of strings in JSON; "+
			"kube-apiserver writes it from its flag --%s", name, namespace, allowedNamesKey, allowedNamesKey)
	}
	value, err := asFlag(names)
	if err != nil {
		return nil, fmt.Errorf("reading configmap/%s in %s, key %s: %w", name, namespace, allowedNamesKey, err)
	}
	return value, nil
}

// asFlag is the value of a flag that github.com/spf13/pflag reads as a slice of strings: one line of comma-separated
// values.
func asFlag(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	var line strings.Builder
	writer := csv.NewWriter(&line)
	if err := writer.Write(values); err != nil {
		return "", fmt.Errorf("writing %q as the value of a flag: %w", values, err)
	}
	writer.Flush()
	return strings.TrimSuffix(line.String(), "\n"), writer.Error()
}
