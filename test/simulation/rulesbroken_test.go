package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// wellFacts are those of a cluster that is installed and well.
func wellFacts(leader *process) facts {
	is := func(status string) condition { return condition{status, "AsExpected", "as expected"} }
	return facts{
		now: time.Now(), leaders: []*process{leader}, ready: []string{"m0", "m1", "m2"}, up: true, allReady: true,
		exits: map[string]int{}, renewed: time.Now(), leads: inputs{password: password(0)}, ledFor: 10 * time.Minute,
		state: state{latest: 2, settled: true, nodes: "latest 2", conditions: map[string]condition{
			"Available": is("True"), "Progressing": is("False"), "Degraded": is("False"),
		}},
	}
}

// ruleBreakers change the facts of each second, so that a rule is broken.
var ruleBreakers = map[string]func(w *world, f *facts){
	"two leaders": func(_ *world, f *facts) { f.leaders = append(f.leaders, f.leaders[0]) },
	"two leaders after somebody wrote the lease": func(w *world, f *facts) {
		w.rules.leaseWritten = w.start
		f.leaders = append(f.leaders, f.leaders[0])
	},
	"nobody leads": func(w *world, f *facts) {
		f.leaders, f.renewed = nil, w.start
	},
	"nobody leads, and the operator has not seen the renewal": func(w *world, f *facts) {
		f.leaders, f.renewed = nil, w.start
		w.operator.remembered = time.Now()
	},
	"nobody leads, and each leader has released its lease": func(w *world, f *facts) {
		f.leaders, f.renewed = nil, w.start
		w.rules.isReleased = true
	},
	"too many static pods are away": func(_ *world, f *facts) { f.taken = []string{"m0", "m1", "m2"} },
	"the operator takes the last CCM away": func(w *world, f *facts) {
		if w.now() > 10*time.Second {
			f.ready, f.taken = nil, []string{"m0"}
		}
	},
	"credentials are held back": func(w *world, f *facts) {
		w.cloud.accept(0)
		w.rotated = w.start
		f.leads.password = password(7)
	},
	"rejected credentials are not named": func(w *world, f *facts) { w.cloud.accept(7); f.leads.password = password(7) },
	"a rollout stands still":             func(_ *world, f *facts) { f.state.settled = false },
	"a kubelet backs off":                func(_ *world, f *facts) { f.state.settled, f.exits["m0"] = false, 2 },
	"a CCM is not Ready":                 func(_ *world, f *facts) { f.state.settled, f.allReady = false, false },
	"a pod of the operator has failed": func(w *world, f *facts) {
		f.state.settled = false
		w.api.Put("test", w.api.Encode(&corev1.Pod{
			ObjectMeta: named(target, "handover-prove-m0"), Status: corev1.PodStatus{Phase: corev1.PodFailed}}))
	},
	"Available is not true":                   func(_ *world, f *facts) { f.ledFor, f.deaths = time.Second, 1 },
	"Available is not true while leaders end": func(_ *world, f *facts) { f.ledFor, f.deaths = time.Second, 5 },
	"Degraded is not true": func(_ *world, f *facts) {
		f.state.conditions["Degraded"] = condition{"True", "X", "the cloud rejects the credentials"}
	},
	"Progressing is not true": func(_ *world, f *facts) {
		f.state.conditions["Progressing"] = condition{"True", "RollingOut", "0 of 3 control-plane nodes run revision 2"}
	},
	"no crash loop": func(_ *world, f *facts) {
		f.exits["m1"] = 2
		f.state.conditions["Degraded"] = condition{"True", "X", "pod/cloud-controller-manager-m1 keeps exiting"}
	},
	"too many preflights":          func(_ *world, f *facts) { f.preflights = mostPreflights + 1 },
	"a condition without a reason": func(_ *world, f *facts) { f.state.conditions["Degraded"] = condition{status: "True"} },
	"the Node of a machine that is gone stays": func(w *world, _ *facts) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.machines["w1"].exists = false
	},
}

// alsoBreaks has the rules that another bound is of.
var alsoBreaks = map[string]string{
	"two leaders after somebody wrote the lease":              "two leaders",
	"nobody leads, and the operator has not seen the renewal": "nobody leads",
	"nobody leads, and each leader has released its lease":    "nobody leads",
	"a kubelet backs off":                                     "a rollout stands still",
	"a CCM is not Ready":                                      "a rollout stands still",
	"a pod of the operator has failed":                        "a rollout stands still",
	"Available is not true while leaders end":                 "Available is not true",
}

// boundOf is when a rule is to be broken: an excuse that ends leaves the rule its own bound.
func boundOf(name string) time.Duration {
	if alsoBreaks[name] == "a rollout stands still" {
		return bounds[name].limit + bounds["a rollout stands still"].limit
	}
	return bounds[name].limit
}

func TestEachRuleOfASecondIsBrokenByWhatItForbids(t *testing.T) {
	for name, breaks := range ruleBreakers {
		t.Run(name, func(t *testing.T) {
			simulate(t, 1, func(w *world) {
				w.isTrial = true
				for _, o := range w.api.List(nodes) {
					w.api.Edit("test", nodes, apitest.Key(o), func(o object) bool {
						delete(o["spec"].(map[string]any), "taints")
						return true
					})
				}
				w.rules.quiet = w.start
				w.operator.acts(true)
				leader := &process{identity: "m0_1"}
				play := func(change func(w *world, f *facts)) {
					for range 400 {
						<-time.After(time.Second)
						f := wellFacts(leader)
						change(w, &f)
						w.rules.apply(f)
					}
				}
				play(func(*world, *facts) {})
				require.Empty(t, w.broken(), "the rule forbids what is well")
				w.start = time.Now()
				play(breaks)
				broken := cmp.Or(alsoBreaks[name], name)
				require.True(t, slices.ContainsFunc(w.broken(), func(v string) bool { return rule(v) == broken }), "%v", w.broken())
				require.InDelta(t, boundOf(name).Seconds(), w.first[broken].Sub(w.start).Seconds(), 12, "%s", bounds[name].why)
			})
		})
	}
}

// restBreakers break a rule of the end, or one that no second shows.
var restBreakers = map[string]func(w *world){
	"a write at rest": func(w *world) {
		w.api.Put(operatorUser+"#1", w.api.Encode(&corev1.ConfigMap{ObjectMeta: named(target, "x")}))
	},
	"renewals repeat": func(w *world) {
		for range len(renewed) + 1 {
			w.api.Remove("test", secrets, target+"/kube-token")
			w.api.Put(operatorUser+"#1", w.api.Encode(&corev1.Secret{ObjectMeta: named(target, "kube-token")}))
		}
	},
	"a token has expired": func(w *world) { w.expired.Add(1) },
	"the memory grows at rest": func(w *world) {
		for range 1000 {
			go func() { <-w.ctx.Done() }()
		}
	},
	"too many objects are kept": func(w *world) {
		for i := range most[configMaps] + 1 {
			w.api.Put("test", w.api.Encode(&corev1.ConfigMap{ObjectMeta: named(target, fmt.Sprintf("cloud-config-%d", i))}))
		}
	},
	"a pod is left over": func(w *world) {
		w.api.Put("test", w.api.Encode(&corev1.Pod{ObjectMeta: named(target, "x"), Status: corev1.PodStatus{Phase: corev1.PodRunning}}))
	},
	"a static pod of another revision": func(w *world) {
		pod := &corev1.Pod{ObjectMeta: named(target, "cloud-controller-manager-m0")}
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		w.api.Put("test", w.api.Encode(pod))
	},
	"a taint is left over": func(*world) {},
	"an annotation is left over": func(w *world) {
		w.api.Edit("test", nodes, "/w0", func(o object) bool {
			apitest.Meta(o)["annotations"] = map[string]any{operatorclient.NodeDeletionAnnotation: "Confirmed"}
			return true
		})
	},
	"a living machine has no Node": func(w *world) { w.api.Remove("test", nodes, "/w0") },
	"a damaged manifest is left over": func(w *world) {
		m := w.machines["m0"]
		m.turnOff()
		_ = os.MkdirAll(filepath.Join(m.root, filepath.Dir(manifestPath)), 0o755)
		_ = os.WriteFile(filepath.Join(m.root, manifestPath), []byte(damageMark), 0o600)
	},
	"not well at rest":            func(*world) {},
	"a condition flaps":           func(w *world) { w.rules.changes["Degraded"] = make([]time.Time, flaps+1) },
	"a condition changes at rest": func(w *world) { w.rules.changes["Degraded"] = []time.Time{time.Now().Add(time.Hour)} },
	"two operators act": func(w *world) {
		w.operator.acts(true)
		w.operator.acts(true)
	},
	"a secret outside of a Secret": func(w *world) {
		w.api.Put(operatorUser+"#1", w.api.Encode(&corev1.ConfigMap{ObjectMeta: named(target, "y"),
			Data: map[string]string{"message": "login with " + password(0) + " failed"}}))
	},
	"a request is denied": func(w *world) {
		_ = newRights(w).authorize(operatorUser+"#1", apitest.Request{Verb: "delete", Resource: nodes, Name: "w0"})
	},
}

func TestEachRuleOfTheEndIsBrokenByWhatItForbids(t *testing.T) {
	for name, breaks := range restBreakers {
		t.Run(name, func(t *testing.T) {
			simulate(t, 1, func(w *world) {
				w.isTrial = true
				go func() {
					pause(w.ctx, tidied+10*time.Second)
					breaks(w)
				}()
				w.rest(30 * time.Second)
				require.True(t, slices.ContainsFunc(w.broken(), func(v string) bool { return rule(v) == name }), "%v", w.broken())
			})
		})
	}
}

// waitBreakers break what a wait reports, or something that is no moment of a rest.
var waitBreakers = map[string]func(w *world){
	"the installation does not end": func(w *world) {
		w.network.set(func() { w.network.isDown = true })
		w.installed()
	},
	"not done after the last fault": func(w *world) { w.recovered() },
	"a policy fails": func(w *world) {
		w.api.Edit("test", policyResource, "/openshift-cloud-controller-manager-node-deletion", func(o object) bool {
			o["spec"].(map[string]any)["matchConditions"] = []any{map[string]any{"name": "x", "expression": "no such thing"}}
			return true
		})
	},
	"a policy denies a request of the operator": func(w *world) {
		after := runtime.DeepCopyJSON(w.api.Get(nodes, "/w0"))
		after["spec"].(map[string]any)["unschedulable"] = true
		_ = w.policies.admit(operatorUser+"#1", apitest.Request{Verb: "update", Resource: nodes, Name: "w0"}, w.api.Get(nodes, "/w0"), after)
	},
	"the Node of a living machine is deleted": func(w *world) {
		w.cloud.denies = true
		w.api.Edit("test", nodes, "/w0", func(o object) bool {
			apitest.Meta(o)["annotations"] = map[string]any{operatorclient.NodeDeletionAnnotation: "Allowed"}
			setReady(o, "Unknown", "NodeStatusUnknown")
			return true
		})
		(&process{world: w, ctx: w.ctx}).monitor()
	},
}

func TestEachRuleOfAWaitIsBrokenByWhatItForbids(t *testing.T) {
	for name, breaks := range waitBreakers {
		t.Run(name, func(t *testing.T) {
			simulate(t, 1, func(w *world) {
				w.isTrial = true
				breaks(w)
				require.True(t, slices.ContainsFunc(w.broken(), func(v string) bool { return rule(v) == name }), "%v", w.broken())
			})
		})
	}
}

// unbroken are the rules that only a defect breaks.
var unbroken = []string{"the operator ends with an error", "a manifest that is none"}

func TestEachRuleIsBrokenOnce(t *testing.T) {
	var rules []string
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`violate\("([^"]+)"`).FindAllStringSubmatch(string(content), -1) {
			rules = append(rules, match[1])
		}
	}
	broken := slices.Concat(slices.Collect(maps.Keys(ruleBreakers)), slices.Collect(maps.Keys(restBreakers)),
		slices.Collect(maps.Keys(waitBreakers)), unbroken)
	require.Subset(t, broken, rules)
}
