package transitions

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func run(transitions ...Transition) Story { return Story{Name: "story", Transitions: transitions} }

func TestCompareNamesEachDifference(t *testing.T) {
	for _, tc := range []struct {
		name                string
		recorded, simulated []Story
		want                []string
	}{
		{"the same", []Story{run(Transition{"a", 1}, Transition{"b", 50})}, []Story{run(Transition{"a", 1}, Transition{"b", 50})}, nil},
		{"three seconds, and a fifth", []Story{run(Transition{"a", 2}, Transition{"b", 50})},
			[]Story{run(Transition{"a", 5}, Transition{"b", 60})}, nil},
		{"more than three seconds", []Story{run(Transition{"a", 2})}, []Story{run(Transition{"a", 5.2})},
			[]string{"a at 2.0 s: 5.2 s in the simulation"}},
		{"more than a fifth", []Story{run(Transition{"a", 50})}, []Story{run(Transition{"a", 39})},
			[]string{"a at 50.0 s: 39.0 s in the simulation"}},
		{"one is missing", []Story{run(Transition{"a", 2}, Transition{"a", 4})}, []Story{run(Transition{"a", 2})},
			[]string{"a (2) at 4.0 s: not in the simulation"}},
		{"one more in each run", []Story{run()}, []Story{run(Transition{"a", 2}), run(Transition{"a", 3})},
			[]string{"a: only in the simulation, at 2.0 to 3.0 s"}},
		{"one more in one of two runs", []Story{run()}, []Story{run(Transition{"a", 2}), run()}, nil},
		{"the range of the runs", []Story{run(Transition{"a", 30}), run(Transition{"a", 40})},
			[]Story{run(Transition{"a", 49}), run(Transition{"a", 80})},
			[]string{"a at 30.0 to 40.0 s: 49.0 to 80.0 s in the simulation"}},
		{"a condition that is Unknown", []Story{run(Transition{"Available=Unknown", 1})}, []Story{run()}, nil},
		{"the next leader after a death, and what follows",
			[]Story{{Death, []Transition{{"a", 50}, {leaseAcquired, 100}, {"b", 110}}}},
			[]Story{{Death, []Transition{{"a", 70}, {leaseAcquired, 176}, {"b", 190}}}},
			[]string{"a at 50.0 s: 70.0 s in the simulation", "b at 110.0 s: 190.0 s in the simulation"}},
		{"a back-off of a kubelet in a reboot, and no more",
			[]Story{{Reboot, []Transition{{"a", 10}, {"3 cloud-controller-managers are Ready", 18.3}, {"b", 42.2}}}},
			[]Story{{Reboot, []Transition{{"a", 18}, {"3 cloud-controller-managers are Ready", 26.4}, {"b", 66.6}}}},
			[]string{"a at 10.0 s: 18.0 s in the simulation", "b at 42.2 s: 66.6 s in the simulation"}},
		{"another order", []Story{run(Transition{"a", 100}, Transition{"b", 110})},
			[]Story{run(Transition{"b", 100}, Transition{"a", 110})}, []string{"b comes before a in the simulation"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, Compare(tc.recorded, tc.simulated))
		})
	}
}

func TestTableShowsBothSides(t *testing.T) {
	require.Equal(t, "| transition | cluster | simulation |\n|---|---|---|\n| a | 1.0 s | 1.5 to 2.0 s |\n| b | 3.0 s | – |\n",
		Table([]Story{run(Transition{"a", 1}, Transition{"b", 3})}, []Story{run(Transition{"a", 1.5}), run(Transition{"a", 2})}))
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	record := &Record{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Commit: "abc", Stories: []Story{run(Transition{"a", 1.2345})}}
	require.NoError(t, record.Write(path))
	got, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, []Story{run(Transition{"a", 1.2})}, got.Of("story"))
	require.Empty(t, got.Of("another"))
}

func TestTheRecorderNamesWhatChanges(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewRecorder(func() time.Time { return now })
	object := func(fields map[string]any) map[string]any { return fields }
	node := func(ready string, taints ...any) map[string]any {
		return object(map[string]any{"spec": map[string]any{"taints": taints}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		}})
	}
	static := func(ready string) map[string]any {
		return object(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}}})
	}
	taint := map[string]any{"key": uninitialized}
	r.See("nodes", "m0", node("True", taint))
	r.See("pods", "cloud-controller-manager-m0", static("True"))
	r.Begin("story")
	for i, see := range []func(){
		func() { r.See("nodes", "m0", node("True")) },
		func() { r.See("nodes", "m0", node("Unknown")) },
		func() { r.See("pods", "cloud-controller-manager-m0", nil) },
		func() {
			r.See("pods", "preflight", object(map[string]any{"status": map[string]any{"phase": "Running"}}))
		},
		func() {
			r.See("leases", operand, object(map[string]any{"spec": map[string]any{"holderIdentity": "m1_x"}}))
		},
		func() { r.See("leases", operand, object(map[string]any{"spec": map[string]any{"holderIdentity": ""}})) },
		func() {
			r.See("clusteroperators", operand, object(map[string]any{"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Degraded", "status": "True"}, map[string]any{"type": "Upgradeable", "status": "True"},
			}}}))
		},
		func() {
			r.See("cloudcontrollermanagers", "cluster", object(map[string]any{"status": map[string]any{
				"latestAvailableRevision": int64(2),
				"nodeStatuses":            []any{map[string]any{"nodeName": "m0", "currentRevision": int64(0), "targetRevision": int64(2)}},
			}}))
		},
		func() {
			r.See("cloudcontrollermanagers", "cluster", object(map[string]any{"status": map[string]any{
				"latestAvailableRevision": int64(2),
				"nodeStatuses":            []any{map[string]any{"nodeName": "m0", "currentRevision": int64(2)}},
			}}))
		},
	} {
		now = time.Unix(int64(i+1), 0)
		see()
		see() // An object that shows nothing new.
	}
	want := run(Transition{nodeInitialized, 1}, Transition{nodeNotReady, 2}, Transition{"0 cloud-controller-managers are Ready", 3},
		Transition{"a pod of preflight has started", 4}, Transition{leaseAcquired, 5}, Transition{"Degraded=True", 7},
		Transition{"a new revision", 8}, Transition{"a node has a target", 8}, Transition{"a node has its revision", 9})
	got := r.End()
	require.Equal(t, want, got)
	require.Equal(t, run(Transition{"Degraded=True", 2}, Transition{"a new revision", 3}, Transition{"a node has a target", 3},
		Transition{"a node has its revision", 4}), got.since(leaseAcquired))
}

func TestAValueOfAConditionCountsOnceItHasLastedForASecond(t *testing.T) {
	story := run(Transition{"Available=Unknown", 1}, Transition{"Degraded=False", 1.5}, Transition{"Available=False", 1.9},
		Transition{"Available=True", 3})
	require.Equal(t, run(Transition{"Degraded=False", 1.5}, Transition{"Available=False", 1.9}, Transition{"Available=True", 3}),
		story.lasting())
}
