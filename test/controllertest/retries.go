package controllertest

import (
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
)

// Pause returns how long a controller may sleep after its sync has failed again and again: half a minute if
// pkg/internal/reconciler built it, the period of its resync if it has one, and otherwise the 1000 seconds of
// library-go's queue.
func Pause(controller factory.Controller) time.Duration {
	built := reflect.Indirect(reflect.ValueOf(controller))
	for built.FieldByName("Controller").IsValid() {
		built = reflect.Indirect(built.FieldByName("Controller").Elem())
	}
	period := built.FieldByName("resyncEvery")
	if later := built.FieldByName("controllerFactory"); later.IsValid() { // Run builds it
		period = later.Elem().FieldByName("resyncInterval")
	}
	if sync := built.FieldByName("sync"); sync.IsValid() && strings.Contains(
		runtime.FuncForPC(sync.Pointer()).Name(), "/pkg/internal/reconciler.Unreported.retriedIn.") {
		return 30 * time.Second
	}
	if resync := time.Duration(period.Int()); resync > 0 {
		return resync
	}
	return 1000 * time.Second
}
