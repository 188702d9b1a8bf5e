package simulation

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// rowVariable selects twins by a regular expression.
const rowVariable = "SIMULATION_ROW"

// twin plays a row of TestFaults of test/e2e on a cluster that is well. Instead of the row's invariants, the world's
// rules hold, and the world must recover.
type twin struct {
	row  string
	play func(w *world)
}

// twins are groups of rows. A group shares a cluster, because the rest at its end takes longer than a row.
var twins = map[string][]twin{
	"operand": operandTwins, "cloud": cloudTwins, "machines": machineTwins, "reboots": rebootTwins, "files": fileTwins,
	"objects": objectTwins, "outages": outageTwins, "clocks": clockTwins,
}

// quickTwins is the group that make test plays.
const quickTwins = "cloud"

// scenarioTwins are the rows that a scenario or another row plays, by the name of that.
var scenarioTwins = map[string][]string{
	"TestARolloutGoesOnWhereverTheOperatorDies": {
		"the operator is killed when a rollout begins",
		"the operator is killed while the first node installs",
		"the operator is killed while the leader's node installs",
		"the operator is killed when every node has the new revision and one leads",
	},
	"TestTheTokenEndsWhileTheOperatorIsAway": {
		"the operator is away while the token ends",
	},
	"TestAStuckRolloutHoldsNoDeletionForLong": {
		"a kubelet hangs while it installs",
	},
	"TestADrainedLeaderHandsOver": {
		"the leader's node is drained and reboots",
	},
	"TestTheStoriesGoAsOnADevelopmentCluster": {
		"the leader's node crashes",
		"the processes of a new revision would end at their start",
	},
	"TestALeaderThatIsCutOffIsTheOnlyOneUntilItGivesUp": {
		"the leader's node is cut off from the API server",
	},
	"TestAnInstallerThatFailsIsTriedAgainOnceTheDiskHasSpace": {
		"the disk of a node is full during a rollout",
	},
	"TestTwoKilledProcessesAreNoCrashLoop": {
		"the leading process is killed",
	},
	"an installer fails until the operator waits for minutes": {
		"the disk of a node is read-only during a rollout",
	},
	"the API server is down for 10 seconds during a rollout": {
		"etcd is killed and restarts during a rollout",
	},
	"an image cannot be pulled until the kubelet waits for minutes": {
		"the image of a new revision does not exist",
	},
}

func TestTwins(t *testing.T) {
	selected := regexp.MustCompile(os.Getenv(rowVariable))
	for group, rows := range twins {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row twin) bool { return !selected.MatchString(row.row) })
		if len(rows) == 0 {
			continue
		}
		t.Run(group, func(t *testing.T) {
			if os.Getenv(rowVariable) == "" && group != quickTwins {
				t.Skip(rowVariable + " is not set: make test has 6 CPU minutes for all simulations")
			}
			simulate(t, 1, func(w *world) {
				w.installed()
				for _, row := range rows {
					w.playTwin(row)
				}
				w.rest(time.Minute)
			})
		})
	}
}

// playTwin plays a row, and waits until the cluster is well again.
func (w *world) playTwin(row twin) {
	w.pass(10*time.Second, nil)
	begun, used, broken := w.now(), cpu(), len(w.broken())
	w.note("ROW %s", row.row)
	w.fault(func() { row.play(w) })
	w.recovered()
	w.must("what was written last to be in use", recovery, func() bool {
		leads := w.facts().leads
		return leads.network == networkID(w.configured) && leads.password == w.rules.written && w.healthy() && w.allLead()
	})
	clear(w.rules.changes)
	w.Logf("%s: %s simulated, %s CPU", row.row, w.now()-begun, (cpu() - used).Round(100*time.Millisecond))
	for _, violation := range w.broken()[broken:] {
		w.Errorf("%s: %s", row.row, violation)
	}
}

// A new row of TestFaults needs a twin, or a scenario that plays it.
func TestEachRowOfTheFaultsHasATwin(t *testing.T) {
	known := map[string]string{}
	for _, rows := range twins {
		for _, row := range rows {
			known[row.row] = "TestTwins"
		}
	}
	tests := functions(t, "*_test.go")
	for by, rows := range scenarioTwins {
		require.True(t, tests[by] || known[by] == "TestTwins", "%v are played by %s, which does not exist", rows, by)
		for _, row := range rows {
			require.Empty(t, known[row], row)
			known[row] = by
		}
	}
	rows := rowsOfFaults(t)
	require.Greater(t, len(rows), 50)
	for _, row := range rows {
		require.NotEmpty(t, known[row], "%q has no twin", row)
		delete(known, row)
	}
	require.Empty(t, known, "rows that TestFaults does not have")
}

// rowsOfFaults returns the names of the rows, from the source of test/e2e, which is another module.
func rowsOfFaults(t *testing.T) (rows []string) {
	t.Helper()
	parse(t, "../e2e/faultrows_*_test.go", func(node ast.Node) {
		pair, isPair := node.(*ast.KeyValueExpr)
		if !isPair {
			return
		}
		key, isNamed := pair.Key.(*ast.Ident)
		value, isText := pair.Value.(*ast.BasicLit)
		if !isNamed || !isText || key.Name != "name" {
			return
		}
		name, err := strconv.Unquote(value.Value)
		require.NoError(t, err)
		rows = append(rows, name)
	})
	return rows
}

// functions returns the names of the functions in files.
func functions(t *testing.T, pattern string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	parse(t, pattern, func(node ast.Node) {
		if function, is := node.(*ast.FuncDecl); is {
			names[function.Name.Name] = true
		}
	})
	return names
}

// parse calls see with each node of the syntax trees of some files.
func parse(t *testing.T, pattern string, see func(ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool { see(node); return true })
	}
}

// must requires that something becomes true.
func (w *world) must(what string, limit time.Duration, is func() bool) {
	w.Helper()
	require.True(w, w.pass(limit, is), "%s: %+v", what, w.state())
}

// visible is how long the operator may take to name a fault.
const visible = time.Minute

// awaitCondition waits until a condition of the operator's resource is True with these words.
func (w *world) awaitCondition(name, words string, limit time.Duration) {
	w.Helper()
	c := func() condition { return conditionsOf(w.api.Get(operators, operatorKey))[name] }
	if !w.pass(limit, func() bool { return c().status == "True" && strings.Contains(c().message, words) }) {
		w.Errorf("%s does not say %q within %s: %+v", name, words, limit, c())
	}
}

// awaitEvent waits until the operator, or a file-syncer, records an event.
func (w *world) awaitEvent(reason, words string) {
	w.Helper()
	is := func(o object) bool {
		return o["reason"] == reason && strings.Contains(fmt.Sprint(o["message"]), words)
	}
	if !w.pass(visible, func() bool { return slices.ContainsFunc(w.api.List(events), is) }) {
		w.Errorf("no event %s says %q", reason, words)
	}
}

// awaitInstaller changes the configuration, and waits until an installer works, on the leader's node or on another one.
// It returns the machine.
func (w *world) awaitInstaller(onLeader bool) (found *machine) {
	w.Helper()
	leader, prefix := w.someLeader(), fmt.Sprintf("installer-%d-", w.state().latest+1)
	w.configure(w.number())
	w.must("an installer", 4*time.Minute, func() bool {
		for name := range strings.FieldsSeq(w.helpers()) {
			for _, m := range locked(&w.mutex, w.masters) {
				if strings.HasPrefix(name, prefix) && strings.Contains(name, "-"+m.name) && !strings.HasSuffix(name, "Succeeded") &&
					(m == leader) == onLeader {
					found = m
				}
			}
		}
		return found != nil
	})
	return found
}

// rollOut changes the configuration, and waits until each node has it.
func (w *world) rollOut() {
	w.Helper()
	was := w.state().latest
	w.configure(w.number())
	w.must("the rollout", recovery, func() bool { s := w.state(); return s.latest > was && s.settled })
}

// standby returns a machine of the control plane whose process does not lead.
func (w *world) standby() *machine {
	leader := w.someLeader()
	return locked(&w.mutex, func() *machine {
		all := w.masters()
		return all[slices.IndexFunc(all, func(m *machine) bool { return m != leader })]
	})
}

// operandTwins are those of operandFaults, and of images that cannot be pulled.
var operandTwins = []twin{
	{"the leading process hangs", func(w *world) {
		end, _ := hangCCM(w, w.leader())
		w.awaitCondition("UnresponsiveDegraded", "holds lease/cloud-controller-manager", visible)
		end()
	}},
	{"the process of a new revision is Ready and then ends", func(w *world) {
		was, fresh := w.state().latest, (*machine)(nil)
		w.configure(w.number())
		w.must("a Ready process of the revision", 4*time.Minute, func() bool {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			for _, m := range w.masters() {
				if s := m.static; s != nil && s.isReady() && s.pod.Labels["revision"] == fmt.Sprint(was+1) {
					fresh = m
				}
			}
			return fresh != nil
		})
		require.True(w, fresh.kill9())
	}},
	{"a process ends at each start until its kubelet waits for minutes", func(w *world) {
		w.cloud.set(func() { w.cloud.fails = errUnavailable })
		m := w.standby()
		require.True(w, m.kill9())
		w.awaitCondition("CrashLoopDegraded", "keeps exiting", 5*time.Minute+visible)
		w.must("a back-off of five minutes", 6*time.Minute, func() bool {
			return locked(&w.mutex, func() bool { return m.static.backOff == 5*time.Minute })
		})
		w.cloud.set(func() { w.cloud.fails = nil })
	}},
	{"an image cannot be pulled until the kubelet waits for minutes", func(w *world) {
		was, pulls := w.state().latest, counted(&w.mutex, &w.unpulled)
		failed := pulls()
		go w.operator.install(missingImage, 0, 2*time.Second)
		w.awaitCondition("ImageDegraded", "the former image stays in use", 2*visible)
		w.pass(4*time.Minute, nil)
		require.Greater(w, pulls(), failed+1, "no pull has failed")
		require.Equal(w, was, w.state().latest, "it has rolled out")
		w.operator.isPublished.Store(true)
		w.must("the rollout", 5*time.Minute+recovery, func() bool { return w.state().latest > was && w.healthy() })
	}},
	{"the image of a new revision has no cloud-controller-manager", func(w *world) {
		was := w.state().latest
		go w.operator.install(wrongImage-missingImage, 0, 2*time.Second)
		w.awaitCondition("ImageDegraded", "no such file or directory", 2*visible)
		require.Equal(w, was, w.state().latest, "it has rolled out")
		w.operator.install(missingImage-wrongImage, 0, 2*time.Second)
	}},
}

// waitsFor is a row in which a node waits for the cloud. The operator must say the words meanwhile.
func waitsFor(row, words string, set func(c *cloud, is bool)) twin {
	return twin{row, func(w *world) {
		w.cloud.set(func() { set(w.cloud, true) })
		rejoin(w)
		w.awaitCondition("NodeInitializationNotices", words, visible)
		w.cloud.set(func() { set(w.cloud, false) })
	}}
}

// answersWith returns a function that makes the cloud answer with an error, or not any more.
func answersWith(problem error) func(c *cloud, is bool) {
	return func(c *cloud, is bool) { c.fails = map[bool]error{true: problem}[is] }
}

// startsWithout is a row in which the leading process ends, and starts again while the cloud answers with an error.
func startsWithout(row, words string, problem error) twin {
	return twin{row, func(w *world) {
		// Several leaders that end one after the other are another fault.
		w.must("a leader that is settled", 5*time.Minute, func() bool { return w.facts().ledFor > 3*settling })
		w.cloud.set(func() { w.cloud.fails = problem })
		require.True(w, w.leader().kill9())
		w.awaitCondition("StaticPodsDegraded", words, visible)
		w.cloud.set(func() { w.cloud.fails = nil })
	}}
}

// cloudTwins are those of cloudFaults. A process that begins to lead while the cloud is down may look at no node until
// one waits. So no row whose node waits follows such a row without a rollout between them.
var cloudTwins = []twin{
	waitsFor("the cloud is down while a node waits for it",
		"the cloud's API answers with a server error", answersWith(errUnavailable)),
	waitsFor("the cloud asks for patience while a node waits for it",
		"the cloud throttles requests", answersWith(errThrottled)),
	waitsFor("the cloud answers from before the machine of a node that waits for it",
		"the cloud does not know the machine",
		func(c *cloud, is bool) { c.denies = is }),
	waitsFor("the certificate of the cloud has expired while a node waits for it",
		"the certificate of the cloud's API is not trusted", answersWith(errExpired)),
	startsWithout("the cloud is down when the leading process ends", "Service Unavailable", errUnavailable),
	{"the cloud is down when a rollout begins", func(w *world) {
		w.cloud.set(func() { w.cloud.fails = errUnavailable })
		w.configure(w.number())
		w.awaitCondition("PreflightNotices", "it is tried again at", visible)
		w.cloud.set(func() { w.cloud.fails = nil })
	}},
	startsWithout("the certificate of the cloud has expired when the leading process ends",
		"certificate has expired", errExpired),
	{"the cloud takes three seconds for each answer during a rollout", func(w *world) {
		w.cloud.set(func() { w.cloud.takes = 3 * time.Second })
		w.rollOut()
		w.cloud.set(func() { w.cloud.takes = 0 })
	}},
	startsWithout("the name of the cloud does not resolve when the leading process ends", "no such host", errUnresolved),
	{"the cloud revokes the credentials, and a process restarts", func(w *world) {
		n := w.number()
		w.cloud.accept(n)
		require.True(w, w.standby().kill9())
		w.awaitCondition("StaticPodsDegraded", "Authentication failed", visible)
		w.rotate(n)
	}},
}

// machineTwins are those of nodeFaults.
var machineTwins = []twin{
	{"a container runtime hangs before the installer starts", func(w *world) {
		m := w.standby()
		w.mutex.Lock()
		m.isStalled = true
		w.mutex.Unlock()
		w.configure(w.number())
		w.awaitCondition("InstallerPodStartDegraded", "node/"+m.name, 4*time.Minute)
		w.mutex.Lock()
		m.isStalled = false
		w.mutex.Unlock()
	}},
	{"a node crashes while it installs", func(w *world) {
		m := w.awaitInstaller(false)
		m.turnOff()
		w.awaitCondition("NodeControllerDegraded", m.name, 2*visible)
		m.reboot()
	}},
	{"all kubelets restart at once", func(w *world) {
		hang := func(is bool) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			for _, m := range w.machines {
				if m.isHung = is; m.static != nil { // Once it runs again, it has to probe.
					m.static.ccm.serves, m.static.shown = time.Now(), [7]any{}
				}
			}
		}
		hang(true)
		w.pass(3*time.Second, nil)
		hang(false)
	}},
	{"an installer pod is deleted", func(w *world) {
		m := w.awaitInstaller(false)
		require.True(w, w.deleteInstaller(m, func(key string) bool { return w.api.Remove("somebody", pods, key) }))
	}},
	{"an installer pod is evicted", func(w *world) {
		m := w.awaitInstaller(true)
		require.True(w, w.deleteInstaller(m, func(key string) bool {
			return w.api.Edit("somebody", pods, key, func(o object) bool {
				apitest.Meta(o)["deletionTimestamp"] = time.Now().Add(30 * time.Second).UTC().Format(time.RFC3339)
				apitest.Meta(o)["deletionGracePeriodSeconds"] = int64(30)
				return true
			})
		}))
	}},
	{"an installer is killed between the former manifest and the new one", func(w *world) {
		w.configure(w.number())
		w.must("a manifest to be away", 4*time.Minute, func() bool { return len(w.facts().taken) > 0 })
		m := w.machines[w.facts().taken[0]]
		w.note("FAULT the installer on %s is killed", m.name)
		w.mutex.Lock()
		defer w.mutex.Unlock()
		for key, p := range m.running {
			if strings.Contains(key, "/installer-") {
				p.end()
			}
		}
	}},
	{"the leader's Node is deleted without a cordon during a rollout", func(w *world) {
		w.awaitInstaller(false)
		m := w.leader()
		require.True(w, w.api.Remove("administrator", nodes, "/"+m.name))
		w.awaitCondition("ControlPlaneNodesDegraded", "node/"+m.name+" vanished", visible)
		m.register()
	}},
	{"the operator and the leading process are killed at once", func(w *world) {
		require.True(w, w.leader().kill9())
		w.operator.restart(2 * time.Second)
	}},
	{"the operator hangs for three minutes and goes on beside a new leader", func(w *world) {
		w.operator.freeze(3 * time.Minute)
		begun := time.Now()
		w.pass(time.Minute, nil) // The Node is not Ready, and its pods are evicted.
		w.operator.start()
		w.must("another operator", 3*time.Minute, func() bool {
			since, _ := w.operator.actsSince()
			return since.After(begun)
		})
		w.pass(2*time.Minute, nil)
	}},
}

// deleteInstaller removes the pod of the installer that works on a machine.
func (w *world) deleteInstaller(m *machine, remove func(key string) bool) bool {
	for _, o := range w.api.List(pods) {
		key := apitest.Key(o)
		status, _ := o["status"].(map[string]any)
		isOf := strings.HasPrefix(key, target+"/installer-") && strings.HasSuffix(key, "-"+m.name)
		if isOf && status["phase"] != "Succeeded" {
			w.note("FAULT pod %s is deleted", key)
			return remove(key)
		}
	}
	return false
}

// drainAway cordons a node, and waits until another process leads.
func (w *world) drainAway(m *machine) {
	for _, o := range w.api.List(pods) { // The lead does not leave a Node twice in a quarter of an hour.
		if key := apitest.Key(o); strings.HasPrefix(key, target+"/handover-") {
			w.api.Remove("administrator", pods, key)
		}
	}
	w.cordon(m.name, true)
	w.must("the lead to move", 2*time.Minute, func() bool { now := w.leader(); return now != nil && now != m })
	w.must("the drain to end", 2*time.Minute, func() bool { return w.facts().allReady })
}

// rebootTwins are those of rebootFaults.
var rebootTwins = []twin{
	{"each node is drained and reboots in turn, the leader's first", func(w *world) {
		first := w.leader()
		for _, m := range append([]*machine{first}, slices.DeleteFunc(locked(&w.mutex, w.masters), func(m *machine) bool {
			return m == first
		})...) {
			w.drainAway(m)
			before := w.leader()
			m.turnOff()
			w.pass(70*time.Second, nil)
			m.reboot()
			w.must("the node", 2*time.Minute, func() bool { return w.isNodeReady(m.name) })
			w.cordon(m.name, false)
			w.must("all processes", 2*time.Minute, func() bool { return w.facts().allReady })
			w.pass(30*time.Second, nil)
			require.Equal(w, before, w.leader(), "the lead has moved after the reboot of %s", m.name)
		}
	}},
	{"the leader's node is drained and reboots for five minutes, and the credentials change meanwhile", func(w *world) {
		m, n := w.leader(), w.number()
		w.drainAway(m)
		m.turnOff()
		w.cloud.accept(n)
		w.rotate(n)
		begun := w.now()
		w.must("a leader with the credentials", 2*time.Minute, func() bool { return w.facts().leads.password == password(n) })
		w.pass(5*time.Minute-(w.now()-begun), nil)
		m.reboot()
		w.must("the node", 2*time.Minute, func() bool { return w.isNodeReady(m.name) })
		w.cordon(m.name, false)
	}},
}

const (
	resources = "etc/kubernetes/static-pod-resources"
	synced    = resources + "/cloud-controller-manager-certs"
)

// damageFile damages a file of a node, and waits until it has the former content.
func (w *world) damageFile(m *machine, path string, damage func(path string) error) {
	w.Helper()
	path = filepath.Join(m.root, path)
	sound, err := os.ReadFile(path)
	require.NoError(w, err)
	w.note("FAULT %s is damaged", path)
	w.mutex.Lock()
	w.killed = time.Now()
	if strings.HasPrefix(filepath.Base(path), operand.ManifestFile) {
		m.static.ccm.strike()
	}
	w.mutex.Unlock()
	require.NoError(w, damage(path))
	w.must(path+" to be repaired", 2*time.Minute, func() bool {
		now, err := os.ReadFile(path)
		return err == nil && bytes.Equal(now, sound)
	})
}

func overwrite(path string) error { return os.WriteFile(path, []byte("damaged"), 0o600) }

// revisionDirectory returns the directory of a revision on a node.
func revisionDirectory(revision int64) string {
	return fmt.Sprintf("%s/cloud-controller-manager-pod-%d", resources, revision)
}

// fileTwins are those of fileFaults.
var fileTwins = []twin{
	{"an installer fails until the operator waits for minutes", func(w *world) {
		m := w.standby()
		failures := counted(&w.mutex, &m.unwritten)
		failed := failures()
		end, _ := failDisk(w, m, syscall.EROFS)
		w.configure(w.number())
		w.awaitCondition("NodeInstallerDegraded", "read-only file system", 4*time.Minute)
		w.must("the sixth failure", 8*time.Minute, func() bool { return failures() >= failed+6 })
		end()
	}},
	{"a directory of the next revision was half written by another process", func(w *world) {
		path := filepath.Join(w.standby().root, revisionDirectory(w.state().latest+1), "secrets/cloud-config/cloud.conf")
		require.NoError(w, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(w, os.WriteFile(path, []byte("[Glob"), 0o600))
		w.rollOut()
		content, err := os.ReadFile(path)
		require.NoError(w, err)
		require.Contains(w, string(content), "floating-network-id")
	}},
	{"a manifest is deleted", func(w *world) {
		m := w.standby()
		w.damageFile(m, manifestPath, os.Remove)
		w.awaitEvent("NodeFilesRepaired", "node/"+m.name)
	}},
	{"the manifest of the leader is edited", func(w *world) {
		m := w.leader()
		w.damageFile(m, manifestPath, func(path string) error {
			content, err := os.ReadFile(path)
			require.NoError(w, err)
			return os.WriteFile(path, append(content, damageMark...), 0o600)
		})
		w.awaitEvent("NodeFilesRepaired", "node/"+m.name)
	}},
	{"the directory of the running revision is deleted on a node", func(w *world) {
		m := w.standby()
		directory := revisionDirectory(w.state().latest)
		w.damageFile(m, directory+"/secrets/cloud-config/cloud.conf", func(string) error {
			return os.RemoveAll(filepath.Join(m.root, directory))
		})
	}},
	{"the leader's token is damaged on its node", func(w *world) {
		w.damageFile(w.leader(), synced+"/secrets/kube-token/token", overwrite)
	}},
	{"the client CA is damaged on a node", func(w *world) {
		w.damageFile(w.standby(), synced+"/configmaps/client-ca/ca-bundle.crt", overwrite)
		w.awaitEvent("SyncedFilesRepaired", "configmap/client-ca on node")
	}},
	{"the serving certificate is damaged on a node", func(w *world) {
		w.damageFile(w.standby(), synced+"/secrets/serving-cert/tls.crt", overwrite)
		w.awaitEvent("SyncedFilesRepaired", "secret/serving-cert on node")
	}},
	{"a directory of synced files cannot be written while a token changes", func(w *world) {
		m := w.standby()
		directory := filepath.Join(m.root, synced, "secrets")
		require.NoError(w, os.Rename(directory, directory+".away"))
		require.NoError(w, os.WriteFile(directory, nil, 0o600)) // A superuser may write into every directory.
		w.pass(2*time.Second, nil)
		require.True(w, w.api.Remove("somebody", secrets, target+"/kube-token"))
		w.awaitCondition("NodeFilesDegraded", "secret/kube-token", visible)
		require.NoError(w, os.Remove(directory))
		require.NoError(w, os.Rename(directory+".away", directory))
		w.must("the token on the node", 2*time.Minute, func() bool {
			token, err := os.ReadFile(filepath.Join(directory, "kube-token/token"))
			secret := apitest.Load[corev1.Secret](w.api.Get(secrets, target+"/kube-token"))
			return err == nil && secret != nil && bytes.Equal(token, secret.Data["token"])
		})
	}},
	{"a file-syncer is killed", func(w *world) {
		m := w.standby()
		w.mutex.Lock()
		m.static.endSyncer()
		w.mutex.Unlock()
		path := synced + "/configmaps/client-ca/ca-bundle.crt"
		go func() { // Its kubelet starts it again.
			pause(w.ctx, 2*time.Second)
			w.mutex.Lock()
			defer w.mutex.Unlock()
			m.static.startSyncer()
		}()
		w.damageFile(m, path, overwrite)
	}},
}

// deleted is a row in which objects are deleted at once, and must exist again soon.
func deleted(row string, objects func(w *world) []string) twin {
	return twin{row, func(w *world) {
		for _, object := range objects(w) {
			require.True(w, deleteObject(w, inTarget(object)), object)
		}
		w.pass(20*time.Second, nil)
		for _, object := range objects(w) {
			kind, key, _ := strings.Cut(inTarget(object), " ")
			require.NotNil(w, w.api.Get(resource(groups[kind], kind), key), object)
		}
	}}
}

// always returns a function that returns the objects.
func always(objects ...string) func(*world) []string { return func(*world) []string { return objects } }

// copiesOf returns a function that returns the copies of objects in the latest revision.
func copiesOf(objects ...string) func(*world) []string {
	return func(w *world) (all []string) {
		for _, object := range objects {
			all = append(all, fmt.Sprintf("%s-%d", object, w.state().latest))
		}
		return all
	}
}

// withoutInput is a row in which an input and its copy are missing until the operator says so.
func withoutInput(row, name, words string, inputs ...string) twin {
	return twin{row, func(w *world) {
		var saved []object
		for _, what := range inputs {
			kind, key, _ := strings.Cut(what, " ")
			saved = append(saved, w.api.Get(resource("", kind), key))
			require.True(w, deleteObject(w, what))
		}
		w.awaitCondition(name, words, 2*visible)
		for _, o := range saved {
			w.api.Put("administrator", fresh(o))
		}
	}}
}

// fresh returns an object as a client creates it again.
func fresh(o object) object {
	again := maps.Clone(o)
	again["metadata"] = map[string]any{"name": apitest.Meta(o)["name"], "namespace": apitest.Meta(o)["namespace"]}
	return again
}

// objectTwins are those of objectFaults.
var objectTwins = []twin{
	deleted("the copies of the running revision are deleted",
		copiesOf("secrets cloud-config", "secrets cloud-credentials", "configmaps cloud-controller-manager-pod")),
	deleted("the status of the running revision is deleted, and with it everything that it owns",
		copiesOf("configmaps revision-status")),
	deleted("the objects that revisions are made of are deleted",
		always("secrets cloud-config", "secrets cloud-credentials",
			"secrets accepted-inputs", "configmaps cloud-controller-manager-pod", "configmaps cloud-config",
			"configmaps kubeconfigs", "configmaps trusted-ca")),
	deleted("the serving certificate's signer, its CA and the token are deleted", always("secrets serving-cert",
		targetObjects[len(targetObjects)-1], "configmaps serving-ca", "secrets kube-token")),
	deleted("the ServiceAccounts are deleted",
		always("serviceaccounts cloud-controller-manager", "serviceaccounts file-syncer",
			"serviceaccounts installer-sa")),
	{"the lease is deleted", func(w *world) {
		holder := w.leader()
		_, had := deleteLease(w)
		require.True(w, had())
		w.awaitEvent("LeaseRestored", "lease/cloud-controller-manager")
		w.pass(time.Minute, func() bool { require.Equal(w, holder, w.leader()); return false })
	}},
	withoutInput("the cloud configuration is deleted",
		"CloudConfigDegraded", "configmap/cloud-provider-config in openshift-config",
		"configmaps openshift-config/cloud-provider-config", "configmaps openshift-config-managed/kube-cloud-config"),
	withoutInput("the credentials are deleted",
		"CredentialsDegraded", "secret/openstack-cloud-credentials", "secrets "+credentialsKey),
	{"an object of a revision cannot be written", func(w *world) {
		w.network.set(func() {
			w.network.refuses = func(r apitest.Request) int {
				isWrite := r.Verb == "update" || r.Verb == "patch"
				return map[bool]int{true: 403}[isWrite && r.Resource == configMaps && r.Name == "cloud-controller-manager-pod"]
			}
		})
		w.configure(w.number())
		w.awaitCondition("TargetConfigControllerDegraded", "configmap/cloud-controller-manager-pod in "+target, 2*visible)
		w.network.set(func() { w.network.refuses = nil })
	}},
	{"the observed configuration is overwritten", func(w *world) {
		observed := func(o object) map[string]any { spec, _ := o["spec"].(map[string]any); return spec }
		w.api.Edit("somebody", operators, operatorKey, func(o object) bool {
			observed(o)["observedConfig"] = map[string]any{
				"extendedArguments": map[string]any{"v": []any{"9"}}, "scribble": true}
			return true
		})
		w.must("the correction", 20*time.Second, func() bool {
			return !strings.Contains(fmt.Sprint(observed(w.api.Get(operators, operatorKey))["observedConfig"]), "scribble")
		})
	}},
	{"the status of the operator's resource is wiped", func(w *world) {
		w.api.Edit("somebody", operators, operatorKey, func(o object) bool { o["status"] = map[string]any{}; return true })
	}},
	{"the operator's resource is deleted", func(w *world) {
		require.True(w, w.api.Remove("somebody", operators, operatorKey))
		w.pass(5*time.Second, nil)
		w.install()
	}},
	{"the operand's namespace is deleted", func(w *world) {
		w.note("FAULT namespace %s is deleted", target) // Its role bindings stay: a request without rights breaks a rule.
		for _, kind := range []string{"secrets", "configmaps", "pods", "leases", "serviceaccounts", "services"} {
			for _, o := range w.api.List(resource(groups[kind], kind)) {
				if strings.HasPrefix(apitest.Key(o), target+"/") {
					w.api.Remove("namespace-controller", resource(groups[kind], kind), apitest.Key(o))
				}
			}
		}
		w.rules.leaseWritten = time.Now()
		w.isBound.Store(false)
		w.pass(10*time.Second, nil)
		w.install()
	}},
}

// slowly is a row in which the API server takes up to half a second for each answer.
func slowly(row string, play func(w *world)) twin {
	return twin{row, func(w *world) {
		w.network.set(func() { w.network.slow = 500 * time.Millisecond })
		play(w)
		w.network.set(func() { w.network.slow = 0 })
	}}
}

// withoutAPI is a row with an outage of the API server while the first node installs.
func withoutAPI(row string, outage time.Duration) twin {
	return twin{row, func(w *world) {
		w.awaitInstaller(false)
		end, had := apiDown(w)
		w.pass(outage, nil)
		end()
		require.True(w, had())
	}}
}

// outageTwins are those of controlPlaneFaults.
var outageTwins = []twin{
	withoutAPI("the API server is down for 10 seconds during a rollout", 10*time.Second),
	withoutAPI("the API server is down for a minute during a rollout", time.Minute),
	withoutAPI("the API server is down for five minutes during a rollout", 5*time.Minute),
	slowly("every request waits up to half a second for the API server during a rollout", (*world).rollOut),
	slowly("every request waits for the API server while the credentials are rotated", func(w *world) {
		n := w.number()
		w.cloud.accept(n)
		w.rotate(n)
		w.must("a leader with the credentials", 2*time.Minute, func() bool { return w.facts().leads.password == password(n) })
	}),
	{"the API server answers the operator and the operand with 429 during a rollout", func(w *world) {
		refusals := w.network.counted(&w.network.refused)
		refused := refusals()
		w.network.set(func() { w.network.throttles = 0.5 })
		w.rollOut()
		w.network.set(func() { w.network.throttles = 0 })
		require.Greater(w, refusals(), refused+10)
	}},
}

// skewedRollout moves the clock of the leader's node, rolls a revision out, corrects the clock, and rolls another one
// out.
func skewedRollout(row string, by time.Duration) twin {
	return twin{row, func(w *world) {
		m := w.leader()
		w.note("FAULT the clock of %s is %s ahead", m.name, by)
		w.skewed.Store(&skew{m.name, by})
		w.rollOut()
		w.must("a leader", 4*time.Minute, func() bool { return w.leader() != nil })
		w.skewed.Store(nil)
		w.configure(w.number())
	}}
}

// clockTwins are those of nodes with a wrong clock.
var clockTwins = []twin{
	skewedRollout("the clock of the leader's node is two hours ahead during a rollout", 2*time.Hour),
	skewedRollout("the clock of the leader's node is five minutes behind during a rollout", -5*time.Minute),
}

// The CCMs give up, and the next operator issues another token. Their lease has to expire then.
func TestTheTokenEndsWhileTheOperatorIsAway(t *testing.T) {
	simulate(t, 1, func(w *world) {
		w.tokenLifetime = 20 * time.Minute
		w.installed()
		w.playTwin(twin{"the operator is away while the token ends", func(w *world) {
			w.operator.kill()
			w.must("the leader to give up", 40*time.Minute, func() bool { return w.leader() == nil })
			require.NotZero(w, w.expired.Load())
			w.operator.restart(time.Second)
		}})
		w.rest(time.Minute)
	})
}
