package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
)

// longDays is a kind of its own: it plays the seeds of a day in one cluster, which rests for hours between them.
const longDays = "long-day"

// perDay is how many seeds have the number of their day: 10203 is the third one of day 102.
const perDay = 100

// agenda returns the rest after each seed of a day: 24 to 48 hours in all.
func agenda(day uint64) (rests []time.Duration) {
	rng := newDice(day, 5)
	for left := rng.between(24*time.Hour, 48*time.Hour); left > 0; left -= rests[len(rests)-1] {
		rests = append(rests, rng.between(time.Hour, 4*time.Hour))
	}
	return rests
}

// kindOf returns the kind of a seed of a day: each tenth one is a busy day.
func kindOf(seed uint64) string {
	if seed%10 == 0 {
		return busyDays
	}
	return ""
}

// playDay plays the seeds of a day but those that are dropped, counted from 0, and tells each one's outcome. In these
// hours, the operator renews each certificate and the CCM's token.
func playDay(t *testing.T, day uint64, drop []int, tell func(outcome)) {
	t.Helper()
	simulate(t, day, func(w *world) {
		w.isTrial = true
		w.tokenLifetime, w.validity = 12*time.Hour, servingcert.Validity{Signer: 24 * time.Hour, Leaf: 12 * time.Hour}
		w.installed()
		for i, rest := range agenda(day) {
			if seed := day*perDay + uint64(i) + 1; !slices.Contains(drop, i) {
				tell(w.chapter(seed, stepsOf(seed, kindOf(seed), nil), rest))
			}
		}
	})
}

// drawnPairs counts the pairs of kinds that the seeds of a day draw.
func drawnPairs(day uint64) map[string]int {
	pairs := map[string]int{}
	for i := range agenda(day) {
		seed := day*perDay + uint64(i) + 1
		var names []string
		for _, s := range stepsOf(seed, kindOf(seed), nil) {
			names = append(names, s.kind)
		}
		slices.Sort(names)
		for _, pair := range pairsOf(slices.Compact(names)) {
			pairs[pair]++
		}
	}
	return pairs
}

// longRun plays days until so much was simulated, each in a process of its own.
type longRun struct {
	t     *testing.T
	ctx   context.Context //nolint:containedctx // Its processes end with it.
	mutex sync.Mutex
	all   *tally
	// pairs counts those of the record, and those that the days being played have drawn.
	pairs map[string]int
	// drawn are the pairs of days, and taken those that were chosen.
	drawn map[uint64]map[string]int
	taken map[uint64]bool
	left  time.Duration
}

const (
	// choice is from how many days the next one is chosen, and firstDay the first one of all.
	choice          = 1000
	firstDay uint64 = 101
	// logs has the output of the days with a violation.
	logs = "../../_output/simulation"
)

// playLong goes on with the days that the record lacks.
func (a *tally) playLong(t *testing.T, long time.Duration) {
	t.Helper()
	record := readRecord(t)
	r := newLongRun(t.Context(), countPairs(record), long)
	r.t, r.all = t, a
	for _, p := range record {
		if seed, err := strconv.ParseUint(p.seed, 10, 64); err == nil {
			r.taken[seed/perDay] = true
		}
	}
	if deadline, limited := t.Deadline(); limited {
		ctx, cancel := context.WithDeadline(r.ctx, deadline.Add(-time.Minute))
		defer cancel()
		r.ctx = ctx
	}
	jobs, err := strconv.Atoi(os.Getenv(jobsVariable))
	if err != nil {
		jobs = runtime.NumCPU()
	}
	require.NoError(t, os.MkdirAll(logs, 0o755))
	var group sync.WaitGroup
	for range jobs {
		group.Go(func() {
			for day := r.take(); day != 0; day = r.take() {
				r.add(day, r.play(day))
			}
		})
	}
	group.Wait()
}

func newLongRun(ctx context.Context, pairs map[string]int, long time.Duration) *longRun {
	return &longRun{ctx: ctx, pairs: pairs, drawn: map[uint64]map[string]int{}, taken: map[uint64]bool{}, left: long}
}

// take chooses the day whose pairs have been seen most seldom, 0 if there has been enough.
func (r *longRun) take() (best uint64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.left <= 0 || r.ctx.Err() != nil {
		return 0
	}
	most := -1.0
	for day := firstDay; day < firstDay+choice+uint64(len(r.taken)); day++ {
		if rate := r.rates(day); !r.taken[day] && rate > most {
			best, most = day, rate
		}
	}
	r.taken[best] = true
	for pair, n := range r.drawn[best] {
		r.pairs[pair] += n
	}
	r.left -= hoursOf(best)
	return best
}

// rates returns how many pairs a day adds in an hour that have come too seldom so far.
func (r *longRun) rates(day uint64) float64 {
	wanted := 0
	if r.drawn[day] == nil {
		r.drawn[day] = drawnPairs(day)
	}
	for pair, n := range r.drawn[day] {
		wanted += min(n, max(0, often-r.pairs[pair]))
	}
	return float64(wanted) / hoursOf(day).Hours()
}

func hoursOf(day uint64) (all time.Duration) {
	for _, rest := range agenda(day) {
		all += rest
	}
	return all
}

// play returns what a process has found in a day. The seed that it was at may not have ended.
func (r *longRun) play(day uint64) (found tally) {
	name := fmt.Sprint(day)
	result := filepath.Join(r.t.TempDir(), name)
	command := exec.CommandContext(r.ctx, os.Args[0], "-test.run=^TestSeeds$", "-test.v", "-test.timeout=0")
	command.Env = append(os.Environ(), hoursVariable+"=", kindVariable+"="+longDays, seedsVariable+"="+name,
		tallyVariable+"="+result)
	output, problem := command.CombinedOutput()
	if content, err := os.ReadFile(result); err != nil || json.Unmarshal(content, &found) != nil {
		found = tally{}
	}
	if problem == nil || r.ctx.Err() != nil {
		return found
	}
	log := filepath.Join(logs, name+".log")
	r.t.Errorf("day %d: %v: see test/simulation/%s %v", day, problem, log, os.WriteFile(log, output, 0o644))
	if !strings.Contains(string(output), "--- FAIL: TestSeeds") {
		found.Lines = append(found.Lines, played{seed: fmt.Sprint(day*perDay + uint64(len(found.Lines)) + 1)}.String())
	}
	return found
}

// add adds what a day has shown to the tally and to the record.
func (r *longRun) add(day uint64, found tally) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all.merge(found)
	for pair, n := range r.drawn[day] {
		r.pairs[pair] -= n
	}
	simulated := time.Duration(0)
	for _, line := range found.Lines {
		simulated += parsePlayed(line).simulated
	}
	for pair, n := range countPairs((&found).played()) {
		r.pairs[pair] += n
	}
	r.left += hoursOf(day) - simulated
	file, err := os.OpenFile(recordPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.WriteString(strings.Join(found.Lines, ""))
		_ = file.Close()
	}
	if err != nil {
		r.t.Error(err)
	}
	r.t.Logf("day %d: %d seeds, %s simulated, %s left, %d pairs %d times", day, len(found.Lines), simulated.Round(time.Minute),
		r.left.Round(time.Minute), frequent(r.pairs), often)
}

// save writes the tally for the process that plays the long run, if there is one.
func (a *tally) save(t *testing.T) {
	t.Helper()
	path := os.Getenv(tallyVariable)
	if path == "" {
		return
	}
	content, err := json.Marshal(a)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// frequent counts the pairs that have come often enough.
func frequent(pairs map[string]int) (n int) {
	for _, times := range pairs {
		if times >= often {
			n++
		}
	}
	return n
}

// The long run that is asked for.
func TestALongRunDrawsEachPairOfFaultsOften(t *testing.T) {
	r := newLongRun(t.Context(), map[string]int{}, 3000*time.Hour)
	for day := r.take(); day != 0; day = r.take() {
		require.NotEmpty(t, r.pairs)
	}
	n := len(kinds)
	require.Equal(t, n*(n-1)/2, frequent(r.pairs), "%d days", len(r.taken))
}
