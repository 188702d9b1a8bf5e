package configobservation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// set returns a configuration with value at path, or an empty one if there is no value, and tells of a change by an
// event.
func set(recorder events.Recorder, existing map[string]any, value any, path []string) (map[string]any, []error) {
	observed := map[string]any{}
	if value == "" {
		value = nil
	}
	if value != nil {
		if err := unstructured.SetNestedField(observed, value, path...); err != nil {
			return configobserver.Pruned(existing, path), []error{fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)}
		}
	}
	previous, _, err := unstructured.NestedFieldNoCopy(existing, path...)
	switch changed := err != nil || !reflect.DeepEqual(previous, value); {
	case changed && isObject(previous, value):
		recorder.Eventf("ObservedConfigurationChanged", "%s changed", strings.Join(path, "."))
	case changed:
		recorder.Eventf("ObservedConfigurationChanged", "%s changed from %q to %q", strings.Join(path, "."), text(previous), text(value))
	}
	return observed, nil
}

// setList is set for a flag with one value.
func setList(recorder events.Recorder, existing map[string]any, value string, path []string) (map[string]any, []error) {
	if value == "" {
		return set(recorder, existing, nil, path)
	}
	return set(recorder, existing, []any{value}, path)
}

// isArgument reports whether path is a flag of the operand; flags have lists of values.
func isArgument(path []string) bool { return path[0] == operandconfig.ClusterNamePath[0] }

// setObject is set for a pointer to a struct; an empty one is no value. Numbers are those of encoding/json, as in
// existing.
func setObject(recorder events.Recorder, existing map[string]any, object any, path []string) (map[string]any, []error) {
	value := map[string]any{}
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	if err != nil {
		return configobserver.Pruned(existing, path), []error{fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)}
	}
	if len(value) == 0 {
		return set(recorder, existing, nil, path)
	}
	return set(recorder, existing, value, path)
}

// isObject reports whether one of the values is too much for the text of an event.
func isObject(values ...any) bool {
	return slices.ContainsFunc(values, func(value any) bool {
		_, is := value.(map[string]any)
		return is
	})
}

// text is a value of the configuration for people.
func text(value any) string {
	if list, ok := value.([]any); ok {
		value = strings.Trim(fmt.Sprint(list), "[]")
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
