package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The record of the long runs, and where a document shows it.
const (
	recordPath = "testdata/seeds.tsv"
	proofPath  = "../../docs/proof.md"
	headingOf  = "\n## Simulated time\n"
)

// played is what is kept of a seed: a line of the record.
type played struct {
	seed string
	// effective are the kinds of its faults that had an effect, idle the others.
	effective, idle               []string
	simulated, longest, recovered time.Duration
	violations                    []string
}

func (o outcome) played() played {
	p := played{seed: fmt.Sprint(o.seed), simulated: o.simulated, longest: o.longest, recovered: o.recovered}
	names := map[string]bool{}
	for _, s := range o.steps {
		names[s.kind] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(names)) {
		if slices.Contains(o.effectless, kind) {
			p.idle = append(p.idle, kind)
		} else {
			p.effective = append(p.effective, kind)
		}
	}
	for _, v := range o.violations {
		p.violations = append(p.violations, rule(v))
	}
	return p
}

func (p played) String() string {
	in := func(d time.Duration) string { return fmt.Sprint(int(d.Round(time.Second).Seconds())) }
	return strings.Join([]string{p.seed, in(p.simulated), in(p.longest), in(p.recovered), strings.Join(p.effective, ","),
		strings.Join(p.idle, ","), strings.Join(p.violations, ",")}, "\t") + "\n"
}

// readRecord returns the seeds of the long runs. One that did not end has only its number.
func readRecord(t *testing.T) (all []played) {
	t.Helper()
	content, err := os.ReadFile(recordPath)
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		all = append(all, parsePlayed(line))
	}
	return all
}

func parsePlayed(line string) played {
	fields := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "", "", "", "", "", "")
	in := func(i int) time.Duration { n, _ := strconv.Atoi(fields[i]); return time.Duration(n) * time.Second }
	of := func(i int) []string {
		return slices.DeleteFunc(strings.Split(fields[i], ","), func(s string) bool { return s == "" })
	}
	return played{fields[0], of(4), of(5), in(1), in(2), in(3), of(6)}
}

// often is how often each pair of kinds is to be seen.
const often = 5

// pairsOf returns all pairs of sorted names.
func pairsOf(names []string) (pairs []string) {
	for i, one := range names {
		for _, other := range names[i+1:] {
			pairs = append(pairs, one+" "+other)
		}
	}
	return pairs
}

// countPairs counts the pairs of kinds that had an effect in the same seed.
func countPairs(all []played) map[string]int {
	pairs := map[string]int{}
	for _, p := range all {
		for _, pair := range pairsOf(p.effective) {
			pairs[pair]++
		}
	}
	return pairs
}

// summary shows seeds in Markdown.
func summary(all []played) string {
	var simulated, longest time.Duration
	pairs, triples, seeds := countPairs(all), map[string]int{}, map[string]int{}
	recovered, unled := map[string]time.Duration{}, map[string]time.Duration{}
	var broken []string
	for _, p := range all {
		simulated, longest = simulated+p.simulated, max(longest, p.longest)
		for i, one := range p.effective {
			seeds[one]++
			recovered[one], unled[one] = max(recovered[one], p.recovered), max(unled[one], p.longest)
			for _, pair := range pairsOf(p.effective[i+1:]) {
				triples[one+" "+pair]++
			}
		}
		if len(p.violations) > 0 || p.simulated == 0 {
			broken = append(broken, fmt.Sprintf("%s (%s)", p.seed, cmp.Or(strings.Join(p.violations, ", "), "did not end")))
		}
	}
	n, b := len(kinds), strings.Builder{}
	fmt.Fprintf(&b, "| what | seen |\n|---|---|\n| seeds | %d |\n| simulated | %.1f h |\n"+
		"| pairs of kinds, with an effect of both | %d of %d |\n| pairs that came at least %d times | %d |\n"+
		"| triples of kinds | %d of %d |\n| longest time without a leader | %s |\n| seeds with a violation | %s |\n\n",
		len(all), simulated.Hours(), len(pairs), n*(n-1)/2, often, frequent(pairs), len(triples), n*(n-1)*(n-2)/6,
		longest.Round(time.Second), cmp.Or(strings.Join(broken, ", "), "0"))
	b.WriteString("| kind | seeds in which it had an effect | longest recovery | longest time without a leader |\n|---|---|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(seeds)) {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", kind, seeds[kind], recovered[kind].Round(time.Second), unled[kind].Round(time.Second))
	}
	return b.String()
}

// With UPDATE_GOLDEN=1, the document follows the record.
func TestTheProofShowsTheRecordOfTheLongRuns(t *testing.T) {
	content, err := os.ReadFile(proofPath)
	require.NoError(t, err)
	before, section, found := strings.Cut(string(content), headingOf)
	require.True(t, found, "%s has no section%s", proofPath, headingOf)
	text, rest, _ := strings.Cut(section, "\n| what | seen |\n")
	_, after, isFollowed := strings.Cut(rest, "\n## ")
	want := before + headingOf + strings.TrimRight(text, "\n") + "\n\n" + summary(readRecord(t))
	if isFollowed {
		want += "\n## " + after
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(proofPath, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(content))
}

func TestNoSeedOfTheRecordWasLongWithoutALeaderThatReleasedItsLease(t *testing.T) {
	for _, p := range readRecord(t) {
		drawn := slices.Concat(p.effective, p.idle)
		// A busy day of old did not say what it drew.
		if !slices.ContainsFunc(drawn, func(kind string) bool { return kinds[kind].run == nil || kinds[kind].expires }) {
			require.LessOrEqual(t, p.longest, bounds["nobody leads, and each leader has released its lease"].limit, p.seed)
		}
	}
}

// tally is what the rules of a run have checked, and which kinds of faults had no effect.
type tally struct {
	Lines   []string
	Checks  map[string]int
	Excuses map[string]map[string]int
	Lasted  map[string]time.Duration
}

func newTally() *tally {
	return &tally{Checks: map[string]int{}, Excuses: map[string]map[string]int{}, Lasted: map[string]time.Duration{}}
}

func (a *tally) add(out outcome) {
	a.merge(tally{[]string{out.played().String()}, out.checks, out.excuses, out.lasted})
}

func (a *tally) merge(b tally) {
	a.Lines = append(a.Lines, b.Lines...)
	for rule, d := range b.Lasted {
		a.Lasted[rule] = max(a.Lasted[rule], d)
	}
	for rule, n := range b.Checks {
		a.Checks[rule] += n
		for why, n := range b.Excuses[rule] {
			if a.Excuses[rule] == nil {
				a.Excuses[rule] = map[string]int{}
			}
			a.Excuses[rule][why] += n
		}
	}
}

// played returns the seeds.
func (a *tally) played() (all []played) {
	for _, line := range a.Lines {
		all = append(all, parsePlayed(line))
	}
	return all
}

// The bounds of a run: a rule that is checked for an hour applies for a part of the time.
const (
	longest = time.Hour
	leastOf = 50
)

// report logs the tally. A kind of fault that is drawn often and never has an effect fails, and a rule that is nearly
// always excused.
func (a *tally) report(t *testing.T) {
	t.Helper()
	var b strings.Builder
	all := a.played()
	b.WriteString(summary(all))
	idle, effective := map[string]int{}, map[string]int{}
	for _, p := range all {
		for _, kind := range p.effective {
			effective[kind]++
		}
		for _, kind := range p.idle {
			idle[kind]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(idle)) {
		fmt.Fprintf(&b, "  %s had no effect in %d of %d seeds\n", kind, idle[kind], idle[kind]+effective[kind])
		if idle[kind] >= often && effective[kind] == 0 {
			t.Errorf("%s never has an effect", kind)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(a.Checks)) {
		excused := 0
		fmt.Fprintf(&b, "  %q: for %s at most, of %s; checked for %d s", rule, a.Lasted[rule].Round(time.Second),
			bounds[rule].limit, a.Checks[rule])
		for _, why := range slices.Sorted(maps.Keys(a.Excuses[rule])) {
			excused += a.Excuses[rule][why]
			fmt.Fprintf(&b, ", %.1f %% %s", 100*float64(a.Excuses[rule][why])/float64(a.Checks[rule]), why)
		}
		b.WriteString("\n")
		if left := a.Checks[rule] - excused; a.Checks[rule] >= int(longest.Seconds()) && left*leastOf < a.Checks[rule] {
			t.Errorf("the rule %q applies for %d s of %d s", rule, left, a.Checks[rule])
		}
	}
	t.Log("\n" + b.String())
}
