package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// leader returns the machine whose process leads, nil if none does.
func (w *world) leader() *machine {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, m := range w.masters() {
		if m.static != nil && m.static.ccm.leads && !m.static.ccm.exited {
			return m
		}
	}
	return nil
}

// someLeader is leader, or any machine of the control plane.
func (w *world) someLeader() *machine {
	if m := w.leader(); m != nil {
		return m
	}
	return locked(&w.mutex, func() *machine { return w.masters()[0] })
}

// kill9 ends the process of a CCM. It reports whether there was one.
func (m *machine) kill9() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.static == nil || m.static.ccm.exited {
		return false
	}
	m.note("FAULT kill -9 of the CCM on %s", m.name)
	m.static.ccm.kill(9)
	return true
}

// fault counts a fault while f runs.
func (w *world) fault(f func()) {
	w.rules.faults++
	f()
	w.rules.faults--
	w.rules.quiet = time.Now()
}

// scenario runs f on an installed cluster, and checks the end.
func scenario(t *testing.T, f func(w *world)) {
	t.Helper()
	simulate(t, 1, func(w *world) {
		begun := cpu()
		w.installed()
		w.pass(2*time.Minute, nil)
		w.fault(func() { f(w) })
		took := w.recovered()
		w.rest(3 * time.Minute)
		t.Logf("recovered after %s, longest without a leader %s; %s simulated, %s CPU", took.Round(time.Second),
			w.rules.longest.Round(time.Second), w.now().Round(time.Second), (cpu() - begun).Round(100*time.Millisecond))
	})
}

// The operator's pod is replaced just as the leader's node installs: the next process has not seen that leader end. Each
// further revision restarts the standbys, and client-go counts from the first look of each.
func TestALeaseThatNobodyRenewsEndsAlsoWhenEachRolloutRestartsTheStandbys(t *testing.T) {
	scenario(t, func(w *world) {
		installer := fmt.Sprintf("%s/installer-%d-%s", target, w.state().latest+1, w.leader().name)
		go w.operator.upgrade(2 * time.Second)
		require.True(w, w.pass(4*time.Minute, func() bool { return w.api.Get(pods, installer) != nil }))
		w.operator.kill()
		go w.operator.replace(false, 4*time.Second)
		w.pass(50*time.Second, nil)
		w.configure(1)
		w.pass(70*time.Second, nil)
		w.configure(2)
		w.pass(3*time.Minute, nil)
	})
}

// Each pod of the operator is younger than the last renewal, and knows it from the former one. Otherwise each would wait
// from its own first look, and a standby from its own, up to 57 seconds after that renewal.
func TestALeaseThatNobodyRenewsEndsAlsoWhenTheOperatorIsReplacedEachMinute(t *testing.T) {
	scenario(t, func(w *world) {
		w.pass(time.Minute, nil)
		w.leader().turnOff()
		last := w.operator.rememberedSince()
		for range 3 {
			w.pass(40*time.Second, nil)
			go w.operator.replace(true, 2*time.Second)
		}
		require.True(w, w.pass(2*time.Minute, func() bool { return w.leader() != nil }), "nobody leads")
		require.Equal(w, last, w.operator.rememberedSince(), "a pod has left nothing")
		for _, m := range w.machines {
			m.reboot()
		}
	})
}

// On AWS, this order is the usual one.
func TestCredentialsThatBecomeValidLaterAreInUseSoonAfter(t *testing.T) {
	scenario(t, func(w *world) {
		w.cloud.accept(0)
		w.rotate(1)
		w.pass(20*time.Second, nil)
		w.cloud.accept(1)
		w.pass(35*time.Second, nil)
		w.api.Remove("administrator", nodes, "/w0")
		w.pass(2*time.Second, nil)
		w.machines["w0"].register()
		w.pass(5*time.Minute, nil)
		require.Positive(w, w.cloud.asked, "no password was wrong")
	})
}

// While the lead moves, nobody leads for some seconds. A change that comes then is tried like any other.
func TestAChangeThatComesWhileTheLeadMovesIsTried(t *testing.T) {
	testChangeWhileTheLeadMoves(t, func(*world) {})
}

// The next process of the operator has seen no leader.
func TestAChangeThatComesWhileTheLeadMovesIsTriedAlsoByAnotherOperator(t *testing.T) {
	testChangeWhileTheLeadMoves(t, func(w *world) { w.operator.replace(true, time.Second) })
}

func testChangeWhileTheLeadMoves(t *testing.T, and func(*world)) {
	scenario(t, func(w *world) {
		w.configure(1)
		require.True(w, w.pass(4*time.Minute, func() bool { return holderOf(w.api.Get(leases, leaseKey)) == "" }))
		latest := w.state().latest
		w.cloud.accept(0)
		w.rotate(1)
		and(w)
		w.pass(2*time.Minute, nil)
		require.Equal(w, latest, w.state().latest)
		require.Contains(w, w.state().conditions["Degraded"].message, "the cloud rejects the credentials")
		w.rotate(0)
		w.pass(time.Minute, nil)
	})
}

// If nobody has led for 20 s, no preflight tries the new credentials first. The first node cannot go back, as the former
// ones are revoked.
func TestTheCredentialsOfARevisionThatBecomeValidLaterAreInUseSoonAfter(t *testing.T) {
	scenario(t, func(w *world) {
		latest, led := w.state().latest, w.now()
		require.True(w, w.pass(10*time.Minute, func() bool {
			if w.leader() != nil {
				led = w.now()
			}
			for _, m := range locked(&w.mutex, w.masters) {
				m.kill9()
			}
			return w.now()-led > 25*time.Second
		}))
		w.cloud.accept()
		w.rotate(1)
		w.pass(2*time.Minute, nil)
		require.Greater(w, w.state().latest, latest)
		require.Contains(w, w.state().conditions["Degraded"].message, "Authentication failed")
		w.cloud.accept(1)
		w.pass(3*time.Minute, nil)
	})
}

func TestARolloutGoesOnSoonAfterTheRightsAreBack(t *testing.T) {
	scenario(t, func(w *world) {
		was := w.state().latest
		w.configure(1)
		require.True(w, w.pass(4*time.Minute, func() bool { return w.state().latest > was && len(w.facts().taken) > 0 }))
		w.network.forbid(true)
		w.pass(125*time.Second, nil)
		w.network.forbid(false)
		back := w.now()
		before := w.state().nodes
		w.pass(recovery, func() bool { return w.state().nodes != before || w.state().settled })
		require.Positive(w, w.network.refused)
		w.Logf("the rollout goes on %s after the rights are back", w.now()-back)
	})
}

// The cloud has no load-balancer API, and the change asks for it. Standbys are healthy: only a leader ends. If a part of
// its revision is deleted, the next one has the same content.
func TestAChangeThatEndsEachLeaderIsTakenBack(t *testing.T) {
	for name, isDamaged := range map[string]bool{"once": false, "also if its revision is damaged meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			scenario(t, func(w *world) {
				w.configure(noLeader)
				if isDamaged {
					require.True(w, w.pass(4*time.Minute, func() bool { return strings.Contains(w.helpers(), "handover-prove-") }))
					w.api.Remove("somebody", secrets, fmt.Sprintf("%s/file-syncer-token-%d", target, w.state().latest))
				}
				w.pass(5*time.Minute, nil)
				deaths := locked(&w.mutex, func() int { return len(w.deaths) })
				require.NotZero(w, deaths, "no leader has ended")
				require.Less(w, deaths, 3, "the change has ended several leaders")
				require.True(w, w.state().is("Degraded", "True"), "%+v", w.state())
				w.configure(1)
			})
		})
	}
}

// A change rolls out while the credentials are rotated: the former ones are revoked, and the new ones are valid later. Then
// somebody deletes a part of the revision, and the next one has the same content. Day 320 found it.
func TestARevisionThatReplacesADamagedOneIsNotToBlameForTheFormerLogin(t *testing.T) {
	scenario(t, func(w *world) {
		was := w.state().latest
		w.configure(1)
		leads := w.leader().name
		moved := w.pass(4*time.Minute, func() bool {
			m := w.leader()
			return m != nil && m.name != leads && len(w.facts().ready) == 3
		})
		require.True(w, moved)
		w.cloud.accept()
		w.rotate(2)
		w.pass(2*time.Minute, nil)
		deleteObject(w, fmt.Sprintf("configmaps %s/cloud-controller-manager-pod-%d", target, was+1))
		w.pass(3*time.Minute, func() bool {
			require.NotContains(w, w.state().conditions["Degraded"].message, "ImageDegraded")
			return false
		})
		w.cloud.accept(2)
	})
}

func TestAChangeThatItsPreflightEndsWithIsRejectedWithoutARollout(t *testing.T) {
	scenario(t, func(w *world) {
		was := w.state().latest
		w.configure(noBalancer)
		w.pass(3*time.Minute, nil)
		require.Equal(w, was, w.state().latest, "it has rolled out")
		require.True(w, w.state().is("Degraded", "True"), "%+v", w.state())
		w.configure(1)
	})
}

func TestTwoKilledProcessesAreNoCrashLoop(t *testing.T) {
	scenario(t, func(w *world) {
		leader := w.leader()
		require.True(w, leader.kill9())
		w.pass(time.Minute, nil)
		w.configure(1)
		w.pass(267*time.Second, nil)
		require.True(w, leader.kill9())
		w.pass(4*time.Minute, nil)
	})
}

// The rollout is stuck on a node whose kubelet hangs, and a worker's machine is gone.
func TestAStuckRolloutHoldsNoDeletionForLong(t *testing.T) {
	scenario(t, func(w *world) {
		leader := w.leader().name
		hung := "m0"
		if leader == hung {
			hung = "m1"
		}
		end, _ := hangKubelet(w, w.machines[hung])
		w.configure(1)
		w.pass(30*time.Second, nil)
		w.machines["w1"].vanish()
		gone := w.pass(10*time.Minute, func() bool { return w.api.Get(nodes, "/w1") == nil })
		require.True(w, gone, "the Node stays")
		end()
		w.machines["w1"].appear()
	})
}

// vanish deletes the machine in the cloud.
func (m *machine) vanish() {
	m.note("FAULT the machine %s is deleted in the cloud", m.name)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.exists = false
	m.powerOff()
}

// appear creates the machine again. One whose Node is gone is another one, with an empty disk.
func (m *machine) appear() {
	isNew := m.api.Get(nodes, "/"+m.name) == nil
	m.note("the machine %s exists again, with an empty disk: %v", m.name, isNew)
	m.mutex.Lock()
	m.exists = true
	if isNew {
		m.root += "+"
		require.NoError(m, os.MkdirAll(filepath.Join(m.root, manifests), 0o755))
	}
	m.mutex.Unlock()
	m.reboot()
}

// It leads on until it gives up, and nobody else may lead before. A rollout waits for its node.
func TestALeaderThatIsCutOffIsTheOnlyOneUntilItGivesUp(t *testing.T) {
	scenario(t, func(w *world) {
		m := w.leader()
		w.configure(1)
		m.mutex.Lock()
		m.isCut, m.isHung = true, true
		former := m.static.ccm
		m.mutex.Unlock()
		w.pass(6*time.Minute, func() bool {
			require.False(w, former.leads && w.leader() != nil && w.leader() != m)
			return false
		})
		require.True(w, former.exited)
		require.NotNil(w, w.leader())
		m.mutex.Lock()
		m.isCut, m.isHung = false, false
		m.mutex.Unlock()
		w.pass(20*time.Second, nil)
	})
}

// Its Node is gone, and the new machine has the name and another disk.
func TestAMachineOfTheControlPlaneIsReplaced(t *testing.T) {
	for name, leads := range map[string]bool{"the leader's": true, "a standby's": false} {
		t.Run(name, func(t *testing.T) {
			scenario(t, func(w *world) {
				m := w.leader()
				if !leads {
					m = w.machines[map[bool]string{true: "m1", false: "m0"}[m.name == "m0"]]
				}
				m.vanish()
				gone := w.pass(10*time.Minute, func() bool { return w.api.Get(nodes, "/"+m.name) == nil })
				require.True(w, gone, "the Node stays")
				m.appear()
				w.pass(20*time.Second, nil)
			})
		})
	}
}

// A rollout begins at the same time.
func TestAHundredNodesThatJoinAtOnceAreInitialized(t *testing.T) {
	scenario(t, func(w *world) {
		w.configure(1)
		end, had := joinNodes(w)
		w.pass(90*time.Second, nil)
		end()
		require.True(w, had(), "they are not Ready")
	})
}

func TestASecondOperatorWaitsForTheFirst(t *testing.T) {
	scenario(t, func(w *world) {
		first := w.operator.serial
		go w.operator.overlap(40 * time.Second)
		w.pass(5*time.Minute, nil)
		require.Greater(w, w.operator.serial, first)
		_, acts := w.operator.actsSince()
		require.True(w, acts, "nobody acts")
	})
}

// A person, or a broken client, has written the operator's lock.
func TestALockWithAForeignNameAndALongDurationHoldsTheOperatorForItsOwnDuration(t *testing.T) {
	scenario(t, func(w *world) {
		w.operator.kill()
		now := metav1.NowMicro()
		w.api.Put("somebody", w.api.Encode(&coordinationv1.Lease{
			ObjectMeta: named(operatorclient.OperatorNamespace, operatorName+"-lock"),
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("intruder"), LeaseDurationSeconds: ptr.To[int32](86400),
				AcquireTime: &now, RenewTime: &now},
		}))
		go w.operator.replace(false, time.Second)
		acts := w.pass(4*time.Minute, func() bool { _, acts := w.operator.actsSince(); return acts })
		require.True(w, acts, "nobody acts")
		require.Less(w, w.now(), 7*time.Minute)
	})
}

func TestTheLeadersMachineIsOffInARollout(t *testing.T) {
	scenario(t, func(w *world) {
		was := w.state().latest
		w.configure(1)
		require.True(w, w.pass(4*time.Minute, func() bool { return w.state().latest > was && len(w.facts().taken) > 0 }))
		leader := w.someLeader()
		leader.turnOff()
		w.pass(5*time.Minute, nil)
		leader.reboot()
	})
}

func TestADrainedLeaderHandsOver(t *testing.T) {
	scenario(t, func(w *world) {
		leader := w.leader()
		before := w.rules.longest
		w.cordon(leader.name, true)
		moved := w.pass(time.Minute, func() bool { now := w.leader(); return now != nil && now != leader })
		require.True(w, moved, "the lead has not moved")
		require.Less(w, w.rules.longest, before+15*time.Second)
		leader.turnOff()
		w.pass(2*time.Minute, nil)
		leader.reboot()
		w.pass(20*time.Second, nil)
		w.cordon(leader.name, false)
	})
}

// The process of the preflight ends while no operator watches it. What the leader met meanwhile is unknown, so the next
// operator runs it again before it judges the change.
func TestAPreflightThatEndsWithoutAnOperatorIsRunAgain(t *testing.T) {
	scenario(t, func(w *world) {
		was := w.state().latest
		w.configure(noBalancer)
		uid := func() any {
			if pod := w.api.Get(pods, target+"/preflight"); pod != nil {
				return apitest.Meta(pod)["uid"]
			}
			return nil
		}
		require.True(w, w.pass(time.Minute, func() bool { return uid() != nil }))
		former := uid()
		w.operator.kill()
		go w.operator.replace(false, 4*time.Minute)
		require.True(w, w.pass(8*time.Minute, func() bool { return uid() != nil && uid() != former }), "it is not run again")
		secret := w.api.Get(secrets, target+"/"+operand.PreflightName)
		require.NotContains(w, annotation(secret, trial.Annotation), "verdict", "it was judged")
		w.pass(2*time.Minute, nil)
		require.Equal(w, was, w.state().latest, "it has rolled out")
		require.True(w, w.state().is("Degraded", "True"), "%+v", w.state())
		w.configure(1)
	})
}

// The copies of a new revision reach the cache of ConfigMaps at once, and that of Secrets later.
func TestALateWatchOfSecretsCreatesOneRevision(t *testing.T) {
	scenario(t, func(w *world) {
		was, late := w.state().latest, w.network.late
		w.network.set(func() { w.network.lag["secrets"] = 10 * time.Second })
		w.configure(1)
		w.pass(time.Minute, nil)
		w.network.set(func() { delete(w.network.lag, "secrets") })
		require.Greater(w, w.network.late, late)
		require.Equal(w, was+1, w.state().latest)
	})
}

// Nothing else happens, so only the watch of each object calls its controller.
func TestWhatSomebodyDeletesAtRestIsBackWithinSeconds(t *testing.T) {
	scenario(t, func(w *world) {
		for _, object := range targetObjects {
			w.pass(10*time.Second, nil)
			require.True(w, deleteObject(w, inTarget(object)), object)
			kind, key, _ := strings.Cut(inTarget(object), " ")
			require.True(w, w.pass(5*time.Second, func() bool { return w.api.Get(resource(groups[kind], kind), key) != nil }), object)
		}
	})
}

func TestWhatSomebodyDamagesAtRestIsRepairedWithinSeconds(t *testing.T) {
	scenario(t, func(w *world) {
		for _, object := range targetObjects {
			kind, key, _ := strings.Cut(inTarget(object), " ")
			is := func(kind string) bool { return strings.HasPrefix(object, kind+" ") }
			w.pass(10*time.Second, nil)
			if !is("configmaps") && !is("secrets") || !damageObject(w, inTarget(object)) {
				continue
			}
			repaired := w.pass(10*time.Second, func() bool { return !isDamaged(w.api.Get(resource("", kind), key)) })
			require.True(w, repaired, object)
			copied := w.api.Get(resource("", kind), fmt.Sprintf("%s-%d", key, w.state().latest))
			require.False(w, copied != nil && isDamaged(copied), "%s is rolled out", object)
		}
	})
}

// library-go waits for ten seconds, and more, before it tries an installer again.
func TestAnInstallerThatFailsIsTriedAgainOnceTheDiskHasSpace(t *testing.T) {
	scenario(t, func(w *world) {
		end, had := fillDisk(w, w.machines["m1"])
		w.configure(1)
		w.pass(3*time.Minute, nil)
		end()
		require.True(w, had(), "no installer has failed")
	})
}

// A change meets a cloud that rejects logins while another one rolls out, whose process ends because of that too. Clouds
// lock accounts whose logins fail often.
func TestALoginThatTheCloudRejectsIsNotTriedEverySecond(t *testing.T) {
	scenario(t, func(w *world) {
		w.rules.asksPerson = true
		go func() {
			w.operator.upgrade(2 * time.Second)
			pause(w.ctx, 12*time.Second)
			w.configure(1)
		}()
		w.pass(8*time.Second, nil)
		w.cloud.set(func() { w.cloud.fails = errReject })
		w.pass(2*time.Minute, nil)
		runs := 0
		for _, c := range w.writes {
			if c.Key == target+"/preflight" && c.Resource == pods && c.Verb == "create" {
				runs++
			}
		}
		w.cloud.set(func() { w.cloud.fails = nil })
		require.LessOrEqual(w, runs, 6)
	})
}

// The credentials are revoked, the administrator mistypes the new password, and an upgrade begins meanwhile.
func TestAWrongPasswordInAnUpgradeIsNamedUntilTheCorrectOneComes(t *testing.T) {
	scenario(t, func(w *world) {
		w.cloud.accept(1)
		w.pass(time.Minute, nil)
		w.rotate(9)
		w.pass(30*time.Second, nil)
		go w.operator.upgrade(2 * time.Second)
		w.pass(5*time.Minute, func() bool {
			require.True(w, w.state().is("Available", "True"), "%+v", w.state())
			return false
		})
		w.rotate(1)
		correct := w.now()
		require.True(w, w.pass(3*time.Minute, func() bool { return w.healthy() && w.allLead() }), "%+v", w.state())
		require.True(w, w.cloud.used(password(1)))
		w.Logf("all is well %s after the correct password", w.now()-correct)
	})
}

// A process of the former revision cannot start again, as its password is revoked. The new leader hangs as soon as it
// leads, and its kubelet ends it. Once it leads again, it neither hands the lead over to a process that cannot log in,
// nor is its revision held while the others keep ending. Day 241 of the long runs found it.
func TestARevisionIsNotHeldWhileTheFormerOneCannotLogIn(t *testing.T) {
	scenario(t, func(w *world) {
		former, next := w.leader(), w.number()
		w.cloud.accept(next)
		w.rotate(next)
		w.configure(w.number())
		require.True(w, w.pass(5*time.Minute, func() bool { now := w.leader(); return now != nil && now != former }))
		first := w.leader()
		end, had := hangCCM(w, first)
		end()
		require.True(w, had())
		require.True(w, w.pass(time.Minute, func() bool { return w.leader() == first }), "it does not lead again")
		began := w.now()
		require.True(w, w.pass(4*time.Minute, func() bool {
			require.NotNil(w, w.leader(), "the lead was taken away from %s", first.name)
			return w.healthy() && w.allLead()
		}), "%+v", w.state())
		w.Logf("all is well %s after it led again", w.now()-began)
	})
}

// The clock of a machine is two hours ahead when its CCM starts, as after a boot before the time is synchronized, and
// correct when that CCM leads. Day 2434 of the long runs found that the operator took it for one that has ended.
func TestAProcessThatStartedWhileItsClockWasAheadLeads(t *testing.T) {
	plan{[]string{"m0", "w0"}, configv1.SingleReplicaTopologyMode, 50 * time.Second, 5 * time.Second}.simulate(t, 1, func(w *world) {
		w.installed()
		w.fault(func() {
			m := w.someLeader()
			former := m.static.ccm
			w.skewed.Store(&skew{m.name, 2 * time.Hour})
			require.True(w, m.kill9())
			// A process needs half a second before it can acquire the lease.
			for locked(&w.mutex, func() bool { return m.static.ccm == former }) {
				pause(w.ctx, 100*time.Millisecond)
			}
			w.skewed.Store(nil)
		})
		w.recovered()
		w.rest(3 * time.Hour)
	})
}

// Each rollout loses the operator after another of its writes, from the first one to the last.
func TestARolloutGoesOnWhereverTheOperatorDies(t *testing.T) {
	stride := 29
	if os.Getenv(hoursVariable) != "" {
		stride = 1
	}
	scenario(t, func(w *world) {
		deaths := 0
		for nth := 1; w.rollsOutAlsoIfTheOperatorDiesAt(nth); nth += stride {
			deaths++
		}
		require.Greater(w, deaths, 100/stride, "a rollout has more writes")
		w.Logf("%d rollouts", deaths)
		if stride == 1 {
			w.pass(time.Hour, nil) // Their Events live for an hour.
		}
	})
}

// rollsOutAlsoIfTheOperatorDiesAt changes the configuration, and waits until it is in use. It reports whether the rollout
// had so many writes.
func (w *world) rollsOutAlsoIfTheOperatorDiesAt(nth int) bool {
	was, begun := w.state().latest, w.now()
	clear(w.rules.changes)
	go w.configure(w.number())
	died := make(chan bool, 1)
	go func() { died <- w.dieAt(nth) }()
	isDone := w.pass(10*time.Minute, func() bool { return w.state().latest > was && w.healthy() && w.allLead() })
	require.True(w, isDone, "write %d: %+v", nth, w.state())
	w.Logf("write %d: rolled out in %s", nth, w.now()-begun)
	w.pass(10*time.Second, nil)
	require.LessOrEqual(w, len(w.rules.changes["Progressing"]), 2, "write %d: Progressing flaps", nth)
	select {
	case is := <-died:
		return is
	default:
		locked(&w.trace, func() int { n := w.countdown; w.countdown = 0; return n })
		return false
	}
}
