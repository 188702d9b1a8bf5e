// Package eventfilter changes or drops events before a recorder gets them.
package eventfilter

import (
	"context"
	"fmt"

	"github.com/openshift/library-go/pkg/operator/events"
)

// Recorder records what Change returns.
type Recorder struct {
	events.Recorder
	// Change returns the message to record, and whether the event is recorded.
	Change func(reason, message string) (changed string, ok bool)
}

// Event implements events.Recorder, like the methods below.
func (r Recorder) Event(reason, message string) {
	if changed, ok := r.Change(reason, message); ok {
		r.Recorder.Event(reason, changed)
	}
}

func (r Recorder) Eventf(reason, format string, args ...any) {
	r.Event(reason, fmt.Sprintf(format, args...))
}

func (r Recorder) Warning(reason, message string) {
	if changed, ok := r.Change(reason, message); ok {
		r.Recorder.Warning(reason, changed)
	}
}

func (r Recorder) Warningf(reason, format string, args ...any) {
	r.Warning(reason, fmt.Sprintf(format, args...))
}

func (r Recorder) ForComponent(name string) events.Recorder {
	return Recorder{r.Recorder.ForComponent(name), r.Change}
}

func (r Recorder) WithComponentSuffix(suffix string) events.Recorder {
	return Recorder{r.Recorder.WithComponentSuffix(suffix), r.Change}
}

func (r Recorder) WithContext(ctx context.Context) events.Recorder {
	return Recorder{r.Recorder.WithContext(ctx), r.Change}
}
