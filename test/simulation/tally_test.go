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

func (o outcome) played(seed uint64) played {
	p := played{seed: fmt.Sprint(seed), simulated: o.simulated, longest: o.longest, recovered: o.recovered}
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
		fields := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "", "", "", "", "", "")
		in := func(i int) time.Duration { n, _ := strconv.Atoi(fields[i]); return time.Duration(n) * time.Second }
		of := func(i int) []string {
			return slices.DeleteFunc(strings.Split(fields[i], ","), func(s string) bool { return s == "" })
		}
		all = append(all, played{fields[0], of(4), of(5), in(1), in(2), in(3), of(6)})
	}
	return all
}

// appendRecord appends a seed before it is played, and the rest of its line afterwards.
func appendRecord(t *testing.T, text string) {
	t.Helper()
	file, err := os.OpenFile(recordPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = file.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// often is how often each pair of kinds is to be seen.
const often = 5

// summary shows seeds in Markdown.
func summary(all []played) string {
	var simulated, longest time.Duration
	pairs, triples, seeds := map[string]int{}, map[string]int{}, map[string]int{}
	recovered, unled := map[string]time.Duration{}, map[string]time.Duration{}
	var broken []string
	for _, p := range all {
		simulated, longest = simulated+p.simulated, max(longest, p.longest)
		for i, one := range p.effective {
			seeds[one]++
			recovered[one], unled[one] = max(recovered[one], p.recovered), max(unled[one], p.longest)
			for j, other := range p.effective[i+1:] {
				pairs[one+" "+other]++
				for _, third := range p.effective[i+j+2:] {
					triples[one+" "+other+" "+third]++
				}
			}
		}
		if len(p.violations) > 0 || p.simulated == 0 {
			broken = append(broken, fmt.Sprintf("%s (%s)", p.seed, cmp.Or(strings.Join(p.violations, ", "), "did not end")))
		}
	}
	frequent := 0
	for _, n := range pairs {
		if n >= often {
			frequent++
		}
	}
	n := len(kinds)
	var b strings.Builder
	fmt.Fprintf(&b, "| what | seen |\n|---|---|\n| seeds | %d |\n| simulated | %.1f h |\n"+
		"| pairs of kinds, with an effect of both | %d of %d |\n| pairs that came at least %d times | %d |\n"+
		"| triples of kinds | %d of %d |\n| longest time without a leader | %s |\n| seeds with a violation | %s |\n\n",
		len(all), simulated.Hours(), len(pairs), n*(n-1)/2, often, frequent, len(triples), n*(n-1)*(n-2)/6,
		longest.Round(time.Second), cmp.Or(strings.Join(broken, ", "), "0"))
	b.WriteString("| kind | seeds in which it had an effect | longest recovery | longest time without a leader |\n|---|---|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(seeds)) {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", kind, seeds[kind], recovered[kind], unled[kind])
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

// tally is what the rules of a run have checked, and which kinds of faults had no effect.
type tally struct {
	all     []played
	checks  map[string]int
	excuses map[string]map[string]int
	lasted  map[string]time.Duration
}

func newTally() *tally {
	return &tally{checks: map[string]int{}, excuses: map[string]map[string]int{}, lasted: map[string]time.Duration{}}
}

func (a *tally) add(seed uint64, out outcome) {
	a.all = append(a.all, out.played(seed))
	for rule, d := range out.lasted {
		a.lasted[rule] = max(a.lasted[rule], d)
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
	b.WriteString(summary(a.all))
	idle, effective := map[string]int{}, map[string]int{}
	for _, p := range a.all {
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
	for _, rule := range slices.Sorted(maps.Keys(a.checks)) {
		excused := 0
		fmt.Fprintf(&b, "  %q: for %s at most, of %s; checked for %d s", rule, a.lasted[rule].Round(time.Second),
			bounds[rule].limit, a.checks[rule])
		for _, why := range slices.Sorted(maps.Keys(a.excuses[rule])) {
			excused += a.excuses[rule][why]
			fmt.Fprintf(&b, ", %.1f %% %s", 100*float64(a.excuses[rule][why])/float64(a.checks[rule]), why)
		}
		b.WriteString("\n")
		if left := a.checks[rule] - excused; a.checks[rule] >= int(longest.Seconds()) && left*leastOf < a.checks[rule] {
			t.Errorf("the rule %q applies for %d s of %d s", rule, left, a.checks[rule])
		}
	}
	t.Log("\n" + b.String())
}
