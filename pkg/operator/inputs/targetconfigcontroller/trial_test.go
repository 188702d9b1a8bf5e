package targetconfigcontroller

import (
	"errors"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The tests of pkg/preview show what becomes of rejected inputs.
func TestATrialRendersTheInputs(t *testing.T) {
	gathered := func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error) {
		return &inputs.Gathered{
			CloudConfig: operand.CloudConfig{Source: "configmap/a", Key: "config", Data: []byte(goodConfig)},
			Credentials: operand.Credentials{Source: "secret/b", Data: map[string][]byte{"clouds.yaml": []byte(goodClouds)}},
		}, nil
	}
	trial := Trial{Inputs: gathered, Spec: operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
	}}}
	verdict, err := trial.Run()
	require.NoError(t, err)
	require.True(t, verdict.Managed)
	require.Empty(t, verdict.Errors)
	require.NotNil(t, verdict.Resources)

	trial.Inputs = func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error) {
		return nil, errors.New("no file")
	}
	_, err = trial.Run()
	require.EqualError(t, err, "no file")
	trial.Spec.ObservedConfig.Raw = []byte(`{"platform": "none"}`)
	verdict, err = trial.Run()
	require.NoError(t, err)
	require.Equal(t, &Verdict{}, verdict)
}

func TestATrialKnowsWhatAPreflightHasRejected(t *testing.T) {
	credentials := []byte(goodClouds)
	trial := Trial{
		Inputs: func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error) {
			return &inputs.Gathered{
				CloudConfig: operand.CloudConfig{Source: "configmap/a", Key: "config", Data: []byte(goodConfig)},
				Credentials: operand.Credentials{Source: "secret/b", Data: map[string][]byte{"clouds.yaml": credentials}},
			}, nil
		},
		Spec: operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
		}},
	}
	verdict, err := trial.Run()
	require.NoError(t, err)
	digests, err := verdict.Resources.StartsWith()
	require.NoError(t, err)
	rejection := operand.PreflightRejection{
		Inputs:  operand.StartDigests{diagnostic.Credentials: digests[diagnostic.Credentials]},
		Verdict: operand.PreflightVerdict{Result: operand.Failed, Message: "the cloud rejects them", Node: "m1", Tries: 1, Ended: metav1.NewTime(started)},
	}
	trial.Preflight = operand.PreflightSecret("")
	require.NoError(t, operand.AnnotatePreflight(trial.Preflight, nil, []operand.PreflightRejection{rejection}, nil))
	verdict, err = trial.Run()
	require.NoError(t, err)
	require.Len(t, verdict.Errors, 1)
	require.Equal(t, "secret/b: a cloud-controller-manager with the changed inputs, on node/m1 for 0s at 2026-11-20T12:00:00Z: the "+
		"cloud rejects them; it is tried again at 2026-11-20T12:01:00Z; to use it nevertheless, run: oc annotate --overwrite "+
		"cloudcontrollermanager cluster "+acceptance+"="+rejection.Value(), verdict.Errors[0].String())

	trial.Annotations = map[string]string{acceptance: rejection.Value()}
	verdict, err = trial.Run()
	require.NoError(t, err)
	require.Empty(t, verdict.Errors, "an administrator has accepted them")
	trial.Annotations, credentials = nil, []byte(strings.Replace(goodClouds, "hidden", "other", 1))
	verdict, err = trial.Run()
	require.NoError(t, err)
	require.Empty(t, verdict.Errors, "they are others")
}

func TestWhichRejectionIsTriedAgainAndWhen(t *testing.T) {
	rejection := func(class, credentials string, tries int, revision int32) operand.PreflightRejection {
		return operand.PreflightRejection{Credentials: credentials, Verdict: operand.PreflightVerdict{
			Result: operand.Failed, Class: class, Tries: tries, Revision: revision, Ended: metav1.NewTime(started),
		}}
	}
	crash, again, login, revision := rejection("Crash", "present", 1, 0), rejection("Crash", "present", 2, 0),
		rejection(operand.RejectedLogin, "present", 1, 0), rejection("Crash", "present", 9, 3)
	others := rejection(operand.RejectedLogin, "former", 1, 0)
	for name, tc := range map[string]struct {
		standing []operand.PreflightRejection
		want     operand.PreflightRejection
		pause    time.Duration
	}{
		"one":                                {[]operand.PreflightRejection{crash}, crash, time.Minute},
		"the one that was tried more often":  {[]operand.PreflightRejection{crash, again}, again, time.Minute},
		"also if it is the first":            {[]operand.PreflightRejection{again, crash}, again, time.Minute},
		"the first of two":                   {[]operand.PreflightRejection{crash, login}, crash, 5 * time.Minute},
		"none of a revision if there is one": {[]operand.PreflightRejection{revision, crash}, crash, time.Minute},
		"not a revision":                     {[]operand.PreflightRejection{crash, revision}, crash, time.Minute},
		"a revision, never":                  {[]operand.PreflightRejection{revision}, revision, operand.Never},
		"a login with other credentials":     {[]operand.PreflightRejection{others}, others, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gating{
				controller: &controller{Options: Options{Clock: clocktesting.NewFakeClock(started)}},
				standing:   tc.standing, digests: operand.StartDigests{diagnostic.Credentials: "present"},
			}
			last, pause := g.nextRepeat()
			require.Equal(t, tc.want, last)
			require.Equal(t, tc.pause, pause)
		})
	}
}
