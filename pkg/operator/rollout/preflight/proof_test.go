package preflight

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// all are the controllers of a leader.
var all = []string{"cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller"}

// documentedStates matches a row of the table in doc.go.
var documentedStates = regexp.MustCompile(`(?m)^//\t\| ([A-Z][A-Za-z, ]*?) +\| .+ \| ([A-Z][a-z]+) +\|$`)

// The rows are those of the table in the package's documentation.
func TestTheStatesOfTheProofOfARevision(t *testing.T) {
	const begin = 1000
	failed := &trial.Verdict{Result: trial.Failed, Message: "it failed"}
	byOthers := &trial.Verdict{Result: trial.Inconclusive, Class: killed}
	unclear := &trial.Verdict{Result: trial.Inconclusive, Message: "the cloud does not answer"}
	seen := map[[2]string]bool{}
	for name, tc := range map[string]struct {
		state trial.LeadingState
		// after is the age of the state in seconds.
		after int
		is    func(p *proof)
		want  trial.LeadingState
		why   string
		fails bool
	}{
		"the lead is awaited":                  {state: trial.LeadAwaited, after: 179, want: trial.LeadAwaited},
		"the lead has moved":                   {trial.LeadAwaited, 5, func(p *proof) { p.container = "a" }, trial.LeadTaken, "", false},
		"the lead does not move in time":       {trial.LeadAwaited, 180, nil, trial.LeadUnproved, "the lead did not move to node/m1 within 3m0s", false},
		"nobody leads for a moment":            {trial.LeadAwaited, 60, func(p *proof) { p.unled = 59 * time.Second }, trial.LeadAwaited, "", false},
		"nobody leads":                         {trial.LeadAwaited, 60, func(p *proof) { p.unled = time.Minute }, trial.LeadUnproved, "nobody has led for 1m0s, and the change may be the cure", false},
		"another process is away for a moment": {trial.LeadAwaited, 60, func(p *proof) { p.lost = 59 * time.Second }, trial.LeadAwaited, "", false},
		"another process keeps ending": {trial.LeadAwaited, 60, func(p *proof) { p.lost = time.Minute }, trial.LeadUnproved,
			"a process of another node has ended and was not Ready for 1m0s, and the change may be the cure", false},
		"it led and ended before it was seen": {trial.LeadAwaited, 5, func(p *proof) { p.end = failed }, trial.LeadFailed, "it failed", true},
		"it led and its cloud was down before it was seen": {
			trial.LeadAwaited, 5, func(p *proof) { p.end = unclear }, trial.LeadHeld, "the cloud does not answer", false,
		},
		"it was killed before it was seen": {
			trial.LeadAwaited, 5, func(p *proof) { p.end = byOthers }, trial.LeadAwaited, "", false,
		},
		"it leads and is killed":                {trial.LeadTaken, 5, func(p *proof) { p.end = byOthers }, trial.LeadAwaited, "", false},
		"it led and its cloud was down":         {trial.LeadTaken, 5, func(p *proof) { p.end = unclear }, trial.LeadHeld, "the cloud does not answer", false},
		"it leads and ends":                     {trial.LeadTaken, 5, func(p *proof) { p.end = failed }, trial.LeadFailed, "it failed", true},
		"it has led with everything for long":   {trial.LeadTaken, 20, func(p *proof) { p.started, p.wellFor = all, 15*time.Second }, trial.LeadProven, "", false},
		"it has led with everything for a bit":  {trial.LeadTaken, 20, func(p *proof) { p.started, p.wellFor = all, 14*time.Second }, trial.LeadTaken, "", false},
		"another process has taken the lead":    {trial.LeadTaken, 20, func(p *proof) { p.isElsewhere = true }, trial.LeadHeld, "another process has taken the lead", false},
		"it has not started everything in time": {trial.LeadTaken, 120, nil, trial.LeadHeld, "within 2m0s, it did not start cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller; correct what was changed", false},
		"it does not answer the operator":       {trial.LeadTaken, 129, func(p *proof) { p.answers = false }, trial.LeadTaken, "", false},
		"it has led for long without an answer": {trial.LeadTaken, 130, func(p *proof) { p.answers = false }, trial.LeadProven, "", false},
		"it hangs in its cloud": {trial.LeadTaken, 120, func(p *proof) {
			p.log = "E1125 19:00:00.000000       1 a.go:1] Get \"https://cloud\": dial tcp 192.0.2.1:443: i/o timeout\n"
		}, trial.LeadHeld, "within 2m0s, it did not start cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller: " +
			`the cloud's API cannot be reached from the control plane: "Get \"https://cloud\": dial tcp 192.0.2.1:443: i/o timeout"; check`, false},
		"it tells nothing of what it starts":    {trial.LeadTaken, 129, func(p *proof) { p.record.Controllers = nil }, trial.LeadTaken, "", false},
		"it has led for long and tells nothing": {trial.LeadTaken, 130, func(p *proof) { p.record.Controllers = nil }, trial.LeadProven, "", false},
		"it is held":                            {state: trial.LeadHeld, after: 599, want: trial.LeadHeld},
		"it was held for long enough":           {trial.LeadHeld, 600, func(p *proof) { p.record.Why = "it was" }, trial.LeadUnproved, "it was held for 10m0s: it was", false},
		"it ended, and the former one leads": {trial.LeadHeld, 600, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all
		}, trial.LeadFailed, "the cloud does not answer; one of revision 3 has led since", true},
		"it ended, and the former one has led for a bit": {trial.LeadHeld, 599, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all
		}, trial.LeadHeld, "", false},
		"it ended, and the former one has just begun to lead": {trial.LeadHeld, 600, func(p *proof) {
			p.record.End, p.isElsewhere, p.started = unclear, true, all
		}, trial.LeadHeld, "", false},
		"it ended, and the former one does not answer": {trial.LeadHeld, 779, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled = unclear, true, true
		}, trial.LeadHeld, "", false},
		"it ended, and the former one starts little": {trial.LeadHeld, 780, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all[:2]
		}, trial.LeadUnproved, "", false},
		"it ended, and nobody leads":                  {trial.LeadHeld, 600, func(p *proof) { p.record.End = unclear }, trial.LeadUnproved, "", false},
		"it hangs, and the former one starts all":     {trial.LeadHeld, 5, func(p *proof) { p.record.Hangs, p.isElsewhere, p.started = true, true, all }, trial.LeadFailed, "; one of revision 3 has started them since", true},
		"it hangs, and the former one starts little":  {trial.LeadHeld, 5, func(p *proof) { p.record.Hangs, p.isElsewhere, p.started = true, true, all[:2] }, trial.LeadHeld, "", false},
		"it does not hang, and the former starts all": {trial.LeadHeld, 5, func(p *proof) { p.isElsewhere, p.started = true, all }, trial.LeadHeld, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			since := metav1.NewTime(controlplanetest.At(begin))
			p := &proof{now: controlplanetest.At(begin + tc.after), answers: true,
				record: &trial.Leading{Revision: 4, Former: 3, Node: "m1", State: tc.state, Since: since, Controllers: all}}
			if tc.is != nil {
				tc.is(p)
			}
			next, verdict := p.next()
			require.Equal(t, tc.want, next.State)
			require.Contains(t, next.Why, tc.why)
			require.Equal(t, tc.fails, verdict != nil)
			if next.State == tc.state && verdict == nil && p.end == nil {
				require.Same(t, p.record, next, "nothing is written")
			} else {
				seen[[2]string{string(tc.state), string(next.State)}] = true
			}
		})
	}
	content, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	documented := map[[2]string]bool{}
	for _, row := range documentedStates.FindAllStringSubmatch(string(content), -1) {
		for state := range strings.SplitSeq(row[1], ", ") {
			documented[[2]string{state, row[2]}] = true
		}
	}
	for _, later := range [][2]string{{"Proven", "Failed"}, {"Unproved", "Failed"}, {"Failed", "Unproved"}} {
		require.True(t, documented[later], "the document lacks what follows a proof")
		delete(documented, later)
	}
	require.Equal(t, documented, seen)
}

func TestALeaderLacksOnlyWhatItsChangeDoesNotExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		started []string
		changed diagnostic.Cause
		want    bool
	}{
		"all":  {all, diagnostic.Credentials, true},
		"none": {nil, diagnostic.Configuration, false},
		"no load balancers in the cloud configuration": {all[:2], diagnostic.CloudConfig, true},
		"no nodes in the cloud configuration":          {all[2:], diagnostic.CloudConfig, false},
		"no load balancers with other credentials":     {all[:2], diagnostic.Credentials, false},
		"fewer with other flags":                       {all[2:], diagnostic.Configuration, true},
		"other names in another image":                 {[]string{"nodes"}, diagnostic.Image, true},
		"more":                                         {append([]string{"tagging"}, all...), diagnostic.CloudConfig, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &proof{record: &trial.Leading{Controllers: all}, started: tc.started, changed: []diagnostic.Cause{tc.changed}}
			require.Equal(t, tc.want, p.hasStarted())
		})
	}
}
