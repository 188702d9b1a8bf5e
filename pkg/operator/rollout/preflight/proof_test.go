package preflight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// all are the controllers of a leader.
var all = []string{"cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller"}

// The rows are those of the table in the package's documentation.
func TestTheStatesOfTheProofOfARevision(t *testing.T) {
	const begin = 1000
	failed := &operand.PreflightVerdict{Result: operand.Failed, Message: "it failed"}
	unclear := &operand.PreflightVerdict{Result: operand.Inconclusive, Message: "the cloud does not answer"}
	for name, tc := range map[string]struct {
		state operand.LeadingState
		// after is the age of the state in seconds.
		after int
		is    func(p *proof)
		want  operand.LeadingState
		why   string
		fails bool
	}{
		"the lead is awaited":                   {state: operand.LeadAwaited, after: 179, want: operand.LeadAwaited},
		"the lead has moved":                    {operand.LeadAwaited, 5, func(p *proof) { p.container = "a" }, operand.LeadTaken, "", false},
		"the lead does not move in time":        {operand.LeadAwaited, 180, nil, operand.LeadUnproved, "the lead did not move to node/m1 within 3m0s", false},
		"nobody leads for a moment":             {operand.LeadAwaited, 60, func(p *proof) { p.unled = 59 * time.Second }, operand.LeadAwaited, "", false},
		"nobody leads":                          {operand.LeadAwaited, 60, func(p *proof) { p.unled = time.Minute }, operand.LeadUnproved, "nobody has led for 1m0s, and the change may be the cure", false},
		"it led and ended before it was seen":   {operand.LeadAwaited, 5, func(p *proof) { p.end = failed }, operand.LeadFailed, "it failed", true},
		"it led and its cloud was down":         {operand.LeadTaken, 5, func(p *proof) { p.end = unclear }, operand.LeadHeld, "the cloud does not answer", false},
		"it leads and ends":                     {operand.LeadTaken, 5, func(p *proof) { p.end = failed }, operand.LeadFailed, "it failed", true},
		"it has led with everything for long":   {operand.LeadTaken, 20, func(p *proof) { p.started, p.wellFor = all, 15*time.Second }, operand.LeadProven, "", false},
		"it has led with everything for a bit":  {operand.LeadTaken, 20, func(p *proof) { p.started, p.wellFor = all, 14*time.Second }, operand.LeadTaken, "", false},
		"another process has taken the lead":    {operand.LeadTaken, 20, func(p *proof) { p.isElsewhere = true }, operand.LeadHeld, "another process has taken the lead", false},
		"it has not started everything in time": {operand.LeadTaken, 120, nil, operand.LeadHeld, "within 2m0s, it did not start cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller; correct what was changed", false},
		"it does not answer the operator":       {operand.LeadTaken, 129, func(p *proof) { p.answers = false }, operand.LeadTaken, "", false},
		"it has led for long without an answer": {operand.LeadTaken, 130, func(p *proof) { p.answers = false }, operand.LeadProven, "", false},
		"it hangs in its cloud": {operand.LeadTaken, 120, func(p *proof) {
			p.log.log = "E1125 19:00:00.000000       1 a.go:1] Get \"https://cloud\": dial tcp 192.0.2.1:443: i/o timeout\n"
		}, operand.LeadHeld, "within 2m0s, it did not start cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller: " +
			`the cloud's API cannot be reached from the control plane: "Get \"https://cloud\": dial tcp 192.0.2.1:443: i/o timeout"; check`, false},
		"it tells nothing of what it starts":    {operand.LeadTaken, 129, func(p *proof) { p.record.Controllers = nil }, operand.LeadTaken, "", false},
		"it has led for long and tells nothing": {operand.LeadTaken, 130, func(p *proof) { p.record.Controllers = nil }, operand.LeadProven, "", false},
		"it is held":                            {state: operand.LeadHeld, after: 599, want: operand.LeadHeld},
		"it was held for long enough":           {operand.LeadHeld, 600, func(p *proof) { p.record.Why = "it was" }, operand.LeadUnproved, "it was held for 10m0s: it was", false},
		"it ended, and the former one leads": {operand.LeadHeld, 600, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all
		}, operand.LeadFailed, "the cloud does not answer; one of revision 3 has led since", true},
		"it ended, and the former one has led for a bit": {operand.LeadHeld, 599, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all
		}, operand.LeadHeld, "", false},
		"it ended, and the former one has just begun to lead": {operand.LeadHeld, 600, func(p *proof) {
			p.record.End, p.isElsewhere, p.started = unclear, true, all
		}, operand.LeadHeld, "", false},
		"it ended, and the former one does not answer": {operand.LeadHeld, 779, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled = unclear, true, true
		}, operand.LeadHeld, "", false},
		"it ended, and the former one starts little": {operand.LeadHeld, 780, func(p *proof) {
			p.record.End, p.isElsewhere, p.isSettled, p.started = unclear, true, true, all[:2]
		}, operand.LeadUnproved, "", false},
		"it ended, and nobody leads":                  {operand.LeadHeld, 600, func(p *proof) { p.record.End = unclear }, operand.LeadUnproved, "", false},
		"it hangs, and the former one starts all":     {operand.LeadHeld, 5, func(p *proof) { p.record.Hangs, p.isElsewhere, p.started = true, true, all }, operand.LeadFailed, "; one of revision 3 has started them since", true},
		"it hangs, and the former one starts little":  {operand.LeadHeld, 5, func(p *proof) { p.record.Hangs, p.isElsewhere, p.started = true, true, all[:2] }, operand.LeadHeld, "", false},
		"it does not hang, and the former starts all": {operand.LeadHeld, 5, func(p *proof) { p.isElsewhere, p.started = true, all }, operand.LeadHeld, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			since := metav1.NewTime(controlplanetest.At(begin))
			p := &proof{now: controlplanetest.At(begin + tc.after), log: &evidence{}, answers: true,
				record: &operand.Leading{Revision: 4, Former: 3, Node: "m1", State: tc.state, Since: since, Controllers: all}}
			if tc.is != nil {
				tc.is(p)
			}
			next, verdict := p.next()
			require.Equal(t, tc.want, next.State)
			require.Contains(t, next.Why, tc.why)
			require.Equal(t, tc.fails, verdict != nil)
			if next.State == tc.state {
				require.Same(t, p.record, next, "nothing is written")
			}
		})
	}
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
			p := &proof{record: &operand.Leading{Controllers: all}, started: tc.started, changed: []diagnostic.Cause{tc.changed}}
			require.Equal(t, tc.want, p.hasStarted())
		})
	}
}
