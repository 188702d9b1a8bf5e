package adminevents

import (
	"testing"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
)

// counting counts the recorders that are made from it.
type counting struct {
	events.Recorder
	made *[]string
}

func (c counting) ForComponent(name string) events.Recorder {
	*c.made = append(*c.made, name)
	return c.Recorder.ForComponent(name)
}

func TestAComponentHasARecorderFromItsFirstEventForAdministratorsOn(t *testing.T) {
	inner := events.NewInMemoryRecorder("operator", clock.RealClock{})
	var made []string
	recorder := New(counting{inner, &made})
	recorder.WithComponentSuffix("silent")
	component := recorder.WithComponentSuffix("a").WithComponentSuffix("b").WithContext(t.Context())
	component.Eventf("ConfigMapCreated", "Created %s", "a")
	require.Empty(t, made)
	component.Warning("CloudConfigNotices", "a")
	component.Eventf("NodeCurrentRevisionChanged", "to %d", 2)
	require.Equal(t, []string{"operator-a-b"}, made)
	require.Len(t, inner.Events(), 2)
}

func TestAComponentIsNamedAsByLibraryGo(t *testing.T) {
	ref := &corev1.ObjectReference{}
	theirs := events.NewKubeRecorder(fake.NewClientset().CoreV1().Events(""), "operator", ref, clock.RealClock{})
	t.Cleanup(theirs.Shutdown)
	ours := New(theirs)
	require.Equal(t, theirs.ComponentName(), ours.ComponentName())
	for _, of := range []func(events.Recorder) events.Recorder{
		func(r events.Recorder) events.Recorder { return r.WithComponentSuffix("a").WithComponentSuffix("b") },
		func(r events.Recorder) events.Recorder { return r.ForComponent("a").WithComponentSuffix("b") },
		func(r events.Recorder) events.Recorder { return r.WithComponentSuffix("a").ForComponent("b") },
	} {
		require.Equal(t, of(theirs).ComponentName(), of(ours).ComponentName())
	}
}
