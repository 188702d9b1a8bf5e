package adminevents

import (
	"context"
	"sync"

	"github.com/openshift/library-go/pkg/operator/events"
)

// lazy is a component's recorder that does not exist before its first event. Each of library-go's recorders starts a
// broadcaster with three goroutines and queues for 3,000 events, 96 KiB. There are two recorders for most controllers,
// and few of the controllers ever record an event.
type lazy struct {
	root events.Recorder
	name string
	get  func() events.Recorder
}

func newLazy(root events.Recorder) lazy {
	return lazy{root: root, name: root.ComponentName(), get: func() events.Recorder { return root }}
}

func (l lazy) Event(reason, message string)   { l.get().Event(reason, message) }
func (l lazy) Warning(reason, message string) { l.get().Warning(reason, message) }

func (l lazy) Eventf(reason, messageFmt string, args ...any) {
	l.get().Eventf(reason, messageFmt, args...)
}

func (l lazy) Warningf(reason, messageFmt string, args ...any) {
	l.get().Warningf(reason, messageFmt, args...)
}

// ForComponent makes the component's recorder from the root: its parent may never need its own.
func (l lazy) ForComponent(name string) events.Recorder {
	return lazy{root: l.root, name: name, get: sync.OnceValue(func() events.Recorder { return l.root.ForComponent(name) })}
}

// WithComponentSuffix names the component as library-go does.
func (l lazy) WithComponentSuffix(suffix string) events.Recorder {
	return l.ForComponent(l.name + "-" + suffix)
}

func (l lazy) WithContext(ctx context.Context) events.Recorder {
	return lazy{root: l.root, name: l.name, get: func() events.Recorder { return l.get().WithContext(ctx) }}
}

func (l lazy) ComponentName() string { return l.name }

// Shutdown sends the events that wait. controllercmd calls it on the root only.
func (l lazy) Shutdown() { l.get().Shutdown() }
