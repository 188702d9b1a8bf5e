package configobservation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// reader returns the current value of a field, which is empty if there is none. existing is the previous configuration.
type reader func(listers Listers, existing map[string]any) (value any, err error)

// errUnknown is a reader's error that keeps the previous value and is not reported.
var errUnknown = errors.New("the value is not known")

// observe returns the observer of a field. If read returns an error, the previous value stays.
func observe(path []string, read reader) configobserver.ObserveConfigFunc {
	return func(
		genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any,
	) (map[string]any, []error) {
		value, err := read(genericListers.(Listers), existing)
		if err == nil {
			value, err = normalized(value, path)
		}
		observed := map[string]any{}
		if err == nil && value != nil {
			err = unstructured.SetNestedField(observed, value, path...)
		}
		switch {
		case errors.Is(err, errUnknown):
			return configobserver.Pruned(existing, path), nil
		case err != nil:
			return configobserver.Pruned(existing, path), []error{err}
		}
		recordChange(recorder, existing, value, path)
		return observed, nil
	}
}

// normalized returns a value as encoding/json decodes it, as in the previous configuration. An empty value is nil. The
// value of a flag of the operand becomes a list.
func normalized(value any, path []string) (any, error) {
	var decoded any
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &decoded)
	}
	if err != nil {
		return nil, fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)
	}
	isDecoded := func(empty any) bool { return reflect.DeepEqual(decoded, empty) }
	if slices.ContainsFunc([]any{nil, "", []any{}, map[string]any{}}, isDecoded) {
		return nil, nil
	}
	if path[0] == operandconfig.ClusterNamePath[0] {
		return []any{decoded}, nil
	}
	return decoded, nil
}

// recordChange records an event if the value differs from the previous one.
func recordChange(recorder events.Recorder, existing map[string]any, value any, path []string) {
	previous, _, err := unstructured.NestedFieldNoCopy(existing, path...)
	switch changed := err != nil || !reflect.DeepEqual(previous, value); {
	case changed && isObject(previous, value):
		recorder.Eventf("ObservedConfigurationChanged", "%s changed", strings.Join(path, "."))
	case changed:
		recorder.Eventf("ObservedConfigurationChanged", "%s changed from %q to %q",
			strings.Join(path, "."), text(previous), text(value))
	}
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
