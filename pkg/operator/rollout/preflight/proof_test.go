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
	byOthers := &trial.Verdict{Result: trial.Inconclusive, Class: killed, Message: "it was killed"}
	unclear := &trial.Verdict{Result: trial.Inconclusive, Message: "the cloud does not answer"}
	seen := map[[2]string]bool{}
	for name, tc := range map[string]struct {
		state trial.ProofState
		// after is the age of the state in seconds.
		after int
		is    func(p *proving)
		want  trial.ProofState
		why   string
		fails bool
	}{
		"the lead is awaited":                  {trial.ProofAwaited, 3600, func(p *proving) { p.awaited = 179 * time.Second }, trial.ProofAwaited, "", false},
		"the lead has moved":                   {trial.ProofAwaited, 5, func(p *proving) { p.container = "a" }, trial.ProofLeads, "", false},
		"the lead does not move in time":       {trial.ProofAwaited, 180, func(p *proving) { p.awaited = 3 * time.Minute }, trial.Unproved, "the lead did not move to node/m1 within 3m0s", false},
		"nobody leads for a moment":            {trial.ProofAwaited, 60, func(p *proving) { p.unled = 59 * time.Second }, trial.ProofAwaited, "", false},
		"nobody leads":                         {trial.ProofAwaited, 60, func(p *proving) { p.unled = time.Minute }, trial.Unproved, "no static pod has led for 1m0s, and the change may be the cure", false},
		"another process is away for a moment": {trial.ProofAwaited, 60, func(p *proving) { p.lost = 59 * time.Second }, trial.ProofAwaited, "", false},
		"another process keeps ending": {trial.ProofAwaited, 60, func(p *proving) { p.lost = time.Minute }, trial.Unproved,
			"a process of another node has ended and was not Ready for 1m0s, and the change may be the cure", false},
		"it led and ended before it was seen": {trial.ProofAwaited, 5, func(p *proving) { p.end = failed }, trial.ProofFailed, "it failed", true},
		"it led and its cloud was down before it was seen": {
			trial.ProofAwaited, 5, func(p *proving) { p.end = unclear }, trial.ProofHeld, "the cloud does not answer", false,
		},
		"it was killed before it was seen": {
			trial.ProofAwaited, 5, func(p *proving) { p.end = byOthers }, trial.ProofAwaited, "", false,
		},
		"it leads and is killed": {trial.ProofLeads, 179, func(p *proving) { p.end = byOthers }, trial.ProofAwaited, "", false},
		"it leads and is killed again and again": {
			trial.ProofLeads, 180, func(p *proving) { p.end = byOthers }, trial.ProofHeld, "it was killed", false,
		},
		"it leads and is killed again and again before it was seen": {
			trial.ProofAwaited, 180, func(p *proving) { p.end = byOthers }, trial.ProofHeld, "it was killed", false,
		},
		"it led and its cloud was down":        {trial.ProofLeads, 5, func(p *proving) { p.end = unclear }, trial.ProofHeld, "the cloud does not answer", false},
		"it leads and ends":                    {trial.ProofLeads, 5, func(p *proving) { p.end = failed }, trial.ProofFailed, "it failed", true},
		"it has led with everything for long":  {trial.ProofLeads, 20, func(p *proving) { p.started, p.wellFor = all, 15*time.Second }, trial.Proven, "", false},
		"it has led with everything for a bit": {trial.ProofLeads, 20, func(p *proving) { p.started, p.wellFor = all, 14*time.Second }, trial.ProofLeads, "", false},
		"somebody has given its lease away": {
			trial.ProofLeads, 59, func(p *proving) { p.isElsewhere = true }, trial.ProofAwaited, "", false,
		},
		"somebody gives its lease away again and again": {trial.ProofLeads, 59, func(p *proving) {
			p.isElsewhere, p.proof.Began = true, metav1.NewTime(p.now.Add(-3*time.Minute))
		}, trial.ProofHeld, "another process has taken the lead", false},
		"another process has taken the lead": {trial.ProofLeads, 60, func(p *proving) { p.isElsewhere = true }, trial.ProofHeld,
			"another process has taken the lead", false},
		"it has not started everything in time": {trial.ProofLeads, 120, nil, trial.ProofHeld, "within 2m0s, it did not start cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller; correct what was changed", false},
		"it has started everything just in time, or an operator has just begun to look": {
			trial.ProofLeads, 120, func(p *proving) { p.started, p.wellFor = all, 14*time.Second }, trial.ProofLeads, "", false,
		},
		"it does not answer the operator":       {trial.ProofLeads, 129, func(p *proving) { p.answers = false }, trial.ProofLeads, "", false},
		"it has led for long without an answer": {trial.ProofLeads, 130, func(p *proving) { p.leadsSilently() }, trial.Proven, "", false},
		"it does not renew the lease":           {trial.ProofLeads, 130, func(p *proving) { p.leadsSilently(); p.isSettled = false }, trial.ProofLeads, "", false},
		"its machine is gone":                   {trial.ProofLeads, 130, func(p *proving) { p.answers = false }, trial.ProofLeads, "", false},
		"its machine is gone, and nobody leads": {trial.ProofLeads, 600, func(p *proving) { p.answers = false }, trial.Unproved,
			"it no longer leads, and no other process has led within 10m0s", false},
		"it hangs in its cloud": {trial.ProofLeads, 120, func(p *proving) {
			p.log = "E1125 19:00:00.000000       1 a.go:1] Get \"https://cloud\": dial tcp 192.0.2.1:443: i/o timeout\n"
		}, trial.ProofHeld, "within 2m0s, it did not start cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller: " +
			`the cloud's API cannot be reached from the control plane: "Get \"https://cloud\": dial tcp 192.0.2.1:443: i/o timeout"; check`, false},
		"it tells nothing of what it starts": {trial.ProofLeads, 129, func(p *proving) { p.proof.Controllers = nil }, trial.ProofLeads, "", false},
		"it has led for long and tells nothing": {trial.ProofLeads, 130, func(p *proving) {
			p.leadsSilently()
			p.answers, p.proof.Controllers = true, nil
		}, trial.Proven, "", false},
		"it is held":                  {state: trial.ProofHeld, after: 599, want: trial.ProofHeld},
		"it was held for long enough": {trial.ProofHeld, 600, func(p *proving) { p.proof.Why = "it was" }, trial.Unproved, "it was held for 10m0s: it was", false},
		"it ended, and the former one leads": {trial.ProofHeld, 600, func(p *proving) {
			p.proof.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all
		}, trial.ProofAwaited, "", false},
		"it ended twice, and the former one leads": {trial.ProofHeld, 600, func(p *proving) {
			p.proof.End, p.proof.Again, p.isElsewhere, p.isSettled, p.started = unclear, true, true, true, all
		}, trial.ProofFailed, "the cloud does not answer; it ended twice, and one of revision 3 has led since", true},
		"it ended twice, and nobody leads": {trial.ProofHeld, 600, func(p *proving) {
			p.proof.End, p.proof.Again = unclear, true
		}, trial.Unproved, "", false},
		"it ended, and the former one has led for a bit": {trial.ProofHeld, 599, func(p *proving) {
			p.proof.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all
		}, trial.ProofHeld, "", false},
		"it ended, and the former one has just begun to lead": {trial.ProofHeld, 600, func(p *proving) {
			p.proof.End, p.isElsewhere, p.started = unclear, true, all
		}, trial.ProofHeld, "", false},
		"it ended, and the former one does not answer": {trial.ProofHeld, 779, func(p *proving) {
			p.proof.End, p.isElsewhere, p.isSettled = unclear, true, true
		}, trial.ProofHeld, "", false},
		"it ended, and the former one starts little": {trial.ProofHeld, 780, func(p *proving) {
			p.proof.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all[:2]
		}, trial.Unproved, "", false},
		"it leads again, and another process keeps ending": {trial.ProofHeld, 90, func(p *proving) {
			p.proof.End, p.container, p.started, p.wellFor, p.lost = unclear, "a", all, 15*time.Second, time.Minute
		}, trial.Unproved, "a process of another node has ended and was not Ready for 1m0s, and the change may be the cure", false},
		"it leads again without an answer, and another process keeps ending": {trial.ProofHeld, 90, func(p *proving) {
			p.leadsSilently()
			p.proof.End, p.lost = unclear, time.Minute
		}, trial.Unproved, "", false},
		"it leads again for a bit, and another process keeps ending": {trial.ProofHeld, 90, func(p *proving) {
			p.proof.End, p.container, p.started, p.wellFor, p.lost = unclear, "a", all, 14*time.Second, time.Minute
		}, trial.ProofHeld, "", false},
		"it leads again, and another process is away for a moment": {trial.ProofHeld, 90, func(p *proving) {
			p.proof.End, p.container, p.started, p.wellFor, p.lost = unclear, "a", all, 15*time.Second, 59*time.Second
		}, trial.ProofHeld, "", false},
		"it hangs, and another process keeps ending": {trial.ProofHeld, 90, func(p *proving) {
			p.proof.Hangs, p.container, p.lost = true, "a", time.Minute
		}, trial.ProofHeld, "", false},
		"it ended, and nobody leads":                  {trial.ProofHeld, 600, func(p *proving) { p.proof.End = unclear }, trial.Unproved, "", false},
		"it hangs, and the former one starts all":     {trial.ProofHeld, 5, func(p *proving) { p.proof.Hangs, p.isElsewhere, p.started = true, true, all }, trial.ProofFailed, "; one of revision 3 has started them since", true},
		"it hangs, and the former one starts little":  {trial.ProofHeld, 5, func(p *proving) { p.proof.Hangs, p.isElsewhere, p.started = true, true, all[:2] }, trial.ProofHeld, "", false},
		"it does not hang, and the former starts all": {trial.ProofHeld, 5, func(p *proving) { p.isElsewhere, p.started = true, all }, trial.ProofHeld, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			since := metav1.NewTime(controlplanetest.At(begin))
			p := &proving{now: controlplanetest.At(begin + tc.after), answers: true,
				proof: &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: tc.state, Began: since, Since: since, Controllers: all}}
			if tc.is != nil {
				tc.is(p)
			}
			next, verdict := p.next()
			require.Equal(t, tc.want, next.State)
			require.Contains(t, next.Why, tc.why)
			require.Equal(t, tc.fails, verdict != nil)
			if p.end != nil && tc.want == trial.ProofHeld {
				require.Same(t, p.end, next.End, "whatever ended it, the former revision is asked later")
			}
			if next.State == tc.state && verdict == nil && p.end == nil {
				require.Same(t, p.proof, next, "nothing is written")
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

// leadsSilently lets the first node's process lead, and not answer the operator.
func (p *proving) leadsSilently() { p.container, p.isSettled, p.answers = "a", true, false }

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
			p := &proving{proof: &trial.Proof{Controllers: all}, started: tc.started, changed: []diagnostic.Cause{tc.changed}}
			require.Equal(t, tc.want, p.hasStarted())
		})
	}
}
