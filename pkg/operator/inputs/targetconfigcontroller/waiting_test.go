package targetconfigcontroller

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const acceptance = "cloudcontrollermanager.operator.openshift.io/accepted-preflight"

// restart begins another process of the operator.
func (f *fixture) restart() { f.start(f.Options) }

// accept sets the annotation of an administrator.
func (f *fixture) accept(value string) { f.meta.Annotations = map[string]string{acceptance: value} }

// waitsToAccept returns the value with which an administrator accepts what is tried.
func (f *fixture) waitsToAccept(t *testing.T) string {
	t.Helper()
	return trial.Of(f.submitted(t)).Inputs.Value()
}

// waits lets a time pass in steps of the controller's own timer.
func (f *fixture) waits(t *testing.T, d time.Duration) {
	t.Helper()
	for end := f.clock.Now().Add(d); f.clock.Now().Before(end); {
		f.clock.Step(min(10*time.Second, end.Sub(f.clock.Now())))
		f.sees(t)
	}
}

// token changes something that the cloud-controller-manager does not start with.
func (f *fixture) token(t *testing.T) {
	t.Helper()
	f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
}

func (f *fixture) hasToken(t *testing.T) bool {
	t.Helper()
	return f.delivered(t, operand.Secret, "file-syncer-token", "token") == "another token"
}

// rows are the cases of the table in doc.go, by the text of their first column.
var rows = map[string]func(*testing.T, *fixture){
	"nothing has changed of what the CCM starts with": func(t *testing.T, f *fixture) {
		f.token(t)
		f.sees(t)
		require.True(t, f.hasToken(t))
		require.Nil(t, f.submitted(t))
	},
	"the CCM that works has them: a change was undone": func(t *testing.T, f *fixture) {
		f.makeRevision(t)
		f.change(t)
		f.conclude(t, trial.Successful, 1)
		f.sees(t)
		f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
		f.sees(t)
		require.Equal(t, former, f.balancers(t))
	},
	"the latest revision with them failed on its first node": func(t *testing.T, f *fixture) {
		f.rolls(t, func() { f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig})) })
		require.False(t, f.wentBack(t))
		f.fails(t)
		f.sees(t)
		require.True(t, f.wentBack(t))
	},
	"a login with their credentials failed, and its pause lasts": func(t *testing.T, f *fixture) {
		f.newImage()
		f.sees(t)
		f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
		f.change(t)
		f.token(t)
		f.waits(t, 89*time.Second)
		require.False(t, f.hasToken(t))
		f.waits(t, time.Second)
		require.True(t, f.hasToken(t), "nothing else waits")
		f.waits(t, 2*time.Minute)
		require.Equal(t, former, f.balancers(t))
		require.False(t, trial.Of(f.submitted(t)).Runs(), "another login with the same credentials")
	},
	"an administrator has accepted what failed or waits": func(t *testing.T, f *fixture) {
		f.change(t)
		f.accept("0123456789ab, " + f.waitsToAccept(t))
		f.sees(t)
		require.Equal(t, changed, f.balancers(t))
		require.Empty(t, f.unproved(), "nothing else changes")
	},
	"a preflight has failed with some of them": func(t *testing.T, f *fixture) {
		f.change(t)
		f.conclude(t, trial.Failed, 1)
		f.token(t)
		f.sees(t)
		require.Equal(t, former, f.balancers(t))
		require.True(t, f.hasToken(t))
		require.Equal(t, []string{"CloudConfigDegraded"}, f.degraded(t))
	},
	"a preflight with some of them showed nothing": func(t *testing.T, f *fixture) {
		f.change(t)
		f.conclude(t, trial.Inconclusive, 1)
		f.token(t)
		f.waits(t, 59*time.Second)
		require.Equal(t, former, f.balancers(t))
		require.True(t, f.hasToken(t), "nothing else waits")
		require.Empty(t, f.degraded(t))
		f.waits(t, time.Second)
		require.True(t, trial.Of(f.submitted(t)).Runs(), "it is repeated")
		f.conclude(t, trial.Successful, 2)
		f.sees(t)
		require.Equal(t, changed, f.balancers(t))
		require.Empty(t, f.unproved())
	},
	"one showed nothing, and no CCM has worked for 20 s": func(t *testing.T, f *fixture) {
		f.change(t)
		f.conclude(t, trial.Inconclusive, 1)
		f.waits(t, 30*time.Second)
		f.works = false
		f.sees(t)
		f.waits(t, 19*time.Second)
		require.Equal(t, former, f.balancers(t), "the lead may only change hands")
		f.waits(t, time.Second)
		require.Equal(t, changed, f.balancers(t))
		require.Equal(t, []string{"nothing has proved the change of [CloudConfig]: its preflight showed nothing, and no " +
			"cloud-controller-manager works"}, f.unproved())
	},
	"no preflight is possible on the platform, or of them": func(t *testing.T, f *fixture) {
		f.rotate(t, "hidden\n# "+strings.Repeat("x", 1<<20))
		f.sees(t)
		require.Contains(t, f.password(t), "xxx")
		require.Len(t, f.unproved(), 1)
	},
	"their preflight was successful": func(t *testing.T, f *fixture) {
		f.change(t)
		f.conclude(t, trial.Successful, 1)
		f.sees(t)
		require.Equal(t, changed, f.balancers(t))
	},
	"their preflight runs": func(t *testing.T, f *fixture) {
		f.change(t)
		f.token(t)
		f.waits(t, 89*time.Second)
		require.Equal(t, former, f.balancers(t))
		require.False(t, f.hasToken(t))
	},
	"their preflight has run for 90 s": func(t *testing.T, f *fixture) {
		f.change(t)
		f.token(t)
		f.waits(t, 90*time.Second)
		require.True(t, f.hasToken(t))
		f.waits(t, time.Hour)
		require.Equal(t, former, f.balancers(t))
		require.True(t, trial.Of(f.submitted(t)).Runs())
		require.Empty(t, f.degraded(t))
		f.conclude(t, trial.Successful, 1)
		f.sees(t)
		require.Equal(t, changed, f.balancers(t))
	},
	"their preflight has run for 20 s, and no CCM works": func(t *testing.T, f *fixture) {
		f.change(t)
		f.waits(t, time.Minute)
		f.works = false
		f.sees(t)
		f.waits(t, 19*time.Second)
		require.Equal(t, former, f.balancers(t))
		f.waits(t, time.Second)
		require.Equal(t, changed, f.balancers(t))
		require.Equal(t, []string{"nothing has proved the change of [CloudConfig]: its preflight has no result after 20s"},
			f.unproved())
	},
	"no CCM works, and one may have until 20 s ago": func(t *testing.T, f *fixture) {
		f.sees(t)
		f.works = false
		f.change(t)
		f.waits(t, 19*time.Second)
		require.Equal(t, former, f.balancers(t), "the lead may only change hands")
		require.Nil(t, f.submitted(t))
		f.works = true
		f.sees(t)
		require.True(t, trial.Of(f.submitted(t)).Runs())
	},
	"no CCM works, so nothing can break": func(t *testing.T, f *fixture) {
		f.sees(t)
		f.works = false
		f.sees(t)
		f.waits(t, 20*time.Second)
		f.change(t)
		require.Equal(t, changed, f.balancers(t))
		require.Nil(t, f.submitted(t))
		require.Empty(t, f.unproved())
	},
	"otherwise": func(t *testing.T, f *fixture) {
		f.change(t)
		require.Equal(t, former, f.balancers(t))
		require.True(t, trial.Of(f.submitted(t)).Runs())
	},
}

func TestAProcessThatStartsWhileTheLeadMovesPassesNothingForTwentySeconds(t *testing.T) {
	for _, row := range []struct {
		name  string
		age   time.Duration
		waits time.Duration
	}{
		{"a leader renewed the lease a moment before", time.Second, holdTimeout},
		{"a leader whose clock is ahead renewed it", -time.Second, holdTimeout},
		{"no leader has renewed it for long", 21 * time.Second, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newWorking(t)
			f.restart()
			f.works = false
			f.lease.See(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
				RenewTime: ptr.To(metav1.NewMicroTime(f.clock.Now().Add(-row.age))),
			}}, f.clock.Now())
			f.change(t)
			if row.waits > 0 {
				f.waits(t, row.waits-time.Second)
				require.Equal(t, former, f.balancers(t))
				f.waits(t, time.Second)
			}
			require.Equal(t, changed, f.balancers(t))
		})
	}
}

// Another edit of a change that cannot be tried does not pass unnoticed either.
func TestWhatCannotBeTriedIsToldWhileTheLeadMoves(t *testing.T) {
	f := newWorking(t)
	f.sees(t)
	f.works = false
	f.rotate(t, "hidden\n# "+strings.Repeat("x", 1<<20))
	f.sees(t)
	require.Contains(t, f.password(t), "xxx")
	require.Len(t, f.unproved(), 1)
}

func TestTheTableOfTheGate(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^//\t\| (\S[^|]*?) +\|`).FindAllStringSubmatch(string(text), -1) {
		if row[1] != "if" {
			documented = append(documented, row[1])
		}
	}
	require.Len(t, rows, len(documented))
	for _, row := range documented {
		require.Contains(t, rows, row)
		t.Run(row, func(t *testing.T) { rows[row](t, newWorking(t)) })
	}
}

// While the operator is away, nothing is known of how long the change has waited.
func TestARestartedOperatorGoesOnWithWhatWaits(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Inconclusive, 1)
	f.sees(t)
	f.restart()
	f.token(t)
	f.sees(t)
	require.Equal(t, former, f.balancers(t))
	require.True(t, f.hasToken(t))
	f.works = false
	f.restart()
	f.sees(t)
	require.Equal(t, former, f.balancers(t), "it has seen no leader for 20 s")
	f.waits(t, holdTimeout)
	require.Equal(t, changed, f.balancers(t))
}

func TestTheLeadThatChangesHandsLetsNothingPass(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Inconclusive, 1)
	for range 6 {
		f.works = false
		f.sees(t)
		f.waits(t, 15*time.Second)
		f.works = true
		f.sees(t)
		f.waits(t, 15*time.Second)
	}
	require.Equal(t, former, f.balancers(t))
}

func TestInputsThatChangeAgainAndAgainHoldUpNothingElse(t *testing.T) {
	f := newWorking(t)
	f.token(t)
	for began := f.clock.Now(); f.clock.Since(began) < 10*time.Minute; f.clock.Step(15 * time.Second) {
		f.rotate(t, f.clock.Now().String())
		f.sees(t)
	}
	require.Contains(t, f.password(t), "hidden")
	require.True(t, f.hasToken(t))
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.NotContains(t, f.password(t), "hidden")
}

func TestAnotherInputIsTriedWithoutWhatWaits(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Inconclusive, 1)
	f.rotate(t, "second")
	f.sees(t)
	require.Contains(t, f.tried(t), former)
	require.Contains(t, f.tried(t), "second")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Equal(t, former, f.balancers(t))
	require.Empty(t, f.degraded(t))
}

func TestWhatWaitsIsRepeatedEveryMinuteAtFirstAndEveryFiveMinutesAtLast(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	for tries, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		f.conclude(t, trial.Inconclusive, tries+1)
		f.waits(t, pause-time.Second)
		require.False(t, trial.Of(f.submitted(t)).Runs(), "%d tries", tries+1)
		f.waits(t, time.Second)
		require.True(t, trial.Of(f.submitted(t)).Runs(), "%d tries", tries+1)
	}
	require.Equal(t, former, f.balancers(t))
}

func TestAnAdministratorMayAcceptWhatShowedNothing(t *testing.T) {
	f := newWorking(t)
	f.change(t)
	f.conclude(t, trial.Inconclusive, 1)
	f.sees(t)
	f.accept(f.waitsToAccept(t))
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
}

func TestAChangeWhosePreflightCannotBeWrittenWaitsForAnAdministrator(t *testing.T) {
	f := newWorking(t)
	denied := errors.New("denied the request: webhook")
	f.kube.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, denied
	})
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
	err := f.run(t)
	require.ErrorIs(t, err, denied)
	f.clock.Step(time.Hour)
	require.ErrorIs(t, f.run(t), denied)
	require.Equal(t, former, f.balancers(t))
	command := regexp.MustCompile(`; to roll the change out unproved, run: oc annotate --overwrite cloudcontrollermanager ` +
		`cluster ` + regexp.QuoteMeta(acceptance) + `=([0-9a-f]{12})$`).FindStringSubmatch(err.Error())
	require.Len(t, command, 2, err.Error())
	f.accept(command[1])
	f.sees(t)
	require.Equal(t, changed, f.balancers(t))
}

// The new credentials become valid after they were written, and the former ones are revoked.
func TestARejectedLoginIsRepeatedAtOnceWhenTheLeadersIsRejectedToo(t *testing.T) {
	f := newWorking(t)
	f.rotate(t, "second")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.RejectedLogin, 1)
	f.sees(t)
	require.Contains(t, f.trueConditions(t)[0], "; it is tried again at 2026-11-20T13:05:45Z; ")
	record := f.record(t)
	record.MarkLeaderRejected(0)
	f.save(t, record)
	f.sees(t)
	require.True(t, trial.Of(f.submitted(t)).Runs(), "at once")
	require.Equal(t, []string{"CredentialsDegraded"}, f.degraded(t))
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Empty(t, f.degraded(t))
}

func TestAnImageThatIsNotPulledHoldsUpNoRotationMadeWithIt(t *testing.T) {
	f := newWorking(t)
	f.newImage()
	f.rotate(t, "second")
	f.sees(t)
	f.concludeAs(t, trial.Failed, trial.ImageNotPulled, 1)
	f.sees(t)
	require.Contains(t, f.tried(t), "second")
	require.NotContains(t, string(f.submitted(t).Data["pod.yaml"]), "sha256:9")
	f.conclude(t, trial.Successful, 1)
	f.sees(t)
	require.Contains(t, f.password(t), "second")
	require.Equal(t, []string{"ImageDegraded"}, f.degraded(t))
}

func TestTheRevisionThatWorksIsThatOfTheLeader(t *testing.T) {
	c := controlplanetest.New("m0", "m1", "m2")
	d := controllertest.Complete(t, dependencies.Deps{
		Clock:    clocktesting.NewFakeClock(controlplanetest.At(1)),
		Operator: v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, c.Status, nil, nil),
	})
	for _, pod := range c.Pods {
		require.NoError(t, d.Target.Core().V1().Pods().Informer().GetStore().Add(pod))
	}
	require.NoError(t, d.Infrastructures.Informer().GetStore().Add(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: configv1.InfrastructureStatus{ControlPlaneTopology: c.Topology},
	}))
	core := d.Target.Core().V1()
	controller := newController(d, nil, Options{
		Namespaces: core.Namespaces(), UserConfig: core.ConfigMaps(), ManagedConfig: core.ConfigMaps(),
		NodeManagers: d.Target.Apps().V1().DaemonSets(),
	})
	d.Lease.See(c.Lease, controlplanetest.At(0))
	revision, err := controller.workingRevision()
	require.NoError(t, err)
	require.Equal(t, int32(3), revision)
}
