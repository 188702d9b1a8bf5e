// Package eventfilter changes or drops events before they reach a recorder.
package eventfilter

import (
	"context"
	"fmt"
	"sync"

	"github.com/openshift/library-go/pkg/operator/events"
)

// New returns a recorder for which change returns the message to record, and whether to record the event. It creates
// the recorder of a component with its first event: each has three goroutines and 96 KiB of queues, most controllers
// have two, and few ever record an event.
func New(recorder events.Recorder, change func(reason, message string) (changed string, ok bool)) events.Recorder {
	return filter{recorder, recorder.ComponentName(), func() events.Recorder { return recorder }, change}
}

// filter derives the recorder of a component from the root, because the parent may never need its own recorder.
type filter struct {
	root   events.Recorder
	name   string
	get    func() events.Recorder
	change func(reason, message string) (string, bool)
}

func (f filter) Event(reason, message string) {
	if changed, ok := f.change(reason, message); ok {
		f.get().Event(reason, changed)
	}
}

func (f filter) Eventf(reason, format string, args ...any) {
	f.Event(reason, fmt.Sprintf(format, args...))
}

func (f filter) Warning(reason, message string) {
	if changed, ok := f.change(reason, message); ok {
		f.get().Warning(reason, changed)
	}
}

func (f filter) Warningf(reason, format string, args ...any) {
	f.Warning(reason, fmt.Sprintf(format, args...))
}

func (f filter) ForComponent(name string) events.Recorder {
	f.name, f.get = name, sync.OnceValue(func() events.Recorder { return f.root.ForComponent(name) })
	return f
}

func (f filter) WithComponentSuffix(suffix string) events.Recorder {
	return f.ForComponent(f.name + "-" + suffix)
}

func (f filter) WithContext(ctx context.Context) events.Recorder {
	get := f.get
	f.get = func() events.Recorder { return get().WithContext(ctx) }
	return f
}

func (f filter) ComponentName() string { return f.name }

// Shutdown sends the queued events. controllercmd calls it on the root only.
func (f filter) Shutdown() { f.get().Shutdown() }
