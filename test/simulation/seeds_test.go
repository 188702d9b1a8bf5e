package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
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

// busyDays is a kind of its own: its seeds draw trains of changes.
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

// dice draw what a seed decides.
type dice struct{ *rand.Rand }

func newDice(seed, purpose uint64) dice { return dice{rand.New(rand.NewPCG(seed, purpose))} }

func (d dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64(to-from)+1))
}

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

// draw returns the faults of a seed: a change first, so that there is a rollout, and two to six of the kinds.
func draw(seed uint64, allowed []string) []step {
	rng := newDice(seed, 3)
	steps := []step{{kind: rng.one("config-change", "upgrade")}}
	for range 2 + rng.IntN(5) {
		s := step{kind: rng.one(allowed...), delay: rng.between(0, 4*time.Minute)}
		if rng.IntN(2) == 0 {
			s.phase, s.delay = rng.one(slices.Sorted(maps.Keys(phases))...), rng.between(0, 12*time.Second)
		}
		switch rng.IntN(3) {
		case 0:
			s.lasts = rng.between(time.Second, 30*time.Second)
		case 1:
			s.lasts = rng.between(30*time.Second, 3*time.Minute)
		default:
			s.lasts = rng.between(3*time.Minute, 8*time.Minute)
		}
		steps = append(steps, s)
	}
	return steps
}

// drawTrain returns the faults of a busy day: changes, each somewhere in the rollout of the one before, with the operator
// replaced or a process ended among them.
func drawTrain(seed uint64) (steps []step) {
	rng, at := newDice(seed, 3), time.Duration(0)
	for range 3 + rng.IntN(3) {
		steps = append(steps, step{kind: rng.one("config-change", "upgrade"), delay: at})
		at += rng.between(5*time.Second, 50*time.Second)
		if kind := rng.one("operator-replaced", "operator-lost", "ccm-dies", ""); kind != "" {
			steps = append(steps, step{kind: kind, delay: at})
		}
		at += rng.between(10*time.Second, 130*time.Second)
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
	var drawn, steps []step
	if kind == busyDays {
		drawn = drawTrain(seed)
	} else {
		drawn = draw(seed, kindsOf(kind))
	}
	for i, s := range drawn {
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
	w.rules.isReleased = !slices.ContainsFunc(steps, func(s step) bool { return kinds[s.kind].expires })
	w.fault(func() { w.play(steps) })
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
			broken := ""
			playSeed(t, seed, kind, drop, func(out outcome) {
				all.judge(t, out, again(seed, kind, drop))
				if len(out.violations) > 0 && broken == "" {
					broken = rule(out.violations[0])
				}
			})
			if broken != "" && os.Getenv(reduceVariable) != "" {
				reduce(t, seed, kind, drop, broken)
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

// playSeed plays a seed or a day, without the faults or the seeds of the day that are dropped.
func playSeed(t *testing.T, seed uint64, kind string, drop []int, tell func(outcome)) {
	t.Helper()
	if kind == longDays {
		playDay(t, seed, drop, tell)
	} else {
		tell(runSeed(t, seed, stepsOf(seed, kind, drop)))
	}
}

// again is the command that plays a seed once more.
func again(seed uint64, kind string, drop []int) string {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(drop), " ", ","), "[]")
	return fmt.Sprintf("make simulate SEEDS=%d KIND=%s DROP=%s", seed, kind, text)
}

// reduce drops one fault, or one seed of a day, after the other while the rule is still broken.
func reduce(t *testing.T, seed uint64, kind string, drop []int, broken string) {
	t.Helper()
	parts := len(stepsOf(seed, kind, nil))
	if kind == longDays {
		parts = len(agenda(seed))
	}
	breaks := func(drop []int) (is bool) {
		playSeed(t, seed, kind, drop, func(out outcome) {
			is = is || slices.ContainsFunc(out.violations, func(v string) bool { return rule(v) == broken })
		})
		return is
	}
	for i := parts - 1; i >= 0; i-- {
		candidate := append(slices.Clone(drop), i)
		for n := 0; n < repetitions && !slices.Contains(drop, i); n++ {
			if breaks(candidate) {
				drop = candidate
			}
		}
	}
	t.Errorf("%q needs no more than: %s", broken, again(seed, kind, drop))
}
