package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/liveview"
)

// sequence returns its answers in order and repeats the last one.
type sequence []func() (liveview.State, error)

func (s *sequence) Read(context.Context) (liveview.State, error) {
	answer := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return answer()
}

func noAnswer() (liveview.State, error) {
	return liveview.State{}, errors.New("nodes: connection refused")
}

func state(available configv1.ConditionStatus, revision int32) func() (liveview.State, error) {
	return func() (liveview.State, error) {
		return liveview.State{
			Latest: 1,
			Nodes:  []liveview.Node{{Name: "master-0", Ready: true, Current: revision}},
			Conditions: []configv1.ClusterOperatorStatusCondition{{Type: configv1.OperatorAvailable,
				Status: available}},
			Waiting: []string{"ns/installer: container installer: ErrImagePull"},
		}, nil
	}
}

func TestTheViewOutlivesAnAPIThatDoesNotAnswerAndEndsWhenNothingIsMissing(t *testing.T) {
	var out bytes.Buffer
	reader := &sequence{noAnswer, state(configv1.ConditionTrue, 1)}
	require.NoError(t, showUntilReady(t.Context(), time.Minute, reader, liveview.NewScreen(&out, nil),
		liveview.Initialized))
	require.Equal(t, "nodes: connection refused\nrevision 1, master-0 at 1, Available=True\n", out.String())
}

func TestAClusterThatIsNotReadyInTimeTellsWhatIsMissing(t *testing.T) {
	var out bytes.Buffer
	reader := &sequence{state(configv1.ConditionFalse, 0)}
	err := showUntilReady(t.Context(), 10*time.Millisecond, reader, liveview.NewScreen(&out, nil), liveview.Initialized)
	require.EqualError(t, err, `not ready after 10ms:
  ClusterOperator cloud-controller-manager is not Available:`+" "+`
  node master-0 is at revision 0, not 1
  ns/installer: container installer: ErrImagePull`)
}

func TestRunNeedsANode(t *testing.T) {
	command := newCommand()
	command.SetArgs([]string{"run", "--nodes=0"})
	require.EqualError(t, command.ExecuteContext(t.Context()), "--nodes=0: the operator needs a node to run on")
}
