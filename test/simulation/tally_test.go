package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// tally is what the seeds of a run have shown together.
type tally struct {
	seeds, violations  int
	simulated, longest time.Duration
	// drawn and effective count the faults by kind, pairs the seeds by two kinds.
	drawn, effective, pairs map[string]int
	recovered               map[string]time.Duration
	checks                  map[string]int
	excuses                 map[string]map[string]int
}

func newTally() *tally {
	return &tally{drawn: map[string]int{}, effective: map[string]int{}, pairs: map[string]int{},
		recovered: map[string]time.Duration{}, checks: map[string]int{}, excuses: map[string]map[string]int{}}
}

func (a *tally) add(out outcome) {
	a.seeds, a.violations = a.seeds+1, a.violations+len(out.violations)
	a.simulated, a.longest = a.simulated+out.simulated, max(a.longest, out.longest)
	names := map[string]bool{}
	for _, s := range out.steps {
		a.drawn[s.kind]++
		a.effective[s.kind]++
		a.recovered[s.kind] = max(a.recovered[s.kind], out.recovered)
		names[s.kind] = true
	}
	for _, kind := range out.effectless {
		a.effective[kind]--
	}
	sorted := slices.Sorted(maps.Keys(names))
	for i, one := range sorted {
		for _, other := range sorted[i+1:] {
			a.pairs[one+" "+other]++
		}
	}
	for rule, n := range out.checks {
		a.checks[rule] += n
		for why, n := range out.excuses[rule] {
			if a.excuses[rule] == nil {
				a.excuses[rule] = map[string]int{}
			}
			a.excuses[rule][why] += n
		}
	}
}

// The bounds of a run: a kind that is drawn often has an effect once, and a rule applies for some part of the time.
const (
	often   = 5
	longest = time.Hour
	leastOf = 50
)

// report logs the tally. A kind of fault that never has an effect fails, and a rule that is nearly always excused.
func (a *tally) report(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%d seeds, %.1f simulated hours, %d violations, longest without a leader %s\n", a.seeds,
		a.simulated.Hours(), a.violations, a.longest.Round(time.Second))
	frequent := 0
	for _, n := range a.pairs {
		if n >= often {
			frequent++
		}
	}
	fmt.Fprintf(&b, "%d of %d pairs of kinds, %d of them at least %d times\n", len(a.pairs),
		len(kinds)*(len(kinds)-1)/2, frequent, often)
	for _, kind := range slices.Sorted(maps.Keys(a.drawn)) {
		fmt.Fprintf(&b, "  %s: %d, %d with an effect, longest recovery %s\n", kind, a.drawn[kind], a.effective[kind],
			a.recovered[kind].Round(time.Second))
		if a.drawn[kind] >= often && a.effective[kind] == 0 {
			t.Errorf("%s never has an effect", kind)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(a.checks)) {
		excused := 0
		fmt.Fprintf(&b, "  %q: %d s", rule, a.checks[rule])
		for _, why := range slices.Sorted(maps.Keys(a.excuses[rule])) {
			excused += a.excuses[rule][why]
			fmt.Fprintf(&b, ", %.1f %% %s", 100*float64(a.excuses[rule][why])/float64(a.checks[rule]), why)
		}
		b.WriteString("\n")
		if left := a.checks[rule] - excused; a.checks[rule] >= int(longest.Seconds()) && left*leastOf < a.checks[rule] {
			t.Errorf("the rule %q applies for %d s of %d s", rule, left, a.checks[rule])
		}
	}
	t.Log(b.String())
}
