// Package eventfilter changes or drops events before a recorder gets them.
package eventfilter

import (
	"context"
	"fmt"

	"github.com/openshift/library-go/pkg/operator/events"
)

// New returns a recorder that records what change returns: the message, and whether the event is recorded.
func New(recorder events.Recorder, change func(reason, message string) (changed string, ok bool)) events.Recorder {
	return filter{recorder, change}
}

type filter struct {
	events.Recorder
	change func(reason, message string) (string, bool)
}

func (f filter) Event(reason, message string) {
	if changed, ok := f.change(reason, message); ok {
		f.Recorder.Event(reason, changed)
	}
}

func (f filter) Eventf(reason, format string, args ...any) {
	f.Event(reason, fmt.Sprintf(format, args...))
}

func (f filter) Warning(reason, message string) {
	if changed, ok := f.change(reason, message); ok {
		f.Recorder.Warning(reason, changed)
	}
}

func (f filter) Warningf(reason, format string, args ...any) {
	f.Warning(reason, fmt.Sprintf(format, args...))
}

func (f filter) ForComponent(name string) events.Recorder {
	return filter{f.Recorder.ForComponent(name), f.change}
}

func (f filter) WithComponentSuffix(suffix string) events.Recorder {
	return filter{f.Recorder.WithComponentSuffix(suffix), f.change}
}

func (f filter) WithContext(ctx context.Context) events.Recorder {
	return filter{f.Recorder.WithContext(ctx), f.change}
}
