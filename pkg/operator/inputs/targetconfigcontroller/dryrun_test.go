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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// The tests of pkg/preview show what becomes of rejected inputs.
func TestADryRunRendersTheInputs(t *testing.T) {
	gathered := func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error) {
		return &inputs.Gathered{
			CloudConfig: operand.CloudConfig{Source: "configmap/a", Key: "config", Data: []byte(goodConfig)},
			Credentials: operand.Credentials{Source: "secret/b", Data: map[string][]byte{"clouds.yaml": []byte(goodClouds)}},
		}, nil
	}
	dryRun := DryRun{Inputs: gathered, Spec: operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
	}}}
	verdict, err := dryRun.Run()
	require.NoError(t, err)
	require.True(t, verdict.Managed)
	require.Empty(t, verdict.Errors)
	require.NotNil(t, verdict.Resources)

	dryRun.Inputs = func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error) {
		return nil, errors.New("no file")
	}
	_, err = dryRun.Run()
	require.EqualError(t, err, "no file")
	dryRun.Spec.ObservedConfig.Raw = []byte(`{"platform": "none"}`)
	verdict, err = dryRun.Run()
	require.NoError(t, err)
	require.Equal(t, &DryRunResult{}, verdict)
}

func TestADryRunKnowsWhatAPreflightHasRejected(t *testing.T) {
	credentials := []byte(goodClouds)
	dryRun := DryRun{
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
	verdict, err := dryRun.Run()
	require.NoError(t, err)
	digests := verdict.Resources.StartDigests()
	rejection := trial.Rejection{
		Inputs:  operand.StartDigests{diagnostic.Credentials: digests[diagnostic.Credentials]},
		Verdict: trial.Verdict{Result: trial.Failed, Message: "the cloud rejects them", Node: "m1", Tries: 1, Ended: metav1.NewTime(started)},
	}
	dryRun.Preflight, err = (&trial.Record{Rejected: []trial.Rejection{rejection}}).InSecret()
	require.NoError(t, err)
	verdict, err = dryRun.Run()
	require.NoError(t, err)
	require.Len(t, verdict.Errors, 1)
	require.Equal(t, "secret/b: a cloud-controller-manager with the changed inputs, on node/m1 for 0s at 2026-11-20T12:00:00Z: the "+
		"cloud rejects them; it is tried again at 2026-11-20T12:01:00Z; to use it nevertheless, run: oc annotate --overwrite "+
		"cloudcontrollermanager cluster "+acceptance+"="+rejection.Inputs.Value(), verdict.Errors[0].String())

	dryRun.Annotations = map[string]string{acceptance: rejection.Inputs.Value()}
	verdict, err = dryRun.Run()
	require.NoError(t, err)
	require.Empty(t, verdict.Errors, "an administrator has accepted them")
	dryRun.Annotations, credentials = nil, []byte(strings.Replace(goodClouds, "hidden", "other", 1))
	verdict, err = dryRun.Run()
	require.NoError(t, err)
	require.Empty(t, verdict.Errors, "they are others")
}

func TestWhichRejectionIsTriedAgainAndWhen(t *testing.T) {
	rejection := func(class, credentials string, tries int, revision int32) trial.Rejection {
		return trial.Rejection{Credentials: credentials, Verdict: trial.Verdict{
			Result: trial.Failed, Class: class, Tries: tries, Revision: revision, Ended: metav1.NewTime(started),
		}}
	}
	present := loginOf(&candidate{})
	crash, again, login, revision := rejection("Crash", present, 1, 0), rejection("Crash", present, 2, 0),
		rejection(trial.RejectedLogin, present, 1, 0), rejection("Crash", present, 9, 3)
	others := rejection(trial.RejectedLogin, "former", 1, 0)
	for name, tc := range map[string]struct {
		active []trial.Rejection
		want   trial.Rejection
		pause  time.Duration
	}{
		"one":                                {[]trial.Rejection{crash}, crash, time.Minute},
		"the one that was tried more often":  {[]trial.Rejection{crash, again}, again, time.Minute},
		"also if it is the first":            {[]trial.Rejection{again, crash}, again, time.Minute},
		"the first of two":                   {[]trial.Rejection{crash, login}, crash, 5 * time.Minute},
		"none of a revision if there is one": {[]trial.Rejection{revision, crash}, crash, time.Minute},
		"not a revision":                     {[]trial.Rejection{crash, revision}, crash, time.Minute},
		"a revision, never":                  {[]trial.Rejection{revision}, revision, trial.Never},
		"a login with other credentials":     {[]trial.Rejection{others}, others, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gating{
				controller: &controller{Deps: dependencies.Deps{Clock: clocktesting.NewFakeClock(started)}},
				active:     tc.active, full: &candidate{},
			}
			last, pause := g.nextRepeat()
			require.Equal(t, tc.want, last)
			require.Equal(t, tc.pause, pause)
		})
	}
}
