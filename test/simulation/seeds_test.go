package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The environment of make simulate.
const (
	seedsVariable    = "SIMULATION_SEEDS"
	kindVariable     = "SIMULATION_KIND"
	dropVariable     = "SIMULATION_DROP"
	platformVariable = "SIMULATION_PLATFORM"
	reduceVariable   = "SIMULATION_REDUCE"
	hoursVariable    = "SIMULATION_HOURS"
	jobsVariable     = "SIMULATION_JOBS"
	tallyVariable    = "SIMULATION_TALLY"
)

// fixedSeeds run in the ordinary tests: of the first 5000, they add most pairs of kinds, 84 of 666. What a seed
// draws changes with the list of kinds.
var fixedSeeds = []uint64{6, 7, 48, 393}

// busyDays is a kind of its own: its seeds draw changes only.
const busyDays = "busy-day"

// step is one fault of a seed.
type step struct {
	kind string
	// phase is what it waits for, "" for a moment of its own; delay comes after that.
	phase string
	delay time.Duration
	lasts time.Duration
}

func (s step) String() string {
	at := "at " + s.delay.Round(time.Second).String()
	if s.phase != "" {
		at = s.delay.Round(time.Second).String() + " after " + s.phase
	}
	return fmt.Sprintf("%s %s for %s", s.kind, at, s.lasts.Round(time.Second))
}

// phases are moments of a rollout.
var phases = map[string]func(w *world) bool{
	"an installer works on the leader's node": func(w *world) bool {
		m := w.leader()
		return m != nil && strings.Contains(w.helpersAtWork(), "-"+m.name+" ") && strings.Contains(w.helpersAtWork(), "installer-")
	},
	"a manifest is away":        func(w *world) bool { return len(w.facts().taken) > 0 },
	"a preflight runs":          func(w *world) bool { return strings.Contains(w.helpersAtWork(), "preflight") },
	"the lead is being moved":   func(w *world) bool { return strings.Contains(w.helpersAtWork(), "handover-") },
	"a first node has it":       func(w *world) bool { s := w.state(); return !s.settled && len(w.facts().ready) == 3 },
	"the last leader has ended": func(w *world) bool { return len(w.facts().leaders) == 0 },
	"the operator has been away": func(w *world) bool {
		since, acts := w.operator.actsSince()
		return acts && time.Since(since) < 5*time.Second
	},
}

// helpersAtWork names the pods of the operator that run.
func (w *world) helpersAtWork() string {
	var all []string
	for name := range strings.FieldsSeq(w.helpers()) {
		if name, runs := strings.CutSuffix(name, "Running"); runs {
			all = append(all, name+" ")
		}
	}
	return strings.Join(all, " ")
}

// draw returns the faults of a seed: a change first, so that there is a rollout, and two to six of the kinds.
func draw(seed uint64, allowed []string) []step {
	rng := rand.New(rand.NewPCG(seed, 3))
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(rng.Int64N(int64(to-from)+1)) }
	names := slices.Sorted(maps.Keys(phases))
	steps := []step{{kind: []string{"config-change", "upgrade"}[rng.IntN(2)]}}
	for range 2 + rng.IntN(5) {
		s := step{kind: allowed[rng.IntN(len(allowed))], delay: between(0, 4*time.Minute)}
		if rng.IntN(2) == 0 {
			s.phase, s.delay = names[rng.IntN(len(names))], between(0, 12*time.Second)
		}
		switch rng.IntN(3) {
		case 0:
			s.lasts = between(time.Second, 30*time.Second)
		case 1:
			s.lasts = between(30*time.Second, 3*time.Minute)
		default:
			s.lasts = between(3*time.Minute, 8*time.Minute)
		}
		steps = append(steps, s)
	}
	return steps
}

// outcome is what a seed has shown.
type outcome struct {
	seed       uint64
	steps      []step
	effectless []string
	violations []string
	recovered  time.Duration
	longest    time.Duration
	simulated  time.Duration
	cpu        time.Duration
	timeline   []string
	checks     map[string]int
	excuses    map[string]map[string]int
	lasted     map[string]time.Duration
}

// stepsOf returns the faults of a seed, without those that are dropped.
func stepsOf(seed uint64, kind string, drop []int) []step {
	if kind == busyDays {
		return []step{{kind: kind}}
	}
	var steps []step
	for i, s := range draw(seed, kindsOf(kind)) {
		if !slices.Contains(drop, i) {
			steps = append(steps, s)
		}
	}
	return steps
}

// kindsOf returns the kinds that a seed may draw.
func kindsOf(kind string) []string {
	if kind == "" {
		return slices.Sorted(maps.Keys(kinds))
	}
	return strings.Split(kind, ",")
}

// runSeed plays the faults of a seed on an installed cluster, and checks its end.
func runSeed(t *testing.T, seed uint64, steps []step) (out outcome) {
	t.Helper()
	simulate(t, seed, func(w *world) {
		w.isTrial = true
		w.installed()
		w.pass(w.between(0, 2*time.Minute), nil)
		out = w.chapter(seed, steps, 3*time.Minute)
	})
	return out
}

// chapter plays the faults of a seed, and rests. What it returns is about the time since the former chapter.
func (w *world) chapter(seed uint64, steps []step, rest time.Duration) outcome {
	w.fault(func() {
		if len(steps) > 0 && steps[0].kind == busyDays {
			w.busyDay()
		} else {
			w.play(steps)
		}
	})
	out := outcome{seed: seed, steps: steps, recovered: w.recovered()}
	for _, e := range w.effects {
		if !e.had() {
			out.effectless = append(out.effectless, e.kind)
		}
	}
	w.rest(rest)
	out.violations, out.simulated, out.cpu = w.broken(), w.now()-w.told, cpu()-w.cpu
	r := w.rules
	out.longest, out.checks, out.excuses, out.lasted = r.longest, r.checks, r.excuses, r.lasted
	r.reset()
	w.effects, w.told, w.cpu = nil, w.now(), cpu()
	w.trace.Lock()
	defer w.trace.Unlock()
	out.timeline = w.timeline
	w.timeline, w.violations, w.first, w.writes = nil, nil, map[string]time.Time{}, nil
	return out
}

// effect reports after the recovery whether a fault had one.
type effect struct {
	kind string
	had  func() bool
}

// play causes the faults, and returns when all have ended.
func (w *world) play(steps []step) {
	groups := map[string]turns{}
	for _, s := range steps {
		if group := kinds[s.kind].group; groups[group] == nil {
			groups[group] = newTurns()
		}
	}
	for _, s := range steps {
		go func() {
			w.await(s)
			k := kinds[s.kind]
			if k.group != "" {
				defer groups[k.group].take()()
			}
			end, had := k.run(w)
			if end != nil {
				pause(w.ctx, s.lasts)
				w.note("FAULT ENDS %s", s.kind)
				end()
			}
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.effects = append(w.effects, effect{s.kind, had})
		}()
	}
	w.pass(time.Hour, func() bool {
		return locked(&w.mutex, func() bool { return len(w.effects) == len(steps) })
	})
}

// await waits for the moment of a fault. A phase that does not come within three minutes is skipped.
func (w *world) await(s step) {
	for end := time.Now().Add(3 * time.Minute); s.phase != "" && time.Now().Before(end); {
		if phases[s.phase](w) || !pause(w.ctx, 500*time.Millisecond) {
			break
		}
	}
	pause(w.ctx, s.delay)
}

// busyDay is a train of changes, each somewhere in the rollout of the one before, with the operator replaced among them.
func (w *world) busyDay() {
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		for range 3 + w.n(3) {
			if w.n(2) == 0 {
				w.operator.upgrade(w.between(time.Second, 5*time.Second))
			} else {
				w.configure(w.number())
			}
			pause(w.ctx, w.between(5*time.Second, 50*time.Second))
			switch w.n(4) {
			case 0, 1:
				w.operator.replace(w.n(2) == 0, w.between(time.Second, 5*time.Second))
			case 2:
				w.someMaster().kill9()
			}
			pause(w.ctx, w.between(10*time.Second, 130*time.Second))
		}
	}()
	w.pass(time.Hour, done.Load)
}

// seedsOf returns the seeds of make simulate: "17", "1-30" or "3,5".
func seedsOf(text string) (seeds []uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseUint(first, 10, 64)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = strconv.ParseUint(last, 10, 64); err != nil {
				return nil, err
			}
		}
		for seed := from; seed <= to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}

func TestSeeds(t *testing.T) {
	if platform := os.Getenv(platformVariable); platform != "" && platform != "OpenStack" {
		t.Fatalf("there is no model of %s: PLATFORM=OpenStack", platform)
	}
	seeds, kind, drop := fixedSeeds, os.Getenv(kindVariable), []int(nil)
	if text := os.Getenv(seedsVariable); text != "" {
		var err error
		if seeds, err = seedsOf(text); err != nil {
			t.Fatal(err)
		}
	}
	for text := range strings.FieldsFuncSeq(os.Getenv(dropVariable), func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		drop = append(drop, n)
	}
	all := newTally()
	if os.Getenv(tallyVariable) == "" {
		defer func() { all.report(t) }()
	}
	if hours, err := strconv.ParseFloat(os.Getenv(hoursVariable), 64); err == nil {
		all.playLong(t, time.Duration(hours*float64(time.Hour)))
		return
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			again := fmt.Sprintf("make simulate SEEDS=%d KIND=%s DROP=%s", seed, kind, os.Getenv(dropVariable))
			if kind == longDays {
				playDay(t, seed, func(out outcome) { all.judge(t, out, again) })
				return
			}
			out := runSeed(t, seed, stepsOf(seed, kind, drop))
			all.judge(t, out, again)
			if len(out.violations) > 0 && os.Getenv(reduceVariable) != "" && kind != busyDays {
				reduce(t, seed, kind, drop, rule(out.violations[0]))
			}
		})
	}
}

// judge adds an outcome, and fails the test if it has a violation.
func (a *tally) judge(t *testing.T, out outcome, again string) {
	t.Helper()
	a.add(out)
	a.save(t)
	t.Logf("seed %d: %s; recovered after %s, longest without a leader %s, %s simulated, %s CPU, without effect: %v",
		out.seed, out.describe(), out.recovered.Round(time.Second), out.longest.Round(time.Second),
		out.simulated.Round(time.Second), out.cpu.Round(100*time.Millisecond), out.effectless)
	if len(out.violations) > 0 {
		t.Errorf("%s\n\n%s\n\nrun it again: %s", strings.Join(out.timeline, "\n"), strings.Join(out.violations, "\n"), again)
	}
}

func (o outcome) describe() string {
	var all []string
	for i, s := range o.steps {
		all = append(all, fmt.Sprintf("%d: %s", i, s))
	}
	return strings.Join(all, ", ")
}

// rule returns the name of the rule of a violation.
func rule(violation string) string {
	name, _, _ := strings.Cut(violation, ":")
	return name
}

// repetitions is how often the reducer plays a seed: its schedule is not drawn.
const repetitions = 3

// reduce drops one fault after the other while the seed still breaks the rule.
func reduce(t *testing.T, seed uint64, kind string, drop []int, broken string) {
	t.Helper()
	for i := len(draw(seed, kindsOf(kind))) - 1; i >= 0; i-- {
		if slices.Contains(drop, i) {
			continue
		}
		candidate := append(slices.Clone(drop), i)
		for range repetitions {
			out := runSeed(t, seed, stepsOf(seed, kind, candidate))
			if slices.ContainsFunc(out.violations, func(v string) bool { return rule(v) == broken }) {
				drop = candidate
				break
			}
		}
	}
	out := runSeed(t, seed, stepsOf(seed, kind, drop))
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(drop), " ", ","), "[]")
	t.Errorf("%q needs only: %s\nmake simulate SEEDS=%d KIND=%s DROP=%s", broken, out.describe(), seed, kind, text)
}
