package targetconfigcontroller

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// newer is a key that a newer cloud-controller-manager knows, close to one that ours does.
const newer = "[Global]\nregion = RegionOne\n[LoadBalancer]\nmax-shared-lbs = 3\n"

// withoutCommand removes how to accept what a check rejects.
func withoutCommand(conditions []string) []string {
	command := regexp.MustCompile(`(; |\n)to (let a preflight judge it|use it although nothing proves it), run: oc annotate ` +
		`--overwrite cloudcontrollermanager cluster ` + regexp.QuoteMeta(acceptance) + `=[0-9a-f]{12}(-unproved)?$`)
	var texts []string
	for _, condition := range conditions {
		texts = append(texts, command.ReplaceAllString(condition, ""))
	}
	return texts
}

func (f *fixture) isNewer(t *testing.T) bool {
	t.Helper()
	return strings.Contains(f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "max-shared-lbs")
}

func TestAnAdministratorMayLetAPreflightJudgeWhatACheckRejects(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": newer}))
	f.rotate(t, "second")
	f.sees(t)
	require.Contains(t, f.tried(t), "second", "the rotation beside it is not held up")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	require.Contains(t, f.trueConditions(t)[0], "; to let a preflight judge it, run: oc annotate --overwrite "+
		"cloudcontrollermanager cluster "+acceptance+"=")

	checked := f.valueToAccept(t)
	f.accept(checked)
	f.sees(t)
	require.False(t, f.isNewer(t), "a preflight judges it")
	require.Contains(t, f.tried(t), "max-shared-lbs")
	f.conclude(t, trial.Failed, 1)
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t)[:1])
	second := f.valueToAccept(t)
	require.NotEqual(t, checked, second, "what has failed needs another word")
	require.Contains(t, f.trueConditions(t)[0], "="+checked+","+second)
	f.accept(checked + "," + second)
	f.sees(t)
	require.True(t, f.isNewer(t))

	// It is what was accepted now.
	f.accept("")
	f.sees(t)
	require.True(t, f.isNewer(t))
	require.Equal(t, []string{"CloudConfigNotices"}, f.degraded(t))
}

func TestWhatAnAdministratorHasAcceptedFitsNoOtherMistake(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": newer}))
	f.sees(t)
	f.accept(f.valueToAccept(t))
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": newer + "use-octavias = true\n"}))
	f.sees(t)
	require.False(t, f.isNewer(t))
	require.Nil(t, f.submitted(t))
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
}

func TestWhatTheCloudControllerManagerRejectsCannotBeAccepted(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": "[Global\n"}))
	f.sees(t)
	require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	require.NotContains(t, f.trueConditions(t)[0], acceptance)
}

func TestAContradictionOfTheCredentialsMayBeAccepted(t *testing.T) {
	f := newWorking(t)
	f.inRegion(t, "third", "RegionTwo")
	f.sees(t)
	require.Equal(t, []string{"CredentialsDegraded"}, f.degraded(t))
	f.accept(f.valueToAccept(t))
	f.sees(t)
	require.Contains(t, f.tried(t), "RegionTwo")
	require.NotContains(t, f.password(t), "third")
	f.inRegion(t, "fourth", "RegionTwo")
	f.sees(t)
	require.Equal(t, []string{"CredentialsDegraded"}, f.degraded(t), "it fits only these credentials")
}

func TestWhatAnAdministratorHasAcceptedLetsNoLaterChangePass(t *testing.T) {
	for _, result := range []trial.Result{trial.Failed, trial.Inconclusive} {
		t.Run(string(result), func(t *testing.T) {
			f := newWorking(t)
			f.change(t)
			value := f.waitsToAccept(t)
			f.conclude(t, result, 1)
			f.accept(value)
			f.sees(t)
			f.sees(t)
			require.Equal(t, changed, f.balancers(t))

			f.rotate(t, "wrong")
			f.sees(t)
			require.NotContains(t, f.password(t), "wrong", "only the cloud configuration was accepted")
			require.Contains(t, f.tried(t), "wrong")
		})
	}
}
