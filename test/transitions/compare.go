package transitions

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A transition may come within a fifth of its time, or within three seconds.
const (
	share   = 0.2
	seconds = 3.0
)

// spread is how many seconds the times of a story vary from a transition on.
type spread struct {
	from    string
	seconds float64
	why     string
}

// spreads has those of each story, in the order of their transitions.
var spreads = map[string][]spread{
	Death: {{leaseAcquired, 57, "the dead leader has renewed the lease up to 26 s before, and a standby looks again " +
		"after 26 to 57 s (leaderelection.JitterFactor)"}},
	Reboot: {
		{"1 cloud-controller-managers are Ready", 3, "a hand-over starts two pods and ends two processes, one after the " +
			"other, each up to a second later: runs of the simulation are 3 s apart, and there is one recording"},
		{"3 cloud-controller-managers are Ready", 15, "a kubelet that fails to start a pod waits for 10 to 15 s " +
			"(kubelet.go: backOffPeriod, pod_workers.go: workerBackOffPeriodJitterFactor); two recordings were 8 and 12 s " +
			"apart from here on"},
	},
}

// tolerance returns how many seconds a transition may differ at a time.
func tolerance(at float64) float64 { return max(seconds, share*at) }

// between is the first and the last time of a transition in several runs.
type between struct{ first, last float64 }

// Compare returns how simulated runs of a story differ from recorded ones. Transitions correspond by their names and
// occurrences. What is random on a cluster, as the retries of a leader election, differs among runs, so the times of
// several runs are a range. The times of a story in spreads vary more from a transition on.
func Compare(recorded, simulated []Story) []string {
	cluster, model := occurrences(recorded), occurrences(simulated)
	var differences []string
	var more float64
	for _, name := range byTime(cluster) {
		r, m := cluster[name], model[name]
		for _, s := range spreads[recorded[0].Name] {
			if name == s.from {
				more = s.seconds
			}
		}
		switch {
		case len(m) == 0:
			differences = append(differences, fmt.Sprintf("%s at %.1f s: not in the simulation", name, r[0]))
		case rangeOf(m).first > rangeOf(r).last+tolerance(rangeOf(r).last)+more ||
			rangeOf(m).last < rangeOf(r).first-tolerance(rangeOf(r).first)-more:
			differences = append(differences, fmt.Sprintf("%s at %s: %s in the simulation", name, rangeOf(r), rangeOf(m)))
		}
	}
	for _, name := range byTime(model) {
		if len(cluster[name]) == 0 && len(model[name]) == len(simulated) {
			differences = append(differences, fmt.Sprintf("%s: only in the simulation, at %s", name, rangeOf(model[name])))
		}
	}
	return append(differences, disorder(recorded, simulated)...)
}

// disorder returns the pairs of neighbors that every recorded run has in one order, further apart than the tolerance in
// seconds, and every simulated run in the other one.
func disorder(recorded, simulated []Story) []string {
	var differences []string
	cluster := occurrences(recorded)
	names := byTime(cluster)
	for i := range max(0, len(names)-1) {
		one, other := names[i], names[i+1]
		isOrdered := rangeOf(cluster[one]).last+seconds < rangeOf(cluster[other]).first
		isReversed := len(simulated) > 0
		for _, s := range simulated {
			times := occurrences([]Story{s})
			isReversed = isReversed && len(times[one]) > 0 && len(times[other]) > 0 && times[one][0] > times[other][0]
		}
		if isOrdered && isReversed {
			differences = append(differences, fmt.Sprintf("%s comes before %s in the simulation", other, one))
		}
	}
	return differences
}

// occurrences returns the times of each occurrence in all runs. A condition is Unknown until the controllers report,
// which takes about a second.
func occurrences(stories []Story) map[string][]float64 {
	times := map[string][]float64{}
	for _, story := range stories {
		count := map[string]int{}
		for _, t := range story.Transitions {
			if strings.HasSuffix(t.Name, "=Unknown") {
				continue
			}
			count[t.Name]++
			name := t.Name
			if count[t.Name] > 1 {
				name = fmt.Sprintf("%s (%d)", t.Name, count[t.Name])
			}
			times[name] = append(times[name], t.Seconds)
		}
	}
	return times
}

func rangeOf(times []float64) between { return between{slices.Min(times), slices.Max(times)} }

func (b between) String() string {
	if math.Abs(b.last-b.first) < 0.05 {
		return fmt.Sprintf("%.1f s", b.first)
	}
	return fmt.Sprintf("%.1f to %.1f s", b.first, b.last)
}

// byTime returns the names, sorted by their first times.
func byTime(times map[string][]float64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		if x, y := rangeOf(times[a]).first, rangeOf(times[b]).first; x != y {
			return int(math.Copysign(1, x-y))
		}
		return strings.Compare(a, b)
	})
}

// Table shows recorded and simulated runs of a story side by side, in Markdown, and what else they may differ by.
func Table(recorded, simulated []Story) string {
	cluster, model := occurrences(recorded), occurrences(simulated)
	all := maps.Clone(model)
	maps.Copy(all, cluster)
	var b strings.Builder
	for _, s := range spreads[recorded[0].Name] {
		fmt.Fprintf(&b, "From %q on, the times may differ by %.0f s more: %s.\n\n", s.from, s.seconds, s.why)
	}
	b.WriteString("| transition | cluster | simulation |\n|---|---|---|\n")
	for _, name := range byTime(all) {
		show := func(times []float64) string {
			if len(times) == 0 {
				return "–"
			}
			return rangeOf(times).String()
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, show(cluster[name]), show(model[name]))
	}
	return b.String()
}
