package targetconfigcontroller

import (
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// isHeld reports whether inputs are replaced by what runs. Those whose preflight showed nothing are while a former
// cloud-controller-manager works; without one, they may be the cure. While that hands over its lead, none works for
// some seconds.
func (g *gating) isHeld(r *operand.PreflightRejection) bool {
	return !r.Waits() || g.waited() < holdTime || g.works != 0
}

// withoutWaiting returns what does not wait for the verdict about changes, nil if everything does.
func (g *gating) withoutWaiting(changed operand.StartDigests) (*candidate, error) {
	if g.works == 0 || g.waited() < holdAllTime {
		return nil, nil
	}
	g.standing = append(g.standing, operand.PreflightRejection{
		Inputs: changed, Verdict: operand.PreflightVerdict{Result: operand.Inconclusive},
	})
	return g.withoutRejected()
}

// waited returns how long something has waited. The time counts on if another candidate replaces the one that waited.
func (g *gating) waited() time.Duration {
	now := g.Clock.Now()
	waited := now.Sub(g.held.See(g.works != 0, now))
	g.controller.held = g.held
	again := holdTime // Whether it works may change.
	if g.works != 0 && waited < holdAllTime {
		again = min(holdTime, holdAllTime-waited)
	} else if waited < holdTime {
		again = holdTime - waited
	}
	g.syncCtx.Queue().AddAfter(g.syncCtx.QueueKey(), again)
	return waited
}
