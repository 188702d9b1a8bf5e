package configobservation

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// Confirm returns a function that reports whether spec.observedConfig is what the observers make of the cluster now. It
// is not while the observers have something to correct: after a change of the cluster's configuration, or when
// another client wrote to the field. Nor is it while the observers refuse the platform, because they cannot tell which
// of the two was changed; they report it.
func Confirm(listers Listers) func(*operatorv1.OperatorSpec) (bool, error) {
	return func(spec *operatorv1.OperatorSpec) (bool, error) {
		for _, informer := range listers.Informers {
			if !informer.HasSynced() {
				return false, nil
			}
		}
		existing := map[string]any{}
		if err := json.Unmarshal(spec.ObservedConfig.Raw, &existing); err != nil {
			return false, fmt.Errorf("decoding spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
		}
		if platformRefused(listers, existing) {
			return false, nil
		}
		// An observer that fails keeps the existing value and reports the error itself.
		observed, _ := Observe(listers, silent{}, existing)
		return reflect.DeepEqual(existing, observed), nil
	}
}

func platformRefused(listers Listers, existing map[string]any) bool {
	d, err := decide(listers)
	previous, _, previousErr := unstructured.NestedString(existing, operandconfig.PlatformPath...)
	return err == nil && previousErr == nil && d.isRefused(previous)
}

// silent records nothing: what the observers tell of a change is told once, by the controller that writes it.
type silent struct{}

var _ events.Recorder = silent{}

func (silent) Event(string, string)                          {}
func (silent) Eventf(string, string, ...any)                 {}
func (silent) Warning(string, string)                        {}
func (silent) Warningf(string, string, ...any)               {}
func (s silent) ForComponent(string) events.Recorder         { return s }
func (s silent) WithComponentSuffix(string) events.Recorder  { return s }
func (s silent) WithContext(context.Context) events.Recorder { return s }
func (silent) ComponentName() string                         { return "" }
func (silent) Shutdown()                                     {}
